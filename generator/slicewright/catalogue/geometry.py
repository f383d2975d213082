"""The arithmetic of a topology: sides, hosts, links that wrap around, and legal shapes near another one."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from slicewright.catalogue.shape import Rule, WrapRule
from slicewright.kubernetes.problem import first_of

DIMENSIONS = 3
"""Bounds and wrap always have three sides; a 2D topology is padded with 1."""
_TOPOLOGY = re.compile(r"[1-9][0-9]{0,5}(x[1-9][0-9]{0,5}){1,2}")


def is_topology(text: str) -> bool:
    """Tell whether a text has two or three sides, each a number of chips."""
    return _TOPOLOGY.fullmatch(text) is not None


def sides(topology: str) -> tuple[int, ...]:
    """Return (2, 2, 4) for `2x2x4`."""
    return tuple(map(int, topology.split("x")))


def written(lengths: Iterable[int]) -> str:
    """Return `2x2x4` for (2, 2, 4)."""
    return "x".join(map(str, lengths))


def padded(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return three sides."""
    return (*lengths, *(1,) * (DIMENSIONS - len(lengths)))


def bounds(text: str) -> tuple[int, ...]:
    """Return (2, 2, 1) for `2,2,1`."""
    return tuple(map(int, text.split(",")))


def host_bounds(lengths: tuple[int, ...], per_host: tuple[int, ...]) -> str | None:
    """Return how many hosts are along each side, as text; None if hosts do not tile the topology."""
    pairs = tuple(zip(padded(lengths), per_host, strict=True))
    if any(side % host for side, host in pairs):
        return None
    return ",".join(str(side // host) for side, host in pairs)


def wrap(lengths: tuple[int, ...], rule: WrapRule) -> str:
    """Return the wrap-around of each side, as lower-case booleans."""
    if rule.side_equals:
        wrapped = [side == rule.side_equals for side in padded(lengths)]
    else:
        wrapped = [min(padded(lengths)) >= rule.all_sides_at_least] * DIMENSIONS
    return ",".join("true" if side else "false" for side in wrapped)


def shapes_of(rule: Rule) -> Iterator[tuple[int, ...]]:
    """Yield every A<=B<=C that the rule allows, smallest first."""
    longest = rule.max_side // rule.side_multiple_of
    shapes = [
        (a, b, c)
        for a in range(1, longest + 1)
        for b in range(a, min(longest, rule.max_cubes // a) + 1)
        for c in range(b, min(longest, rule.max_cubes // (a * b)) + 1)
    ]
    for cubes in sorted(shapes, key=lambda cubes: (math.prod(cubes), cubes)):
        yield tuple(side * rule.side_multiple_of for side in cubes)


FEW = 12
"""A list of choices longer than this is cut short."""


def joined(words: Sequence[str], conjunction: str = "and") -> str:
    """Return `a, b and c`; of many words the first few, and how many there are besides."""
    if len(words) > FEW:
        return first_of(words, FEW)
    *most, last = words
    return f"{', '.join(most)} {conjunction} {last}" if most else last


def nearest_are(words: Sequence[str]) -> str:
    """Return the hint that names the nearest legal choices."""
    return f"write the nearest: {joined(words, 'or')}"


def near_topologies(lengths: tuple[int, ...], choices: Iterable[str]) -> list[str]:
    """Return the two choices whose sides differ least from the given ones, the smaller first.

    Sides differ by their ratio. A shape of another dimension is compared by its number of chips: one choice
    where some choice has as many, else the next smaller and the next larger.
    """
    sized = sorted((math.prod(sides(choice)), choice) for choice in choices)
    if len(sides(sized[0][1])) != len(lengths):
        return around(math.prod(lengths), sized)

    def differs(choice: tuple[int, str]) -> float:
        pairs = zip(sorted(lengths), sorted(sides(choice[1])), strict=True)
        return round(sum(abs(math.log(side / other)) for side, other in pairs), 9)

    return [text for _, text in sorted(sorted(sized, key=differs)[:2])]


def around(size: int, choices: Iterable[tuple[int, str]]) -> list[str]:
    """Return the choice of that size, else the next smaller and the next larger one where there are any."""
    sized = sorted(choices)
    same = [text for other, text in sized if other == size]
    below = [text for other, text in sized if other < size]
    above = [text for other, text in sized if other > size]
    return same[:1] or below[-1:] + above[:1]
