"""The CEL rules of the CRDs that we know, as functions found by the rule's own text.

No CEL library for Python is both small and quick enough for a thousand objects (docs/decisions), so each rule
that looks at one object alone is written out; a test holds that none of the vendored CRDs has another one.
Rules about a change (`oldSelf`) have nothing to say about a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.check.cel import computeclass, flux, jobset, kueue
from slicewright.core.compose import patch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slicewright.core.check.cel.value import Rules
    from slicewright.core.problem import Path

RULES: Rules = {**jobset.RULES, **kueue.RULES, **computeclass.RULES, **flux.RULES}


@dataclass(frozen=True, slots=True)
class Refused:
    """A value that a CEL rule refuses."""

    path: Path
    rule: str
    message: str


def is_transition(rule: str) -> bool:
    """Tell whether a rule compares an object with its earlier self."""
    return "oldSelf" in rule


def is_known(rule: str) -> bool:
    """Tell whether a rule is evaluated here, or needs no evaluation."""
    return is_transition(rule) or rule in RULES


def refused(entry: Mapping[str, str], data: Any) -> Iterator[Refused]:
    """Yield every value at the place of a rule that the rule refuses; nothing for a rule that is not known.

    A rule that reads a field which is not there fails, as it does in the API server.
    """
    rule = RULES.get(entry["rule"])
    if rule is None:
        return
    for path, value in _at(data, patch.parse_pointer(entry["path"]), ()):
        try:
            holds = rule(value)
        except (KeyError, IndexError, TypeError, AttributeError):
            holds = False
        if not holds:
            yield Refused(path, entry["rule"], entry.get("message", "") or f"failed rule: {entry['rule']}")


def _at(value: Any, keys: patch.Keys, path: Path) -> Iterator[tuple[Path, Any]]:
    if value is None:
        return
    if not keys:
        yield path, value
    elif keys[0] == "*":
        pairs = (
            value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
        )
        for key, element in pairs:
            yield from _at(element, keys[1:], (*path, key))
    elif isinstance(value, dict) and keys[0] in value:
        yield from _at(value[keys[0]], keys[1:], (*path, keys[0]))
