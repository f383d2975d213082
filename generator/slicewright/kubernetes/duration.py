"""Time spans of Kubernetes objects (metav1.Duration), as Go's time.ParseDuration reads them."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

_NANOSECONDS = {
    "ns": 1,
    **dict.fromkeys(("us", "µs", "μs"), 10**3),
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(rf"(?=\.?[0-9])0*([0-9]{{0,19}})(?:\.([0-9]*))?({'|'.join(_NANOSECONDS)})")
_SPAN = re.compile(rf"([+-]?)(?:0|((?:{_PART.pattern})+))")
_MOST_DIGITS = 18
"""Digits of a fraction that count; Go reads one more of some, which is a nanosecond at most."""
_MOST = 2**63 - 1
_DAYS = re.compile(r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?)d")
_HOURS = 24


def seconds(value: Any) -> Fraction | None:
    """Return the seconds of a time span; None for what Go refuses."""
    match = _SPAN.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    total = 0
    for whole, written, unit in _PART.findall(match[2] or ""):
        fraction = written[:_MOST_DIGITS]
        total += int(whole or 0) * _NANOSECONDS[unit]
        total += int(int(fraction or 0) * (_NANOSECONDS[unit] / 10 ** len(fraction)))  # in floats, as Go does
    if total > _MOST:
        return None
    return Fraction(-total if match[1] == "-" else total, 10**9)


def without_days(text: str) -> str:
    """Return a time span of slicewright's files as Go reads it: with its days as hours."""
    return _DAYS.sub(lambda days: f"{Decimal(days[1]) * _HOURS:f}h", text)
