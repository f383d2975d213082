"""`slicewright render`: what it prints, where, and how it exits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Repo
from tests.words import places

FIXED = "naming: Fixed\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}"


def test_report_says_what_starts_and_how_much_was_written(repo: Repo) -> None:
    """Like terraform: a line for each run, then the numbers; nothing on stderr."""
    repo.workload("b", FIXED)

    done = repo.run("render")

    run = repo.runs()[0].removesuffix(".yaml")
    assert (
        f"  + c1/default/{run} starts: the workload is new\n"
        "  + c1/default/b starts: the workload is new\n"
        "2 workloads on 1 cluster: 2 runs to start, 0 to end; 5 files written, 0 deleted, 0 unchanged\n"
    ) == done.out
    assert done.err == ""


def test_report_of_a_change(repo: Repo) -> None:
    """`~` for a live overlay that changed, `-` for a run that ends."""
    repo.workload("b", FIXED)
    repo.run("render")
    repo.workload("a", "run: 2\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")
    repo.workload("b", FIXED.replace("image: x", "image: y"))

    lines = repo.run("render").out.splitlines()

    assert sorted(line[:7] for line in lines[:-1]) == ["  + c1/", "  - c1/", "  ~ c1/"]
    assert (
        lines[-1]
        == "2 workloads on 1 cluster: 1 run to start, 1 to end; 3 files written, 1 deleted, 2 unchanged"
    )


def test_json_report_has_its_keys(repo: Repo) -> None:
    """Paths, runs and problems; valid JSON and nothing else on stdout."""
    found = repo.run("render", "-o", "json").json

    run = repo.runs()[0]
    folder = "overlays/c1/default"
    assert {
        "current": False,
        "checked": False,
        "written": [f"{folder}/a/{run}", f"{folder}/a/kustomization.yaml", f"{folder}/kustomization.yaml"],
        "deleted": [],
        "unchanged": 0,
        "runs": [
            {
                "effect": "starts",
                "cluster": "c1",
                "namespace": "default",
                "workload": "a",
                "name": run.removesuffix(".yaml"),
                "reason": "the workload is new",
                "sweep": "",
            }
        ],
        "platform": [],
        "problems": [],
    } == {**found, "written": sorted(found["written"])}
    assert repo.run("render", "-o", "json").json["current"]


def test_check_prints_a_diff_and_a_summary(repo: Repo) -> None:
    """Exit 1 with the unified diff on stdout and what to do on stderr; nothing is written."""
    repo.run("render")
    path = "overlays/c1/default/kustomization.yaml"
    repo.write(path, repo.read(path).replace("- a\n", "- b\n"))
    before = repo.stamps()

    done = repo.run("render", "--check", code=1)

    assert (
        f"--- a/{path}\n+++ b/{path}\n@@ -3,4 +3,4 @@\n"
        " apiVersion: kustomize.config.k8s.io/v1beta1\n kind: Kustomization\n resources:\n-- b\n+- a\n"
        "1 workload on 1 cluster: 0 runs to start, 0 to end; 1 file would be written, "
        "0 would be deleted, 2 unchanged\n"
    ) == done.out
    assert done.err == "the tree is not what a render would make\n  hint: slicewright render, and commit\n"
    assert before == repo.stamps()


def test_check_shows_new_and_deleted_files_against_nothing(repo: Repo) -> None:
    """As git does: a file that is not there is /dev/null."""
    new = repo.run("render", "--check", code=1).out
    repo.run("render")
    (repo.root / "workloads/a.yaml").unlink()

    gone = repo.run("render", "--check", code=1).out

    assert (new.count("--- /dev/null\n"), gone.count("+++ /dev/null\n")) == (3, 3)
    assert "  - c1/default/a-" in gone


def test_check_of_a_current_tree_exits_0(repo: Repo) -> None:
    """What CI runs on every change."""
    repo.run("render")

    done = repo.run("render", "--check")
    record = repo.run("render", "--check", "-o", "json").json

    assert done.out == (
        "1 workload on 1 cluster: 0 runs to start, 0 to end; 0 files would be written, "
        "0 would be deleted, 3 unchanged\n"
    )
    assert (done.err, record["current"], record["checked"]) == ("", True, True)


def test_check_shows_problems_and_no_diff(repo: Repo) -> None:
    """With an error there is nothing to compare with."""
    repo.workload("a", FIXED.replace("v5litepod-8", "v5litepod-7"))

    done = repo.run("render", "--check", code=1)

    assert done.out == ""
    assert done.err.startswith("workloads/a.yaml:7:8: TPU005 ")
    assert done.err.endswith("1 error, 0 warnings\n")


EXCLUDED = {
    ("--check", "--stdout"): "--check compares files and --stdout prints objects: use one of them",
    ("--cluster", "c1"): "--cluster chooses what --stdout prints: use it with --stdout",
    ("--check", "--end-runs", "1"): "--end-runs is for a render that writes: leave out --check and --stdout",
}


@pytest.mark.parametrize("options", EXCLUDED)
def test_options_without_effect_are_refused(repo: Repo, options: tuple[str, ...]) -> None:
    """An option that would do nothing is an error, not silence."""
    done = repo.run("render", *options, code=2)

    assert done.err.endswith(f"Error: {EXCLUDED[options]}\n")


def test_unknown_workload_is_a_usage_error_with_the_nearest(repo: Repo) -> None:
    """Exit 2: the call was wrong, not the files."""
    repo.workload("trainer")
    repo.workload("other", metadata=", namespace: research")

    near = repo.run("render", "trainr", code=2)
    far = repo.run("render", "xyz", code=2)

    assert near.err.endswith("Error: there is no workload 'trainr'; did you mean 'trainer'?\n")
    assert far.err.endswith("Error: there is no workload 'xyz'; write one of: a, research/other, trainer\n")


def test_unknown_entry_of_a_sweep_is_answered_with_its_entries(repo: Repo) -> None:
    """So that nobody has to open the file for their names."""
    lines = "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}\nmatrix: {env: {LR: [1, 2]}}"
    repo.workload("lr", lines)

    error = repo.run("render", "lr/nope", code=2).err

    assert error.endswith("Error: there is no workload 'lr/nope'; write one of: lr/1, lr/2\n")


def test_unknown_workload_among_none(empty: Repo) -> None:
    """Where there is none, none is proposed."""
    assert empty.run("render", "x", code=2).err == (
        "Error: there is no workload 'x'; there is none yet; slicewright new writes one\n"
    )


def test_name_that_may_stand_in_a_wrong_file_is_no_usage_error(repo: Repo) -> None:
    """While a file is wrong, its problems are shown instead."""
    repo.write("workloads/b.yaml", "metadata: {name: b}\n")

    for command in (["render", "b"], ["outdated", "b"], ["rerun", "b"], ["explain", "b"]):
        assert "workloads/b.yaml:1:1: IN007" in places(repo.run(*command, code=1).err)


def test_no_repository_is_a_usage_error(empty: Repo) -> None:
    """With what to do about it."""
    (empty.root / "slicewright.yaml").unlink()

    done = empty.run("render", code=2)

    assert done.err.endswith(
        f"Error: no slicewright.yaml in {empty.root} or above it\n"
        "  hint: go to the repository, name it with -C, or create one with slicewright init\n"
    )


def test_problems_of_writing_are_reported_in_both_forms(repo: Repo) -> None:
    """What stands in the way of files is a problem like others."""
    repo.write("overlays/c1", "mine")

    text = repo.run("render", code=1)
    record = repo.run("render", "-o", "json", code=1).json

    assert (text.out, places(text.err).startswith("overlays/c1: FILE003\n")) == ("", True)
    assert ([problem["id"] for problem in record["problems"]], record["written"]) == (["FILE003"], [])


def test_output_is_utf8_json(repo: Repo) -> None:
    """Letters beyond ASCII stay readable, and every reader of JSON takes them."""
    repo.workload("a", FIXED.replace("image: x", "image: x, script: 'echo é'"))

    text = repo.run("render", "--stdout", "-o", "json").out

    assert "echo é" in text
    assert json.loads(text)


@pytest.mark.parametrize("ended", [False, True])
def test_summary_counts_the_clusters_of_the_repository(repo: Repo, ended: bool) -> None:
    """Also those on which nothing runs, whether runs end or not."""
    if ended:
        repo.run("render")
    (repo.root / "workloads/a.yaml").unlink()

    last = repo.run("render").out.splitlines()[-1]

    assert f"0 workloads on 1 cluster: 0 runs to start, {int(ended)} to end" == last.partition(";")[0]


REASON = """
    ignore:
    - {rule: REF006, object: TPUWorkload default/a, reason: its pool comes tomorrow}
    - {rule: GIT120, reason: this one meets nothing}
"""
"""An ignore file that silences the one warning of a render."""


@pytest.mark.parametrize("options", [[], ["--check"], ["--stdout"], ["-o", "json"]])
def test_warning_with_a_reason_is_left_out(repo: Repo, options: list[str]) -> None:
    """`.slicewright-ignore.yaml` counts for a render as for validate, which judges the file itself."""
    repo.workload("a", "clusters: [c1]\ntpu: v6e-8\ncontainer: {image: x}")
    repo.run("render")
    before = repo.run("render", *options)
    repo.write(".slicewright-ignore.yaml", REASON)

    after = repo.run("render", *options)

    assert [True, False] == ["REF006" in done.out + done.err for done in (before, after)]
    assert "IGN" not in after.out + after.err


@pytest.mark.parametrize("command", [["render"], ["render", "--check"], ["validate"]])
def test_input_files_acknowledge_their_warnings(repo: Repo, command: list[str]) -> None:
    """A reason in metadata.annotations of an input file counts for the file; runs do not get it."""
    repo.workload("a", "clusters: [c1]\ntpu: v5litepod-8\nmaxRunDurationSeconds: 600\ncontainer: {image: x}")
    cluster = (repo.root / "clusters/c1.yaml").read_text(encoding="utf-8")
    repo.write("clusters/c1.yaml", cluster.replace("managed: false", "managed: true\n  location: us-west4-c"))
    repo.run("render")
    before = repo.run(*command)
    runs = sorted(path.name for path in repo.root.glob("overlays/c1/default/a/*"))
    for path, ident in (("clusters/c1.yaml", "POOL030"), ("workloads/a.yaml", "REF007")):
        written = (repo.root / path).read_text(encoding="utf-8")
        named = ", annotations: {slicewright.dev/ignore-" + ident + ": it is meant}}"
        head, _, rest = written.partition("}\n")
        repo.write(path, f"{head}{named}\n{rest}")
    repo.run("render")

    after = repo.run(*command)

    for ident in ("POOL030", "REF007"):
        assert [True, False] == [ident in done.out + done.err for done in (before, after)]
    assert "IGN" not in after.out + after.err
    assert runs == sorted(path.name for path in repo.root.glob("overlays/c1/default/a/*"))
    for file in repo.root.glob("overlays/**/*.yaml"):
        assert "slicewright.dev/ignore" not in file.read_text(encoding="utf-8")


def test_no_reason_lets_a_wrong_workload_be_rendered(repo: Repo) -> None:
    """An error stays one."""
    repo.workload("a", "clusters: [c1]\ntpu: v6e-8\nqueueName: nowhere\ncontainer: {image: x}")
    repo.write(".slicewright-ignore.yaml", "ignore: [{rule: REF002, reason: x}, {rule: REF006, reason: x}]")

    said = repo.run("render", code=1).err

    assert [True, False] == ["REF002" in said, "REF006" in said]


def on_a_terminal(repo: Repo) -> str:
    """Render with a terminal as stderr, and return what it shows there."""
    terminal, end = os.openpty()
    command = [sys.executable, "-m", "slicewright", "render", "-C", str(repo.root)]
    environ = {**os.environ, "PATH": str(Path(sys.executable).parent)}
    subprocess.run(command, stderr=end, stdout=subprocess.DEVNULL, env=environ, check=True)
    os.write(end, b"\n")
    shown = os.read(terminal, 10_000).decode().replace("\r\n", "\n")
    for handle in (terminal, end):
        os.close(handle)
    return shown.rstrip("\n")


@pytest.mark.ci
def test_first_render_of_a_clone_says_what_to_do_next(repo: Repo) -> None:
    """Where nothing changed, a person on a terminal reads one line of what there is to do; CI does not."""
    new = "slicewright new NAME --tpu TPU --image IMAGE"
    changing = on_a_terminal(repo)
    current = on_a_terminal(repo)
    in_a_pipe = repo.run("render").err
    for path in (repo.root / "workloads").iterdir():
        path.unlink()
    repo.run("render")
    without_workloads = on_a_terminal(repo)
    (repo.root / "clusters" / "c1.yaml").unlink()
    repo.run("render")

    assert "nothing changed" not in changing + in_a_pipe
    assert current.endswith(
        f"nothing changed; next: slicewright explain a, slicewright rehearse c1, or {new}"
    )
    assert f"nothing changed; next: {new}" == without_workloads
    assert "nothing changed; next: write a TPUCluster into a file of clusters/" == on_a_terminal(repo)
