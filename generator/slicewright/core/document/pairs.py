"""JSON writes a character beyond U+FFFF as two escapes, which YAML 1.2 allows and libyaml does not know."""

from __future__ import annotations

import re

_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)


def paired(text: str) -> str:
    """Return a text that begins as JSON does with such pairs as one escape of YAML; any other as it is.

    kubectl takes a file that begins with a brace for JSON, whatever it is called.
    """
    if "\\u" not in text or not text.lstrip().startswith("{"):
        return text
    return _PAIR.sub(_one, text)


def _one(found: re.Match[str]) -> str:
    high, low = int(found[2], 16), int(found[3], 16)
    return f"{found[1]}\\U{0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF):08x}"
