"""An object that a rehearsal makes before its play -> the place of the TPUCluster file that asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slicewright.core.intent.cluster import Cluster
    from slicewright.core.problem import Path, Problem

Object = dict[str, Any]

_LISTS = {
    "PriorityClass": "priorityClasses",
    "WorkloadPriorityClass": "priorityClasses",
    "Topology": "topologies",
    "ProvisioningRequestConfig": "provisioningRequestConfigs",
    "AdmissionCheck": "admissionChecks",
    "Cohort": "cohorts",
    "ClusterQueue": "clusterQueues",
    "LocalQueue": "clusterQueues",
    "Node": "pools",
    "ResourceFlavor": "pools",
}


def refused(cluster: Cluster, item: Object, message: str, hint: str) -> Problem:
    """Return the problem of an object that cannot be made, at the nearest place that is known."""
    return cluster.source.problem("REH006", _place(cluster.spec, item), message, hint)


def _place(spec: dict[str, Any], item: Object) -> Path:
    field = _LISTS.get(item["kind"], "")
    if field not in spec:
        return ("metadata", "name")
    name = item["metadata"]["name"]
    named = [index for index, entry in enumerate(spec[field]) if entry.get("name") == name]
    return ("spec", field, *named[:1])
