"""The repository that a command works in: where it is, and what of it the command line names."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from slicewright.cli import show
from slicewright.core.problem import did_you_mean, errors, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.render.repository import Repository


def workloads_named(names: Iterable[str], repository: Repository) -> frozenset[str] | None:
    """Return the keys of the workloads that are named, None for no name at all.

    A name that is unknown, or that several namespaces have, is a usage error. Where files of the repository
    are wrong, the name may stand in one of them: then these problems are shown instead.
    """
    pool = sorted({workload.key for workload in repository.workloads})
    chosen: set[str] = set()
    for name in names:
        found = [key for key in pool if name in (key, key.partition("/")[2])]
        if not found and errors(repository.problems):
            show.problems(in_order(repository.problems))
            sys.exit(1)
        if not found:
            near = did_you_mean(name, [key.removeprefix("default/") for key in pool])
            hint = near or ("" if pool else "there is none yet; slicewright new writes one")
            raise show.unknown(f"there is no workload '{name}'", hint)
        if len(found) > 1:
            raise show.unknown(f"'{name}' is the name of several workloads", f"one of: {', '.join(found)}")
        chosen.add(found[0])
    return frozenset(chosen) if chosen else None


_BROKEN = 3


@contextlib.contextmanager
def git_errors_shown() -> Iterator[None]:
    """End the command with a problem where git gives no answer. Raises Refused for what people can mend."""
    from slicewright.gitrepo.git import GitError, NoGitRepositoryError  # noqa: PLC0415 - commands start fast
    from slicewright.gitrepo.revision import UnknownRevisionError  # noqa: PLC0415

    try:
        yield
    except GitError as error:
        show.problems((error.problem,))
        sys.exit(_BROKEN)
    except NoGitRepositoryError as error:
        raise show.Refused("GIT003", str(error), "git init, and commit") from None
    except UnknownRevisionError as error:
        near = did_you_mean(error.name, error.known).replace("one of: ", "branches and tags: ")
        hint = near or "name a branch, a tag or a commit; git fetch gets others"
        raise show.unknown(str(error), hint) from None
