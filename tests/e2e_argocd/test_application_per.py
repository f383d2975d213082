"""A change of `applicationPer` ends no run, in neither direction."""

from tests.e2e import kit as clusters
from tests.e2e_argocd import kit, ours
from tests.e2e_argocd.argo import NAMESPACE
from tests.e2e_argocd.ours import without_checks  # noqa: F401 - a fixture
from tests.e2e_argocd.repository import Tree

from slicewright.testbed.bed import Bed

APART = f"{ours.RUNS}.hello"
FILE = f"{ours.GITOPS}/argocd/workload-default.hello.yaml"
APPLICATION, WORKLOAD = "applicationPer: Namespace", "applicationPer: Workload"


def keeper(bed: Bed, name: str) -> str:
    """Return the Application that Argo CD takes a run to be of."""
    item = bed.api.get(*clusters.JOBSET, name, "default")
    tracked: str = item["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"]
    return tracked.partition(":")[0]


def until_without(bed: Bed, application: str) -> None:
    """Wait until an Application is gone."""
    bed.until(
        f"{application} to be gone", lambda: bed.api.find(*kit.APPLICATION, application, NAMESPACE) is None
    )


def begin(bed: Bed, tree: Tree) -> tuple[str, str]:
    """Sync the sample with an Application for each workload; return name and uid of its run."""
    tree.cluster("{argocd: {", f"{{argocd: {{{WORKLOAD}, ")
    ours.begin(bed, tree)
    run = ours.until_running(bed, "hello")
    assert keeper(bed, run[0]) == APART
    return run


def hand_over(bed: Bed, tree: Tree) -> None:
    """Let the namespace have an Application, and wait until it has the run."""
    tree.cluster(WORKLOAD, APPLICATION)
    revision = tree.render("an Application for the namespace")
    kit.sync(bed, revision, ours.ROOT)
    kit.sync(bed, revision, ours.RUNS)


def test_namespace_takes_a_run_over_and_its_workload_takes_it_back(bed: Bed, tree: Tree) -> None:
    """The run goes on under one Application after the other, also when the one that made it has gone."""
    first = begin(bed, tree)

    hand_over(bed, tree)
    assert keeper(bed, first[0]) == ours.RUNS
    assert "finalizers" not in kit.application(bed, APART)["metadata"]

    (tree.root / FILE).unlink()
    kit.sync(bed, tree.render("without the Application of the workload"), ours.ROOT)
    until_without(bed, APART)
    assert ours.until_running(bed, "hello") == first

    tree.cluster(APPLICATION, WORKLOAD)
    revision = tree.render("an Application for the workload again")
    kit.sync(bed, revision, ours.ROOT)
    until_without(bed, ours.RUNS)
    kit.sync(bed, revision, APART)
    assert ours.until_running(bed, "hello") == first
    assert keeper(bed, first[0]) == APART


def test_a_run_that_was_taken_over_ends_with_its_workload(bed: Bed, tree: Tree) -> None:
    """The Application of the namespace prunes it; the other one goes with its file."""
    old, _ = begin(bed, tree)
    hand_over(bed, tree)

    (tree.root / "workloads" / "hello.yaml").unlink()
    kit.sync(bed, tree.render("no workload any more"), ours.ROOT, ours.RUNS)

    ours.until_gone(bed, old)
    until_without(bed, APART)
