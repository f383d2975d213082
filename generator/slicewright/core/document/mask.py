"""Placeholders that are not YAML, such as `name: {{ x }}`, read as words of the same length."""

import re
from typing import Any

INLINE = r"\{\{[^{}\n]*\}\}|@[A-Z][A-Z0-9_]*@|%[A-Za-z_]\w*%"
"""Placeholders that are not YAML where they are not in quotes."""
BRACED = r"\{[A-Za-z_]\w*\}"
"""What Python's `format` fills in."""
_MASKED = re.compile(f"{INLINE}|{BRACED}")
_OFFSET = 0xE000
"""Private characters of Unicode take the place of those that mean something to YAML."""
_TO_PRIVATE = {ord(char): _OFFSET + ord(char) for char in "{}[]:,#&*!|>'\"%@`?-"}
_FROM_PRIVATE = {private: char for char, private in _TO_PRIVATE.items()}
_PRIVATE = re.compile(f"[{''.join(map(chr, _FROM_PRIVATE))}]")


def masked(text: str) -> str:
    """Return a text with such placeholders as words; one that holds the characters of the mask as it is."""
    if _PRIVATE.search(text):
        return text
    return _MASKED.sub(lambda match: match[0].translate(_TO_PRIVATE), text)


def unmasked(data: Any) -> Any:
    """Return a text, or plain data that was read of one, as it was written."""
    if isinstance(data, dict):
        return {key.translate(_FROM_PRIVATE): unmasked(value) for key, value in data.items()}
    if isinstance(data, list):
        return [unmasked(value) for value in data]
    return data.translate(_FROM_PRIVATE) if isinstance(data, str) else data
