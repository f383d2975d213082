"""Time spans as people write them (`1h30m`), and seconds as people read them."""

import re

from slicewright.kubernetes import quantity

_TENTHS_BELOW = 10
_WHOLE = re.compile(r"([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+")
_LONGEST = 32
"""The characters of a text that can mean a span."""
_WITHIN = re.compile(
    r"([0-3]?[0-9]{1,11}(\.[0-9]+)?ms|[0-3]?[0-9]{1,8}(\.[0-9]+)?s|[0-5]?[0-9]{1,6}(\.[0-9]+)?m"
    r"|[0-8]?[0-9]{1,4}(\.[0-9]+)?h|[0-3]?[0-9]{1,3}(\.[0-9]+)?d)+"
)
"""The pattern of schemas/slicewright/common.json: each number is ten years or a little more at most."""


def is_duration(text: str) -> bool:
    """Tell whether a text is a time span: numbers with ms, s, m, h or d, one or several in a row.

    A span of more than about ten years is refused: clocks have an end.
    """
    return len(text) <= _LONGEST and _WITHIN.fullmatch(text) is not None


def why_not(text: str) -> str:
    """Return why a text is not a time span."""
    quoted = f"'{text[:_LONGEST]}{'…' * (len(text) > _LONGEST)}'"
    if _WHOLE.fullmatch(text):
        return f"{quoted} is longer than ten years; write 3650d at most"
    return f"{quoted} is not a time span; write for example 90s or 1h30m"


def seconds(text: str) -> float:
    """Return the seconds of a time span that its schema accepts."""
    return float(quantity.seconds(quantity.without_days(text)) or 0)


def shown_within(value: float, resolution: float) -> str:
    """Return measured seconds as people read them: `less than` the time resolution, or whole seconds."""
    return whole_seconds(value) if value >= resolution else f"less than {shown(resolution)}"


def shown(value: float) -> str:
    """Return seconds as people read them: `4.2s`, `3m05s`, `2h10m`, `5d04h`."""
    if round(value, 1) < _TENTHS_BELOW:
        return f"{value:.1f}s"
    return whole_seconds(value)


def whole_seconds(value: float) -> str:
    """Return seconds as people read them, without tenths: for the column of a table."""
    whole = round(value)
    for unit, smaller, size, part in (("d", "h", 86_400, 3600), ("h", "m", 3600, 60), ("m", "s", 60, 1)):
        if whole >= size:
            return f"{whole // size}{unit}{whole % size // part:02}{smaller}"
    return f"{whole}s"
