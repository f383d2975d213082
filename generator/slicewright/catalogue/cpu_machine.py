"""Machines without accelerators: vCPUs and memory by the name of a type, and what pods may ask of them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.problem import nearest

FILE = "cpu.yaml"
"""The data file."""

_PREDEFINED = re.compile(
    r"(?P<family>[a-z0-9]+)-(?P<kind>standard|highmem|highcpu)-(?P<vcpus>[1-9][0-9]{0,3})"
)
_CUSTOM = re.compile(
    r"(?:(?P<family>[a-z0-9]+)-)?custom-(?P<vcpus>[1-9][0-9]{0,3})-(?P<mib>[1-9][0-9]{0,7})(?:-ext)?"
)
_OLDEST = "n1"
"""The family of a custom machine type that names none."""
_COMMON, _SIZES = "n2", (2, 4, 8, 16, 32, 48, 64, 80, 96, 128)
"""The family of machines that a hint names, and its numbers of vCPUs."""
_KINDS = ("standard", "highmem", "highcpu")
_GIB = 1024


class Step(Struct, frozen=True):
    """A part of an amount, and the percentage of it that GKE keeps; without a width it is the rest."""

    width: Fraction | None
    percent: Fraction


class Kept(Struct, frozen=True):
    """Reserved resources of a machine: steps of cores and of GiB of memory, and the eviction threshold."""

    cpu: tuple[Step, ...]
    memory: tuple[Step, ...]
    eviction_mib: int
    sources: tuple[str, ...]


class CpuMachine(Struct, frozen=True):
    """The size of a machine, and the part that pods may request."""

    vcpus: int
    memory_mib: int
    kept: Kept

    @property
    def allocatable_millicpus(self) -> int:
        """Return the thousandths of a core that pods may ask for."""
        return self.vcpus * 1000 - round(_part(Fraction(self.vcpus), self.kept.cpu) * 1000)

    @property
    def allocatable_mib(self) -> int:
        """Return the memory that pods may ask for."""
        kept = _part(Fraction(self.memory_mib, _GIB), self.kept.memory) * _GIB
        return int(self.memory_mib - kept) - self.kept.eviction_mib


class CpuFamily(Struct, frozen=True):
    """A machine family: GiB for one vCPU by kind of machine."""

    gib_per_vcpu: Mapping[str, Fraction]
    sources: tuple[str, ...]


class CpuMachines(Struct, frozen=True):
    """The machine types that are known, by the rules of their names."""

    families: Mapping[str, CpuFamily]
    custom: frozenset[str]
    """The families with custom machine types."""
    kept: Kept

    def find(self, machine_type: str) -> CpuMachine | None:
        """Return the size of a machine type such as n2-standard-64, None if it is not known."""
        custom = _CUSTOM.fullmatch(machine_type)
        if custom is not None and (custom["family"] or _OLDEST) in self.custom:
            return self.sized(int(custom["vcpus"]), int(custom["mib"]))
        predefined = _PREDEFINED.fullmatch(machine_type)
        family = self.families.get(predefined["family"]) if predefined else None
        if predefined is None or family is None or predefined["kind"] not in family.gib_per_vcpu:
            return None
        vcpus = int(predefined["vcpus"])
        return self.sized(vcpus, int(vcpus * family.gib_per_vcpu[predefined["kind"]] * _GIB))

    def near(self, machine_type: str) -> str:
        """Return the machine type of as many vCPUs that looks most like a name; '' if none is near."""
        vcpus = machine_type.rpartition("-")[2]
        families = self.families.items()
        names = [f"{name}-{kind}-{vcpus}" for name, family in families for kind in family.gib_per_vcpu]
        return next((name for name in nearest(machine_type, names) if self.find(name)), "")

    def common(self) -> Iterator[tuple[str, CpuMachine]]:
        """Yield the machine types that hints name, the smallest first."""
        for name in (f"{_COMMON}-standard-{vcpus}" for vcpus in _SIZES):
            if machine := self.find(name):
                yield name, machine

    def sized(self, vcpus: int, memory_mib: int) -> CpuMachine:
        """Return a machine of a size that is known otherwise."""
        return CpuMachine(vcpus, memory_mib, self.kept)


NONE = CpuMachines({}, frozenset(), Kept((), (), 0, ()))
"""No machine types: what a catalogue without the data file knows."""


def read_cpu_machines(document: Mapping[str, Any]) -> CpuMachines:
    """Return the machines of the parsed data file. Raises LookupError or TypeError where it is broken."""
    glossary: Mapping[str, str] = document["sources"]
    kept = document["kept"]
    return CpuMachines(
        {
            family["family"]: CpuFamily(
                {kind: _fraction(family[kind]) for kind in _KINDS if kind in family},
                _cited(glossary, family["sources"]),
            )
            for family in document["families"]
        },
        frozenset(document["custom"]["families"]),
        Kept(
            tuple(_steps(kept["cpu"])),
            tuple(_steps(kept["memoryGiB"])),
            kept["evictionMiB"],
            _cited(glossary, kept["sources"]),
        ),
    )


def _cited(glossary: Mapping[str, str], keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(glossary[key] for key in keys)


def _steps(steps: Iterable[Mapping[str, Any]]) -> Iterable[Step]:
    for step in steps:
        width = step.get("of")
        yield Step(None if width is None else _fraction(width), _fraction(step["percent"]))


def _fraction(number: float) -> Fraction:
    """Return a number as people write it: 0.9 is nine tenths."""
    return Fraction(str(number))


def _part(amount: Fraction, steps: Iterable[Step]) -> Fraction:
    """Return what is kept of an amount, a percentage for each step of it."""
    kept = Fraction(0)
    for step in steps:
        part = amount if step.width is None else min(amount, step.width)
        kept += part * step.percent / 100
        amount -= part
    return kept
