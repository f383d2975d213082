"""`diff` and the repository that git keeps: revisions, folders, links, and a git that does not answer."""

import os

import pytest
from tests.conftest import Repo
from tests.diff.kit import JOB, cluster, commit, diff, run_of
from tests.files import git

from slicewright.document import io as text_file

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read


def test_two_commits_are_compared_without_the_work_tree(base: Repo) -> None:
    """A..B compares both ends, A...B the second with where it left the first; a missing end is HEAD."""
    start = git(base.root, "rev-parse", "HEAD")
    git(base.root, "branch", "side")
    base.workload("b", JOB)
    base.run("render")
    commit(base)
    git(base.root, "checkout", "--quiet", "side")
    base.workload("s", JOB)
    base.run("render")
    end = commit(base)
    status = git(base.root, "status", "--porcelain", "--ignored")
    stamps = base.stamps(".git/refs")

    assert ["starts", "ends"] == [run["effect"] for run in diff(base, "main..side")["runs"]][::-1]
    assert ["s"] == [run["workload"] for run in diff(base, "main...side")["runs"]]
    assert diff(base, "main...")["objects"] == diff(base, f"{start}..{end}")["objects"]
    assert ["ends"] == [run["effect"] for run in diff(base, "HEAD..side~1")["runs"]]
    assert (status, stamps) == (
        git(base.root, "status", "--porcelain", "--ignored"),
        base.stamps(".git/refs"),
    )


def test_repository_may_be_a_folder_of_a_larger_one(empty: Repo) -> None:
    """Paths are those of the folder, in the commit as on disk."""
    git(empty.root, "init", "--quiet")
    inner = type(empty)(empty.root / "deep" / "er")
    cluster(inner)
    inner.workload("a", JOB)
    inner.run("render")
    git(empty.root, "add", "--all")
    git(empty.root, "commit", "--quiet", "--message", "all")

    assert not diff(inner, "--exit-code")["differs"]


def test_unknown_revision_is_wrong_usage(base: Repo) -> None:
    """Exit 2 with the nearest name, also where it looks like an option of git."""
    for rev in ("mian", "HEAD..mian", "mian...HEAD"):
        assert (
            base.run("diff", rev, code=2).err == "Error: unknown git revision 'mian'; did you mean 'main'?\n"
        )
    other = base.run("diff", "nosuch", code=2).err
    assert other == "Error: unknown git revision 'nosuch'; branches and tags: main\n"
    assert r"unknown git revision 'a\nb'" in base.run("diff", "a\nb", code=2).err
    assert "unknown git revision '--output=x'" in base.run("diff", "--", "--output=x", code=2).err
    assert not (base.root / "x").exists()


def test_branches_without_a_common_past_have_no_place_where_they_parted(base: Repo) -> None:
    """Exit 2."""
    git(base.root, "checkout", "--quiet", "--orphan", "alone")
    base.workload("b", JOB)
    commit(base)

    assert (
        "no commit that 'main' and 'alone' have in common; in a shallow clone: git fetch --unshallow"
        in base.run("diff", "main...alone", code=2).err
    )


def test_no_git_repository_is_wrong_usage(repo: Repo) -> None:
    """Exit 2, and the hint says what to do."""
    found = repo.run("diff", "-o", "json", code=2).json["problems"]

    assert [("GIT003", "run git init, and commit")] == [(problem["id"], problem["hint"]) for problem in found]


def test_missing_git_is_a_missing_tool(base: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3."""
    monkeypatch.setenv("PATH", "/nowhere")

    assert base.run("diff", code=3).err.startswith("GIT001 git is missing\n  hint: install git")


def test_git_that_gives_no_answer_is_a_broken_tool(base: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3 with what git said last."""
    real = os.environ["PATH"]
    tool = base.root / "bin" / "git"
    fails = '[ "$1" = ls-tree ] && { echo fatal: lost >&2; exit 128; }'
    base.write("bin/git", f'#!/bin/sh\n{fails}\nPATH={real} exec git "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{real}")

    assert base.run("diff", code=3).err.startswith("GIT002 git ls-tree failed: lost\n")


def test_missing_object_is_a_broken_tool(base: Repo) -> None:
    """A clone that lacks a blob gives no half difference."""
    blob = git(base.root, "rev-parse", f"HEAD:overlays/c1/default/a/{run_of(base)}.yaml")
    (base.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    assert base.run("diff", code=3).err.startswith(f"GIT002 git cat-file failed: object {blob} is missing\n")


def test_links_are_followed_inside_of_the_tree_only(base: Repo) -> None:
    """In the commit as on disk: a base behind a link is read, one outside of the repository is not there."""
    (base.root / "bases/jobset").rename(base.root / "bases/other")
    (base.root / "bases/jobset").symlink_to("other")
    commit(base)
    assert not diff(base, "--exit-code")["differs"]

    (base.root / "bases/jobset").unlink()
    (base.root / "bases/jobset").symlink_to("/")
    assert ["DIFF001", "RUN020"] == [one["id"] for one in diff(base, code=1)["problems"]]
    commit(base)
    assert ["DIFF001", "DIFF001", "RUN020"] == [one["id"] for one in diff(base, code=1)["problems"]]


@pytest.mark.parametrize("content", [b"\xff", b"x" * 2_000_000])
def test_files_that_are_no_text_are_not_there(
    base: Repo, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """On either side, and so are those that are too large."""
    monkeypatch.setattr(text_file, "LARGEST", 1_900_000)
    path = base.root / "provision/c1/cluster.sh"
    path.write_bytes(content)

    assert ["removed"] == [one["effect"] for one in diff(base)["provision"]]
    commit(base)
    path.write_text("true\n", encoding="utf-8")
    assert ["added"] == [one["effect"] for one in diff(base)["provision"]]


def test_repository_of_somebody_else_is_said_to_be_that(base: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container of CI: exit 3 with the setting that git asks for."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    said_of = base.run("diff", code=3).err
    assert said_of.startswith("GIT002 git rev-parse failed: detected dubious ownership in repository at")
    assert "safe.directory" in said_of


def test_git_that_cannot_be_run_is_a_broken_tool(base: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is executable and no program; or one that says nothing at all."""
    tool = base.root / "bin" / "git"
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    for text, why in (("#!/nowhere\n", "No such file"), ("#!/bin/sh\nexit 5\n", "it said nothing")):
        base.write("bin/git", text)
        tool.chmod(0o755)
        assert why in base.run("diff", code=3).err


def test_environment_of_a_hook_does_not_lead_elsewhere(base: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git names the repository of its hook in variables; ours is the one of the folder."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")

    assert not diff(base, "--exit-code")["differs"]


def test_git_that_ends_while_it_is_asked_is_a_broken_tool(
    base: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 3 and no traceback, whether it ended before the question or after it."""
    real = os.environ["PATH"]
    for wait in ("", "read line; "):
        ends = f"{{ {wait}exit 1; }}"
        base.write("bin/git", f'#!/bin/sh\n[ "$1" = cat-file ] && {ends}\nPATH={real} exec git "$@"\n')
        (base.root / "bin/git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{base.root}/bin:{real}")
        assert base.run("diff", code=3).err.startswith("GIT002 git cat-file failed: ")
