"""A rehearsal in the characters of a terminal: one line for each run, its states drawn along the time."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from slicewright.kubernetes.problem import counted, errors
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.clock import factor
from slicewright.rehearse.model.metrics import Usage
from slicewright.rehearse.model.time_span import shown
from slicewright.rehearse.model.timeline import Span, Timeline
from slicewright.rehearse.report.report import (
    NO_TIES,
    Report,
    borrowing,
    on_what,
    summary,
    sweep_heads,
    waiting,
    waits_text,
)
from slicewright.rehearse.report.sentences import describe, longest_waits

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
    queues = report.usage_of_queues()
    waited_for = waiting(queues)
    column = _column(report, waited_for)
    parts = [_head(report), *_resolution(report), "", *_runs(report, column, width)]
    if _rows(report):
        parts += [f"{'':{column}}  {_LEGEND}"]
    for title, lines in (
        ("arrivals", _arrivals(report)),
        ("why runs waited", _why(report, column)),
        ("random losses", _losses(report, column)),
        ("injected faults", (f"{fault.run:{column}}  {fault.describe()}" for fault in report.faults)),
        ("quota in use", _queues(report, queues, column, width)),
        ("chips that runs wait for", _waiting(report, waited_for, column, width)),
        ("chips in use by pool", (_usage(report, usage, column, width) for usage in report.pools)),
    ):
        if listed := list(lines):
            parts += ["", title, *listed]
    if report.stand_ins:
        names = (f"{need.kind} {need.namespace}/{need.name}".replace(" /", " ") for need in report.stand_ins)
        parts += ["", f"Stand-ins for what exists on the cluster: {', '.join(names)}."]
    if not report.has_pods:
        parts += ["", f"Rehearsed {on_what(report.has_pods)}."]
    if report.operator:
        parts += ["", f"PathwaysJobs were reconciled by the {report.operator}."]
    return "\n".join([*parts, ""])


def width_in(report: Report, columns: int | None) -> int:
    """Return the width of the drawings on a terminal with a number of columns; None is a file."""
    if columns is None:
        return _WIDTH
    beside = _BESIDE[all(timeline.is_queued for _, timeline in report.timelines)]
    left = columns - beside - _column(report, waiting(report.usage_of_queues()))
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
    """Yield the time resolution, and the default speed if that has a finer one."""
    if report.speed > 1:
        is_finer = 0 < report.advised < report.speed
        finer = f"; for finer times: --speed {report.advised:.0f}" if is_finer else ""
        yield f"time resolution: {shown(report.speed)}, a second of the controllers' own time{finer}"


def _column(report: Report, waited_for: Iterable[Object]) -> int:
    """Return the width of the column of names, so that all drawings begin in the same column."""
    names = [timeline.run for timeline in _rows(report)]
    names += [usage.name for usage in (*report.queues, *report.pools)]
    names += [usage["name"] for usage in waited_for]
    return max(map(len, names), default=0)


def _rows(report: Report) -> list[Timeline]:
    """Return the runs that have a line of their own; arrivals are summed up by profile."""
    return [timeline for workload, timeline in report.timelines if workload not in report.profile_of]


def _arrivals(report: Report) -> Iterable[str]:
    for row in report.measures()["arrivals"]:
        where = f" in {row['clusterQueue']}" if row["clusterQueue"] else ", no queue"
        ends = f"{counted(row['runs'], 'run')}, {row['finished']} finished"
        p50, p95, most = waits_text(row, report.speed, "never admitted")
        waits = f", waits: median {p50}, p95 {p95}, longest {most}" if row["runs"] else ""
        yield f"{row['profile']}{where}: {ends}{waits} (seed {row['seed']})"


def _losses(report: Report, column: int) -> Iterable[str]:
    for row in report.losses:
        lost = f"{counted(row['losses'], 'slice')} lost at {row['rate']} (seed {row['seed']})"
        yield f"{row['pool']:{column}}  {lost}, away for {shown(row['awaySeconds'])} in all"
    for timeline in _rows(report):
        if report.losses and (delay := report.delay(timeline)):
            yield f"{timeline.run:{column}}  took {shown(delay)} longer than its programs run"


def _runs(report: Report, column: int, width: int) -> Iterable[str]:
    heads = sweep_heads(report.runs())
    for timeline in _rows(report):
        if timeline.run in heads:
            yield heads[timeline.run]
        bar = drawn(timeline.spans, report.seconds, width)
        restarts = [counted(timeline.restarts, "restart")] if timeline.restarts else []
        facts = [_outcome(timeline), *_wait(timeline, report.speed), *restarts, *_evictions(timeline)]
        why = f": {timeline.why}" if timeline.outcome != "finished" and timeline.why else ""
        yield f"{timeline.run:{column}}  {bar}  {', '.join(facts)}{why}"


def _why(report: Report, column: int) -> Iterable[str]:
    """Yield a line about the longest wait of each run; equal runs have one line for each cause."""
    timelines = {timeline.run: timeline for _, timeline in report.timelines}
    rows = {timeline.run for timeline in _rows(report)}
    sweeps = set(report.sweeps.values())
    groups: dict[str, list[str]] = {}
    for workload, timeline in report.timelines:
        run = timeline.run
        if run in rows:
            equal = report.ties.get(run, NO_TIES).equal or run
            groups.setdefault(report.sweeps.get(workload, equal), []).append(run)
    for name, runs in groups.items():
        for number, wait, told in longest_waits(report.waits, runs):
            spent = f"{shown(wait.end - wait.start)} from {shown(wait.start)}: {describe(told, timelines)}"
            if len(runs) == 1:
                yield f"{runs[0]:{column}}  {spent}"
            else:
                kind = "runs" if name in sweeps else "equal runs"
                yield f"{name:{column}}  {number} of {len(runs)} {kind}, up to {spent}"


def _wait(timeline: Timeline, resolution: float) -> Iterable[str]:
    """Yield how long it waited for Kueue or, without a queue, for its pods to start.

    What is shorter than the time resolution is left out.
    """
    reached = timeline.admitted if timeline.is_queued else timeline.started
    if timeline.submitted is not None and reached is not None and reached - timeline.submitted >= resolution:
        yield f"{'waited' if timeline.is_queued else 'started after'} {shown(reached - timeline.submitted)}"


def _evictions(timeline: Timeline) -> Iterable[str]:
    """Yield one fact for each reason, so that repeated evictions do not fill the line."""
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


def _queues(report: Report, queues: Iterable[Object], column: int, width: int) -> Iterable[str]:
    for usage, queue in zip(report.queues, queues, strict=True):
        shares = borrowing(queue)
        yield _usage(report, usage, column, width) + (f" ({shares})" if shares else "")


def _usage(report: Report, usage: Usage, column: int, width: int) -> str:
    curve = _curve(usage.used, max(usage.limit, usage.peak(), 1), report.seconds, width)
    facts = f"{usage.utilisation(report.seconds):.0%} of {usage.limit:,} chips, peak {usage.peak():,}"
    borrowed = f", borrowed up to {usage.borrowed():,}" if usage.borrowed() else ""
    return f"{usage.name:{column}}  {curve}  {facts}{borrowed}"


def _waiting(report: Report, waited_for: Iterable[Object], column: int, width: int) -> Iterable[str]:
    for usage in waited_for:
        curve = _curve(usage["used"], usage["peakChips"], report.seconds, width)
        yield f"{usage['name']:{column}}  {curve}  up to {usage['peakChips']:,} chips"


def _curve(steps: Sequence[Sequence[float]], top: float, end: float, width: int) -> str:
    """Draw chips along the time: the height is the share of `top`."""
    cells = []
    for cell in range(width):
        start, until = cell * end / width, (cell + 1) * end / width
        periods = pairwise((*steps, (end, 0)))
        values = [value for (at, value), (following, _) in periods if at < until and following > start]
        most = max(values, default=0)
        cells.append(_FULL[min(len(_FULL) - 1, int(most * len(_FULL) // (top + 1)))] if most else " ")
    return "".join(cells)
