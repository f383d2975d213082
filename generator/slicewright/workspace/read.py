"""Read a repository from disk: its settings, its input files, and the tree that is there."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slicewright.core.document.read import read_documents
from slicewright.core.intent.source import Source, SourceFile
from slicewright.core.problem import Problem, errors
from slicewright.core.render.changes import ROOT
from slicewright.core.render.repository import Repository, Settings, read_repository
from slicewright.workspace.package import package
from slicewright.workspace.requires import satisfies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS = "slicewright.yaml"
INPUT_FOLDERS = ("clusters", "workloads")
_SUFFIXES = (".yaml", ".yml")


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
    """Text of every YAML file under overlays/, by path from the root."""


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above a path that holds slicewright.yaml. Raises NoRepositoryError."""
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / SETTINGS).is_file():
            return folder
    message = f"no {SETTINGS} in {start} or above it"
    raise NoRepositoryError(message)


def read_checkout(root: Path) -> Checkout:
    """Read a repository and the tree that is there. Raises WrongVersionError."""
    found: list[Problem] = []
    settings = _read_settings(root, found)
    files = list(_input_files(root, found))
    existing = dict(_existing(root, found))

    def read_text(path: str) -> str | None:
        return _read_in_tree(root, path)

    repository = read_repository(files, settings, package(), read_text)
    problems = (*found, *repository.problems)
    complete = Repository(
        repository.package,
        repository.settings,
        repository.workloads,
        repository.sites,
        repository.read_text,
        problems,
    )
    return Checkout(root, complete, existing)


def _read_settings(root: Path, found: list[Problem]) -> Settings:
    text = _read(root / SETTINGS, SETTINGS, found)
    if text is None:
        return Settings()
    documents, problems = read_documents(text, SETTINGS)
    found += problems
    if not documents:
        return Settings()
    source = Source(SourceFile(SETTINGS, text), documents[0])
    refused = [
        source.placed(problem)
        for problem in package().schemas.problems("slicewright/settings.json", source.data)
    ]
    found += refused
    if errors(refused):
        return Settings()
    wanted, version = source.data.get("requires", ""), package().version
    if wanted and not satisfies(version, wanted):
        message = (
            f"{SETTINGS} requires slicewright {wanted}, and this is {version}\n"
            f"  hint: pip install 'slicewright{wanted}'"
        )
        raise WrongVersionError(message)
    return Settings(end_runs=source.data.get("limits", {}).get("endRuns", Settings().end_runs))


def _input_files(root: Path, found: list[Problem]) -> Iterator[SourceFile]:
    for folder in INPUT_FOLDERS:
        for path in _walk(root, folder, found):
            text = _read(root / path, path, found)
            if text is not None:
                yield SourceFile(path, text)


def _existing(root: Path, found: list[Problem]) -> Iterator[tuple[str, str]]:
    for path in _walk(root, ROOT, found):
        text = _read(root / path, path, found)
        if text is not None:
            yield path, text


def _walk(root: Path, folder: str, found: list[Problem]) -> Iterator[str]:
    """Yield the YAML files below a folder, in order of their path; links to folders are not followed."""

    def report(error: OSError) -> None:
        found.append(_unreadable(os.path.relpath(error.filename, root), error))

    for base, folders, names in os.walk(root / folder, onerror=report if (root / folder).exists() else None):
        folders.sort()
        relative = os.path.relpath(base, root).replace(os.sep, "/")
        for name in sorted(names):
            if name.endswith(_SUFFIXES):
                yield f"{relative}/{name}"


def _read(path: Path, name: str, found: list[Problem]) -> str | None:
    try:
        return path.read_bytes().decode("utf-8-sig")
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
    """Return the text of a file of the tree; None where there is none, or where a link leaves the tree."""
    target = root / path
    if not _INSIDE.fullmatch(path) or not target.resolve().is_relative_to(root.resolve()):
        return None
    try:
        return target.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
