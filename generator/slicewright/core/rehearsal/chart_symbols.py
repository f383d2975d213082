"""What the charts are drawn with: a pattern for each state, a shape for each thing that happens."""

from __future__ import annotations

from slicewright.core.rehearsal.svg import Markup, element

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

_PATTERNS = {
    "queued": (6, "M-1 7L7 -1M-1 1L1 -1M5 7L7 5"),
    "starting": (5, "M0 1.5H5M0 4H5"),
    "restarting": (7, "M-1 8L8 -1M-1 -1L8 8"),
    "borrowed": (5, "M-1 6L6 -1M-1 -1L6 6"),
}
"""Size of a tile and the lines in it; `running` is a full area, `reserved` has dots."""

_SHAPES = {
    "evicted": "M-5.5 1.5H5.5L0 11Z",
    "fault": "M-5 -4.5L-1.8 0L-5 4.5L0 1.8L5 4.5L1.8 0L5 -4.5L0 -1.8Z",
    "finished": "M0 1A5 5 0 1 1 0 11A5 5 0 1 1 0 1Z",
    "failed": "M-5 1H5V11H-5Z",
}
_ICONS = {
    "finished": "M4 8.4L7 11.2L12 5.2",
    "failed": "M5 5L11 11M11 5L5 11",
    "refused": "M3.6 12.4L12.4 3.6",
    "waiting": "M8 4V8.4L10.8 10",
    "running": "M6.4 4.9L11.3 8L6.4 11.1Z",
    "notSubmitted": "M4.6 8H11.4",
}
_RADIUS = 6.8


def symbols() -> Markup:
    """Return the drawing that holds all patterns and shapes, to be put into a page once."""
    patterns = [_pattern(name, size, element("path", d=lines)) for name, (size, lines) in _PATTERNS.items()]
    dots = element("circle", cx=1.5, cy=1.5, r=1.1), element("circle", cx=4.5, cy=4.5, r=1.1)
    patterns.append(_pattern("reserved", 6, *dots))
    shapes = [element("path", id=f"m-{name}", d=path) for name, path in _SHAPES.items()]
    shapes.append(element("circle", id="m-restarted", cx=0.0, cy=6.0, r=4.0))
    shapes.append(
        element(
            "g",
            element("circle", cx=0.0, cy=6.0, r=4.0),
            element("line", x1=-2.8, y1=8.8, x2=2.8, y2=3.2),
            id="m-refused",
        )
    )
    icons = [
        element("g", element("circle", cx=8.0, cy=8.0, r=_RADIUS), element("path", d=path), id=f"i-{name}")
        for name, path in _ICONS.items()
    ]
    return element(
        "svg",
        element("defs", *patterns, *shapes, *icons),
        class_="defs",
        aria_hidden="true",
        width=0.0,
        height=0.0,
    )


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


def _pattern(name: str, size: int, *inside: Markup) -> Markup:
    ground = element("rect", width=float(size), height=float(size))
    return element(
        "pattern",
        ground,
        *inside,
        id=f"p-{name}",
        class_=f"p {name}",
        patternUnits="userSpaceOnUse",
        width=float(size),
        height=float(size),
    )
