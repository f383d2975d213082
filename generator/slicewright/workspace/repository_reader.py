"""Read a repository from disk: its settings, its input files, and the tree that is there."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from slicewright.core.compose.spec import Stopped
from slicewright.core.document.pairs import paired
from slicewright.core.document.read import read_documents
from slicewright.core.intent.source import Source, SourceFile
from slicewright.core.problem import Problem
from slicewright.core.render.platform import PROVISION
from slicewright.core.render.repository import Repository, Settings, against_schema, read_repository
from slicewright.core.run.folder import ROOT
from slicewright.workspace.package import catalogue, catalogue_with, package
from slicewright.workspace.text_file import read_file, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from slicewright.core.catalogue.catalogue import Catalogue

SETTINGS = "slicewright.yaml"
INPUT_FOLDERS = ("clusters", "workloads")
_SUFFIXES = (".yaml", ".yml")
_GENERATED_SUFFIXES = (*_SUFFIXES, ".sh", ".tf", ".tfvars", "Kustomization")


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
    empty: tuple[str, ...] = ()
    """Folders there with nothing in them, as a render leaves them that was killed."""


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
    empty: list[str] = []
    existing = dict(_existing(root, found, empty))
    repository = read_input(root)
    repository = replace(repository, problems=(*found, *repository.problems))
    return Checkout(root, repository, existing, tuple(empty))


def read_input(root: Path) -> Repository:
    """Read what people wrote: settings, clusters and workloads. Raises WrongVersionError."""
    found: list[Problem] = []
    settings = _read_settings(root, found)
    found += _bases(root)
    known = catalogue_of(root, found)
    files = list(_files(root, INPUT_FOLDERS, found))

    def read_text(path: str) -> str | None:
        return _read_in_tree(root, path)

    repository = read_repository(files, settings, replace(package(), catalogue=known), read_text)
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
        message, hint = "the settings must be one document", "merge them into one"
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
    return [Problem("BASE002", "folder bases/ is missing, and overlays are built on it", hint, file="bases")]


def _require(source: Source, found: list[Problem]) -> None:
    wanted, version = source.data.get("requires", ""), package().version
    try:
        if not wanted or satisfies(version, wanted):
            return
    except ValueError as error:
        hint = "write for example ~=0.1, >=0.1,<0.3 or ==0.1.*"
        found.append(source.problem("IN005", ("requires",), str(error), hint))
        return
    message = f"{SETTINGS} requires slicewright {wanted}, and this is {version}"
    raise WrongVersionError(f"{message}\n  hint: pip install 'slicewright{wanted}'")


def satisfies(version: str, requirement: str) -> bool:
    """Tell whether a version meets each clause of a requirement, as PEP 440 defines it. Raises ValueError.

    A pre-release or development version counts as its release.
    """
    from packaging.specifiers import Specifier  # noqa: PLC0415 - it takes 25 ms to import
    from packaging.version import Version  # noqa: PLC0415

    release = Version(version).base_version
    met = []
    for clause in map(str.strip, requirement.split(",")):
        try:
            met.append(Specifier(clause).contains(release))
        except ValueError as error:
            raise ValueError(f"'{clause}' is not a valid version requirement") from error
    return all(met)


def catalogue_at(folder: Path) -> tuple[Catalogue, list[Problem]]:
    """Return the catalogue of the repository at a folder or above it, and what is wrong with what it adds."""
    found: list[Problem] = []
    try:
        return catalogue_of(find_root(folder), found), found
    except (NoRepositoryError, OSError):  # our own then
        return catalogue(), []


def catalogue_of(root: Path, found: list[Problem]) -> Catalogue:
    """Return the catalogue with what a repository adds in catalog/, and note what is wrong there."""
    files = list(_files(root, ("catalog",), found))
    if not files:
        return catalogue()
    known, problems = catalogue_with(files)
    found += problems
    return known


def _files(root: Path, folders: Iterable[str], found: list[Problem]) -> Iterator[SourceFile]:
    for folder in folders:
        for path in _walk(root, folder, found):
            text = _read(root, path, found)
            if text is not None:
                yield SourceFile(path, paired(text))


def _existing(root: Path, found: list[Problem], empty: list[str]) -> Iterator[tuple[str, str]]:
    for folder in (ROOT, PROVISION):
        for path in _walk(root, folder, found, empty):
            text = _read(root, path, found)
            if text is not None:
                yield path, text


def _walk(root: Path, folder: str, found: list[Problem], empty: list[str] | None = None) -> Iterator[str]:
    """Yield the YAML files (of ours also scripts) below a folder in order of their path, but no hidden ones.

    In the tree that is generated, of which the `empty` folders are noted, whatever we cannot have written is
    passed by. Elsewhere nothing is left out in silence: links to folders or out of the repository, and names
    that no report could print.
    """
    ours = empty is not None
    within = os.path.realpath(root)

    def report(error: OSError) -> None:
        found.append(unreadable(os.path.relpath(error.filename, root), error))

    suffixes = _GENERATED_SUFFIXES if ours else _SUFFIXES
    top = str(root / folder)
    for base, all_folders, names in os.walk(top, onerror=report if (root / folder).exists() else None):
        folders = sorted(name for name in all_folders if not name.startswith("."))
        relative = folder + base.removeprefix(top)
        if empty is None:
            found += _links(base, relative, folders)
        elif not (all_folders or names):
            empty.append(relative)
        all_folders[:] = folders
        for name in sorted(names):
            path = f"{relative}/{name}"
            if name.startswith(".") or not name.endswith(suffixes):
                continue
            if _leads_out(f"{base}/{name}", within):
                if not ours:
                    found.append(_out(path))
            elif path.isprintable():
                yield path
            elif not ours:
                shown = path.encode("unicode_escape", "backslashreplace").decode()
                found.append(
                    Problem("FILE008", "a file name that cannot be printed", "rename it", file=shown)
                )


def _links(base: str, relative: str, folders: list[str]) -> Iterator[Problem]:
    for name in folders:
        if os.path.islink(os.path.join(base, name)):
            message = "a link to a folder is not followed"
            yield Problem("FILE004", message, "move the files here", file=f"{relative}/{name}")


def _leads_out(path: str, within: str) -> bool:
    return os.path.islink(path) and not os.path.realpath(path).startswith(f"{within}/")


def _out(name: str) -> Problem:
    message = "a link that leads out of the repository is not followed"
    return Problem("FILE004", message, "put what it leads to in its place", file=name)


def _read(root: Path, name: str, found: list[Problem]) -> str | None:
    text = read_file(f"{root}/{name}", name)
    if not isinstance(text, Problem):
        return text
    if not os.path.exists(f"{root}/{name}"):
        text = Problem("FILE001", "the link leads to no file", "put a file in its place", file=name)
    found.append(text)
    return None


_INSIDE = re.compile(r"(?!/)(?!(.*/)?\.\.(/|$)).+")


def _read_in_tree(root: Path, path: str) -> str | None:
    """Return the text of a file, None where there is none. Raises Stopped for a link out of the tree."""
    if not _INSIDE.fullmatch(path):
        return None
    target, within = root / path, root.resolve()
    if not target.resolve().is_relative_to(within):
        way = (*reversed(PurePosixPath(path).parents), PurePosixPath(path))
        link = next(part for part in way if not (root / part).resolve().is_relative_to(within))
        raise Stopped(_out(str(link)))
    text = read_file(target, path)
    if isinstance(text, Problem) and text.id == "FILE005":
        raise Stopped(text)
    return None if isinstance(text, Problem) else text
