"""The controllers of a cluster as whoever syncs them sees them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SyncedControllers:
    """What the folder of the controllers stands on, and what it holds."""

    folders: tuple[str, ...]
    """Of the releases, from the root of the tree."""
    kinds: frozenset[tuple[str, str, str]]
    """Group, kind and namespace of the objects; the last is empty where they stand in none."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces in which objects stand."""
        return tuple(sorted({namespace for _, _, namespace in self.kinds if namespace}))
