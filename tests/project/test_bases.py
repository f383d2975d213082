"""A repository without bases is told where they are."""

import shutil

from tests.conftest import Repo


def test_missing_bases_are_named_with_the_command_that_brings_them(repo: Repo) -> None:
    """The first render of a repository without bases/ says how to get them, and it is enough."""
    shutil.rmtree(repo.root / "bases")
    done = repo.run("render", code=1)

    first, hint = done.err.splitlines()[:2]
    assert first == "bases: BASE002 folder bases/ is missing, and overlays are built on it"
    assert hint == "  hint: slicewright init --upgrade brings those that came with slicewright"
    repo.run("init", "--upgrade")
    repo.run("render")


def test_bases_behind_a_link_out_of_the_repository_are_not_called_missing(repo: Repo) -> None:
    """They are there, and not read: the link is named, once for all workloads."""
    outside = repo.root.parent / f"{repo.root.name}-bases"
    (repo.root / "bases").rename(outside)
    (repo.root / "bases").symlink_to(outside)

    done = repo.run("render", code=1)

    assert done.err.splitlines() == [
        "bases: FILE004 a link that points out of the repository is not followed",
        "  hint: replace the link with its target",
        "1 error, 0 warnings",
    ]


def test_bases_behind_a_link_within_the_repository_are_read(repo: Repo) -> None:
    """A link that stays in the tree leads where it leads for kustomize."""
    (repo.root / "bases").rename(repo.root / "shared")
    (repo.root / "bases").symlink_to("shared")

    assert "" == repo.run("render").err
