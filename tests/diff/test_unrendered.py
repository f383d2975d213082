"""`slicewright diff` before a render: what is edited, and what the render makes of it."""

import pytest
from tests.conftest import Repo
from tests.diff.kit import CLUSTER, JOB, cluster, diff, run_of, said


@pytest.mark.slow
def test_workload_that_is_edited_is_said_with_what_the_render_does(base: Repo) -> None:
    """Nothing differs yet, --exit-code says so; below stands the difference that the render would make."""
    old, before = run_of(base), base.tree()
    base.workload("a", f"{JOB.rstrip()}\n    slices: 2\n")

    found = diff(base, "--exit-code")
    words = base.run("diff").out

    waits = found["notRendered"]
    assert (False, ["default/a"], [], True) == (
        found["differs"],
        waits["workloads"],
        waits["clusters"],
        waits["edited"],
    )
    assert ("working tree", "working tree, rendered") == (
        waits["difference"]["before"],
        waits["difference"]["after"],
    )
    assert before.keys() == base.tree().keys(), "nothing is written"
    base.run("render")
    assert said(diff(base)) == said(waits["difference"])
    assert words.startswith(
        "1 workload edited and not rendered yet: default/a; slicewright render does this:\n\n"
        f"cluster c1\n  - default/{old} ends, 8 chips: "
    )
    assert diff(base)["notRendered"] is None


@pytest.mark.slow
def test_what_is_rendered_and_what_is_edited_since_stand_apart(base: Repo) -> None:
    """First what the tree holds against the commit, then what a render adds to it."""
    base.workload("b", JOB)
    base.run("render")
    cluster(base, CLUSTER.replace("slices: 3", "slices: 4"))
    (base.root / "workloads/a.yaml").unlink()

    found = diff(base)
    first, second = base.run("diff").out.split("1 workload and 1 cluster edited and not rendered yet: ")

    assert [run["name"] for run in found["runs"]] == [run_of(base, "b")]
    waits = found["notRendered"]
    assert (["default/a"], ["c1"]) == (waits["workloads"], waits["clusters"])
    assert [f"ends c1/default/{run_of(base)} 8: the workload is gone"] == said(waits["difference"])
    assert "starts, 8 chips: the workload is new" in first
    assert second.startswith("default/a, c1; slicewright render does this:\n\ncluster c1\n")


@pytest.mark.slow
def test_hand_edit_of_the_tree_is_no_edit_of_the_input(base: Repo) -> None:
    """It is compared as it stands, and below with what a render makes of it."""
    path = "overlays/c1/_platform/queues.yaml"
    base.write(path, base.read(path).replace("stopPolicy: None", "stopPolicy: Hold"))

    found, words = diff(base), base.run("diff").out

    assert (["c1"], False) == (found["notRendered"]["clusters"], found["notRendered"]["edited"])
    assert 1 == len(found["objects"]) == len(found["notRendered"]["difference"]["objects"])
    assert "\n1 cluster not as slicewright renders today: c1; slicewright render does this:\n" in words


@pytest.mark.slow
def test_commits_are_compared_as_they_are(base: Repo) -> None:
    """What is edited on disk has no part in REV..REV, nor has a tree without any input."""
    base.workload("a", f"{JOB.rstrip()}\n    slices: 2\n")
    assert diff(base, "HEAD..HEAD")["notRendered"] is None

    for path in ("workloads/a.yaml", "clusters/c1.yaml"):
        (base.root / path).unlink()

    assert diff(base)["notRendered"] is None


def test_input_that_cannot_be_rendered_is_a_warning(base: Repo) -> None:
    """The committed tree is compared all the same, and the exit code says what it said before."""
    base.workload("a", f"{JOB.rstrip()}\n    slices: 9\n    naem: x\n")

    found = diff(base, "--exit-code")

    assert (False, None) == (found["differs"], found["notRendered"])
    (problem,) = found["problems"]
    assert ("RUN020", "warning") == (problem["id"], problem["severity"])
    assert problem["message"].startswith("your unrendered edits are not shown, because slicewright render ")
