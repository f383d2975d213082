"""One row of the catalogue: a slice of one topology on one machine type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tier = Literal["listed", "rule"]
"""`listed`: a published list has the shape; `rule`: only the 3D rule of its generation makes it."""

Placement = Literal["", "COMPACT", "HIGH_THROUGHPUT"]
"""How the node pool of a multi-host slice is placed: by a compact placement policy or a workload policy."""


@dataclass(frozen=True, slots=True)
class MachineType:
    """A machine type of GKE that carries TPU chips; what no source says is None or empty.

    `memory_gb` and `hbm_gb_per_chip` are in GB as the sources write them; `pathways` is the word before the
    colon of a Pathways instance type; `placement` and `multislice` say what multi-host slices of it can do;
    `queued` is None where it is not known whether queued provisioning works.
    """

    machine_type: str
    accelerator: str
    generation: str
    chips_per_host: int
    cores_per_chip: int
    vcpus: int
    memory_gb: int
    chips_per_host_bounds: str
    flex_start: bool
    multislice: bool
    queued: bool | None = None
    hbm_gb_per_chip: int | None = None
    numa_nodes: int | None = None
    boot_disk: str = ""
    pathways: str = ""
    placement: Placement = ""
    flex_start_zones: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    notes: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """One catalogue row.

    `names` is what resolves to this row; rows that only (topology, machineType) reaches have none, such as
    2x4 on one host of eight chips. `count_name` is the name by count, also where it resolves to another row.
    `needs_accelerator_count` says that another row has the same accelerator and topology labels, so that pods
    must select `cloud.google.com/gke-accelerator-count` too. `listed_by` holds the short names of the lists
    that have the shape, `sources` full citations. Bounds and wrap are written as libtpu reads them: `2,2,1`,
    `true,true,false`.
    """

    generation: str
    accelerator: str
    machine: MachineType
    topology: str
    tier: Tier
    names: tuple[str, ...]
    count_name: str
    chips: int
    hosts: int
    tensor_cores: int
    multi_host: bool
    multislice: bool
    flex_start: bool
    pathways_instance_type: str | None
    host_bounds: str
    chips_per_host_bounds: str
    wrap: str
    exceeds_documented_max: bool
    needs_accelerator_count: bool
    zones: tuple[str, ...]
    listed_by: tuple[str, ...]
    sources: tuple[str, ...]
    note: str

    @property
    def chips_per_host(self) -> int:
        """Return how many chips one host has, which is what its pod requests."""
        return self.machine.chips_per_host

    @property
    def machine_type(self) -> str:
        """Return the name of the machine type."""
        return self.machine.machine_type

    def record(self) -> dict[str, object]:
        """Return the JSON form, an object of `catalog -o json`."""
        return {
            "generation": self.generation,
            "accelerator": self.accelerator,
            "machineType": self.machine_type,
            "topology": self.topology,
            "tier": self.tier,
            "names": list(self.names),
            "countName": self.count_name,
            "chips": self.chips,
            "chipsPerHost": self.chips_per_host,
            "hosts": self.hosts,
            "tensorCores": self.tensor_cores,
            "multiHost": self.multi_host,
            "pathwaysInstanceType": self.pathways_instance_type,
            "flexStart": self.flex_start,
            "multislice": self.multislice,
            "hostBounds": self.host_bounds,
            "chipsPerHostBounds": self.chips_per_host_bounds,
            "wrap": self.wrap,
            "exceedsDocumentedMax": self.exceeds_documented_max,
            "needsAcceleratorCount": self.needs_accelerator_count,
            "zones": list(self.zones),
            "listedBy": list(self.listed_by),
            "sources": list(self.sources),
            "note": self.note,
        }
