"""Events and waits as sentences, and waits as JSON."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from slicewright.kubernetes.problem import counted, first_of
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.time_span import shown
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rehearse.model.verdict import Cause
from slicewright.rehearse.model.waits import Lack, Wait

_WORDS = {
    "refused": "refused by the API server",
    "waiting": "waits in the queue",
    "reserved": "quota reserved",
    "released": "quota released",
    "restarted": "restarted by JobSet",
    "warned": "warning",
    "poolGrew": "pool grew",
    "poolShrank": "pool shrank",
}
"""Words for kinds of events whose names would not be clear."""
_PODS = {"podStarted": "started", "podEnded": "ended"}


class Entry(NamedTuple):
    """When something happened, what, and details; an entry for left-out events has only the text."""

    moment: str
    event: str
    text: str

    def line(self) -> str:
        """Return the entry as one line: `12m15s restarted by JobSet: attempt 1`."""
        head = f"{self.moment} {self.event}".strip()
        return ": ".join(part for part in (head, self.text) if part)


def entries(events: Sequence[Object], most: int) -> list[Entry]:
    """Return the records of events in words; pods that start together make one entry.

    If there are more than `most` entries, one entry replaces the middle and says so.
    """
    entries = [_entry(list(group)) for _, group in groupby(events, key=_alike)]
    if len(entries) <= most:
        return entries
    half = most // 2
    left = Entry("", "", f"{len(entries) - 2 * half:,} more entries; the JSON report has all events")
    return [*entries[:half], left, *entries[-half:]]


def _alike(event: Object) -> tuple[str, ...]:
    if event["kind"] in _PODS:
        return event["kind"], event.get("reason", ""), str(event.get("attempt", 0))
    return event["kind"], event.get("reason", ""), event.get("message", "")


def _entry(alike: list[Object]) -> Entry:
    first, last = alike[0], alike[-1]
    moment = shown(first["at"])
    if shown(last["at"]) != moment:
        moment += f" to {shown(last['at'])}"
    if first["kind"] in _PODS:
        return Entry(moment, *_of_pods(alike))
    event, text = _of_event(first)
    return Entry(moment, event + (f" ({len(alike)} times)" if len(alike) > 1 else ""), text)


def _of_pods(pods: list[Object]) -> tuple[str, str]:
    pools = list(dict.fromkeys(pod["nodePool"] for pod in pods if pod.get("nodePool")))
    text = ", ".join(filter(None, (pods[0].get("reason", ""), f"on {first_of(pools, 4)}" if pools else "")))
    return f"{counted(len(pods), 'pod')} {_PODS[pods[0]['kind']]}", text


def _of_event(event: Object) -> tuple[str, str]:
    kind: str = event["kind"]
    parts: list[str] = [event.get("reason", ""), event.get("message", "")]
    if kind == "reserved":
        parts = [event.get("clusterQueue", "")]
        parts += [f"{chips:,} chips of {flavor}" for flavor, chips in event.get("flavors", {}).items()]
    elif kind == "released" and "flavors" in event:
        parts += [f"{chips:,} chips of {flavor} still held" for flavor, chips in event["flavors"].items()]
    elif kind == "restarted":
        parts.append(f"attempt {event.get('attempt', 0)}")
    elif kind in ("poolGrew", "poolShrank"):
        sign = "+" if kind == "poolGrew" else "-"
        parts = [event.get("nodePool", ""), f"{sign}{event.get('chips', 0):,} chips", *parts]
    return _WORDS.get(kind, kind), ", ".join(filter(None, parts))


_MOST_HOLDERS = 3


def describe(wait: Wait, timelines: Mapping[str, Timeline]) -> str:
    """Return in one line why a run waited, and what would have admitted it."""
    if wait.reason in _WITH_QUOTA:
        added = ", ".join(f"{chips} chips in node pool {pool}" for pool, chips in wait.added)
        said = wait.message.partition(" preemption:")[0].rstrip(".")
        nodes = f"pods wait for nodes ({said})" if said else "pods wait for nodes"
        cause = "an admission check was not ready" if wait.reason == "AdmissionCheck" else nodes
        if wait.selects:
            label, flavor = wait.selects
            kept = "JobSet keeps the node labels of an earlier admission"
            cause = f"its pods still select {label} of flavor {flavor} ({kept}); {nodes}"
        return f"has its quota; {cause}; {f'added meanwhile: {added}' if added else 'no nodes were added'}"
    ahead = f"; behind {first_of(wait.ahead, _MOST_HOLDERS)}" if wait.ahead else ""
    if wait.lacks:
        return " | ".join(_lack(lack, wait, timelines) for lack in wait.lacks) + ahead + _passed(wait)
    if wait.message:
        return f"Kueue says {wait.reason}: {wait.message}{ahead}"
    if wait.reason == "NoWorkload":
        return "Kueue made no Workload for it: perhaps its pods name a PriorityClass that does not exist"
    return f"Kueue tries others first{ahead}" if ahead else "Kueue wrote no reason"


def causes(waits: Mapping[str, Iterable[Wait]], timelines: Mapping[str, Timeline]) -> dict[str, list[Cause]]:
    """Return why runs waited, for the hints of problems; waits without a known reason are left out."""
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
    """Yield, for each cause, how many of some equal runs waited, the longest wait, and a wait with the cause.

    Equal runs need the same: the reason that Kueue wrote for one of them holds for the others.
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
_WITH_QUOTA = ("NoNodes", "OtherFlavor", "AdmissionCheck")
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


def _passed(wait: Wait) -> str:
    if not wait.passed_by:
        return ""
    return f"; {counted(wait.passed_by, 'later run')} passed it"


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
        "passedBy": wait.passed_by,
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
