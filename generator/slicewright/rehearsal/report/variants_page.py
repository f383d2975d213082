"""Variants of a rehearsal as one HTML file: each run of all variants below each other, on one time axis."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from slicewright.core.kubernetes.types import Object
from slicewright.rehearsal.model.comparison import Group, compared
from slicewright.rehearsal.model.duration import shown
from slicewright.rehearsal.report.charts import OUTCOMES, icon, legend, occurring, timeline
from slicewright.rehearsal.report.markup import card, escaped
from slicewright.rehearsal.report.page import filled, when, who
from slicewright.rehearsal.report.page_tables import table
from slicewright.rehearsal.report.variants_text import called, head_line, labelled, tables

_SHORTEST = 0.01


def page(groups: Sequence[Group], frame: str, style: str) -> str:
    """Return the HTML page of variants, in each group the base first; equal records give equal bytes."""
    heads = escaped([head_line(group) for group in groups])
    groups = [replace(group, variants=escaped(list(labelled(group).variants))) for group in groups]
    title = f"What if: {', '.join(dict.fromkeys(str(group.variants[0]['cluster']) for group in groups))}"
    lines = "".join(f'<p class="dim">{head}.</p>' for head in heads)
    top = f'<p class="over">slicewright rehearsal</p><div class="title"><h1>{title}</h1></div>'
    sections = "".join(_group(group, f"g{index}") for index, group in enumerate(groups))
    return filled(frame, style, title, f"<header>{top}{lines}</header>", sections)


def _group(group: Group, key: str) -> str:
    variants = group.variants
    rows = [row for variant in variants for row in variant["workloads"]]
    end = max((span["end"] for row in rows for span in row["states"]), default=_SHORTEST)
    verdicts = "".join(f"<li><p>{variant['verdict']}</p></li>" for variant in variants[1:])
    parts = [
        card(2, "Verdict", f"<ul>{verdicts}</ul>"),
        card(2, "Timeline", legend(occurring(rows)), when(end), *_rows(variants, end, key)),
        *(
            table(
                sheet.title.capitalize(),
                [*map(_name_first, sheet.rows)],
                _name_first(sheet.head),
                2,
                f"{key}t{at}",
            )
            for at, sheet in enumerate(tables(group))
        ),
        _problems(variants),
    ]
    label = f'aria-label="{variants[0]["cluster"]}"'
    return f'<section class="cluster" id="{key}" {label}>{"".join(parts)}</section>'


def _problems(variants: Sequence[Object]) -> str:
    entries = [
        f'<li class="problem {problem["severity"]}"><p><b>{variant["name"]}: {problem["id"]}</b>'
        f" {problem['message']}</p></li>"
        for variant in variants
        for problem in variant["problems"]
    ]
    return card(2, "Problems", f"<ul>{''.join(entries)}</ul>") if entries else ""


def _name_first(row: Sequence[str]) -> list[str]:
    """Return the cells of a row with the variant, which is last in a terminal, first."""
    return [row[-1], *row[:-1]]


def _rows(variants: Sequence[Object], end: float, key: str) -> Iterator[str]:
    """Yield for runs that are compared as one their name, and their rows of each variant, the first first."""
    everything = {"workloads": [row for variant in variants for row in variant["workloads"]]}
    for at, runs in enumerate(compared(variants[0], everything)):
        rows = [[row for row in variant["workloads"] if row["name"] in runs.names] for variant in variants]
        yield f'<p class="sweep">{called(runs, max(map(len, rows)))}</p>'
        for number, (variant, own) in enumerate(zip(variants, rows, strict=True)):
            for place, row in enumerate(sorted(own, key=_begin)):
                picture = timeline({**row, "evictions": []}, (), end, f"{key}r{at}v{number}n{place}")
                left = who("div", variant["name"], ", ".join(_facts(row)))
                plot = f'<div class="plot">{picture}</div>{icon(row["outcome"])}'
                yield f'<div class="line">{left}{plot}</div>'


def _begin(row: Object) -> tuple[bool, float]:
    return row["started"] is None, row["started"] or 0.0


def _facts(row: Object) -> Iterator[str]:
    ended = "" if row["ended"] is None else f" at {shown(row['ended'])}"
    yield OUTCOMES[row["outcome"]] + ended
    if row["started"] is not None:
        yield f"started at {shown(row['started'])}"
