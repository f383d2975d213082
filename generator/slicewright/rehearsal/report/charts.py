"""The pictures of a rehearsal's page: runs and chips along the time, and what patterns and marks mean.

Records are escaped already (`markup.escaped`).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise

from slicewright.core.kubernetes.types import Object
from slicewright.rehearsal.model.duration import shown
from slicewright.rehearsal.report.markup import number, percent

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


def mark(name: str, *inside: str, x: str, y: float = 0.0) -> str:
    """Return the mark of a thing that happened, at its moment."""
    return (
        f'<svg class="mark {name}" x="{x}" y="{number(y)}" overflow="visible">{"".join(inside)}'
        f'<use href="#m-{name}"/></svg>'
    )


def icon(outcome: str) -> str:
    """Return the sign of an outcome; what it means is written beside it."""
    return (
        f'<svg class="icon {outcome}" aria-hidden="true" width="18" height="18" viewBox="0 0 16 16">'
        f'<use href="#i-{outcome}"/></svg>'
    )


def occurring(runs: Iterable[Object], events: Iterable[Object] = ()) -> set[str]:
    """Return the states and marks that are in the pictures of runs with these events."""
    names = {event["kind"] for event in events if event["kind"] in _MARKED}
    for run in runs:
        names |= {span["state"] for span in run["states"]} | {run["outcome"]}
        if run["evictions"]:
            names.add("evicted")
    return names


def legend(names: Collection[str]) -> str:
    """Return what these patterns and marks mean, in words."""
    entries = [
        swatch(f'<rect class="{name}" width="100%" height="100%"/>', f"<b>{name}</b> {meaning}")
        for name, meaning in STATES.items()
        if name in names
    ]
    entries += [
        swatch(mark(name, x="50%", y=8.0 if name == "fault" else 2.0), meaning)
        for name, meaning in MARKS.items()
        if name in names
    ]
    return f'<ul class="legend">{"".join(entries)}</ul>'


def swatch(drawn: str, meaning: str) -> str:
    """Return an entry of a legend."""
    return f'<li><svg aria-hidden="true" width="26" height="16">{drawn}</svg><span>{meaning}</span></li>'


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


def axis(end: float) -> str:
    """Return the labels of the time, as wide as what they are above."""
    words = []
    for at in ticks(end):
        anchor = "start" if not at else "end" if at / end > _EDGE else "middle"
        words.append(f'<text x="{percent(at, end)}" y="13" text-anchor="{anchor}">{label(at)}</text>')
    return f'<svg class="axis" aria-hidden="true" width="100%" height="18">{"".join(words)}</svg>'


def grid(end: float, height: float) -> str:
    """Return the lines that lead from the labels of the time through a chart."""
    moments = (percent(at, end) for at in ticks(end))
    lines = (f'<line x1="{x}" x2="{x}" y1="0" y2="{number(height)}"/>' for x in moments)
    return f'<g class="grid">{"".join(lines)}</g>'


def _picture(kind: str, key: str, title: str, description: str, height: float, drawn: Iterable[str]) -> str:
    """Return a picture with its title and its description; `key` makes their ids unique in the page."""
    return (
        f'<svg class="{kind}" role="img" aria-labelledby="{key}t" aria-describedby="{key}d" width="100%"'
        f' height="{number(height)}"><title id="{key}t">{title}</title><desc id="{key}d">{description}</desc>'
        f"{''.join(drawn)}</svg>"
    )


def timeline(run: Object, events: Sequence[Object], end: float, key: str) -> str:
    """Return the picture of a run; `events` are its own, `key` makes the ids in it unique in the page."""
    has_fault = any(event["kind"] == "fault" for event in events)
    height = _TOP + _BAR + (_BELOW if has_fault else 4.0)
    bars = []
    for span in run["states"]:
        x, width = (
            percent(span["start"], end),
            percent(max(span["end"] - span["start"], _THINNEST * end), end),
        )
        place = f'x="{x}" y="{number(_TOP)}" width="{width}" height="{number(_BAR)}"'
        bars.append(f'<rect class="{span["state"]}" {place}><title>{_period(span)}</title></rect>')
    drawn = (grid(end, height), *bars, *islice(_marks(run, events, end), _MOST_MARKS))
    return _picture("bar", key, f"{run['run']}: {OUTCOMES[run['outcome']]}", _states(run), height, drawn)


def _states(run: Object) -> str:
    parts = [_period(span) for span in run["states"]]
    parts += [f"evicted at {shown(eviction['at'])}: {eviction['reason']}" for eviction in run["evictions"]]
    return "; ".join(parts) or "it had no state"


def _period(span: Object) -> str:
    start, end = span["start"], span["end"]
    return f"{span['state']} from {shown(start)} to {shown(end)}, {shown(end - start)}"


def _marks(run: Object, events: Sequence[Object], end: float) -> Iterator[str]:
    for event in events:
        if event["kind"] in _MARKED:
            reason = event["reason"] if event["kind"] == "fault" else f"attempt {event.get('attempt', 0)}"
            yield _mark(event["kind"], event["at"], end, reason, event.get("message", ""))
    for eviction in run["evictions"]:
        yield _mark("evicted", eviction["at"], end, eviction["reason"], eviction["message"])
    at = run["submitted"] if run["outcome"] == "refused" else run["ended"]
    if run["outcome"] in _ENDS and at is not None:
        yield _mark(run["outcome"], at, end)


def _mark(name: str, at: float, end: float, *words: str) -> str:
    title = f"<title>{': '.join(filter(None, (f'{name} at {shown(at)}', *words)))}</title>"
    if name == "fault":
        return mark(name, title, x=percent(at, end), y=_TOP + _BAR + 6.0)
    stem = f'<line class="stem" y1="{number(_TOP - 3)}" y2="{number(_TOP + _BAR)}"/>'
    return mark(name, title, stem, x=percent(at, end))


def chart(usage: Object, end: float, key: str) -> tuple[str, str]:
    """Return the picture and its scale; `key` makes the ids in it unique in the page.

    Chips that runs wait for have no limit, and nothing of them is borrowed.
    """
    limit, top = usage["limitChips"], max(usage["limitChips"], usage["peakChips"], 1)
    used = thinned(usage["used"], end)
    lines = {"area": f"{_line(used, end, top)}V{number(_y(0, top))}H0Z", "used": _line(used, end, top)}
    if usage["there"]:
        lines["there"] = _line(thinned(usage["there"], end), end, top)
    height = number(_HEIGHT)
    paths = "".join(f'<path class="{name}" d="{line}"/>' for name, line in lines.items())
    stretched = (
        f'<svg width="100%" height="{height}" viewBox="0 0 {_COLUMNS} {height}" preserveAspectRatio="none">'
        f"{paths}</svg>"
    )
    levels = [("base", number(_y(0, top)))] + ([("limit", number(_y(limit, top)))] if limit else [])
    drawn = (
        grid(end, _HEIGHT),
        stretched,
        *(_borrowed(used, end, limit, top) if usage["borrowedChips"] else ()),
        *(f'<line class="{name}" x1="0" x2="100%" y1="{y}" y2="{y}"/>' for name, y in levels),
    )
    title = f"{usage['name']}: chips {'in use' if 'utilisation' in usage else 'that runs wait for'}"
    picture = _picture("steps", key, title, described(usage), _HEIGHT, drawn)
    return f'<div class="plot">{picture}</div>', _scale(usage, top)


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


def _borrowed(used: Steps, end: float, limit: float, top: float) -> Iterator[str]:
    for at, until, value in above(used, end, limit):
        y, height = number(_y(value, top)), number(_y(limit, top) - _y(value, top))
        place = f'x="{percent(at, end)}" y="{y}" width="{percent(until - at, end)}" height="{height}"'
        yield f'<rect class="borrowed" {place}/>'


def _scale(usage: Object, top: float) -> str:
    """Return the numbers at the right of a chart: the limit, the peak where it has room, and 0."""
    labels: dict[float, str] = {}
    for value in (usage["limitChips"], usage["peakChips"], 0):
        y = _y(value, top)
        if all(abs(y - other) >= _LEAST_GAP for other in labels):
            labels[y] = f'<text x="5" y="{number(y + 4)}">{value:,}</text>'
    drawn = "".join(labels.values())
    return f'<svg class="scale" aria-hidden="true" width="52" height="{number(_HEIGHT)}">{drawn}</svg>'
