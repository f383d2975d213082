"""The events of a run as a list that people read: pods that start together are one entry."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from slicewright.core.rehearsal.duration import shown
from slicewright.core.rehearsal.svg import Markup, element

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slicewright.core.kubernetes.types import Object


_ALL, _FEWEST, _MOST = 1500, 10, 60
_WORDS = {
    "submitted": "submitted",
    "refused": "refused by the API server",
    "waiting": "waits in the queue",
    "reserved": "quota reserved",
    "released": "quota released",
    "admitted": "admitted",
    "evicted": "evicted",
    "restarted": "restarted by JobSet",
    "warned": "warning",
    "finished": "finished",
    "failed": "failed",
    "fault": "fault",
    "poolGrew": "pool grew",
    "poolShrank": "pool shrank",
}
_PODS = {"podStarted": "started", "podEnded": "ended"}


def room(runs: int) -> int:
    """Return how many entries each run may have, so that the page stays small."""
    return min(_MOST, max(_FEWEST, _ALL // max(1, runs)))


def log(events: Sequence[Object], most: int) -> Markup:
    """Return events as a list; of more than `most` entries the middle is left out, and said to be."""
    entries = [_entry(list(group)) for _, group in groupby(events, key=_alike)]
    if len(entries) > most:
        half = most // 2
        left = f"{len(entries) - 2 * half:,} more entries; the JSON report has all events"
        entries = [*entries[:half], element("li", left, class_="dim"), *entries[-half:]]
    return element("ol", *entries, class_="log")


def _alike(event: Object) -> tuple[str, ...]:
    if event["kind"] in _PODS:
        return event["kind"], event.get("reason", ""), str(event.get("attempt", 0))
    return event["kind"], event.get("reason", ""), event.get("message", "")


def _entry(alike: list[Object]) -> Markup:
    first, last = alike[0], alike[-1]
    moment = shown(first["at"])
    if shown(last["at"]) != moment:
        moment += f" to {shown(last['at'])}"
    head, text = _pods(alike) if first["kind"] in _PODS else _told(first)
    if len(alike) > 1 and first["kind"] not in _PODS:
        head += f" ({len(alike)} times)"
    return element(
        "li",
        element("span", moment, class_="at"),
        element("span", element("b", head), f": {text}" if text else ""),
    )


def _pods(pods: list[Object]) -> tuple[str, str]:
    pools = list(dict.fromkeys(pod["nodePool"] for pod in pods if pod.get("nodePool")))
    few = 4
    where = ", ".join(pools[:few]) + (f" and {len(pools) - few} more" if len(pools) > few else "")
    count = "1 pod" if len(pods) == 1 else f"{len(pods)} pods"
    reason = pods[0].get("reason", "")
    return f"{count} {_PODS[pods[0]['kind']]}", ", ".join(
        part for part in (reason, f"on {where}" if where else "") if part
    )


def _told(event: Object) -> tuple[str, str]:
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
    return _WORDS.get(kind, kind), ", ".join(part for part in parts if part)
