"""What an Application shows of its runs, with our health checks."""

from tests.e2e import kit as clusters
from tests.e2e_argocd import kit, ours
from tests.e2e_argocd.ours import without_checks  # noqa: F401 - a fixture
from tests.e2e_argocd.repository import Tree

from slicewright.testbed.bed import Bed


def test_health_follows_a_run_to_its_good_end(bed: Bed, tree: Tree) -> None:
    """A run that waits for quota is Suspended, one that runs Progressing, one that is done Healthy."""
    tree.cluster("slices: 2", "slices: 1")
    tree.workload("other")
    ours.begin(bed, tree)
    ((first,),) = [bed.until("one to run", lambda: clusters.admitted(bed))]
    bed.until("one of each", lambda: sorted(kit.health(bed, ours.RUNS)) == ["Progressing", "Suspended"])

    ours.until_pods(bed, first)
    ours.end(bed, first)
    bed.until("the other to go on", lambda: sorted(kit.health(bed, ours.RUNS)) == ["Healthy", "Progressing"])
    ((second,),) = [bed.until("the other to run", lambda: clusters.admitted(bed) - {first})]
    ours.until_pods(bed, second)
    ours.end(bed, second)

    ours.until_health(bed, ours.RUNS, "Healthy")


def test_a_run_that_only_waits_is_suspended(bed: Bed, tree: Tree) -> None:
    """A queue without quota for it: the run, and with it the Application, is Suspended and not Healthy."""
    tree.cluster("quota: [{pool: v5e}]", "quota: [{pool: v5e}]\n    stopPolicy: Hold")
    ours.begin(bed, tree)

    ours.until_health(bed, ours.RUNS, "Suspended")

    assert kit.health(bed, ours.RUNS) == ["Suspended"]
    assert clusters.admitted(bed) == set()


def test_a_failed_run_degrades_the_application(bed: Bed, tree: Tree) -> None:
    """A run whose pods fail makes its Application Degraded, and stays as it is."""
    ours.begin(bed, tree)
    name, _ = ours.until_running(bed, "hello")

    ours.end(bed, name, code=1)

    ours.until_health(bed, ours.RUNS, "Degraded")
    assert kit.health(bed, ours.RUNS) == ["Degraded"]


def test_a_job_is_not_healthy_before_it_is_done(bed: Bed, tree: Tree) -> None:
    """A Job that Kueue has resumed is Progressing until it is complete."""
    tree.workload("hello", "api: Job")
    ours.begin(bed, tree)
    bed.until("its health", lambda: kit.health(bed, ours.RUNS, "Job") == ["Progressing"])
    ((job,),) = [bed.until("it to be there", lambda: bed.api.list(*clusters.JOB, "default"))]
    name = job["metadata"]["name"]
    bed.until("its pods", lambda: len(ours.job_pods(bed, name, "Running")) == 2)
    assert kit.health(bed, ours.RUNS, "Job") == ["Progressing"]

    for pod in ours.job_pods(bed, name):
        clusters.end_pod(bed, pod)

    ours.until_health(bed, ours.RUNS, "Healthy")
