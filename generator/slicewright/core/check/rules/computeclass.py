"""Rules of ComputeClasses: every rung against the catalogue, and the pods that select a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from slicewright.core.catalogue.geometry import joined
from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.tpu_shape import of_labels, refusal
from slicewright.core.intent.fixes import of_choice
from slicewright.core.kubernetes import labels
from slicewright.core.kubernetes.kinds import POD_KINDS
from slicewright.core.kubernetes.read import at, entries, mapping, number, sequence, text
from slicewright.core.mend import edits
from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.catalogue.shape import MachineType
    from slicewright.core.kubernetes.pods import Pods
    from slicewright.core.problem import Path

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


def _rungs(resource: Resource, catalogue: Catalogue) -> Iterator[_Rung]:
    for index, data in entries(at(resource.data, "spec", "priorities")):
        tpu, named, family = (
            mapping(data.get("tpu")),
            text(data.get("machineType")),
            data.get("machineFamily"),
        )
        machines = catalogue.accelerators.get(text(tpu.get("type")), ()) if tpu else ()
        if not tpu:
            machines = tuple(
                machine
                for name, machine in catalogue.machine_types.items()
                if name == named or _family(name) == family
            )
        yield _Rung(("spec", "priorities", index), data, tpu, machines)


def _tpu_rungs(resource: Resource, catalogue: Catalogue) -> Iterator[_Rung]:
    """Yield the rungs that ask for a TPU that exists."""
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
        message = f"GKE has no TPU accelerator '{rung.type}'" if rung.type else "the rung names no TPU type"
        fix = edits.write(resource.data, {path: right}) if right in catalogue.accelerators else None
        yield Finding(path, message, hint, fix)


@rule("CC102", _CLASS)
def _topology(resource: Resource, objects: ObjectSet) -> Findings:
    for rung in _tpu_rungs(resource, objects.catalogue):
        if rung.topology and not of_labels(objects.catalogue, rung.type, rung.topology):
            refused = refusal(objects.catalogue, rung.type, rung.topology)
            message = refused.message if refused else f"{rung.type} has no topology '{rung.topology}'"
            yield Finding((*rung.path, "tpu", "topology"), message, refused.hint if refused else "")


@rule("CC103", _CLASS)
def _count(resource: Resource, objects: ObjectSet) -> Findings:
    for rung in _tpu_rungs(resource, objects.catalogue):
        count = number(rung.tpu.get("count"))
        rows = of_labels(objects.catalogue, rung.type, rung.topology)
        machines = [row.machine for row in rows] if rows else list(rung.machines)
        named = rung.data.get("machineType")
        machines = [machine for machine in machines if machine.machine_type == named] or machines
        if count in {machine.chips_per_host for machine in machines}:
            continue
        chips = joined(
            [str(number) for number in sorted({machine.chips_per_host for machine in machines})], "or"
        )
        said = "the rung has no count" if count is None else f"count is {count}"
        path = (*rung.path, "tpu") if count is None else (*rung.path, "tpu", "count")
        of = f"{rung.topology} of {rung.type}" if rows else rung.type
        counts = {machine.chips_per_host for machine in machines}
        place = {(*rung.path, "tpu", "count"): min(counts)}
        fix = edits.write(resource.data, place) if len(counts) == 1 else None
        yield Finding(path, f"{said}, but a host of {of} has {chips} chips", fix=fix)


@rule("CC104", _CLASS)
def _machine(resource: Resource, objects: ObjectSet) -> Findings:
    known = objects.catalogue.machine_types
    for rung in _rungs(resource, objects.catalogue):
        named, family = text(rung.data.get("machineType")), text(rung.data.get("machineFamily"))
        path = (*rung.path, "machineType" if named else "machineFamily")
        fitting = {row.machine_type for row in of_labels(objects.catalogue, rung.type, rung.topology)}
        fitting = fitting or {machine.machine_type for machine in rung.machines}
        is_unknown = named and named not in known and named not in objects.catalogue.not_offered
        if is_unknown and named.startswith(_TPU_PREFIXES):
            fix = of_choice(named, fitting or known, path)
            yield Finding(path, f"GKE has no machine type '{named}'", did_you_mean(named, known), fix)
        elif is_unknown and fitting and rung.tpu:
            message = f"machine type '{named}' has no TPU"
            yield Finding(path, message, f"write {joined(sorted(fitting), 'or')}")
        elif rung.tpu and fitting and named in known and named not in fitting:
            of = f"{rung.topology} of {rung.type}" if rung.topology else rung.type
            message = f"machine type '{named}' has no {of}"
            hint = f"write {joined(sorted(fitting), 'or')}, or leave machineType out"
            right = min(fitting) if len(fitting) == 1 else None
            fix = edits.write(resource.data, {path: right}, safe=False) if right else None
            yield Finding(path, message, hint, fix)
        elif rung.tpu and fitting and family and family not in {_family(name) for name in fitting}:
            right = joined(sorted({_family(name) for name in fitting}), "or")
            message = f"machine family '{family}' has no {rung.type}"
            yield Finding(path, message, f"write {right}, or leave machineFamily out")


@rule("CC105", _CLASS)
def _provisioning(resource: Resource, objects: ObjectSet) -> Findings:
    for rung in _rungs(resource, objects.catalogue):
        affinity = at(rung.data, "reservations", "affinity")
        if rung.data.get("spot") is True and affinity in ("Specific", "AnyBestEffort"):
            yield Finding((*rung.path, "spot"), "one rung asks for Spot nodes and a reservation")


@rule("CC106", _CLASS, "warning")
def _zones(resource: Resource, objects: ObjectSet) -> Findings:
    defaults = at(resource.data, "spec", "priorityDefaults", "location", "zones")
    for rung in _tpu_rungs(resource, objects.catalogue):
        own = at(rung.data, "location", "zones")
        zones = [zone for zone in sequence(own or defaults) if isinstance(zone, str)]
        rows = of_labels(objects.catalogue, rung.type, rung.topology)
        is_flex = at(rung.data, "flexStart", "enabled") is True
        places = [row.machine.flex_start_zones if is_flex else row.zones for row in rows]
        offered = sorted({zone for place in places for zone in place})
        if zones and rows and all(places) and not set(zones) & set(offered):
            path = (*rung.path, "location", "zones")
            base: Path = path if own else ("spec", "priorityDefaults", "location", "zones")
            what = f"flex-start of {rung.type}" if is_flex else rung.type
            yield Finding(
                base, f"no list has {what} in {joined(zones, 'or')}", f"{what} is in {joined(offered)}"
            )


@rule("CC107", _CLASS, "warning")
def _repeated(resource: Resource, objects: ObjectSet) -> Findings:
    seen: dict[str, tuple[int, Path]] = {}
    for index, rung in enumerate(_rungs(resource, objects.catalogue)):
        first, path = seen.setdefault(repr(sorted(rung.data.items())), (index, rung.path))
        if first != index and rung.data:
            line = f" (line {resource.source.place((*resource.at, *path))[0]})" if resource.source else ""
            yield Finding(
                rung.path, f"the priority repeats the one at index {first}{line}, and is never reached"
            )


@rule("CC108", _CLASS)
def _disk(resource: Resource, objects: ObjectSet) -> Findings:
    for rung in _rungs(resource, objects.catalogue):
        written = text(at(rung.data, "storage", "bootDiskType"))
        disks = {machine.boot_disk for machine in rung.machines}
        if written and disks and "" not in disks and written not in disks:
            what = rung.type or text(rung.data.get("machineType")) or text(rung.data.get("machineFamily"))
            path = (*rung.path, "storage", "bootDiskType")
            message = f"nodes of {what} have no boot disk of type '{written}'"
            fix = edits.write(resource.data, {path: min(disks)}) if len(disks) == 1 else None
            yield Finding(path, message, f"write {joined(sorted(disks))}", fix)


@rule("CC109", POD_KINDS)
def _class_of_pods(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        name = pods.selector.get(labels.COMPUTE_CLASS)
        classes = objects.candidates("ComputeClass", name, near=resource.file) if name else ()
        reasons = [_mismatch(pods, one, objects.catalogue) for one in classes]
        if reasons and all(reasons):
            key, said = reasons[0] or ("", "")
            path = pods.selector_path(key) if key else pods.spec_path
            yield Finding(path, f"no priority of ComputeClass '{name}' {said}")


def _mismatch(pods: Pods, resource: Resource, catalogue: Catalogue) -> tuple[str, str] | None:
    """Return the node label (empty for chips) that no rung of a class has, and why; None where one fits."""
    rungs = list(_rungs(resource, catalogue))
    if not rungs or at(resource.data, "spec", "whenUnsatisfiable") == "ScaleUpAnyway":
        return None
    if any(rung.data.get("nodepools") or (rung.tpu and not rung.machines) for rung in rungs):
        return None  # Their nodes are not known.
    for key in _LABELS:
        wanted = pods.selector.get(key)
        if wanted is None:
            continue
        rungs = [rung for rung in rungs if wanted in _labels(rung, key, wanted)]
        if not rungs:
            return key, f"has nodes with {key}: {wanted}"
    counts = [machine.chips_per_host for rung in rungs for machine in rung.machines]
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
"""Labels that the nodes of a rung have by its fields."""


def _labels(rung: _Rung, key: str, wanted: str) -> set[str]:
    """Return the values of a node label that nodes of a rung can have."""
    named, machines = text(rung.data.get("machineType")), rung.machines
    match key:
        case labels.ACCELERATOR:
            return {machine.accelerator for machine in machines}
        case labels.TOPOLOGY:
            return {rung.topology or wanted} if machines else set()
        case labels.ACCELERATOR_COUNT:
            count = number(rung.tpu.get("count"))
            return {str(count)} if count else {wanted}
        case labels.INSTANCE_TYPE:
            if named or machines:
                return {named} if named else {machine.machine_type for machine in machines}
            return {wanted} if rung.data.get("machineFamily") in (None, _family(wanted)) else set()
        case labels.MACHINE_FAMILY:
            family = text(rung.data.get("machineFamily")) or _family(named)
            return {family} if family else {_family(machine.machine_type) for machine in machines} or {wanted}
        case labels.SPOT:
            return {"true"} if rung.data.get("spot") is True else set()
    return {"true"} if at(rung.data, "flexStart", "enabled") is True else set()


@rule("CC110", POD_KINDS, "warning")
def _no_chips(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        name = pods.selector.get(labels.COMPUTE_CLASS)
        classes = objects.candidates("ComputeClass", name, near=resource.file) if name else ()
        rungs = [list(_rungs(one, objects.catalogue)) for one in classes]
        only_tpu = all(of_class and all(rung.tpu for rung in of_class) for of_class in rungs)
        if rungs and only_tpu and not pods.chips and pods.containers:
            path = (*pods.containers[0][0], "resources")
            yield Finding(
                path, f"ComputeClass '{name}' has TPU nodes only, and no container requests {labels.TPU}"
            )
