"""Versions of GKE, and whether one is older than what a feature needs."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"[0-9]{1,9}")


def numbers(version: str) -> tuple[int, ...]:
    """Return (1, 33, 0, 1712000) for `1.33.0-gke.1712000`."""
    return tuple(int(found) for found in _NUMBERS.findall(version))


def is_below(version: str, minimum: tuple[str, ...]) -> bool:
    """Tell whether a version is older than what a feature needs.

    `minimum` names the first version with the feature, one a minor version; later minors have it. Only as
    many numbers are compared as the version has: `1.33` may be any patch of it.
    """
    have = numbers(version)
    wanted = sorted(numbers(text) for text in minimum)
    same_minor = [want for want in wanted if want[:2] == have[:2]]
    want = same_minor[0] if same_minor else wanted[0]
    if not same_minor:
        return have[:2] < want[:2]
    return have < want[: len(have)]
