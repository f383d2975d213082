"""What a machine type offers, where the catalogue does not know it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.workspace.package import package

if TYPE_CHECKING:
    from slicewright.core.catalogue.cpu_machine import CpuMachine

_GIB = 1024
GENEROUS = (256, 1024 * _GIB)
"""vCPUs and MiB that a machine type of an unknown family is taken to have."""


def machine_of_size(vcpus: int, memory_mib: int) -> CpuMachine:
    """Return a machine of a size."""
    return package().catalogue.cpu_machines.sized(vcpus, memory_mib)


def machine_of_type(name: str) -> CpuMachine:
    """Return a machine type such as n2-standard-64; an unknown one shall not keep pods from running."""
    return package().catalogue.cpu_machines.find(name) or machine_of_size(*GENEROUS)
