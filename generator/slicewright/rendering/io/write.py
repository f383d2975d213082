"""Write a tree: staged in full, then moved into place, so that an interrupted render leaves whole files."""

import codecs
import contextlib
import fcntl
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from slicewright.kubernetes.problem import Problem
from slicewright.rendering import header

STAGE = ".slicewright-stage-"
"""Name prefix of the folder in which files wait; a leftover of a killed render is removed by the next."""


@contextlib.contextmanager
def locked(root: Path, *, shared: bool = False, quiet: bool = False) -> Iterator[None]:
    """Hold the repository against other runs of slicewright; readers share it.

    The lock is on the folder itself (flock), so that no file is left behind and a killed process frees it.
    """
    handle = os.open(root, os.O_RDONLY)
    try:
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(handle, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if not quiet:
                sys.stderr.write("waiting for another slicewright in this repository\n")
            fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def apply(
    root: Path, writes: Mapping[str, str | bytes], deletes: tuple[str, ...], empty: tuple[str, ...] = ()
) -> tuple[Problem, ...]:
    """Write files and delete others, in the order given; return the problems that prevented it.

    All files are staged first, on the same file system, so that a full disk or a missing permission
    is found before anything changed. Then they move into place one by one, and only then are old files
    deleted: after a kill in between, the next render completes the tree. A file is replaced
    as a whole or not at all, and links are neither followed nor replaced. A file that is not generated
    keeps its permissions and its byte order mark; scripts can be executed. Folders that are `empty` go,
    unless something is written there.
    """
    for leftover in root.glob(f"{STAGE}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    problems = refused(root, writes, deletes)
    if problems:
        return problems
    for folder in empty:
        _remove_empty(root, root / folder)
    if not (writes or deletes):
        return ()
    try:
        stage = tempfile.mkdtemp(prefix=STAGE, dir=root)
    except OSError as error:
        return (_unwritable(".", error),)
    path = "."
    try:
        for number, (path, text) in enumerate(writes.items()):
            _stage(f"{stage}/{number}", f"{root}/{path}", text)
        for folder in dict.fromkeys(path.rpartition("/")[0] for path in writes):
            os.makedirs(f"{root}/{folder}", exist_ok=True)
        for number, path in enumerate(writes):
            os.replace(f"{stage}/{number}", f"{root}/{path}")
        for path in deletes:
            _delete(root, path)
    except OSError as error:
        # A file that is staged has no name of its own yet: it is the one that was being written.
        named = os.path.relpath(error.filename or stage, root)
        return (_unwritable(path if named.startswith(STAGE) else named, error),)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return ()


def replace_file(path: Path, text: str) -> tuple[Problem, ...]:
    """Write one file as `apply` does, one run after the other: each removes what others have staged."""
    try:
        with locked(path.parent, quiet=True):
            return apply(path.parent, {path.name: text}, ())
    except OSError as error:
        return (_unwritable(path.name, error),)


def _stage(staged: str, target: str, text: str | bytes) -> None:
    """Write a file that will replace another one."""
    if isinstance(text, bytes):
        Path(staged).write_bytes(text)
        return
    is_edited = not header.is_ours(text) and os.path.exists(target)
    mark = byte_order_mark(target) if is_edited else b""
    with open(staged, "wb") as file:
        file.write(mark + text.encode().removeprefix(mark))
    if target.endswith(".sh"):
        os.chmod(staged, os.stat(staged).st_mode | 0o111)  # noqa: S103 - a script, for all who may read it
    if is_edited:
        shutil.copymode(target, staged)


def byte_order_mark(path: str | os.PathLike[str]) -> bytes:
    """Return the byte order mark with which a file begins; readers take it away."""
    with open(path, "rb") as file:
        return codecs.BOM_UTF8 if file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 else b""


_INSIDE = re.compile(r"(?!\.{1,2}(/|$))[^/\0]+(/(?!\.{1,2}(/|$))[^/\0]+)*")
"""A relative path without empty parts, `.` or `..`."""


def refused(root: Path, writes: Iterable[str], deletes: tuple[str, ...] = ()) -> tuple[Problem, ...]:
    """Find files that block a write, and links out of the tree, before anything is written."""
    problems: dict[str, Problem] = {}
    seen: set[str] = set()
    for path in (*writes, *deletes):
        if not _INSIDE.fullmatch(path):
            problems[path] = Problem("FILE004", "a path that leads out of the repository", file=path)
            continue
        parts = path.split("/")[:-1]
        for end in range(len(parts) + 1):
            folder = "/".join(parts[:end])
            if folder in seen:
                continue
            if not os.path.lexists(f"{root}/{folder}"):
                break
            seen.add(folder)
            problem = _in_the_way(f"{root}/{folder}" if folder else str(root), folder or ".")
            if problem is not None:
                problems[folder] = problem
    for path in writes:
        target = f"{root}/{path}"
        if os.path.islink(target):
            message, hint = (
                "the path is a link, but must be a file",
                "replace the link with the file that it points to",
            )
            if not os.path.exists(target):
                message, hint = "the path is a link to nothing, but must be a file", "remove the link"
            problems[path] = Problem("FILE004", message, hint, file=path)
        elif os.path.isdir(target):
            message, hint = "the path is a folder, but must be a file", "move the folder away"
            problems[path] = Problem("FILE003", message, hint, file=path)
    return tuple(problems.values())


def _in_the_way(folder: str, name: str) -> Problem | None:
    if os.path.islink(folder) and name != ".":
        message, hint = "the path is a link, but must be a folder", "replace the link with a folder"
        return Problem("FILE004", message, hint, file=name)
    if not os.path.isdir(folder):
        return Problem("FILE003", "the path is a file, but must be a folder", "move the file away", file=name)
    if not os.access(folder, os.W_OK | os.X_OK):
        return Problem("FILE003", "the folder cannot be written to", "check its permissions", file=name)
    return None


def _delete(root: Path, path: str) -> None:
    """Delete a file that is ours, and the folders that it leaves empty."""
    target = root / path
    with contextlib.suppress(FileNotFoundError):
        if header.is_ours(target.read_bytes().decode(errors="replace")):
            target.unlink()
    _remove_empty(root, target.parent)


def _remove_empty(root: Path, folder: Path) -> None:
    """Remove a folder, and those above it in the tree, as far as they are empty."""
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            break
        folder = folder.parent


def _unwritable(name: str, error: OSError) -> Problem:
    message = f"the file cannot be written: {error.strerror}"
    return Problem("FILE003", message, "check permissions and free space, then run it again", file=name)
