"""When a run starts and when it ends: only because a person changed its TPUWorkload."""

import pytest
from tests.conftest import Repo
from tests.words import places

SPEC = """
    clusters: [c1]
    tpu: v5litepod-8
    run: {run}
    onChange: {on_change}
    container: {{image: python:3.12, script: python train.py}}
"""


def intent(run: int | str = 1, on_change: str = "Replace") -> str:
    """Return a spec that differs in its run."""
    return SPEC.format(run=run, on_change=on_change)


def test_same_intent_changes_nothing(repo: Repo) -> None:
    """A second render opens no file for writing."""
    repo.run("render")
    before = repo.stamps()

    assert repo.effects() == []
    assert before == repo.stamps()


SAME = {
    "a comment": "# more of it\n",
    "another order of keys": "container: {script: python train.py, image: python:3.12}\ntpu: v5litepod-8\n",
    "a class of priority": "workloadPriorityClassName: high\n",
    "what happens on a change": "onChange: Keep\n",
}


@pytest.mark.parametrize("what", SAME)
def test_what_is_no_intent_starts_nothing(repo: Repo, what: str) -> None:
    """Comments, order, priority and onChange are not what a run does."""
    repo.workload(
        "a", "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: python:3.12, script: python train.py}"
    )
    repo.run("render")
    before = repo.stamps()

    spec = SAME[what]
    if "tpu:" not in spec:
        spec += "tpu: v5litepod-8\ncontainer: {image: python:3.12, script: python train.py}\n"
    repo.workload("a", spec + "clusters: [c1]")

    assert repo.effects() == []
    assert before == repo.stamps()


def test_renamed_file_starts_nothing(repo: Repo) -> None:
    """A workload is not its file: a Fixed overlay's header follows, its body stays, and nothing restarts."""
    repo.workload("b", "naming: Fixed\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")
    repo.run("render")
    before = repo.stamps("overlays/c1/default/a")

    (repo.root / "workloads/sub").mkdir()
    for name in ("a", "b"):
        (repo.root / f"workloads/{name}.yaml").rename(repo.root / f"workloads/sub/other-{name}.yml")

    assert repo.effects() == []
    assert before == repo.stamps("overlays/c1/default/a")
    assert "# inputs: workloads/sub/other-b.yml, " in repo.read("overlays/c1/default/b/kustomization.yaml")


def test_replace_ends_the_earlier_run(repo: Repo) -> None:
    """`onChange: Replace`: another intent starts a run, and the earlier one goes."""
    repo.workload("a", intent())
    repo.run("render")
    (old,) = repo.runs()

    repo.workload("a", intent(2))
    effects = repo.effects()

    (new,) = repo.runs()
    assert [
        f"ends c1/default/{old[:-5]}: the workload changed",
        f"starts c1/default/{new[:-5]}: the workload changed",
    ] == effects
    assert f"- {new}\n" in repo.read("overlays/c1/default/a/kustomization.yaml")


def test_keep_lets_the_earlier_run_go_on(repo: Repo) -> None:
    """`onChange: Keep`: the earlier run's file is not opened for writing, and both are listed."""
    repo.workload("a", intent(1, "Keep"))
    repo.run("render")
    (old,) = repo.runs()
    before = repo.stamps()[f"overlays/c1/default/a/{old}"]

    repo.workload("a", intent(2, "Keep"))
    effects = repo.effects()

    assert [
        f"starts c1/default/{name[:-5]}: the workload changed" for name in repo.runs() if name != old
    ] == effects
    assert len(repo.runs()) == 2
    assert before == repo.stamps()[f"overlays/c1/default/a/{old}"]
    listed = repo.read("overlays/c1/default/a/kustomization.yaml").splitlines()[-2:]
    assert [f"- {name}" for name in repo.runs()] == listed


def test_kept_runs_end_when_a_person_says_replace(repo: Repo) -> None:
    """From Keep to Replace: what was kept ends, and what runs goes on."""
    for run in (1, 2, 3):
        repo.workload("a", intent(run, "Keep"))
        repo.run("render")
    kept = repo.runs()

    repo.workload("a", intent(3))
    effects = repo.effects()

    (live,) = repo.runs()
    assert [f"ends c1/default/{name[:-5]}: onChange is Replace" for name in kept if name != live] == effects


def test_return_to_an_earlier_intent_starts_it_again_unless_it_was_kept(repo: Repo) -> None:
    """A run that is there goes on; one that ended starts anew, with the same bytes."""
    repo.workload("a", intent(1))
    repo.run("render")
    (old,) = repo.runs()
    text = repo.read(f"overlays/c1/default/a/{old}")

    repo.workload("a", intent(2, "Keep"))
    repo.run("render")
    repo.workload("a", intent(1, "Keep"))
    assert repo.effects() == []

    repo.workload("a", intent(2))
    repo.run("render")
    repo.workload("a", intent(1))
    assert len(repo.effects()) == 2
    assert text == repo.read(f"overlays/c1/default/a/{old}")


def test_return_across_a_changed_base_has_the_old_id_and_the_content_of_today(repo: Repo) -> None:
    """The id is that of the intent: a run that ended comes back as today's bases make it."""
    repo.workload("a", intent(1))
    repo.run("render")
    (old,) = repo.runs()
    path = f"overlays/c1/default/a/{old}"
    before = repo.read(path)
    repo.workload("a", intent(2))
    repo.run("render")
    base = repo.read("bases/jobset/jobset.yaml")
    repo.write("bases/jobset/jobset.yaml", base.replace("restartPolicy: Never", "restartPolicy: OnFailure"))

    repo.workload("a", intent(1))
    effects = repo.effects()

    assert f"starts c1/default/{old[:-5]}: the workload changed" in effects
    assert ("restartPolicy: Never" in before, "restartPolicy: OnFailure" in repo.read(path)) == (True, True)


def test_return_to_a_kept_run_never_changes_it(repo: Repo) -> None:
    """While the file of a run is in the tree its id means that content, whatever the bases are today."""
    repo.workload("a", intent(1, "Keep"))
    repo.run("render")
    (old,) = repo.runs()
    before = repo.stamps()[f"overlays/c1/default/a/{old}"]
    repo.workload("a", intent(2, "Keep"))
    repo.run("render")
    base = repo.read("bases/jobset/jobset.yaml")
    repo.write("bases/jobset/jobset.yaml", base.replace("restartPolicy: Never", "restartPolicy: OnFailure"))

    repo.workload("a", intent(1, "Keep"))

    assert repo.effects() == []
    assert before == repo.stamps()[f"overlays/c1/default/a/{old}"]
    assert len(repo.run("outdated", "-o", "json").json) == 1


def test_clusters_gain_and_lose_runs_one_by_one(repo: Repo) -> None:
    """A cluster more, a cluster less: only there something happens, also for Fixed workloads."""
    spec = "clusters: {}\nnaming: {}\ntpu: v5litepod-8\ncontainer: {{image: x}}"
    repo.cluster("c2")
    for name, naming in (("a", "Hashed"), ("b", "Fixed")):
        repo.workload(name, spec.format("[c1]", naming))
    repo.run("render")
    (run,) = repo.runs()
    before = repo.stamps("overlays/c1")

    for name, naming in (("a", "Hashed"), ("b", "Fixed")):
        repo.workload(name, spec.format("[c2, c1]", naming))
    gained = repo.effects()
    assert before == repo.stamps("overlays/c1")

    for name, naming in (("a", "Hashed"), ("b", "Fixed")):
        repo.workload(name, spec.format("[c1]", naming))
    lost = repo.effects()

    assert [f"starts c2/default/{name}: the workload is new" for name in (run[:-5], "b")] == gained
    assert [f"ends c2/default/{name}: the workload left the cluster" for name in (run[:-5], "b")] == lost
    assert before == repo.stamps("overlays/c1")
    assert not (repo.root / "overlays/c2").exists()


def test_workload_that_is_gone_ends(repo: Repo) -> None:
    """Its folder goes, and its line in the list of the namespace; the last one takes the list with it."""
    repo.workload("b", "naming: Fixed\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")
    repo.run("render")
    (run,) = repo.runs()

    (repo.root / "workloads/a.yaml").unlink()
    assert [f"ends c1/default/{run[:-5]}: the workload is gone"] == repo.effects()
    assert repo.read("overlays/c1/default/kustomization.yaml").endswith("resources:\n- b\n")

    (repo.root / "workloads/b.yaml").unlink()
    assert repo.effects() == ["ends c1/default/b: the workload is gone"]
    assert not (repo.root / "overlays").exists()


def test_cluster_file_that_is_gone_ends_nothing_by_itself(repo: Repo) -> None:
    """The workloads still name it: that is an error, and nothing is written."""
    repo.run("render")
    before = repo.stamps()

    (repo.root / "clusters/c1.yaml").unlink()
    done = repo.run("render", code=1)

    assert "workloads/a.yaml:5:14: REF001" in places(done.err)
    assert before == repo.stamps()


def test_cluster_file_that_is_wrong_is_the_only_thing_that_is_blamed(repo: Repo) -> None:
    """A workload on a cluster whose file is wrong is not told that there is no such cluster."""
    repo.cluster("c1", "pools: [{name: tpus, tpu: v5litepod-8, slice: 2}]")

    problems = repo.run("render", "-o", "json", code=1).json["problems"]

    assert [(problem["id"], problem["file"]) for problem in problems] == [("IN002", "clusters/c1.yaml")]


def test_naming_from_hashed_to_fixed_and_back(repo: Repo) -> None:
    """The run of the one naming ends, and that of the other starts; the limit counts it."""
    fixed = intent().replace("run:", "naming: Fixed\n    run:")
    repo.workload("a", intent())
    repo.run("render")
    (run,) = repo.runs()

    repo.workload("a", fixed)
    there = repo.effects()
    files = sorted(repo.tree("overlays/c1/default/a"))
    repo.workload("a", intent())
    repo.run("render", "--end-runs", "0", code=1)
    back = repo.effects()

    assert [
        f"ends c1/default/{run[:-5]}: the workload became Fixed",
        "starts c1/default/a: the workload became Fixed",
    ] == there
    assert [path.split("/")[-1] for path in files] == ["jobset.patch.yaml", "kustomization.yaml"]
    assert [
        "ends c1/default/a: the workload became Hashed",
        f"starts c1/default/{run[:-5]}: the workload became Hashed",
    ] == back
    assert [run] == repo.runs()
    assert "kustomization.yaml" in [path.name for path in (repo.root / "overlays/c1/default/a").iterdir()]
    assert not (repo.root / "overlays/c1/default/a/jobset.patch.yaml").exists()


def test_fixed_workload_keeps_its_folder_clean(repo: Repo) -> None:
    """Another pattern has other patches; those of the former go."""
    spec = "naming: Fixed\nclusters: [c1]\ntpu: v5litepod-16\ncontainer: {image: x}\n"
    repo.workload("a", spec)
    repo.run("render")

    repo.workload("a", spec + "api: Job")
    effects = repo.effects()

    assert effects == ["changes c1/default/a: its overlay is live"]
    assert [path.split("/")[-1] for path in sorted(repo.tree("overlays/c1/default/a"))] == [
        "job.patch.yaml",
        "kustomization.yaml",
        "service.patch.yaml",
    ]
