"""The catalogue: every row of TPUs, found by what people write, and machines without accelerators."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct, convert

from slicewright.catalogue.shape import (
    Family,
    Generation,
    Listing,
    MachineType,
    NotOffered,
    Shape,
    Tier,
    bounds,
    host_bounds,
    joined,
    shapes_of,
    sides,
    wrap,
    written,
)
from slicewright.kubernetes.problem import nearest

CPU_FILE = "cpu.yaml"
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
_LARGEST_DISK = 64 * 1024


class Step(Struct, frozen=True):
    """A part of an amount, and the percentage of it that GKE keeps; without a width it is the rest."""

    width: Fraction | None
    percent: Fraction


class BootDisk(Struct, frozen=True, rename="camel"):
    """What image, eviction threshold and GKE reserve of a boot disk: percentages, and sizes in GiB."""

    default_size: int = 0
    image_percent: float = 0
    image_size: float = 0
    eviction_percent: float = 0
    kept_percent: float = 0
    kept_size: float = 0
    most_percent: float = 0
    most_size: float = 0

    def left(self, size: int) -> float:
        """Return what pods may ask for as ephemeral storage."""
        kept = size * self.kept_percent // 100 + self.kept_size
        kept = min(kept, size * self.most_percent // 100, self.most_size)
        files = size * (1 - self.image_percent / 100) - self.image_size
        return max(0, files * (1 - self.eviction_percent / 100) - kept)

    def size_for(self, storage: float | Fraction) -> int:
        """Return a size that leaves enough, in tens of GB and not below the default; 0 if no size does."""
        sizes = range(self.default_size, _LARGEST_DISK, 10)
        return next((size for size in sizes if self.left(size) >= storage), 0)


class Kept(Struct, frozen=True):
    """Reserved resources of a machine: steps of cores and of GiB of memory, and the eviction threshold."""

    cpu: tuple[Step, ...]
    memory: tuple[Step, ...]
    eviction_mib: int
    sources: tuple[str, ...]
    disk: BootDisk = BootDisk()


class CpuMachine(Struct, frozen=True):
    """The size of a machine, and the part that pods may request."""

    vcpus: int
    memory_mib: int
    kept: Kept
    disk_gb: int = 0
    """The size of its boot disk; 0 if it is not known where its ephemeral storage is."""

    @property
    def allocatable_millicpus(self) -> int:
        """Return the thousandths of a core that pods may ask for."""
        return self.vcpus * 1000 - round(_part(Fraction(self.vcpus), self.kept.cpu) * 1000)

    @property
    def allocatable_mib(self) -> int:
        """Return the memory that pods may ask for."""
        kept = _part(Fraction(self.memory_mib, _GIB), self.kept.memory) * _GIB
        return int(self.memory_mib - kept) - self.kept.eviction_mib

    @property
    def allocatable_storage_mib(self) -> int:
        """Return the ephemeral storage that pods may ask for."""
        return int(self.kept.disk.left(self.disk_gb) * _GIB)


class CpuFamily(Struct, frozen=True):
    """A machine family: GiB for one vCPU by kind of machine."""

    gib_per_vcpu: Mapping[str, Fraction]
    sources: tuple[str, ...]


class CpuMachines(Struct, frozen=True):
    """The machine types without accelerators; their sizes follow from their names."""

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
        """Return the most similar machine type with the same number of vCPUs; '' if none is similar."""
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
        """Return a machine with a known number of vCPUs and a known memory."""
        return CpuMachine(vcpus, memory_mib, self.kept)


NO_CPU_MACHINES = CpuMachines({}, frozenset(), Kept((), (), 0, ()))
"""No machine types: what a catalogue without the data file knows."""


def read_cpu_machines(document: Mapping[str, Any]) -> CpuMachines:
    """Return the machines of the parsed data file. Raises LookupError or TypeError if it is broken."""
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
            convert(kept["bootDisk"], BootDisk),
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


def count_name(generation: Generation, machine: MachineType, chips: int) -> str:
    """Return the name by count: the canonical prefix, and chips or TensorCores as the generation counts."""
    count = chips if generation.counts == "chips" else chips * machine.cores_per_chip
    return f"{generation.family_of(machine.accelerator).prefix}-{count}"


def listed_rows(generation: Generation) -> Iterator[Shape]:
    """Yield the rows that the data file lists, in its order.

    If several machine types have one topology, names mean the one that is the default for its count.
    """
    labels = Counter((row.machine.accelerator, row.topology) for row in generation.listings)
    for row in generation.listings:
        yield _shape(generation, row, "listed", several=labels[row.machine.accelerator, row.topology] > 1)


def rule_rows(generation: Generation) -> Iterator[Shape]:
    """Yield the rows that the 3D rule makes and no list has, smallest first.

    A count names such a row only if no other shape, listed or not, has that count.
    """
    rule = generation.rule
    if rule is None:
        return
    listed = {row.topology for row in generation.listings}
    shapes = [lengths for lengths in shapes_of(rule) if written(lengths) not in listed]
    chips = Counter(math.prod(lengths) for lengths in shapes)
    chips.update(math.prod(sides(topology)) for topology in listed)
    machine = next(machine for machine in generation.machines if machine.machine_type == rule.machine_type)
    for lengths in shapes:
        listing = Listing(
            machine=machine,
            topology=written(lengths),
            default_for_name=chips[math.prod(lengths)] == 1,
            zones=machine.zones,
            listed_by=(),
            sources=rule.sources,
            note="",
        )
        yield _shape(generation, listing, "rule", several=False)


def _shape(generation: Generation, listing: Listing, tier: Tier, *, several: bool) -> Shape:
    machine = listing.machine
    lengths = sides(listing.topology)
    chips = math.prod(lengths)
    name = count_name(generation, machine, chips)
    suffixes = [name.rpartition("-")[2]] if listing.default_for_name else []
    suffixes += [] if several and not listing.default_for_name else [listing.topology]
    prefixes = generation.family_of(machine.accelerator).prefixes
    multi_host = chips != machine.chips_per_host
    return Shape(
        generation=generation.name,
        accelerator=machine.accelerator,
        machine=machine,
        topology=listing.topology,
        tier=tier,
        names=tuple(f"{prefix}-{suffix}" for suffix in suffixes for prefix in prefixes),
        count_name=name,
        chips=chips,
        hosts=chips // machine.chips_per_host,
        tensor_cores=chips * machine.cores_per_chip,
        multi_host=multi_host,
        multislice=multi_host and machine.multislice,
        flex_start=machine.flex_start,
        pathways_instance_type=f"{machine.pathways}:{listing.topology}" if machine.pathways else None,
        host_bounds=host_bounds(lengths, bounds(machine.chips_per_host_bounds)) or "",
        chips_per_host_bounds=machine.chips_per_host_bounds,
        wrap=wrap(lengths, generation.wrap),
        exceeds_documented_max=0 < generation.documented_max_chips < chips,
        needs_accelerator_count=several,
        zones=listing.zones,
        listed_by=listing.listed_by,
        sources=listing.sources,
        note=listing.note,
    )


_ACCELERATOR = re.compile(r"(?:tpu-?v?|v)(\d+[a-z]*)(?:-[a-z]+)*")


def _generation_word(word: str) -> str:
    """Return `6e` of `tpu-v6e-slice`, and an empty string for a word of another form."""
    form = _ACCELERATOR.fullmatch(word)
    return form[1] if form else ""


class Scope(Struct, frozen=True):
    """The shapes and machine types that a word such as `v5e` or `tpu-v5-lite-podslice` allows in a request.

    `shapes` maps a topology to the row that it means when no machine type is named: the one that has names.
    `machines` are the machine types that may be named: all of a generation for its name, else only those of
    the word.
    """

    word: str
    generation: Generation
    family: Family
    shapes: Mapping[str, Shape]
    machines: tuple[MachineType, ...]


class Catalogue(Struct, frozen=True, eq=False, dict=True):
    """The generations of TPUs; rows and indexes are made on first use and kept."""

    generations: Mapping[str, Generation]
    cpu_machines: CpuMachines = NO_CPU_MACHINES
    """Machines without accelerators."""

    def rows(self, tier: Literal["listed", "rule", "all"] = "listed") -> tuple[Shape, ...]:
        """Return the rows of a tier, the listed ones in the order of the data, then the rule's by size."""
        if tier == "listed":
            return self._listed_rows
        return self._rule_rows if tier == "rule" else self._listed_rows + self._rule_rows

    def same_count(self, shape: Shape) -> tuple[Shape, ...]:
        """Return the other rows that the shape's count name fits, the listed ones first."""
        return tuple(row for row in self.by_count[shape.count_name] if row is not shape)

    @cached_property
    def _listed_rows(self) -> tuple[Shape, ...]:
        return tuple(row for generation in self.generations.values() for row in listed_rows(generation))

    @cached_property
    def _rule_rows(self) -> tuple[Shape, ...]:
        return tuple(row for generation in self.generations.values() for row in rule_rows(generation))

    @cached_property
    def machine_types(self) -> Mapping[str, MachineType]:
        """The machine types on offer, by name."""
        machines = (machine for generation in self.generations.values() for machine in generation.machines)
        return {machine.machine_type: machine for machine in machines}

    @cached_property
    def accelerators(self) -> Mapping[str, tuple[MachineType, ...]]:
        """The machine types of each GKE accelerator label."""
        by_label: dict[str, tuple[MachineType, ...]] = {}
        for machine in self.machine_types.values():
            by_label[machine.accelerator] = (*by_label.get(machine.accelerator, ()), machine)
        return by_label

    @cached_property
    def pathways_hint(self) -> str:
        """What to write where Pathways does not run on a shape: the hosts and the generations that it has."""
        machines = [machine for machine in self.machine_types.values() if machine.pathways]
        if not machines:
            return "leave pathways out"
        hosts = [f"-{chips}t" for chips in sorted({machine.chips_per_host for machine in machines})]
        generations = list(dict.fromkeys(machine.generation for machine in machines))
        return f"use a {joined(hosts, 'or')} machine type of {joined(generations, 'or')}"

    @cached_property
    def not_offered(self) -> Mapping[str, NotOffered]:
        """The machine types that Google does not document, with labels and prefixes that only they have."""
        by_word: dict[str, NotOffered] = {}
        for generation in self.generations.values():
            for left_out in generation.not_offered:
                for word in (left_out.machine_type, left_out.accelerator, left_out.prefix):
                    if word and word not in self.accelerators:
                        by_word.setdefault(word, left_out)
        return by_word

    @cached_property
    def misnomers(self) -> Mapping[str, str]:
        """The GKE name of each accelerator that other tools call differently."""
        misnomers = (generation.misnomers for generation in self.generations.values())
        return {wrong: right for words in misnomers for wrong, right in words.items()}

    @cached_property
    def names(self) -> Mapping[str, Shape]:
        """The listed row that a name means."""
        return {name: row for row in self._listed_rows for name in row.names}

    @cached_property
    def rule_names(self) -> Mapping[str, Shape]:
        """The row of the rule tier that a name means."""
        return {name: row for row in self._rule_rows for name in row.names}

    @cached_property
    def on_machine(self) -> Mapping[tuple[str, str], Shape]:
        """The listed row of a machine type and a topology."""
        return {(row.machine_type, row.topology): row for row in self._listed_rows}

    @cached_property
    def rule_on_machine(self) -> Mapping[tuple[str, str], Shape]:
        """The row of the rule tier of a machine type and a topology."""
        return {(row.machine_type, row.topology): row for row in self._rule_rows}

    @cached_property
    def by_count(self) -> Mapping[str, tuple[Shape, ...]]:
        """Every row that a canonical count name fits, the listed ones first."""
        by_name: dict[str, tuple[Shape, ...]] = {}
        for row in self.rows("all"):
            by_name[row.count_name] = (*by_name.get(row.count_name, ()), row)
        return by_name

    @cached_property
    def scopes(self) -> Mapping[str, Scope]:
        """What each prefix, alias and GKE label stands for; a generation's name is one of its prefixes."""
        scopes: dict[str, Scope] = {}
        for generation in self.generations.values():
            rows = [row for row in self._listed_rows if row.generation == generation.name]
            for family in generation.families:
                words = [(prefix, family.accelerators) for prefix in family.prefixes]
                words += [(label, (label,)) for label in family.accelerators if label not in family.prefixes]
                for word, labels in words:
                    shapes = {row.topology: row for row in rows if row.names and row.accelerator in labels}
                    machines = generation.machines
                    if word != generation.name:
                        machines = tuple(machine for machine in machines if machine.accelerator in labels)
                    scopes[word] = Scope(word, generation, family, shapes, machines)
        return scopes

    @cached_property
    def _generation_words(self) -> frozenset[str]:
        return frozenset(filter(None, map(_generation_word, (*self.scopes, *self.not_offered))))

    def may_be_newer(self, word: str) -> bool:
        """Tell whether a word has the form of an accelerator of a generation that is not in the catalogue."""
        generation = _generation_word(word)
        return bool(generation) and generation not in self._generation_words

    def unlisted(self, scope: Scope, topology: str) -> Shape | None:
        """Return the row of the rule tier that a topology means within a scope."""
        rule = scope.generation.rule
        return self.rule_on_machine.get((rule.machine_type, topology)) if rule else None
