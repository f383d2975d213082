"""Every committed overlay is accepted by the real API server, and applied again it changes nothing."""

import pytest

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from . import kit

CLUSTERS = sorted({folder.split("/")[1] for folder in kit.overlays()})
FEW = ("flex-start-cluster", "gke-tpu-training-cluster", "pathways-cluster")
"""Clusters whose overlays have all kinds of runs: Jobs, JobSets in queues, PathwaysJobs."""


def objects_of(cluster: str) -> list[Object]:
    """Return the objects of all overlays of a cluster."""
    folders = [folder for folder in kit.overlays() if folder.split("/")[1] == cluster]
    return [item for folder in folders for item in kit.composed(folder)]


def test_there_are_overlays() -> None:
    """The tests of this module have something to test."""
    assert len(kit.overlays()) >= 10


@pytest.mark.parametrize("folder", kit.overlays())
def test_accepted(folder: str, bed: Bed) -> None:
    """Server-side dry runs of creating and of applying pass: strict fields, CEL rules, all webhooks."""
    for item in kit.composed(folder):
        kit.ensure_namespace(bed, item["metadata"]["namespace"])

        created = bed.api.create(item, dryRun="All", fieldValidation="Strict")
        applied = bed.api.apply(item, dryRun="All")

        names = [made["metadata"]["name"] for made in (created, applied)]
        assert names == [item["metadata"]["name"]] * 2


def test_mistakes_are_refused(bed: Bed) -> None:
    """The dry runs do look: a misspelt field, a broken rule and what only a webhook knows are refused."""
    (good,) = kit.composed("overlays/multislice-cluster/default/multislice-1slice")
    misspelt, inverted, unknown = (kit.simulated(good, seconds=1) for _ in range(3))
    misspelt["spec"]["replicatedJobs"][0]["template"]["spec"]["backofLimit"] = 0
    inverted["spec"]["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    inverted["spec"]["replicatedJobs"][0]["dependsOn"] = [{"name": "slice", "status": "Ready"}]
    unknown["spec"]["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["absent"]}

    refusals = [kit.refusal(bed, item) for item in (misspelt, inverted, unknown)]

    assert "unknown field" in refusals[0]
    assert "StartupPolicy and DependsOn APIs are mutually exclusive" in refusals[1]
    assert "invalid replicatedJob name 'absent'" in refusals[2]


@pytest.mark.parametrize(
    "cluster", [pytest.param(name, marks=() if name in FEW else pytest.mark.workflow) for name in CLUSTERS]
)
def test_applied_twice(cluster: str, bed: Bed) -> None:
    """A second server-side apply changes nothing and fails nowhere: while queued, and when admitted."""
    items = objects_of(cluster)
    queues = {
        (item["metadata"]["labels"][kit.QUEUE], item["metadata"]["namespace"])
        for item in items
        if kit.QUEUE in item["metadata"]["labels"]
    }
    for item in items:
        kit.ensure_namespace(bed, item["metadata"]["namespace"])
    for item in kit.priority_classes(**kit.CLASSES):
        bed.api.create(item)
    held: list[Object] = []
    for queue, namespace in sorted(queues):
        flavor, cluster_queue, local_queue = kit.queue_objects(
            queue, chips=100_000, labels={}, namespace=namespace, stopPolicy="Hold"
        )
        for item in (flavor, cluster_queue, local_queue):
            bed.api.create(item)
        held.append(cluster_queue)
    for item in items:
        bed.api.apply(item)
    queued = {item["metadata"]["name"] for item in items if kit.QUEUE in item["metadata"]["labels"]}

    bed.until("workloads to be queued", lambda: kit.workload_names(bed) >= queued)
    for item in items:
        kit.assert_apply_changes_nothing(bed, item)

    for cluster_queue in held:
        bed.api.patch(cluster_queue, {"spec": {"stopPolicy": "None"}})
    bed.until("workloads to be admitted", lambda: kit.admitted(bed) >= queued)
    bed.until("workloads to be resumed", lambda: not kit.suspended(bed) & queued)
    for item in items:
        kit.assert_apply_changes_nothing(bed, item)
