"""What a machine type offers: vCPUs and memory from its name, and what GKE leaves of them to pods."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"(?P<family>[a-z0-9]+)-(?P<kind>standard|highmem|highcpu)-(?P<vcpus>[0-9]+)")
_GIB_PER_VCPU = {
    "standard": {"": 4.0, "n1": 3.75},
    "highmem": {"": 8.0, "n1": 6.5},
    "highcpu": {"": 2.0, "n1": 0.9, "n2": 1.0, "n2d": 1.0, "e2": 1.0},
}
"""Memory by kind, and by family where one differs from the others (Compute Engine, machine families)."""

_GIB = 1024
_MEMORY_KEPT = ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06), (float("inf"), 0.02))
_CPU_KEPT = ((1, 60.0), (1, 10.0), (2, 5.0), (float("inf"), 2.5))
_EVICTION_MIB = 100


@dataclass(frozen=True, slots=True)
class Machine:
    """The size of a machine."""

    vcpus: int
    memory_mib: int

    @property
    def allocatable_millicpus(self) -> int:
        """Return what pods may ask for: 6 % of the first core is kept, 1 % of the second, less of others."""
        return self.vcpus * 1000 - round(_kept(self.vcpus, _CPU_KEPT))

    @property
    def allocatable_mib(self) -> int:
        """Return what pods may ask for: a quarter of the first 4 GiB is kept, less of what comes after."""
        kept = _kept(self.memory_mib / _GIB, _MEMORY_KEPT) * _GIB
        return int(self.memory_mib - kept) - _EVICTION_MIB


GENEROUS = Machine(vcpus=256, memory_mib=1024 * _GIB)
"""What a machine type of an unknown family is taken for: it should not be what keeps a pod from running."""


def of_type(name: str) -> Machine:
    """Return the size of a general-purpose machine type, such as n2-standard-64."""
    found = _NAME.fullmatch(name)
    if found is None:
        return GENEROUS
    per_vcpu = _GIB_PER_VCPU[found["kind"]]
    vcpus = int(found["vcpus"])
    return Machine(vcpus, int(vcpus * per_vcpu.get(found["family"], per_vcpu[""]) * _GIB))


def _kept(amount: float, steps: tuple[tuple[float, float], ...]) -> float:
    """Return what GKE reserves (GKE, "Plan node sizes"): a rate for each step of an amount."""
    kept = 0.0
    for width, rate in steps:
        part = min(amount, width)
        kept += part * rate
        amount -= part
    return kept
