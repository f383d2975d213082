"""The tables of a rehearsal's page, and its events as lists; records are escaped already."""

from collections.abc import Iterable, Mapping, Sequence

from slicewright.core.kubernetes.types import Object
from slicewright.rehearsal.model.duration import shown, shown_within
from slicewright.rehearsal.report.charts import OUTCOMES, icon
from slicewright.rehearsal.report.entries import Entry, entries
from slicewright.rehearsal.report.page_runs import Shown
from slicewright.rehearsal.report.report import borrowing, waits_text
from slicewright.rehearsal.report.spending import spending

_NONE = "-"
_RUNS = ("Run", "Outcome", "Submitted", "Admitted", "Started", "Ended", "Wait", "Restarts", "Evictions")
_ARRIVALS = ("Profile", "Seed", "Queue", "Finished", "Median wait", "95 % below", "Longest wait")
_SLICES = ("Run", "Slice", "Attempt", "Node pools", "Pods", "From", "To", "Exclusive")
_USAGE = ("Utilisation", "Peak", "Borrowed up to", "Borrowed for")
_OPEN_UP_TO = 30
"""Rows of a table that is open from the start."""

_ALL, _FEWEST, _MOST = 1500, 10, 60


def tables(record: Object, shown_as: Mapping[str, Shown], level: int, key: str) -> str:
    """Return all tables of a rehearsal, each under a heading that opens and closes it."""
    runs = [(run, shown_as[run["run"]]) for run in record["workloads"]]
    rows = [_run(run, shown_run, record["resolution"]) for run, shown_run in runs]
    marks = [shown_run.mark for _, shown_run in runs]
    slices = [(piece, shown_run) for run, shown_run in runs for piece in run["slices"]]
    of_slices = [shown_run.mark for _, shown_run in slices]
    parts = [
        table("Runs", rows, _RUNS, level, f"{key}r", marks),
        table("Arrivals", list(_arrivals(record)), _ARRIVALS, level, f"{key}a"),
        table("Slices", [_slice(*entry) for entry in slices], _SLICES, level, f"{key}s", of_slices),
    ]
    for title, of, chips in (("Queues", "queues", "Quota"), ("Pools", "pools", "Chips")):
        rows = [_usage(usage, of == "queues") for usage in record[of]]
        columns = (title[:-1], chips, *_USAGE[: 4 if of == "queues" else 2])
        parts.append(table(title, rows, columns, level, f"{key}{of[0]}"))
    parts += [
        table(
            sheet.title.capitalize(), [*map(list, sheet.rows)], sheet.head, level, f"{key}{sheet.title[:2]}"
        )
        for sheet in spending([record["measures"]])
    ]
    return "".join(parts)


def _run(run: Object, shown_run: Shown, resolution: float) -> list[str]:
    outcome = f'<span class="outcome">{icon(run["outcome"])}{OUTCOMES[run["outcome"]]}</span>'
    times = (run[field] for field in ("submitted", "admitted", "started", "ended"))
    moments = [_NONE if time is None else shown(time) for time in times]
    wait = _NONE if run["wait"] is None else shown_within(run["wait"], resolution)
    evictions = "".join(
        f"<li>{shown(eviction['at'])} <b>{eviction['reason']}</b>: {eviction['message']}</li>"
        for eviction in run["evictions"]
    )
    whole = f"<small> run {run['run']}</small>" if run["run"] != shown_run.name else ""
    evicted = f"<ul>{evictions}</ul>" if evictions else "none"
    return [shown_run.link() + whole, outcome, *moments, wait, str(run["restarts"]), evicted]


def _arrivals(record: Object) -> Iterable[list[str]]:
    for row in record["measures"]["arrivals"]:
        done = f"{row['finished']} of {row['runs']}"
        waits = waits_text(row, record["resolution"])
        yield [row["profile"], str(row["seed"]), row["clusterQueue"], done, *waits]


def _slice(piece: Object, shown_run: Shown) -> list[str]:
    pools = piece["nodePools"]
    split = f"<strong>split over {len(pools)}: </strong>" if len(pools) > 1 else ""
    return [
        shown_run.name,
        piece["job"] or "all pods",
        str(piece["attempt"]),
        split + ", ".join(pools),
        str(piece["pods"]),
        shown(piece["start"]),
        shown(piece["end"]),
        "yes" if piece["exclusive"] else "<strong>no, shared</strong>",
    ]


def _usage(usage: Object, lends: bool) -> list[str]:
    row = [
        usage["name"],
        f"{usage['limitChips']:,}",
        f"{usage['utilisation']:.0%}",
        f"{usage['peakChips']:,}",
    ]
    if lends:
        borrowed = usage["borrowedChips"]
        row += [f"{borrowed:,}", borrowing(usage) or _NONE] if borrowed else ["nothing", _NONE]
    return row


def table(
    title: str,
    rows: Sequence[list[str]],
    columns: Sequence[str],
    level: int,
    key: str,
    marks: Sequence[str] = (),
) -> str:
    """Return a table under a heading that opens and closes it; '' without rows. `marks` are attributes."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(
        f'<tr{mark}><th scope="row">{first}</th>{"".join(f"<td>{cell or _NONE}</td>" for cell in row)}</tr>'
        for (first, *row), mark in zip(rows, marks or [""] * len(rows), strict=True)
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
    """Return what happened as a list; of more than `most` entries the middle is left out."""
    return f'<ol class="log">{"".join(map(_entry, entries(events, most)))}</ol>'


def _entry(entry: Entry) -> str:
    if not entry.moment:
        return f'<li class="dim">{entry.text}</li>'
    text = entry.text and f": {entry.text}"
    return f'<li><span class="at">{entry.moment}</span><span><b>{entry.event}</b>{text}</span></li>'
