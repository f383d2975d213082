"""The CEL rules of the CRDs that we know, as functions found by the rule's own text.

No CEL library for Python is quick enough for a thousand objects (decision 29), so each rule that looks at one
object alone is written out; a test holds that none of the vendored CRDs has another one. A library evaluates
the rules of other CRDs where it is installed. Rules about a change (`oldSelf`) say nothing about a file.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from slicewright.core.check.cel import computeclass, controllers, library
from slicewright.core.check.cel.value import Rules, values_at
from slicewright.core.compose import patch
from slicewright.core.problem import Path

RULES: Rules = {**controllers.RULES, **computeclass.RULES}


class Refused(Struct, frozen=True):
    """A value that a CEL rule refuses, or of which nobody here can tell."""

    path: Path
    rule: str
    message: str
    is_certain: bool = True


def is_transition(rule: str) -> bool:
    """Tell whether a rule compares an object with its earlier self."""
    return "oldSelf" in rule


def needs_library(rule: str) -> bool:
    """Tell whether a rule is about one object alone, and the table does not have it."""
    return rule not in RULES and not is_transition(rule)


def is_known(rule: str) -> bool:
    """Tell whether a rule is evaluated here, or needs no evaluation."""
    return not needs_library(rule) or library.is_computable(rule)


def refused(
    entries: Iterable[Mapping[str, str]], data: Any, defaults: Iterable[Mapping[str, Any]] = ()
) -> Iterator[Refused]:
    """Yield every value at the place of a rule that the rule refuses; nothing for a rule that is not known.

    A rule that reads a field which is not there fails, as it does in the API server. `defaults` are those of
    a CRD whose rules the table does not have.
    """
    completed: Any = None
    for entry in entries:
        text = entry["rule"]
        if not is_known(text) or is_transition(text):
            continue
        if text not in RULES and completed is None:
            completed = library.completed(data, defaults)
        whole, keeps = (data, _in_table) if text in RULES else (completed, library.keeps)
        for path, value in values_at(whole, patch.parse_pointer(entry["path"])):
            holds = keeps(text, value)
            if not holds:
                message = entry.get("message", "") or f"failed rule: {text}"
                yield Refused(path, text, message, is_certain=holds is not None)


def _in_table(rule: str, value: Any) -> bool:
    try:
        return RULES[rule](value)
    except (KeyError, IndexError, TypeError, AttributeError):
        return False
