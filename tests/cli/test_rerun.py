"""`slicewright rerun`: the same intent once more; only `run:` changes in the file, comments kept."""

import pytest
from tests.conftest import Repo
from tests.words import places

FILE = """\
# who: research
apiVersion: slicewright.dev/v1alpha1   # the format
kind: TPUWorkload
metadata: {{name: a}}
spec:   # what to run
  # where
  clusters: [c1]
{run}  tpu: "v5litepod-8"   # eight chips

  container: {{image: x}}
"""
RUNS = {
    "  run: 1   # the first\n": ("1", "2", "  run: 2   # the first\n"),
    "  run: exp-7\n": ("exp-7", "exp-8", "  run: exp-8\n"),
    "  run: 2026-01-01\n": ("2026-01-01", "2026-01-02", '  run: "2026-01-02"\n'),
    "  run: '09'\n": ("09", "10", "  run: '10'\n"),
    '  run: "final"\n': ("final", "final-2", '  run: "final-2"\n'),
}


@pytest.mark.parametrize("run", RUNS)
def test_run_is_followed_by_its_successor_and_comments_stay(repo: Repo, run: str) -> None:
    """A number, a text that ends in one, or a text: the next one stands in its place."""
    before, after, line = RUNS[run]
    repo.write("workloads/a.yaml", FILE.format(run=run))

    done = repo.run("rerun", "a")

    assert FILE.format(run=line) == repo.read("workloads/a.yaml")
    assert [
        f"workloads/a.yaml: default/a run {before} -> {after}",
        "the next render starts them: slicewright render",
    ] == done.out.splitlines()


def test_run_that_is_not_written_is_added(repo: Repo) -> None:
    """Without `run:` it is the first; the second one is written."""
    repo.write("workloads/a.yaml", FILE.format(run=""))

    repo.run("rerun", "a")

    assert "  # where\n  run: 2\n  clusters: [c1]\n" in repo.read("workloads/a.yaml")


def test_rerun_starts_the_run_at_the_next_render(repo: Repo) -> None:
    """Until then nothing happens to the tree."""
    repo.run("render")
    before = repo.stamps()

    repo.run("rerun", "default/a")

    assert before == repo.stamps()
    assert [effect.split()[0] for effect in repo.effects()] == ["ends", "starts"]


def test_workloads_of_one_file_are_edited_one_by_one(empty: Repo) -> None:
    """Two documents of a file, and one of another, in one command; the JSON form lists the changes."""
    empty.cluster()
    empty.workload("a")
    empty.workload("b", file="workloads/b.yaml")
    empty.workload("c")
    empty.write("workloads/a.yaml", f"{empty.read('workloads/a.yaml')}---\n{empty.read('workloads/b.yaml')}")
    (empty.root / "workloads/b.yaml").unlink()

    changes = empty.run("rerun", "b", "a", "c", "-o", "json").json

    assert changes == [
        {"file": "workloads/a.yaml", "workload": "default/a", "before": 1, "after": 2},
        {"file": "workloads/a.yaml", "workload": "default/b", "before": 1, "after": 2},
        {"file": "workloads/c.yaml", "workload": "default/c", "before": 1, "after": 2},
    ]
    assert empty.read("workloads/a.yaml").count("  run: 2\n") == 2


def test_fixed_workload_has_no_runs(repo: Repo) -> None:
    """Nothing is written, not for the others that are named either."""
    repo.workload("b", "naming: Fixed\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")
    before = repo.stamps("workloads")

    done = repo.run("rerun", "a", "b", code=1)

    assert "workloads/b.yaml:5:11: RUN002" in places(done.err)
    assert before == repo.stamps("workloads")


def test_run_that_cannot_be_edited_in_place_is_said(repo: Repo) -> None:
    """A text over several lines has no place to write the next one to."""
    repo.write("workloads/a.yaml", FILE.format(run="  run: |-\n    exp-4\n"))

    done = repo.run("rerun", "a", code=1)

    assert done.err.startswith("workloads/a.yaml:8:8: RUN003 ")
    assert "  hint: write `run: exp-5` into the file yourself\n" in done.err


def test_file_behind_a_link_is_not_replaced(repo: Repo) -> None:
    """The link would become a file, and what it leads to would stay as it is."""
    (repo.root / "workloads/a.yaml").rename(repo.root / "real.yaml")
    (repo.root / "workloads/a.yaml").symlink_to("../real.yaml")

    done = repo.run("rerun", "a", code=1)

    assert places(done.err).startswith("workloads/a.yaml: FILE004")


def test_names_are_needed_and_known(repo: Repo) -> None:
    """To start everything again is nobody's intention."""
    assert "Missing argument 'NAME...'" in repo.run("rerun", code=2).err
    assert "there is no workload 'b'; write one of: a" in repo.run("rerun", "b", code=2).err


def test_wrong_files_are_shown_first(repo: Repo) -> None:
    """Nothing is edited while anything is wrong."""
    repo.write("workloads/b.yaml", "a: [")

    assert "workloads/b.yaml:2:1: YAML001" in repo.run("rerun", "a", code=1).err
