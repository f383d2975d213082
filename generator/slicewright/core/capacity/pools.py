"""The pools of a cluster in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.plan.scaling import size_range
from slicewright.core.plan.ways import called
from slicewright.core.platform.flavor import TpuCapacity, capacities
from slicewright.core.platform.quota import allocatable

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.plan.scaling import SizeRange
    from slicewright.core.platform.flavor import Capacity, CpuCapacity


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool: TPU slices, or nodes without TPUs, whose numbers of slices and chips are 0."""

    index: int
    """Position in spec.pools."""
    name: str
    machine_type: str
    topology: str
    accelerator: str
    provisioning: str
    flavor: str
    slices: int
    """As the file says, and so are hosts and chips; where the pool grows, its bounds tell more."""
    hosts: int
    """Nodes of all slices."""
    chips: int
    of_slices: SizeRange
    """How many slices it has at least and at most."""
    of_hosts: SizeRange
    of_chips: SizeRange
    allocatable: dict[str, str]
    """What pods may ask of the nodes that a CPU pool is given, where its machine type is known."""

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "kind": "TPU" if self.slices else "CPU",
            "machineType": self.machine_type,
            "topology": self.topology,
            "accelerator": self.accelerator,
            "provisioning": self.provisioning,
            "flavor": self.flavor,
            "slices": self.slices,
            "leastSlices": self.of_slices.least,
            "mostSlices": self.of_slices.most,
            "hosts": self.hosts,
            "leastHosts": self.of_hosts.least,
            "mostHosts": self.of_hosts.most,
            "chips": self.chips,
            "leastChips": self.of_chips.least,
            "mostChips": self.of_chips.most,
            "allocatable": self.allocatable,
        }


def pools(site: ResolvedCluster) -> tuple[Pool, ...]:
    """Return the pools in the order of the file; those whose TPU is not known are left out."""
    return tuple(_pool(site, capacity) for capacity in capacities(site).values())


def _pool(site: ResolvedCluster, capacity: Capacity) -> Pool:
    if not isinstance(capacity, TpuCapacity):
        return _cpu_pool(site, capacity)
    pool, shape = capacity.pool, capacity.shape
    reach = size_range(site, pool)
    return Pool(
        index=pool.index,
        name=pool.name,
        machine_type=shape.machine_type,
        topology=shape.topology,
        accelerator=shape.accelerator,
        provisioning=called(pool.provisioning),
        flavor=capacity.flavor.name,
        slices=pool.slices,
        hosts=pool.slices * shape.hosts,
        chips=pool.slices * shape.chips,
        of_slices=reach,
        of_hosts=reach.times(shape.hosts),
        of_chips=reach.times(shape.chips),
        allocatable={},
    )


def _cpu_pool(site: ResolvedCluster, capacity: CpuCapacity) -> Pool:
    pool, machine, reach = capacity.pool, capacity.machine, size_range(site, capacity.pool)
    return Pool(
        index=pool.index,
        name=pool.name,
        machine_type=pool.machine_type,
        topology="",
        accelerator="",
        provisioning="OnDemand",
        flavor=capacity.flavor.name,
        slices=0,
        hosts=pool.nodes,
        chips=0,
        of_slices=reach.times(0),
        of_hosts=reach,
        of_chips=reach.times(0),
        allocatable=allocatable(machine, pool.nodes) if machine else {},
    )
