"""The time below all charts of a rehearsal: where its marks stand and what they say."""

from __future__ import annotations

from slicewright.core.rehearsal.duration import shown
from slicewright.core.rehearsal.svg import Markup, element, joined, percent

_MOST = 6
"""Intervals that have room for their labels on the narrowest screen."""
_DAY = 86_400
_STEPS = (
    0.1,
    0.2,
    0.5,
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    10_800,
    21_600,
    43_200,
)
_EDGE = 0.96


def ticks(end: float) -> list[float]:
    """Return round moments from 0 up to an end, at most seven."""
    step = next((step for step in _STEPS if end / step <= _MOST), 0.0)
    if not step:
        step = _DAY
        while end / step > _MOST:
            step *= 2
    return [index * step for index in range(int(end / step + 1e-9) + 1)]


def label(at: float) -> str:
    """Return a moment in as few characters as tell it: `0`, `30s`, `2m`, `1h30m`."""
    if not at:
        return "0"
    text = shown(at)
    if text.endswith(".0s"):
        return text.replace(".0s", "s")
    return text[:-3] if text[-3:] in ("00s", "00m", "00h") else text


def axis(end: float) -> Markup:
    """Return the labels of the time, as wide as what they stand above."""
    words = [
        element(
            "text",
            label(at),
            x=percent(at, end),
            y=13.0,
            text_anchor="start" if not at else "end" if at / end > _EDGE else "middle",
        )
        for at in ticks(end)
    ]
    return element("svg", *words, class_="axis", aria_hidden="true", width="100%", height=18.0)


def grid(end: float, height: float) -> Markup:
    """Return the lines that lead from the labels of the time through a chart."""
    return element(
        "g",
        joined(
            *(
                element("line", x1=percent(at, end), x2=percent(at, end), y1=0.0, y2=height)
                for at in ticks(end)
            )
        ),
        class_="grid",
    )
