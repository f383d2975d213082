"""A namespace of a cluster as whoever syncs it sees it."""

from msgspec import Struct

from slicewright.kubernetes.kinds import RUNS

SYNCED = (
    *(("", kind) for kind in ("ConfigMap", "PersistentVolumeClaim", "Service")),
    *((run.group, run.kind) for run in RUNS),
)
"""Kinds of runs, of what often comes with them, and of the anchor: group and kind.

They may be synced wherever runs are, whatever is there today. The last object of a kind goes in the same
commit in which its kind would leave the list, and what may not be synced is not pruned either.
"""


class SyncedWorkload(Struct, frozen=True):
    """A workload's folder in the tree."""

    name: str
    folder: str
    """From the root of the tree: overlays/<cluster>/<namespace>/<workload>."""
    outside: tuple[str, ...] = ()
    """Folders of the tree that a Fixed overlay is built on; a frozen run needs none."""
    apart: frozenset[str] = frozenset()
    """Who of `argocd` and `flux` has a file for it alone in the tree already, whoever is to have one now."""


class SyncedNamespace(Struct, frozen=True):
    """A namespace's folder in the tree."""

    name: str
    folder: str
    """From the root of the tree: overlays/<cluster>/<namespace>."""
    teams: tuple[str, ...]
    """Who shares it, by the names of the TPUCluster."""
    workloads: tuple[SyncedWorkload, ...]
    """Workloads in order of their names; empty if all are gone and have to be pruned."""
    kinds: tuple[tuple[str, str], ...]
    """Group and kind of all that workloads there are made of, sorted."""


class SyncedControllers(Struct, frozen=True):
    """The controllers of a synced cluster: their releases, and the kinds and namespaces of their objects."""

    folders: tuple[str, ...]
    """Folders of the releases, from the root of the tree."""
    kinds: frozenset[tuple[str, str, str]]
    """Group, kind and namespace of the objects; the last is empty for objects without one."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that have objects."""
        return tuple(sorted({namespace for _, _, namespace in self.kinds if namespace}))
