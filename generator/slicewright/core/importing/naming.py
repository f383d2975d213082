"""Names of pools: what the names of their node pools begin with."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_POOL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


def is_pool_name(name: str) -> bool:
    """Tell whether a pool may be called so."""
    return _POOL.fullmatch(name) is not None


def pool_name(node_pools: Sequence[str], otherwise: str, taken: Collection[str]) -> str:
    """Return a name that is not taken for some node pools: `np` for `np-0` and `np-1`, else ours."""
    stem = "".join(
        letters[0] for letters in takewhile(lambda some: len(set(some)) == 1, zip(*node_pools, strict=False))
    )
    if len(node_pools) > 1 or default_names(stem.removesuffix("-0"), 1) == list(node_pools):
        stem = stem.rstrip("0123456789-")
    base = stem if is_pool_name(stem) else otherwise
    return unused(base, taken)


def unused(name: str, taken: Collection[str]) -> str:
    """Return a name, with a number where it is taken."""
    number = 2
    found = name
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    return found


def default_names(pool: str, slices: int) -> list[str]:
    """Return the names of a TPU pool's node pools where its file gives none."""
    return [f"{pool}-{index}" for index in range(slices)]
