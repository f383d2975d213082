"""Reads a repository from disk: its settings, its input files, and the existing tree."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from slicewright.document.io import read_file, unreadable
from slicewright.document.read import paired, read_documents
from slicewright.documentation import page
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.folder import BASES, PROVISION, ROOT, SETTINGS
from slicewright.rendering.io.package_data import catalogue, catalogue_with, package
from slicewright.rendering.kustomization import Stopped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from slicewright.catalogue.catalogue import Catalogue
    from slicewright.rendering.repository import Documents, Repository, Settings

INPUT_FOLDERS = ("clusters", "defaults", "workloads")
_SUFFIXES = (".yaml", ".yml")
_GENERATED_SUFFIXES = (*_SUFFIXES, ".sh", ".tf", ".tfvars", "Kustomization")


class WrongVersionError(Exception):
    """The repository requires another version of slicewright."""


class NoRepositoryError(Exception):
    """No repository is at the given path, or above it."""


class Checkout(Struct, frozen=True):
    """A repository on disk, as it was read."""

    root: Path
    repository: Repository
    existing: dict[str, str]
    """Text of every file under overlays/ and provision/ that could be ours, by path from the root."""
    empty: tuple[str, ...] = ()
    """Folders there with nothing in them: a render that was killed leaves them."""


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above a path that holds slicewright.yaml. Raises NoRepositoryError."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / SETTINGS).is_file():
            return folder
    message = f"no {SETTINGS} in {start} or above it"
    raise NoRepositoryError(message)


def read_checkout(root: Path) -> Checkout:
    """Read a repository and its existing tree. Raises WrongVersionError."""
    problems: list[Problem] = []
    empty: list[str] = []
    existing: dict[str, str] = {}
    for folder in (ROOT, PROVISION):
        for path in _walk(root, folder, problems, empty):
            text = _read(root, path, problems)
            if text is not None:
                existing[path] = text
    repository = read_input(root)
    repository = replace(repository, problems=(*problems, *repository.problems))
    return Checkout(root, repository, existing, tuple(empty))


def read_input(root: Path, changed: Documents | None = None) -> Repository:
    """Read the input files: settings, clusters and workloads. Raises WrongVersionError.

    Documents in `changed` replace those of the files.
    """
    # 90 ms that a command without a repository does not need.
    from slicewright.rendering.repository import causes, read_repository  # noqa: PLC0415

    problems: list[Problem] = []
    settings = _read_settings(root, problems)
    if not (root / BASES).is_dir():
        message = "folder bases/ is missing, and overlays are built on it"
        hint = "slicewright init --upgrade brings those that came with slicewright"
        problems.append(Problem("BASE002", message, hint, file=BASES))
    known = catalogue_of(root, problems)
    files = list(source_files(root, INPUT_FOLDERS, problems))

    def read_text(path: str) -> str | None:
        return _read_in_tree(root, path)

    repository = read_repository(files, settings, replace(package(), catalogue=known), read_text, changed)
    if any(site.cluster.managed for site in repository.sites.values()):
        from slicewright.check.platform_problems import with_platforms  # noqa: PLC0415 - 60 ms

        repository = with_platforms(repository)
    files = list(source_files(root, ("shared",), problems))
    if files:
        from slicewright.rendering import shared  # noqa: PLC0415 - 40 ms, few repositories have any

        held, wrong = shared.read(files, repository.sites, repository.refused_clusters)
        repository = replace(repository, shared=held, problems=(*repository.problems, *wrong))
    return replace(repository, problems=causes((*problems, *repository.problems)))


def _read_settings(root: Path, problems: list[Problem]) -> Settings:
    from slicewright.rendering.repository import Settings, against_schema  # noqa: PLC0415 - as in `read_input`

    text = _read(root, SETTINGS, problems)
    if text is None:
        return Settings()
    documents, unreadable_parts = read_documents(text, SETTINGS)
    problems += unreadable_parts
    if not documents:
        return Settings()
    source = Source(SourceFile(SETTINGS, text), documents[0])
    if len(documents) > 1:
        message, hint = "the settings must be one document", "merge them into one"
        line = documents[1].line
        problems.append(Problem("IN007", message, hint, file=SETTINGS, line=line, column=1))
    refused = against_schema(source, "slicewright/settings.json", package().schemas)
    problems += refused
    if refused:
        return Settings()
    _require(source, problems)
    return Settings(end_runs=source.data.get("limits", {}).get("endRuns", Settings().end_runs))


def _require(source: Source, problems: list[Problem]) -> None:
    requirement, version = source.data.get("requires", ""), package().version
    try:
        if not requirement or satisfies(version, requirement):
            return
    except ValueError as error:
        hint = "write for example ~=0.1.0, >=0.1,<0.3 or ==0.1.*"
        problems.append(source.problem("IN005", ("requires",), str(error), hint))
        return
    message = f"{SETTINGS} requires slicewright {requirement}, and this is {version}"
    raise WrongVersionError(f"{message}\n  hint: install slicewright {requirement}: {page('how-to/install')}")


_COMPATIBLE = re.compile(r"~=\s*(\d{1,6}\.\d{1,6}(?:\.\d{1,6})?)")
"""What `slicewright init` writes, and most people keep: it is compared without an import."""


def satisfies(version: str, requirement: str) -> bool:
    """Tell whether a version meets each clause of a requirement, as PEP 440 defines it. Raises ValueError.

    A pre-release or development version counts as its release.
    """
    compatible = _COMPATIBLE.fullmatch(requirement.strip())
    if compatible and re.fullmatch(r"\d+\.\d+\.\d+", version):
        least, own = (tuple(map(int, text.split("."))) for text in (compatible[1], version))
        return own >= least and own[: len(least) - 1] == least[:-1]
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
    """Return the catalogue of the repository at or above a folder, and the problems of what it adds."""
    problems: list[Problem] = []
    try:
        return catalogue_of(find_root(folder), problems), problems
    except (NoRepositoryError, OSError):  # then the one of the package
        return catalogue(), []


def catalogue_of(root: Path, problems: list[Problem]) -> Catalogue:
    """Return the catalogue with what a repository adds in catalog/, and note the problems of that."""
    files = list(source_files(root, ("catalog",), problems))
    if not files:
        return catalogue()
    known, refused = catalogue_with(files)
    problems += refused
    return known


def source_files(root: Path, folders: Iterable[str], problems: list[Problem]) -> Iterator[SourceFile]:
    """Yield the YAML files of some folders; what cannot be read is a problem."""
    for folder in folders:
        for path in _walk(root, folder, problems):
            text = _read(root, path, problems)
            if text is not None:
                yield SourceFile(path, paired(text))


def _walk(root: Path, folder: str, problems: list[Problem], empty: list[str] | None = None) -> Iterator[str]:
    """Yield the YAML files (of ours also scripts) below a folder in order of their path, without hidden ones.

    In the tree that is generated, files that we cannot have written are skipped, and `empty` folders are
    noted. Elsewhere each file that is left out is a problem: links to folders or out of the repository, and
    names that no report could print.
    """
    ours = empty is not None
    within = os.path.realpath(root)

    def report(error: OSError) -> None:
        problems.append(unreadable(os.path.relpath(error.filename, root), error))

    suffixes = _GENERATED_SUFFIXES if ours else _SUFFIXES
    top = str(root / folder)
    for base, all_folders, names in os.walk(top, onerror=report if (root / folder).exists() else None):
        folders = sorted(name for name in all_folders if not name.startswith("."))
        relative = folder + base.removeprefix(top)
        if empty is None:
            problems += _links(base, relative, folders)
        elif not (all_folders or names):
            empty.append(relative)
        all_folders[:] = folders
        for name in sorted(names):
            path = f"{relative}/{name}"
            if name.startswith(".") or not name.endswith(suffixes):
                continue
            if os.path.islink(f"{base}/{name}") and not _is_within(f"{base}/{name}", within):
                if not ours:
                    problems.append(_out(path))
            elif path.isprintable():
                yield path
            elif not ours:
                shown = path.encode("unicode_escape", "backslashreplace").decode()
                problems.append(
                    Problem(
                        "FILE008",
                        "the file name has characters that cannot be printed",
                        "rename it",
                        file=shown,
                    )
                )


def _links(base: str, relative: str, folders: list[str]) -> Iterator[Problem]:
    for name in folders:
        if os.path.islink(os.path.join(base, name)):
            message = "a link to a folder is not followed"
            yield Problem("FILE004", message, "move the files here", file=f"{relative}/{name}")


def _out(name: str) -> Problem:
    message = "a link that points out of the repository is not followed"
    return Problem("FILE004", message, "replace the link with its target", file=name)


def _read(root: Path, name: str, problems: list[Problem]) -> str | None:
    text = read_file(f"{root}/{name}", name)
    if not isinstance(text, Problem):
        return text
    if not os.path.exists(f"{root}/{name}"):
        text = Problem("FILE001", "the link points to no file", "replace it with a file", file=name)
    problems.append(text)
    return None


def _is_within(path: Path | str, folder: str) -> bool:
    return f"{os.path.realpath(path)}/".startswith(f"{folder}/")


_INSIDE = re.compile(r"(?!/)(?!(.*/)?\.\.(/|$)).+")


def _read_in_tree(root: Path, path: str) -> str | None:
    """Return the text of a file, None if there is none. Raises Stopped for a link out of the tree."""
    if not _INSIDE.fullmatch(path):
        return None
    target, within = root / path, os.path.realpath(root)  # Path.resolve() fails for links in a circle
    if not _is_within(target, within):
        way = (*reversed(PurePosixPath(path).parents), PurePosixPath(path))
        raise Stopped(_out(str(next(part for part in way if not _is_within(root / part, within)))))
    text = read_file(target, path)
    if isinstance(text, Problem) and text.id == "FILE005":
        raise Stopped(text)
    return None if isinstance(text, Problem) else text
