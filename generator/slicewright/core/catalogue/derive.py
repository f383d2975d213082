"""Catalogue rows from the data of a generation: the listed ones, and those that only its 3D rule makes."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from slicewright.core.catalogue import geometry
from slicewright.core.catalogue.generation import Generation, Listing
from slicewright.core.catalogue.shape import MachineType, Shape, Tier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def count_name(generation: Generation, machine: MachineType, chips: int) -> str:
    """Return the name by count: the canonical prefix, and chips or TensorCores as the generation counts."""
    count = chips if generation.counts == "chips" else chips * machine.cores_per_chip
    return f"{generation.family_of(machine.accelerator).prefix}-{count}"


def listed_rows(generation: Generation) -> Iterator[Shape]:
    """Yield the rows that the data file lists, in its order.

    Where several machine types have one topology, names mean the one that is the default for its count.
    """
    labels = Counter((row.machine.accelerator, row.topology) for row in generation.listings)
    for row in generation.listings:
        several = labels[row.machine.accelerator, row.topology] > 1
        yield _shape(
            generation,
            row,
            "listed",
            by_count=row.default_for_name,
            by_topology=row.default_for_name or not several,
            several=several,
        )


def rule_rows(generation: Generation) -> Iterator[Shape]:
    """Yield the rows that the 3D rule makes and no list has, smallest first.

    A count names such a row only if no other shape, listed or not, has that count.
    """
    rule = generation.rule
    if rule is None:
        return
    listed = {row.topology for row in generation.listings}
    made = [lengths for lengths in geometry.shapes_of(rule) if geometry.written(lengths) not in listed]
    chips = Counter(math.prod(lengths) for lengths in made)
    chips.update(math.prod(geometry.sides(topology)) for topology in listed)
    machine = next(machine for machine in generation.machines if machine.machine_type == rule.machine_type)
    for lengths in made:
        listing = Listing(
            machine=machine,
            topology=geometry.written(lengths),
            default_for_name=chips[math.prod(lengths)] == 1,
            zones=machine.zones,
            listed_by=(),
            sources=rule.sources,
            note="",
        )
        yield _shape(
            generation,
            listing,
            "rule",
            by_count=listing.default_for_name,
            by_topology=True,
            several=False,
        )


def _shape(
    generation: Generation,
    listing: Listing,
    tier: Tier,
    *,
    by_count: bool,
    by_topology: bool,
    several: bool,
) -> Shape:
    machine = listing.machine
    lengths = geometry.sides(listing.topology)
    chips = math.prod(lengths)
    name = count_name(generation, machine, chips)
    suffixes: Sequence[str] = (
        *((name.rpartition("-")[2],) if by_count else ()),
        *((listing.topology,) if by_topology else ()),
    )
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
        host_bounds=geometry.host_bounds(lengths, geometry.bounds(machine.chips_per_host_bounds)) or "",
        chips_per_host_bounds=machine.chips_per_host_bounds,
        wrap=geometry.wrap(lengths, generation.wrap),
        exceeds_documented_max=0 < generation.documented_max_chips < chips,
        needs_accelerator_count=several,
        zones=listing.zones,
        listed_by=listing.listed_by,
        sources=listing.sources,
        note=listing.note,
    )
