"""Parts of a document while it is read: collections whose end is still to come, and values with an anchor."""

from typing import Any

from msgspec import Struct


class Open(Struct):
    """A collection whose end has not been read yet."""

    value: Any
    anchor: str | None
    key: Any = None
    merging: bool = False
    """Whether the value of the key that was read last is to be merged."""
    merges: list[Any] | None = None
    merged: frozenset[str] = frozenset()
    """Keys that came by a merge, where a manifest is read."""
    key_event: Any = None
    """The event of the key that was read last."""
    count: int = 1
    height: int = 1


class Anchored(Struct, frozen=True):
    """A value that aliases can repeat, with the number of values in it and their levels."""

    value: Any
    count: int = 1
    height: int = 0


def close(closed: Open) -> Any:
    """Return a collection that is complete; its own keys win over merged ones, the first of those too."""
    if not closed.merges:
        return closed.value
    merged: dict[str, Any] = {}
    for source in reversed(closed.merges):
        merged |= source
    return merged | closed.value
