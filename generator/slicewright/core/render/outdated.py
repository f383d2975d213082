"""Frozen runs against what today's tool would write: the difference, and nothing is changed."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slicewright.core.problem import Problem, errors, in_order
from slicewright.core.render import tree
from slicewright.core.render.existing import Existing, edited
from slicewright.core.render.plans import plan_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.core.render.repository import Repository


@dataclass(frozen=True, slots=True)
class Outdated:
    """A frozen run that would be written differently today."""

    path: str
    workload: str
    """`namespace/name`, what `rerun` takes."""
    cluster: str
    name: str
    tool: str
    """Version of slicewright that wrote the file."""
    diff: str

    def record(self) -> dict[str, str]:
        """Return the JSON form."""
        return {
            "path": self.path,
            "workload": self.workload,
            "cluster": self.cluster,
            "name": self.name,
            "tool": self.tool,
            "diff": self.diff,
        }


def outdated(
    repository: Repository, existing: Mapping[str, str], selected: frozenset[str] | None = None
) -> tuple[tuple[Outdated, ...], tuple[Problem, ...]]:
    """Return the live runs whose intent still stands and that today's tool would write differently.

    Earlier runs that were kept (`onChange: Keep`) have no intent any more, and so nothing to compare with.
    """
    planned, problems = plan_all(repository)
    if errors(problems):
        return (), in_order(problems)
    bases = tree.Bases(repository.read_text, repository.package.schemas)
    present = Existing(existing)
    found: list[Outdated] = []
    noted = list(problems)
    for entry in planned:
        plan = entry.plan
        path = tree.frozen_file(plan)
        frozen = present.frozen.get(path)
        if frozen is None or (selected is not None and entry.workload.key not in selected):
            continue
        if not frozen.intact:
            noted += edited(present, [path])
            continue
        made, stopped = tree.make(entry, bases)
        noted += stopped
        if made is None:
            continue
        before, after = present.body(path), tree.frozen_body(made)
        if before != after:
            diff = unified(path, before, after)
            found.append(Outdated(path, entry.workload.key, plan.cluster, plan.name, frozen.tool, diff))
    return tuple(found), in_order(noted)


def unified(path: str, before: str | None, after: str | None) -> str:
    """Return the unified diff of a file; None stands for a file that is not there."""
    lines = difflib.unified_diff(
        (before or "").splitlines(keepends=True),
        (after or "").splitlines(keepends=True),
        "/dev/null" if before is None else f"a/{path}",
        "/dev/null" if after is None else f"b/{path}",
    )
    return "".join(lines)
