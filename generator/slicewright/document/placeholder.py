"""What somebody still fills in: `${NAME}`, `$NAME`, `<name>`, `{{ .name }}`, `%NAME%`, `YOUR_NAME`."""

import re
from functools import lru_cache

EXPANSION = r"\$\([A-Za-z_][\w.-]*\)"
"""Kubernetes' own, in a command and the environment."""
TOKEN = re.compile(
    rf"\$?\{{\{{[^{{}}\n]*\}}\}}|\$\{{[^{{}}]*\}}|{EXPANSION}|\$[A-Za-z_]\w*"
    r"|<(?:[a-zA-Z]|< ?\w)[^<>]*>+|__[A-Z][A-Z0-9_]*__|@[A-Z][A-Z0-9_]*@|%[A-Za-z_]\w*%"
    r"|\bYOUR[-_][A-Z0-9_-]+|\b(?:REPLACE|CHANGE)[-_]?(?:ME|THIS|WITH)[\w-]*|\bPLACEHOLDER\b"
)


def is_unfinished(value: object) -> bool:
    """Tell whether somebody still fills in a value, or a part of it."""
    return TOKEN.search(repr(value)) is not None


@lru_cache(maxsize=1024)
def pattern(name: str) -> re.Pattern[str] | None:
    """Return what the names match that a name with placeholders can become; None for a finished name."""
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
