"""Cohorts and queues, with every default of the API written out; AdmissionChecks, priorities, Topologies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.kubernetes.kinds import KUEUE_GROUP, SCHEDULING_VERSION
from slicewright.kubernetes.labels import PROVISIONING_CONTROLLER, QUEUED_CLASS, TPU
from slicewright.kubernetes.quantity import canonical
from slicewright.rendering.platform.flavor import capacities, queued, used
from slicewright.rendering.platform.kueue_objects import has_kueue, is_v1beta2, kueue_object
from slicewright.rendering.platform.nominal_quota import resource_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.intent.tpucluster import ClusterQueue, FairSharing
    from slicewright.kubernetes.types import Object
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

QUEUED_CHECK = "flex-start-queued"
"""The check, and the configuration of its requests, that queues with queued flex-start flavors get."""
_OPTIONAL = ("parameters", "podSetMergePolicy")
_RETRIES = {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}


def checks(site: ResolvedCluster) -> Iterator[Object]:
    """Yield ProvisioningRequestConfigs, then the AdmissionChecks that use them."""
    spec = site.cluster.spec
    configs = {entry["name"]: entry for entry in spec.get("provisioningRequestConfigs", [])}
    declared = list(spec.get("admissionChecks", []))
    if queued(used(site).values()):
        configs = {QUEUED_CHECK: {"name": QUEUED_CHECK}, **configs}
        parameters = {"apiGroup": KUEUE_GROUP, "kind": "ProvisioningRequestConfig", "name": QUEUED_CHECK}
        own = {"name": QUEUED_CHECK, "controllerName": PROVISIONING_CONTROLLER, "parameters": parameters}
        declared.insert(0, own)
    for name, written in configs.items():
        yield kueue_object(site, "ProvisioningRequestConfig", name, spec=_config(written))
    for check in declared:
        fields = {key: value for key, value in check.items() if key != "name"}
        yield kueue_object(site, "AdmissionCheck", check["name"], spec=fields)


def _config(written: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration's spec; requests for google.com/tpu alone, because GKE takes one pod set."""
    optional: dict[str, Any] = {key: written[key] for key in _OPTIONAL if key in written}
    return {
        "provisioningClassName": written.get("provisioningClassName", QUEUED_CLASS),
        "managedResources": written.get("managedResources", [TPU]),
        **optional,
        "retryStrategy": {**_RETRIES, **written.get("retryStrategy", {})},
    }


MAY_STOP_SEARCH = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
"""The name of `MayStopSearch` in v1beta1, for each field of flavorFungibility."""
FUNGIBILITY = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
PREEMPTION: dict[str, Any] = {
    "withinClusterQueue": "Never",
    "reclaimWithinCohort": "Never",
    "borrowWithinCohort": {"policy": "Never"},
}
"""The defaults of the API."""


def cohorts(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the Cohorts."""
    for cohort in site.cluster.cohorts:
        spec: dict[str, Any] = {}
        if cohort.parent_name:
            spec["parentName"] = cohort.parent_name
        groups = resource_groups(site, cohort.quota)
        if groups:
            spec["resourceGroups"] = groups
        yield kueue_object(site, "Cohort", cohort.name, spec={**spec, **_fair_sharing(cohort.fair_sharing)})


def cluster_queues(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the ClusterQueues."""
    for queue in site.cluster.cluster_queues:
        yield kueue_object(site, "ClusterQueue", queue.name, spec=_spec(site, queue))


def local_queues(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the LocalQueues."""
    for queue in site.cluster.local_queues:
        spec = {"clusterQueue": queue.cluster_queue, "stopPolicy": queue.stop_policy}
        spec |= _fair_sharing(queue.fair_sharing)
        yield kueue_object(site, "LocalQueue", queue.name, queue.namespace, spec=spec)


def shares_by_usage(site: ResolvedCluster, cluster_queue: str = "") -> bool:
    """Tell whether LocalQueues (of one ClusterQueue) have weights, which count only in the share by usage."""
    return any(
        queue.fair_sharing is not None
        for queue in site.cluster.local_queues
        if cluster_queue in ("", queue.cluster_queue)
    )


def _spec(site: ResolvedCluster, queue: ClusterQueue) -> dict[str, Any]:
    written = queue.written
    spec: dict[str, Any] = {}
    if queue.cohort_name:
        spec["cohortName" if is_v1beta2(site) else "cohort"] = queue.cohort_name
    spec["namespaceSelector"] = written.get("namespaceSelector", {})
    spec["queueingStrategy"] = written.get("queueingStrategy", "BestEffortFIFO")
    spec["stopPolicy"] = written.get("stopPolicy", "None")
    groups = resource_groups(site, queue.quota)
    if groups:
        spec["resourceGroups"] = groups
    spec["preemption"] = _preemption(written.get("preemption", {}))
    spec["flavorFungibility"] = _fungibility(site, written.get("flavorFungibility", {}))
    spec |= _fair_sharing(queue.fair_sharing)
    checks = _checks(site, queue)
    if checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": checks}
    if is_v1beta2(site) and shares_by_usage(site, queue.name):
        spec["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    return spec


def _preemption(written: dict[str, Any]) -> dict[str, Any]:
    borrowing = {**PREEMPTION["borrowWithinCohort"], **written.get("borrowWithinCohort", {})}
    return {**PREEMPTION, **written, "borrowWithinCohort": borrowing}


def _fungibility(site: ResolvedCluster, written: dict[str, str]) -> dict[str, str]:
    values = {**FUNGIBILITY, **written}
    if is_v1beta2(site):
        return values
    return {
        field: MAY_STOP_SEARCH.get(field, value) if value == "MayStopSearch" else value
        for field, value in values.items()
    }


def _fair_sharing(sharing: FairSharing | None) -> dict[str, Any]:
    return {"fairSharing": {"weight": canonical(sharing.weight)}} if sharing else {}


def _checks(site: ResolvedCluster, queue: ClusterQueue) -> list[dict[str, Any]]:
    """Return the checks of a queue: that of its queued flavors, then those that the file gives it."""
    known = capacities(site)
    own = [known[quota.pool] for quota in queue.quota if quota.pool in known]
    names = list(dict.fromkeys(queued(own)))
    first = [{"name": QUEUED_CHECK, "onFlavors": names}] if names else []
    return [*first, *queue.written.get("admissionChecks", [])]


def priority_classes(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the classes in order of their value.

    Those for pods preempt nobody: the scheduler would tear single pods out of slices, where Kueue takes
    whole workloads.
    """
    if not has_kueue(site):
        return
    for entry in site.cluster.priorities:
        description = {"description": entry.description} if entry.description else {}
        yield kueue_object(site, "WorkloadPriorityClass", entry.name, value=entry.value, **description)
        if entry.pods:
            yield {
                "apiVersion": SCHEDULING_VERSION,
                "kind": "PriorityClass",
                "metadata": {"name": entry.name},
                "value": entry.value,
                "preemptionPolicy": "Never",
                **description,
            }


def topologies(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the Topologies, for topology-aware scheduling."""
    for entry in site.cluster.spec.get("topologies", []):
        yield kueue_object(site, "Topology", entry["name"], spec={"levels": entry["levels"]})
