"""The pictures of a rehearsal's page: runs and chips along the time, and what patterns and marks mean."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from slicewright.rehearsal.model.duration import shown
from slicewright.rehearsal.report.markup import Markup, element, joined, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slicewright.core.kubernetes.types import Object

Steps = list[list[float]]

_HEIGHT, _HEAD, _FOOT = 96.0, 10.0, 4.0
_COLUMNS = 1000
"""Moments that a chart tells apart: more than most screens do."""
_LEAST_GAP = 13.0
"""Pixels between two labels of the scale that can both be read."""

STATES = {
    "queued": "no quota yet",
    "reserved": "quota reserved, an admission check is open",
    "starting": "admitted, not all of its TPU pods run",
    "running": "all of its TPU pods run",
    "restarting": "JobSet starts it again",
}
"""States of a run in the order of its life, with what they mean."""

MARKS = {
    "evicted": "Kueue evicted it",
    "restarted": "JobSet restarted it",
    "fault": "a fault that the rehearsal made",
    "finished": "finished",
    "failed": "failed",
    "refused": "refused by the API server",
}
"""Moments that get a mark, with what they mean."""

OUTCOMES = {
    "finished": "finished",
    "failed": "failed",
    "refused": "refused",
    "waiting": "still waiting at the end",
    "running": "still running at the end",
    "notSubmitted": "not submitted",
}

_MOST_INTERVALS = 6
"""Intervals that have room for their labels on the narrowest screen."""
_DAY = 86_400
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_EDGE = 0.96
_TOP, _BAR, _BELOW = 13.0, 15.0, 13.0
_THINNEST = 0.002
"""Share of the width that a state gets at least, so that it can be seen."""
_MOST_MARKS = 60
_MARKED = ("fault", "restarted")
_ENDS = ("finished", "failed", "refused")


def mark(name: str, *inside: str, x: str, y: float = 0.0) -> Markup:
    """Return the mark of a thing that happened, at its moment."""
    drawn = element("use", href=f"#m-{name}")
    return element("svg", *inside, drawn, class_=f"mark {name}", x=x, y=y, overflow="visible")


def icon(outcome: str) -> Markup:
    """Return the sign of an outcome; what it means stands beside it in words."""
    drawn = element("use", href=f"#i-{outcome}")
    return element(
        "svg",
        drawn,
        class_=f"icon {outcome}",
        aria_hidden="true",
        width=18.0,
        height=18.0,
        viewBox="0 0 16 16",
    )


def legend() -> Markup:
    """Return what patterns and marks mean, in words."""
    entries = [
        _entry(_swatch(element("rect", class_=name, width="100%", height="100%")), name, meaning)
        for name, meaning in STATES.items()
    ]
    entries += [
        _entry(_swatch(mark(name, x="50%", y=8.0 if name == "fault" else 2.0)), "", meaning)
        for name, meaning in MARKS.items()
    ]
    return element("ul", *entries, class_="legend")


def _entry(swatch: Markup, name: str, meaning: str) -> Markup:
    words = (element("b", name), f" {meaning}") if name else (meaning,)
    return element("li", swatch, element("span", *words))


def _swatch(drawn: Markup) -> Markup:
    return element("svg", drawn, aria_hidden="true", width=26.0, height=16.0)


def ticks(end: float) -> list[float]:
    """Return round moments from 0 up to an end, at most seven."""
    step = next((step for step in _STEPS if end / step <= _MOST_INTERVALS), 0.0)
    if not step:
        step = _DAY
        while end / step > _MOST_INTERVALS:
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


def timeline(run: Object, events: Sequence[Object], end: float, key: str) -> Markup:
    """Return the picture of a run; `events` are its own, `key` makes the ids in it unique in the page."""
    hit = any(event["kind"] == "fault" for event in events)
    height = _TOP + _BAR + (_BELOW if hit else 4.0)
    bars = [
        element(
            "rect",
            element("title", _said(span)),
            class_=span["state"],
            x=percent(span["start"], end),
            y=_TOP,
            width=percent(max(span["end"] - span["start"], _THINNEST * end), end),
            height=_BAR,
        )
        for span in run["states"]
    ]
    marks = list(_marks(run, events, end))[:_MOST_MARKS]
    return element(
        "svg",
        element("title", f"{run['run']}: {OUTCOMES[run['outcome']]}", id=f"{key}t"),
        element("desc", _states(run), id=f"{key}d"),
        grid(end, height),
        *bars,
        *marks,
        class_="bar",
        role="img",
        aria_labelledby=f"{key}t",
        aria_describedby=f"{key}d",
        width="100%",
        height=height,
    )


def _states(run: Object) -> str:
    """Return the states of a run as a sentence."""
    parts = [_said(span) for span in run["states"]]
    parts += [f"evicted at {shown(found['at'])}: {found['reason']}" for found in run["evictions"]]
    return "; ".join(parts) or "it had no state"


def _said(span: Object) -> str:
    start, end = span["start"], span["end"]
    return f"{span['state']} from {shown(start)} to {shown(end)}, {shown(end - start)}"


def _marks(run: Object, events: Sequence[Object], end: float) -> Iterator[Markup]:
    for event in events:
        if event["kind"] in _MARKED:
            what = event["reason"] if event["kind"] == "fault" else f"attempt {event.get('attempt', 0)}"
            yield _mark(event["kind"], event["at"], end, what, event.get("message", ""))
    for eviction in run["evictions"]:
        yield _mark("evicted", eviction["at"], end, eviction["reason"], eviction["message"])
    at = run["submitted"] if run["outcome"] == "refused" else run["ended"]
    if run["outcome"] in _ENDS and at is not None:
        yield _mark(run["outcome"], at, end)


def _mark(name: str, at: float, end: float, what: str = "", text: str = "") -> Markup:
    words = f"{name} at {shown(at)}" + "".join(f": {part}" for part in (what, text) if part)
    if name == "fault":
        return mark(name, element("title", words), x=percent(at, end), y=_TOP + _BAR + 6.0)
    stem = element("line", class_="stem", y1=_TOP - 3.0, y2=_TOP + _BAR)
    return mark(name, element("title", words), stem, x=percent(at, end))


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
    return element("div", picture, class_="plot"), _scale(usage, top)


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
