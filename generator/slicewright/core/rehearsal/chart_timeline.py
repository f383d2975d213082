"""One run along the time: its states as patterns, what happened to it as marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.rehearsal.chart_axis import grid
from slicewright.core.rehearsal.chart_symbols import OUTCOMES, mark
from slicewright.core.rehearsal.duration import shown
from slicewright.core.rehearsal.svg import Markup, element, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slicewright.core.kubernetes.types import Object


_TOP, _BAR, _BELOW = 13.0, 15.0, 13.0
_THINNEST = 0.002
"""Share of the width that a state gets at least, so that it can be seen."""
_MOST_MARKS = 60
_MARKED = ("fault", "restarted")
_ENDS = ("finished", "failed", "refused")


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
        element("desc", described(run), id=f"{key}d"),
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


def described(run: Object) -> str:
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
