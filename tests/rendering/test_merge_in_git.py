"""Two people change things at once: what git merges by itself, and what `slicewright render` resolves."""

import os
import subprocess

import pytest
from tests.conftest import Repo
from tests.diff.kit import cluster

SPEC = "naming: {naming}\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {{image: {image}}}"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}


def git(repo: Repo, *arguments: str, code: int = 0) -> str:
    """Run git in the repository, without the settings of whoever runs the tests."""
    done = subprocess.run(
        ["git", *arguments], cwd=repo.root, env=ENVIRONMENT, check=False, capture_output=True, text=True
    )
    assert code == done.returncode, done.stdout + done.stderr
    return done.stdout


def commit(repo: Repo) -> None:
    """Render and commit everything."""
    repo.run("render")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "change")


def write(repo: Repo, name: str, *, naming: str = "Hashed", image: str = "x") -> None:
    """Write a workload."""
    repo.workload(name, SPEC.format(naming=naming, image=image))


@pytest.fixture
def tracked(repo: Repo) -> Repo:
    """A repository in git with the workloads a, c, e, g, the last two of them Fixed."""
    for name, naming in (("a", "Hashed"), ("c", "Hashed"), ("e", "Fixed"), ("g", "Fixed")):
        write(repo, name, naming=naming)
    git(repo, "init", "-q", "-b", "main")
    commit(repo)
    return repo


def parallel(repo: Repo, ours: dict[str, str], theirs: dict[str, str], *, code: int = 0) -> None:
    """Change workloads (name: naming) on two branches, and merge theirs into ours."""
    git(repo, "checkout", "-qb", "theirs")
    for name, naming in theirs.items():
        write(repo, name, naming=naming, image="theirs")
    commit(repo)
    git(repo, "checkout", "-q", "main")
    for name, naming in ours.items():
        write(repo, name, naming=naming, image="ours")
    commit(repo)
    git(repo, "merge", "-q", "--no-edit", "theirs", code=code)


@pytest.mark.slow
@pytest.mark.parametrize("ours", ["a", "e"], ids=["hashed", "fixed"])
@pytest.mark.parametrize("theirs", ["c", "g"], ids=["hashed", "fixed"])
def test_edits_of_two_workloads_merge(tracked: Repo, ours: str, theirs: str) -> None:
    """Each workload has a folder of its own, and the list of the namespace does not change."""
    naming = {"a": "Hashed", "c": "Hashed", "e": "Fixed", "g": "Fixed"}

    parallel(tracked, {ours: naming[ours]}, {theirs: naming[theirs]})

    assert git(tracked, "status", "--porcelain") == ""
    assert tracked.run("render", "--check").code == 0


def test_new_workloads_merge_where_a_line_lies_between_them(tracked: Repo) -> None:
    """The list is sorted, one workload a line: b and f go to different places of it."""
    parallel(tracked, {"b": "Hashed"}, {"f": "Hashed"})

    assert tracked.read("overlays/c1/default/kustomization.yaml").endswith("- a\n- b\n- c\n- e\n- f\n- g\n")
    assert tracked.run("render", "--check").code == 0


@pytest.mark.slow
def test_new_neighbours_conflict_in_one_line_and_a_render_resolves_it(tracked: Repo) -> None:
    """Git cannot order two lines in one place: the list of the namespace conflicts, nothing else does."""
    parallel(tracked, {"h": "Hashed"}, {"i": "Hashed"}, code=1)

    conflicts = git(tracked, "diff", "--name-only", "--diff-filter=U").splitlines()
    commit(tracked)

    assert conflicts == ["overlays/c1/default/kustomization.yaml"]
    assert tracked.read("overlays/c1/default/kustomization.yaml").endswith("- g\n- h\n- i\n")
    assert tracked.run("render", "--check").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("image", ["ours", "theirs"])
def test_edits_of_one_workload_are_resolved_by_a_render(tracked: Repo, image: str) -> None:
    """The run of the other branch is new and nobody asks for it any more: a render deletes it."""
    parallel(tracked, {"a": "Hashed"}, {"a": "Hashed"}, code=1)
    write(tracked, "a", image=image)
    for run in (f"overlays/c1/default/a/{name}" for name in tracked.runs()):
        for branch in ("main", "theirs"):  # each has one of the two
            command = ["git", "checkout", branch, "--", run]
            subprocess.run(command, cwd=tracked.root, check=False, capture_output=True)

    checked = tracked.run("render", "--check", code=1)

    assert "RUN008" not in checked.err
    assert "hint: slicewright render, and commit" in checked.err
    commit(tracked)
    assert tracked.run("render", "--check").code == 0


@pytest.mark.slow
def test_run_with_marks_of_a_conflict_is_rendered_once_it_is_deleted(tracked: Repo) -> None:
    """Git takes the runs of two branches for one file that both renamed, and writes marks into both."""
    parallel(tracked, {"a": "Hashed"}, {"a": "Hashed"}, code=1)
    write(tracked, "a", image="ours")
    runs = [f"overlays/c1/default/a/{name}" for name in tracked.runs()]

    refused = tracked.run("render", code=1).err

    assert "RUN001 a frozen run has marks of a merge conflict" in refused
    assert "hint: delete the file, and run slicewright render" in refused
    for run in runs:
        (tracked.root / run).unlink()
    commit(tracked)
    assert tracked.run("render", "--check").code == 0


@pytest.mark.slow
@pytest.mark.parametrize(("ours", "theirs"), [("h", "i"), ("i", "h")])
def test_merge_driver_union_merges_neighbours_in_either_order(tracked: Repo, ours: str, theirs: str) -> None:
    """With `merge=union` git takes both lines by itself, ours first; either order is current and stays."""
    tracked.write(".gitattributes", "/overlays/*/*/kustomization.yaml merge=union\n")
    commit(tracked)

    parallel(tracked, {ours: "Hashed"}, {theirs: "Hashed"})

    assert tracked.read("overlays/c1/default/kustomization.yaml").endswith(f"- g\n- {ours}\n- {theirs}\n")
    assert tracked.run("render", "--check").code == 0
    before = tracked.stamps()
    tracked.run("render")
    assert before == tracked.stamps()


def test_list_that_names_a_workload_twice_is_not_current(tracked: Repo) -> None:
    """Kustomize refuses it: both branches added the same line, and one of them a neighbour."""
    listed = "overlays/c1/default/kustomization.yaml"
    tracked.write(listed, tracked.read(listed) + "- g\n")

    assert "-- g" in tracked.run("render", "--check", code=1).out


PLATFORM = """
    project: p
    location: us-west4
    nodeLocations: [us-west4-a]
    pools:
    - {{name: tpus, tpu: v5litepod-8, slices: 8}}
    - {{name: cpus, machineType: n2-standard-64, nodes: 2}}
    clusterQueues:
    - name: vision
      quota: [{{pool: tpus, nominalSlices: {vision}}}]
      preemption: {{withinClusterQueue: LowerPriority}}
      localQueues: [{{name: vision, namespace: vision}}]
    - name: language
      quota: [{{pool: tpus, nominalSlices: {language}}}]
      preemption: {{withinClusterQueue: {preemption}}}
      localQueues: [{{name: language, namespace: language}}]
    teams: [{{name: vision, namespace: vision}}, {{name: language, namespace: language}}]
    gitops: {{argocd: {{repoURL: "https://git.example.com/r"}}}}
"""


@pytest.mark.slow
def test_changes_of_two_queues_of_one_cluster_merge(repo: Repo) -> None:
    """Files of the platform hold no digest: what differs is only what each branch changed."""
    before = {"vision": 3, "language": 3, "preemption": "Never"}
    repo.workload(
        "a",
        "clusters: [c1]\ntpu: v5litepod-8\nqueueName: vision\ncontainer: {image: x}",
        metadata=", namespace: vision",
    )
    cluster(repo, PLATFORM.format(**before))
    git(repo, "init", "-q", "-b", "main")
    commit(repo)
    git(repo, "checkout", "-qb", "theirs")
    cluster(repo, PLATFORM.format(**{**before, "language": 4, "preemption": "LowerPriority"}))
    commit(repo)
    git(repo, "checkout", "-q", "main")
    cluster(repo, PLATFORM.format(**{**before, "vision": 2}))
    commit(repo)

    git(repo, "merge", "-q", "--no-edit", "theirs")

    assert "0 files would be written, 0 would be deleted" in repo.run("render", "--check").out


@pytest.mark.slow
def test_edits_of_one_workload_conflict_where_people_have_to_decide(tracked: Repo) -> None:
    """Two intents of one workload conflict in its own file; the list of its runs follows by a render."""
    parallel(tracked, {"a": "Hashed"}, {"a": "Hashed"}, code=1)
    write(tracked, "a", image="both")

    commit(tracked)

    assert len(tracked.runs()) == 1
    assert tracked.run("render", "--check").code == 0
