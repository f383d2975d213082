"""Names that somebody still fills in: `queue-${TOPOLOGY}`, `$NAME`, `<name>`, `{{ .name }}`, `YOUR-NAME`."""

from __future__ import annotations

import re
from functools import lru_cache

_WRITTEN = r"\$\{[^{}]*\}|\$\([^()]*\)|\$[A-Za-z_]\w*|<[^<>]*>|\{\{.*?\}\}"
_VALUE = re.compile(_WRITTEN)
_NAME = re.compile(rf"{_WRITTEN}|(?<![a-z])[A-Z][A-Z0-9]+(?:[_-][A-Z0-9]+)*(?![a-z])")
"""Capitals as well: no reference to an object has them."""


def is_unfinished(value: object) -> bool:
    """Tell whether somebody still fills in a value, or a part of it."""
    return _VALUE.search(repr(value)) is not None


@lru_cache(maxsize=1024)
def pattern(name: str) -> re.Pattern[str] | None:
    """Return what the names match that a name with placeholders can become; None for a finished name."""
    parts = _NAME.split(name)
    return re.compile(".*".join(map(re.escape, parts)), re.DOTALL) if len(parts) > 1 else None


def may_be(name: str, other: str) -> bool:
    """Tell whether two names can become the same one."""
    if name == other:
        return True
    return any(
        form is not None and form.fullmatch(text) is not None
        for form, text in ((pattern(name), other), (pattern(other), name))
    )
