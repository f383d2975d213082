"""The pools of a cluster in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.platform.flavor import TpuCapacity, capacities
from slicewright.core.platform.quota import allocatable
from slicewright.core.provision.node_pool import bounds

if TYPE_CHECKING:
    from slicewright.core.plan.site import Site
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
    most_slices: int
    """To so many it grows by itself."""
    hosts: int
    """Nodes of all slices."""
    chips: int
    allocatable: dict[str, str]
    """What pods may ask of all nodes of a CPU pool, where its machine type is known."""

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
            "mostSlices": self.most_slices,
            "hosts": self.hosts,
            "chips": self.chips,
            "allocatable": self.allocatable,
        }


def pools(site: Site) -> tuple[Pool, ...]:
    """Return the pools in the order of the file; those whose TPU is not known are left out."""
    return tuple(_pool(site, capacity) for capacity in capacities(site).values())


def _pool(site: Site, capacity: Capacity) -> Pool:
    if not isinstance(capacity, TpuCapacity):
        return _cpu_pool(capacity)
    pool, shape = capacity.pool, capacity.shape
    scales = bounds(site, pool, pool.slices)
    wanted = pool.provisioning
    return Pool(
        index=pool.index,
        name=pool.name,
        machine_type=shape.machine_type,
        topology=shape.topology,
        accelerator=shape.accelerator,
        provisioning=" ".join(part for part in (wanted.type, wanted.name, wanted.block) if part),
        flavor=capacity.flavor.name,
        slices=pool.slices,
        most_slices=max(pool.slices, scales.most) if scales else pool.slices,
        hosts=pool.slices * shape.hosts,
        chips=pool.slices * shape.chips,
        allocatable={},
    )


def _cpu_pool(capacity: CpuCapacity) -> Pool:
    pool, machine = capacity.pool, capacity.machine
    return Pool(
        index=pool.index,
        name=pool.name,
        machine_type=pool.machine_type,
        topology="",
        accelerator="",
        provisioning="OnDemand",
        flavor=capacity.flavor.name,
        slices=0,
        most_slices=0,
        hosts=pool.nodes,
        chips=0,
        allocatable=allocatable(machine, pool.nodes) if machine else {},
    )
