"""What Argo CD or Flux syncs of a cluster, where the files for them are, and the anchor of each namespace."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from slicewright.document.write import write_document
from slicewright.kubernetes.kinds import RUNS
from slicewright.rendering import header
from slicewright.rendering.folder import ROOT, NamespaceFolder, namespace_folder

SYNCED = (
    *(("", kind) for kind in ("ConfigMap", "PersistentVolumeClaim", "Service")),
    *((run.group, run.kind) for run in RUNS),
)
"""Kinds of runs, of the usual objects beside them, and of the anchor: group and kind.

They may be synced wherever runs are, even if no such object exists today. The last object of a kind goes in
the same commit in which its kind would leave the list, and what may not be synced is not pruned either.
"""


class SyncedWorkload(Struct, frozen=True):
    """A workload's folder in the tree."""

    name: str
    folder: str
    """From the root of the tree: overlays/<cluster>/<namespace>/<workload>."""
    outside: tuple[str, ...] = ()
    """Folders of the tree that a Fixed overlay is built on; a frozen run needs none."""
    apart: frozenset[str] = frozenset()
    """Those of `argocd` and `flux` that already have a file for it alone in the tree."""


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
    """Group and kind of all objects of the workloads there, sorted."""


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


GITOPS = "_gitops"
ARGOCD, FLUX = "argocd", "flux"
"""The folders of the Applications and of the Kustomizations."""


def gitops_folder(cluster: str) -> str:
    """Return the folder of what syncs a cluster."""
    return f"{ROOT}/{cluster}/{GITOPS}"


def workload_file(namespace: str, workload: str) -> str:
    """Return the name of the file that syncs a workload apart from its namespace."""
    return f"workload-{namespace}.{workload}.yaml"


def is_gitops_folder(path: str) -> bool:
    """Tell whether a folder of the tree is one of what syncs a cluster, or in one."""
    root, _, rest = path.partition("/")
    return root == ROOT and rest.partition("/")[2].partition("/")[0] == GITOPS


def in_repository(prefix: str, path: str) -> str:
    """Return a path of the tree as one of a repository that has the tree at a prefix, `.` for its root."""
    return path if prefix == "." else f"{prefix}/{path}"


ANCHOR_FILE = "_anchor.yaml"
"""Name of the first object in the list of a namespace; no workload can have it."""
ANCHOR = "slicewright-anchor"


def anchored_folders(paths: Iterable[str]) -> Iterator[NamespaceFolder]:
    """Yield the folders of the namespaces that have an anchor, of the paths of a tree."""
    for path in paths:
        parent, _, name = path.rpartition("/")
        if name == ANCHOR_FILE and (folder := namespace_folder(parent)):
            yield folder


def anchor(namespace: str) -> dict[str, Any]:
    """Return the anchor of a namespace, an object that keeps its folder from being empty.

    Argo CD prunes nothing from a folder without objects, and kustomize refuses to build one.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": ANCHOR, "namespace": namespace},
        "data": {"about": "stays, so that the last run of the namespace can be pruned"},
    }


def anchor_files(folder: NamespaceFolder) -> dict[str, str]:
    """Return the file of a namespace's anchor by its path."""
    text = header.live("the name of this folder", write_document(anchor(folder.namespace)))
    return {f"{folder.path}/{ANCHOR_FILE}": text}
