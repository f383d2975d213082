"""What somebody still fills in: `${NAME}`, `$NAME`, `<name>`, `<< name >>`, `{{ .name }}`, `YOUR_NAME`."""

import re
from functools import lru_cache

from slicewright.core.document.mask import INLINE

EXPANSION = r"\$\([A-Za-z_][\w.-]*\)"
"""Kubernetes' own, in a command and the environment."""
IN_KEY = re.compile(
    rf"\$?\{{\{{[^{{}}\n]*\}}\}}|\$\{{[^{{}}]*\}}|{EXPANSION}|<(?:[a-zA-Z]|< ?\w)[^<>]*>+|__[A-Z][A-Z0-9_]*__"
)
TOKEN = re.compile(
    rf"{IN_KEY.pattern}|\$[A-Za-z_]\w*|{INLINE}"
    r"|\bYOUR[-_][A-Z0-9_-]+|\b(?:REPLACE|CHANGE)[-_]?(?:ME|THIS|WITH)[\w-]*|\bPLACEHOLDER\b"
)
CAPITALS = re.compile(
    rf"{TOKEN.pattern}|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|_[A-Z][A-Z0-9]*_(?![A-Za-z0-9])"
    r"|\{[A-Za-z_][^{}\n]*\}|\[\[ *\w+ *\]\]"
)
"""Capitals as well, `{words}` and `[[name]]`, for fields that cannot have them."""
_NAME = re.compile(rf"{TOKEN.pattern}|(?<![a-z])[A-Z][A-Z0-9]+(?:[_-][A-Z0-9]+)*(?![a-z])")
"""Capitals as well: no reference to an object has them."""


def is_unfinished(value: object) -> bool:
    """Tell whether somebody still fills in a value, or a part of it."""
    return TOKEN.search(repr(value)) is not None


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
