"""The files that changed since a commit, and its tree: from git's objects, never checked out."""

from __future__ import annotations

import contextlib
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from slicewright.check.io.kustomizations import Kustomizations
from slicewright.diff.io import git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slicewright.check.examine import Report
    from slicewright.check.units import Unit
    from slicewright.kubernetes.problem import Problem

_ALWAYS = ("FILE", "TOOL", "EXT")
"""How the ids of errors begin that are reported whatever changed: nothing was checked."""


class Change:
    """The files that differ between the working tree and the commit where HEAD left a revision."""

    def __init__(self, root: Path, rev: str) -> None:
        """Take the folder that reported names are relative to, and a revision.

        Raises UnknownRevisionError, UnrelatedError, NoGitRepositoryError, GitError.
        """
        self._root = os.path.realpath(root)
        commit = git.merge_base(root, rev, "HEAD")
        top = git.top(root)
        self._changed = _with_folders(top, git.changed_files(top, commit))
        tracked = git.tracked(top, commit)
        self._known = _with_folders(top, tracked)
        self._submodules = [f"{top}/{path}" for path, is_submodule in tracked.items() if is_submodule]

    def reported(self, report: Report, units: Iterable[Unit]) -> Report:
        """Return a report without the problems of unchanged files, which it counts.

        A problem of a file that git does not track is reported: its earlier content is unknown.
        """
        is_unchanged = self._is_unchanged(units)

        def is_hidden(problem: Problem) -> bool:
            is_always = problem.severity == "error" and problem.id.startswith(_ALWAYS)
            names = [name for name in (problem.file, problem.folder) if name]
            return bool(names) and not is_always and all(map(is_unchanged, names))

        left = tuple(problem for problem in report.problems if not is_hidden(problem))
        return replace(report, problems=left, unchanged=len(report.problems) - len(left))

    def _is_unchanged(self, units: Iterable[Unit]) -> Callable[[str], bool]:
        """Return what tells whether a file is as it was, with the build, chart or submodule that it is of."""
        folders = [(unit, os.path.realpath(unit.path)) for unit in units if unit.form in ("folder", "chart")]
        builds = {unit.name: path for unit, path in folders if unit.form == "folder"}
        wholes = [*self._submodules, *(path for unit, path in folders if unit.form == "chart")]
        kustomizations = Kustomizations()

        @cache
        def is_unchanged(name: str) -> bool:
            path = builds.get(name) or os.path.normpath(f"{self._root}/{name}" if name[:1] != "/" else name)
            paths = {path}
            if name in builds:
                paths.update(kustomizations.included_by(path))
            paths.update(whole for whole in wholes if path.startswith(f"{whole}/"))
            return paths.isdisjoint(self._changed) and not paths.isdisjoint(self._known)

        return is_unchanged


def _with_folders(top: Path, names: Iterable[str]) -> frozenset[str]:
    """Return paths, and the folders above them within a repository."""
    paths = set()
    for name in names:
        path = name
        while path:
            paths.add(f"{top}/{path}")
            path = path.rpartition("/")[0]
    return frozenset(paths)


@contextlib.contextmanager
def tree_before(root: Path, rev: str) -> Iterator[Path]:
    """Yield a folder as it was in the commit where HEAD left a revision.

    Raises UnknownRevisionError, UnrelatedError, NoGitRepositoryError, GitError.
    """
    commit, top = git.merge_base(root, rev, "HEAD"), git.top(root)
    with tempfile.TemporaryDirectory(prefix="slicewright-") as folder:
        tree = os.path.realpath(folder)
        git.write_tree(top, commit, Path(tree))
        Path(tree, ".git").mkdir()  # the top, above which nobody looks
        before = Path(os.path.normpath(f"{tree}/{os.path.relpath(os.path.realpath(root), top)}"))
        with contextlib.suppress(FileExistsError, NotADirectoryError):  # a file was there then
            before.mkdir(parents=True, exist_ok=True)
        yield before
