"""One version of a tree: its files, the folders of them that a cluster is given, and the objects in them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from slicewright.document.read import read_documents
from slicewright.kubernetes.fields import mapping
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import RUN
from slicewright.kubernetes.types import Object
from slicewright.rendering.folder import ROOT
from slicewright.rendering.kustomization import FILE_NAME, ReadText

_NAMESPACE, _WORKLOAD = 4, 5
"""Parts of overlays/<cluster>/<namespace>/kustomization.yaml, and of that of a workload."""
Effect = Literal["added", "changed", "removed"]
"""What happens to a file or an object."""
Key = tuple[str, str, str, str, str]
"""Cluster, group, kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class TreeVersion:
    """One version of the tree."""

    name: str
    """What the user calls it: `HEAD`, `main`, `working tree`."""
    paths: frozenset[str]
    """Every file under overlays/ and provision/."""
    read_text: ReadText
    """Reads any file of this version, for the bases of overlays."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with a kustomization: a workload's, one of the platform, or a namespace's own files."""

    path: str
    cluster: str
    namespace: str = ""
    workload: str = ""
    """Empty for a folder of the platform, such as `_platform`, and for a namespace's."""
    is_listed: bool = field(default=True, compare=False)
    """Whether it is applied with its namespace; otherwise only an app for it alone applies it."""


@dataclass(frozen=True, slots=True)
class TreeObject:
    """An object, and the folder in which it is."""

    folder: Folder
    data: Object
    is_patch: bool = False
    """Whether it is a patch of a Component, for an object from elsewhere."""

    @property
    def kind(self) -> str:
        """The kind."""
        return str(self.data["kind"])

    @property
    def name(self) -> str:
        """The name."""
        return str(self.data["metadata"]["name"])

    @property
    def labels(self) -> Mapping[str, Any]:
        """The labels."""
        return mapping(self.data["metadata"].get("labels"))


Objects = dict[Key, TreeObject]
Place = tuple[str, str, str]
"""Cluster, namespace and workload."""
Runs = dict[Place, Objects]


def runs_of(objects: Objects) -> Runs:
    """Return the run objects of each workload: of a run kind, and with a name that slicewright gives runs."""
    runs: Runs = defaultdict(dict)
    for key, item in objects.items():
        folder = item.folder
        names = {folder.workload, f"{folder.workload}-{item.labels.get(RUN)}"}
        if folder.workload and item.kind in RUN_KINDS and item.name in names:
            runs[folder.cluster, folder.namespace, folder.workload][key] = item
    return runs


def folders(version: TreeVersion) -> Iterator[Folder]:
    """Yield the folders that are applied to clusters, in order of their paths.

    A workload that the list of its namespace does not name is not applied with it. If the list is missing or
    cannot be read, all workloads are.
    """
    listed: dict[str, frozenset[str] | None] = {}
    for path in sorted(version.paths):
        parts = path.split("/")
        if parts[0] != ROOT or parts[-1] != FILE_NAME or len(parts) < _NAMESPACE:
            continue
        folder = "/".join(parts[:-1])
        cluster, below = parts[1], parts[2]
        if below.startswith("_"):
            yield Folder(folder, cluster)
        elif len(parts) == _NAMESPACE:
            yield Folder(folder, cluster, below)
        elif len(parts) == _WORKLOAD:
            namespace = "/".join(parts[:3])
            if namespace not in listed:
                listed[namespace] = _resources(version.read_text(f"{namespace}/{FILE_NAME}"))
            names = listed[namespace]
            yield Folder(folder, cluster, below, parts[3], names is None or parts[3] in names)


def document(text: str | None) -> Any:
    """Return the data of a text's only document; None if there is not exactly one."""
    documents, _ = read_documents(text or "", "")
    return documents[0].data if len(documents) == 1 else None


def _resources(text: str | None) -> frozenset[str] | None:
    """Return what a list names, None if there is none that can be read."""
    entries = mapping(document(text)).get("resources")
    if not isinstance(entries, list):
        return None
    return frozenset(str(entry).removeprefix("./").rstrip("/") for entry in entries)
