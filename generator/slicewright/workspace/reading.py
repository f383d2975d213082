"""A unit -> its documents: read from disk within limits, parsed, or composed from a kustomization."""

from __future__ import annotations

import codecs
import os
import stat
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slicewright.core.compose.kustomization import compose
from slicewright.core.document.read import Document, read_documents
from slicewright.core.problem import Problem
from slicewright.core.run.header import is_ours
from slicewright.workspace import kustomize
from slicewright.workspace.kustomizations import FILE_NAMES, Kustomizations
from slicewright.workspace.units import unreadable

if TYPE_CHECKING:
    from slicewright.workspace.units import Unit

LARGEST = 16 * 1024 * 1024
"""Bytes of one file that are read; the manifests of Kueue, with all its CRDs, are 1.7 million."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a unit holds."""

    unit: Unit
    text: str = ""
    """Of a file, to find places in it; empty for a folder, whose objects stand nowhere as they are built."""
    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    kustomizations: tuple[tuple[str, str], ...] = ()
    """Name and text of the hand-written kustomizations that a folder is built from, for rules about them."""


def read(unit: Unit) -> Reading:
    """Read a unit; whatever is wrong with it is among the problems."""
    if unit.form == "folder":
        return _compose(unit)
    text = _stdin() if unit.form == "stdin" else load(unit.path, unit.name)
    if isinstance(text, Problem):
        return Reading(unit, problems=(text,))
    if unit.path.endswith(".json"):
        text = text.replace("\t", " ")  # JSON may be indented with tabs, YAML may not
    documents, problems = parse(text, unit.name)
    return Reading(unit, text, documents, problems)


def parse(text: str, name: str) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents of a file. A disputed scalar is a problem, and the rest is still checked."""
    documents, problems = read_documents(text, name, undisputed=True)
    if [problem.id for problem in problems] == ["YAML007"]:
        documents, others = read_documents(text, name)
        problems = (*problems, *others)
    return documents, problems


def load(path: str | os.PathLike[str], name: str) -> str | Problem:
    """Return the text of a file, or why it is not read: too large, no file, no permission, no UTF-8."""
    try:
        # A pipe is opened without waiting for somebody to write into it.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return unreadable(name, error)
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            return Problem("FILE001", "is a folder", "name a file in it, or - for stdin", file=name)
        if not stat.S_ISREG(status.st_mode):
            return Problem("FILE001", "is no regular file", "name another file, or - for stdin", file=name)
        if status.st_size > LARGEST:
            return _too_large(name, status.st_size)
        with os.fdopen(handle, "rb", closefd=False) as file:
            return _decoded(file.read(LARGEST + 1), name)
    except OSError as error:
        return unreadable(name, error)
    finally:
        os.close(handle)


def _stdin() -> str | Problem:
    if sys.stdin is None:  # closed by the caller
        return Problem("FILE001", "is closed", "pipe something into it, or name a path", file="stdin")
    return _decoded(sys.stdin.buffer.read(LARGEST + 1), "stdin")


def _decoded(content: bytes, name: str) -> str | Problem:
    if len(content) > LARGEST:
        return _too_large(name, len(content))
    try:
        return content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}"
        return Problem("FILE002", message, "save the file as UTF-8", file=name)


def _too_large(name: str, size: int) -> Problem:
    mebi = 1024 * 1024
    message = f"has {size / mebi:.0f} MiB; more than {LARGEST // mebi} MiB are not read"
    return Problem("FILE005", message, "leave it out with --exclude, or split it", file=name)


@dataclass(slots=True)
class _Tree:
    """Reads the files of kustomizations by their path from the root of the file system."""

    refused: dict[str, Problem]
    kustomizations: dict[str, str]

    def __call__(self, path: str) -> str | None:
        """Return the text of a file; None where there is none, and a note where it cannot be read."""
        file = f"/{path}"
        if not os.path.isfile(file):  # noqa: PTH113 - a few thousand times, and a Path takes its time
            return None
        text = load(file, path)
        if isinstance(text, Problem):
            self.refused[path] = text
            return None
        if path.rpartition("/")[2] in FILE_NAMES and not is_ours(text):
            self.kustomizations[path] = text
        return text


def _compose(unit: Unit) -> Reading:
    tree = _Tree({}, {})
    try:
        composed = compose(unit.path.lstrip("/"), tree)
    except OSError as error:
        return Reading(unit, problems=(unreadable(unit.name, error),))
    if composed.outside:
        objects, problems = _built(unit, tree)
    else:
        objects = list(composed.objects)
        # What compose says of a file that was not read follows from why it was not.
        found = tuple(tree.refused.values()) or composed.problems
        problems = tuple(_named(problem, unit) for problem in found)
    documents = tuple(Document(data, index, 0) for index, data in enumerate(objects))
    written = tuple(
        (_shown(Path("/") / path, unit), text) for path, text in sorted(tree.kustomizations.items())
    )
    return Reading(unit, "", documents, problems, written)


def _built(unit: Unit, tree: _Tree) -> tuple[list[Any], tuple[Problem, ...]]:
    """Let kustomize build what is outside of our subset, unless it would have to fetch something."""
    kustomizations = Kustomizations()
    for folder in (unit.path, *sorted(kustomizations.included_by(unit.path))):
        found = kustomizations.spec_of(folder)
        if found is not None:
            tree(found[0].lstrip("/"))
    remote = tuple(
        _named(_remote(file.lstrip("/"), entry), unit)
        for file, entry in kustomizations.remote_entries(unit.path)
    )
    return ([], remote) if remote else kustomize.build(unit.path, unit.name)


def _remote(file: str, entry: str) -> Problem:
    message = f"'{entry}' is fetched from elsewhere, and validate asks no network"
    return Problem("KUS010", message, "vendor it into the repository, at a version that you chose", file=file)


def _named(problem: Problem, unit: Unit) -> Problem:
    """Return a problem with the names of files as the user sees them."""
    message = problem.message
    if unit.path.endswith(f"/{unit.name}"):
        message = message.replace(unit.path.removesuffix(unit.name).lstrip("/"), "")
    file = Path("/") / problem.file if problem.file else Path(unit.path)
    return replace(problem, file=_shown(file, unit), message=message)


def _shown(file: Path, unit: Unit) -> str:
    return os.path.normpath(f"{unit.name}/{os.path.relpath(file, unit.path)}")
