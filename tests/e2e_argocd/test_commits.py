"""What each commit does to the runs of a GitOps repository that Argo CD syncs as rendered."""

from tests.e2e import kit as clusters
from tests.e2e_argocd import kit, ours
from tests.e2e_argocd.ours import without_checks  # noqa: F401 - a fixture
from tests.e2e_argocd.repository import Tree

from slicewright.testbed.bed import Bed


def test_a_new_repository_syncs(bed: Bed, tree: Tree) -> None:
    """What init and render make is synced by Argo CD: platform, Applications, and the run, which runs."""
    ours.begin(bed, tree)
    ours.until_running(bed, "hello")

    ours.until_health(bed, ours.PLATFORM, "Healthy")
    assert ours.applications(bed) == [ours.ROOT, ours.PLATFORM, ours.RUNS]
    assert clusters.admitted(bed) == {ours.run(bed, "hello")[0]}


def test_another_workloads_commit_leaves_a_run_alone(bed: Bed, tree: Tree) -> None:
    """A commit that adds a workload starts its run; the admitted one is not applied again."""
    ours.begin(bed, tree)
    first = ours.until_running(bed, "hello")

    tree.workload("other")
    ours.push(bed, tree, "another workload")

    assert ours.until_running(bed, "hello") == first
    ours.until_running(bed, "other")
    assert "hello" not in kit.sync_message(kit.application(bed, ours.RUNS))


def test_a_changed_workload_starts_a_run_and_ends_the_old_one(bed: Bed, tree: Tree) -> None:
    """A changed TPUWorkload is another run: the old one is deleted with its pods, the new one is queued."""
    ours.begin(bed, tree)
    old, _ = ours.until_running(bed, "hello")

    tree.workload("hello")
    ours.push(bed, tree, "a changed workload")

    new, _ = ours.until_running(bed, "hello")
    assert new != old
    ours.until_gone(bed, old)


def test_a_new_run_gets_the_quota_of_the_old_one(bed: Bed, tree: Tree) -> None:
    """Where the quota is used up, the old run goes first, and the new one takes its place at once."""
    tree.workload("other")
    ours.begin(bed, tree)
    old, _ = ours.until_running(bed, "hello")
    other = ours.until_running(bed, "other")

    tree.workload("hello")
    ours.push(bed, tree, "a changed workload")

    ours.until_gone(bed, old)
    assert ours.until_running(bed, "hello")[0] != old
    assert ours.run(bed, "other") == other


def test_a_finished_run_stays_finished(bed: Bed, tree: Tree) -> None:
    """Later commits, to the same Application too, do not start a run again that is done or has failed."""
    tree.workload("other")
    ours.begin(bed, tree)
    done, failed = ours.until_running(bed, "hello"), ours.until_running(bed, "other")
    ours.end(bed, done[0])
    ours.end(bed, failed[0], code=1)
    bed.until(
        "both to be over",
        lambda: ours.over(bed, done[0]) == "Completed" and ours.over(bed, failed[0]) == "Failed",
    )

    tree.workload("third")
    ours.push(bed, tree, "one more workload")
    ours.until_running(bed, "third")

    assert (ours.run(bed, "hello"), ours.run(bed, "other")) == (done, failed)
    assert (ours.over(bed, done[0]), ours.over(bed, failed[0])) == ("Completed", "Failed")


def test_a_new_version_with_other_bases_leaves_every_run_as_it_is(bed: Bed, tree: Tree) -> None:
    """Changed bases change no run that is there: no uid, no generation, no drift."""
    ours.begin(bed, tree)
    first = ours.until_running(bed, "hello")
    before = bed.api.get(*clusters.JOBSET, first[0], "default")["metadata"]["generation"]
    base = tree.read("bases/jobset/jobset.yaml")

    tree.write("bases/jobset/jobset.yaml", base.replace("maxRestarts: 0", "maxRestarts: 7"))
    ours.push(bed, tree, "bases of a new version")

    assert tree.read("bases/jobset/jobset.yaml") != base
    assert ours.until_running(bed, "hello") == first
    after = bed.api.get(*clusters.JOBSET, first[0], "default")
    assert (after["metadata"]["generation"], after["spec"]["failurePolicy"]["maxRestarts"]) == (before, 0)


def test_rerun_starts_a_finished_run_again(bed: Bed, tree: Tree) -> None:
    """`slicewright rerun` and a commit start a new run of an unchanged workload."""
    ours.begin(bed, tree)
    old, _ = ours.until_running(bed, "hello")
    ours.end(bed, old)
    bed.until("it to be over", lambda: ours.over(bed, old) == "Completed")

    tree.run("rerun", "-C", str(tree.root), "hello")
    ours.push(bed, tree, "once more")

    new, _ = ours.until_running(bed, "hello")
    assert new != old


def test_deleting_the_last_workload_ends_its_run(bed: Bed, tree: Tree) -> None:
    """A deleted TPUWorkload ends its run, also the last one of a namespace: an anchor stays to be synced."""
    ours.begin(bed, tree)
    old, _ = ours.until_running(bed, "hello")

    (tree.root / "workloads" / "hello.yaml").unlink()
    ours.push(bed, tree, "no workload any more")

    ours.until_gone(bed, old)


def test_deleting_the_application_keeps_the_runs(bed: Bed, tree: Tree) -> None:
    """Deleting an Application of a namespace ends no run: what it synced outlives it."""
    ours.begin(bed, tree)
    first = ours.until_running(bed, "hello")

    for name in (ours.ROOT, ours.RUNS):
        bed.api.delete(kit.application(bed, name))
    bed.until("it to be gone", lambda: bed.api.find(*kit.APPLICATION, ours.RUNS, "argocd") is None)

    assert ours.until_running(bed, "hello") == first
