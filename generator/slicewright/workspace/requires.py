"""Version requirements such as `~=0.1` or `>=0.2,<0.4` (the operators of PEP 440, on plain releases)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Release = tuple[int, ...]

_CLAUSE = re.compile(r"(~=|==|!=|>=|<=|>|<)\s*([0-9]+(?:\.[0-9]+)*)")


def satisfies(version: str, requirement: str) -> bool:
    """Tell whether a version meets every clause of a requirement. Raises ValueError for a malformed one."""
    return all(_meets(_release(version), clause.strip()) for clause in requirement.split(","))


def _release(version: str) -> Release:
    found = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    if found is None:
        raise ValueError(f"'{version}' is no version")
    return tuple(int(part) for part in found[0].split("."))


def _padded(left: Release, right: Release) -> tuple[Release, Release]:
    width = max(len(left), len(right))
    return left + (0,) * (width - len(left)), right + (0,) * (width - len(right))


def _compatible(have: Release, want: Release) -> bool:
    left, right = _padded(have, want)
    return left >= right and have[: len(want) - 1] == want[:-1]


_OPERATORS: dict[str, Callable[[Release, Release], bool]] = {
    "~=": _compatible,
    "==": lambda have, want: _padded(have, want)[0] == _padded(have, want)[1],
    "!=": lambda have, want: _padded(have, want)[0] != _padded(have, want)[1],
    ">=": lambda have, want: _padded(have, want)[0] >= _padded(have, want)[1],
    "<=": lambda have, want: _padded(have, want)[0] <= _padded(have, want)[1],
    ">": lambda have, want: _padded(have, want)[0] > _padded(have, want)[1],
    "<": lambda have, want: _padded(have, want)[0] < _padded(have, want)[1],
}


def _meets(have: Release, clause: str) -> bool:
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        raise ValueError(f"'{clause}' is no version requirement; write for example ~=0.1")
    return _OPERATORS[found[1]](have, _release(found[2]))
