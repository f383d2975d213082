"""The tables of a rehearsal's page: what the pictures show, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.rehearsal.chart_steps import borrowed_seconds
from slicewright.core.rehearsal.chart_symbols import OUTCOMES, icon
from slicewright.core.rehearsal.duration import shown
from slicewright.core.rehearsal.svg import Markup, element, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slicewright.core.kubernetes.types import Object


_NONE = "-"
_RUNS = ("Run", "Outcome", "Submitted", "Admitted", "Started", "Ended", "Wait", "Restarts", "Evictions")
_SLICES = ("Run", "Slice", "Attempt", "Node pools", "Pods", "From", "To", "Exclusive")
_USAGE = ("Utilisation", "Peak", "Borrowed up to", "Borrowed for")
_OPEN_UP_TO = 30
"""Rows of a table that is open from the start."""


def tables(record: Object, level: int, key: str) -> Markup:
    """Return all tables of a rehearsal, each under a heading that opens and closes it."""
    runs, slices = list(map(_run, record["workloads"])), list(_slices(record["workloads"]))
    end = max(record["seconds"], 0.01)
    parts = [
        _table("Runs", runs, _RUNS, level, f"{key}r"),
        _table("Slices", slices, _SLICES, level, f"{key}s"),
    ]
    for title, of, chips in (("Queues", "queues", "Quota"), ("Pools", "pools", "Chips")):
        rows = [_usage(usage, end, of == "queues") for usage in record[of]]
        columns = (title[:-1], chips, *_USAGE[: 4 if of == "queues" else 2])
        parts.append(_table(title, rows, columns, level, f"{key}{of[0]}"))
    return joined(*parts)


def _run(run: Object) -> list[str]:
    what = element("span", icon(run["outcome"]), OUTCOMES[run["outcome"]], class_="outcome")
    moments = [_moment(run[field]) for field in ("submitted", "admitted", "started", "ended", "wait")]
    evictions = [
        element("li", f"{shown(found['at'])} ", element("b", found["reason"]), f": {found['message']}")
        for found in run["evictions"]
    ]
    named = run["run"] if run["run"] == run["workload"] else joined(run["run"], _of(run["workload"]))
    told = element("ul", *evictions) if evictions else "none"
    return [named, what, *moments, str(run["restarts"]), told]


def _of(workload: str) -> Markup:
    return element("small", f" a run of {workload}")


def _slices(runs: Iterable[Object]) -> Iterable[list[str]]:
    for run in runs:
        for piece in run["slices"]:
            pools = piece["nodePools"]
            split = element("strong", f"split over {len(pools)}: ") if len(pools) > 1 else ""
            yield [
                run["run"],
                piece["job"] or "all pods",
                str(piece["attempt"]),
                joined(split, ", ".join(pools)),
                str(piece["pods"]),
                shown(piece["start"]),
                shown(piece["end"]),
                "yes" if piece["exclusive"] else element("strong", "no, shared"),
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


def _table(title: str, rows: Sequence[list[str]], columns: Sequence[str], level: int, key: str) -> Markup:
    if not rows:
        return Markup()
    count = element("span", f" {len(rows):,}", class_="count")
    heading = element("summary", element(f"h{level}", title, count, id=key))
    head = element("tr", *(element("th", column, scope="col") for column in columns))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell or _NONE) for cell in row[1:]))
        for row in rows
    ]
    table = element("table", element("thead", head), element("tbody", *body))
    region = element("div", table, class_="scroll", role="region", aria_labelledby=key, tabindex=0.0)
    return element("details", heading, region, class_="table", open="" if len(rows) <= _OPEN_UP_TO else None)
