"""Waits in words, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from slicewright.kubernetes.problem import first_of
from slicewright.rehearse.model.time_span import shown
from slicewright.rehearse.model.verdict import Cause

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from slicewright.kubernetes.types import Object
    from slicewright.rehearse.model.timeline import Timeline
    from slicewright.rehearse.model.waits import Lack, Wait

_MOST_HOLDERS = 3


def describe(wait: Wait, timelines: Mapping[str, Timeline]) -> str:
    """Return in one line why a run waited, and what would have admitted it."""
    if wait.reason in _WITH_QUOTA:
        added = ", ".join(f"{chips} chips in node pool {pool}" for pool, chips in wait.added)
        cause = "pods wait for nodes" if wait.reason == "NoNodes" else "an admission check was not ready"
        return f"has its quota; {cause}; {f'added meanwhile: {added}' if added else 'no nodes were added'}"
    ahead = f"; behind {first_of(wait.ahead, _MOST_HOLDERS)}" if wait.ahead else ""
    if wait.lacks:
        return " | ".join(_lack(lack, wait, timelines) for lack in wait.lacks) + ahead
    if wait.message:
        return f"Kueue says {wait.reason}: {wait.message}{ahead}"
    if wait.reason == "NoWorkload":
        return "Kueue made no Workload for it: perhaps its pods name a PriorityClass that does not exist"
    return f"Kueue tries others first{ahead}" if ahead else "Kueue wrote no reason"


def causes(waits: Mapping[str, Iterable[Wait]], timelines: Mapping[str, Timeline]) -> dict[str, list[Cause]]:
    """Return why runs waited, for the hints of problems; what nobody knows is left out."""
    return {
        run: [
            Cause(wait.start, wait.end, describe(wait, timelines))
            for wait in own
            if wait.ahead or _cause(wait) != _UNTOLD
        ]
        for run, own in waits.items()
    }


def longest_waits(
    waits: Mapping[str, Sequence[Wait]], runs: Collection[str]
) -> Iterator[tuple[int, Wait, Wait]]:
    """Yield for each cause why equal runs waited how many did, the longest wait, and one with the cause.

    Equal runs need the same: why one of them waited is why another one did of which Kueue wrote nothing.
    """
    causes: dict[tuple[str, ...], list[Wait]] = {}
    for wait in (max(waits[run], key=_seconds) for run in runs if run in waits):
        causes.setdefault(_cause(wait), []).append(wait)
    in_queue = [own for cause, own in causes.items() if cause != _UNTOLD and cause[0] not in _WITH_QUOTA]
    most = max(in_queue, key=len, default=None)
    untold = causes.pop(_UNTOLD, []) if most else []
    for own in causes.values():
        everyone = own + (untold if own is most else [])
        told = _without_exchange(max(own, key=_seconds), set(runs))
        yield len(everyone), max(everyone, key=_seconds), told


def _without_exchange(wait: Wait, runs: Collection[str]) -> Wait:
    """Return a wait without remedies that take from runs what equal runs get."""
    holders = {holder.run for lack in wait.lacks for holder in lack.short.held}
    if not holders or not holders.issubset(runs):
        return wait
    lacks = [
        replace(lack, remedies=tuple(remedy for remedy in lack.remedies if remedy.kind not in _EXCHANGES))
        for lack in wait.lacks
    ]
    return replace(wait, lacks=tuple(lacks))


_UNTOLD = ("NotTried",)
_WITH_QUOTA = ("NoNodes", "AdmissionCheck")
"""Reasons of waits after the queue."""
_EXCHANGES = ("Priority", "Preemption")


def _cause(wait: Wait) -> tuple[str, ...]:
    return wait.reason, *(lack.short.flavor for lack in wait.lacks)


def _seconds(wait: Wait) -> float:
    return wait.end - wait.start


def _lack(lack: Lack, wait: Wait, timelines: Mapping[str, Timeline]) -> str:
    short = lack.short
    since = dict(wait.since)
    holders = []
    for holder in short.held[:_MOST_HOLDERS]:
        timeline = timelines.get(holder.run)
        still = " and still ran at the end" if timeline and timeline.ended is None else ""
        if holder.run in wait.endless:
            still = " and never ends"
        holders.append(
            f"{holder.run} of {holder.queue} has held {holder.chips} since {shown(since[holder.run])}{still}"
        )
    if len(short.held) > _MOST_HOLDERS:
        holders.append(f"{len(short.held) - _MOST_HOLDERS} more runs hold some")
    held = ", ".join(holders) or f"the quota is {short.total} chips"
    remedies = ", or ".join(remedy.message for remedy in lack.remedies)
    admits = f"; to start it earlier, {remedies}" if remedies else ""
    return f"{short.need} chips of {short.flavor}: {held}{admits}"


def record(wait: Wait, timelines: Mapping[str, Timeline]) -> Object:
    """Return the JSON form."""
    since = dict(wait.since)
    return {
        "start": round(wait.start, 2),
        "end": round(wait.end, 2),
        "reason": wait.reason,
        "message": describe(wait, timelines),
        "said": wait.message,
        "ahead": list(wait.ahead),
        "lacks": [
            {
                "flavor": lack.short.flavor,
                "chips": lack.short.need,
                "missingChips": lack.short.missing,
                "holders": [
                    {
                        "run": holder.run,
                        "clusterQueue": holder.queue,
                        "chips": holder.chips,
                        "since": round(since[holder.run], 2),
                        "neverEnds": holder.run in wait.endless,
                    }
                    for holder in lack.short.held
                ],
                "remedies": [
                    {
                        "kind": remedy.kind,
                        "message": remedy.message,
                        "chips": remedy.chips,
                        "priorityAbove": remedy.above,
                    }
                    for remedy in lack.remedies
                ],
            }
            for lack in wait.lacks
        ],
    }
