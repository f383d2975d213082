"""The pictures of a rehearsal's page: runs and chips along the time, and what patterns and marks mean.

`Markup.format` and `Markup.join` escape whatever is not Markup.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise

from markupsafe import Markup

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.time_span import shown

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


def number(value: float) -> str:
    """Return a number with at most two decimals: `12.5`, `100`."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def percent(part: float, whole: float) -> str:
    """Return a part of a whole as a percentage of the width of its picture: `12.5%`."""
    return f"{number(100 * min(1.0, max(0.0, part / whole)))}%"


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup().join(parts)


def mark(name: str, *inside: Markup, x: str, y: float = 0.0) -> Markup:
    """Return the mark of an event at its moment."""
    return Markup(
        '<svg class="mark {0}" x="{1}" y="{2}" overflow="visible">{3}<use href="#m-{0}"/></svg>'
    ).format(name, x, number(y), _joined(inside))


def icon(outcome: str) -> Markup:
    """Return the icon of an outcome, which is also written beside it."""
    return Markup(
        '<svg class="icon {0}" aria-hidden="true" width="18" height="18" viewBox="0 0 16 16">'
        '<use href="#i-{0}"/></svg>'
    ).format(outcome)


def occurring(runs: Iterable[Object], events: Iterable[Object] = ()) -> set[str]:
    """Return the states and marks that occur in the pictures of runs with these events."""
    names = {event["kind"] for event in events if event["kind"] in _MARKED}
    for run in runs:
        names |= {span["state"] for span in run["states"]} | {run["outcome"]}
        if run["evictions"]:
            names.add("evicted")
    return names


def legend(names: Collection[str]) -> Markup:
    """Return what these patterns and marks mean, in words."""
    bar, words = Markup('<rect class="{}" width="100%" height="100%"/>'), Markup("<b>{}</b> {}")
    entries = [
        swatch(bar.format(name), words.format(name, meaning))
        for name, meaning in STATES.items()
        if name in names
    ]
    entries += [
        swatch(mark(name, x="50%", y=8.0 if name == "fault" else 2.0), meaning)
        for name, meaning in MARKS.items()
        if name in names
    ]
    return Markup('<ul class="legend">{}</ul>').format(_joined(entries))


def swatch(drawn: Markup, meaning: str) -> Markup:
    """Return an entry of a legend."""
    return Markup('<li><svg aria-hidden="true" width="26" height="16">{}</svg><span>{}</span></li>').format(
        drawn, meaning
    )


def ticks(end: float) -> list[float]:
    """Return round moments from 0 up to an end, at most seven."""
    step = next((step for step in _STEPS if end / step <= _MOST_INTERVALS), _DAY)
    while end / step > _MOST_INTERVALS:
        step *= 2
    return [index * step for index in range(int(end / step + 1e-9) + 1)]


def label(at: float) -> str:
    """Return a moment in as few characters as tell it: `0`, `30s`, `2m`, `1h30m`."""
    if not at:
        return "0"
    text = shown(at).replace(".0s", "s")
    return text[:-3] if text[-3:] in ("00s", "00m", "00h") else text


def axis(end: float) -> Markup:
    """Return the labels of the time, as wide as what they are above."""
    text = Markup('<text x="{}" y="13" text-anchor="{}">{}</text>')
    words = []
    for at in ticks(end):
        anchor = "start" if not at else "end" if at / end > _EDGE else "middle"
        words.append(text.format(percent(at, end), anchor, label(at)))
    return Markup('<svg class="axis" aria-hidden="true" width="100%" height="18">{}</svg>').format(
        _joined(words)
    )


def grid(end: float, height: float) -> Markup:
    """Return the lines that lead from the labels of the time through a chart."""
    line = Markup('<line x1="{0}" x2="{0}" y1="0" y2="{1}"/>')
    lines = (line.format(percent(at, end), number(height)) for at in ticks(end))
    return Markup('<g class="grid">{}</g>').format(_joined(lines))


def _picture(
    kind: str, key: str, title: str, description: str, height: float, drawn: Iterable[Markup]
) -> Markup:
    """Return a picture with its title and its description; `key` makes their ids unique in the page."""
    return Markup(
        '<svg class="{kind}" role="img" aria-labelledby="{key}t" aria-describedby="{key}d" width="100%"'
        ' height="{height}"><title id="{key}t">{title}</title><desc id="{key}d">{description}</desc>'
        "{drawn}</svg>"
    ).format(
        kind=kind,
        key=key,
        title=title,
        description=description,
        height=number(height),
        drawn=_joined(drawn),
    )


def timeline(run: Object, events: Sequence[Object], end: float, key: str) -> Markup:
    """Return the picture of a run; `events` are its own, `key` makes the ids in it unique in the page."""
    has_fault = any(event["kind"] == "fault" for event in events)
    height = _TOP + _BAR + (_BELOW if has_fault else 4.0)
    rect = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>')
    bars = [
        rect.format(
            span["state"],
            percent(span["start"], end),
            number(_TOP),
            percent(max(span["end"] - span["start"], _THINNEST * end), end),
            number(_BAR),
            _period(span),
        )
        for span in run["states"]
    ]
    drawn = (grid(end, height), *bars, *islice(_marks(run, events, end), _MOST_MARKS))
    return _picture("bar", key, f"{run['run']}: {OUTCOMES[run['outcome']]}", _states(run), height, drawn)


def _states(run: Object) -> str:
    parts = [_period(span) for span in run["states"]]
    parts += [f"evicted at {shown(eviction['at'])}: {eviction['reason']}" for eviction in run["evictions"]]
    return "; ".join(parts) or "it had no state"


def _period(span: Object) -> str:
    start, end = span["start"], span["end"]
    return f"{span['state']} from {shown(start)} to {shown(end)}, {shown(end - start)}"


def _marks(run: Object, events: Sequence[Object], end: float) -> Iterator[Markup]:
    for event in events:
        if event["kind"] in _MARKED:
            reason = event["reason"] if event["kind"] == "fault" else f"attempt {event.get('attempt', 0)}"
            yield _mark(event["kind"], event["at"], end, reason, event.get("message", ""))
    for eviction in run["evictions"]:
        yield _mark("evicted", eviction["at"], end, eviction["reason"], eviction["message"])
    at = run["submitted"] if run["outcome"] == "refused" else run["ended"]
    if run["outcome"] in _ENDS and at is not None:
        yield _mark(run["outcome"], at, end)


def _mark(name: str, at: float, end: float, *words: str) -> Markup:
    title = Markup("<title>{}</title>").format(": ".join(filter(None, (f"{name} at {shown(at)}", *words))))
    if name == "fault":
        return mark(name, title, x=percent(at, end), y=_TOP + _BAR + 6.0)
    stem = Markup('<line class="stem" y1="{}" y2="{}"/>').format(number(_TOP - 3), number(_TOP + _BAR))
    return mark(name, title, stem, x=percent(at, end))


def chart(usage: Object, end: float, key: str) -> Markup:
    """Return the picture and its scale; `key` makes the ids in it unique in the page.

    Chips that runs wait for have no limit, and nothing of them is borrowed.
    """
    limit, top = usage["limitChips"], max(usage["limitChips"], usage["peakChips"], 1)
    used = thinned(usage["used"], end)
    lines = {"area": f"{_line(used, end, top)}V{number(_y(0, top))}H0Z", "used": _line(used, end, top)}
    if usage["there"]:
        lines["there"] = _line(thinned(usage["there"], end), end, top)
    path = Markup('<path class="{}" d="{}"/>')
    stretched = Markup(
        '<svg width="100%" height="{0}" viewBox="0 0 {1} {0}" preserveAspectRatio="none">{2}</svg>'
    ).format(number(_HEIGHT), _COLUMNS, _joined(path.format(name, line) for name, line in lines.items()))
    drawn = [grid(end, _HEIGHT), stretched]
    if usage["borrowedChips"]:
        drawn += _borrowed(used, end, limit, top)
    level = Markup('<line class="{0}" x1="0" x2="100%" y1="{1}" y2="{1}"/>')
    drawn.append(level.format("base", number(_y(0, top))))
    if limit:
        drawn.append(level.format("limit", number(_y(limit, top))))
    title = f"{usage['name']}: chips {'in use' if 'utilisation' in usage else 'that runs wait for'}"
    picture = _picture("steps", key, title, described(usage), _HEIGHT, drawn)
    return Markup('<div class="plot">{}</div>{}').format(picture, _scale(usage, top))


def described(usage: Object) -> str:
    """Return what a chart shows as a sentence."""
    if "utilisation" not in usage:
        return f"up to {usage['peakChips']:,} chips"
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
    thin: Steps = []
    for column, group in groupby(steps, key=lambda step: int(step[0] / end * _COLUMNS)):
        together = list(group)
        if len(together) == 1:
            thin += together
            continue
        values = [value for _, value in together]
        kept = dict.fromkeys((max(values), min(values)))
        kept.pop(values[-1], None)
        thin += [[column * end / _COLUMNS, value] for value in (*kept, values[-1])]
    return thin


def above(steps: Steps, end: float, limit: float) -> list[tuple[float, float, float]]:
    """Return (start, end, value) of each time in which more than the limit was in use."""
    return [
        (at, until, value)
        for (at, value), (until, _) in pairwise([*steps, [end, 0]])
        if value > limit and until > at
    ]


def _y(value: float, top: float) -> float:
    return _HEIGHT - _FOOT - (_HEIGHT - _HEAD - _FOOT) * value / top


def _line(steps: Sequence[Sequence[float]], end: float, top: float) -> str:
    path = ""
    last_x = last_y = ""
    for at, value in steps:
        x, y = number(min(1.0, at / end) * _COLUMNS), number(_y(value, top))
        move = (f"H{x}" if x != last_x else "") + (f"V{y}" if y != last_y else "")
        path += move if path else f"M{x} {y}"
        last_x, last_y = x, y
    return f"{path}H{_COLUMNS}"


def _borrowed(used: Steps, end: float, limit: float, top: float) -> Iterator[Markup]:
    rect = Markup('<rect class="borrowed" x="{}" y="{}" width="{}" height="{}"/>')
    for at, until, value in above(used, end, limit):
        y, height = _y(value, top), _y(limit, top) - _y(value, top)
        yield rect.format(percent(at, end), number(y), percent(until - at, end), number(height))


def _scale(usage: Object, top: float) -> Markup:
    """Return the numbers at the right of a chart: the limit, the peak if it has room, and 0."""
    text = Markup('<text x="5" y="{}">{:,}</text>')
    labels: dict[float, Markup] = {}
    for value in (usage["limitChips"], usage["peakChips"], 0):
        y = _y(value, top)
        if all(abs(y - other) >= _LEAST_GAP for other in labels):
            labels[y] = text.format(number(y + 4), value)
    return Markup('<svg class="scale" aria-hidden="true" width="52" height="{}">{}</svg>').format(
        number(_HEIGHT), _joined(labels.values())
    )
