"""What a reader makes of a file: documents as plain data, compared as JSON, and the places of values.

A value may have a placeholder that somebody still fills in: `${NAME}`, `$NAME`, `<name>`, `{{ .name }}`,
`%NAME%`, `YOUR_NAME`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.problem import Path

MAX_DEPTH = 64
"""Levels of nesting that are read; Kubernetes objects use about twenty."""
MAX_DOCUMENTS = 100_000
"""Documents of one file that are read."""
MAX_VALUES = 200_000
"""Values in one file once aliases are expanded, so that a few lines cannot fill the memory."""


class Document(Struct, frozen=True):
    """One document of a file: plain dicts, lists, strings, numbers and None."""

    data: Any
    index: int
    """Position of the document in its file, from 0."""
    line: int
    """Line on which the document begins, from 1."""


def values_in(data: Any) -> Iterator[tuple[Path, Any]]:
    """Yield a value and every value inside of it in their order, each with its path."""
    waiting: list[tuple[Path, Any]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*path, index), item) for index, item in reversed(list(enumerate(value)))]


def same(first: Any, second: Any) -> bool:
    """Tell whether two values are equal: numbers by their value, and true is not 1 (as it is in Python)."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(value, second[key]) for key, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    return bool(first == second)


EXPANSION = r"\$\([A-Za-z_][\w.-]*\)"
"""Kubernetes' own, in a command and the environment."""
TOKEN = re.compile(
    rf"\$?\{{\{{[^{{}}\n]*\}}\}}|\$\{{[^{{}}]*\}}|{EXPANSION}|\$[A-Za-z_]\w*"
    r"|<(?:[a-zA-Z]|< ?\w)[^<>]*>+|__[A-Z][A-Z0-9_]*__|@[A-Z][A-Z0-9_]*@|%[A-Za-z_]\w*%"
    r"|\bYOUR[-_][A-Z0-9_-]+|\b(?:REPLACE|CHANGE)[-_]?(?:ME|THIS|WITH)[\w-]*|\bPLACEHOLDER\b"
    r"|\b(?:[Rr]eplace|[Cc]hange)d?[-_](?:me|this|with|by)\b[\w-]*"
)


def is_unfinished(value: object) -> bool:
    """Tell whether a value contains a placeholder."""
    return TOKEN.search(repr(value)) is not None


@lru_cache(maxsize=1024)
def pattern(name: str) -> re.Pattern[str] | None:
    """Return a pattern for the names that a name with placeholders can become; None for a finished name."""
    parts = TOKEN.split(name)
    return re.compile(".*".join(map(re.escape, parts)), re.DOTALL) if len(parts) > 1 else None


def may_be(name: str, other: str) -> bool:
    """Tell whether two names can become the same one."""
    if name == other:
        return True
    return any(
        form is not None and form.fullmatch(text) is not None
        for form, text in ((pattern(name), other), (pattern(other), name))
    )
