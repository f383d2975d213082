"""One TPU generation as its data file describes it: names, rules, machine types and what is listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.core.catalogue.shape import MachineType

Counted = Literal["chips", "tensorCores"]
"""What the number in a name such as `v5p-32` counts."""


@dataclass(frozen=True, slots=True)
class Family:
    """The slices that share name prefixes: `v5litepod`, with the alias `v5e`, for one or more GKE labels."""

    prefix: str
    aliases: tuple[str, ...]
    accelerators: tuple[str, ...]

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Return every prefix that a name may have, the canonical one first."""
        return (self.prefix, *self.aliases)


@dataclass(frozen=True, slots=True)
class WrapRule:
    """Which sides of a slice have wrap-around links; exactly one of the two numbers is set, the other is 0.

    `all_sides_at_least` wraps all three sides when each has that many chips, else none; `side_equals` wraps
    each side that has exactly that many.
    """

    all_sides_at_least: int
    side_equals: int
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """The 3D rule: A<=B<=C, each a multiple of `side_multiple_of`, up to `max_side` and `max_cubes`.

    A cube has `side_multiple_of` chips on each of its three sides. All shapes of the rule are on one machine
    type.
    """

    machine_type: str
    side_multiple_of: int
    max_side: int
    max_cubes: int
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """One line of a data file: a topology on a machine type, and whether its count name means it."""

    machine: MachineType
    topology: str
    default_for_name: bool
    zones: tuple[str, ...]
    listed_by: tuple[str, ...]
    sources: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class NotOffered:
    """A machine type that tools know and Google does not document; `prefix` may be empty."""

    machine_type: str
    accelerator: str
    prefix: str
    why: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """One data file.

    `minimum_gke` maps a feature (`standard`, `autopilot`, `flexStart`, `multislice`, ...) to the first GKE
    versions that have it, one a minor version; `misnomers` maps labels and prefixes that other tools use to
    the right ones; `documented_max_chips` is 0 where no document names the largest slice; `rule` is None for
    2D generations.
    """

    name: str
    families: tuple[Family, ...]
    misnomers: Mapping[str, str]
    counts: Counted
    cores_per_chip: int
    sides: int
    pod_chips: int
    documented_max_chips: int
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
