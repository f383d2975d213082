"""A living cluster to an inventory: every list that import needs, each asked for once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.importing.inventory import Inventory
from slicewright.core.kubernetes.kinds import KUEUE_GROUP
from slicewright.core.kubernetes.read import entries, mapping, text
from slicewright.core.problem import Problem
from slicewright.importing.kubectl import KubectlError

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object
    from slicewright.importing.kubectl import Kubectl

_NEWEST_FIRST = ("v1beta2", "v1beta1")
_KUEUE = {
    "flavors": "resourceflavors",
    "cluster_queues": "clusterqueues",
    "cohorts": "cohorts",
    "local_queues": "localqueues",
    "workload_priority_classes": "workloadpriorityclasses",
    "topologies": "topologies",
    "admission_checks": "admissionchecks",
    "provisioning_request_configs": "provisioningrequestconfigs",
}
_OLDER = {"cohorts": "v1alpha1", "topologies": "v1alpha1"}
"""What was an alpha version for longer."""


def read(kubectl: Kubectl) -> tuple[Inventory, tuple[Problem, ...]]:
    """Return what a cluster holds and what could not be read. Raises KubectlError where nothing can."""
    found: dict[str, tuple[Object, ...]] = {}
    problems: list[Problem] = []

    def fetch(field: str, resource: str, *options: str, needed: bool = True) -> None:
        try:
            found[field] = tuple(kubectl.list(resource, *options))
        except KubectlError as error:
            if not error.refused:
                raise
            if needed:
                problems.append(error.problem)

    fetch("nodes", "nodes")
    group = mapping(kubectl.raw(f"/apis/{KUEUE_GROUP}"))
    versions = tuple(text(entry.get("version")) for _, entry in entries(group.get("versions")))
    fetch("priority_classes", "priorityclasses.v1.scheduling.k8s.io", needed=False)
    fetch("deployments", "deployments.v1.apps", needed=False)
    for field, resource in _KUEUE.items() if versions else ():
        # A version may lack a kind that an older one has; kubectl itself prefers what the server prefers.
        served = next((one for one in _NEWEST_FIRST if one in versions), versions[0])
        fetch(field, f"{resource}.{served}.{KUEUE_GROUP}")
        if not found.get(field) and _OLDER.get(field) in versions:
            fetch(field, f"{resource}.{_OLDER[field]}.{KUEUE_GROUP}", needed=False)
    if not versions:
        hint = "install Kueue, or add clusterQueues by hand later"
        message = "the cluster has no Kueue, so the file has no queues, quotas and priority classes"
        problems.append(Problem("IMP004", message, hint, severity="warning"))
    return Inventory(**found, kueue_versions=versions), tuple(problems)
