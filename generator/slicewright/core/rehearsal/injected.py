"""The faults of a rehearsal as people are told of them: when, to whom, what, and whether it happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slicewright.core.rehearsal.duration import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.core.rehearsal.script import Fault, Part
    from slicewright.core.rehearsal.timeline import Timeline

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
            return f"{self.fault.kind.name} {when} ({self.fault}) did not happen: {self.missed}"
        return f"{self.fault.kind.name} {when}: {self.fault}"


def every(
    parts: Iterable[Part], struck: Mapping[tuple[str, int], Injected], timelines: Mapping[str, Timeline]
) -> tuple[Injected, ...]:
    """Return all faults in order of their time; those are last whose time did not come.

    `struck` are those whose time came, by run and number of the fault.
    """
    found = sorted(struck.values(), key=lambda one: one.at or 0.0)
    return (*found, *_never_due(parts, struck, timelines))


def blame(run: str, injected: Iterable[Injected]) -> str:
    """Return the end of a hint: what was done on purpose to a run; nothing where nothing was."""
    told = [one.told() for one in injected if one.run == run and not one.missed]
    more = f" and {len(told) - _FEW} more" if len(told) > _FEW else ""
    return f"the rehearsal injected {'; '.join(told[:_FEW])}{more}" if told else ""


def _never_due(
    parts: Iterable[Part], struck: Mapping[tuple[str, int], Injected], timelines: Mapping[str, Timeline]
) -> Iterator[Injected]:
    for part in parts:
        timeline = timelines.get(part.current)
        for index, fault in enumerate(part.faults):
            if timeline is None or (part.current, index) in struck:
                continue
            missed = "the rehearsal ended before"
            if timeline.started is None:
                missed = "it never ran"
            elif timeline.is_over:
                missed = "it had ended before"
            yield Injected(part.current, fault, missed=missed)
