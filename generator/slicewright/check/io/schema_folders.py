"""The schemas of Kubernetes kinds on disk: those of the package, and folders that a user adds."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from slicewright.check.kind_schemas import BadSchemaError, KindSchemas
from slicewright.document.io import read_file
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.io.package_data import data_folder
from slicewright.schema.from_crd import DEFINITIONS_FILE, Definitions


def packaged() -> Path:
    """Return the folder of the schemas that come along."""
    return data_folder("schemas") / "kinds"


def kind_schemas(added: Iterable[Path] = ()) -> KindSchemas:
    """Return the schemas of some folders, laid out as `slicewright schema --output-dir` does, and our own.

    A kind and version that several folders have is taken from the first. Our own are read once a process.
    """
    theirs = tuple(added)
    return _of_folders((*theirs, packaged()), theirs) if theirs else _of_package(packaged())


@cache
def _of_package(folder: Path) -> KindSchemas:
    return _of_folders((folder,))


def _of_folders(folders: tuple[Path, ...], added: tuple[Path, ...] = ()) -> KindSchemas:
    @cache
    def definitions(folder: Path) -> Definitions:
        return Definitions(_text(folder / DEFINITIONS_FILE))

    def read(file: str) -> Any:
        for folder in folders:
            path = folder / file
            if path.is_file():
                return _parse(path, partial(definitions, folder))
        return None

    @cache
    def files() -> tuple[str, ...]:
        return tuple(_files(folders))

    return KindSchemas(read, files, frozenset(_files(added)))


def _files(folders: Iterable[Path]) -> Iterator[str]:
    return (path.relative_to(folder).as_posix() for folder in folders for path in folder.glob("*/*.json"))


def _parse(path: Path, definitions: Callable[[], Definitions]) -> Any:
    text = _text(path)
    try:
        return definitions().bundle(text) if f"../{DEFINITIONS_FILE}" in text else json.loads(text)
    except BadSchemaError:
        raise
    except (ValueError, RecursionError) as error:
        raise BadSchemaError(f"{path} cannot be read as JSON: {error}") from error
    except (LookupError, TypeError, AttributeError) as error:
        raise BadSchemaError(
            f"{path} needs a definition that {DEFINITIONS_FILE} does not have: {error}"
        ) from error


def _text(path: Path) -> str:
    text = read_file(path, str(path))
    if isinstance(text, Problem):
        raise BadSchemaError(f"{path}: {text.message}")
    return text
