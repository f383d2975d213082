"""Read a repository from disk: its settings, its input files, and the tree that is there."""

from __future__ import annotations

import codecs
import os
import re
import stat
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from slicewright.core.compose.spec import Stopped
from slicewright.core.document.read import read_documents
from slicewright.core.intent.source import Source, SourceFile
from slicewright.core.problem import Problem
from slicewright.core.render.existing import ROOT
from slicewright.core.render.platform import PROVISION
from slicewright.core.render.repository import Repository, Settings, against_schema, read_repository
from slicewright.workspace.package import package
from slicewright.workspace.requires import MalformedError, satisfies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS = "slicewright.yaml"
INPUT_FOLDERS = ("clusters", "workloads")
_SUFFIXES = (".yaml", ".yml")
_GENERATED_SUFFIXES = (*_SUFFIXES, ".sh", ".tf", ".tfvars")


class WrongVersionError(Exception):
    """The repository asks for another version of the tool."""


class NoRepositoryError(Exception):
    """There is no repository at the path that was given, or above it."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository on disk, as it was read."""

    root: Path
    repository: Repository
    existing: dict[str, str]
    """Text of every file under overlays/ and provision/ that could be ours, by path from the root."""


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above a path that holds slicewright.yaml. Raises NoRepositoryError."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / SETTINGS).is_file():
            return folder
    message = f"no {SETTINGS} in {start} or above it"
    raise NoRepositoryError(message)


def read_checkout(root: Path) -> Checkout:
    """Read a repository and the tree that is there. Raises WrongVersionError."""
    found: list[Problem] = []
    existing = dict(_existing(root, found))
    repository = read_input(root)
    return Checkout(root, replace(repository, problems=(*found, *repository.problems)), existing)


def read_input(root: Path) -> Repository:
    """Read what people wrote: settings, clusters and workloads. Raises WrongVersionError."""
    found: list[Problem] = []
    settings = _read_settings(root, found)
    found += _bases(root)
    files = list(_input_files(root, found))

    def read_text(path: str) -> str | None:
        return _read_in_tree(root, path)

    repository = read_repository(files, settings, package(), read_text)
    return replace(repository, problems=(*found, *repository.problems))


def _read_settings(root: Path, found: list[Problem]) -> Settings:
    text = _read(root, SETTINGS, found)
    if text is None:
        return Settings()
    documents, problems = read_documents(text, SETTINGS)
    found += problems
    if not documents:
        return Settings()
    source = Source(SourceFile(SETTINGS, text), documents[0])
    if len(documents) > 1:
        message, hint = "the settings are one document, and here are several", "merge them into one"
        line = documents[1].line
        found.append(Problem("IN007", message, hint, file=SETTINGS, line=line, column=1))
    refused = against_schema(source, "slicewright/settings.json", package().schemas)
    found += refused
    if refused:
        return Settings()
    _require(source, found)
    return Settings(end_runs=source.data.get("limits", {}).get("endRuns", Settings().end_runs))


def _bases(root: Path) -> list[Problem]:
    """Say where the bases come from, in a repository that has none yet."""
    if (root / "bases").is_dir():
        return []
    hint = "slicewright init --upgrade brings those that came with slicewright"
    return [Problem("BASE002", "there is no folder bases/, on which overlays stand", hint, file="bases")]


def _require(source: Source, found: list[Problem]) -> None:
    wanted, version = source.data.get("requires", ""), package().version
    try:
        if not wanted or satisfies(version, wanted):
            return
    except MalformedError as error:
        hint = "write for example ~=0.1, >=0.1,<0.3 or ==0.1.*"
        found.append(source.problem("IN005", ("requires",), str(error), hint))
        return
    message = f"{SETTINGS} requires slicewright {wanted}, and this is {version}"
    raise WrongVersionError(f"{message}\n  hint: pip install 'slicewright{wanted}'")


def _input_files(root: Path, found: list[Problem]) -> Iterator[SourceFile]:
    for folder in INPUT_FOLDERS:
        for path in _walk(root, folder, found, ours=False):
            text = _read(root, path, found)
            if text is not None:
                yield SourceFile(path, text)


def _existing(root: Path, found: list[Problem]) -> Iterator[tuple[str, str]]:
    for folder in (ROOT, PROVISION):
        for path in _walk(root, folder, found, ours=True):
            text = _read(root, path, found)
            if text is not None:
                yield path, text


def _walk(root: Path, folder: str, found: list[Problem], *, ours: bool) -> Iterator[str]:
    """Yield the YAML files (of ours also scripts) below a folder in order of their path, but no hidden ones.

    In `ours`, the tree that is generated, whatever we cannot have written is passed by. Elsewhere nothing is
    left out in silence: links to folders, and names that no report could print.
    """

    def report(error: OSError) -> None:
        found.append(_unreadable(os.path.relpath(error.filename, root), error))

    suffixes = _GENERATED_SUFFIXES if ours else _SUFFIXES
    top = str(root / folder)
    for base, folders, names in os.walk(top, onerror=report if (root / folder).exists() else None):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        relative = folder + base.removeprefix(top)
        if not ours:
            found += _links(base, relative, folders)
        for name in sorted(names):
            path = f"{relative}/{name}"
            if name.startswith(".") or not name.endswith(suffixes):
                continue
            if path.isprintable():
                yield path
            elif not ours:
                shown = path.encode("unicode_escape", "backslashreplace").decode()
                found.append(
                    Problem("FILE008", "a file name that cannot be printed", "rename it", file=shown)
                )


def _links(base: str, relative: str, folders: list[str]) -> Iterator[Problem]:
    for name in folders:
        if os.path.islink(os.path.join(base, name)):  # noqa: PTH114, PTH118 - as os.walk gives it
            message = "a link to a folder is not followed"
            yield Problem("FILE004", message, "move the files here", file=f"{relative}/{name}")


def _read(root: Path, name: str, found: list[Problem]) -> str | None:
    path = f"{root}/{name}"  # as text: there are thousands of files, and a Path takes its time
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            found.append(Problem("FILE001", "cannot be read: not a regular file", "move it away", file=name))
            return None
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read().removeprefix(codecs.BOM_UTF8).decode()
    except OSError as error:
        found.append(_unreadable(name, error))
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}"
        found.append(Problem("FILE002", message, "save the file as UTF-8", file=name))
    return None


def _unreadable(name: str, error: OSError) -> Problem:
    return Problem("FILE001", f"cannot be read: {error.strerror}", "check its permissions", file=name)


_INSIDE = re.compile(r"(?!/)(?!(.*/)?\.\.(/|$)).+")


def _read_in_tree(root: Path, path: str) -> str | None:
    """Return the text of a file, None where there is none. Raises Stopped for a link out of the tree."""
    if not _INSIDE.fullmatch(path):
        return None
    target, within = root / path, root.resolve()
    if not target.resolve().is_relative_to(within):
        way = (*reversed(PurePosixPath(path).parents), PurePosixPath(path))
        link = next(part for part in way if not (root / part).resolve().is_relative_to(within))
        message = "a link that leads out of the repository is not followed"
        hint = "put what it leads to in its place"
        raise Stopped(Problem("FILE004", message, hint, file=str(link)))
    try:
        return target.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
