"""A document that its schema refuses -> what is right in it, so that one round shows everything else."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slicewright.core.problem import meant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slicewright.core.intent.source import Source
    from slicewright.core.problem import Path, Problem

_NAMED = frozenset({"clusterQueues", "managed", "mode", "pools", "priorityClasses", "teams"})
"""Fields of a TPUCluster by which workloads are judged."""
_INSIDE = 3
"""Length of a path that leads into a field of spec."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A document as it may have been meant, and what had to be left out for that."""

    source: Source
    removed: tuple[Path, ...]

    def tells_of_workloads(self) -> bool:
        """Tell whether workloads can be judged by a TPUCluster although parts of it are left out."""
        return all(len(path) >= _INSIDE and path[1] not in _NAMED for path in self.removed)

    def follows(self, problem: Problem) -> bool:
        """Tell whether a problem may follow from what is left out: then nothing is said of it.

        What a field names is there or not, whatever else the document holds.
        """
        if not self.removed or (problem.file, problem.object) != (self.source.file.path, self.source.subject):
            return False
        around = any(path[: len(problem.path)] == problem.path for path in self.removed)
        names = problem.id.startswith("REF") or problem.path[:2] == ("spec", "tpu")
        return around or not names or problem.severity == "warning"


def mended(source: Source, problems: Iterable[Problem], accepts: Callable[[Any], bool]) -> Mended | None:
    """Return a document with misspelt keys as they are nearest to, and without other values that are refused.

    None where that does not do: a list would be another one, or the schema refuses what is left.
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
    """Return the mapping that holds the value at a path; None where that is a list, or not there."""
    part: Any
    for part in path[:-1]:
        data = data[part] if isinstance(data, list) or (isinstance(data, dict) and part in data) else None
    return data if isinstance(data, dict) and path and path[-1] in data else None
