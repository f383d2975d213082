"""Kueue and the scheduler do to the fixtures of FIT120 what the rule says of them."""

from collections.abc import Iterator
from functools import partial

import pytest
import yaml
from tests.check.rules.kit import Fixture

from slicewright.cluster.api.client import Api
from slicewright.kubernetes.types import Object
from slicewright.testbed.nodes import SIMULATED
from slicewright.testbed.waiting import until

pytestmark = pytest.mark.ci  # unit tests hold the rule to these cases


WRONG = ("bad-machines", "bad-only-on-demand", "bad-order", "bad-pools", "bad-reservation", "bad-terms")
RIGHT = ("good-one-group", "good-spot-first", "good-taints")
SPOT = "cloud.google.com/gke-spot"
ACCELERATOR = "cloud.google.com/gke-tpu-accelerator"
TAINT = {"key": SPOT, "value": "true", "effect": "NoSchedule"}
KIND = "example.com/flavor"
"""Label of nodes: the name that a flavor has in the fixtures."""

CASE = "example.com/case"
"""Label of nodes and flavors: the fixture that they are of."""


def _objects(case: str) -> Iterator[Object]:
    """Yield the objects of a fixture, in a namespace and under names of its own."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": case}}
    for item in yaml.safe_load_all(Fixture("FIT120", case).text):
        if item["kind"] == "TPUCluster":
            continue
        if "namespace" in item["metadata"]:
            item["metadata"]["namespace"] = case
        if item["kind"] in ("ResourceFlavor", "ClusterQueue"):
            item["metadata"]["name"] = f"{case}.{item['metadata']['name']}"
        if item["kind"] == "ResourceFlavor":  # else pods of one case may run on nodes of another one
            item["spec"]["nodeLabels"] = {**item["spec"].get("nodeLabels", {}), CASE: case}
        if item["kind"] == "LocalQueue":
            item["spec"]["clusterQueue"] = f"{case}.{item['spec']['clusterQueue']}"
        for group in item["spec"].get("resourceGroups", ()):
            for flavor in group["flavors"]:
                flavor["name"] = f"{case}.{flavor['name']}"
        yield item


def _node(flavor: Object, number: int) -> Object:
    """Return a node of a flavor; those on Spot machines have their taint."""
    labels = flavor["spec"]["nodeLabels"]
    name = f"{flavor['metadata']['name']}-{number}"
    room = {"cpu": "64", "memory": "256Gi", "pods": "10"}
    if ACCELERATOR in labels:
        room["google.com/tpu"] = "4"
    kind = flavor["metadata"]["name"].partition(".")[2]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, SIMULATED: "true", KIND: kind}},
        "spec": {
            "taints": [{"key": key, "value": "true", "effect": "NoSchedule"} for key in {SPOT} & {*labels}]
        },
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


@pytest.fixture(scope="module")
def cases(own_api: Api) -> dict[str, tuple[set[str], list[str]]]:
    """Submit all at once, and return of each the flavors that it was given, and the kinds of its nodes."""
    items = [item for case in (*WRONG, *RIGHT) for item in _objects(case)]
    flavors = [item for item in items if item["kind"] == "ResourceFlavor"]
    nodes = [_node(flavor, number) for flavor in flavors for number in range(2)]
    kinds = {node["metadata"]["name"]: node["metadata"]["labels"][KIND] for node in nodes}
    own_api.each(own_api.create, nodes)
    for item in items:
        own_api.create(item)
    return {case: until(case, partial(_seen, own_api, case, kinds), seconds=300) for case in (*WRONG, *RIGHT)}


def _seen(api: Api, case: str, kinds: dict[str, str]) -> tuple[set[str], list[str]] | None:
    """Return (flavors, kinds of the nodes of pods) when the scheduler has looked at both pods."""
    pods = api.list("v1", "Pod", case)
    looked = [pod for pod in pods if pod["status"].get("conditions")]
    if len(looked) != len(("one", "two")):
        return None
    (workload,) = api.list("kueue.x-k8s.io/v1beta2", "Workload", case)
    (given,) = workload["status"]["admission"]["podSetAssignments"]
    bound = [kinds[pod["spec"]["nodeName"]] for pod in pods if "nodeName" in pod["spec"]]
    return {name.partition(".")[2] for name in given["flavors"].values()}, bound


@pytest.mark.parametrize("case", WRONG)
def test_pods_that_the_rule_reports_never_run_on_nodes_of_their_flavors(
    cases: dict[str, tuple[set[str], list[str]]], case: str
) -> None:
    """They hold the quota, and wait or run elsewhere."""
    given, bound = cases[case]

    assert given
    assert [] == [kind for kind in bound if kind in given]


@pytest.mark.parametrize("case", RIGHT)
def test_pods_that_the_rule_does_not_report_run_on_nodes_of_their_flavors(
    cases: dict[str, tuple[set[str], list[str]]], case: str
) -> None:
    """Both pods, on the flavor that has the quota."""
    given, bound = cases[case]

    assert [*given] * 2 == bound


def test_pods_that_select_spot_nodes_run_there_on_the_quota_of_others(
    cases: dict[str, tuple[set[str], list[str]]],
) -> None:
    """What platforms with two ways of provisioning in one queue do, where no taint keeps them apart."""
    assert ({"on-demand"}, ["spot", "spot"]) == cases["bad-order"]
    assert ({"reserved"}, []) == cases["bad-reservation"]
