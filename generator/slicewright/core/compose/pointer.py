"""JSON Pointers (RFC 6901): text to tokens and back."""

from __future__ import annotations

import re

_BAD_ESCAPE = re.compile(r"~(?![01])")

Tokens = tuple[str, ...]


def parse(pointer: str) -> Tokens:
    """Return the tokens of a pointer.

    Raises ValueError for one that does not begin with '/', or has a '~' that is not a valid escape.
    """
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"'{pointer}' is no JSON pointer: it must begin with '/'")
    if _BAD_ESCAPE.search(pointer):
        raise ValueError(f"'{pointer}' is no JSON pointer: '~' is written ~0 and '/' in a key ~1")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def escape(token: str) -> str:
    """Return a token as it stands in a pointer."""
    return token.replace("~", "~0").replace("/", "~1")
