"""Reads the data files of the package: the catalogue, the schemas, the bases."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from slicewright.catalogue.parse import CatalogueError, read_catalogue
from slicewright.document.read import read_documents
from slicewright.documentation import page
from slicewright.intent.source import Source
from slicewright.intent.validate import Schemas
from slicewright.kubernetes.kinds import KUEUE_CONFIGURATION_VERSION, removed_apis, schema_file
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.kustomization import FILE_NAME
from slicewright.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.catalogue.catalogue import Catalogue
    from slicewright.intent.source import SourceFile
    from slicewright.kubernetes.kinds import Removed
    from slicewright.rendering.repository import Package


_HOW_TO = page("how-to/extend-slicewright")
_KUEUE = f"kinds/{schema_file(KUEUE_CONFIGURATION_VERSION, 'Configuration')}"
_INPUT_SCHEMAS = ("slicewright/*.json", "kubernetes/*.json", _KUEUE)
"""Files of schemas/ that input files are checked with."""


@cache
def catalogue() -> Catalogue:
    """Return the TPU catalogue."""
    return read_catalogue(_documents())


def catalogue_with(files: Iterable[SourceFile]) -> tuple[Catalogue, list[Problem]]:
    """Return the catalogue with the generations that some files add, and the problems of these files.

    One that is wrong adds nothing.
    """
    known, documents, problems = catalogue(), _documents(), list[Problem]()
    for file in files:
        read, refused = read_documents(file.text, file.path)
        problems += refused
        if len(read) != 1:
            if not refused:
                message = f"a file of the catalogue must have one document, not {len(read)}"
                problems.append(
                    Problem("CAT001", message, "write one generation in each file", file=file.path)
                )
            continue
        documents[file.path] = read[0].data
        try:
            known = read_catalogue(documents)
        except CatalogueError as error:
            del documents[file.path]
            hint = f"compare the file with the example in {_HOW_TO}; "
            hint += "delete the file if the generation is built in"
            message = str(error).removeprefix(f"{file.path}: ")
            problems.append(Source(file, read[0]).problem("CAT001", error.path, message, hint))
    return known, problems


def _documents() -> dict[str, Any]:
    """Return the data files that come along, by name."""
    return {path.name: _document(path) for path in sorted((HERE / "catalog").glob("*.yaml"))}


def _document(path: Path) -> Any:
    (document,), _ = read_documents(path.read_text(encoding="utf-8"), path.name)
    return document.data


@cache
def schemas() -> Schemas:
    """Return the JSON Schemas of the input formats."""
    root = data_folder("schemas")
    return Schemas(
        {
            path.relative_to(root).as_posix(): json.loads(path.read_text(encoding="utf-8"))
            for pattern in _INPUT_SCHEMAS
            for path in sorted(root.glob(pattern))
        }
    )


def health() -> dict[str, str]:
    """Return the health checks for Argo CD, in Lua, by `<group>_<Kind>`."""
    files = sorted((HERE / "health").glob("*.lua"))
    return {path.stem: path.read_text(encoding="utf-8") for path in files}


@cache
def releases() -> dict[str, str]:
    """Return the digests of the manifests of controllers, by the names of their folders."""
    from slicewright.rendering.platform.controller_files import recorded  # noqa: PLC0415 - 35 ms

    files = (data_folder("bases") / "controllers").glob(f"*/{FILE_NAME}")
    return {path.parent.name: recorded(path.read_text(encoding="utf-8")) for path in files}


@cache
def removed() -> Removed:
    """Return the APIs that are no longer served."""
    return removed_apis(_document(HERE / "removed_apis.yaml"))


@cache
def provision() -> dict[str, str]:
    """Return the files of `provision/<cluster>/` that are equal for all clusters, by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in (HERE / "provision").iterdir()}


@cache
def texts(subject: str) -> Any:
    """Return the texts of a file of problems/: a title, an intro, and `problems`, each with an id."""
    with (HERE / "problems" / f"{subject}.yaml").open("rb") as file:  # an error of YAML names the open file
        return yaml.load(file, Loader=yaml.CSafeLoader)


def hint_of(ident: str) -> str:
    """Return the hint of a rule of slicewright; only the texts of its subject are read."""
    entries = texts(f"rules/{ident.rstrip('0123456789').lower()}")["problems"]
    return next(str(entry["hint"]) for entry in entries if entry["id"] == ident)


@cache
def package() -> Package:
    """Return all of it; the texts of rules are read when a rule is broken."""
    from slicewright.rendering.repository import Package  # noqa: PLC0415 - 45 ms

    return Package(__version__, catalogue(), schemas(), health(), releases(), provision(), hint_of)


HERE = Path(__file__).resolve().parents[2]
"""The folder of the package."""


def data_folder(name: str) -> Path:
    """Return a folder of data: inside the package when it is installed, else beside it in a checkout."""
    installed = HERE / "_data" / name
    return installed if installed.is_dir() else HERE.parents[1] / name
