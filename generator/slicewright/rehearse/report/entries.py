"""Events in words: what happened to a run, one entry after another."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from slicewright.kubernetes.problem import counted, first_of
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.time_span import shown

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
"""Kinds of events that another word tells."""
_PODS = {"podStarted": "started", "podEnded": "ended"}


class Entry(NamedTuple):
    """When something happened, what, and more about it; of what was left out only the text."""

    moment: str
    event: str
    text: str

    def line(self) -> str:
        """Return the entry as one line: `12m15s restarted by JobSet: attempt 1`."""
        head = f"{self.moment} {self.event}".strip()
        return ": ".join(part for part in (head, self.text) if part)


def entries(events: Sequence[Object], most: int) -> list[Entry]:
    """Return the records of events in words, pods that start together as one entry.

    Of more than `most` entries the middle is left out, and said to be.
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
