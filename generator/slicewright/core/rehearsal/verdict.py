"""Stories against what they should have been: each broken promise is a problem, placed in the input file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.rehearsal.apart import LONG_SECONDS, Waits, apart
from slicewright.core.rehearsal.duration import seconds, shown
from slicewright.core.rehearsal.injected import blame
from slicewright.core.rehearsal.offline import advice
from slicewright.core.rehearsal.script import run_key, without_chips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from slicewright.core.problem import Path, Problem
    from slicewright.core.rehearsal.injected import Injected
    from slicewright.core.rehearsal.script import Part
    from slicewright.core.rehearsal.story import Story


def judge(
    parts: Iterable[Part],
    stories: Mapping[str, Story],
    never_fits: Mapping[str, str],
    *,
    cut_short: bool,
    speed: float | None = None,
    injected: Iterable[Injected] = (),
) -> tuple[Problem, ...]:
    """Return the problems of a rehearsal, which was played at some `speed` where that is known.

    `never_fits` says of which runs the offline quota check knew that they can never be admitted, and why.
    `injected` are the faults: where a run did not do as it should, its own are told of.
    In one that was `cut_short`, by a person or because a program died, what has not happened yet is not held
    against anybody; an expectation counts where all runs that it is about are over.
    """
    found: list[Problem] = []
    everyone = {part.key: part for part in parts}
    faults = tuple(injected)
    waits = Waits(stories, faults)
    for part in everyone.values():
        for run in map(stories.__getitem__, _runs(part, stories)):
            hurt = blame(run.run, faults)
            found += _of_run(part, run, never_fits.get(run.run, ""), hurt, cut_short=cut_short)
            found += apart(part, run, waits, speed)
            found += _beside(part, run, speed, cut_short=cut_short)
        if part.current not in stories:
            continue
        for index, expected in enumerate(part.expect):
            (kind, value) = next(iter(expected.items()))
            if cut_short and not _is_decided(kind, value, part, everyone, stories):
                continue
            path: Path = ("spec", "rehearsal", "expect", index, kind)
            for message, gap in _CHECK[kind](value, part, everyone, stories):
                hint = _joined(_HINT + _slower(gap, speed), blame(part.current, faults))
                found.append(part.workload.source.problem("REH004", path, message, hint))
    return tuple(found)


_HINT = "the timeline shows what happened instead; change the workload, the queues or the expectation"
_OWN_SECONDS = 5.0
"""What the controllers take for themselves, of our seconds: a gap below it may be theirs."""
Broken = tuple[str, float | None]
"""What is wrong, and by how many seconds of the rehearsal's clock it missed what was wanted, if by any."""


def _slower(gap: float | None, speed: float | None) -> str:
    """Return what to do where a gap may be the controllers' own time, which does not pass faster."""
    if gap is None or speed is None or speed <= 1 or gap >= _OWN_SECONDS * speed:
        return ""
    return f"; or play slower, for the controllers' own time is not scaled: --speed {max(1, int(speed / 4))}"


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _is_decided(
    kind: str, value: Any, part: Part, everyone: Mapping[str, Part], stories: Mapping[str, Story]
) -> bool:
    """Tell whether all runs are over that an expectation is about."""
    names = {
        "order": value,
        "together": value,
        "notBefore": [value["workload"]] if kind == "notBefore" else (),
    }
    others = [_other(name, part, everyone, stories) for name in names.get(kind, ())]
    return all(story is None or story.is_over for story in (stories[part.current], *others))


def _runs(part: Part, stories: Mapping[str, Story]) -> Iterator[str]:
    return (key for key in map(run_key, part.runs) if key in stories)


def _of_run(part: Part, story: Story, never_fits: str, hurt: str, *, cut_short: bool) -> Iterator[Problem]:
    source = part.workload.source
    if story.outcome == "refused":
        hint = "slicewright validate shows what stands against it without a cluster"
        yield source.problem("REH003", ("spec",), f"{story.run} was refused: {story.refusal}", hint)
        return
    if part.should_finish and story.outcome != "finished" and not (cut_short and story.outcome != "failed"):
        message = f"{story.run} {_DID_NOT_FINISH[story.outcome]}"
        if never_fits and story.admitted is None:
            message += f"; the quota check says that it never fits: {never_fits}"
        hint = _joined(story.why or (never_fits and advice(never_fits)) or _far(part, story), hurt)
        yield source.problem("REH001", ("metadata", "name"), message, hint)
    for piece in story.slices:
        if len(piece.node_pools) > 1:
            pools = ", ".join(piece.node_pools)
            message = f"slice {piece.job or story.run} of {story.run} was split over the node pools {pools}"
            hint = "a slice is one node pool: see exclusive-topology in the replicatedJob"
            yield source.problem("REH002", ("metadata", "name"), message, hint)
    if part.asks_for_exclusive_slices:
        yield from _shared(part, story)
    if never_fits and story.admitted is not None:
        message = f"{story.run} was admitted, although the quota check says that it never fits: {never_fits}"
        hint = "one of the two is wrong; please report it with the rehearsal's JSON"
        yield source.problem("REH005", ("metadata", "name"), message, hint)


def _far(part: Part, story: Story) -> str:
    if story.outcome == "notSubmitted":
        return (
            f"it is to be submitted at {shown(part.submit_at)}: play longer with --deadline, or submit sooner"
        )
    return "the timeline shows how far it came; is the deadline long enough?"


def _shared(part: Part, story: Story) -> Iterator[Problem]:
    """Warn once of each run that had pods on the node pool of a slice."""
    told: set[str] = set()
    for piece in story.slices:
        for other in piece.shared_with:
            if other in told:
                continue
            told.add(other)
            pools = ", ".join(piece.node_pools)
            whom = "another slice of the same run" if other == story.run else other
            message = f"slice {piece.job} of {story.run} shared the node pool {pools} with {whom}"
            hint = (
                "its replicatedJob asks for exclusive-topology, and JobSet keeps only pods of one priority "
                "apart: see slicewright rule TPU119"
            )
            yield part.workload.source.problem("REH010", ("metadata", "name"), message, hint, warning=True)


def _beside(part: Part, story: Story, speed: float | None, *, cut_short: bool) -> Iterator[Problem]:
    """Warn of jobs without chips that never ran beside the others: the run may end well without them.

    Where the scheduler said nothing, a short program may have been over before they came.
    """
    is_long = speed is not None and part.duration >= LONG_SECONDS * speed
    if story.started is None or (cut_short and not story.is_over):
        return
    for item in part.runs:
        for job in without_chips(item) if run_key(item) == story.run else ():
            pods = f"{item['metadata']['name']}-{job}-"
            said = [text for pod, (_, text) in story.unplaced.items() if pod.startswith(pods)]
            if job in story.ran or not (said or is_long):
                continue
            hint = f"FailedScheduling: {said[-1]}" if said else "the timeline shows what ran instead"
            message = f"job {job} of {story.run} never ran"
            yield part.workload.source.problem("REH001", ("metadata", "name"), message, hint, warning=True)


_DID_NOT_FINISH = {
    "waiting": "was still waiting at the end",
    "running": "was still running at the end",
    "failed": "failed",
    "notSubmitted": "was not submitted before the end",
}


def _other(name: str, part: Part, everyone: Mapping[str, Part], stories: Mapping[str, Story]) -> Story | None:
    key = name if "/" in name else f"{part.workload.namespace}/{name}"
    other = everyone.get(key)
    return stories.get(other.current) if other else None


def _order(
    names: list[str], part: Part, everyone: Mapping[str, Part], stories: Mapping[str, Story]
) -> Iterator[Broken]:
    before: tuple[str, float] | None = None
    for name in names:
        story = _other(name, part, everyone, stories)
        if story is None or story.started is None:
            yield (f"'{name}' did not start" if story else _unknown(name)), None
            return
        if before is not None and story.started <= before[1]:
            message = (
                f"'{name}' should start after '{before[0]}': it started at {shown(story.started)}, "
                f"the other at {shown(before[1])}"
            )
            yield message, before[1] - story.started
            return
        before = (name, story.started)


def _together(
    names: list[str], part: Part, everyone: Mapping[str, Part], stories: Mapping[str, Story]
) -> Iterator[Broken]:
    spans = _running(stories[part.current])
    for name in names:
        story = _other(name, part, everyone, stories)
        if story is None:
            yield _unknown(name), None
            return
        theirs = _running(story)
        gaps = [max(begin - end, start - finish) for start, end in spans for begin, finish in theirs]
        spans = [
            (max(start, begin), min(end, finish))
            for start, end in spans
            for begin, finish in theirs
            if max(start, begin) < min(end, finish)
        ]
        if not spans:
            yield f"'{part.workload.name}' and '{name}' never ran at the same time", min(gaps, default=None)
            return


def _not_before(
    wanted: dict[str, str], part: Part, everyone: Mapping[str, Part], stories: Mapping[str, Story]
) -> Iterator[Broken]:
    name, state = wanted["workload"], wanted.get("state", "Finished")
    own, other = stories[part.current].started, _other(name, part, everyone, stories)
    if other is None:
        yield _unknown(name), None
        return
    reached = {"Admitted": other.admitted, "Running": other.started, "Finished": other.ended}[state]
    if own is not None and (reached is None or own < reached):
        when = "never was" if reached is None else f"was so at {shown(reached)}"
        message = f"it started at {shown(own)}, before '{name}' was {state.lower()}: that {when}"
        yield message, None if reached is None else reached - own


def _wait_below(
    most: str, part: Part, everyone: Mapping[str, Part], stories: Mapping[str, Story]
) -> Iterator[Broken]:
    del everyone
    wait = stories[part.current].wait
    if wait is None:
        yield f"it was never admitted, and should be within {most}", None
    elif wait >= seconds(most):
        message = f"it waited {shown(wait)} for its admission, and should wait less than {most}"
        yield message, wait - seconds(most)


def _finishes(
    wanted: bool,
    part: Part,
    everyone: Mapping[str, Part],
    stories: Mapping[str, Story],
) -> Iterator[Broken]:
    del everyone
    if not wanted and stories[part.current].outcome == "finished":
        yield "it finished, and was expected not to", None


def _unknown(name: str) -> str:
    return f"no workload '{name}' takes part in this rehearsal"


def _running(story: Story) -> list[tuple[float, float]]:
    return [(span.start, span.end) for span in story.spans if span.state == "running"]


_CHECK: dict[str, Callable[[Any, Part, Mapping[str, Part], Mapping[str, Story]], Iterator[Broken]]] = {
    "order": _order,
    "together": _together,
    "notBefore": _not_before,
    "waitBelow": _wait_below,
    "finishes": _finishes,
}
