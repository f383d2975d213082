"""The supply of a cluster: the sizes of its pools, and the quota of its queues and cohorts."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.quantity import is_limited, plain
from slicewright.kubernetes.types import record
from slicewright.kueue.quota import Node, Quotas, kept, most
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, count, size_range
from slicewright.rendering.plan.ways import called
from slicewright.rendering.platform.flavor import Capacity, TpuCapacity, capacities
from slicewright.rendering.platform.queues import allocatable

_MEBI, _GIBI = Fraction(2**20), Fraction(2**30)


class Pool(Struct, frozen=True):
    """A pool: TPU slices, or nodes without TPUs, whose numbers of slices and chips are 0."""

    name: str
    kind: str
    """`TPU` or `CPU`."""
    machine_type: str
    topology: str
    accelerator: str
    provisioning: str
    flavor: str
    slices: int
    """As the file says, and so are hosts and chips; a pool that grows has a range."""
    least_slices: int
    most_slices: int
    hosts: int
    """Nodes of all slices."""
    least_hosts: int
    most_hosts: int
    chips: int
    least_chips: int
    most_chips: int
    allocatable: dict[str, str]
    """What pods may ask of the nodes that a CPU pool is given, where its machine type is known."""


class Share(Struct, frozen=True):
    """Quota of a queue or a cohort for one resource of a flavor. None is unlimited, or not known."""

    flavor: str
    resource: str
    nominal: Fraction
    borrowing_limit: Fraction | None
    lending_limit: Fraction | None
    borrowable: Fraction | None
    """With nothing else running; None for a cohort, which runs nothing."""
    lendable: Fraction
    total: Fraction | None
    """The most that a queue can ever get; None for a cohort."""

    def record(self) -> dict[str, Any]:
        """Return the JSON form: amounts as Kubernetes quantities; None if there is none, or none known."""
        return {
            name: value if isinstance(value, str) else plain(value) if _is_known(value) else None
            for name, value in record(self).items()
        }


class Holder(Struct, frozen=True):
    """A ClusterQueue or a Cohort with its quota."""

    name: str
    cohort: str
    """The cohort of a queue, the parent of a cohort."""
    local_queues: tuple[str, ...]
    """`namespace/name` of the LocalQueues that feed a queue."""
    quota: tuple[Share, ...]


def _is_known(value: Fraction | None) -> bool:
    return value is not None and is_limited(value)


def shown(resource: str, value: Fraction | None) -> str:
    """Return an amount as people read it: memory in Gi or Mi; '' if it is unknown or unlimited."""
    if value is None or not is_limited(value):
        return ""
    if resource != "memory" or not value:
        return plain(value)
    unit, suffix = (_GIBI, "Gi") if value >= _GIBI else (_MEBI, "Mi")
    return f"{plain(round(value / unit, 1))}{suffix}"


def pools(site: ResolvedCluster) -> tuple[Pool, ...]:
    """Return the pools in the order of the file; those whose TPU is not known are left out."""
    return tuple(_pool(site, capacity) for capacity in capacities(site).values())


def _pool(site: ResolvedCluster, capacity: Capacity) -> Pool:
    name, now, reach = capacity.pool.name, count(capacity.pool), size_range(site, capacity.pool)
    if isinstance(capacity, TpuCapacity):
        shape, way = capacity.shape, called(capacity.pool.provisioning)
        nodes = ("TPU", shape.machine_type, shape.topology, shape.accelerator, way)
        sizes, of_node = {"slices": 1, "hosts": shape.hosts, "chips": shape.chips}, {}
    else:
        nodes = ("CPU", capacity.pool.machine_type, "", "", "OnDemand")
        sizes = {"slices": 0, "hosts": 1, "chips": 0}
        of_node = allocatable(capacity.machine, now) if capacity.machine else {}
    numbers = {noun: now * size for noun, size in sizes.items()}
    numbers |= {f"least_{noun}": reach.least * size for noun, size in sizes.items()}
    numbers |= {f"most_{noun}": reach.most * size for noun, size in sizes.items()}
    kind, machine, topology, accelerator, way = nodes
    flavor = capacity.flavor.name
    return Pool(name, kind, machine, topology, accelerator, way, flavor, **numbers, allocatable=of_node)


def queues(known: Quotas) -> tuple[Holder, ...]:
    """Return the ClusterQueues in the order in which they are declared."""
    return tuple(_queue(known, queue) for queue in known.queues.values())


def cohorts(known: Quotas) -> tuple[Holder, ...]:
    """Return the Cohorts in the order in which they are declared."""
    return tuple(
        Holder(cohort.name, cohort.parent, (), tuple(_shares(known, cohort, is_queue=False)))
        for cohort in known.cohorts.values()
    )


def _queue(known: Quotas, queue: Node) -> Holder:
    local = tuple(
        f"{namespace}/{name}" for (namespace, name), own in known.local.items() if own == queue.name
    )
    return Holder(queue.name, queue.parent, local, tuple(_shares(known, queue, is_queue=True)))


def _shares(known: Quotas, node: Node, *, is_queue: bool) -> Iterator[Share]:
    for (flavor, resource), cell in node.cells.items():
        best = most(known, node, (flavor, resource)) if is_queue else None
        yield Share(
            flavor=flavor,
            resource=resource,
            nominal=cell.nominal,
            borrowing_limit=cell.borrowing,
            lending_limit=cell.lending,
            borrowable=best.total - best.nominal if best and is_limited(best.nominal) else None,
            lendable=cell.nominal - kept(cell, cell.nominal) if node.parent else Fraction(0),
            total=best.total if best else None,
        )
