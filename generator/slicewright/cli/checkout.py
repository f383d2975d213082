"""The repository that a command works in, and the names of what is in it on the command line."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from slicewright.cli import show
from slicewright.cli.command import BROKEN
from slicewright.documentation import schema_address
from slicewright.kubernetes.problem import Problem, did_you_mean
from slicewright.project.repository_reader import (
    Checkout,
    NoRepositoryError,
    WrongVersionError,
    find_root,
    read_checkout,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.kubernetes.problem import Severity
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
    from slicewright.rendering.repository import Repository


def repository_root(folder: Path | None = None, instead: str = "") -> Path:
    """Return the root of the repository at or above a folder, the current one by default. Raises Refused.

    A hint says what one may do `instead`.
    """
    try:
        return find_root(folder or Path())
    except (NoRepositoryError, OSError) as error:  # OSError: the current folder is deleted or closed to us
        hint = "go to the repository, name it with -C, or create one with slicewright init"
        raise show.Refused("USE002", str(error), f"{instead}; else {hint}" if instead else hint) from None


@contextlib.contextmanager
def versions_refused() -> Iterator[None]:
    """Turn a repository that needs another version of slicewright into a usage error."""
    try:
        yield
    except WrongVersionError as error:
        message, _, hint = str(error).partition("\n  hint: ")
        raise show.Refused("USE003", message, hint) from None


def open_checkout(root: Path | None = None) -> Checkout:
    """Read a repository, the one at or above the current folder by default. Raises Refused."""
    with versions_refused():
        return read_checkout(root or repository_root())


def schema_line(root: Path, name: str) -> str:
    """Return the first line of a file in a folder of the repository: editors take the schema from it.

    It names the copy that `init` made, which is of the repository's version, else that of the documentation.
    """
    path = f"slicewright/{name}.json"
    schema = f"../schemas/{path}" if (root / "schemas" / path).is_file() else schema_address(path)
    return f"# yaml-language-server: $schema={schema}\n"


def already_there(root: Path, path: str, *, write: bool) -> tuple[Problem, ...]:
    """Return the problem of an existing file that `write` would overwrite; without `write`, a warning."""
    if not (root / path).exists():
        return ()
    hint = "compare it with what the command prints without --write, or give another name"
    severity: Severity = "error" if write else "warning"
    return (
        Problem("IMP006", "the file already exists and is not changed", hint, severity=severity, file=path),
    )


def cluster_named(name: str, repository: Repository) -> ResolvedCluster:
    """Return a cluster of the repository. Raises Refused for a name that does not exist.

    If files of the repository are wrong, one of them may hold the cluster: then their problems are shown.
    """
    if name not in repository.sites:
        show.stop_for_errors(repository.problems)
        raise show.unknown(f"there is no cluster '{name}'", did_you_mean(name, repository.sites))
    return repository.sites[name]


def workloads_named(names: Iterable[str], repository: Repository) -> frozenset[str] | None:
    """Return the keys of the workloads that are named, None for no name. Raises Refused.

    A name is `name` or `namespace/name`; of an entry of a sweep also `sweep/entry`. The name of a sweep means
    all its entries, and what is left of earlier ones: its own key is returned too. If files of the
    repository are wrong, one of them may hold an unknown name: then their problems are shown.
    """
    known: dict[str, dict[str, set[str]]] = {}
    for workload in repository.workloads:
        keys = [(own, workload.key) for own in workload.names]
        if workload.sweep:
            keys.append((workload.sweep.name, workload.declared))
        for name, meant in keys:
            for text in (name, f"{workload.namespace}/{name}"):
                known.setdefault(text, {}).setdefault(meant, {meant}).add(workload.key)
    chosen: set[str] = set()
    for name in names:
        workloads = known.get(name, {})
        if not workloads:
            show.stop_for_errors(repository.problems)
            pool = {workload.declared.removeprefix("default/") for workload in repository.workloads}
            sweep = f"{name.rpartition('/')[0]}/"
            near = did_you_mean(name, [text for text in known if text.startswith(sweep)] or pool)
            hint = near or ("" if pool else "there is none yet; slicewright new writes one")
            raise show.unknown(f"there is no workload '{name}'", hint)
        if len(workloads) > 1:
            hint = f"write one of: {', '.join(sorted(workloads))}"
            raise show.unknown(f"'{name}' is the name of several workloads", hint)
        chosen.update(*workloads.values())
    return frozenset(chosen) if chosen else None


_MORE_COMMITS = "git fetch --unshallow, or fetch-depth: 0 of actions/checkout"


@contextlib.contextmanager
def git_errors_shown() -> Iterator[None]:
    """End the command if git gives no answer. Raises Refused for what the user can correct."""
    from slicewright.diff.io import git  # noqa: PLC0415 - 15 ms that few commands need

    try:
        yield
    except git.GitError as error:
        show.stop((error.problem,), BROKEN)
    except git.NoGitRepositoryError as error:
        raise show.Refused("GIT003", str(error), "run git init, and commit") from None
    except git.UnrelatedError as error:
        hint = f"in a shallow clone: {_MORE_COMMITS}; else name another revision"
        raise show.unknown(str(error), hint) from None
    except git.UnknownRevisionError as error:
        near = did_you_mean(error.name, error.known).replace("write one of: ", "branches and tags: ")
        hint = near or "name a branch, a tag or a commit; git fetch gets others"
        if error.is_shallow and not near.startswith("did you mean"):
            hint = f"this clone is shallow: {_MORE_COMMITS}"
        raise show.unknown(str(error), hint) from None
