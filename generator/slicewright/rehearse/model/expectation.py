"""The expectations of a workload against its timeline: passed, failed, or cannot tell."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from slicewright.rehearse.model.event import run_key
from slicewright.rehearse.model.run_pods import ends_by_itself
from slicewright.rehearse.model.scenario_part import ScenarioPart
from slicewright.rehearse.model.time_span import seconds, shown, shown_within
from slicewright.rehearse.model.timeline import Timeline

Result = Literal["passed", "failed", "cannotTell", "undecided"]
"""`cannotTell`: the rehearsal ended, but its time resolution is too low. `undecided`: it was cut short."""

OWN_SECONDS = 5.0
"""Seconds of real time that the controllers may take: a shorter gap can come from them."""


class Answer(Struct, frozen=True):
    """The result of one expectation."""

    kind: str
    result: Result
    message: str = ""
    """Why it failed, or why the rehearsal cannot tell; empty if it passed."""
    gap: float | None = None
    """Seconds of the rehearsal's clock by which it failed or that cannot be resolved; else None."""

    def record(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"kind": self.kind, "result": self.result, "message": self.message}


class Asked(Struct, frozen=True):
    """The workload of an expectation, and the timelines of all runs."""

    part: ScenarioPart
    parts: Mapping[str, ScenarioPart]
    timelines: Mapping[str, Timeline]
    resolution: float
    """Time resolution of the rehearsal in seconds of its clock; 0 if it is not known."""

    @property
    def own(self) -> Timeline:
        """Return the timeline of the current run."""
        return self.timelines[self.part.current]

    def other(self, name: str) -> Timeline | None:
        """Return the timeline of a workload that an expectation names, or None if it is not rehearsed."""
        key = name if "/" in name else f"{self.part.workload.namespace}/{name}"
        part = self.parts.get(key)
        return self.timelines.get(part.current) if part else None


def answers(
    part: ScenarioPart,
    parts: Mapping[str, ScenarioPart],
    timelines: Mapping[str, Timeline],
    *,
    cut_short: bool,
    speed: float | None,
) -> tuple[Answer, ...]:
    """Return the result of each expectation of a workload, in their order.

    In a rehearsal that was `cut_short` an expectation counts where all runs are over that it is about. One
    that is finer than a second of real time at a `speed` can never have passed.
    """
    if part.current not in timelines:
        return ()
    asked = Asked(part, parts, timelines, speed or 0.0)
    results = []
    for expected in part.expect:
        (kind, value) = next(iter(expected.items()))
        if cut_short and not _is_decided(kind, value, asked):
            results.append(Answer(kind, "undecided", "the rehearsal was cut short before"))
        else:
            results.append(_CHECK[kind](value, asked))
    return tuple(results)


def _is_decided(kind: str, value: Any, asked: Asked) -> bool:
    names = value if kind in ("order", "together") else [value["workload"]] if kind == "notBefore" else []
    timelines = (asked.own, *map(asked.other, names))
    return all(timeline is None or timeline.is_over for timeline in timelines)


def _order(names: list[str], asked: Asked) -> Answer:
    before: tuple[str, float] | None = None
    close: Answer | None = None
    for name in names:
        timeline = asked.other(name)
        if timeline is None or timeline.started is None:
            return Answer("order", "failed", f"'{name}' did not start" if timeline else _unknown(name))
        if before is not None:
            earlier, at = before
            gap = timeline.started - at
            if gap <= 0:
                times = f"'{name}' started at {shown(timeline.started)}, and '{earlier}' at {shown(at)}"
                return Answer("order", "failed", f"'{name}' must start after '{earlier}', but {times}", -gap)
            if gap < asked.resolution and close is None:
                close = _finer("order", f"'{name}' started {shown(gap)} after '{earlier}'", gap, asked)
        before = (name, timeline.started)
    return close or Answer("order", "passed")


def _together(names: list[str], asked: Asked) -> Answer:
    spans = _running(asked.own)
    for name in names:
        timeline = asked.other(name)
        if timeline is None:
            return Answer("together", "failed", _unknown(name))
        pairs = [(own, other) for own in spans for other in _running(timeline)]
        gaps = [max(begin - end, start - finish) for (start, end), (begin, finish) in pairs]
        common = [(max(start, begin), min(end, finish)) for (start, end), (begin, finish) in pairs]
        spans = [(start, end) for start, end in common if start < end]
        if not spans:
            message = f"'{asked.part.workload.name}' and '{name}' never ran at the same time"
            return Answer("together", "failed", message, min(gaps, default=None))
    longest = max((end - start for start, end in spans), default=0.0)
    if longest < asked.resolution:
        return _finer("together", f"the runs ran at the same time for {shown(longest)}", longest, asked)
    return Answer("together", "passed")


_REACHED = {"Admitted": "was admitted", "Running": "started", "Finished": "finished"}


def _not_before(expected: dict[str, str], asked: Asked) -> Answer:
    name, state = expected["workload"], expected.get("state", "Finished")
    own, other = asked.own, asked.other(name)
    if other is None:
        return Answer("notBefore", "failed", _unknown(name))
    if own.started is None:
        return Answer("notBefore", "cannotTell", f"{own.run} never started")
    reached = {"Admitted": other.admitted, "Running": other.started, "Finished": other.ended}[state]
    if reached is None or own.started < reached:
        when = "which never happened" if reached is None else f"at {shown(reached)}"
        message = f"{own.run} started at {shown(own.started)}, before '{name}' {_REACHED[state]} ({when})"
        return Answer("notBefore", "failed", message, None if reached is None else reached - own.started)
    # Whoever had been there for a while when the other came so far, and started then, has waited for it.
    came = own.started if own.submitted is None else own.submitted
    gap = own.started - reached
    if max(gap, reached - came) < asked.resolution:
        return _finer(
            "notBefore", f"{own.run} started {shown(gap)} after '{name}' {_REACHED[state]}", gap, asked
        )
    return Answer("notBefore", "passed")


def _wait_below(most: str, asked: Asked) -> Answer:
    limit, wait = seconds(most), asked.own.wait
    if wait is None:
        return Answer(
            "waitBelow", "failed", f"{asked.own.run} must be admitted within {most}, but was never admitted"
        )
    if not asked.own.is_queued:
        return Answer(
            "waitBelow", "cannotTell", f"{asked.own.run} has no queue, so it does not wait for admission"
        )
    if limit < asked.resolution and wait - limit < OWN_SECONDS * asked.resolution:
        waited = (
            f"{asked.own.run} waited {shown_within(wait, asked.resolution)}, but must wait less than {most}"
        )
        return _finer("waitBelow", waited, limit, asked)
    if wait >= limit:
        message = f"{asked.own.run} waited {shown(wait)} for admission, but must wait less than {most}"
        return Answer("waitBelow", "failed", message, wait - limit)
    return Answer("waitBelow", "passed")


def _finishes(expected: bool, asked: Asked) -> Answer:
    outcome = asked.own.outcome
    if expected:
        return Answer("finishes", "passed" if outcome == "finished" else "failed")
    if outcome == "finished":
        return Answer("finishes", "failed", f"{asked.own.run} finished, but must not finish")
    ends = any(ends_by_itself(item) for item in asked.part.runs if run_key(item) == asked.part.current)
    if outcome == "notSubmitted" or (outcome == "running" and ends):
        how = "was still running" if outcome == "running" else "had not been submitted"
        return Answer("finishes", "cannotTell", f"{asked.own.run} {how} when the rehearsal ended")
    return Answer("finishes", "passed")


def _finer(kind: str, measured: str, gap: float, asked: Asked) -> Answer:
    message = f"{measured}; the time resolution of this rehearsal is {shown(asked.resolution)}"
    return Answer(kind, "cannotTell", message, gap)


def _unknown(name: str) -> str:
    return f"workload '{name}' is not part of this rehearsal"


def _running(timeline: Timeline) -> list[tuple[float, float]]:
    return [(span.start, span.end) for span in timeline.spans if span.state == "running"]


_CHECK: dict[str, Callable[[Any, Asked], Answer]] = {
    "order": _order,
    "together": _together,
    "notBefore": _not_before,
    "waitBelow": _wait_below,
    "finishes": _finishes,
}
