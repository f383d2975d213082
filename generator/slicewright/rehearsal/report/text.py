"""A rehearsal in the characters of a terminal: one line a run, its states drawn along the time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from slicewright.core.problem import counted, errors
from slicewright.rehearsal.model.clock import factor
from slicewright.rehearsal.model.duration import shown, shown_within
from slicewright.rehearsal.report.report import borrowed_told, on_what, summary, sweep_heads, waiting
from slicewright.rehearsal.report.waits import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slicewright.core.kubernetes.types import Object
    from slicewright.rehearsal.model.timeline import Span, Timeline
    from slicewright.rehearsal.model.usage import Usage
    from slicewright.rehearsal.report.report import Report

MARKS = {"queued": "·", "reserved": "-", "starting": "░", "running": "█", "restarting": "▒"}
_LEGEND = "   ".join(f"{mark} {state}" for state, mark in MARKS.items())
_WIDTH = 48
_LEAST_WIDTH = 12
_BESIDE = {
    True: len("    finished at 12m34s, waited 12m34s"),
    False: len("    finished at 12m34s, started after 12m34s"),
}
"""The width of the words beside a drawing where all runs ask a queue, and where not."""
_FULL = "▁▂▃▄▅▆▇█"
_ENDS = {
    "finished": "finished",
    "failed": "FAILED",
    "refused": "REFUSED",
    "waiting": "waiting",
    "running": "still ran",
    "notSubmitted": "not submitted",
}


def text(report: Report, *, width: int = _WIDTH) -> str:
    """Return the report of a rehearsal, its problems left out: they are printed where all problems are."""
    end, column = report.seconds, _column(report)
    arrivals = list(_arrivals(report))
    parts = [_head(report), *_resolution(report), "", *_runs(report, column, width)]
    if _rows(report):
        parts += [f"{'':{column}}  {_LEGEND}"]
    if arrivals:
        parts += ["", "arrivals", *arrivals]
    if why := list(_why(report, column)):
        parts += ["", "why runs waited", *why]
    if report.faults:
        parts += [
            "",
            "injected faults",
            *(f"{fault.run:{column}}  {fault.told()}" for fault in report.faults),
        ]
    queues = report.usage_of_queues()
    borrowed = {queue["name"]: borrowed_told(queue) for queue in queues}
    waited_for = waiting(queues)
    for title, lines in (
        ("quota in use", _usages(report.queues, borrowed, end, column, width)),
        ("chips that runs wait for", _waiting(waited_for, end, column, width)),
        ("chips with pods", _usages(report.pools, {}, end, column, width)),
    ):
        if drawn_lines := list(lines):
            parts += ["", title, *drawn_lines]
    if report.stand_ins:
        made = (f"{need.kind} {need.namespace}/{need.name}" for need in report.stand_ins)
        parts += ["", f"Stand-ins for what exists on the cluster: {', '.join(made)}."]
    if not report.has_pods:
        parts += ["", f"Played {on_what(report.has_pods)}."]
    if report.operator:
        parts += ["", f"PathwaysJobs were reconciled by the {report.operator}."]
    return "\n".join([*parts, ""])


def width_in(report: Report, columns: int | None) -> int:
    """Return how wide the drawings are on a terminal of so many columns; None: what is usual in a file."""
    if columns is None:
        return _WIDTH
    beside = _BESIDE[all(timeline.is_queued for _, timeline in report.timelines)]
    left = columns - beside - _column(report)
    return min(_WIDTH, max(_LEAST_WIDTH, left))


def _head(report: Report) -> str:
    counts = summary(report.timelines)
    ends = [f"{counts[key]} {_ENDS[key]}" for key in _ENDS if counts[key]]
    beside = [counted(counts[key], key[:-1]) for key in ("evictions", "restarts") if counts[key]]
    real = (report.seconds - report.skipped) / report.speed
    played = f"{shown(report.seconds)} in {shown(real)} at {factor(report.speed)}"
    wrong = len(errors(report.problems))
    verdict = report.verdict + (f", {counted(wrong, 'error')}" if wrong else "")
    if report.untold:
        verdict += f", {counted(report.untold, 'expectation')} could not be judged"
    done = ", ".join([*ends, *beside]) or "nothing to run"
    return f"{report.cluster}: {verdict}; {done}; simulated {played}"


def _resolution(report: Report) -> Iterable[str]:
    """Yield the shortest span that is told, and the usual speed, where that tells shorter ones."""
    if report.speed > 1:
        is_finer = 0 < report.advised < report.speed
        finer = f"; for finer times: --speed {report.advised:.0f}" if is_finer else ""
        yield f"time resolution: {shown(report.speed)}, a second of the controllers' own time{finer}"


def _column(report: Report) -> int:
    """Return the width of all names: what is drawn begins below each other, so that times can be compared."""
    names = [timeline.run for timeline in _rows(report)]
    names += [usage.name for usage in (*report.queues, *report.pools)]
    names += [one["name"] for one in waiting(report.usage_of_queues())]
    return max(map(len, names), default=0)


def _rows(report: Report) -> list[Timeline]:
    """Return the runs that have a line: what arrives by profiles is told by profile."""
    return [timeline for workload, timeline in report.timelines if workload not in report.profile_of]


def _arrivals(report: Report) -> Iterable[str]:
    """Yield a line for each profile and queue."""
    for row in report.measures()["arrivals"]:
        where = f" in {row['clusterQueue']}" if row["clusterQueue"] else ", no queue"
        ends = f"{counted(row['runs'], 'run')}, {row['finished']} finished"
        p50, p95, most = (
            _told_wait(row[f"{name}WaitSeconds"], report.speed) for name in ("p50", "p95", "max")
        )
        waits = f", waits: median {p50}, 95 % at most {p95}, longest {most}" if row["runs"] else ""
        yield f"{row['profile']}{where}: {ends}{waits} (seed {row['seed']})"


def _told_wait(seconds: float | None, resolution: float) -> str:
    """Return a wait as people read it; None is endless."""
    return "without end" if seconds is None else shown_within(seconds, resolution)


def _runs(report: Report, column: int, width: int) -> Iterable[str]:
    heads = sweep_heads(report.runs())
    for timeline in _rows(report):
        if timeline.run in heads:
            yield heads[timeline.run]
        bar = drawn(timeline.spans, report.seconds, width)
        facts = [_outcome(timeline)]
        facts += _wait(timeline, report.speed)
        if timeline.restarts:
            facts.append(counted(timeline.restarts, "restart"))
        facts += _evictions(timeline)
        why = f": {timeline.why}" if timeline.outcome != "finished" and timeline.why else ""
        yield f"{timeline.run:{column}}  {bar}  {', '.join(facts)}{why}"


def _why(report: Report, column: int) -> Iterable[str]:
    """Yield a line for each run that waited, about its longest wait."""
    timelines = {timeline.run: timeline for _, timeline in report.timelines}
    for timeline in _rows(report):
        if waits := report.waits.get(timeline.run):
            longest = max(waits, key=lambda wait: wait.end - wait.start)
            spent = shown(longest.end - longest.start)
            yield f"{timeline.run:{column}}  {spent} from {shown(longest.start)}: {told(longest, timelines)}"


def _wait(timeline: Timeline, resolution: float) -> Iterable[str]:
    """Yield how long it waited for Kueue; without a queue it is what its pods took that says something.

    What is shorter than the time resolution is left out.
    """
    reached = timeline.admitted if timeline.is_queued else timeline.started
    if timeline.submitted is not None and reached is not None and reached - timeline.submitted >= resolution:
        yield f"{'waited' if timeline.is_queued else 'started after'} {shown(reached - timeline.submitted)}"


def _evictions(timeline: Timeline) -> Iterable[str]:
    """Yield one fact a reason: what happens again and again would push everything else off the line."""
    moments: dict[str, list[float]] = {}
    for eviction in timeline.evictions:
        moments.setdefault(eviction.reason, []).append(eviction.at)
    for reason, (first, *others) in moments.items():
        more = f" and {counted(len(others), 'time')} more" if others else ""
        yield f"{reason} at {shown(first)}{more}"


def _outcome(timeline: Timeline) -> str:
    if timeline.outcome == "waiting":
        return "never ran" if timeline.started is None else "waits again"
    return _ENDS[timeline.outcome] + (f" at {shown(timeline.ended)}" if timeline.ended is not None else "")


def drawn(spans: Iterable[Span], end: float, width: int) -> str:
    """Return states along the time as characters; a state that is too short for one still gets one."""
    cells = [" "] * width
    for span in spans:
        first = min(width - 1, int(span.start / end * width)) if end else 0
        last = min(width, max(first + 1, round(span.end / end * width))) if end else 1
        for cell in range(first, last):
            cells[cell] = MARKS[span.state]
    return "".join(cells)


def _usages(
    usages: Iterable[Usage], shares: Mapping[str, str], end: float, column: int, width: int
) -> Iterable[str]:
    for usage in usages:
        borrowed = f", borrowed up to {usage.borrowed():,}" if usage.borrowed() else ""
        told = f" ({shares[usage.name]})" if shares.get(usage.name) else ""
        facts = f"{usage.utilisation(end):.0%} of {usage.limit:,} chips, peak {usage.peak():,}"
        top = max(usage.limit, usage.peak(), 1)
        yield f"{usage.name:{column}}  {_curve(usage.used, top, end, width)}  {facts}{borrowed}{told}"


def _waiting(waited_for: Iterable[Object], end: float, column: int, width: int) -> Iterable[str]:
    for one in waited_for:
        most = one["peakChips"]
        yield f"{one['name']:{column}}  {_curve(one['used'], most, end, width)}  up to {most:,} chips"


def _curve(steps: Sequence[Sequence[float]], top: float, end: float, width: int) -> str:
    """Draw chips along the time: the height is the share of `top`."""
    cells = []
    for cell in range(width):
        start, until = cell * end / width, (cell + 1) * end / width
        most = max(
            (
                value
                for (at, value), (following, _) in pairwise((*steps, (end, 0)))
                if at < until and following > start
            ),
            default=0,
        )
        cells.append(_FULL[min(len(_FULL) - 1, int(most * len(_FULL) // (top + 1)))] if most else " ")
    return "".join(cells)
