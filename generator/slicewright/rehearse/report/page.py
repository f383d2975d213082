"""What page.html.j2 shows of rehearsals, or of variants: an HTML file without network, script and mouse."""

import base64
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jinja2 import Environment, StrictUndefined

from slicewright.kubernetes.problem import SEVERITIES, counted
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.clock import factor
from slicewright.rehearse.model.comparison import Group, compared
from slicewright.rehearse.model.time_span import shown, shown_within
from slicewright.rehearse.report import charts
from slicewright.rehearse.report.report import borrowing, on_what, sweep_heads, waiting, waits_text
from slicewright.rehearse.report.sentences import entries
from slicewright.rehearse.report.tables import Table, called, head_line, labelled, spending, tables

_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
"""What has no place in a document (control characters, halves of pairs) or would turn its text around."""
_WORST = ("interrupted", "failed", "passed")
_SHORTEST = 0.01
"""Seconds of the time axis at least."""
_ALL, _FEWEST, _MOST = 1500, 10, 60
_NEVER_RAN = ("waiting", "refused", "notSubmitted")


def page(records: Sequence[Object], template: str, style: str) -> str:
    """Return the HTML page of rehearsals, from their JSON records; the same records give the same bytes."""
    clusters = [_cluster(record, f"c{index}") for index, record in enumerate(records)]
    verdicts = {record["verdict"] for record in records}
    verdict = next((verdict for verdict in _WORST if verdict in verdicts), "passed")
    names = [record["cluster"] for record in records]
    return _filled(
        template,
        style + "".join(_filter_rules(cluster) for cluster in clusters),
        title_of_page=f"{verdict}: rehearsal of {', '.join(names) or 'nothing'}",
        heading=names[0] if len(names) == 1 else f"{len(names)} clusters",
        verdict=verdict,
        lines=[clusters[0]["played"]] if len(names) == 1 else [],
        clusters=clusters,
        groups=[],
    )


def page_of_variants(groups: Sequence[Group], template: str, style: str) -> str:
    """Return the HTML page of variants, in each group the base first; equal records give equal bytes."""
    names = dict.fromkeys(str(group.variants[0]["cluster"]) for group in groups)
    title = f"What if: {', '.join(names)}"
    return _filled(
        template,
        style,
        title_of_page=title,
        heading=title,
        verdict="",
        lines=[f"{head_line(group)}." for group in groups],
        clusters=[],
        groups=[_group(labelled(group), f"g{index}") for index, group in enumerate(groups)],
    )


def _filled(template: str, style: str, **context: Any) -> str:
    """Return the page; the template escapes all that is not Markup."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(charts=charts, shown=shown, shown_within=shown_within)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    text = environment.from_string(template).render(style=style, digest=digest, **context)
    return _NO_TEXT.sub("\ufffd", text)


def room(runs: int) -> int:
    """Return how many entries each run may have, so that the page stays small."""
    return min(_MOST, max(_FEWEST, _ALL // max(1, runs)))


def _cluster(record: Object, key: str) -> Object:
    end = max(float(record["seconds"]), _SHORTEST)
    problems = _problems(record["problems"])
    teams = sorted({_team(run) for run in record["workloads"]})
    runs = list(_runs(record, problems, teams, end, key))
    about: dict[int, list[Object]] = defaultdict(list)
    for run in runs:
        for problem in run["problems"]:
            about[problem["number"]].append(run)
    beside = [event for event in record["events"] if not event.get("run")]
    return {
        "key": key,
        "record": record,
        "played": _played(record),
        "end": end,
        "teams": teams,
        "runs": runs,
        "tiles": list(_tiles(record, runs)),
        "problems": [_about(problem, about[problem["number"]]) for problem in problems],
        "never": [
            run
            for run in runs
            if run["started"] is None and run["outcome"] in _NEVER_RAN and not run["is_told"]
        ],
        "waiting": waiting(record["queues"]),
        "arrivals": list(_arrivals(record)),
        "losses": list(_losses(record)),
        "slices": sum(len(run["slices"]) for run in runs),
        "queues": list(map(_queue, record["queues"])),
        "pools": list(map(_usage, record["pools"])),
        "tables": list(spending([record["measures"]])),
        "log": entries(beside, room(1)),
    }


def _team(run: Object) -> str:
    """Return the team of a run; without a team, its namespace."""
    namespace: str = run["run"].partition("/")[0]
    return run["team"] or namespace


def _filter_rules(cluster: Object) -> str:
    """Return the style rules that hide the runs of other teams when a team is chosen, without a script."""
    key, several = cluster["key"], range(len(cluster["teams"]))
    if len(several) == 1:
        return ""
    return "".join(
        f'#{key}:has(#{key}f [value="{number}"]:checked) [data-team]:not([data-team="{number}"])'
        "{display:none}\n"
        for number in several
    )


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
    return text


def _problems(problems: Iterable[Object]) -> list[Object]:
    """Return the problems with their numbers, equal ones as one with all places, errors first."""
    equal: dict[tuple[str, ...], list[Object]] = {}
    for problem in sorted(problems, key=lambda problem: SEVERITIES.index(problem["severity"])):
        alike = tuple(problem[field] for field in ("severity", "id", "message", "hint"))
        equal.setdefault(alike, []).append(problem)
    return [
        {
            **same[0],
            "number": number,
            "objects": dict.fromkeys(problem["object"] for problem in same),
            "places": [place for problem in same if (place := _place(problem))],
        }
        for number, same in enumerate(equal.values())
    ]


def _place(problem: Object) -> str:
    place = ":".join(str(part) for part in (problem["file"], problem["line"], problem["column"]) if part)
    return " ".join(part for part in (place if problem["file"] else "", problem["path"]) if part)


def _about(problem: Object, runs: Sequence[Object]) -> Object:
    """Return a problem with the runs of its workload, and their team if there is only one."""
    teams = {run["team"] for run in runs}
    is_named = len(runs) == 1 and runs[0]["name"] not in problem["message"]
    return {
        **problem,
        "runs": runs,
        "team": teams.pop() if len(teams) == 1 else None,
        "subject": f"{runs[0]['name']}: " if is_named else "",
    }


def _runs(
    record: Object, problems: Iterable[Object], teams: Sequence[str], end: float, key: str
) -> Iterator[Object]:
    """Yield the runs of a rehearsal with the texts and pictures of the page."""
    runs: list[Object] = record["workloads"]
    heads, most = sweep_heads(runs), room(len(runs))
    numbers = Counter(run["workload"] for run in runs)
    problems_of: dict[str, list[Object]] = defaultdict(list)
    for problem in problems:
        for subject in problem["objects"]:
            problems_of[subject].append(problem)
    events: dict[str, list[Object]] = defaultdict(list)
    for event in record["events"]:
        events[event.get("run", "")].append(event)
    for index, run in enumerate(runs):
        own, told = events[run["run"]], problems_of[f"TPUWorkload {run['workload']}"]
        why = run["why"]
        yield {
            **run,
            # Its workload, which is the run without its id; the run itself where the workload has several.
            "name": run["workload"] if numbers[run["workload"]] == 1 else run["run"],
            # A link to it opens its row. It is the same on all pages.
            "anchor": f"{record['cluster']}/{run['run']}",
            "team": teams.index(_team(run)),
            "head": heads.get(run["run"], ""),
            "facts": ", ".join(_facts(run, record["resolution"])),
            "plot": charts.timeline(run, own, end, f"{key}w{index}"),
            "log": entries(own, most),
            "problems": told,
            # What a problem says is not said again: there is a link to the problem.
            "is_told": bool(why) and any(why in f"{each['message']} {each['hint']}" for each in told),
        }


def _facts(run: Object, resolution: float) -> Iterator[str]:
    ended = f" at {shown(run['ended'])}" if run["ended"] is not None else ""
    yield charts.OUTCOMES[run["outcome"]] + ended
    if run["wait"] is not None and run["wait"] >= resolution:
        yield f"waited {shown(run['wait'])}"
    for count, noun in ((len(run["evictions"]), "eviction"), (run["restarts"], "restart")):
        if count:
            yield counted(count, noun)


def _tiles(record: Object, runs: Sequence[Object]) -> Iterator[Object]:
    """Yield the numbers at the top, each with a text, or with the run that it is about."""
    summary = record["summary"]
    others = {key: words for key, words in charts.OUTCOMES.items() if key != "finished" and summary[key]}
    rest = ", ".join(f"{summary[key]} {words}" for key, words in others.items())
    yield _tile("Finished", f"{summary['finished']} of {summary['runs']}", rest)
    longest = max(runs, key=lambda run: run["wait"] or 0.0, default=None)
    if longest and (longest["wait"] or 0.0) >= record["resolution"]:
        yield {**_tile("Longest wait", shown(longest["wait"])), "run": longest}
    results = [answer["result"] for run in runs for answer in run["expectations"]]
    if results:
        untold = results.count("cannotTell")
        passed = f"{results.count('passed')} of {len(results)}"
        yield _tile("Expectations passed", passed, f"{untold} could not be judged" if untold else "")
    reasons = Counter(eviction["reason"] for run in runs for eviction in run["evictions"])
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    yield _tile("Evictions", str(summary["evictions"]), told)
    yield _tile("Restarts", str(summary["restarts"]))
    chips = sum(pool["limitChips"] for pool in record["pools"])
    if chips:
        busy = sum(pool["limitChips"] * pool["utilisation"] for pool in record["pools"]) / chips
        yield _tile("Chips at work", f"{busy:.0%}", f"of {chips:,}, on average")


def _tile(name: str, value: str, text: str = "") -> Object:
    return {"name": name, "value": value, "text": text, "run": None}


def _arrivals(record: Object) -> Iterator[tuple[str, ...]]:
    for row in record["measures"]["arrivals"]:
        finished = f"{row['finished']} of {row['runs']}"
        waits = waits_text(row, record["resolution"])
        yield row["profile"], str(row["seed"]), row["clusterQueue"], finished, *waits


def _losses(record: Object) -> Iterator[tuple[str, ...]]:
    for row in record["measures"]["losses"]:
        yield row["pool"], row["rate"], str(row["seed"]), str(row["losses"]), shown(row["awaySeconds"])


def _usage(usage: Object) -> tuple[str, ...]:
    numbers = f"{usage['limitChips']:,}", f"{usage['utilisation']:.0%}", f"{usage['peakChips']:,}"
    return usage["name"], *numbers


def _queue(queue: Object) -> tuple[str, ...]:
    if not queue["borrowedChips"]:
        return *_usage(queue), "nothing", ""
    return *_usage(queue), f"{queue['borrowedChips']:,}", borrowing(queue)


def _group(group: Group, key: str) -> Object:
    base, *others = group.variants
    rows = [row for variant in group.variants for row in variant["workloads"]]
    end = max((span["end"] for row in rows for span in row["states"]), default=_SHORTEST)
    return {
        "key": key,
        "cluster": base["cluster"],
        "verdicts": [variant["verdict"] for variant in others],
        "rows": rows,
        "end": end,
        "timeline": list(_timeline(group.variants, end, key)),
        "tables": [
            Table(sheet.title, _name_first(sheet.head), tuple(map(_name_first, sheet.rows)))
            for sheet in tables(group)
        ],
        "problems": [
            {**problem, "variant": variant["name"]}
            for variant in group.variants
            for problem in variant["problems"]
        ],
    }


def _name_first(row: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of a row with the variant first; in a terminal it is last."""
    return row[-1], *row[:-1]


def _timeline(variants: Sequence[Object], end: float, key: str) -> Iterator[Object]:
    """Yield, for runs that are compared as one, their name and their rows in each variant."""
    everything = {"workloads": [row for variant in variants for row in variant["workloads"]]}
    for at, runs in enumerate(compared(variants[0], everything)):
        of_variants = [
            sorted((row for row in variant["workloads"] if row["name"] in runs.names), key=_begin)
            for variant in variants
        ]
        rows = [(variant, row) for variant, own in zip(variants, of_variants, strict=True) for row in own]
        yield {
            "name": called(runs, max(map(len, of_variants))),
            "rows": [
                {
                    "variant": variant["name"],
                    "outcome": row["outcome"],
                    "facts": ", ".join(_variant_facts(row)),
                    "plot": charts.timeline({**row, "evictions": []}, (), end, f"{key}r{at}n{number}"),
                }
                for number, (variant, row) in enumerate(rows)
            ],
        }


def _begin(row: Object) -> tuple[bool, float]:
    return row["started"] is None, row["started"] or 0.0


def _variant_facts(row: Object) -> Iterator[str]:
    ended = "" if row["ended"] is None else f" at {shown(row['ended'])}"
    yield charts.OUTCOMES[row["outcome"]] + ended
    if row["started"] is not None:
        yield f"started at {shown(row['started'])}"
