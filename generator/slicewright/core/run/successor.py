"""The `run:` that follows another, so that the same intent runs once more."""

from __future__ import annotations

import re


def successor(run: int | str) -> int | str:
    """Return the next run: 1 -> 2, "exp-7" -> "exp-8", "exp-09" -> "exp-10", "final" -> "final-2"."""
    if isinstance(run, int):
        return run + 1
    found = re.fullmatch(r"(.*?)([0-9]{1,18})", run, re.DOTALL)
    if found is None:
        return f"{run}-2"
    return f"{found[1]}{int(found[2]) + 1:0{len(found[2])}d}"
