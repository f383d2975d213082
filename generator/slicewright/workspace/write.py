"""Write a tree: staged in full, then moved into place, so that an interrupted render leaves whole files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from slicewright.core.problem import Problem
from slicewright.core.run import header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STAGE = ".slicewright-stage-"
"""Name prefix of the folder in which files wait; a leftover of a killed render is removed by the next."""


@contextlib.contextmanager
def locked(root: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the repository against other runs of slicewright; readers share it.

    The lock is on the folder itself (flock), so that no file is left behind and a killed process frees it.
    """
    handle = os.open(root, os.O_RDONLY)
    try:
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(handle, how | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stderr.write("waiting for another slicewright in this repository\n")
            fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def apply(root: Path, writes: Mapping[str, str], deletes: tuple[str, ...]) -> tuple[Problem, ...]:
    """Write files and delete others; return the problem that kept it from doing any of it.

    All files are staged first, on the same file system, so that a full disk or a missing permission
    is found before anything changed. Then runs move into place before the lists that name them, and only
    then are old files deleted: whoever is killed in between leaves a tree that the next render completes.
    """
    _remove_stages(root)
    refused = _refused(root, writes, deletes)
    if refused or not (writes or deletes):
        return refused
    try:
        stage = Path(tempfile.mkdtemp(prefix=STAGE, dir=root))
    except OSError as error:
        return (_unwritable(".", error),)
    try:
        for number, text in enumerate(writes.values()):
            (stage / str(number)).write_bytes(text.encode())
        for number, path in enumerate(writes):
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            (stage / str(number)).replace(target)
        for path in deletes:
            _delete(root, path)
    except OSError as error:
        return (_unwritable(str(error.filename or "."), error),)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return ()


def _refused(root: Path, writes: Mapping[str, str], deletes: tuple[str, ...]) -> tuple[Problem, ...]:
    """Find the folders that cannot be written to, or that lead out of the tree, before anything is."""
    found: dict[str, Problem] = {}
    top = root.resolve()
    for path in (*writes, *deletes):
        folder = (root / path).parent
        while not folder.exists():
            folder = folder.parent
        name = os.path.relpath(folder, root)
        if name in found:
            continue
        if not folder.resolve().is_relative_to(top):
            message = "a link leads out of the repository"
            found[name] = Problem("FILE004", message, "replace the link by a folder", file=name)
        elif not folder.is_dir():
            hint = "move the file away"
            found[name] = Problem("FILE003", "a file stands where a folder belongs", hint, file=name)
        elif not os.access(folder, os.W_OK | os.X_OK):
            hint = "check the permissions of the folder"
            found[name] = Problem("FILE003", "cannot be written to", hint, file=name)
    return tuple(found.values())


def _delete(root: Path, path: str) -> None:
    """Delete a file that is ours, and the folders that it leaves empty."""
    target = root / path
    with contextlib.suppress(FileNotFoundError):
        if header.is_ours(target.read_text(encoding="utf-8")):
            target.unlink()
    for folder in target.parents:
        if folder == root:
            break
        try:
            folder.rmdir()
        except OSError:
            break


def _remove_stages(root: Path) -> None:
    for stage in root.glob(STAGE + "*"):
        shutil.rmtree(stage, ignore_errors=True)


def _unwritable(name: str, error: OSError) -> Problem:
    message = f"cannot be written: {error.strerror}"
    return Problem("FILE003", message, "check permissions and free space, then render again", file=name)
