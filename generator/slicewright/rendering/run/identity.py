"""The identity of a run: eight digits that follow from what a person wrote, and from nothing else.

A person writes another `run:` so that the same intent runs once more; `successor` is the next one.
"""

import hashlib
import json
import re
from typing import Any

NOT_INTENT = frozenset({"clusters", "rehearsal", "onChange", "workloadPriorityClassName"})
"""Fields of a TPUWorkload's spec that do not change what a run does."""


def run_id(spec: dict[str, Any]) -> str:
    """Return the id of the run that a spec, as written, asks for."""
    return id_of(intent_digest(spec))


def id_of(intent: str) -> str:
    """Return the id of the run that an intent with a digest asks for."""
    return intent[:8]


def intent_digest(spec: dict[str, Any]) -> str:
    """Return the SHA-256 of what a spec, as written, asks for.

    No default is filled in and nothing of the tool, the bases, the catalogue or the cluster goes in, so
    that only a person's change of the spec starts another run.
    """
    return digest({key: value for key, value in spec.items() if key not in NOT_INTENT})


def digest(value: Any) -> str:
    """Return the SHA-256 of plain data as canonical JSON, in hexadecimal."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def successor(run: int | str) -> int | str:
    """Return the next run: 1 -> 2, "exp-7" -> "exp-8", "exp-09" -> "exp-10", "final" -> "final-2"."""
    if isinstance(run, int):
        return run + 1
    match = re.fullmatch(r"(.*?)([0-9]{1,18})", run, re.DOTALL)
    if match is None:
        return f"{run}-2"
    return f"{match[1]}{int(match[2]) + 1:0{len(match[2])}d}"
