"""Cohorts, ClusterQueues and LocalQueues, with every default that the API sets written out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.quantity import canonical
from slicewright.core.platform.checks import QUEUED_CHECK
from slicewright.core.platform.flavor import capacities, queued
from slicewright.core.platform.kueue import is_v1beta2, kueue_object
from slicewright.core.platform.quota import resource_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.cluster import ClusterQueue
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster

_BEFORE_V1BETA2 = {
    ("whenCanBorrow", "MayStopSearch"): "Borrow",
    ("whenCanPreempt", "MayStopSearch"): "Preempt",
}
"""What v1beta1 calls the values of flavorFungibility."""


def cohorts(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the Cohorts."""
    for cohort in site.cluster.cohorts:
        spec: dict[str, Any] = {}
        if cohort.parent_name:
            spec["parentName"] = cohort.parent_name
        groups = resource_groups(site, cohort.quota)
        if groups:
            spec["resourceGroups"] = groups
        yield kueue_object(site, "Cohort", cohort.name, spec={**spec, **_fair_sharing(cohort.weight)})


def cluster_queues(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the ClusterQueues."""
    for queue in site.cluster.cluster_queues:
        yield kueue_object(site, "ClusterQueue", queue.name, spec=_spec(site, queue))


def local_queues(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the LocalQueues."""
    for queue in site.cluster.local_queues:
        yield kueue_object(
            site,
            "LocalQueue",
            queue.name,
            queue.namespace,
            spec={
                "clusterQueue": queue.cluster_queue,
                "stopPolicy": queue.stop_policy,
                **_fair_sharing(queue.weight),
            },
        )


def shares_by_usage(site: ResolvedCluster, cluster_queue: str = "") -> bool:
    """Tell whether LocalQueues (of one ClusterQueue) have weights, which count only in the share by usage."""
    return any(
        queue.weight is not None
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
    spec |= _fair_sharing(queue.weight)
    checks = _checks(site, queue)
    if checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": checks}
    if is_v1beta2(site) and shares_by_usage(site, queue.name):
        spec["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    return spec


def _preemption(written: dict[str, Any]) -> dict[str, Any]:
    return {
        "withinClusterQueue": written.get("withinClusterQueue", "Never"),
        "reclaimWithinCohort": written.get("reclaimWithinCohort", "Never"),
        "borrowWithinCohort": {"policy": "Never", **written.get("borrowWithinCohort", {})},
    }


def _fungibility(site: ResolvedCluster, written: dict[str, str]) -> dict[str, str]:
    found = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor", **written}
    if is_v1beta2(site):
        return found
    return {field: _BEFORE_V1BETA2.get((field, value), value) for field, value in found.items()}


def _fair_sharing(weight: str | float | None) -> dict[str, Any]:
    return {} if weight is None else {"fairSharing": {"weight": canonical(weight)}}


def _checks(site: ResolvedCluster, queue: ClusterQueue) -> list[dict[str, Any]]:
    """Return the checks of a queue: that of its queued flavors, then those that the file gives it."""
    known = capacities(site)
    own = [known[quota.pool] for quota in queue.quota if quota.pool in known]
    names = list(dict.fromkeys(queued(own)))
    first = [{"name": QUEUED_CHECK, "onFlavors": names}] if names else []
    return [*first, *queue.written.get("admissionChecks", [])]
