"""What keeps a run apart from the other ways to have its shape: ways.yaml says which pools make what."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from slicewright.intent.tpuworkload import Provisioning
from slicewright.rendering.folder import run_id
from slicewright.rendering.plan.ways import taint, value

from .kit import PROGRAM, cluster, plan, planned, refused, workload

CASES = yaml.load((Path(__file__).parent / "ways.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
NODE_POOL = "cloud.google.com/gke-nodepool"
QUEUES = """
pools: [{name: a, tpu: v5litepod-8}, {name: spot, tpu: v5litepod-8, provisioning: Spot}]
clusterQueues: [{name: c, quota: [{pool: a}, {pool: spot}], localQueues: [{name: q}]}]
"""


def spec_of(case: dict[str, Any]) -> str:
    """Return the spec of a case as people may write it."""
    return f"tpu: v5litepod-8\n{PROGRAM}{_lines(case.get('spec', {}))}"


def cluster_of(case: dict[str, Any]) -> str:
    """Return the cluster of a case."""
    quota = [{"pool": pool["name"]} for pool in case["pools"]]
    queues = [{"name": "c", "quota": quota, "localQueues": [{"name": "q"}]}]
    facts = {"mode": case.get("mode", "Standard"), "pools": case["pools"], "clusterQueues": queues}
    facts |= case.get("more", {})
    return cluster(_lines(facts))


def _lines(fields: dict[str, Any]) -> str:
    return "".join(f"{key}: {json.dumps(item)}\n" for key, item in fields.items())


@pytest.mark.parametrize("case", CASES, ids=[case["when"] for case in CASES])
def test_run_is_kept_apart(case: dict[str, Any]) -> None:
    """Pods tolerate the taints of their own ways, and match no nodes of another one."""
    apart = plan(spec_of(case), clusters=cluster_of(case)).apart

    said = [str(entry.get("value", entry["key"])) for entry in apart.tolerations]
    assert case.get("tolerations", []) == [re.sub("_[0-9a-f]{16}$", "_DIGEST", one) for one in said]
    assert case.get("required", []) == list(apart.required)
    preferred: dict[str, int] = {}
    for entry in apart.preferred:
        (expression,) = entry["preference"]["matchExpressions"]
        assert (NODE_POOL, "In") == (expression["key"], expression["operator"])
        preferred |= dict.fromkeys(expression["values"], entry["weight"])
    assert case.get("preferred", {}) == preferred


def test_values_of_taints_are_label_values_and_differ() -> None:
    """A way has a value of its own within the 63 characters of a label, whatever its parts are."""
    ways = [
        Provisioning(),
        Provisioning("Reservation", "r1"),
        Provisioning("Reservation", "r1", "p1"),
        Provisioning("Reservation", "r1", "", "p1"),
        Provisioning("Reservation", "r1", "", "b", "s1"),
        Provisioning("Reservation", "r1", "", "b", "s2"),
        Provisioning("Reservation", "r1", "google.com:p1"),
        Provisioning("ComputeClass", "r1"),
        Provisioning("ComputeClass", "x" * 100),
        Provisioning("ComputeClass", "x" * 101),
    ]

    values = [value(way) for way in ways]

    assert len(ways) == len(set(values))
    assert ["Reservation_r1", "Reservation_r1_p1", "Reservation_r1__p1"] == values[1:4]
    assert all(len(one) <= 63 and one.replace("_", "").replace("-", "").isalnum() for one in values)
    assert {"key": "slicewright.dev/provisioning", "value": "OnDemand", "effect": "NoSchedule"} == taint(
        ways[0]
    )


def test_run_that_may_take_several_ways_selects_none_of_them() -> None:
    """Kueue adds the labels and tolerations of the flavor: the pods select the shape alone."""
    made = plan(
        f"tpu: v5litepod-8\n{PROGRAM}queueName: q\nprovisioning: Spot\nalternativeProvisioning: [OnDemand]",
        clusters=cluster(QUEUES),
    )

    assert (["cloud.google.com/gke-tpu-accelerator", "cloud.google.com/gke-tpu-topology"], ()) == (
        list(made.node_selector)[:2],
        made.components,
    )
    assert "cloud.google.com/gke-spot" not in made.node_selector


def test_queued_among_several_ways_says_for_how_long() -> None:
    """The annotation for the ProvisioningRequest is there whichever way comes first; others ignore it."""
    pools = QUEUES.replace("Spot", "FlexStartQueued")
    spec = f"tpu: v5litepod-8\n{PROGRAM}queueName: q\nalternativeProvisioning: [FlexStartQueued]\n"

    made = plan(f"{spec}maxRunDurationSeconds: 700", clusters=cluster(pools))

    assert {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": "700"} == made.annotations


def test_field_that_is_not_written_is_not_in_the_id() -> None:
    """The ids of runs that there are stay: the digest is over the spec as written."""
    before = {"tpu": "v5litepod-8", "clusters": ["c1"]}

    assert run_id(before) != run_id({**before, "alternativeProvisioning": ["Spot"]})
    assert "cf32ecec" == run_id(before)


RESERVED = """
project: p1
pools:
- {name: kept, tpu: v5litepod-8, provisioning: {type: Reservation, name: r1BLOCK}}
- {name: spot, tpu: v5litepod-8, provisioning: Spot}
clusterQueues: [{name: c, quota: [{pool: kept}, {pool: spot}], localQueues: [{name: q}]}]
"""
RUN = f"tpu: v5litepod-8\n{PROGRAM}queueName: q\nprovisioning: {{type: Reservation, name: r1MORE}}\n"


@pytest.mark.parametrize("pool", ["", ", project: p1"])
def test_own_project_of_a_reservation_is_the_default(pool: str) -> None:
    """A run that names the project of its cluster is the same as one that names none."""
    there = cluster(RESERVED.replace("BLOCK", pool))
    said = [planned(workload(RUN.replace("MORE", more)), clusters=there) for more in ("", ", project: p1")]

    assert [] == [problem.text() for _, problems in said for problem in problems]
    (one,), (other,) = (plans for plans, _ in said)
    assert (one.node_selector, one.apart) == (other.node_selector, other.apart)
    assert "cloud.google.com/reservation-project" not in other.node_selector


def test_ways_are_called_by_all_that_tells_them_apart() -> None:
    """Messages name project and block: 'only as Reservation r1, not as Reservation r1' helps nobody."""
    there = cluster(RESERVED.replace("BLOCK", ", block: b1"))
    said = refused(RUN.replace("MORE", ", project: p2, block: b2, subBlock: s3"), clusters=there)

    kept, shape = "Reservation r1 block b1", "2x4 on ct5lp-hightpu-4t"
    wanted = "Reservation r1 project p2 block b2 subBlock s3"
    assert [
        f"REF006 cluster 'c1' has {shape} only in 'kept' ({kept}), 'spot' (Spot)",
        f"REF150 ClusterQueue 'c' has {shape} only as {kept}, Spot, not as {wanted}",
    ] == re.findall(r"(?m)warning: (.*)$", said)
