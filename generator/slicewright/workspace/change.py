"""What a change touches, and the tree before it: from git's objects, never checked out."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from slicewright import gitrepo
from slicewright.workspace.kustomize import Kustomizations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slicewright.core.check.units import Unit
    from slicewright.core.problem import Problem


class Change:
    """The files that differ between the working tree and the commit where HEAD left a revision."""

    def __init__(self, root: Path, rev: str, paths: Iterable[str]) -> None:
        """Take the folder that reported names are relative to, a revision, and the paths that are checked.

        Raises UnknownRevisionError, NoGitRepositoryError, GitError.
        """
        self._paths = tuple(paths)
        self._root = os.path.realpath(root)
        self._commit = gitrepo.merge_base(root, rev, "HEAD")
        self.top = gitrepo.top(root)
        names = gitrepo.changed_files(self.top, self._commit)
        self.files = frozenset(f"{self.top}/{name}" for name in names)

    def touches(self, units: Iterable[Unit]) -> Callable[[Problem], bool]:
        """Return what tells whether a problem's file differs, or one in a folder that its build includes."""
        builds = {unit.name: os.path.realpath(unit.path) for unit in units if unit.form == "folder"}
        kustomizations = Kustomizations()

        @cache
        def is_touched(name: str) -> bool:
            if os.path.normpath(f"{self._root}/{name}" if name[:1] != "/" else name) in self.files:
                return True
            build = builds.get(name)
            folders = (build, *kustomizations.included_by(build)) if build else ()
            return any(file.startswith(f"{folder}/") for folder in folders for file in self.files)

        return lambda problem: is_touched(problem.file) or is_touched(problem.folder)

    @contextlib.contextmanager
    def before(self) -> Iterator[tuple[Path, list[str], str]]:
        """Yield the folder and the paths in the tree before the change, and its top. Raises GitError."""
        import tempfile  # noqa: PLC0415 - it takes its time to import, and few commands need it

        with tempfile.TemporaryDirectory(prefix="slicewright-") as folder:
            tree = os.path.realpath(folder)
            gitrepo.write_tree(self.top, self._commit, Path(tree))
            Path(tree, ".git").mkdir()  # the top, above which nobody looks
            within = [os.path.relpath(os.path.realpath(path), self.top) for path in self._paths]
            paths = [f"{tree}/{path}" for path in within if path.split("/")[0] != ".."]
            root = Path(os.path.normpath(f"{tree}/{os.path.relpath(self._root, self.top)}"))
            with contextlib.suppress(FileExistsError, NotADirectoryError):  # a file was there then
                root.mkdir(parents=True, exist_ok=True)
            yield root, list(filter(os.path.lexists, paths)), tree
