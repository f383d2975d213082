"""What plain scalars mean, remembered: manifests repeat a few thousand of them."""

from __future__ import annotations

from slicewright.core.document.scalar import NotPortableError, Scalar, is_disputed, read_plain

UNUSUAL = object()
"""Stands for what only the strict reader may judge."""
_MOST = 50_000


class Meanings(dict[str, Scalar | object]):
    """The value of each plain scalar; UNUSUAL for one that readers disagree about, or that is refused."""

    def __missing__(self, text: str) -> Scalar | object:
        """Find out what a scalar means."""
        try:
            value: Scalar | object = UNUSUAL if is_disputed(text) else read_plain(text)
        except NotPortableError:
            value = UNUSUAL
        if len(self) < _MOST:
            self[text] = value
        return value


MEANINGS = Meanings()
