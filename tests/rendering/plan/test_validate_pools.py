"""Workloads for which no pool has nodes: an error where nothing else makes any, a warning elsewhere."""

import pytest
from tests.files import cluster_text

from .kit import PROGRAM, planned, workload

SPOT = "pools: [{name: tpus, tpu: v5litepod-8, provisioning: Spot}]"
QUEUE = f"{SPOT}\nclusterQueues: [{{name: c, quota: [{{pool: tpus}}], localQueues: [{{name: q}}]}}]"
LADDER = f"{SPOT}\ncomputeClasses: [{{name: ladder, priorities: [{{tpu: v6e-8}}]}}]"
CLASS = f"{SPOT[:-1]}, {{name: b, tpu: v4-8, provisioning: {{type: ComputeClass, name: ladder}}}}]"
OTHER = "tpu: v6e-8"
SAME = "tpu: v5litepod-8"
TOLERATION = "{key: cloud.google.com/gke-spot, operator: Exists}"
NEVER, UNLESS = "the run never starts:", "the run never starts unless another tool creates such nodes:"
MAY = "the run may never start:"


def said(spec: str, pools: str) -> tuple[str, str]:
    """Return how bad REF006 is, and the beginning of its hint."""
    clusters = cluster_text(f"project: p\nlocation: us-west4-a\n{pools}")
    _, problems = planned(workload(f"{spec}\n{PROGRAM}"), clusters=clusters)
    (found,) = [problem for problem in problems if problem.id == "REF006"]
    return found.severity, f"{found.hint.partition(':')[0]}:"


@pytest.mark.parametrize("spec", [OTHER, SAME, f"{OTHER}\nqueueName: q", f"{SAME}\nprovisioning: FlexStart"])
def test_standard_cluster_that_is_ours_has_no_other_nodes(spec: str) -> None:
    """A shape, or a way of provisioning, that no declared pool has is an error there: nothing makes it."""
    assert ("error", NEVER) == said(spec, QUEUE if "queueName" in spec else SPOT)


@pytest.mark.parametrize("spec", [OTHER, SAME])
@pytest.mark.parametrize(
    ("pools", "hint"),
    [
        (f"managed: false\n{SPOT}", UNLESS),
        (LADDER, UNLESS),
        (CLASS, UNLESS),
        (f"mode: Autopilot\n{SPOT}", UNLESS.replace("another tool", "GKE")),
    ],
    ids=["somebody else's", "a ComputeClass", "a pool of a ComputeClass", "Autopilot"],
)
def test_elsewhere_something_else_may_make_the_nodes(spec: str, pools: str, hint: str) -> None:
    """Autopilot, a ComputeClass and whoever makes the platform may have what the file does not tell of."""
    assert ("warning", hint) == said(spec, pools)


@pytest.mark.parametrize(
    "more",
    [
        "queueName: q",
        "components: [components/spot]",
        "patches: [{target: {kind: JobSet}, ops: [{op: remove, path: /a}]}]",
        f"podTemplate: {{spec: {{tolerations: [{TOLERATION}]}}}}",
    ],
)
def test_taint_may_be_tolerated(more: str) -> None:
    """A queue's flavor brings the toleration for Spot nodes, and so may what people add: a warning."""
    assert ("warning", MAY) == said(f"{SAME}\n{more}", QUEUE)


def test_nodes_without_a_taint_take_pods_on_demand() -> None:
    """Nothing keeps pods that select no label off reserved nodes of their shape."""
    reserved = SPOT.replace("Spot", "{type: Reservation, name: r1}")

    assert ("warning", MAY) == said(SAME, reserved)


def test_another_reservation_is_another_way() -> None:
    """Pods select the name of their reservation, and the nodes of another one do not have it."""
    reserved = SPOT.replace("Spot", "{type: Reservation, name: r1}")

    wanted = f"{SAME}\nprovisioning: {{type: Reservation, name: r2}}"

    assert ("error", NEVER) == said(wanted, reserved)


PATHWAYS = "pathways: {pathwaysDir: gs://b/tmp, head: {pool: cpu}}"
SCOPES = "nodeConfig: {scopes: [storage-full, gke-default, cloud-platform]}"
OWN = "nodeConfig: {serviceAccount: nodes@p.iam.gserviceaccount.com}"


def scratch(more: str, tpus: str, cpu: str, *, before: str = "") -> list[str]:
    """Return what POOL040 says of a Pathways workload on a cluster with two pools."""
    pools = f"[{{name: tpus, tpu: v6e-16, {tpus}}}, {{name: cpu, machineType: n2-standard-64, {cpu}}}]"
    clusters = cluster_text(f"project: p\nlocation: us-east5-a\n{before}pools: {pools}")
    _, problems = planned(workload(f"tpu: v6e-16\n{PATHWAYS}\n{more}\n{PROGRAM}"), clusters=clusters)
    return [problem.message.partition("the nodes of ")[2] for problem in problems if problem.id == "POOL040"]


@pytest.mark.parametrize("more", ["hostNetwork: true", "api: PathwaysJob"])
def test_pathways_on_nodes_that_cannot_write(more: str) -> None:
    """Pathways on the host network needs nodes with a scope or an account that may write, its head too."""
    assert ["pools 'tpus' and 'cpu' cannot write to gs://b/tmp"] == scratch(more, "slices: 1", "nodes: 1")
    assert ["pool 'cpu' cannot write to gs://b/tmp"] == scratch(more, OWN, "nodes: 1")
    assert ["pool 'tpus' cannot write to gs://b/tmp"] == scratch(
        more, "nodeConfig: {scopes: [gke-default]}", SCOPES
    )
    assert [] == scratch(more, SCOPES, OWN)
    url = "https://www.googleapis.com/auth/devstorage.read_write"
    assert [] == scratch(more, f"nodeConfig: {{scopes: ['{url}']}}", OWN)


@pytest.mark.parametrize(
    ("more", "before"),
    [
        ("hostNetwork: false", ""),
        ("hostNetwork: true", "managed: false\n"),
        ("hostNetwork: true", "mode: Autopilot\n"),
        ("hostNetwork: true", "environment: {}\n"),
    ],
)
def test_pathways_whose_identity_is_another(more: str, before: str) -> None:
    """Other pods use Workload Identity, Terraform's nodes have an account, others' nodes are not known."""
    assert [] == scratch(more, "slices: 1", "nodes: 1", before=before)


def test_head_beside_the_workers_has_no_pool_of_its_own() -> None:
    """Where the head shares the workers' hosts, the CPU pool is not asked."""
    together = PATHWAYS.replace("head: {pool: cpu}", "deploymentMode: colocate_head_with_workers")
    pools = f"[{{name: tpus, tpu: v6e-16, {OWN}}}, {{name: cpu, machineType: n2-standard-64}}]"
    clusters = cluster_text(f"project: p\nlocation: us-east5-a\npools: {pools}")
    _, problems = planned(
        workload(f"tpu: v6e-16\n{together}\nhostNetwork: true\n{PROGRAM}"), clusters=clusters
    )

    assert [] == [problem for problem in problems if problem.id == "POOL040"]
