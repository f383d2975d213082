"""CEL rules that the table does not have, evaluated by a library where it is installed: `slicewright[cel]`.

It is imported where such a rule exists, for that takes longer than the whole check of a file. What it cannot
compute as the API server does stays without a verdict.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from slicewright.core.check.cel.value import values_at
from slicewright.core.compose import patch
from slicewright.core.kubernetes.quantity import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def _quantity(value: str) -> str:
    found = amount(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    return str(found)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity": _quantity,
    "isQuantity": lambda value: amount(value) is not None,
    "isGreaterThan": lambda one, other: Fraction(one) > Fraction(other),
    "isLessThan": lambda one, other: Fraction(one) < Fraction(other),
    "split": lambda value, at: value.split(at) if at else list(value),
    "join": lambda values, between="": between.join(values),
    "lowerAscii": lambda value: value.lower() if value.isascii() else None,
    "upperAscii": lambda value: value.upper() if value.isascii() else None,
    "trim": lambda value: value.strip(),
    "isSorted": lambda values: values == sorted(values),
    "sum": sum,
    "min": min,
    "max": max,
}
"""Functions of Kubernetes beyond those of CEL itself; a quantity is the text of its exact number."""
_STANDARD = frozenset(
    {
        "size",
        "contains",
        "startsWith",
        "endsWith",
        "matches",
        "type",
        "int",
        "uint",
        "double",
        "string",
        "dyn",
    }
)


@cache
def is_installed() -> bool:
    """Tell whether the library is there."""
    try:
        import_module("cel")
    except ImportError:
        return False
    return True


@cache
def is_computable(rule: str) -> bool:
    """Tell whether the library knows all that a rule uses. Names with `__` are escaped ones of fields."""
    return "__" not in rule and is_installed() and _program(rule) is not None


def keeps(rule: str, value: Any) -> bool | None:
    """Tell whether a value keeps a rule; None where the library cannot tell.

    A rule that reads a field, an element or a quotient that is not there fails, as it does in the API server.
    Where numbers of two types meet, the types of the schema decide there, and nobody here.
    """
    context = import_module("cel").Context({"self": value}, functions=_FUNCTIONS)
    try:
        found = _program(rule).execute(context)
    except (KeyError, IndexError, ZeroDivisionError):
        return False
    except (TypeError, RuntimeError, ValueError, OverflowError):
        return None
    return found if isinstance(found, bool) else None


@cache
def _program(rule: str) -> Any:
    try:
        program = import_module("cel").compile(rule)
    except ValueError:
        return None
    functions = {name for name in program.functions() if name[0].isalpha()}
    return program if functions <= {*_FUNCTIONS, *_STANDARD} else None


def completed(data: Any, defaults: Iterable[Mapping[str, Any]]) -> Any:
    """Return an object as the API server validates it: without nulls, and with the defaults of its CRD."""
    filled = _without_nulls(data)
    for default in defaults:
        *way, name = patch.parse_pointer(default["path"])
        for _, holder in values_at(filled, tuple(way)):
            if isinstance(holder, dict):
                holder.setdefault(name, _without_nulls(default["value"]))
    return filled


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(below) for key, below in value.items() if below is not None}
    return [_without_nulls(below) for below in value] if isinstance(value, list) else value
