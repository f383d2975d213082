"""The faults of a rehearsal as people are told of them: when, to whom, what, and whether it happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slicewright.core.rehearsal.arrival import ARRIVAL
from slicewright.core.rehearsal.duration import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.core.rehearsal.script import Fault, Part
    from slicewright.core.rehearsal.story import Story

_FEW = 3


@dataclass(frozen=True, slots=True)
class Injected:
    """A fault of one run."""

    run: str
    fault: Fault
    at: float | None = None
    """When it struck, or should have, on the rehearsal's clock; None where its time did not come."""
    missed: str = ""
    """Why it did not happen; empty where it did."""

    def told(self) -> str:
        """Return it as a sentence without its run."""
        after = f"{shown(self.fault.at)} after the start"
        when = after if self.at is None else f"at {shown(self.at)}"
        if self.missed:
            return f"{self.fault.kind} {when} ({_what(self.fault)}) did not happen: {self.missed}"
        return f"{self.fault.kind} {when}: {_what(self.fault)}"


def every(
    parts: Iterable[Part], struck: Mapping[tuple[str, int], Injected], stories: Mapping[str, Story]
) -> tuple[Injected, ...]:
    """Return all faults in order of their time; those are last whose time did not come.

    `struck` are those whose time came, by run and number of the fault.
    """
    found = sorted(struck.values(), key=lambda one: one.at or 0.0)
    return (*found, *_never_due(parts, struck, stories))


def blame(run: str, injected: Iterable[Injected]) -> str:
    """Return the end of a hint: what was done on purpose to a run; nothing where nothing was."""
    told = [one.told() for one in injected if one.run == run and not one.missed]
    more = f" and {len(told) - _FEW} more" if len(told) > _FEW else ""
    return f"the rehearsal injected {'; '.join(told[:_FEW])}{more}" if told else ""


def _never_due(
    parts: Iterable[Part], struck: Mapping[tuple[str, int], Injected], stories: Mapping[str, Story]
) -> Iterator[Injected]:
    for part in parts:
        story = stories.get(part.current)
        for index, fault in enumerate(part.faults):
            if story is None or (part.current, index) in struck:
                continue
            missed = "the rehearsal ended before"
            if story.started is None:
                missed = "it never ran"
            elif story.is_over:
                missed = "it had ended before"
            yield Injected(part.current, fault, missed=missed)


def _what(fault: Fault) -> str:
    """Return what a fault hits, or what comes with it."""
    if fault.kind == ARRIVAL:
        slices = "1 slice" if fault.slices == 1 else f"{fault.slices:,} slices"
        found = f"{slices} of class {fault.workload_priority_class_name}"
    else:
        found = f"slice {fault.slice}" + ("" if fault.kind == "SliceLoss" else f", host {fault.host}")
    if fault.kind == "ContainerFailure":
        return f"{found}, exit code {fault.exit_code}"
    return found if fault.duration is None else f"{found}, for {shown(fault.duration)}"
