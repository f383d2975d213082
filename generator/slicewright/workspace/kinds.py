"""The schemas of Kubernetes kinds on disk: those of the package, and folders that a user adds."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from slicewright.core.check.kinds import BadSchemaError, KindSchemas
from slicewright.core.problem import Problem
from slicewright.workspace.data import data_folder
from slicewright.workspace.load import load

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def packaged() -> Path:
    """Return the folder of the schemas that come along."""
    return data_folder("schemas") / "kinds"


def kind_schemas(added: Iterable[Path] = ()) -> KindSchemas:
    """Return the schemas of some folders, laid out as `slicewright schema --output-dir` does, and our own.

    A kind and version that several folders have is taken from the first.
    """
    folders = (*added, packaged())

    def read(file: str) -> Any:
        for folder in folders:
            path = folder / file
            if path.is_file():
                return _parse(path)
        return None

    @cache
    def files() -> tuple[str, ...]:
        return tuple(
            path.relative_to(folder).as_posix() for folder in folders for path in folder.glob("*/*.json")
        )

    return KindSchemas(read, files)


def _parse(path: Path) -> Any:
    text = load(path, str(path))
    if isinstance(text, Problem):
        raise BadSchemaError(f"{path}: {text.message}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadSchemaError(f"{path} cannot be read as JSON: {error}") from error
