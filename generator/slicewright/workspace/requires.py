"""Version requirements such as `~=0.1` or `>=0.2,<0.4` (the operators of PEP 440, on plain releases)."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Release = tuple[int, ...]

_CLAUSE = re.compile(r"(~=|==|!=|>=|<=|>|<)\s*([0-9]{1,9}(?:\.[0-9]{1,9})*)(\.\*)?")


class MalformedError(ValueError):
    """What is asked for is no version requirement, or one that this tool does not know."""


def satisfies(version: str, requirement: str) -> bool:
    """Tell whether a version meets every clause of a requirement.

    A pre-release or development version counts as its release. Raises MalformedError.
    """
    found = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    if found is None:
        raise MalformedError(f"'{version}' is no version")
    met = [_meets(_release(found[0]), clause.strip()) for clause in requirement.split(",")]
    return all(met)


def _release(text: str) -> Release:
    return tuple(int(part) for part in text.split("."))


def _padded(left: Release, right: Release) -> tuple[Release, Release]:
    width = max(len(left), len(right))
    return left + (0,) * (width - len(left)), right + (0,) * (width - len(right))


def _begins(have: Release, want: Release) -> bool:
    return _padded(have, want)[0][: len(want)] == want


_OPERATORS: dict[str, Callable[[Release, Release], bool]] = {
    "~=": lambda have, want: operator.ge(*_padded(have, want)) and _begins(have, want[:-1]),
    "==": lambda have, want: operator.eq(*_padded(have, want)),
    "!=": lambda have, want: operator.ne(*_padded(have, want)),
    ">=": lambda have, want: operator.ge(*_padded(have, want)),
    "<=": lambda have, want: operator.le(*_padded(have, want)),
    ">": lambda have, want: operator.gt(*_padded(have, want)),
    "<": lambda have, want: operator.lt(*_padded(have, want)),
    "==.*": _begins,
    "!=.*": lambda have, want: not _begins(have, want),
}


def _meets(have: Release, clause: str) -> bool:
    found = _CLAUSE.fullmatch(clause)
    operation = _OPERATORS.get(found[1] + (found[3] or "")) if found else None
    if found is None or operation is None or (found[1] == "~=" and "." not in found[2]):
        raise MalformedError(f"'{clause}' is no version requirement")
    return operation(have, _release(found[2]))
