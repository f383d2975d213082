"""Compares timelines with their expectations: each failed one is a problem at its place in the input file."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from slicewright.kubernetes.problem import Path, Problem, counted, first_of
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.model.event import LIMIT, run_key
from slicewright.rehearse.model.expectation import OWN_SECONDS, Answer, answers
from slicewright.rehearse.model.run_pods import Slice, ends_by_itself, lacks_head
from slicewright.rehearse.model.scenario_part import ScenarioPart, tpu_pods, without_chips
from slicewright.rehearse.model.scenario_problems import Injected, advice, blame, never_admitted
from slicewright.rehearse.model.time_span import shown
from slicewright.rehearse.model.timeline import Timeline


class Cause(Struct, frozen=True):
    """Why and when a run waited, as a sentence."""

    start: float
    end: float
    text: str


NO_CAUSES: Mapping[str, Sequence[Cause]] = MappingProxyType({})


class _Known(Struct, frozen=True):
    """Possible reasons why a run did not finish; each is empty if it does not apply."""

    never_fits: str
    """The finding of the offline quota check."""
    cause: str
    far: str
    """What to change so that it gets further."""
    hurt: str
    """The faults that hit it."""


def judge(
    parts: Iterable[ScenarioPart],
    timelines: Mapping[str, Timeline],
    never_fits: Mapping[str, str],
    *,
    cut_short: bool,
    speed: float | None = None,
    injected: Collection[Injected] = (),
    missing: Collection[str] = (),
    causes: Mapping[str, Sequence[Cause]] = NO_CAUSES,
    is_at_deadline: bool = True,
) -> tuple[Problem, ...]:
    """Return the problems of a rehearsal; `speed` is its speed, if known.

    `never_fits` has the runs that the offline quota check rejects, with the reason. `injected` are the
    faults: the problem of a run names its own. `missing` are the runs that lack objects, which other problems
    report. `causes` say why runs waited. Unless `is_at_deadline`, the rehearsal ended because nothing more
    could happen. Runs that arrive by a profile share one problem, with their number. If the rehearsal was
    `cut_short`, by a person or because a program died, what had not happened yet is not a problem.
    """
    problems: list[Problem] = []
    by_key = {part.key: part for part in parts}
    brought: list[tuple[ScenarioPart, Problem]] = []
    for part in by_key.values():
        first = len(problems)
        for item in part.runs:
            run = timelines.get(run_key(item))
            if run is None:
                continue
            known = _Known(
                never_fits.get(run.run, ""),
                _why(run, causes.get(run.run, ())),
                _far(part, run, is_at_deadline=is_at_deadline),
                _joined(blame(run.run, injected), run.warnings.get(LIMIT, "")),
            )
            of_run = list(_of_run(part, item, run, known, cut_short=cut_short))
            problems += (
                problem for problem in of_run if run.run not in missing or problem.id not in _NOT_DONE
            )
            if run.run not in missing and not any(problem.id in _NOT_DONE for problem in of_run):
                problems += _beside(part, item, run, speed, cut_short=cut_short)
        results = answers(part, by_key, timelines, cut_short=cut_short, speed=speed)
        for index, answer in enumerate(results):
            hurt = blame(part.current, injected) if answer.kind in _AFTER_THE_START else ""
            why = _before_admission(timelines[part.current], causes.get(part.current, ()))
            problems += _of_answer(part, index, answer, speed, why, hurt)
        if part.profile:
            brought += ((part, problem) for problem in problems[first:])
            del problems[first:]
    return (*problems, *_by_profile(brought))


def too_fast(parts: Iterable[ScenarioPart], time: ClockSettings) -> Iterator[Problem]:
    """Yield the problem of a `--speed` at which even the longest program cannot be measured."""
    longest = max(parts, key=lambda part: part.startup + part.duration)
    runs_for = longest.startup + longest.duration
    if time.advised < time.speed > runs_for:
        message = (
            "cannot tell how long anything takes: the time resolution of this rehearsal is "
            f"{shown(time.speed)}, and the longest program, {longest.current}, runs for {shown(runs_for)}"
        )
        hint = f"leave --speed out, or use a lower speed: --speed {time.advised:.0f}"
        path = ("spec", "rehearsal", "duration")
        yield longest.workload.source.problem("REH020", path, message, hint, warning=True)


def _by_profile(brought: Iterable[tuple[ScenarioPart, Problem]]) -> Iterator[Problem]:
    """Yield one problem for each id, for all runs of a template that arrive by a profile."""
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for part, problem in brought:
        groups.setdefault((part.profile, problem.file, problem.id), []).append(problem)
    for (profile, _, _), (first, *others) in groups.items():
        more = (
            f"; the same for {counted(len(others), 'more arrival')} of profile '{profile}'" if others else ""
        )
        yield replace(first, message=first.message + more)


_HINT = "the timeline shows what happened; change the workload, the queues or the expectation"
_AFTER_THE_START = ("together", "finishes")
"""Expectations that faults can break: a fault comes after the start, and the others are about the start."""


def _before_admission(timeline: Timeline, causes: Sequence[Cause]) -> str:
    """Return the hint that says why a run waited longest for its admission; '' if it is not known."""
    until = math.inf if timeline.admitted is None else timeline.admitted
    before = [cause for cause in causes if cause.start < until]
    longest = max(before, key=lambda cause: cause.end - cause.start, default=None)
    return f"it waited because of this: {longest.text}" if longest else ""


def _of_answer(
    part: ScenarioPart, index: int, answer: Answer, speed: float | None, why: str, hurt: str
) -> Iterator[Problem]:
    """Yield the problem of an expectation that failed or cannot be decided.

    A run that should finish and did not is reported as such.
    """
    path: Path = ("spec", "rehearsal", "expect", index, answer.kind)
    source = part.workload.source
    if answer.result == "failed" and answer.message:
        told = why if answer.kind == "waitBelow" and why else _HINT
        hint = _joined(told + _slower(answer.gap, speed), hurt)
        yield source.problem("REH004", path, answer.message, hint)
    elif answer.result == "cannotTell":
        message = f"cannot tell whether '{answer.kind}' holds: {answer.message}"
        yield source.problem("REH020", path, message, _finer(answer), warning=True)


def _finer(answer: Answer) -> str:
    """Return the hint that makes an expectation decidable."""
    if answer.gap is None:
        return _UNTOLD[answer.kind]
    if answer.gap < 1:
        return "a rehearsal cannot measure less than a second: change the times, or leave the expectation out"
    return f"use a lower speed: --speed {max(1, int(answer.gap / 2))}"


_UNTOLD = {
    "notBefore": "the timeline shows why it did not start",
    "waitBelow": "give the workload a queueName, or leave the expectation out",
    "finishes": "set a longer --deadline",
}


def _slower(gap: float | None, speed: float | None) -> str:
    """Return the hint for a gap that may be the controllers' own time, which the speed does not change."""
    if gap is None or speed is None or speed <= 1 or gap >= OWN_SECONDS * speed:
        return ""
    lower = max(1, int(speed / 4))
    return f"; or use a lower speed (--speed {lower}): the controllers do not run faster at a higher speed"


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _of_run(
    part: ScenarioPart, item: Object, timeline: Timeline, known: _Known, *, cut_short: bool
) -> Iterator[Problem]:
    source = part.workload.source
    if timeline.outcome == "refused":
        hint = "slicewright validate shows the reasons without a cluster"
        yield source.problem("REH003", ("spec",), f"{timeline.run} was refused: {timeline.refusal}", hint)
        return
    never_fits, short = known.never_fits, _short_of(part, item, timeline)
    if short and not (cut_short and timeline.outcome not in ("failed", "finished")):
        if timeline.outcome == "waiting" and timeline.started is None and timeline.together:
            yield _not_together(part, timeline, known)
        else:
            message = f"{timeline.run} {short}"
            if never_fits and (timeline.admitted is None or not never_admitted(never_fits)):
                message += f"; the quota check reports that it never fits: {never_fits}"
            hint = _joined(known.cause or advice(never_fits) or known.far, known.hurt)
            yield source.problem("REH001", ("metadata", "name"), message, hint)
    for piece in timeline.slices:
        if len(piece.node_pools) > 1:
            name, pools = piece.job or timeline.run, ", ".join(piece.node_pools)
            message = f"slice {name} of {timeline.run} was split over the node pools {pools}"
            hint = "a slice must be on one node pool: see exclusive-topology in the replicatedJob"
            yield source.problem("REH002", ("metadata", "name"), message, hint)
    if part.asks_for_exclusive_slices:
        yield from _shared(part, timeline)
    if never_admitted(never_fits) and timeline.admitted is not None:
        message = f"{timeline.run} was admitted, but the quota check reports that it never fits: {never_fits}"
        hint = "one of the two is wrong; please report it with the rehearsal's JSON"
        yield source.problem("REH005", ("metadata", "name"), message, hint)


def _short_of(part: ScenarioPart, item: Object, timeline: Timeline) -> str:
    """Return how a run failed to do what its kind of run does; '' if it did not fail.

    A run that ends by itself has to finish, with all of its TPU pods, unless its file expects that it does
    not. A headless Pathways has to run at the end, its head included, whatever its file says of its end.
    """
    if part.finishes or (part.finishes is None and ends_by_itself(item)):
        if timeline.outcome != "finished":
            return _DID_NOT_FINISH[timeline.outcome]
        need, ran = tpu_pods(part)[timeline.run], sum(piece.pods for piece in timeline.slices)
        if timeline.started is None and ran < need:
            return f"finished, but only {ran:,} of its {need:,} TPU pods ever ran"
        return ""
    if ends_by_itself(item) or timeline.outcome == "finished":
        return ""
    if timeline.outcome != "running":
        return _DID_NOT_RUN[timeline.outcome if timeline.started is None else "stopped"]
    return "has a head that never ran" if lacks_head(item, timeline.ran) else ""


def _not_together(part: ScenarioPart, timeline: Timeline, known: _Known) -> Problem:
    """Return the problem of a run whose programs never began: its TPU pods never all ran together."""
    need = tpu_pods(part)[timeline.run]
    message = (
        f"{timeline.run} never started: at most {timeline.together:,} of its {need:,} TPU pods ran at "
        "the same time"
    )
    if timeline.unplaced:
        message += f", and {first_of(sorted(timeline.unplaced), 1)} found no node"
    others = sorted({run for piece in timeline.slices for run in piece.shared_with} - {timeline.run})
    if others:
        pools = sorted({pool for piece in timeline.slices if piece.shared_with for pool in piece.node_pools})
        message += f"; {', '.join(others)} ran on {', '.join(pools)} during that time"
        advised = "keep such runs on different node pools: see slicewright rule TPU119"
    else:
        advised = "check that there are nodes for all of its pods together"
    hint = _joined(known.cause, advised, known.hurt)
    return part.workload.source.problem("REH011", ("metadata", "name"), message, hint)


def _why(timeline: Timeline, causes: Sequence[Cause]) -> str:
    """Return the hint that says why a run did not finish; '' if it is not known."""
    is_last = bool(causes and timeline.spans) and causes[-1].end == timeline.spans[-1].end
    if timeline.outcome == "waiting" and is_last and (timeline.waits_for or not timeline.why):
        return f"it waits because of this: {causes[-1].text}"
    return timeline.why and f"remove the cause: {timeline.why}"


def _far(part: ScenarioPart, timeline: Timeline, *, is_at_deadline: bool) -> str:
    if timeline.outcome == "notSubmitted":
        return f"it is submitted at {shown(part.submit_at)}: set a longer --deadline, or submit it earlier"
    if not is_at_deadline:
        return "nothing more could happen: see the timeline for how far the run got"
    return "see the timeline for how far the run got; set a longer --deadline if it needs more time"


def _shared(part: ScenarioPart, timeline: Timeline) -> Iterator[Problem]:
    """Warn once of each run that had pods on the node pool of a slice."""
    neighbours: dict[str, Slice] = {}
    for piece in timeline.slices:
        for other in piece.shared_with:
            neighbours.setdefault(other, piece)
    for other, piece in neighbours.items():
        pools = ", ".join(piece.node_pools)
        name = "another slice of the same run" if other == timeline.run else other
        message = f"slice {piece.job} of {timeline.run} shared the node pool {pools} with {name}"
        hint = (
            "leave priorityClassName out of all of them, because JobSet separates only pods of the same "
            "priority; see slicewright rule TPU119"
        )
        yield part.workload.source.problem("REH010", ("metadata", "name"), message, hint, warning=True)


def _beside(
    part: ScenarioPart, item: Object, timeline: Timeline, speed: float | None, *, cut_short: bool
) -> Iterator[Problem]:
    """Yield a problem for each job without chips that never ran; the run may end well without it.

    It is a warning if the scheduler gave no reason: a short program may have ended before the job started.
    """
    if timeline.started is None or (cut_short and not timeline.is_over):
        return
    is_long = speed is not None and part.duration >= _LONG_SECONDS * speed
    for job in without_chips(item):
        if job in timeline.ran:
            continue
        pods = f"{item['metadata']['name']}-{job}-"
        texts = [text for pod, text in timeline.unplaced.items() if pod.startswith(pods)]
        is_certain = bool(texts) or is_long
        message = f"job {job} of {timeline.run} never ran"
        hint = (
            f"remove the cause: FailedScheduling: {texts[-1]}"
            if texts
            else "the timeline shows what ran instead"
        )
        if not is_certain:
            message += "; perhaps the program was too short for the controllers at this speed"
            hint = f"to find out, {_slower_speed(part)}"
        source = part.workload.source
        yield source.problem("REH001", ("metadata", "name"), message, hint, warning=not is_certain)


def _slower_speed(part: ScenarioPart) -> str:
    """Return a hint for a program that ends before all pods of its run exist."""
    if part.duration < _LONG_SECONDS:
        return f"give it a longer duration: --duration {part.key}={_LONG_SECONDS:.0f}s --speed 1"
    return f"use a lower speed: --speed {int(part.duration / _LONG_SECONDS)}"


_LONG_SECONDS = 8.0
"""Seconds of real time after which all pods of a run exist, however slow the controllers are."""
_NOT_DONE = ("REH001", "REH011")
"""Ids of problems that say that a run did not do what its kind does."""
_DID_NOT_FINISH = {
    "waiting": "was still waiting at the end",
    "running": "was still running at the end",
    "failed": "failed",
    "notSubmitted": "was not submitted before the end",
}
_DID_NOT_RUN = {
    "waiting": "never ran",
    "failed": "failed and never ran",
    "notSubmitted": "was not submitted before the end",
    "stopped": "was no longer running at the end",
}
