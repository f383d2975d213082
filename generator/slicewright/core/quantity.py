"""Kubernetes quantities in their canonical form, so that what is written equals what the API server keeps."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_KIBI = 1024


def canonical(value: str | float) -> str:
    """Return a quantity as Kubernetes writes it (apimachinery, resource.Quantity): "1000m" becomes "1".

    No fraction is left, the suffix is the largest that leaves none, and the family of the suffix (binary,
    decimal, exponent) stays as written; what is finer than a nano is rounded up. Raises ValueError for
    what is no quantity.
    """
    text = str(value)
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no quantity; write for example 500m, 4, 1.5Gi or 2e9")
    number, suffix = Decimal(found[1]), found[2] or ""
    if suffix.endswith("i"):
        return _binary(number * _KIBI ** _BINARY.index(suffix))
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return _scaled(number.scaleb(int(suffix[1:])), exponents=True)
    return _scaled(number.scaleb(_DECIMAL[suffix]), exponents=False)


def _binary(number: Decimal) -> str:
    if number != number.to_integral_value():
        return _scaled(number, exponents=False)
    whole, index = int(number), 0
    while whole and whole % _KIBI == 0 and index < len(_BINARY) - 1:
        whole, index = whole // _KIBI, index + 1
    return f"{whole}{_BINARY[index]}"


def _scaled(number: Decimal, *, exponents: bool) -> str:
    nanos = int(number.scaleb(9).to_integral_value(ROUND_CEILING))
    exponent = -9
    largest = _DECIMAL["E"]
    while nanos and nanos % 1000 == 0 and (exponents or exponent < largest):
        nanos, exponent = nanos // 1000, exponent + 3
    if not nanos:
        return "0"
    if exponents:
        return f"{nanos}e{exponent}" if exponent else str(nanos)
    return f"{nanos}{_SUFFIX[exponent]}"
