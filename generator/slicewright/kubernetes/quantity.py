"""Quantities as the API server keeps them, and time spans (metav1.Duration) as Go reads them."""

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

QUANTITY = r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?"
"""The form of a number and its suffix, as a regular expression."""
_QUANTITY = re.compile(QUANTITY)
LONGEST = 64
"""Characters; Python would take its time for much longer numbers."""
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_KIBI = 1024
UNLIMITED = Fraction(10**1500)
"""An unknown quota: a number above any real quota, so that sums and comparisons work."""
_MOST_BYTES = 2**63 - 1
"""Kubernetes cuts quantities with a binary suffix down to this."""


@lru_cache(maxsize=4096, typed=True)
def canonical(value: str | float) -> str:
    """Return a quantity as Kubernetes writes it (apimachinery, resource.Quantity): "1000m" becomes "1".

    No fraction is left, the suffix is the largest that leaves none, and the family of the suffix (binary,
    decimal, exponent) stays as written; what is finer than a nano is rounded away from zero. Raises
    ValueError for what is not a valid quantity.
    """
    number, suffix = _parsed(str(value))
    sign = "-" if number < 0 else ""
    if suffix in _BINARY[1:]:
        return sign + _binary(abs(number) * _factor(suffix))
    return sign + _scaled(_nanos(abs(number) * _factor(suffix)), exponents=suffix not in _DECIMAL)


def written(value: Fraction) -> str:
    """Return an amount as Kubernetes writes it, with a decimal suffix."""
    return _scaled(_nanos(value), exponents=False)


def whole(value: str | float) -> int:
    """Return a quantity of what comes in whole numbers, such as chips, rounded up. Raises ValueError."""
    return ceil(_number(str(value)))


def amount(value: Any) -> Fraction | None:
    """Return a quantity as a number; None for what is not a quantity."""
    try:
        return _number(str(value))
    except ValueError:
        return None


def plain(value: Fraction) -> str:
    """Return a number as people write it, without exponent, suffix or needless zeros; to a nano."""
    digits = f"{round(abs(value) * 10**9):010d}"
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-9]}.{digits[-9:]}".rstrip("0").rstrip(".")


def is_limited(value: Fraction) -> bool:
    """Tell whether an amount is known: sums and differences with UNLIMITED are not."""
    return value * 2 < UNLIMITED


@lru_cache(maxsize=4096)
def _number(text: str) -> Fraction:
    number, suffix = _parsed(text)
    return number * _factor(suffix)


def _parsed(text: str) -> tuple[Fraction, str]:
    match = _QUANTITY.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        raise ValueError(f"'{text}' is not a valid quantity; write for example 500m, 4, 1.5Gi or 2e9")
    return Fraction(match[1]), match[2] or ""


def _factor(suffix: str) -> Fraction:
    if suffix in _BINARY[1:]:
        return Fraction(_KIBI ** _BINARY.index(suffix))
    return Fraction(10) ** (_DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:]))


def _nanos(number: Fraction) -> int:
    return ceil(number * 10**9)


def _binary(number: Fraction) -> str:
    """Write an amount with a binary suffix; where that would be a fraction, or says nothing, decimally."""
    if number > _MOST_BYTES:
        return str(_MOST_BYTES)
    if number < _KIBI or number.denominator != 1:
        return _scaled(_nanos(number), exponents=False)
    whole, index = int(number), 0
    while whole % _KIBI == 0:
        whole, index = whole // _KIBI, index + 1
    return f"{whole}{_BINARY[index]}"


def _scaled(nanos: int, *, exponents: bool) -> str:
    if not nanos:
        return "0"
    exponent = -9
    while nanos % 1000 == 0:
        nanos, exponent = nanos // 1000, exponent + 3
    if exponents or exponent not in _SUFFIX:
        return f"{nanos}e{exponent}" if exponent else str(nanos)
    return f"{nanos}{_SUFFIX[exponent]}"


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
_MOST_NANOSECONDS = 2**63 - 1
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
    if total > _MOST_NANOSECONDS:
        return None
    return Fraction(-total if match[1] == "-" else total, 10**9)


def without_days(text: str) -> str:
    """Return a time span of slicewright's files as Go reads it: with its days as hours."""
    return _DAYS.sub(lambda days: f"{Decimal(days[1]) * _HOURS:f}h", text)
