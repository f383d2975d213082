"""`slicewright diff`: what a change does to the clusters."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from slicewright.cli import show
from slicewright.cli.checkout import git_errors_shown, open_checkout, repository_root
from slicewright.cli.command import command
from slicewright.cli.streams import say
from slicewright.diff.compare import Unrendered, compare, refused, unrendered
from slicewright.diff.io import git
from slicewright.diff.tree_version import TreeVersion
from slicewright.diff.words import waiting, words
from slicewright.kubernetes.problem import Problem, errors
from slicewright.kubernetes.types import record
from slicewright.project.judge import judged
from slicewright.project.repository_reader import catalogue_at
from slicewright.rendering.changes import render


@command("slicewright diff", "slicewright diff main", "slicewright diff main...HEAD --exit-code -o json")
@click.argument("rev", default="HEAD")
@click.option("--exit-code", is_flag=True, help="Exit 1 when something differs.")
def diff(rev: str, exit_code: bool, output: str) -> None:
    """Show the effect of a change on the clusters.

    It lists runs that start and end, quotas that change, chips that runs request, and then every object that
    differs. It compares objects, not the form of files.

    It compares the working tree with the commit REV; the default is HEAD. If edits are not rendered yet, it
    also shows their effect after a render. REV..REV compares two commits. REV...REV compares the second
    one with the merge base of both. The working tree stays as it is.
    """
    root = repository_root()
    with git_errors_shown(), _sides(root, rev) as (before, after):
        difference = compare(before, after, catalogue_at(root)[0])
        coming, unknown = (None, ()) if ".." in rev else _unrendered(root, before, after)
    problems = (*difference.problems, *unknown)
    if output == "json":
        waits = record(coming) if coming else None
        show.as_json({**difference.record(), "problems": show.records(problems), "notRendered": waits})
    else:
        differs = coming is None or difference.objects or difference.provision
        parts = [words(difference)] if differs else []
        if coming:
            parts.append(waiting(coming))
        show.messages(unknown)
        say("\n".join(parts), nl=False)
        show.messages(difference.problems)
    sys.exit(1 if errors(difference.problems) or (exit_code and difference.differs) else 0)


def _unrendered(
    root: Path, before: TreeVersion, now: TreeVersion
) -> tuple[Unrendered | None, tuple[Problem, ...]]:
    """Return the edits that are not rendered yet, or a warning that they are unknown."""
    checkout = open_checkout(root)
    repository = checkout.repository
    if not (repository.workloads or repository.sites or repository.problems):
        return None, ()  # a tree without its input, which was rendered elsewhere
    rendering = judged(checkout, render(repository, checkout.existing))
    problem = refused(rendering)
    coming = unrendered(before, now, rendering, repository, repository.package.catalogue)
    if problem is None:
        return coming, ()
    return coming, (problem,)


@contextlib.contextmanager
def _sides(root: Path, rev: str) -> Iterator[tuple[TreeVersion, TreeVersion]]:
    """Open what REV, REV..REV or REV...REV names; a missing end is HEAD, as git has it."""
    dots = "..." if "..." in rev else ".."
    first, separator, second = rev.partition(dots)
    first, second = first or "HEAD", second or "HEAD"
    with git.objects(root) as store:
        if not separator:
            yield git.read_revision(root, rev, store), git.read_worktree(root)
            return
        start = git.merge_base(root, first, second) if dots == "..." else first
        called = f"{first} where {second} left it" if dots == "..." else first
        yield git.read_revision(root, start, store, called), git.read_revision(root, second, store)
