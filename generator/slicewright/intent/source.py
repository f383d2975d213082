"""An input document: finds the line of a value, and corrects a document that its schema refuses."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.document.read import Document, read_places
from slicewright.document.tree import Node
from slicewright.kubernetes.fields import mapping
from slicewright.kubernetes.problem import Path, Problem, Severity, meant


class SourceFile(Struct, frozen=True):
    """A file of the input: its path from the root of the repository, and its text."""

    path: str
    text: str


class Sweep(Struct, frozen=True):
    """The sweep that a workload is an entry of."""

    written: Source
    """The TPUWorkload with its matrix."""
    entry: str

    @property
    def name(self) -> str:
        """The name of the sweep, which is that of the TPUWorkload."""
        return str(self.written.data["metadata"]["name"])

    @property
    def most(self) -> int | None:
        """The number of its runs that may be admitted at the same time; None is unlimited."""
        most: int | None = self.written.data["spec"]["matrix"].get("maxConcurrent")
        return most


class Source(Struct, frozen=True, dict=True):
    """One document of an input file, or an entry of its matrix as such a document."""

    file: SourceFile
    document: Document
    renamed: Mapping[Path, Path] = field(default_factory=dict)
    """Keys that are read under another name, and their places in the file."""
    sweep: Sweep | None = None
    layers: tuple[Source, ...] = ()
    """What the document was merged from, the narrowest first: what a person wrote, and defaults."""

    @property
    def written(self) -> Source:
        """The document as a person wrote it, without defaults."""
        return self.layers[0] if self.layers else self

    def origin(self, path: Path) -> tuple[Source, Path]:
        """Return the document that gives the value at a path, and the path of it there.

        If no document has all of the path, that is the one with the most of it.
        """
        if not self.layers:
            return self, path
        ways = [(layer, _way(self.data, layer.data, path)) for layer in self.layers]
        layer, way = max(ways, key=lambda pair: len(pair[1]))
        return layer, (*way, *path[len(way) :])

    @property
    def data(self) -> Any:
        """The document as plain data."""
        return self.document.data

    @cached_property
    def places(self) -> Node:
        """Line and column of every value; the file is read once more for it, so only for problems."""
        if self.sweep is not None:
            return self.sweep.written.places
        return read_places(self.file.text, self.document.index)

    def is_beside(self, other: Source) -> bool:
        """Tell whether another source is the same document, or an entry of the same matrix."""
        return (self.file, self.document.index) == (other.file, other.document.index)

    def place(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Return line and column of a value (or of its key), else of the nearest value around it."""
        if self.layers:
            layer, path = self.origin(path)
            return layer.place(path, key=key)
        for right, original in self.renamed.items():
            if path[: len(right)] == right:
                path = (*original, *path[len(right) :])
        return self.places.of(path, key=key)

    @property
    def sweep_key(self) -> str:
        """The namespace and name of the sweep that it is an entry of; empty for another document."""
        return self.sweep.written.subject.partition(" ")[2] if self.sweep else ""

    @property
    def subject(self) -> str:
        """What a report calls the document: `TPUWorkload default/name`."""
        data = mapping(self.data)
        metadata = mapping(data.get("metadata"))
        kind, name = data.get("kind") or "", metadata.get("name") or ""
        if kind == "TPUWorkload":
            name = f"{metadata.get('namespace') or 'default'}/{name}"
        return f"{kind} {name}".strip()

    def problem(
        self,
        ident: str,
        path: Path,
        message: str,
        hint: str = "",
        *,
        key: bool = False,
        warning: bool = False,
    ) -> Problem:
        """Return a problem at a path of this document; `key` points at the key instead of the value."""
        severity: Severity = "warning" if warning else "error"
        return self.placed(Problem(ident, message, hint, severity, path=path), key=key)

    def placed(self, problem: Problem, *, key: bool | None = None) -> Problem:
        """Return a problem found in this document's data with its place in the file."""
        if self.layers:
            layer, path = self.origin(problem.path)
            return layer.placed(replace(problem, path=path), key=key)
        line, column = self.place(problem.path, key=problem.is_about_key if key is None else key)
        fix = problem.fix.within(self.document.index) if problem.fix else None
        return replace(
            problem,
            file=self.file.path,
            line=line,
            column=column,
            object=self.subject,
            sweep=self.sweep_key,
            fix=fix,
        )


_KEYS = ("name", "mountPath")
"""Fields by which elements of lists are known, where they have one."""


def _way(merged: Any, layer: Any, path: Path) -> Path:
    """Return the part of a path in a merged document that one of its layers has.

    Elements of lists correspond by their key, or by equal values.
    """
    way: Path = ()
    for part in path:
        at: str | int | None = None
        if isinstance(merged, list) and isinstance(layer, list) and part in range(len(merged)):
            entry = merged[int(part)]
            at = next((index for index, other in enumerate(layer) if _is_same(other, entry)), None)
        elif isinstance(merged, dict) and isinstance(layer, dict) and part in merged and part in layer:
            at = part
        if at is None:
            break
        merged, layer, way = merged[part], layer[at], (*way, at)
    return way


def _is_same(first: Any, second: Any) -> bool:
    both = isinstance(first, dict) and isinstance(second, dict)
    key = next((key for key in _KEYS if both and key in second), "")
    return bool(first.get(key) == second[key] if key else first == second)


_NAMED = frozenset({"clusterQueues", "managed", "mode", "pools", "priorityClasses", "teams"})
"""Fields of a TPUCluster by which workloads are judged."""
_INSIDE = 3
"""Length of a path that leads into a field of spec."""


class Mended(Struct, frozen=True):
    """An invalid document after its likely correction, and the paths of the values that were left out."""

    source: Source
    removed: tuple[Path, ...]

    def tells_of_workloads(self) -> bool:
        """Tell whether workloads can be checked against a TPUCluster although parts of it are left out."""
        return all(len(path) >= _INSIDE and path[1] not in _NAMED for path in self.removed)

    def follows(self, problem: Problem) -> bool:
        """Tell whether a problem may follow from a value that was left out: then it is not reported.

        An unknown name is reported in any case: the rest of the document does not change it.
        """
        if not self.removed or (problem.file, problem.object) != (self.source.file.path, self.source.subject):
            return False
        around = any(path[: len(problem.path)] == problem.path for path in self.removed)
        names = problem.id.startswith("REF") or problem.path[:2] == ("spec", "tpu")
        return around or not names or problem.severity != "error"


def mended(source: Source, problems: Iterable[Problem], accepts: Callable[[Any], bool]) -> Mended | None:
    """Return a document with misspelt keys corrected and other refused values left out.

    None if a list would change, or if the schema still refuses the result.
    """
    data = copy.deepcopy(source.data)
    renamed: dict[Path, Path] = {}
    removed: list[Path] = []
    left: list[Problem] = []
    for problem in problems:
        holder, right = _holder(data, problem.path), meant(problem.hint) if problem.id == "IN002" else ""
        if not right or holder is None or right in holder:
            left.append(problem)
            continue
        holder[right] = holder.pop(problem.path[-1])
        renamed[*problem.path[:-1], right] = problem.path
    for problem in () if accepts(data) else left:
        holder = _holder(data, problem.path)
        if holder is None:
            return None
        del holder[problem.path[-1]]
        removed.append(problem.path)
    if not accepts(data):
        return None
    document = replace(source.document, data=data)
    return Mended(replace(source, document=document, renamed=renamed), tuple(removed))


def _holder(data: Any, path: Path) -> dict[str | int, Any] | None:
    """Return the mapping that holds the value at a path; None if that is a list, or missing."""
    part: Any
    for part in path[:-1]:
        data = data[part] if isinstance(data, list) or (isinstance(data, dict) and part in data) else None
    return data if isinstance(data, dict) and path and path[-1] in data else None
