"""Pools that grow: whoever counts one says the same of its least and its most."""

from typing import Any

import pytest
from tests.conftest import Repo
from tests.rendering.platform.kit import one, said, site

from slicewright.catalogue.catalogue import CpuMachine
from slicewright.rendering.plan.resolved_cluster import SizeRange, size_range
from slicewright.testbed.nodes import capacity, room

from .kit import record

QUEUE = "clusterQueues: [{name: q, quota: [{pool: a}], localQueues: [{name: queue}]}]"
EIGHT = "name: a, tpu: v5litepod-8, slices: 2"
RESERVED = "{type: Reservation, name: r}"
CLASS = "{type: ComputeClass, name: ladder}"
SLICES = [
    ("stands", EIGHT, 2, 2),
    ("grows to more", f"{EIGHT}, autoscaling: {{min: 1, max: 4}}", 1, 4),
    ("grows to what is written", f"{EIGHT}, autoscaling: {{min: 1}}", 1, 2),
    ("grows from nothing", f"{EIGHT}, autoscaling: {{max: 3}}, provisioning: {RESERVED}", 0, 3),
    ("flex-start", f"{EIGHT}, provisioning: FlexStart", 0, 2),
    ("queued flex-start", f"{EIGHT}, provisioning: FlexStartQueued", 0, 2),
    ("flex-start with bounds", f"{EIGHT}, provisioning: FlexStart, autoscaling: {{max: 5}}", 0, 5),
    ("made by a ComputeClass", f"{EIGHT}, provisioning: {CLASS}", 2, 2),
]
OF_SLICES = pytest.mark.parametrize(
    ("pool", "least", "most"), [entry[1:] for entry in SLICES], ids=[entry[0] for entry in SLICES]
)


def spec(pool: str, queue: str = QUEUE) -> str:
    """Return the spec of a cluster with one pool and one queue."""
    return f"pools: [{{{pool}}}]\n{queue}"


def quotas(text: str) -> dict[str, str]:
    """Return the nominal quota of the only queue, as it is rendered."""
    (group,) = one(text, "queues.yaml", "ClusterQueue")["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    return {entry["name"]: entry["nominalQuota"] for entry in flavor["resources"]}


@OF_SLICES
def test_queue_gets_all_that_a_pool_can_have(pool: str, least: int, most: int) -> None:
    """Without a number the quota is the most that a pool can have, or Kueue would never let it grow."""
    assert {"google.com/tpu": str(8 * most)} == quotas(spec(pool))
    assert "QUOTA008" not in said(spec(pool))
    assert SizeRange(least, most) == size_range(site(spec(pool)), site(spec(pool)).cluster.tpu_pools[0])


@OF_SLICES
def test_capacity_and_rehearsal_count_alike(pool: str, least: int, most: int) -> None:
    """`slicewright capacity` names the same bounds, and simulated slices are as many."""
    (shown,) = record(spec(pool))["pools"]
    nodes = capacity(site(spec(pool)))

    assert (2, least, most) == (shown["slices"], shown["leastSlices"], shown["mostSlices"])
    assert (4, 2 * least, 2 * most) == (shown["hosts"], shown["leastHosts"], shown["mostHosts"])
    assert (16, 8 * least, 8 * most) == (shown["chips"], shown["leastChips"], shown["mostChips"])
    assert (least, most - least) == (len(nodes.fixed), len(nodes.growing))
    assert 8 * most == room(site(spec(pool))) == nodes.chips()["a"]


@OF_SLICES
def test_described_platform_is_counted_alike(pool: str, least: int, most: int) -> None:
    """A file that only describes a platform (`managed: false`) gives its queue as much."""
    del least
    (queue,) = record(f"managed: false\n{spec(pool)}")["queues"]

    assert [str(8 * most)] == [share["nominal"] for share in queue["quota"]]


@pytest.mark.parametrize("quota", ["nominalSlices: 2", "nominalChips: 16"])
def test_number_that_is_written_stays(quota: str) -> None:
    """Who writes a number gets it, whatever the pool can have."""
    pool = f"{EIGHT}, autoscaling: {{max: 4}}"

    assert {"google.com/tpu": "16"} == quotas(spec(pool, QUEUE.replace("pool: a", f"pool: a, {quota}")))


CPU = "name: a, machineType: n2-standard-64, nodes: 2"


def machine(text: str) -> CpuMachine:
    """Return a node of the CPU pool."""
    return site(text).machines["a"]


@pytest.mark.parametrize(
    ("pool", "least", "most"),
    [(CPU, 2, 2), (f"{CPU}, autoscaling: {{min: 1, max: 20}}", 1, 20)],
    ids=["stands", "grows"],
)
def test_cpu_pool_is_counted_by_its_most(pool: str, least: int, most: int) -> None:
    """Cpu and memory of all nodes that it can have; a rehearsal has them all, for none come on demand."""
    text = spec(pool)
    (shown,) = record(text)["pools"]

    assert f"{machine(text).allocatable_millicpus * most}m" == quotas(text)["cpu"]
    assert (2, least, most) == (shown["hosts"], shown["leastHosts"], shown["mostHosts"])
    (nodes,) = capacity(site(text)).fixed
    assert most == len(nodes.nodes)
    assert "QUOTA008" not in said(text)


@pytest.mark.parametrize(("nodes", "simulated"), [(1, 100), (120, 120)])
def test_bound_of_a_cpu_pool_may_be_any_number(nodes: int, simulated: int) -> None:
    """A `max` that is only there to be no limit makes no rehearsal of a million nodes."""
    pool = f"name: a, machineType: n2-standard-8, nodes: {nodes}, autoscaling: {{max: 1000000}}"

    (made,) = capacity(site(spec(pool))).fixed

    assert simulated == len(made.nodes)


def table(repo: Repo, pools: str) -> list[str]:
    """Return the lines that `slicewright capacity` prints, blanks squeezed."""
    repo.cluster("c1", pools)
    return [" ".join(line.split()) for line in repo.run("capacity", "c1").out.splitlines()]


def test_table_shows_least_and_most(repo: Repo) -> None:
    """Slices, hosts and chips from the least to the most; one number where they are the same."""
    pools = f"""
        pools:
        - {{{EIGHT}, autoscaling: {{min: 1, max: 4}}}}
        - {{name: full, tpu: v5litepod-8, slices: 4, autoscaling: {{min: 1, max: 4}}}}
        - {{name: flex, tpu: v6e-16, provisioning: FlexStart}}
        - {{name: cpu, machineType: n2-standard-64, nodes: 1, autoscaling: {{min: 1, max: 20}}}}
        - {{name: none, machineType: n2-standard-64, nodes: 1, autoscaling: {{max: 2}}}}
    """
    lines = table(repo, pools)

    rows = {
        line.partition(" ")[0]: line.split() for line in lines if line.startswith(("a ", "full ", "flex "))
    }
    assert {
        "a": ["1..4", "2..8", "8..32"],
        "full": ["1..4", "2..8", "8..32"],
        "flex": ["0..1", "0..4", "0..16"],
    } == {name: row[4:7] for name, row in rows.items()}
    assert "cpu OnDemand n2-standard-64 - - 1..20 - cpu" in lines
    assert "none OnDemand n2-standard-64 - - 0..2 - none" in lines


@pytest.mark.parametrize(
    ("memory", "printed"), [("262016073728", "244Gi"), ("2T", "1862.6Gi"), ("512Mi", "512Mi"), ("0", "0")]
)
def test_memory_is_printed_as_messages_have_it(repo: Repo, memory: str, printed: str) -> None:
    """Nobody reads bytes; JSON keeps them."""
    pools: Any = f"""
        pools: [{{name: a, machineType: n2-standard-64}}, {{name: tpus, tpu: v5litepod-8}}]
        clusterQueues:
        - name: q
          quota: [{{pool: a, nominalQuota: {{cpu: 8, memory: {memory}}}}}]
          localQueues: [{{name: queue}}]
    """

    assert f"q - a memory {printed} 0 0 {printed}" in table(repo, pools)


def test_amount_that_nobody_knows_is_a_question_mark(repo: Repo) -> None:
    """A file that only describes a platform says nothing of cpu and memory."""
    pools = """
        pools: [{name: a, machineType: n2-standard-64}, {name: tpus, tpu: v5litepod-8}]
        clusterQueues: [{name: q, quota: [{pool: a}], localQueues: [{name: queue}]}]
    """

    assert {"q - a cpu ? ? 0 ?", "q - a memory ? ? 0 ?"} <= set(table(repo, pools))
