"""Read what the package brings along: the catalogue, the schemas, the bases."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from slicewright.core.catalogue.read import read_catalogue
from slicewright.core.compose.spec import FILE_NAME
from slicewright.core.document.read import read_documents
from slicewright.core.intent.check import Schemas
from slicewright.core.platform import against_configuration
from slicewright.core.platform.release import recorded
from slicewright.core.render.repository import Package
from slicewright.version import __version__
from slicewright.workspace.data import HERE, data_folder

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.core.catalogue.catalogue import Catalogue

_INPUT_SCHEMAS = ("slicewright/*.json", "kubernetes/*.json", against_configuration.SCHEMA)
"""Files of schemas/ that input files are checked with."""


@cache
def catalogue() -> Catalogue:
    """Return the TPU catalogue."""
    files = sorted((HERE / "catalog").glob("*.yaml"))
    return read_catalogue({path.name: _document(path) for path in files})


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


@cache
def health() -> dict[str, str]:
    """Return the health checks for Argo CD, in Lua, by `<group>_<Kind>`."""
    files = sorted((HERE / "health").glob("*.lua"))
    return {path.stem: path.read_text(encoding="utf-8") for path in files}


@cache
def releases() -> dict[str, str]:
    """Return the digests of the manifests of controllers, by the names of their folders."""
    files = (data_folder("bases") / "controllers").glob(f"*/{FILE_NAME}")
    return {path.parent.name: recorded(path.read_text(encoding="utf-8")) for path in files}


@cache
def package() -> Package:
    """Return all of it."""
    return Package(__version__, catalogue(), schemas(), health(), releases())
