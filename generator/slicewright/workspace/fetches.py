"""What a build of a kustomization would fetch or wait for: found before kustomize starts.

kustomize reads names of fields without regard to case, and so does this. Its built-in generators,
transformers and validators take paths as well, and their configurations are looked through wherever they are
read from.
"""

from __future__ import annotations

import os
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from slicewright.core.compose.kustomization import FILE_NAME, MAX_FOLDERS, too_many
from slicewright.core.compose.spec import is_remote
from slicewright.core.document.read import read_documents
from slicewright.core.problem import Problem
from slicewright.workspace.kustomizations import FILE_NAMES
from slicewright.workspace.load import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_Node = tuple[str, bool]
"""A folder, and whether what it makes configures a generator, transformer or validator."""
_PLUGINS = ("generators", "transformers", "validators")
_FOLDERS = frozenset({"resources", "bases", "components", *_PLUGINS})
_PATHS = _FOLDERS | {
    *("additionalvaluesfiles", "configurations", "crds", "env", "envs", "files", "patches", "path", "paths"),
    *("patchesstrategicmerge", "repo", "targetfilepath", "valuesfile"),
}
"""Fields of a kustomization, and of what it generates with, whose texts are paths."""
_VALUES = frozenset({"annotations", "commonannotations", "commonlabels", "labels", "valuesinline"})
"""Fields whose keys are somebody's own."""
_PLAIN = frozenset({"apiversion", "kind", "metadata", "resources"})


def fetched(folder: str) -> list[Problem]:
    """Return a problem for all that a build would fetch or wait for, and for all that would hide it.

    Files are named by their absolute path.
    """
    found: list[Problem] = []
    top = (os.path.realpath(folder), False)
    waiting = [top]
    included: dict[_Node, list[_Node]] = {}
    while waiting:
        here, configures = node = waiting.pop()
        if node in included:
            continue
        below = included[node] = []
        for file in sorted(FILE_NAMES):
            path = f"{here}/{file}"
            for data in _documents(path, found) if os.path.lexists(path) else ():
                if configures and isinstance(data, dict) and not _PLAIN.issuperset(map(str.casefold, data)):
                    found.append(_hidden(path))
                below += _of_document(data, here, path, found, configures=configures)
        waiting += below
    if _built(top, included) > MAX_FOLDERS:
        found.append(too_many(f"{top[0]}/{FILE_NAME}"))
    return found


def _built(top: _Node, included: Mapping[_Node, list[_Node]]) -> int:
    """Return how many kustomizations are built into one, each time counted; 0 where one includes itself."""
    count: dict[_Node, int] = {}
    try:
        for node in TopologicalSorter(included).static_order():
            count[node] = 1 + sum(count[below] for below in included[node])
    except CycleError:
        return 0
    return count[top]


def _of_document(
    data: Any, here: str, path: str, found: list[Problem], *, configures: bool
) -> Iterator[_Node]:
    """Yield the folders that a kustomization includes, and whether they hold configurations."""
    for key, entry in _paths(data):
        is_plugin = configures or key in _PLUGINS
        inline = read_documents(entry, path)[0] if is_plugin else ()
        if any(isinstance(document.data, dict) for document in inline):
            found += [one for document in inline for one in _barred_in(document.data, here, path)]
        elif barred := list(_barred(entry, here, path)):
            found += barred
        elif key in _FOLDERS and "\0" not in entry:
            target = os.path.realpath(os.path.join(here, entry))  # noqa: PTH118 - text, not yet a path
            if os.path.isdir(target):  # noqa: PTH112
                yield target, is_plugin
            elif is_plugin and os.path.exists(target):  # noqa: PTH110
                documents = _documents(target, found)
                found += [one for data in documents for one in _barred_in(data, here, target)]


def _documents(path: str, found: list[Problem]) -> list[Any]:
    """Return the documents of a file; what stands against reading it is a problem, for it hides the rest."""
    text = load(path, path)
    if isinstance(text, Problem):
        found.append(text)
        return []
    documents, problems = read_documents(text, path)
    found += problems
    return [document.data for document in documents]


def _barred_in(data: Any, here: str, file: str) -> Iterator[Problem]:
    return (one for _, entry in _paths(data) for one in _barred(entry, here, file))


def _barred(entry: str, here: str, file: str) -> Iterator[Problem]:
    """Yield what stands against reading what a path names: it is fetched, or kustomize would wait for it."""
    if is_remote(entry):
        message = f"'{entry}' is fetched from elsewhere, and validate asks no network"
        hint = "vendor it into the repository, at a version that you chose"
        yield Problem("KUS010", message, hint, file=file)
        return
    for name in {entry, entry.partition("=")[2]}:
        target = os.path.join(here, name)  # noqa: PTH118 - text, not yet a path
        if os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target):  # noqa: PTH110, PTH112, PTH113
            yield Problem("FILE001", f"'{name}' is not a regular file", "name another file", file=file)


def _paths(data: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in a path's place, with its field in small letters."""
    if isinstance(data, dict):
        for name, value in data.items():
            folded = name.casefold()
            if folded not in _VALUES:
                yield from _paths(value, folded)
    elif isinstance(data, list):
        for value in data:
            yield from _paths(value, key)
    elif isinstance(data, str) and key in _PATHS:
        yield key, data


def _hidden(file: str) -> Problem:
    message = "the configuration of a transformer or generator is itself made by a build"
    hint = "name the files that hold it, or a kustomization with nothing but resources"
    return Problem("KUS020", message, hint, file=file)
