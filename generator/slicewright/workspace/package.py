"""Read what the package brings along: the catalogue, the schemas, the bases."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from slicewright.core.catalogue.read import read_catalogue
from slicewright.core.document.read import read_documents
from slicewright.core.intent.check import Schemas
from slicewright.core.render.repository import Package
from slicewright.version import __version__
from slicewright.workspace.data import HERE, data_folder

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.core.catalogue.catalogue import Catalogue

_INPUT_SCHEMAS = ("slicewright", "kubernetes")
"""Folders of schemas/ that input files are checked with."""


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
            f"{folder}/{path.name}": json.loads(path.read_text(encoding="utf-8"))
            for folder in _INPUT_SCHEMAS
            for path in sorted((root / folder).glob("*.json"))
        }
    )


@cache
def package() -> Package:
    """Return all of it."""
    return Package(__version__, catalogue(), schemas())
