"""Rehearsals as one HTML file that needs no network, no script and no mouse."""

from __future__ import annotations

import base64
import hashlib
from string import Template
from typing import TYPE_CHECKING

from slicewright.rehearsal.model.clock import factor
from slicewright.rehearsal.model.duration import shown
from slicewright.rehearsal.report.charts import OUTCOMES, axis, chart, described, icon, legend, timeline
from slicewright.rehearsal.report.markup import Markup, element, escaped, joined
from slicewright.rehearsal.report.page_tables import log, room, tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slicewright.core.kubernetes.types import Object


_SIGNS = {"passed": "finished", "failed": "failed", "interrupted": "waiting"}
_WORST = ("interrupted", "failed", "passed")
_NEVER = ("waiting", "refused", "notSubmitted")
_SILENT = {
    "waiting": "Kueue gave no reason.",
    "refused": "The API server gave no reason.",
    "notSubmitted": "The rehearsal ended before it was its turn.",
}
_PAUSE = 0.05
"""Seconds of waiting that are not worth a word."""


def page(records: Sequence[Object], frame: str, style: str) -> str:
    """Return the HTML page of rehearsals, from their JSON records; the same records give the same bytes.

    `frame` is the page without them, a `string.Template`, and `style` is its style sheet.
    """
    names = ", ".join(record["cluster"] for record in records) or "nothing"
    verdict = _verdict(records)
    several = len(records) > 1
    clusters = (_cluster(record, f"c{index}", several=several) for index, record in enumerate(records))
    return Template(frame).substitute(
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        style=style,
        title=escaped(f"{verdict}: rehearsal of {names}"),
        header=_header(records, verdict),
        clusters=joined(*clusters),
    )


def _verdict(records: Iterable[Object]) -> str:
    found = {record["verdict"] for record in records}
    return next((verdict for verdict in _WORST if verdict in found), "passed")


def _header(records: Sequence[Object], verdict: str) -> Markup:
    parts = [element("p", "slicewright rehearsal", class_="over")]
    named = records[0]["cluster"] if len(records) == 1 else f"{len(records)} clusters"
    parts.append(element("div", element("h1", named), _badge(verdict), class_="title"))
    if len(records) == 1:
        parts.append(_played(records[0]))
    if len(records) > 1:
        links = [
            element(
                "li",
                element(
                    "a",
                    icon(_SIGNS[record["verdict"]]),
                    f"{record['cluster']}: {record['verdict']}",
                    href=f"#c{index}",
                ),
            )
            for index, record in enumerate(records)
        ]
        parts.append(element("nav", element("ul", *links, class_="clusters"), aria_label="Clusters"))
    return element("header", *parts)


def _badge(verdict: str) -> Markup:
    return element("span", icon(_SIGNS[verdict]), verdict.capitalize(), class_=f"badge {verdict}")


def _played(record: Object) -> Markup:
    speed = record["speed"]
    told = f"Played {shown(record['seconds'])}"
    if speed != 1:
        told += (
            f" in {shown(record['seconds'] / speed)}, at {factor(speed).removesuffix('x')} times the speed"
        )
    told += " on the real JobSet, Kueue and scheduler, with simulated TPU nodes."
    if speed != 1:
        told += f" Its time resolution is {shown(speed)}, a second of the controllers' own time."
    if record["standIns"]:
        made = (f"{need['kind']} {need['namespace']}/{need['name']}" for need in record["standIns"])
        told += f" Stand-ins for what exists on the cluster: {', '.join(made)}."
    if record["pathwaysOperator"]:
        told += f" PathwaysJobs were played by the {record['pathwaysOperator']}."
    return element("p", told, class_="dim")


def _cluster(record: Object, key: str, *, several: bool) -> Markup:
    level = 3 if several else 2
    parts: list[str] = []
    if several:
        name = element("h2", record["cluster"], id=f"{key}h")
        parts += [element("div", name, _badge(record["verdict"]), class_="title"), _played(record)]
    parts += [
        _tiles(record),
        _problems(record["problems"], level),
        _never(record, level),
        _timelines(record, level, key),
        *(_charts(record, of, level, key) for of in ("queues", "pools")),
        tables(record, level, key),
        _beside(record["events"], level),
    ]
    labelled = {"aria_labelledby": f"{key}h"} if several else {"aria_label": record["cluster"]}
    return element("section", *parts, class_="cluster", id=key, **labelled)


def _tiles(record: Object) -> Markup:
    found, runs = record["summary"], record["workloads"]
    waits = [run for run in runs if run["wait"] is not None]
    longest = max(waits, key=lambda run: run["wait"], default=None)
    tiles = [("Finished", f"{found['finished']} of {found['runs']}", _rest(found))]
    if longest is not None and longest["wait"] > _PAUSE:
        tiles.append(("Longest wait", shown(longest["wait"]), longest["run"]))
    results = [told["result"] for run in runs for told in run["expectations"]]
    if results:
        untold = results.count("cannotTell")
        passed = f"{results.count('passed')} of {len(results)}"
        tiles.append(("Expectations passed", passed, f"{untold} could not be judged" if untold else ""))
    tiles.append(("Evictions", str(found["evictions"]), _reasons(runs)))
    tiles.append(("Restarts", str(found["restarts"]), ""))
    chips = sum(pool["limitChips"] for pool in record["pools"])
    if chips:
        busy = sum(pool["limitChips"] * pool["utilisation"] for pool in record["pools"]) / chips
        tiles.append(("Chips at work", f"{busy:.0%}", f"of {chips:,}, on average"))
    drawn = [
        element(
            "div",
            element("dt", name),
            element("dd", value, element("small", beside) if beside else ""),
            class_="tile",
        )
        for name, value, beside in tiles
    ]
    return element("dl", *drawn, class_="card tiles")


def _rest(found: dict[str, int]) -> str:
    return ", ".join(f"{found[key]} {OUTCOMES[key]}" for key in OUTCOMES if key != "finished" and found[key])


def _reasons(runs: Iterable[Object]) -> str:
    counts: dict[str, int] = {}
    for run in runs:
        for eviction in run["evictions"]:
            counts[eviction["reason"]] = counts.get(eviction["reason"], 0) + 1
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def _problems(problems: Sequence[Object], level: int) -> Markup:
    if not problems:
        return Markup()
    entries = [
        element(
            "li",
            element("p", element("b", f"{found['severity']} {found['id']}"), f" {found['message']}"),
            element("p", "hint: ", found["hint"]) if found["hint"] else "",
            _place(found),
            class_=f"problem {found['severity']}",
        )
        for found in problems
    ]
    count = element("span", f" {len(problems)}", class_="count")
    return _card(level, joined("Problems", count), element("ul", *entries))


def _place(found: Object) -> Markup:
    place = ":".join(str(part) for part in (found["file"], found["line"], found["column"]) if part)
    parts = [part for part in (place if found["file"] else "", found["path"]) if part]
    return element("p", " ".join(parts), class_="place dim") if parts else Markup()


def _never(record: Object, level: int) -> Markup:
    """Return the runs that never ran, but for those of which a problem says it already, with the reason."""
    told: dict[str, str] = {}
    for problem in record["problems"]:
        told[problem["object"]] = f"{told.get(problem['object'], '')} {problem['message']} {problem['hint']}"
    found = [
        run
        for run in record["workloads"]
        if run["started"] is None
        and run["outcome"] in _NEVER
        and not (run["why"] and run["why"] in told.get(f"TPUWorkload {run['workload']}", ""))
    ]
    if not found:
        return Markup()
    entries = [
        element(
            "li",
            icon(run["outcome"]),
            element(
                "div",
                element("p", element("b", run["run"], class_="name"), f" {OUTCOMES[run['outcome']]}"),
                element("p", run["why"] or _SILENT[run["outcome"]], class_="dim"),
                element("p", _foretold(run), class_="dim"),
            ),
        )
        for run in found
    ]
    return _card(level, "Never ran", element("ul", *entries, class_="never"))


def _foretold(run: Object) -> str:
    """Return what the offline quota check had said of a run."""
    if run["outcome"] == "waiting" and not run["quotaCheck"]:
        return "The offline quota check said that it fits, once others are done."
    return f"The offline quota check said the same: {run['quotaCheck']}" if run["quotaCheck"] else ""


def _timelines(record: Object, level: int, key: str) -> Markup:
    runs = record["workloads"]
    if not runs:
        return element("section", element("p", "No workload was played."), class_="card")
    end, most = _end(record), room(len(runs))
    events: dict[str, list[Object]] = {}
    for event in record["events"]:
        events.setdefault(event.get("run", ""), []).append(event)
    rows = [
        _row(run, events.get(run["run"], []), (end, most), f"{key}w{index}") for index, run in enumerate(runs)
    ]
    skip = element("a", f"Skip the {len(runs)} rows of the timeline", class_="skip", href=f"#{key}a")
    return _card(level, "Timeline", skip, legend(), _when(end), *rows, element("div", id=f"{key}a"))


def _row(run: Object, events: Sequence[Object], room_for: tuple[float, int], key: str) -> Markup:
    end, most = room_for
    who = _who("span", run["run"], ", ".join(_facts(run)))
    plot = element("span", timeline(run, events, end, key), class_="plot")
    why = element("p", run["why"]) if run["why"] else ""
    told = log(events, most) if events else element("p", "nothing happened to it", class_="dim")
    more = element("div", why, told, class_="more")
    return element("details", element("summary", who, plot, icon(run["outcome"])), more, class_="row")


def _facts(run: Object) -> Iterator[str]:
    ended = f" at {shown(run['ended'])}" if run["ended"] is not None else ""
    yield OUTCOMES[run["outcome"]] + ended
    if run["wait"] is not None and run["wait"] > _PAUSE:
        yield f"waited {shown(run['wait'])}"
    for count, noun in ((len(run["evictions"]), "eviction"), (run["restarts"], "restart")):
        if count:
            yield f"{count} {noun}" + ("" if count == 1 else "s")


def _when(end: float) -> Markup:
    return element("div", element("div", axis(end), class_="plot"), class_="line when")


def _charts(record: Object, of: str, level: int, key: str) -> Markup:
    if not record[of]:
        return Markup()
    word, title = {
        "queues": ("quota", "Quota in use"),
        "pools": ("all that there can be", "Chips with pods"),
    }[of]
    end = _end(record)
    lines = [
        element(
            "div",
            _who("div", usage["name"], described(usage)),
            *chart(usage, end, f"{key}{of[0]}{index}"),
            class_="line usage",
        )
        for index, usage in enumerate(record[of])
    ]
    return _card(level, title, _keys(record[of], word), _when(end), *lines)


def _who(name: str, who: str, told: str) -> Markup:
    return element(name, element("span", who, class_="name"), element("small", told), class_="who")


def _keys(usages: Iterable[Object], word: str) -> Markup:
    """Return what the lines of the step charts mean; only those that are there."""
    usages = list(usages)
    entries = [
        ("in use", element("path", class_="k-used", d="M0 15V7H10V3H26V15")),
        (word, _key_line("k-limit")),
    ]
    if any(usage["there"] for usage in usages):
        entries.append(("nodes that are there", _key_line("k-there")))
    if any(usage["borrowedChips"] for usage in usages):
        entries.append(("borrowed", element("rect", class_="borrowed", width=26.0, height=16.0)))
    drawn = [
        element(
            "li", element("svg", sign, aria_hidden="true", width=26.0, height=16.0), element("span", said)
        )
        for said, sign in entries
    ]
    return element("ul", *drawn, class_="legend keys")


def _key_line(name: str) -> Markup:
    return element("line", class_=name, x1=0.0, x2=26.0, y1=8.0, y2=8.0)


def _beside(events: Iterable[Object], level: int) -> Markup:
    """Return what happened to no run: pools that grew and shrank, warnings of the rehearsal itself."""
    found = [event for event in events if not event.get("run")]
    if not found:
        return Markup()
    return _card(level, "Nodes and the rehearsal itself", log(found, room(1)))


def _card(level: int, title: str, *inside: str) -> Markup:
    return element("section", element(f"h{level}", title), *inside, class_="card")


def _end(record: Object) -> float:
    return max(float(record["seconds"]), 0.01)
