"""Kustomizations that Flux completes: it adds the components of its own Kustomization before it builds."""

from __future__ import annotations

import posixpath
from functools import cache
from typing import TYPE_CHECKING, Any

from slicewright.core.document.read import read_documents
from slicewright.core.kubernetes.read import mapping
from slicewright.workspace.repository import files_of, repository_of
from slicewright.workspace.text_file import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.examine import Unit

_API = "kustomize.toolkit.fluxcd.io/"


def gets_components(unit: Unit) -> bool:
    """Tell whether a Flux Kustomization of the repository adds components to the folder of a unit."""
    repository = repository_of(unit)
    return any(unit.path == posixpath.normpath(f"{repository}/{path}") for path in _completed(repository))


@cache
def _completed(repository: str) -> frozenset[str]:
    """Return the paths that Flux Kustomizations with components name, from the root of a repository."""
    names = (path for path in files_of(repository) if path.endswith((".yaml", ".yml")))
    texts = ((path, read_file(path, path)) for path in names)
    found = (
        (path, text)
        for path, text in texts
        if isinstance(text, str) and _API in text and "components:" in text
    )
    return frozenset(place for path, text in found for place in _places(text, path))


def _places(text: str, file: str) -> Iterator[str]:
    for document in read_documents(text, file)[0]:
        data: Any = document.data
        is_of_flux = isinstance(data, dict) and str(data.get("apiVersion")).startswith(_API)
        spec = mapping(data.get("spec")) if is_of_flux else {}
        if spec.get("components"):
            yield str(spec.get("path", "")).strip("/")
