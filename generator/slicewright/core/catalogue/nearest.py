"""What legal shapes are near an illegal one, and how several of them are said."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slicewright.core.catalogue import geometry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FEW = 12
"""A list of choices longer than this is cut short."""


def joined(words: Sequence[str], conjunction: str = "and") -> str:
    """Return `a, b and c`; of many words the first few, and how many there are besides."""
    if len(words) > FEW:
        return f"{', '.join(words[:FEW])} and {len(words) - FEW} more"
    *most, last = words
    return f"{', '.join(most)} {conjunction} {last}" if most else last


def nearest_are(words: Sequence[str]) -> str:
    """Return the hint that names the nearest legal choices."""
    return f"nearest {'is' if len(words) == 1 else 'are'} {joined(words)}"


def near_topologies(lengths: tuple[int, ...], choices: Iterable[str]) -> list[str]:
    """Return the two choices whose sides differ least from the given ones, the smaller first.

    Sides differ by their ratio. A shape of another dimension is compared by its number of chips: one choice
    where some choice has as many, else the next smaller and the next larger.
    """
    sized = sorted((math.prod(geometry.sides(choice)), choice) for choice in choices)
    if len(geometry.sides(sized[0][1])) != len(lengths):
        return around(math.prod(lengths), sized)
    wanted = sorted(lengths)

    def differs(choice: tuple[int, str]) -> float:
        pairs = zip(wanted, sorted(geometry.sides(choice[1])), strict=True)
        return round(sum(abs(math.log(want / have)) for want, have in pairs), 9)

    return [text for _, text in sorted(sorted(sized, key=differs)[:2])]


def around(wanted: int, choices: Iterable[tuple[int, str]]) -> list[str]:
    """Return the choice of that size, else the next smaller and the next larger one where there are any."""
    sized = sorted(choices)
    same = [text for size, text in sized if size == wanted]
    if same:
        return same[:1]
    below = [text for size, text in sized if size < wanted]
    above = [text for size, text in sized if size > wanted]
    return below[-1:] + above[:1]
