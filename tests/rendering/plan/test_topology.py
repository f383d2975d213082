"""Topology-aware scheduling: who asks Kueue for what, and where JobSet's exclusive placement gives way."""

import pytest
from tests.conftest import Repo
from tests.words import places

from slicewright.kubernetes.problem import dotted

from .kit import PROGRAM, cluster, plan, planned, refused, workload

REQUEST = {
    "kueue.x-k8s.io/podset-slice-required-topology": "cloud.google.com/gke-nodepool",
    "kueue.x-k8s.io/podset-slice-size": "2",
}
ANY = {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}
LEVELS = "{nodeLabel: cloud.google.com/gke-nodepool}, {nodeLabel: kubernetes.io/hostname}"
POOLS = """
topologies: [{name: t, levels: [LEVELS]}]
pools:
- {name: tas, tpu: v5litepod-8, slices: 3, topologyName: t}
- {name: spot, tpu: v5litepod-8, slices: 3, provisioning: Spot}
- {name: plain, tpu: v5litepod-16, slices: 3}
- {name: cpu-np, machineType: n2-standard-64, topologyName: t}
clusterQueues:
- {name: tas, quota: [{pool: tas}, {pool: cpu-np}], localQueues: [{name: tas, namespace: default}]}
- {name: rest, quota: [{pool: spot}, {pool: plain}], localQueues: [{name: rest, namespace: default}]}
"""


def pools(levels: str = LEVELS) -> str:
    """Return a cluster with a Topology of these levels."""
    return cluster(POOLS.replace("LEVELS", levels))


@pytest.mark.parametrize(
    ("spec", "request_of_slices"),
    [
        ("tpu: v5litepod-8\nqueueName: tas\n", REQUEST),
        ("tpu: v5litepod-8\n", {}),
        ("tpu: v5litepod-8\nqueueName: rest\n", {}),
        ("tpu: v5litepod-8\nprovisioning: Spot\nqueueName: rest\n", {}),
        ("tpu: v5litepod-16\nqueueName: rest\n", {}),
    ],
)
def test_runs_ask_where_their_queue_has_a_pool_with_a_topology(
    spec: str, request_of_slices: dict[str, str]
) -> None:
    """Shape, provisioning and queue decide; with a request no slice claims a node pool by itself."""
    made = plan(spec + PROGRAM, clusters=pools())

    assert request_of_slices == made.topology_request
    assert (not request_of_slices) == made.exclusive_topology


def test_cluster_that_tells_of_no_queues_is_known_by_its_pools() -> None:
    """Where somebody else makes the queues, any pool of the shape may be meant."""
    text = "pools: [{name: tas, tpu: v5litepod-8, topologyName: t}]\n"

    assert (
        REQUEST == plan("tpu: v5litepod-8\nqueueName: q\n" + PROGRAM, clusters=cluster(text)).topology_request
    )


def test_request_of_the_user_is_kept() -> None:
    """A topology that the user's podTemplate asks for stands alone."""
    own = {"kueue.x-k8s.io/podset-required-topology": "cloud.google.com/gce-topology-block"}
    lines = f"tpu: v5litepod-8\nqueueName: tas\npodTemplate: {{metadata: {{annotations: {own}}}}}\n"
    made = plan(lines.replace("'", '"') + PROGRAM, clusters=pools())

    assert own == made.topology_request
    assert not made.exclusive_topology


def test_pods_of_cpu_pools_with_a_topology_take_any_node() -> None:
    """Heads and auxiliary jobs of a queued run ask too, or a queue with other flavors gives them none."""
    queued = "tpu: v5litepod-8\nqueueName: tas\n" + PROGRAM
    aux = (
        "auxiliaryJobs: [{name: tb, pool: cpu-np, podTemplate: {spec: {containers: [{name: m, image: i}]}}}]"
    )
    head = plan(f"{queued}pathways: {{pathwaysDir: 'gs://b'}}", clusters=pools()).pathways
    free = plan(f"tpu: v5litepod-8\n{PROGRAM}{aux}", clusters=pools())

    assert head is not None
    assert ANY == head.head_topology_request
    assert ANY == plan(queued + aux, clusters=pools()).auxiliaries[0].topology_request
    assert {} == free.auxiliaries[0].topology_request


def test_topology_without_node_pools_is_refused() -> None:
    """Kueue admits nothing that asks for a level that the Topology lacks."""
    said = refused(
        "tpu: v5litepod-8\nqueueName: tas\n" + PROGRAM, clusters=pools("{nodeLabel: kubernetes.io/hostname}")
    )

    assert "workloads/a.yaml:6:14: TPU152\n" == places(said)


def test_pathwaysjob_cannot_ask() -> None:
    """The operator takes no annotations for its workers."""
    spec = "tpu: v5litepod-8\nqueueName: tas\napi: PathwaysJob\npathways: {pathwaysDir: 'gs://b'}\n" + PROGRAM
    _, problems = planned(workload(spec), clusters=pools())

    assert ["POOL031", "TPU153"] == [problem.id for problem in problems]


def test_workers_of_a_pathwaysjob_cannot_tolerate_spot_nodes_by_themselves() -> None:
    """Without a queue, whose flavor has the toleration, they never start; with one they run."""
    text = cluster("pools: [{name: s, tpu: v5litepod-16, provisioning: Spot}]")
    own = text.replace("managed: false", "managed: true")
    spec = (
        "tpu: v5litepod-16\nprovisioning: Spot\napi: PathwaysJob\npathways: {pathwaysDir: 'gs://b'}\n"
        + PROGRAM
    )

    for clusters, severity in ((text, "warning"), (own, "error")):
        _, problems = planned(workload(spec), clusters=clusters)
        assert severity in {problem.severity for problem in problems if problem.id == "PW131"}
    _, problems = planned(workload(spec + "queueName: q\n"), clusters=text)
    assert "PW131" not in [problem.id for problem in problems]


def test_runs_on_a_topology_validate(empty: Repo) -> None:
    """What asks for whole slices has no rule against it: neither quota nor placement nor taints."""
    empty.cluster(spec=POOLS.replace("LEVELS", LEVELS))
    for name, lines in {
        "plain": "slices: 2\n",
        "paths": "slices: 2\npathways: {pathwaysDir: 'gs://b', head: {pool: cpu-np}}\n",
    }.items():
        empty.workload(name, f"clusters: [c1]\ntpu: v5litepod-8\nqueueName: tas\n{lines}{PROGRAM}")
    empty.run("render")
    found = empty.run("validate", "-o", "json").json["problems"]

    assert {"GIT120", "TEAM010"} >= {problem["id"] for problem in found}


WAYS = """
topologies: [{name: t, levels: [LEVELS]}]
pools:
- {name: plain, tpu: v5litepod-8}
- {name: spot, tpu: v5litepod-8, provisioning: Spot, topologyName: t}
- {name: queued, tpu: v5litepod-8, provisioning: FlexStartQueued, topologyName: t}
- {name: block, tpu: v5litepod-8, provisioning: {type: Reservation, name: r1, block: b1}, topologyName: t}
- {name: other, tpu: v5litepod-8, provisioning: {type: Reservation, name: r1, block: b2}, flavor: other}
clusterQueues:
- name: q
  quota: [{pool: plain}, {pool: spot}, {pool: queued}, {pool: block}OTHER]
  localQueues: [{name: q}]
""".replace("LEVELS", LEVELS)
PLAIN = "tpu: v5litepod-8\nqueueName: q\n"
RESERVED = f"{PLAIN}provisioning: {{type: Reservation, name: r1}}\n"


@pytest.mark.parametrize(
    ("spec", "request_of_slices"),
    [
        (PLAIN, {}),
        (PLAIN + "provisioning: FlexStartQueued\n", REQUEST),
        (RESERVED, REQUEST),
        (RESERVED + "alternativeProvisioning: [Spot]\n", REQUEST),
    ],
)
def test_runs_ask_where_a_pool_of_their_way_has_a_topology(
    spec: str, request_of_slices: dict[str, str]
) -> None:
    """Any block of a reservation is the reservation; queued nodes are not those on demand."""
    made = plan(spec + PROGRAM, clusters=cluster(WAYS.replace("OTHER", "")))

    assert request_of_slices == made.topology_request


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (PLAIN + "alternativeProvisioning: [Spot]\n", "spec.provisioning error no pool of OnDemand"),
        (
            PLAIN + "provisioning: Spot\nalternativeProvisioning: [OnDemand]\n",
            "spec.alternativeProvisioning[0] error no pool of OnDemand",
        ),
        (RESERVED, "spec.provisioning warning only part of the pools of Reservation r1"),
    ],
)
def test_pools_that_a_request_shuts_out_are_named(spec: str, said: str) -> None:
    """Whichever way comes first, Kueue gives a run that asks no flavor without a Topology."""
    queues = WAYS.replace("OTHER", ", {pool: other}")
    _, problems = planned(workload(spec + PROGRAM), clusters=cluster(queues))

    (found,) = [problem for problem in problems if problem.id == "TPU156"]
    place, severity, which = said.split(" ", 2)
    assert (place, severity) == (dotted(found.path), found.severity)
    assert (
        f"the run requests a Topology, but {which} in its queue has one: "
        "Kueue gives the run no flavor without a Topology"
    ) == found.message
