"""Check a rendering by the rules of `validate`, and leave out the problems that the repository ignores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from slicewright.check.io.ignore_files import read_ignore_files
from slicewright.kubernetes.problem import Problem, errors
from slicewright.rendering.changes import render
from slicewright.rendering.plans import Beside, Planned
from slicewright.rendering.rendering import Rendering

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.objects import Resource
    from slicewright.project.repository_reader import Checkout


def judged(checkout: Checkout, rendering: Rendering) -> Rendering:
    """Return a rendering with the problems of its new runs; where one is an error, nothing is written.

    Warnings that the repository ignores are left out. Where no run begins and no cluster changes, no rule is
    imported.
    """
    if not rendering.begun and not rendering.platform:
        return replace(rendering, problems=acknowledged(checkout, rendering.problems))
    from slicewright.check import judge_render as judge  # noqa: PLC0415 - only where there is something to judge
    from slicewright.check.io.rule_sets import added  # noqa: PLC0415

    ignored = read_ignore_files(checkout.root).entries
    rendering = replace(rendering, problems=(*rendering.problems, *added().problems))
    known = (checkout.repository, checkout.existing, ignored, added().rules)
    result = judge.judged(rendering, *known)
    if any(problem.id == judge.LOOKS_BESIDE for problem in result.problems):
        return judge.judged(rendering, *known, _custom(checkout.root))
    return result


def _custom(root: Path) -> list[Resource]:
    """Return the hand-written objects of custom/."""
    from slicewright.check.io.discovery import of_custom  # noqa: PLC0415
    from slicewright.check.io.load import load  # noqa: PLC0415
    from slicewright.objects import Resource  # noqa: PLC0415 - few runs need any

    units = of_custom(root).units
    objects = [(document.data, unit.name) for unit in units for document in load(unit).documents]
    return [Resource(data, file) for data, file in objects if isinstance(data, dict)]


def judged_beside(checkout: Checkout, further: Beside) -> tuple[list[Planned], tuple[Problem, ...]]:
    """Return the runs of further files, and all that a render would say of these files."""
    checkout = replace(checkout, repository=further.repository)
    keys = frozenset(workload.key for workload in further.workloads)
    rendering = judged(checkout, render(checkout.repository, checkout.existing, keys))
    planned = [entry for entry in rendering.planned if entry.workload.source.file in further.files]
    return planned, further.own(rendering.problems)


def acknowledged(checkout: Checkout, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Return the problems of an input without the warnings that the repository ignores."""
    if len(errors(problems)) == len(problems):
        return problems
    from slicewright.check import suppress  # noqa: PLC0415 - only where there is a warning

    ignored = read_ignore_files(checkout.root).entries
    return suppress.acknowledged(problems, checkout.repository.sources, ignored)
