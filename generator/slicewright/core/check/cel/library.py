"""CEL rules that the table does not have, evaluated by a library where it is installed: `slicewright[cel]`.

It is imported where such a rule exists, for that takes longer than the whole check of a file. What it cannot
compute as the API server does stays without a verdict.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any

from slicewright.core.check.cel.value import values_at
from slicewright.core.compose import patch
from slicewright.core.document.document import values_in
from slicewright.core.kubernetes.quantity import amount
from slicewright.core.kubernetes.read import without_nulls


def _quantity(value: str) -> str:
    number = amount(value) if isinstance(value, str) else None
    if number is None:
        raise ValueError(value)
    return str(number)


_LOWER = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}
_UPPER = {small: large for large, small in _LOWER.items()}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity": _quantity,
    "isQuantity": lambda value: amount(value) is not None,
    "isGreaterThan": lambda left, right: Fraction(left) > Fraction(right),
    "isLessThan": lambda left, right: Fraction(left) < Fraction(right),
    "split": lambda value, at: value.split(at) if at else list(value),
    "join": lambda values, between="": between.join(values),
    "lowerAscii": lambda value: value.translate(_LOWER),
    "upperAscii": lambda value: value.translate(_UPPER),
    "characters": len,
    "trim": lambda value: value.strip(),
    "isSorted": lambda values: values == sorted(values),
    "sum": sum,
    "min": min,
    "max": max,
}
"""Functions of Kubernetes beyond those of CEL itself; a quantity is the text of its exact number."""
_STANDARD = frozenset(
    {
        *("contains", "startsWith", "endsWith", "matches"),
        *("type", "int", "uint", "double", "string", "dyn"),
    }
)


_SIZE = re.compile(r"\bsize\s*\(")
"""The library counts bytes of a text, the API server its characters."""
_LOOP = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(")
_LONGEST = 4_000
"""Characters of a rule: the library ends the process on one of some ten thousand terms."""
_MOST_STEPS = 10**6
"""The API server refuses a CRD whose rules could cost too much; here nothing else bounds loops in loops."""


@cache
def is_installed() -> bool:
    """Tell whether the library is there."""
    try:
        _library()
    except ImportError:
        return False
    return True


@cache
def is_computable(rule: str) -> bool:
    """Tell whether the library knows all that a rule uses. Names with `__` are escaped ones of fields."""
    return "__" not in rule and len(rule) <= _LONGEST and is_installed() and _program(rule) is not None


def keeps(rule: str, value: Any) -> bool | None:
    """Tell whether a value keeps a rule; None where the library cannot tell.

    A rule that reads a field, an element or a quotient that is not there fails, as it does in the API server.
    Where numbers of two types meet, the types of the schema decide there, and nobody here.
    """
    program, loops = _program(rule), len(_LOOP.findall(rule))
    if loops > 1 and _longest(value) ** loops > _MOST_STEPS:
        return None
    if "matches" in program.functions() and not json.dumps(value, ensure_ascii=False).isascii():
        return None  # \d, \w and \s are ASCII in the API server, and Unicode in the library
    context = _library().Context({"self": value}, functions=_FUNCTIONS)
    try:
        verdict = program.execute(context)
    except (KeyError, IndexError, ZeroDivisionError):
        return False
    except (TypeError, RuntimeError, ValueError, OverflowError):
        return None
    return verdict if isinstance(verdict, bool) else None


@cache
def _library() -> Any:
    from logging import NullHandler, getLogger  # noqa: PLC0415 - a check starts without it

    getLogger("cel").addHandler(NullHandler())  # it reports each function that fails; the verdict says that
    return import_module("cel")


@cache
def _program(rule: str) -> Any:
    try:
        program = _library().compile(_SIZE.sub("characters(", rule))
    except ValueError:
        return None
    functions = {name for name in program.functions() if name[0].isalpha()}
    return program if functions <= {*_FUNCTIONS, *_STANDARD} else None


def completed(data: Any, defaults: Iterable[Mapping[str, Any]]) -> Any:
    """Return an object as the API server validates it: without nulls, and with the defaults of its CRD."""
    filled = without_nulls(data)
    for default in defaults:
        *way, name = patch.parse_pointer(default["path"])
        for _, holder in values_at(filled, tuple(way)):
            if isinstance(holder, dict):
                holder.setdefault(name, without_nulls(default["value"]))
    return filled


def _longest(value: Any) -> int:
    """Return the length of the longest list, mapping or text in a value."""
    return max(len(item) if isinstance(item, dict | list | str) else 0 for _, item in values_in(value))
