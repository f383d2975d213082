"""Queues, cohorts, priority classes, topologies and admission checks of Kueue, and the quota of queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from slicewright.kubernetes.kinds import KUEUE_GROUP, SCHEDULING_VERSION
from slicewright.kubernetes.labels import PROVISIONING_CONTROLLER, QUEUED_CLASS, TPU
from slicewright.kubernetes.quantity import canonical
from slicewright.rendering.platform.flavor import (
    CpuCapacity,
    TpuCapacity,
    capacities,
    has_kueue,
    is_v1beta2,
    kueue_object,
    queued,
    used,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.catalogue.catalogue import CpuMachine
    from slicewright.intent.tpucluster import ClusterQueue, FairSharing, Quota
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

    Classes for pods have preemptionPolicy Never: the scheduler would preempt single pods of slices, while
    Kueue preempts whole workloads.
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


class Chips(Struct, frozen=True):
    """Quota of chips; a limit of None is unlimited."""

    nominal: int
    borrowing: int | None
    lending: int | None

    def __add__(self, other: Chips) -> Chips:
        return Chips(
            self.nominal + other.nominal,
            _sum(self.borrowing, other.borrowing),
            _sum(self.lending, other.lending),
        )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def chips(quota: Quota, capacity: TpuCapacity) -> Chips:
    """Return a quota of a TPU pool; without a number all slices that the pool can have."""
    if quota.nominal_chips is not None:
        nominal, unit = quota.nominal_chips, 1
    else:
        nominal = capacity.most if quota.nominal_slices is None else quota.nominal_slices
        unit = capacity.shape.chips
    return Chips(nominal * unit, _times(quota.borrowing_limit, unit), _times(quota.lending_limit, unit))


def _times(number: int | None, unit: int) -> int | None:
    return None if number is None else number * unit


def nodes(quota: Quota, capacity: CpuCapacity) -> int:
    """Return a quota of a CPU pool in nodes; without a number all nodes that the pool can have."""
    return capacity.most if quota.nominal_nodes is None else quota.nominal_nodes


def allocatable(machine: CpuMachine, count: int) -> dict[str, str]:
    """Return the resources that pods may request of a number of nodes."""
    return {
        "cpu": canonical(f"{machine.allocatable_millicpus * count}m"),
        "memory": canonical(f"{machine.allocatable_mib * count}Mi"),
    }


def resource_groups(site: ResolvedCluster, quotas: Iterable[Quota]) -> list[dict[str, Any]]:
    """Return the resource groups of a queue or a cohort: one for chips, and one for cpu and memory.

    Flavors are in the order of the quotas, in which Kueue tries them; the quotas of pools with one flavor are
    added up. A quota of an unknown pool or machine type is left out: it has its own problem.

    Kueue gives a pod one flavor of each group, and adds its labels. If TPU hosts have quota of cpu and memory
    too, there is only one group: with two, pods with chips would also get the flavor of a CPU pool. CPU pools
    come first in it, because they have no chips; the taints of TPU flavors keep pods without chips off them.
    """
    known = capacities(site)
    tpus: dict[str, Chips] = {}
    hosts: dict[str, Chips] = {}
    cpus: dict[str, list[dict[str, Any]]] = {}
    for quota in quotas:
        capacity = known.get(quota.pool)
        if capacity is None:
            continue
        name = capacity.flavor.name
        if isinstance(capacity, CpuCapacity):
            resources = cpu_resources(quota, capacity)
            cpus |= {name: resources} if resources else {}
        else:
            of_pool = chips(quota, capacity)
            tpus[name] = tpus[name] + of_pool if name in tpus else of_pool
            if quota.cpu_and_memory:
                hosts[name] = hosts[name] + of_pool if name in hosts else of_pool
    pools = {pool.flavor.name: pool for pool in known.values() if isinstance(pool, TpuCapacity)}
    of_tpus = {name: [_chips_resource(quota)] for name, quota in tpus.items()}
    of_tpus |= {name: [*_host_resources(pools[name], hosts[name]), *of_tpus[name]] for name in hosts}
    covered = [resource["name"] for resource in next(iter(cpus.values()), [])]
    groups = [_group([TPU], of_tpus), _group(covered, cpus)]
    if hosts:
        names = [*dict.fromkeys((*covered, "cpu", "memory", TPU))]
        others = [_resource(name, "0") for name in names if name not in covered]
        flavors = {name: [*resources, *others] for name, resources in cpus.items()}
        flavors |= {name: _each(names, resources) for name, resources in of_tpus.items()}
        groups = [_group(names, flavors)]
    return [group for group in groups if group["flavors"]]


def _host_resources(capacity: TpuCapacity, quota: Chips) -> list[dict[str, Any]]:
    """Return the cpu and memory that pods may request of the hosts of a number of chips."""
    each = capacity.shape.machine.chips_per_host
    counts = (quota.nominal, quota.borrowing, quota.lending)
    return _node_resources(capacity.machine, [None if count is None else count // each for count in counts])


def _node_resources(machine: CpuMachine, counts: Iterable[int | None]) -> list[dict[str, Any]]:
    """Return cpu and memory of a number of nodes: a nominal number, and limits or None."""
    nominal, borrowing, lending = ({} if count is None else allocatable(machine, count) for count in counts)
    return [
        _resource(name, value, borrowing.get(name, ""), lending.get(name, ""))
        for name, value in nominal.items()
    ]


def _each(names: list[str], resources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a quota for each name, 0 if it is absent: all flavors of a group need the same resources."""
    had = {resource["name"]: resource for resource in resources}
    return [had.get(name) or _resource(name, "0") for name in names]


def _group(covered: list[str], flavors: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {
        "coveredResources": covered,
        "flavors": [{"name": name, "resources": resources} for name, resources in flavors.items()],
    }


def _chips_resource(quota: Chips) -> dict[str, Any]:
    limits = ("" if limit is None else str(limit) for limit in (quota.borrowing, quota.lending))
    return _resource(TPU, str(quota.nominal), *limits)


def cpu_resources(quota: Quota, capacity: CpuCapacity) -> list[dict[str, Any]]:
    """Return the resources of a quota of a CPU pool in order of their names; none if nothing is known."""
    if quota.nominal_quota is not None:
        written = sorted(quota.nominal_quota.items())
        return [_resource(name, canonical(value)) for name, value in written]
    if capacity.machine is None:
        return []
    counts = (nodes(quota, capacity), quota.borrowing_limit, quota.lending_limit)
    return _node_resources(capacity.machine, counts)


def _resource(name: str, nominal: str, borrowing: str = "", lending: str = "") -> dict[str, Any]:
    limits = {"borrowingLimit": borrowing, "lendingLimit": lending}
    written = {field: value for field, value in limits.items() if value}
    return {"name": name, "nominalQuota": nominal, **written}
