"""`slicewright diff`: what a change does to the clusters."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from slicewright.cli import show
from slicewright.cli.examples import examples
from slicewright.core.difference.compare import compare
from slicewright.core.difference.words import words
from slicewright.core.problem import did_you_mean, errors
from slicewright.gitrepo import revision, worktree
from slicewright.gitrepo.git import GitError, NoGitRepositoryError
from slicewright.workspace.package import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slicewright.core.difference.side import Side
    from slicewright.core.problem import Problem

_BROKEN = 3
_UNKNOWN = "name a branch, a tag or a commit; git fetch brings those of others"


@click.command(
    context_settings=show.HELP,
    epilog=examples(
        "slicewright diff", "slicewright diff main", "slicewright diff main...HEAD --exit-code -o json"
    ),
)
@click.argument("rev", default="HEAD")
@click.option("--exit-code", is_flag=True, help="Exit 1 when something differs.")
@show.folder_option
@show.output_option
def diff(rev: str, exit_code: bool, folder: Path, output: str) -> None:
    """Say what a change does to the clusters.

    Runs that start and end, quotas that move, chips asked for, and below it every object that differs. The
    rendered tree is compared as it is applied: what stands in files in another way is no difference.

    REV is a commit that is compared with the working tree; default: HEAD. REV..REV compares two commits,
    REV...REV the second with where it left the first. Nothing is checked out.
    """
    root = show.root_of(folder).resolve()
    try:
        with _sides(root, rev) as (before, after):
            found = compare(before, after, catalogue())
    except GitError as error:
        _stop(error.problem)
    except NoGitRepositoryError as error:
        raise show.Refused(
            "GIT003", str(error), "diff compares with a commit: git init, and commit"
        ) from None
    except revision.UnknownRevisionError as error:
        hint = (
            did_you_mean(error.name, error.known) or "name a branch, a tag or a commit; git fetch gets others"
        )
        raise show.unknown(str(error), hint) from None
    if output == "json":
        show.as_json(found.record())
    else:
        click.echo(words(found), nl=False)
        show.messages(found.problems)
    sys.exit(1 if errors(found.problems) or (exit_code and found.differs) else 0)


@contextlib.contextmanager
def _sides(root: Path, rev: str) -> Iterator[tuple[Side, Side]]:
    """Open what REV, REV..REV or REV...REV names; a missing end is HEAD, as git has it."""
    dots = "..." if "..." in rev else ".."
    first, found, second = rev.partition(dots)
    first, second = first or "HEAD", second or "HEAD"
    with revision.objects(root) as store:
        if not found:
            yield revision.read(root, rev, store), worktree.read(root)
            return
        start = revision.merge_base(root, first, second) if dots == "..." else first
        called = f"{first} where {second} left it" if dots == "..." else first
        yield revision.read(root, start, store, called), revision.read(root, second, store)


def _stop(problem: Problem) -> NoReturn:
    """End without a verdict: git is missing or broke."""
    show.problems((problem,))
    sys.exit(_BROKEN)
