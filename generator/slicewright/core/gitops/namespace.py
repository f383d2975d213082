"""A namespace of a cluster as whoever syncs it sees it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SyncedWorkload:
    """A workload's folder in the tree."""

    name: str
    folder: str
    """From the root of the tree: overlays/<cluster>/<namespace>/<workload>."""
    outside: tuple[str, ...] = ()
    """Folders of the tree that a Fixed overlay stands on; a frozen run stands on none."""


@dataclass(frozen=True, slots=True)
class SyncedNamespace:
    """A namespace's folder in the tree."""

    name: str
    folder: str
    """From the root of the tree: overlays/<cluster>/<namespace>."""
    teams: tuple[str, ...]
    """Who shares it, by the names of the TPUCluster."""
    workloads: tuple[SyncedWorkload, ...]
    """In order of their names; there may be none: what is gone has to be pruned."""
    kinds: tuple[tuple[str, str], ...]
    """Group and kind of all that workloads there are made of, sorted."""
