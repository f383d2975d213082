"""The tables of a rehearsal's page, and the events of a run as a list; records are escaped already."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from slicewright.core.problem import counted
from slicewright.rehearsal.model.duration import shown, shown_within
from slicewright.rehearsal.report.charts import OUTCOMES, borrowed_seconds, icon
from slicewright.rehearsal.report.spending import spending

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slicewright.core.kubernetes.types import Object


_NONE = "-"
_RUNS = ("Run", "Outcome", "Submitted", "Admitted", "Started", "Ended", "Wait", "Restarts", "Evictions")
_ARRIVALS = ("Profile", "Seed", "Queue", "Finished", "Median wait", "95 % below", "Longest wait")
_SLICES = ("Run", "Slice", "Attempt", "Node pools", "Pods", "From", "To", "Exclusive")
_USAGE = ("Utilisation", "Peak", "Borrowed up to", "Borrowed for")
_OPEN_UP_TO = 30
"""Rows of a table that is open from the start."""

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


def tables(record: Object, level: int, key: str) -> str:
    """Return all tables of a rehearsal, each under a heading that opens and closes it."""
    runs, slices = (
        [_run(run, record["resolution"]) for run in record["workloads"]],
        list(_slices(record["workloads"])),
    )
    end = max(record["seconds"], 0.01)
    parts = [
        table("Runs", runs, _RUNS, level, f"{key}r"),
        table("Arrivals", list(_arrivals(record)), _ARRIVALS, level, f"{key}a"),
        table("Slices", slices, _SLICES, level, f"{key}s"),
    ]
    for title, of, chips in (("Queues", "queues", "Quota"), ("Pools", "pools", "Chips")):
        rows = [_usage(usage, end, of == "queues") for usage in record[of]]
        columns = (title[:-1], chips, *_USAGE[: 4 if of == "queues" else 2])
        parts.append(table(title, rows, columns, level, f"{key}{of[0]}"))
    parts += [
        table(made.title.capitalize(), [*map(list, made.rows)], made.head, level, f"{key}{made.title[:2]}")
        for made in spending([record["measures"]])
    ]
    return "".join(parts)


def _run(run: Object, resolution: float) -> list[str]:
    what = f'<span class="outcome">{icon(run["outcome"])}{OUTCOMES[run["outcome"]]}</span>'
    moments = [_moment(run[field]) for field in ("submitted", "admitted", "started", "ended")]
    wait = _NONE if run["wait"] is None else shown_within(run["wait"], resolution)
    evictions = "".join(
        f"<li>{shown(eviction['at'])} <b>{eviction['reason']}</b>: {eviction['message']}</li>"
        for eviction in run["evictions"]
    )
    of = f"<small> a run of {run['workload']}</small>" if run["run"] != run["workload"] else ""
    told = f"<ul>{evictions}</ul>" if evictions else "none"
    return [run["run"] + of, what, *moments, wait, str(run["restarts"]), told]


def _arrivals(record: Object) -> Iterable[list[str]]:
    for row in record["measures"].get("arrivals", ()):
        waits = [row[f"{name}WaitSeconds"] for name in ("p50", "p95", "max")]
        told = ["never" if wait is None else shown_within(wait, record["resolution"]) for wait in waits]
        done = f"{row['finished']} of {row['runs']}"
        yield [row["profile"], str(row["seed"]), row["clusterQueue"], done, *told]


def _slices(runs: Iterable[Object]) -> Iterable[list[str]]:
    for run in runs:
        for piece in run["slices"]:
            pools = piece["nodePools"]
            split = f"<strong>split over {len(pools)}: </strong>" if len(pools) > 1 else ""
            yield [
                run["run"],
                piece["job"] or "all pods",
                str(piece["attempt"]),
                split + ", ".join(pools),
                str(piece["pods"]),
                shown(piece["start"]),
                shown(piece["end"]),
                "yes" if piece["exclusive"] else "<strong>no, shared</strong>",
            ]


def _usage(usage: Object, end: float, lends: bool) -> list[str]:
    row = [
        usage["name"],
        f"{usage['limitChips']:,}",
        f"{usage['utilisation']:.0%}",
        f"{usage['peakChips']:,}",
    ]
    if lends:
        borrowed = usage["borrowedChips"]
        row += [f"{borrowed:,}", borrowed_seconds(usage, end)] if borrowed else ["nothing", _NONE]
    return row


def _moment(value: float | None) -> str:
    return _NONE if value is None else shown(value)


def table(title: str, rows: Sequence[list[str]], columns: Sequence[str], level: int, key: str) -> str:
    """Return a table under a heading that opens and closes it; '' without rows."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell or _NONE}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<details class="table"{" open" if len(rows) <= _OPEN_UP_TO else ""}><summary>'
        f'<h{level} id="{key}">{title}<span class="count"> {len(rows):,}</span></h{level}></summary>'
        f'<div class="scroll" role="region" aria-labelledby="{key}" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


def room(runs: int) -> int:
    """Return how many entries each run may have, so that the page stays small."""
    return min(_MOST, max(_FEWEST, _ALL // max(1, runs)))


def log(events: Sequence[Object], most: int) -> str:
    """Return events as a list, in which pods that start together are one entry.

    Of more than `most` entries the middle is left out, and said to be.
    """
    entries = [_entry(list(group)) for _, group in groupby(events, key=_alike)]
    if len(entries) > most:
        half = most // 2
        left = f"{len(entries) - 2 * half:,} more entries; the JSON report has all events"
        entries = [*entries[:half], f'<li class="dim">{left}</li>', *entries[-half:]]
    return f'<ol class="log">{"".join(entries)}</ol>'


def _alike(event: Object) -> tuple[str, ...]:
    if event["kind"] in _PODS:
        return event["kind"], event.get("reason", ""), str(event.get("attempt", 0))
    return event["kind"], event.get("reason", ""), event.get("message", "")


def _entry(alike: list[Object]) -> str:
    first, last = alike[0], alike[-1]
    moment = shown(first["at"])
    if shown(last["at"]) != moment:
        moment += f" to {shown(last['at'])}"
    head, text = _pod_entry(alike) if first["kind"] in _PODS else _told(first)
    if len(alike) > 1 and first["kind"] not in _PODS:
        head += f" ({len(alike)} times)"
    return f'<li><span class="at">{moment}</span><span><b>{head}</b>{text and f": {text}"}</span></li>'


def _pod_entry(pods: list[Object]) -> tuple[str, str]:
    pools = list(dict.fromkeys(pod["nodePool"] for pod in pods if pod.get("nodePool")))
    few = 4
    where = ", ".join(pools[:few]) + (f" and {len(pools) - few} more" if len(pools) > few else "")
    reason = pods[0].get("reason", "")
    return f"{counted(len(pods), 'pod')} {_PODS[pods[0]['kind']]}", ", ".join(
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
