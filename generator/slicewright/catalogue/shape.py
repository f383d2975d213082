"""A generation of TPUs as its data file describes it; one slice of it, and the arithmetic of topologies."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from slicewright.kubernetes.problem import first_of
from slicewright.kubernetes.types import camel, plain

Tier = Literal["listed", "rule"]
"""`listed`: a published list has the shape; `rule`: only the 3D rule of its generation makes it."""

Placement = Literal["", "COMPACT", "HIGH_THROUGHPUT"]
"""How the node pool of a multi-host slice is placed: by a compact placement policy or a workload policy."""


class MachineType(Struct, frozen=True):
    """A machine type of GKE that carries TPU chips; what no source says is None or empty.

    `memory_gb` and `hbm_gb_per_chip` are in GB as the sources write them; `pathways` is the word before the
    colon of a Pathways instance type; `placement` and `multislice` say what multi-host slices of it can do;
    `queued` is None if it is not known whether queued provisioning works.
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


class Shape(Struct, frozen=True, kw_only=True):
    """One catalogue row, or nodes without chips, for which the defaults are.

    `names` is what resolves to this row; rows that only (topology, machineType) reaches have none, such as
    2x4 on one host of eight chips. `count_name` is the name by count, also where it resolves to another row.
    `needs_accelerator_count` says that another row has the same accelerator and topology labels, so that pods
    must select `cloud.google.com/gke-accelerator-count` too. `listed_by` holds the short names of the lists
    that have the shape, `sources` full citations. Bounds and wrap are written as libtpu reads them: `2,2,1`,
    `true,true,false`.
    """

    generation: str = ""
    accelerator: str = ""
    machine: MachineType
    topology: str = ""
    tier: Tier = "listed"
    names: tuple[str, ...] = ()
    count_name: str = ""
    chips: int = 0
    hosts: int
    tensor_cores: int = 0
    multi_host: bool
    multislice: bool = False
    flex_start: bool = False
    pathways_instance_type: str | None = None
    host_bounds: str = ""
    chips_per_host_bounds: str = ""
    wrap: str = ""
    exceeds_documented_max: bool = False
    needs_accelerator_count: bool = False
    zones: tuple[str, ...] = ()
    listed_by: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    note: str = ""

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
        return {camel(name): plain(getattr(self, name)) for name in _RECORDED}


_RECORDED = (
    *("generation", "accelerator", "machine_type", "topology", "tier", "names", "count_name", "chips"),
    *("chips_per_host", "hosts", "tensor_cores", "multi_host", "pathways_instance_type", "flex_start"),
    *("multislice", "host_bounds", "chips_per_host_bounds", "wrap", "exceeds_documented_max"),
    *("needs_accelerator_count", "zones", "listed_by", "sources", "note"),
)
_CPU_MACHINE = MachineType("", "", "", 0, 0, 0, 0, "", flex_start=False, multislice=False)


def cpu_nodes(machine_type: str, nodes: int) -> Shape:
    """Return the shape of a run on nodes without chips: a host is a node, and no list has a name for it."""
    return Shape(machine=replace(_CPU_MACHINE, machine_type=machine_type), hosts=nodes, multi_host=nodes > 1)


Counted = Literal["chips", "tensorCores"]
"""What the number in a name such as `v5p-32` counts."""


class Family(Struct, frozen=True):
    """The slices that share name prefixes: `v5litepod`, with the alias `v5e`, for one or more GKE labels."""

    prefix: str
    aliases: tuple[str, ...]
    accelerators: tuple[str, ...]

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Return every prefix that a name may have, the canonical one first."""
        return (self.prefix, *self.aliases)


class WrapRule(Struct, frozen=True):
    """Which sides of a slice have wrap-around links; exactly one of the two numbers is set, the other is 0.

    `all_sides_at_least` wraps all three sides when each has that many chips, else none; `side_equals` wraps
    each side that has exactly that many.
    """

    all_sides_at_least: int
    side_equals: int
    sources: tuple[str, ...]


class Rule(Struct, frozen=True):
    """The 3D rule: A<=B<=C, each a multiple of `side_multiple_of`, up to `max_side` and `max_cubes`.

    A cube has `side_multiple_of` chips on each of its three sides. All shapes of the rule are on one machine
    type.
    """

    machine_type: str
    side_multiple_of: int
    max_side: int
    max_cubes: int
    sources: tuple[str, ...]


class Listing(Struct, frozen=True):
    """One line of a data file: a topology on a machine type, and whether its count name means it."""

    machine: MachineType
    topology: str
    default_for_name: bool
    zones: tuple[str, ...]
    listed_by: tuple[str, ...]
    sources: tuple[str, ...]
    note: str


class NotOffered(Struct, frozen=True):
    """A machine type that tools know and Google does not document; `prefix` may be empty."""

    machine_type: str
    accelerator: str
    prefix: str
    why: str
    sources: tuple[str, ...]


class Generation(Struct, frozen=True):
    """One data file.

    `minimum_gke` maps a feature (`standard`, `autopilot`, `flexStart`, `multislice`, ...) to the first GKE
    versions that have it, one for each minor; `misnomers` maps labels and prefixes that other tools use to
    the right ones; `documented_max_chips` is 0 if no document names the largest slice; `rule` is None for
    2D generations; `sub_block_chips` is 0 if no source says how large a sub-block of a reservation is.
    """

    name: str
    families: tuple[Family, ...]
    misnomers: Mapping[str, str]
    counts: Counted
    cores_per_chip: int
    sides: int
    pod_chips: int
    documented_max_chips: int
    sub_block_chips: int
    wrap: WrapRule
    rule: Rule | None
    zones: tuple[str, ...]
    minimum_gke: Mapping[str, tuple[str, ...]]
    machines: tuple[MachineType, ...]
    listings: tuple[Listing, ...]
    not_offered: tuple[NotOffered, ...]

    @property
    def multislice(self) -> bool:
        """Whether slices of this generation can be joined over the data-centre network."""
        return any(machine.multislice for machine in self.machines)

    def family_of(self, accelerator: str) -> Family:
        """Return the family that a GKE label of this generation belongs to."""
        return next(family for family in self.families if accelerator in family.accelerators)


_NUMBERS = re.compile(r"[0-9]{1,9}")


def version_numbers(version: str) -> tuple[int, ...]:
    """Return (1, 33, 0, 1712000) for `1.33.0-gke.1712000`."""
    return tuple(map(int, _NUMBERS.findall(version)))


def is_below(version: str, minimum: tuple[str, ...]) -> bool:
    """Tell whether a version is older than what a feature needs.

    `minimum` names the first version with the feature, one for each minor; later minors have it. Only as
    many numbers are compared as the version has: `1.33` may be any patch of it.
    """
    have = version_numbers(version)
    firsts = sorted(map(version_numbers, minimum))
    same_minor = [first for first in firsts if first[:2] == have[:2]]
    return have < same_minor[0][: len(have)] if same_minor else have[:2] < firsts[0][:2]


DIMENSIONS = 3
"""Bounds and wrap always have three sides; a 2D topology is padded with 1."""
_TOPOLOGY = re.compile(r"[1-9][0-9]{0,5}(x[1-9][0-9]{0,5}){1,2}")


def is_topology(text: str) -> bool:
    """Tell whether a text has two or three sides, each a number of chips."""
    return _TOPOLOGY.fullmatch(text) is not None


def sides(topology: str) -> tuple[int, ...]:
    """Return (2, 2, 4) for `2x2x4`."""
    return tuple(map(int, topology.split("x")))


def written(lengths: Iterable[int]) -> str:
    """Return `2x2x4` for (2, 2, 4)."""
    return "x".join(map(str, lengths))


def padded(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return three sides."""
    return (*lengths, *(1,) * (DIMENSIONS - len(lengths)))


def bounds(text: str) -> tuple[int, ...]:
    """Return (2, 2, 1) for `2,2,1`."""
    return tuple(map(int, text.split(",")))


def host_bounds(lengths: tuple[int, ...], per_host: tuple[int, ...]) -> str | None:
    """Return how many hosts are along each side, as text; None if hosts do not tile the topology."""
    pairs = tuple(zip(padded(lengths), per_host, strict=True))
    if any(side % host for side, host in pairs):
        return None
    return ",".join(str(side // host) for side, host in pairs)


def wrap(lengths: tuple[int, ...], rule: WrapRule) -> str:
    """Return the wrap-around of each side, as lower-case booleans."""
    if rule.side_equals:
        wrapped = [side == rule.side_equals for side in padded(lengths)]
    else:
        wrapped = [min(padded(lengths)) >= rule.all_sides_at_least] * DIMENSIONS
    return ",".join("true" if side else "false" for side in wrapped)


def shapes_of(rule: Rule) -> Iterator[tuple[int, ...]]:
    """Yield every A<=B<=C that the rule allows, smallest first."""
    longest = rule.max_side // rule.side_multiple_of
    shapes = [
        (a, b, c)
        for a in range(1, longest + 1)
        for b in range(a, min(longest, rule.max_cubes // a) + 1)
        for c in range(b, min(longest, rule.max_cubes // (a * b)) + 1)
    ]
    for cubes in sorted(shapes, key=lambda cubes: (math.prod(cubes), cubes)):
        yield tuple(side * rule.side_multiple_of for side in cubes)


FEW = 12
"""A list of choices longer than this is cut short."""


def joined(words: Sequence[str], conjunction: str = "and") -> str:
    """Return `a, b and c`; of many words the first few, and how many there are besides."""
    if len(words) > FEW:
        return first_of(words, FEW)
    *most, last = words
    return f"{', '.join(most)} {conjunction} {last}" if most else last


def nearest_are(words: Sequence[str]) -> str:
    """Return the hint that names the nearest legal choices."""
    return f"write the nearest: {joined(words, 'or')}"


def near_topologies(lengths: tuple[int, ...], choices: Iterable[str]) -> list[str]:
    """Return the two choices whose sides differ least from the given ones, the smaller first.

    Sides differ by their ratio. A shape of another dimension is compared by its number of chips: one choice
    if some choice has as many, else the next smaller and the next larger.
    """
    sized = sorted((math.prod(sides(choice)), choice) for choice in choices)
    if len(sides(sized[0][1])) != len(lengths):
        return around(math.prod(lengths), sized)

    def differs(choice: tuple[int, str]) -> float:
        pairs = zip(sorted(lengths), sorted(sides(choice[1])), strict=True)
        return round(sum(abs(math.log(side / other)) for side, other in pairs), 9)

    return [text for _, text in sorted(sorted(sized, key=differs)[:2])]


def around(size: int, choices: Iterable[tuple[int, str]]) -> list[str]:
    """Return the choice of that size, else the next smaller and the next larger one if there are any."""
    sized = sorted(choices)
    same = [text for other, text in sized if other == size]
    below = [text for other, text in sized if other < size]
    above = [text for other, text in sized if other > size]
    return same[:1] or below[-1:] + above[:1]
