"""Plain text in Markdown: only what is in backticks is markup."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"(`[^`]*`)|[<&]|[\\*[|]|(?<!\w)_|_(?!\w)")
_ENTITIES = {"<": "&lt;", "&": "&amp;"}


def escaped(text: str) -> str:
    """Return Markdown that shows a text as it is, also in the cell of a table."""
    return _SPECIAL.sub(lambda found: found[1] or _ENTITIES.get(found[0], f"\\{found[0]}"), text)
