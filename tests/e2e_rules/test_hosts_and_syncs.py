"""The scheduler and JobSet's webhook do to the fixtures of PW147 and GIT104 what the rules say of them."""

from functools import partial

import pytest
import yaml
from tests.check.rules.kit import FIXTURES

from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.labels import NODE_POOL
from slicewright.kubernetes.types import Object
from slicewright.testbed.nodes import SIMULATED
from slicewright.testbed.waiting import until

pytestmark = pytest.mark.ci  # unit tests hold the rules to these cases

HEADS = ("bad", "good", "good_ports", "good_anti_affinity")


def _objects(ident: str, case: str, namespace: str) -> list[Object]:
    """Return the runs of a fixture, in a namespace of its own."""
    text = (FIXTURES / ident / f"{case}.yaml").read_text(encoding="utf-8").replace("cpu-np", namespace)
    runs = [item for item in yaml.safe_load_all(text) if item["kind"] == "JobSet"]
    return [{**run, "metadata": {**run["metadata"], "namespace": namespace}} for run in runs]


def _node(pool: str) -> Object:
    room = {"cpu": "64", "memory": "256Gi", "pods": "10"}
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": pool,
            "labels": {NODE_POOL: pool, SIMULATED: "true", "kubernetes.io/hostname": pool},
        },
        "status": {"allocatable": room, "capacity": room, "conditions": ready},
    }


def _bound(api: Api, namespace: str) -> int | None:
    """Return how many heads are on the node, when the scheduler has looked at both."""
    pods = [pod for pod in api.list("v1", "Pod", namespace) if "-head-" in pod["metadata"]["name"]]
    looked = [pod for pod in pods if pod["status"].get("conditions")]
    return sum("nodeName" in pod["spec"] for pod in pods) if len(looked) == len(("a", "b")) else None


def test_heads_share_a_node_unless_ports_or_affinity_keep_them_apart(own_api: Api) -> None:
    """Without listed ports and exclusive placement both heads are on one node; else one of them waits."""
    names = {case: case.replace("_", "-") for case in HEADS}
    own_api.each(own_api.create, [_node(name) for name in names.values()])
    for case, name in names.items():
        own_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for run in _objects("PW147", case, name):
            own_api.create(run)

    found = {case: until(case, partial(_bound, own_api, name), seconds=120) for case, name in names.items()}

    assert {"bad": 2, "good": 1, "good_ports": 1, "good_anti_affinity": 1} == found


def test_only_a_patch_of_lists_is_refused_where_defaults_are_left_out(own_api: Api) -> None:
    """What server-side apply sends again is accepted; the list of a client-side apply is refused (GIT104)."""
    own_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "syncs"}})
    (run,) = _objects("GIT104", "good_flux", "syncs")
    labelled = {**run, "metadata": {**run["metadata"], "labels": {"a": "b"}}}

    own_api.apply(run, manager="kustomize-controller", force=True)
    again = own_api.apply(labelled, manager="kustomize-controller", force=True)

    assert {"a": "b"} == again["metadata"]["labels"]
    with pytest.raises(ApiError, match="immutable"):
        own_api.patch(run, {"spec": {"replicatedJobs": run["spec"]["replicatedJobs"]}})


def test_pods_have_the_names_that_addresses_are_compared_with(own_api: Api) -> None:
    """The address of good_full_name is that of a pod, and that of bad is of none (TPU170)."""
    own_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "names"}})
    (run,) = _objects("TPU170", "good_full_name", "names")
    own_api.create(run)

    def hosts() -> set[str] | None:
        pods = own_api.list("v1", "Pod", "names")
        found = {f"{pod['spec']['hostname']}.{pod['spec']['subdomain']}" for pod in pods}
        return found if len(found) == 8 else None

    assert {f"train-slice-{job}-{pod}.net" for job in range(2) for pod in range(4)} == until(
        "pods of two slices", hosts, seconds=120
    )
