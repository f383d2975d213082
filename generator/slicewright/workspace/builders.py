"""How a repository says that its kustomizations are built: with files of other folders, and by Flux."""

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from slicewright.core.check.examine import Unit
from slicewright.core.document.read import read_documents
from slicewright.core.kubernetes.read import mapping
from slicewright.core.problem import Problem
from slicewright.workspace.repository import files_of, repository_of
from slicewright.workspace.text_file import read_file

_FLAG = "--load-restrictor LoadRestrictionsNone"
_FLUX = "kustomize.toolkit.fluxcd.io/"
_LIFTED = re.compile(
    rf"LoadRestrictionsNone|load[-_]restrictor['\", =]+none\b|{re.escape(_FLUX)}", re.IGNORECASE
)
"""The option in a script, a workflow, a setting of Argo CD or Skaffold, or a program; and Flux, which never
has the restriction."""


class _Builders(Struct, frozen=True):
    lifted: bool
    """Whether something builds without the restriction."""
    completed: frozenset[str]
    """The folders to which Flux Kustomizations add components."""


def is_lifted(unit: Unit) -> bool:
    """Tell whether something in the repository of a unit builds without the load restriction."""
    return _builders(repository_of(unit)).lifted


def gets_components(unit: Unit) -> bool:
    """Tell whether a Flux Kustomization adds components to the folder of a unit before it builds it."""
    return unit.path in _builders(repository_of(unit)).completed


@cache
def _builders(repository: str) -> _Builders:
    texts = ((path, read_file(path, path)) for path in files_of(repository))
    lifting = [(path, text) for path, text in texts if isinstance(text, str) and _LIFTED.search(text)]
    places = (f"{repository}/{place}" for path, text in lifting for place in _completed(text, path))
    return _Builders(bool(lifting), frozenset(map(posixpath.normpath, places)))


def _completed(text: str, file: str) -> Iterator[str]:
    """Yield the paths that Flux Kustomizations with components name, from the root of a repository."""
    is_of_flux = file.endswith((".yaml", ".yml")) and _FLUX in text and "components:" in text
    for document in read_documents(text, file)[0] if is_of_flux else ():
        data: Any = document.data
        api = str(data.get("apiVersion")) if isinstance(data, dict) else ""
        spec = mapping(data.get("spec")) if api.startswith(_FLUX) else {}
        if spec.get("components"):
            yield str(spec.get("path", "")).strip("/")


def of_restriction(problem: Problem) -> Problem:
    """Return a problem of a build in such a repository: a note if the restriction is what is wrong."""
    if problem.id != "KUS004" and not (problem.id == "KUS011" and " security; " in problem.message):
        return problem
    hint = f"build it with kustomize build {_FLAG}, and check what that writes"
    return replace(problem, severity="note", hint=hint)
