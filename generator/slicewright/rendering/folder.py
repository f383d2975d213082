"""The folders that a render writes, and the id of a run.

The id is eight digits that follow from what a person wrote, and from nothing else. In overlays a namespace of
a cluster has a folder, and each workload in it. A person writes another `run:` so that the same intent runs
once more; `successor` is the next one.
"""

import hashlib
import json
import re
from typing import Any, NamedTuple

SETTINGS = "slicewright.yaml"
"""The file at the root of a repository."""
BASES = "bases"
ROOT = "overlays"
PROVISION = "provision"
"""The folder of what is not a Kubernetes object: scripts and Terraform."""
_CONTROLLERS = "_controllers"
_SHARED = "_shared"


class NamespaceFolder(NamedTuple):
    """overlays/<cluster>/<namespace>."""

    cluster: str
    namespace: str

    @property
    def path(self) -> str:
        """The folder, from the root of the tree."""
        return f"{ROOT}/{self.cluster}/{self.namespace}"


class RunFolder(NamedTuple):
    """overlays/<cluster>/<namespace>/<workload>: what a workload runs on a cluster."""

    cluster: str
    namespace: str
    workload: str

    @property
    def path(self) -> str:
        """The folder, from the root of the tree."""
        return f"{ROOT}/{self.cluster}/{self.namespace}/{self.workload}"

    @property
    def key(self) -> str:
        """How people name the workload: `namespace/name`."""
        return f"{self.namespace}/{self.workload}"

    @property
    def parent(self) -> NamespaceFolder:
        """The folder of the namespace, whose list names the workload."""
        return NamespaceFolder(self.cluster, self.namespace)


def run_folder(path: str) -> RunFolder | None:
    """Return the workload's folder at a path; None for any other folder."""
    parts = path.split("/")
    is_run = len(parts) == 4 and parts[0] == ROOT and not parts[2].startswith("_") and parts[3] != _SHARED  # noqa: PLR2004 - with the root
    return RunFolder(*parts[1:]) if is_run else None


def namespace_folder(path: str) -> NamespaceFolder | None:
    """Return the namespace's folder at a path; None for any other folder, such as that of the platform."""
    parts = path.split("/")
    is_namespace = len(parts) == 3 and parts[0] == ROOT and not parts[2].startswith("_")  # noqa: PLR2004 - with the root
    return NamespaceFolder(*parts[1:]) if is_namespace else None


def shared_path(folder: NamespaceFolder) -> str:
    """Return the folder of what the runs of a namespace share."""
    return f"{folder.path}/{_SHARED}"


def shared_folder(path: str) -> NamespaceFolder | None:
    """Return the namespace of a folder of shared objects; None for any other folder."""
    parent, _, name = path.rpartition("/")
    return namespace_folder(parent) if name == _SHARED else None


def platform_folder(cluster: str) -> str:
    """Return the folder of what the workloads of a cluster need: queues, flavors, teams."""
    return f"{ROOT}/{cluster}/_platform"


def controllers_folder(cluster: str) -> str:
    """Return the folder of what installs the controllers of a cluster."""
    return f"{ROOT}/{cluster}/{_CONTROLLERS}"


def is_controllers_folder(path: str) -> bool:
    """Tell whether a folder of a tree holds the controllers of a cluster, wherever the tree is."""
    return path.rpartition("/")[2] == _CONTROLLERS


NOT_INTENT = frozenset({"clusters", "rehearsal", "onChange", "workloadPriorityClassName"})
"""Fields of a TPUWorkload's spec that do not change what a run does."""


def run_id(spec: dict[str, Any]) -> str:
    """Return the id of the run that a spec, as written, asks for."""
    return id_of(intent_digest(spec))


def id_of(intent: str) -> str:
    """Return the id of the run that an intent with a digest asks for."""
    return intent[:8]


def intent_digest(spec: dict[str, Any]) -> str:
    """Return the SHA-256 of what a spec, as written, asks for.

    No default is filled in and nothing of the tool, the bases, the catalogue or the cluster goes in, so
    that only a person's change of the spec starts another run.
    """
    return digest({key: value for key, value in spec.items() if key not in NOT_INTENT})


def digest(value: Any) -> str:
    """Return the SHA-256 of plain data as canonical JSON, in hexadecimal."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def successor(run: int | str) -> int | str:
    """Return the next run: 1 -> 2, "exp-7" -> "exp-8", "exp-09" -> "exp-10", "final" -> "final-2"."""
    if isinstance(run, int):
        return run + 1
    match = re.fullmatch(r"(.*?)([0-9]{1,18})", run, re.DOTALL)
    if match is None:
        return f"{run}-2"
    return f"{match[1]}{int(match[2]) + 1:0{len(match[2])}d}"
