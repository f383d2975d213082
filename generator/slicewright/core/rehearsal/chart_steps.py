"""Chips in use along the time as a step chart, against the limit and what is there."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from slicewright.core.rehearsal.chart_axis import grid
from slicewright.core.rehearsal.duration import shown
from slicewright.core.rehearsal.svg import Markup, element, number, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slicewright.core.kubernetes.types import Object

Steps = list[list[float]]

_HEIGHT, _HEAD, _FOOT = 96.0, 10.0, 4.0
_COLUMNS = 1000
"""Moments that a chart tells apart: more than most screens do."""
_LEAST_GAP = 13.0
"""Pixels between two labels of the scale that can both be read."""


def chart(usage: Object, end: float, key: str) -> tuple[Markup, Markup]:
    """Return the picture and its scale; `key` makes the ids in it unique in the page."""
    limit, top = usage["limitChips"], max(usage["limitChips"], usage["peakChips"], 1)
    used = thinned(usage["used"], end)
    drawn = [
        element("path", class_="area", d=f"{_line(used, end, top)}V{number(_y(0, top))}H0Z"),
        element("path", class_="used", d=_line(used, end, top)),
    ]
    if usage["there"]:
        drawn.append(element("path", class_="there", d=_line(thinned(usage["there"], end), end, top)))
    stretched = element(
        "svg",
        *drawn,
        width="100%",
        height=_HEIGHT,
        viewBox=f"0 0 {_COLUMNS} {number(_HEIGHT)}",
        preserveAspectRatio="none",
    )
    picture = element(
        "svg",
        element("title", f"{usage['name']}: chips in use", id=f"{key}t"),
        element("desc", described(usage), id=f"{key}d"),
        grid(end, _HEIGHT),
        stretched,
        *_borrowed(used, end, limit, top),
        element("line", class_="base", x1="0", x2="100%", y1=_y(0, top), y2=_y(0, top)),
        element("line", class_="limit", x1="0", x2="100%", y1=_y(limit, top), y2=_y(limit, top)),
        class_="steps",
        role="img",
        aria_labelledby=f"{key}t",
        aria_describedby=f"{key}d",
        width="100%",
        height=_HEIGHT,
    )
    return picture, _scale(usage, top)


def described(usage: Object) -> str:
    """Return what a chart shows as a sentence."""
    parts = [
        f"{usage['utilisation']:.0%} of {usage['limitChips']:,} chips in use on average",
        f"peak {usage['peakChips']:,}",
    ]
    if usage["borrowedChips"]:
        parts.append(f"borrowed up to {usage['borrowedChips']:,}")
    if usage["there"]:
        begin, most = int(usage["there"][0][1]), int(max(value for _, value in usage["there"]))
        parts.append(f"nodes with {begin:,} chips at the start and {most:,} at most")
    return ", ".join(parts)


def thinned(steps: Steps, end: float) -> Steps:
    """Return steps as a screen can show them: of those in one column the highest, the lowest and the last."""
    found: Steps = []
    for column, group in groupby(steps, key=lambda step: int(step[0] / end * _COLUMNS)):
        together = list(group)
        if len(together) == 1:
            found += together
            continue
        values = [value for _, value in together]
        kept = dict.fromkeys((max(values), min(values)))
        kept.pop(values[-1], None)
        found += [[column * end / _COLUMNS, value] for value in (*kept, values[-1])]
    return found


def above(steps: Steps, end: float, limit: float) -> list[tuple[float, float, float]]:
    """Return (start, end, value) of each time in which more than the limit was in use."""
    following = [*(at for at, _ in steps[1:]), end]
    return [
        (at, until, value)
        for (at, value), until in zip(steps, following, strict=True)
        if value > limit and until > at
    ]


def borrowed_seconds(usage: Object, end: float) -> str:
    """Return how long a queue had more than its quota."""
    return shown(sum(until - at for at, until, _ in above(usage["used"], end, usage["limitChips"])))


def _y(value: float, top: float) -> float:
    return _HEIGHT - _FOOT - (_HEIGHT - _HEAD - _FOOT) * value / top


def _line(steps: Sequence[Sequence[float]], end: float, top: float) -> str:
    parts: list[str] = []
    last_x = last_y = ""
    for at, value in steps:
        x, y = number(min(1.0, at / end) * _COLUMNS), number(_y(value, top))
        if not parts:
            parts.append(f"M{x} {y}")
        else:
            parts.append((f"H{x}" if x != last_x else "") + (f"V{y}" if y != last_y else ""))
        last_x, last_y = x, y
    return "".join([*parts, f"H{_COLUMNS}"])


def _borrowed(used: Steps, end: float, limit: float, top: float) -> list[Markup]:
    return [
        element(
            "rect",
            class_="borrowed",
            x=percent(at, end),
            y=_y(value, top),
            width=percent(until - at, end),
            height=_y(limit, top) - _y(value, top),
        )
        for at, until, value in above(used, end, limit)
    ]


def _scale(usage: Object, top: float) -> Markup:
    """Return the numbers at the right of a chart: the limit, the peak where it has room, and 0."""
    shown_at: list[float] = []
    words = []
    for value in (usage["limitChips"], usage["peakChips"], 0):
        y = _y(value, top)
        if all(abs(y - other) >= _LEAST_GAP for other in shown_at):
            shown_at.append(y)
            words.append(element("text", f"{value:,}", x=5.0, y=y + 4.0))
    return element("svg", *words, class_="scale", aria_hidden="true", width=52.0, height=_HEIGHT)
