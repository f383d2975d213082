"""Data files to catalogue: checks what people write into them, so that the rest can rely on it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TypeVar

from msgspec import ValidationError

from slicewright.catalogue import shape
from slicewright.catalogue.catalogue import (
    CPU_FILE,
    NO_CPU_MACHINES,
    Catalogue,
    CpuMachines,
    count_name,
    read_cpu_machines,
)

FILES = ("v3.yaml", "v4.yaml", "v5e.yaml", "v5p.yaml", "v6e.yaml", "tpu7x.yaml")
"""The data files, in the order in which the catalogue shows them whatever order they are given in."""

_TOPOLOGY = re.compile(r"[1-9][0-9]*(x[1-9][0-9]*){1,2}")
_BOUNDS = re.compile(r"[1-9],[1-9],[1-9]")
_COUNTED: Mapping[str, shape.Counted] = {"chips": "chips", "tensorCores": "tensorCores"}
_PLACEMENTS: Mapping[str, shape.Placement] = {
    "": "",
    "COMPACT": "COMPACT",
    "HIGH_THROUGHPUT": "HIGH_THROUGHPUT",
}

_Choice = TypeVar("_Choice")


class _Sources:
    """The glossary of a file: short keys to full citations; `key#L10` adds lines to the citation of `key`."""

    def __init__(self, glossary: Fields) -> None:
        self._citations = {key: glossary.text(key) for key in glossary.unread()}

    def cited(self, entry: Fields, keys: Iterable[str]) -> tuple[str, ...]:
        """Return the citations of keys that a row gives, each once."""
        citations: dict[str, None] = {}
        for key in keys:
            short, mark, lines = key.partition("#")
            if short not in self._citations:
                raise entry.wrong(f"{short} is not in sources")
            citations[self._citations[short] + mark + lines] = None
        if not citations:
            raise entry.wrong("has no sources")
        return tuple(citations)

    def own(self, entry: Fields) -> tuple[str, ...]:
        """Return the citations of the keys that an entry has in its own field for them."""
        return self.cited(entry, entry.texts("sources"))


def read_catalogue(documents: Mapping[str, object]) -> Catalogue:
    """Return the catalogue of parsed data files, given by file name.

    Raises:
        CatalogueError: a file is broken; the text names the file and the row.
    """
    generations: dict[str, shape.Generation] = {}
    words: dict[str, str] = {}
    cpu_machines = NO_CPU_MACHINES
    for file in sorted(documents, key=lambda file: FILES.index(file) if file in FILES else len(FILES)):
        if file == CPU_FILE:
            cpu_machines = _cpu_machines(documents[file])
            continue
        generation = _generation(Fields(documents[file], file))
        _once(words, file, (prefix for family in generation.families for prefix in family.prefixes))
        _once(words, file, (machine.machine_type for machine in generation.machines))
        generations[generation.name] = generation
    return Catalogue(generations, cpu_machines)


def _cpu_machines(document: object) -> CpuMachines:
    try:
        return read_cpu_machines(document)  # type: ignore[arg-type]  # what is wrong with it is told
    except (LookupError, TypeError, ValueError, AttributeError, ValidationError) as error:
        raise ValueError(f"{CPU_FILE}: {error!r}") from error


def _once(seen: dict[str, str], where: str, words: Iterable[str]) -> None:
    for word in words:
        if word in seen:
            raise CatalogueError(where, f"{word} is already in {seen[word]}")
        seen[word] = where


def _generation(file: Fields) -> shape.Generation:
    name = file.text("generation")
    sources = _Sources(file.fields("sources"))
    families = tuple(
        shape.Family(entry.text("prefix"), entry.texts("aliases"), entry.texts("accelerators"))
        for entry in file.each("names", "prefix")
    )
    if not families or name not in families[0].prefixes:
        raise file.wrong(f"names[0] must have the prefix or the alias {name}")
    cores_per_chip = file.number("coresPerChip")
    zones = file.texts("zones")
    machines: list[shape.MachineType] = []
    listings: list[shape.Listing] = []
    for entry in file.each("machineTypes", "machineType"):
        machine = _machine(entry, name, cores_per_chip, zones, sources)
        if not any(machine.accelerator in family.accelerators for family in families):
            raise entry.wrong(f"{machine.accelerator} is not an accelerator of names")
        machines.append(machine)
        listings += (_listing(row, machine, sources) for row in entry.each("topologies", "topology"))
    documented, minimum_gke = file.fields_or_none("documentedMaxChips"), file.fields("minimumGke")
    generation = shape.Generation(
        name=name,
        families=families,
        misnomers=_misnomers(file, families),
        counts=_one_of(file, "counts", _COUNTED),
        cores_per_chip=cores_per_chip,
        sides=_sides(file),
        pod_chips=file.number("podChips"),
        documented_max_chips=_documented_max(documented, sources) if documented else 0,
        sub_block_chips=file.number_or_none("subBlockChips") or 0,
        wrap=_wrap(file.fields("wrap"), sources),
        rule=_rule(file.fields_or_none("rule"), machines, sources),
        zones=zones,
        minimum_gke={feature: minimum_gke.texts(feature) for feature in minimum_gke.unread()},
        machines=tuple(machines),
        listings=tuple(listings),
        not_offered=tuple(_not_offered(entry, sources) for entry in file.each("notOffered", "machineType")),
    )
    file.finish()
    _check_listings(file, generation)
    return generation


def _sides(file: Fields) -> int:
    sides = file.number("sides")
    if sides not in {shape.DIMENSIONS - 1, shape.DIMENSIONS}:
        raise file.wrong("sides must be 2 or 3")
    return sides


def _misnomers(file: Fields, families: tuple[shape.Family, ...]) -> dict[str, str]:
    entry = file.fields("misnomers")
    misnomers = {wrong: entry.text(wrong) for wrong in entry.unread()}
    words = {word for family in families for word in (*family.prefixes, *family.accelerators)}
    for right in misnomers.values():
        if right not in words:
            raise entry.wrong(f"{right} is neither a prefix nor an accelerator of names")
    return misnomers


def _one_of(entry: Fields, key: str, choices: Mapping[str, _Choice], default: str | None = None) -> _Choice:
    word = entry.text(key, default)
    if word not in choices:
        raise entry.wrong(f"{key} must be one of {', '.join(filter(None, choices))}")
    return choices[word]


def _documented_max(entry: Fields, sources: _Sources) -> int:
    sources.own(entry)
    chips = entry.number("chips")
    entry.finish()
    return chips


def _wrap(entry: Fields, sources: _Sources) -> shape.WrapRule:
    least, equal = entry.number_or_none("allSidesAtLeast"), entry.number_or_none("sideEquals")
    if (least is None) == (equal is None):
        raise entry.wrong("needs one of allSidesAtLeast and sideEquals")
    rule = shape.WrapRule(least or 0, equal or 0, sources.own(entry))
    entry.finish()
    return rule


def _rule(entry: Fields | None, machines: list[shape.MachineType], sources: _Sources) -> shape.Rule | None:
    if entry is None:
        return None
    name = entry.text("machineType")
    machine = next((machine for machine in machines if machine.machine_type == name), None)
    if machine is None:
        raise entry.wrong(f"{name} is not among machineTypes")
    rule = shape.Rule(
        machine_type=name,
        side_multiple_of=entry.number("sideMultipleOf"),
        max_side=entry.number("maxSide"),
        max_cubes=entry.number("maxCubes"),
        sources=tuple(dict.fromkeys((*sources.own(entry), *machine.sources))),
    )
    entry.finish()
    return rule


def _machine(
    entry: Fields, generation: str, cores_per_chip: int, zones: tuple[str, ...], sources: _Sources
) -> shape.MachineType:
    chips_per_host = entry.number("chipsPerHost")
    bounds = entry.text("chipsPerHostBounds")
    if not _BOUNDS.fullmatch(bounds) or math.prod(shape.bounds(bounds)) != chips_per_host:
        raise entry.wrong(f"chipsPerHostBounds {bounds} are not the bounds of {chips_per_host} chips")
    return shape.MachineType(
        machine_type=entry.text("machineType"),
        accelerator=entry.text("accelerator"),
        generation=generation,
        chips_per_host=chips_per_host,
        cores_per_chip=cores_per_chip,
        vcpus=entry.number("vcpus"),
        memory_gb=entry.number("memoryGB"),
        chips_per_host_bounds=bounds,
        flex_start=entry.flag("flexStart"),
        multislice=entry.flag("multislice"),
        queued=entry.flag_or_none("queued"),
        hbm_gb_per_chip=entry.number_or_none("hbmGBPerChip"),
        numa_nodes=entry.number_or_none("numaNodes"),
        boot_disk=entry.text("bootDisk", ""),
        pathways=entry.text("pathways", ""),
        placement=_one_of(entry, "placement", _PLACEMENTS, ""),
        flex_start_zones=entry.texts("flexStartZones"),
        zones=entry.texts("zones", zones),
        notes=entry.text("notes", ""),
        sources=sources.own(entry),
    )


def _listing(row: Fields, machine: shape.MachineType, sources: _Sources) -> shape.Listing:
    keys = tuple(row.text("listedBy").split())
    return shape.Listing(
        machine=machine,
        topology=row.text("topology"),
        default_for_name=row.flag_or_none("defaultForName") is not False,
        zones=row.texts("zones", machine.zones),
        listed_by=keys,
        sources=tuple(dict.fromkeys((*sources.cited(row, keys), *machine.sources))),
        note=row.text("note", ""),
    )


def _not_offered(entry: Fields, sources: _Sources) -> shape.NotOffered:
    return shape.NotOffered(
        machine_type=entry.text("machineType"),
        accelerator=entry.text("accelerator"),
        prefix=entry.text("prefix", ""),
        why=entry.text("why"),
        sources=sources.own(entry),
    )


def _check_listings(file: Fields, generation: shape.Generation) -> None:
    """Refuse topologies that a machine cannot have, and words that would mean two rows or none."""
    with_machine = {machine.accelerator for machine in generation.machines}
    for family in generation.families:
        if lacking := [label for label in family.accelerators if label not in with_machine]:
            raise file.wrong(f"{lacking[0]} has no machine type")
    for machine in generation.machines:
        if all(row.machine is not machine for row in generation.listings):
            raise file.wrong(f"{machine.machine_type} has no topology")
    rows: set[tuple[str, str]] = set()
    counts: dict[str, str] = {}
    defaults: Counter[tuple[str, str]] = Counter()
    of_label: Counter[tuple[str, str]] = Counter()
    for row in generation.listings:
        machine, topology = row.machine, row.topology
        place = f"{machine.machine_type} {topology}"
        if not _TOPOLOGY.fullmatch(topology) or len(lengths := shape.sides(topology)) != generation.sides:
            raise file.wrong(f"{place}: a topology has {generation.sides} sides")
        if shape.host_bounds(lengths, shape.bounds(machine.chips_per_host_bounds)) is None:
            raise file.wrong(f"{place}: hosts of {machine.chips_per_host_bounds} chips do not tile it")
        if (machine.machine_type, topology) in rows:
            raise file.wrong(f"{place}: is listed twice")
        rows.add((machine.machine_type, topology))
        if row.default_for_name:
            _once(counts, f"{file.where}: {place}", [count_name(generation, machine, math.prod(lengths))])
        label = (machine.accelerator, topology)
        of_label[label] += 1
        defaults[label] += row.default_for_name
    for label, several in of_label.items():
        if several > 1 and defaults[label] != 1:
            raise file.wrong(f"{' '.join(label)}: needs one default, has {defaults[label]}")


class CatalogueError(ValueError):
    """An error in a data file: the text names file and row, `path` is the place."""

    def __init__(self, where: str, mistake: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(f"{where}: {mistake}")
        self.path = path


class Fields:
    """The fields of one mapping: each is read once, by its type, and `finish` refuses unknown ones."""

    def __init__(self, value: object, where: str, path: tuple[str | int, ...] = ()) -> None:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise CatalogueError(where, "must be a mapping with text keys", path)
        self.where = where
        self._path = path
        self._left: dict[str, object] = dict(value)

    def wrong(self, mistake: str) -> CatalogueError:
        """Return an error with its place."""
        return CatalogueError(self.where, mistake, self._path)

    def _invalid(self, key: str, mistake: str) -> CatalogueError:
        """Return the error of a value, or of its key where that is missing or misspelt."""
        if key in self._left:
            return self.wrong(f"{key} {mistake}")
        near = get_close_matches(key, self._left, 1, 0.8)
        return self.wrong(f"unknown key '{near[0]}'" if near else f"'{key}' is missing")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; without a default it is required, and must not be empty."""
        value = self._left.get(key, default)
        if not isinstance(value, str):
            raise self._invalid(key, "must be a text")
        self._left.pop(key, None)
        return value

    def number(self, key: str) -> int:
        """Return a required positive number."""
        value = None if self._left.get(key) is None else self.number_or_none(key)
        if value is None:
            raise self._invalid(key, "must be a positive number")
        return value

    def number_or_none(self, key: str) -> int | None:
        """Return a positive number, None if it is absent."""
        value = self._left.pop(key, None)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
            return value
        raise self.wrong(f"{key} must be a positive number")

    def flag(self, key: str) -> bool:
        """Return a required boolean."""
        value = None if self._left.get(key) is None else self.flag_or_none(key)
        if value is None:
            raise self._invalid(key, "must be true or false")
        return value

    def flag_or_none(self, key: str) -> bool | None:
        """Return a boolean, None if it is absent."""
        value = self._left.pop(key, None)
        if value is None or isinstance(value, bool):
            return value
        raise self.wrong(f"{key} must be true or false")

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of texts, the default if it is absent."""
        value = self._left.pop(key, list(default))
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(f"{key} must be a list of texts")
        return tuple(value)

    def fields(self, key: str) -> Fields:
        """Return a mapping inside this one, empty if it is absent."""
        return Fields(self._left.pop(key, {}), f"{self.where}: {key}", (*self._path, key))

    def fields_or_none(self, key: str) -> Fields | None:
        """Return a mapping inside this one, None if it is absent."""
        return self.fields(key) if key in self._left else None

    def each(self, key: str, name: str) -> Iterator[Fields]:
        """Yield the mappings of a list, each named by one of its fields; refuse what was not read of it."""
        value = self._left.pop(key, [])
        if not isinstance(value, list):
            raise self.wrong(f"{key} must be a list")
        for index, item in enumerate(value):
            label = item.get(name, index) if isinstance(item, dict) else index
            entry = Fields(item, f"{self.where}: {key} {label}", (*self._path, key, index))
            yield entry
            entry.finish()

    def unread(self) -> tuple[str, ...]:
        """Return the names of the fields that were not read yet."""
        return tuple(self._left)

    def finish(self) -> None:
        """Refuse the fields that were not read: they are unknown."""
        if self._left:
            raise self.wrong(f"unknown key '{min(self._left)}'")
