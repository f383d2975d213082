"""A sweep: its runs start and end with the entries of its matrix, and commands treat it as one."""

import shutil

import pytest
from tests.conftest import Repo
from tests.words import places

SPEC = """
clusters: [c1]
tpu: v5litepod-8
container: {image: python:3.12, script: "python train.py --lr=$LR"}
matrix:
  env: {LR: [1e-4, 2e-4, 3e-4, 4e-4, 5e-4], SEED: [0, 1, 2, 3]}
"""
ENTRIES = [f"lr-{lr}e-4-{seed}" for lr in range(1, 6) for seed in range(4)]


@pytest.fixture
def sweep(repo: Repo) -> Repo:
    """A repository with a rendered sweep of twenty runs beside its workload."""
    repo.workload("lr", SPEC)
    repo.run("render")
    return repo


def test_twenty_runs_are_one_file_and_one_line(repo: Repo) -> None:
    """The first render starts a run for each entry, and tells it as one sweep; JSON has them all."""
    repo.workload("lr", SPEC)

    done = repo.run("render")

    assert "  + c1/default/lr: 20 runs start: the workload is new\n" in done.out
    assert ENTRIES == sorted(path.name for path in (repo.root / "overlays/c1/default").glob("lr-*"))


def test_json_lists_each_run_with_its_sweep(repo: Repo) -> None:
    """Programs get every run."""
    repo.workload("lr", SPEC)

    runs = repo.run("render", "-o", "json").json["runs"]

    assert ENTRIES == sorted(run["workload"] for run in runs if run["sweep"] == "lr")
    assert [""] == [run["sweep"] for run in runs if run["workload"] == "a"]


def test_one_entry_that_changes_restarts_one_run(sweep: Repo) -> None:
    """Another value of one entry ends and starts one run; an entry more starts one."""
    sweep.workload("lr", f"{SPEC}  include: [{{name: best, env: {{LR: 1e-3}}}}]\n")
    first = [effect.split(":")[0] for effect in sweep.effects()]
    before = sweep.runs("lr-best")[0][:-5]

    sweep.workload("lr", f"{SPEC}  include: [{{name: best, env: {{LR: 2e-3}}}}]\n")
    second = [effect.split(":")[0] for effect in sweep.effects()]
    after = sweep.runs("lr-best")[0][:-5]

    assert [f"starts c1/default/{before}"] == first
    assert [f"ends c1/default/{before}", f"starts c1/default/{after}"] == second


def test_entry_that_leaves_the_matrix_ends(sweep: Repo) -> None:
    """Excluded entries end, be the sweep rendered by its name or with all others."""
    runs = [sweep.runs(f"lr-5e-4-{seed}")[0][:-5] for seed in range(4)]
    sweep.workload("lr", SPEC.replace(", 5e-4]", "]"))

    done = sweep.run("render", "lr", "-o", "json")

    assert runs == sorted(run["name"] for run in done.json["runs"] if run["effect"] == "ends")
    assert {"the sweep no longer has this entry"} == {run["reason"] for run in done.json["runs"]}
    assert ENTRIES[:16] == sorted(path.name for path in (sweep.root / "overlays/c1/default").glob("lr-*"))


def test_end_of_a_sweep_counts_as_one_run(sweep: Repo) -> None:
    """limits.endRuns is three: twenty runs of one sweep end by the deletion of its file."""
    (sweep.root / "workloads/lr.yaml").unlink()

    done = sweep.run("render")

    assert "  - c1/default/lr: 20 runs end: the workload is gone\n" in done.out
    assert [] == list((sweep.root / "overlays/c1/default").glob("lr-*"))


def test_end_of_many_sweeps_is_refused(sweep: Repo) -> None:
    """Each sweep counts as one beside other runs, and the list names it once."""
    for name in "bcd":
        sweep.workload(name)
    sweep.run("render")
    shutil.rmtree(sweep.root / "workloads")
    sweep.workload("e")

    done = sweep.run("render", code=1)

    assert "  - c1/default/lr: 20 runs would end: the workload is gone\n" in done.err
    assert "RUN004\n1 error, 0 warnings\n" == places(done.err[done.err.index("RUN004") :])


@pytest.mark.parametrize("name", ["lr/3e-4-1", "default/lr/3e-4-1", "lr-3e-4-1"])
def test_rerun_of_an_entry_starts_one_run(sweep: Repo, name: str) -> None:
    """Its number is kept in the matrix, so that the others stay."""
    before = sweep.runs("lr-3e-4-1")[0][:-5]

    sweep.run("rerun", name)

    effects = [effect.split(":")[0] for effect in sweep.effects()]
    assert [f"ends c1/default/{before}", f"starts c1/default/{sweep.runs('lr-3e-4-1')[0][:-5]}"] == effects
    assert '    runs:\n      "3e-4-1": 2\n' in sweep.read("workloads/lr.yaml")


def test_rerun_of_a_sweep_starts_all_its_runs(sweep: Repo) -> None:
    """One number for all: an entry that ran again alone runs once more as well."""
    sweep.run("rerun", "lr/3e-4-1")
    sweep.run("render")

    done = sweep.run("rerun", "lr")

    assert (
        "workloads/lr.yaml: default/lr run 1 -> 2\nthe next render starts them: slicewright render\n"
        == done.out
    )
    assert 40 == len(sweep.effects())


def test_names_of_a_sweep_and_its_entries_mean_them(sweep: Repo) -> None:
    """`outdated`, `explain` and `render` take both; an unknown entry is refused with the sweep's name."""
    assert 20 == len(sweep.run("explain", "lr", "-o", "json").json)
    assert ["lr-1e-4-0"] == [one["workload"] for one in sweep.run("explain", "lr/1e-4-0", "-o", "json").json]
    listed = sweep.run("explain", "lr").out.splitlines()
    assert (21, ["1e-4-0", "LR=0.0001", "SEED=0"]) == (
        len(listed),
        [word for word in listed[1].split() if word == "1e-4-0" or "=" in word],
    )
    assert [] == sweep.run("outdated", "lr", "-o", "json").json
    assert "did you mean 'lr'?" in sweep.run("render", "lrr", code=2).err


def test_sweep_and_namespace_of_one_name_are_told_apart(sweep: Repo) -> None:
    """`lr/x` may be an entry of `lr`, or the workload `x` of the namespace `lr`: then people say which."""
    sweep.write(
        "workloads/other.yaml",
        """
        apiVersion: slicewright.dev/v1alpha1
        kind: TPUWorkload
        metadata: {name: 1e-4-0, namespace: lr}
        spec: {clusters: [c1], tpu: v5litepod-8, container: {image: x}}
        """.replace("1e-4-0", "a"),
    )
    text = sweep.read("workloads/lr.yaml").rstrip()
    sweep.write("workloads/lr.yaml", f"{text}\n    include: [{{name: a, env: {{LR: 1}}}}]\n")

    done = sweep.run("explain", "lr/a", code=2)

    assert "'lr/a' is the name of several workloads" in done.err
    assert "default/lr-a, lr/a" in done.err


def test_fixed_entries_become_overlays_and_end_with_their_sweep(repo: Repo) -> None:
    """The label in an overlay says of which sweep it was, so that its end counts as one."""
    repo.workload("lr", f"naming: Fixed{SPEC}")
    repo.run("render")
    (repo.root / "workloads/lr.yaml").unlink()

    done = repo.run("render")

    assert "  - c1/default/lr: 20 runs end: the workload is gone\n" in done.out
