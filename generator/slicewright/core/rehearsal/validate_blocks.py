"""Validate a `rehearsal:` block: faults that cannot strike or did not, names that nobody has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.problem import did_you_mean
from slicewright.core.rehearsal.duration import shown
from slicewright.core.rehearsal.fault import ID, problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.problem import Path, Problem
    from slicewright.core.rehearsal.script import Known, Part
    from slicewright.core.rehearsal.timeline import Timeline


def validate_blocks(parts: Iterable[Part], known: Known) -> tuple[Problem, ...]:
    """Return what can be known before the play: names of no workload or class, slices and hosts of no run."""
    playing = tuple(parts)
    keys = [part.key for part in playing]
    found: list[Problem] = []
    for part in playing:
        for index, fault in enumerate(part.faults):
            found += fault.kind.check(part, index, known)
        for path, name in _named(part):
            key = name if "/" in name else f"{part.workload.namespace}/{name}"
            if key not in keys:
                message = f"workload '{name}' is not part of the rehearsal of {known.cluster}"
                near = keys if "/" in name else [_short(other, part) for other in keys]
                found.append(part.workload.source.problem(ID, path, message, did_you_mean(name, near)))
    return tuple(found)


def not_struck(part: Part, index: int, why: str, *, is_late: bool) -> Problem:
    """Return the problem of a fault that did not happen: what follows from it has not been rehearsed.

    It is a warning where the run was over before its time, `is_late`.
    """
    message = f"the {_told(part, index)} did not happen: {why}"
    hint = "choose an earlier 'at', or a longer 'duration'" if is_late else "the timeline shows what ran then"
    return problem(part, index, "", message, hint, warning=is_late)


def never_due(part: Part, index: int, timeline: Timeline, end: float) -> Iterator[Problem]:
    """Yield the problem of a fault whose time did not come before the end of a rehearsal.

    Where a run has not run which should, that says it.
    """
    if timeline.outcome in ("finished", "failed"):
        yield not_struck(part, index, f"{timeline.run} had ended before", is_late=True)
    elif timeline.started is None and part.finishes is False:
        yield not_struck(part, index, f"{timeline.run} never ran", is_late=False)
    elif timeline.started is not None:
        yield not_struck(part, index, f"the rehearsal ended before, at {shown(end)}", is_late=False)


def not_undone(part: Part, index: int, why: str) -> Problem:
    """Return the problem of a fault that did not end: nodes stayed away, or a host stayed closed."""
    message = f"the {_told(part, index)} could not be ended: {why}"
    return problem(part, index, "", message, "the rest of the rehearsal does not match the file")


def _named(part: Part) -> Iterator[tuple[Path, str]]:
    """Yield the workloads that expectations name, with their places."""
    for index, expected in enumerate(part.expect):
        for kind, value in expected.items():
            place = ("spec", "rehearsal", "expect", index, kind)
            if kind == "notBefore":
                yield (*place, "workload"), value["workload"]
            elif kind in ("order", "together"):
                yield from (((*place, number), name) for number, name in enumerate(value))


def _short(key: str, part: Part) -> str:
    namespace, _, name = key.partition("/")
    return name if namespace == part.workload.namespace else key


def _told(part: Part, index: int) -> str:
    """Return a fault as its file has it: its kind and when."""
    return f"{part.faults[index].kind.name} at {part.workload.spec['rehearsal']['faults'][index]['at']}"
