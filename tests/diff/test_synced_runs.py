"""What becomes of runs when the commit also changes who syncs them."""

import shutil
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.conftest import Repo
from tests.diff.kit import CLUSTER, JOB, cluster, commit, diff, run_of, said

ARGOCD = "gitops: {argocd: {repoURL: 'https://example.test/t.git', applicationPer: Workload}}"
FLUX = "gitops: {flux: {sourceRef: {kind: GitRepository, name: t}, kustomizationPer: Workload}}"
TOOLS = [(ARGOCD, "Application"), (FLUX, "Kustomization")]


def in_ci(*cases: tuple[str, str]) -> Iterator[object]:
    """Return cases that `make test` leaves out."""
    return (pytest.param(*case, marks=pytest.mark.ci) for case in cases)


def synced(repo: Repo, gitops: str) -> None:
    """Commit the tree of a cluster that is synced."""
    cluster(repo, f"{CLUSTER}    {gitops}\n")
    repo.run("render")
    commit(repo)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gitops", "tool", "kind"), [(ARGOCD, "argocd", "Application"), (FLUX, "flux", "Kustomization")]
)
def test_run_that_goes_with_what_syncs_it_ends_and_starts_again(
    base: Repo, gitops: str, tool: str, kind: str
) -> None:
    """Back to one for the namespace, with its file deleted in the same commit."""
    cluster(base, f"{CLUSTER}    {gitops}\n")
    base.run("render")
    commit(base)
    cluster(base, f"{CLUSTER}    {gitops.replace('Per: Workload', 'Per: Namespace')}\n")
    base.run("render")
    if tool == "argocd":
        assert [] == said(diff(base))

    (base.root / f"overlays/c1/_gitops/{tool}/workload-default.a.yaml").unlink()
    base.run("render")

    assert [
        f"ends c1/default/{run_of(base)} 8: its {kind} is deleted, and the run with it",
        f"starts c1/default/{run_of(base)} 8: again: the {kind} that syncs it now finds it missing",
    ] == said(diff(base))
    assert ": 1 run starts, 1 run ends, 0 runs change; " in base.run("diff").out


@pytest.mark.slow
def test_run_goes_on_when_what_syncs_it_was_handed_over_before(base: Repo) -> None:
    """In a commit of its own, an Application without its finalizer is deleted and leaves the run."""
    cluster(base, f"{CLUSTER}    {ARGOCD}\n")
    base.run("render")
    cluster(base, f"{CLUSTER}    {ARGOCD.replace('Per: Workload', 'Per: Namespace')}\n")
    base.run("render")
    commit(base)
    (base.root / "overlays/c1/_gitops/argocd/workload-default.a.yaml").unlink()
    base.run("render")

    found = diff(base)

    assert ([], ["Application"]) == (
        said(found),
        [change["kind"] for change in found["platform"] if change["effect"] == "removed"],
    )


EMPTY = "nothing is left that its {kind} could build, and nothing else prunes it; delete it with kubectl"
PER_NAMESPACE = [(tool.replace("Per: Workload", "Per: Namespace"), kind) for tool, kind in TOOLS]


@pytest.mark.slow
@pytest.mark.parametrize(("gitops", "kind"), [TOOLS[0], PER_NAMESPACE[1], *in_ci(TOOLS[1], PER_NAMESPACE[0])])
def test_run_goes_on_when_its_cluster_is_deleted_with_all_that_syncs_it(
    base: Repo, gitops: str, kind: str
) -> None:
    """Its file, those of its workloads and so the whole tree: who syncs finds nothing and prunes nothing."""
    synced(base, gitops)
    for path in ("clusters/c1.yaml", "workloads/a.yaml", "workloads/f.yaml"):
        (base.root / path).unlink()
    base.run("render")

    found = diff(base)

    reason = EMPTY.format(kind=kind)
    assert [f"stays c1/default/{name} 8: {reason}" for name in (found["runs"][0]["name"], "f")] == said(found)
    assert [(16, 16)] == [(entry["before"], entry["after"]) for entry in found["chips"]]
    assert [] == found["quotas"]


@pytest.mark.slow
@pytest.mark.parametrize(("gitops", "kind"), [TOOLS[0], *in_ci(TOOLS[1])])
def test_run_that_leaves_in_the_commit_in_which_syncing_ends(base: Repo, gitops: str, kind: str) -> None:
    """What syncs the namespace goes on with what is left; what synced the workload alone finds nothing."""
    per_namespace = gitops.replace("Per: Workload", "Per: Namespace")
    for tool, effect in ((per_namespace, "ends"), (gitops, "stays")):
        synced(base, tool)
        cluster(base)
        (base.root / "workloads/a.yaml").unlink()
        base.run("render")
        reason = "the workload is gone" if effect == "ends" else EMPTY.format(kind=kind)

        found = diff(base)

        assert [f"{effect} c1/default/{found['runs'][0]['name']} 8: {reason}"] == said(found)
        base.workload("a", JOB)


@pytest.mark.slow
@pytest.mark.parametrize(("gitops", "kind"), [PER_NAMESPACE[1], *in_ci(PER_NAMESPACE[0])])
def test_run_goes_on_when_the_folder_of_its_namespace_is_deleted_with_it(
    base: Repo, gitops: str, kind: str
) -> None:
    """What synced the namespace leaves, and keeps what it synced; its anchor stays as well."""
    unqueued = JOB.replace("queueName: queue", "onChange: Replace")
    base.workload("b", unqueued, metadata=", namespace: apart")
    synced(base, gitops)
    (base.root / "workloads/b.yaml").unlink()
    shutil.rmtree(base.root / "overlays/c1/apart")
    base.run("render")

    found = diff(base)

    goes = f"its {kind} is deleted and leaves it in the cluster, and nothing else prunes it"
    stays = f"stays c1/apart/{found['runs'][0]['name']} 8: {goes}; delete it with kubectl"
    assert [stays] == said(found)
    assert [True] == [one["stays"] for one in found["platform"] if one["name"] == "slicewright-anchor"]


LATE = "if the run was not pruned first; delete it with kubectl"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "happens"),
    [
        (PER_NAMESPACE[0], TOOLS[0], f"its Application is deleted and leaves it in the cluster, {LATE}"),
        (TOOLS[0], PER_NAMESPACE[0], f"its Application does not prune, {LATE}"),
        (PER_NAMESPACE[1], TOOLS[1], f"its Kustomization is deleted and leaves it in the cluster, {LATE}"),
        (TOOLS[1], PER_NAMESPACE[1], ""),
    ],
)
def test_run_that_changes_in_the_commit_that_changes_who_syncs_it(
    base: Repo, before: tuple[str, str], after: tuple[str, str], happens: str
) -> None:
    """Nobody takes over what the tree no longer holds; Flux keeps a Kustomization that has a run to prune."""
    synced(base, before[0])
    old = run_of(base)
    cluster(base, f"{CLUSTER}    {after[0]}\n")
    base.workload("a", f"{JOB.rstrip()}\n    slices: 2\n")
    base.run("render")
    new = run_of(base)

    goes_on = [
        f"stays c1/default/{old} 8: {happens}",
        f"starts c1/default/{new} 16: beside JobSet {old}, which continues",
    ]
    ends = [
        f"ends c1/default/{old} 8: JobSet {new} takes its place",
        f"starts c1/default/{new} 16: takes the place of JobSet {old}",
    ]
    assert (goes_on if happens else ends) == said(diff(base))


@pytest.mark.slow
def test_applications_that_point_to_another_cluster_start_all_runs_there(base: Repo) -> None:
    """Those in the one before go on, and are asked for still."""
    synced(base, ARGOCD)
    far = ARGOCD.replace("applicationPer", "destination: {name: far}, applicationPer")
    cluster(base, f"{CLUSTER}    {far}\n")
    base.run("render")

    found = diff(base)

    assert {"stays": 2, "starts": 2} == Counter(run["effect"] for run in found["runs"])
    assert [(16, 32)] == [(entry["before"], entry["after"]) for entry in found["chips"]]
    moved = {one["name"] for one in found["platform"] if one["note"]}
    assert {"c1-controllers", "c1-platform", "c1.default.a", "c1.default.f"} == moved
