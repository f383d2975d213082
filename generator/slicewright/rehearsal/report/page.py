"""Rehearsals as one HTML file that needs no network, no script and no mouse."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import Template

from slicewright.core.kubernetes.types import Object
from slicewright.core.problem import counted
from slicewright.rehearsal.model.clock import factor
from slicewright.rehearsal.model.duration import shown
from slicewright.rehearsal.report import charts
from slicewright.rehearsal.report.markup import card, escaped
from slicewright.rehearsal.report.page_problems import Problems
from slicewright.rehearsal.report.page_runs import Shown, filter_rules, shown_runs, team_filter, teams
from slicewright.rehearsal.report.page_tables import log, room, tables
from slicewright.rehearsal.report.report import on_what, sweep_heads, waiting

_SIGNS = {"passed": "finished", "failed": "failed", "interrupted": "waiting"}
_WORST = ("interrupted", "failed", "passed")


def page(records: Sequence[Object], frame: str, style: str) -> str:
    """Return the HTML page of rehearsals, from their JSON records; the same records give the same bytes.

    `frame` is the page without them, a `string.Template`, and `style` is its style sheet.
    """
    records = escaped(records)
    rules = (filter_rules(teams(record), f"c{index}") for index, record in enumerate(records))
    names = ", ".join(record["cluster"] for record in records) or "nothing"
    verdict = _verdict(records)
    several = len(records) > 1
    clusters = (_cluster(record, f"c{index}", several=several) for index, record in enumerate(records))
    title = f"{verdict}: rehearsal of {names}"
    return filled(frame, style + "".join(rules), title, _header(records, verdict), "".join(clusters))


def filled(frame: str, style: str, title: str, header: str, sections: str) -> str:
    """Return the frame of a page with its style sheet and with what it shows."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return Template(frame).substitute(
        digest=digest, style=style, title=title, header=header, clusters=sections
    )


def _verdict(records: Iterable[Object]) -> str:
    verdicts = {record["verdict"] for record in records}
    return next((verdict for verdict in _WORST if verdict in verdicts), "passed")


def _header(records: Sequence[Object], verdict: str) -> str:
    name, more = f"{len(records)} clusters", ""
    if len(records) == 1:
        name, more = records[0]["cluster"], _played(records[0])
    elif records:
        links = (
            f'<li><a href="#c{index}">{charts.icon(_SIGNS[record["verdict"]])}'
            f"{record['cluster']}: {record['verdict']}</a></li>"
            for index, record in enumerate(records)
        )
        more = f'<nav aria-label="Clusters"><ul class="clusters">{"".join(links)}</ul></nav>'
    title = _title(f"<h1>{name}</h1>", verdict)
    return f'<header><p class="over">slicewright rehearsal</p>{title}{more}</header>'


def _title(heading: str, verdict: str) -> str:
    badge = f'<span class="badge {verdict}">{charts.icon(_SIGNS[verdict])}{verdict.capitalize()}</span>'
    return f'<div class="title">{heading}{badge}</div>'


def _played(record: Object) -> str:
    speed = record["speed"]
    text = f"Simulated {shown(record['seconds'])}"
    if speed != 1:
        real = (record["seconds"] - record["skipped"]) / speed
        text += f" in {shown(real)}, at {factor(speed).removesuffix('x')} times the speed"
    text += f" {on_what(record['pods'])}."
    if speed != 1:
        text += f" Its time resolution is {shown(speed)}, a second of the controllers' own time."
    if record["standIns"]:
        names = (f"{need['kind']} {need['namespace']}/{need['name']}" for need in record["standIns"])
        text += f" Stand-ins for what exists on the cluster: {', '.join(names)}."
    if record["pathwaysOperator"]:
        text += f" PathwaysJobs were reconciled by the {record['pathwaysOperator']}."
    return f'<p class="dim">{text}</p>'


def _cluster(record: Object, key: str, *, several: bool) -> str:
    level = 3 if several else 2
    runs = shown_runs(record)
    problems = Problems(record, runs, key)
    parts = [
        _tiles(record, runs),
        problems.card(level),
        _timelines(record, runs, problems, level, key),
        problems.never(level),
        *(_charts(record, of, level, key) for of in ("queues", "waiting", "pools")),
        tables(record, runs, level, key),
        _beside(record["events"], level),
    ]
    label = f'aria-label="{record["cluster"]}"'
    if several:
        label = f'aria-labelledby="{key}h"'
        heading = f'<h2 id="{key}h">{record["cluster"]}</h2>'
        parts = [_title(heading, record["verdict"]), _played(record), *parts]
    return f'<section class="cluster" id="{key}" {label}>{"".join(parts)}</section>'


def _tiles(record: Object, shown_as: Mapping[str, Shown]) -> str:
    summary, runs = record["summary"], record["workloads"]
    waits = [run for run in runs if run["wait"] is not None]
    longest = max(waits, key=lambda run: run["wait"], default=None)
    tiles = [("Finished", f"{summary['finished']} of {summary['runs']}", _rest(summary))]
    if longest is not None and longest["wait"] >= record["resolution"]:
        tiles.append(("Longest wait", shown(longest["wait"]), shown_as[longest["run"]].link()))
    results = [answer["result"] for run in runs for answer in run["expectations"]]
    if results:
        untold = results.count("cannotTell")
        passed = f"{results.count('passed')} of {len(results)}"
        tiles.append(("Expectations passed", passed, f"{untold} could not be judged" if untold else ""))
    tiles.append(("Evictions", str(summary["evictions"]), _reasons(runs)))
    tiles.append(("Restarts", str(summary["restarts"]), ""))
    chips = sum(pool["limitChips"] for pool in record["pools"])
    if chips:
        busy = sum(pool["limitChips"] * pool["utilisation"] for pool in record["pools"]) / chips
        tiles.append(("Chips at work", f"{busy:.0%}", f"of {chips:,}, on average"))
    drawn = (
        f'<div class="tile"><dt>{name}</dt><dd>{value}{beside and f"<small>{beside}</small>"}</dd></div>'
        for name, value, beside in tiles
    )
    return f'<dl class="card tiles">{"".join(drawn)}</dl>'


def _rest(summary: dict[str, int]) -> str:
    return ", ".join(
        f"{summary[key]} {charts.OUTCOMES[key]}"
        for key in charts.OUTCOMES
        if key != "finished" and summary[key]
    )


def _reasons(runs: Iterable[Object]) -> str:
    counts = Counter(eviction["reason"] for run in runs for eviction in run["evictions"])
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def _timelines(
    record: Object, shown_as: Mapping[str, Shown], problems: Problems, level: int, key: str
) -> str:
    runs = record["workloads"]
    if not runs:
        return '<section class="card"><p>No workload ran.</p></section>'
    end, most = _end(record), room(len(runs))
    events: dict[str, list[Object]] = {}
    for event in record["events"]:
        events.setdefault(event.get("run", ""), []).append(event)
    heads = sweep_heads(runs)
    rows = []
    for index, run in enumerate(runs):
        name, shown_run = run["run"], shown_as[run["run"]]
        if name in heads:
            rows.append(f'<p class="sweep"{shown_run.mark}>{heads[name]}</p>')
        facts = ", ".join(_facts(run, record["resolution"]))
        own = events.get(name, [])
        plot = charts.timeline(run, own, end, f"{key}w{index}")
        rows.append(_row(run, shown_run, facts, plot, problems.about(run) + _history(run, own, most)))
    skip = f'<a class="skip" href="#{key}a">Skip the {len(runs)} rows of the timeline</a>'
    head = f'<div class="title"><h{level}>Timeline</h{level}>{team_filter(teams(record), key)}</div>'
    inside = (head, skip, charts.legend(charts.occurring(runs, record["events"])), when(end), *rows)
    return f'<section class="card">{"".join(inside)}<div id="{key}a"></div></section>'


def _row(run: Object, shown_run: Shown, facts: str, plot: str, more: str) -> str:
    left = who("span", shown_run.name, facts, shown_run.run)
    link = f'<p class="dim">run <a href="#{shown_run.anchor}">{shown_run.run}</a></p>'
    summary = f'<summary>{left}<span class="plot">{plot}</span>{charts.icon(run["outcome"])}</summary>'
    inside = f'<div class="more" id="{shown_run.anchor}">{link}{more}</div>'
    return f'<details class="row"{shown_run.mark}>{summary}{inside}</details>'


def _history(run: Object, events: Sequence[Object], most: int) -> str:
    """Return why a run waited, and what happened to it."""
    waits = "".join(
        f"<p>waited from {shown(wait['start'])} to {shown(wait['end'])}: {wait['message']}</p>"
        + (f'<p class="dim">{wait["said"]}</p>' if wait["said"] else "")
        for wait in run["waits"]
    )
    return waits + (log(events, most) if events else '<p class="dim">nothing happened to it</p>')


def _facts(run: Object, resolution: float) -> Iterator[str]:
    ended = f" at {shown(run['ended'])}" if run["ended"] is not None else ""
    yield charts.OUTCOMES[run["outcome"]] + ended
    if run["wait"] is not None and run["wait"] >= resolution:
        yield f"waited {shown(run['wait'])}"
    for count, noun in ((len(run["evictions"]), "eviction"), (run["restarts"], "restart")):
        if count:
            yield counted(count, noun)


def when(end: float) -> str:
    """Return the labels of the time above rows."""
    return f'<div class="line when"><div class="plot">{charts.axis(end)}</div></div>'


def _charts(record: Object, of: str, level: int, key: str) -> str:
    end = _end(record)
    usages = waiting(record["queues"]) if of == "waiting" else record[of]
    if not usages:
        return ""
    word, title = {
        "queues": ("quota", "Quota in use"),
        "waiting": ("", "Chips that runs wait for"),
        "pools": ("all that there can be", "Chips with pods"),
    }[of]
    lines = []
    for index, usage in enumerate(usages):
        drawn = "".join(charts.chart(usage, end, f"{key}{of[0]}{index}"))
        lines.append(
            f'<div class="line usage">{who("div", usage["name"], charts.described(usage))}{drawn}</div>'
        )
    return card(level, title, _keys(usages, word) if word else "", when(end), *lines)


def who(tag: str, name: str, text: str, whole: str = "") -> str:
    """Return what stands at the left of a row: a name, and words below it; `whole` is the whole name."""
    title = f' title="{whole}"' if whole not in ("", name) else ""
    return f'<{tag} class="who"><span class="name"{title}>{name}</span><small>{text}</small></{tag}>'


def _keys(usages: Sequence[Object], word: str) -> str:
    """Return what the lines of the step charts mean; only those that are there."""
    signs = {"in use": '<path class="k-used" d="M0 15V7H10V3H26V15"/>', word: _key_line("k-limit")}
    if any(usage["there"] for usage in usages):
        signs["nodes that are there"] = _key_line("k-there")
    if any(usage["borrowedChips"] for usage in usages):
        signs["borrowed"] = '<rect class="borrowed" width="26" height="16"/>'
    entries = (charts.swatch(drawn, meaning) for meaning, drawn in signs.items())
    return f'<ul class="legend keys">{"".join(entries)}</ul>'


def _key_line(name: str) -> str:
    return f'<line class="{name}" x1="0" x2="26" y1="8" y2="8"/>'


def _beside(events: Iterable[Object], level: int) -> str:
    """Return what happened to no run: pools that grew and shrank, warnings of the rehearsal itself."""
    beside = [event for event in events if not event.get("run")]
    return card(level, "Nodes and the rehearsal itself", log(beside, room(1))) if beside else ""


def _end(record: Object) -> float:
    return max(float(record["seconds"]), 0.01)
