"""Read what the package brings along: the catalogue, the schemas, the bases."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from slicewright.core.catalogue.read import read_catalogue
from slicewright.core.intent.check import Schemas
from slicewright.core.render.repository import Package
from slicewright.version import __version__

if TYPE_CHECKING:
    from slicewright.core.catalogue.catalogue import Catalogue

_HERE = Path(__file__).resolve().parents[1]
_INPUT_SCHEMAS = ("slicewright", "kubernetes")
"""Folders of schemas/ that input files are checked with."""


def data_folder(name: str) -> Path:
    """Return a folder of data: inside the package when it is installed, else beside it in a checkout."""
    installed = _HERE / "_data" / name
    return installed if installed.is_dir() else _HERE.parents[1] / name


@cache
def catalogue() -> Catalogue:
    """Return the TPU catalogue."""
    files = sorted((_HERE / "catalog").glob("*.yaml"))
    loaded = {path.name: yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader) for path in files}
    return read_catalogue(loaded)


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
