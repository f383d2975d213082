"""The kustomizations on disk: which folder is one, what it includes, and what of it lies elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slicewright.core.document.read import read_documents
from slicewright.core.problem import Problem
from slicewright.workspace.load import load

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_NAMES = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
"""The names that kustomize knows; it refuses a folder with two of them."""
_GROUP = "kustomize.config.k8s.io/"
_ENTRIES = (
    "resources",
    "bases",
    "components",
    "crds",
    "configurations",
    "generators",
    "transformers",
    "validators",
)


class Kustomizations:
    """Reads each kustomization once, only as far as needed to know what it is."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[str, dict[str, Any]] | None] = {}

    def is_kustomization(self, path: Path) -> bool:
        """Tell whether a file is the kustomization of its folder."""
        return path.name in FILE_NAMES and self.kind_of(str(path.parent)) != ""

    def kind_of(self, folder: str) -> str:
        """Return `Kustomization` or `Component`; empty for a folder that is none.

        A file of that name that cannot be read as YAML counts: building it says what is wrong.
        """
        found = self.spec_of(folder)
        if found is None:
            return ""
        kind = found[1].get("kind", "Kustomization")
        return kind if kind in ("Kustomization", "Component") else "Kustomization"

    def spec_of(self, folder: str) -> tuple[str, dict[str, Any]] | None:
        """Return the file and the content of a folder's kustomization; None where there is none."""
        folder = os.path.normpath(folder)
        if folder not in self._read:
            self._read[folder] = _load(folder)
        return self._read[folder]

    def included_by(self, folder: str) -> set[str]:
        """Return every folder that a kustomization includes, directly or through another one."""
        included: set[str] = set()
        waiting = [os.path.normpath(folder)]
        while waiting:
            current = waiting.pop()
            for entry in self._entries(current):
                below = os.path.normpath(os.path.join(current, entry))  # noqa: PTH118 - text, not yet a path
                if below not in included and os.path.isdir(below):  # noqa: PTH112 - any text
                    included.add(below)
                    waiting.append(below)
        included.discard(os.path.normpath(folder))
        return included

    def _entries(self, folder: str) -> Iterator[str]:
        found = self.spec_of(folder)
        if found is None:
            return
        spec = found[1]
        for key in _ENTRIES:
            yield from (entry for entry in _listed(spec, key) if isinstance(entry, str))
        for patch in _listed(spec, "patches"):
            if isinstance(patch, dict) and isinstance(patch.get("path"), str):
                yield patch["path"]


def _listed(spec: dict[str, Any], key: str) -> list[Any]:
    found = spec.get(key)
    return found if isinstance(found, list) else []


def _load(folder: str) -> tuple[str, dict[str, Any]] | None:
    for name in sorted(FILE_NAMES):
        path = Path(folder) / name
        if not os.path.lexists(path):
            continue
        text = load(path, str(path))
        if isinstance(text, Problem):
            return str(path), {}
        documents, _ = read_documents(text, str(path))
        data = documents[0].data if len(documents) == 1 else {}
        if not isinstance(data, dict):
            return str(path), {}
        version = data.get("apiVersion", _GROUP)
        # Flux has a kind of the same name, which people keep in files of this name.
        if isinstance(version, str) and not version.startswith(_GROUP):
            return None
        return str(path), data
    return None
