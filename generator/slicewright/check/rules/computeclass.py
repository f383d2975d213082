"""Rules of ComputeClasses: every priority against the catalogue, and the pods that select a class."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import MachineType, joined
from slicewright.check.rules.tpu_shape import no_topology, of_labels
from slicewright.document import edit as edits
from slicewright.document.edit import fix_of_choice
from slicewright.kubernetes import labels
from slicewright.kubernetes.fields import at, entries, mapping, number, sequence, text
from slicewright.kubernetes.kinds import POD_KINDS
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path, did_you_mean
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_CLASS = frozenset({"ComputeClass"})
_TPU_PREFIXES = ("ct", "tpu")
"""What the names of machine types with TPUs begin with, and those of no other."""


def _family(machine_type: str) -> str:
    return machine_type.partition("-")[0]


class _Rung(Struct, frozen=True):
    """One priority of a class, and the TPU machine types whose nodes it can have."""

    path: Path
    data: dict[str, Any]
    tpu: dict[str, Any]
    machines: tuple[MachineType, ...]

    @property
    def type(self) -> str:
        return text(self.tpu.get("type"))

    @property
    def topology(self) -> str:
        return text(self.tpu.get("topology"))

    @property
    def machine_type(self) -> str:
        return text(self.data.get("machineType"))

    @property
    def family(self) -> str:
        return text(self.data.get("machineFamily"))

    @property
    def is_flex(self) -> bool:
        return at(self.data, "flexStart", "enabled") is True


def _rungs(resource: Resource, catalogue: Catalogue) -> Iterator[_Rung]:
    for index, data in entries(at(resource.data, "spec", "priorities")):
        tpu, family = mapping(data.get("tpu")), data.get("machineFamily")
        machines = catalogue.accelerators.get(text(tpu.get("type")), ())
        if not tpu:
            machines = tuple(
                machine
                for name, machine in catalogue.machine_types.items()
                if name == data.get("machineType") or _family(name) == family
            )
        yield _Rung(("spec", "priorities", index), data, tpu, machines)


def _tpu_rungs(resource: Resource, catalogue: Catalogue) -> Iterator[_Rung]:
    """Yield the priorities that request an existing TPU."""
    yield from (rung for rung in _rungs(resource, catalogue) if rung.tpu and rung.machines)


@rule("CC101", _CLASS)
def _type(resource: Resource, objects: ObjectSet) -> Findings:
    catalogue = objects.catalogue
    for rung in _rungs(resource, catalogue):
        if not rung.tpu or rung.machines or rung.type in catalogue.not_offered:
            continue
        path = (*rung.path, "tpu", "type") if rung.type else (*rung.path, "tpu")
        right = catalogue.misnomers.get(rung.type, "")
        hint = f"write {right}" if right in catalogue.accelerators else ""
        hint = hint or did_you_mean(rung.type, catalogue.accelerators)
        message = (
            f"GKE has no TPU accelerator '{rung.type}'"
            if rung.type
            else "tpu.type of the priority is missing"
        )
        fix = edits.write(resource.data, {path: right}) if right in catalogue.accelerators else None
        yield Finding(path, message, hint, fix)


@rule("CC102", _CLASS)
def _topology(resource: Resource, objects: ObjectSet) -> Findings:
    for rung in _tpu_rungs(resource, objects.catalogue):
        if rung.topology and not of_labels(objects.catalogue, rung.type, rung.topology):
            path = (*rung.path, "tpu", "topology")
            yield no_topology(objects.catalogue, rung.type, rung.topology, path)


@rule("CC103", _CLASS)
def _count(resource: Resource, objects: ObjectSet) -> Findings:
    for rung in _tpu_rungs(resource, objects.catalogue):
        count = number(rung.tpu.get("count"))
        rows = of_labels(objects.catalogue, rung.type, rung.topology)
        machines = [row.machine for row in rows] if rows else list(rung.machines)
        machines = [machine for machine in machines if machine.machine_type == rung.machine_type] or machines
        counts = sorted({machine.chips_per_host for machine in machines})
        if count in counts:
            continue
        chips = joined([str(chips) for chips in counts], "or")
        problem = "the priority has no count" if count is None else f"count is {count}"
        path = (*rung.path, "tpu") if count is None else (*rung.path, "tpu", "count")
        slices = f"a {rung.topology} slice of {rung.type}" if rows else rung.type
        values = {(*rung.path, "tpu", "count"): counts[0]}
        fix = edits.write(resource.data, values) if len(counts) == 1 else None
        yield Finding(path, f"{problem}, but a host of {slices} has {chips} chips", fix=fix)


@rule("CC104", _CLASS)
def _machine(resource: Resource, objects: ObjectSet) -> Findings:
    known = objects.catalogue.machine_types
    for rung in _rungs(resource, objects.catalogue):
        named, family = rung.machine_type, rung.family
        path = (*rung.path, "machineType" if named else "machineFamily")
        fitting = {row.machine_type for row in of_labels(objects.catalogue, rung.type, rung.topology)}
        fitting = fitting or {machine.machine_type for machine in rung.machines}
        is_unknown = named and named not in known and named not in objects.catalogue.not_offered
        if is_unknown and named.startswith(_TPU_PREFIXES):
            fix = fix_of_choice(named, fitting or known, path)
            yield Finding(path, f"GKE has no machine type '{named}'", did_you_mean(named, known), fix)
        elif is_unknown and fitting and rung.tpu:
            message = f"machine type '{named}' has no TPU"
            yield Finding(path, message, f"write {joined(sorted(fitting), 'or')}")
        elif rung.tpu and fitting and named in known and named not in fitting:
            slices = f"topology {rung.topology} of {rung.type}" if rung.topology else rung.type
            message = f"machine type '{named}' has no {slices}"
            hint = f"write {joined(sorted(fitting), 'or')}, or leave machineType out"
            values = {path: min(fitting)}
            fix = edits.write(resource.data, values, safe=False) if len(fitting) == 1 else None
            yield Finding(path, message, hint, fix)
        elif rung.tpu and fitting and family and family not in (families := set(map(_family, fitting))):
            message = f"machine family '{family}' has no {rung.type}"
            hint = f"write {joined(sorted(families), 'or')}, or leave machineFamily out"
            yield Finding(path, message, hint)


@rule("CC105", _CLASS)
def _provisioning(resource: Resource, objects: ObjectSet) -> Findings:
    for rung in _rungs(resource, objects.catalogue):
        affinity = at(rung.data, "reservations", "affinity")
        if rung.data.get("spot") is True and affinity in ("Specific", "AnyBestEffort"):
            yield Finding((*rung.path, "spot"), "one priority requests both Spot nodes and a reservation")


@rule("CC106", _CLASS, "warning")
def _zones(resource: Resource, objects: ObjectSet) -> Findings:
    defaults = at(resource.data, "spec", "priorityDefaults", "location", "zones")
    for rung in _tpu_rungs(resource, objects.catalogue):
        own = at(rung.data, "location", "zones")
        zones = [zone for zone in sequence(own or defaults) if isinstance(zone, str)]
        rows = of_labels(objects.catalogue, rung.type, rung.topology)
        zones_of_rows = [row.machine.flex_start_zones if rung.is_flex else row.zones for row in rows]
        offered = sorted(set().union(*zones_of_rows))
        if zones and rows and all(zones_of_rows) and not set(zones) & set(offered):
            holder: Path = rung.path if own else ("spec", "priorityDefaults")
            nodes = f"{rung.type} as flex-start" if rung.is_flex else rung.type
            message = f"no published list has {nodes} in {joined(zones, 'or')}"
            yield Finding(
                (*holder, "location", "zones"), message, f"write a zone with {nodes}: {joined(offered, 'or')}"
            )


@rule("CC107", _CLASS, "warning")
def _repeated(resource: Resource, objects: ObjectSet) -> Findings:
    seen: dict[str, tuple[int, Path]] = {}
    for index, rung in enumerate(_rungs(resource, objects.catalogue)):
        first, path = seen.setdefault(repr(sorted(rung.data.items())), (index, rung.path))
        if first != index and rung.data:
            line = f" (line {resource.source.place((*resource.at, *path))[0]})" if resource.source else ""
            message = f"the priority equals the one at index {first}{line}, so GKE never tries it"
            yield Finding(rung.path, message)


@rule("CC108", _CLASS)
def _disk(resource: Resource, objects: ObjectSet) -> Findings:
    for rung in _rungs(resource, objects.catalogue):
        disk = text(at(rung.data, "storage", "bootDiskType"))
        disks = {machine.boot_disk for machine in rung.machines}
        if disk and disks and "" not in disks and disk not in disks:
            path = (*rung.path, "storage", "bootDiskType")
            nodes = rung.type or rung.machine_type or rung.family
            message = f"nodes of {nodes} have no boot disk of type '{disk}'"
            fix = edits.write(resource.data, {path: min(disks)}) if len(disks) == 1 else None
            yield Finding(path, message, f"write {joined(sorted(disks))}", fix)


def _selected(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Pods, str, tuple[Resource, ...]]]:
    """Yield the pods that select a class, its name, and the classes of that name."""
    for pods in resource.pods:
        if name := pods.selector.get(labels.COMPUTE_CLASS):
            yield pods, name, objects.candidates("ComputeClass", name, near=resource.file)


@rule("CC109", POD_KINDS)
def _class_of_pods(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, name, classes in _selected(resource, objects):
        reasons = [_mismatch(pods, candidate, objects.catalogue) for candidate in classes]
        if reasons and all(reasons):
            key, reason = reasons[0] or ("", "")
            path = pods.selector_path(key) if key else pods.spec_path
            yield Finding(path, f"no priority of ComputeClass '{name}' {reason}")


def _mismatch(pods: Pods, resource: Resource, catalogue: Catalogue) -> tuple[str, str] | None:
    """Return the node label (empty for chips) that no priority of a class has, and why; None if one fits."""
    rungs = list(_rungs(resource, catalogue))
    if not rungs or at(resource.data, "spec", "whenUnsatisfiable") == "ScaleUpAnyway":
        return None
    if any(rung.data.get("nodepools") or (rung.tpu and not rung.machines) for rung in rungs):
        return None  # Their nodes are not known.
    for key in _LABELS:
        if (selected := pods.selector.get(key)) is None:
            continue
        rungs = [rung for rung in rungs if selected in _labels(rung, key, selected)]
        if not rungs:
            return key, f"has nodes with {key}: {selected}"
    counts = [
        number(rung.tpu.get("count")) or machine.chips_per_host for rung in rungs for machine in rung.machines
    ]
    if pods.chips > max(counts, default=0):
        return "", f"has nodes of {pods.chips} chips"
    return None


_LABELS = (
    labels.ACCELERATOR,
    labels.TOPOLOGY,
    labels.ACCELERATOR_COUNT,
    labels.INSTANCE_TYPE,
    labels.MACHINE_FAMILY,
    labels.FLEX_START,
    labels.SPOT,
)
"""Labels that the nodes of a priority have by its fields."""


def _labels(rung: _Rung, key: str, value: str) -> set[str]:
    """Return the values of a node label that nodes of a priority can have."""
    named, machines = rung.machine_type, rung.machines
    match key:
        case labels.ACCELERATOR:
            return {machine.accelerator for machine in machines}
        case labels.TOPOLOGY:
            return {rung.topology or value} if machines else set()
        case labels.ACCELERATOR_COUNT:
            count = number(rung.tpu.get("count"))
            return {str(count)} if count else {value}
        case labels.INSTANCE_TYPE:
            if named or machines:
                return {named} if named else {machine.machine_type for machine in machines}
            return {value} if rung.data.get("machineFamily") in (None, _family(value)) else set()
        case labels.MACHINE_FAMILY:
            family = rung.family or _family(named)
            return {family} if family else {_family(machine.machine_type) for machine in machines} or {value}
        case labels.SPOT:
            return {"true"} if rung.data.get("spot") is True else set()
    return {"true"} if rung.is_flex else set()


@rule("CC110", POD_KINDS, "warning")
def _no_chips(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, name, classes in _selected(resource, objects):
        rungs = [list(_rungs(candidate, objects.catalogue)) for candidate in classes]
        only_tpu = all(of_class and all(rung.tpu for rung in of_class) for of_class in rungs)
        if rungs and only_tpu and not pods.chips and pods.containers:
            message = f"ComputeClass '{name}' has only TPU nodes, but no container requests {labels.TPU}"
            yield Finding((*pods.containers[0][0], "resources"), message)
