"""Quota in the units of Kueue: chips for TPU pools, cpu and memory for CPU pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.quantity import canonical
from slicewright.rendering.platform.flavor import CpuCapacity, TpuCapacity, capacities

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.catalogue.cpu_machine import CpuMachine
    from slicewright.intent.tpucluster import Quota
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster


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
    """Return the resource groups of a queue or a cohort: one for chips, one for what CPU pools have.

    Flavors are in the order of the quotas, in which Kueue tries them; pools of one flavor add up. A quota
    of a pool that is not known, or of a machine whose size is not, is left out: it has its problem.

    Kueue gives a pod one flavor of a group, and adds its labels. Where TPU hosts have quota of cpu and memory
    too, there is one group: pods with chips would get the flavor of a CPU pool beside that of their hosts.
    CPU pools come first in it, for they have no chips; what has none itself is kept off TPU flavors by their
    taints.
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
    """Return a resource for each name, 0 for absent ones: all flavors of a group need the same resources."""
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
