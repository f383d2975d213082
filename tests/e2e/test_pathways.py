"""Pathways: a head on a CPU machine, workers on the slices, and the head's end ends it all."""

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from . import kit

OVERLAYS = "overlays/pathways-cluster/default"
COORDINATOR = "jobset.sigs.k8s.io/coordinator"
SLICES, HOSTS = 2, 4


def start(bed: Bed, workload: str) -> Object:
    """Apply a Pathways overlay on its cluster, wait until all of it runs, and return the JobSet."""
    bed.add_nodes(kit.site("pathways-cluster"))
    (item,) = kit.composed(f"{OVERLAYS}/{workload}")
    bed.api.apply(item)
    bed.until(
        "head and workers to run",
        lambda: len(kit.pods_of(bed, workload, phase="Running")) == 1 + SLICES * HOSTS,
    )
    return bed.api.get(*kit.JOBSET, workload, "default")


def head_of(bed: Bed, workload: str) -> Object:
    """Return the pod of the head."""
    (head,) = kit.pods_of(bed, workload, "pathways-head")
    return head


def assert_workers_on_slices(bed: Bed, jobset: Object) -> None:
    """Each slice has a node pool of its own, and every worker knows where the head is."""
    name = jobset["metadata"]["name"]
    workers = kit.pods_of(bed, name, "worker")
    subdomain = jobset["spec"]["network"].get("subdomain", name)

    assert sorted(map(sorted, kit.slices(bed, workers))) == [["tpu-np-0"], ["tpu-np-1"]]
    addresses = {pod["metadata"]["labels"][COORDINATOR] for pod in workers}
    assert addresses == {f"{name}-pathways-head-0-0.{subdomain}"}
    head = head_of(bed, name)["spec"]
    assert (head["hostname"], head["subdomain"]) == (f"{name}-pathways-head-0-0", subdomain)


def end_head(bed: Bed, workload: str) -> None:
    """Let the head's program end well, and wait for the JobSet."""
    kit.end_pod(bed, head_of(bed, workload))
    bed.until("the JobSet to complete", lambda: kit.completed(bed, workload))
    bed.until("the workers to be stopped", lambda: not kit.pods_of(bed, workload, phase="Running"))


def test_jobset(bed: Bed) -> None:
    """The direct form: head on the CPU pool, workers on the slices, success of the head ends the JobSet."""
    jobset = start(bed, "pathways-jobset")

    assert kit.node_pools(bed, [head_of(bed, "pathways-jobset")]) == ["cpu-np"]
    assert_workers_on_slices(bed, jobset)
    end_head(bed, "pathways-jobset")


def test_pathwaysjob(bed: Bed) -> None:
    """The PathwaysJob, with the simulated operator: the same play, and the job's status says how it ended."""
    jobset = start(bed, "pathways-job")

    assert kit.node_pools(bed, [head_of(bed, "pathways-job")]) == ["cpu-np"]
    assert_workers_on_slices(bed, jobset)
    bed.until("the PathwaysJob to run", lambda: state_of(bed, "pathways-job") == ["Running"])
    end_head(bed, "pathways-job")
    bed.until("the PathwaysJob to complete", lambda: state_of(bed, "pathways-job") == ["Completed"])
    done = bed.api.get(*kit.PATHWAYSJOB, "pathways-job", "default")
    assert done["status"]["terminalState"] == "Completed"


def state_of(bed: Bed, name: str) -> list[str]:
    """Return the true conditions of a PathwaysJob."""
    return kit.conditions(bed, *kit.PATHWAYSJOB)[name]


def test_colocated_head(bed: Bed) -> None:
    """A head beside its workers stands on one of the JobSet's own slices."""
    jobset = start(bed, "pathways-colocated")

    assert kit.node_pools(bed, [head_of(bed, "pathways-colocated")])[0] in ("tpu-np-0", "tpu-np-1")
    assert_workers_on_slices(bed, jobset)
    end_head(bed, "pathways-colocated")


def test_failed_head_starts_again(bed: Bed) -> None:
    """A head that fails takes the JobSet down, which starts again as often as it may."""
    start(bed, "pathways-jobset")
    jobset = bed.api.get(*kit.JOBSET, "pathways-jobset", "default")
    restarts = jobset["spec"]["failurePolicy"]["maxRestarts"]

    kit.end_pod(bed, head_of(bed, "pathways-jobset"), code=1)

    kind = "RestartingJobSet" if restarts else "Failed"
    bed.until(f"the JobSet to be {kind}", lambda: outcome(bed) == (min(restarts, 1), not restarts))


def outcome(bed: Bed) -> tuple[int, bool]:
    """Return how often the JobSet was started again, and whether it has failed."""
    found = bed.api.get(*kit.JOBSET, "pathways-jobset", "default")
    return found["status"].get("restarts", 0), kit.condition(found, "Failed")
