"""Waits in words, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.problem import first_of
from slicewright.rehearsal.model.duration import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.core.kubernetes.types import Object
    from slicewright.rehearsal.model.timeline import Timeline
    from slicewright.rehearsal.model.waits import Lack, Wait

_MOST_HOLDERS = 3


def describe(wait: Wait, timelines: Mapping[str, Timeline]) -> str:
    """Return in one line why a run waited, and what would have admitted it."""
    if wait.reason in ("NoNodes", "AdmissionCheck"):
        added = ", ".join(f"{chips} chips in node pool {pool}" for pool, chips in wait.added)
        cause = "pods wait for nodes" if wait.reason == "NoNodes" else "an admission check was not ready"
        return f"has its quota; {cause}; {f'added meanwhile: {added}' if added else 'no nodes were added'}"
    ahead = f"; behind {first_of(wait.ahead, _MOST_HOLDERS)}" if wait.ahead else ""
    if wait.lacks:
        return " | ".join(_lack(lack, wait, timelines) for lack in wait.lacks) + ahead
    return (f"Kueue says {wait.reason}: {wait.message}" if wait.message else "Kueue wrote no reason") + ahead


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
    admits = f"; remedy: {remedies}" if remedies else ""
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
