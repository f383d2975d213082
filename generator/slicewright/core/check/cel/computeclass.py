"""The rules of GKE's ComputeClass CRD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.cel.value import count_of, get, has

if TYPE_CHECKING:
    from collections.abc import Callable

    from slicewright.core.check.cel.value import Rules

Fields = dict[str, Any]

_SEV = ("n2d", "c2d", "c3d", "c4d")
_TDX_FAMILIES = ("c3", "c4", "a3", "a4")
_H100 = "nvidia-h100-80gb"
_LOGGING = ("nodePoolConfig", "loggingConfig", "loggingVariantConfig", "variant")


def _autopilot(spec: Fields) -> bool:
    return bool(has(spec, "autopilot") and spec["autopilot"].get("enabled"))


def _priorities(spec: Fields) -> list[Fields]:
    found: list[Fields] = spec.get("priorities") or []
    return found


def _creates_pools(spec: Fields) -> bool:
    return not has(spec, "nodePoolAutoCreation") or bool(spec["nodePoolAutoCreation"].get("enabled"))


def _equal_or_absent(value: Fields, fields: tuple[str, ...], wanted: str) -> bool:
    return not has(value, *fields) or get(value, *fields) == wanted


def _confidential(kind: str, check: Callable[[Fields], bool]) -> Callable[[Fields], bool]:
    """Return a rule over every priority of a class whose nodes are confidential in one way."""

    def rule(spec: Fields) -> bool:
        if not has(spec, "nodePoolConfig", "confidentialNodeType"):
            return True
        if kind and spec["nodePoolConfig"]["confidentialNodeType"] != kind:
            return True
        return all(check(priority) for priority in _priorities(spec))

    return rule


def _family_in(families: tuple[str, ...]) -> Callable[[Fields], bool]:
    def check(priority: Fields) -> bool:
        by_family = has(priority, "machineFamily") and priority["machineFamily"] in families
        return by_family or (
            has(priority, "machineType") and priority["machineType"].split("-")[0] in families
        )

    return check


def _tdx_machine(priority: Fields) -> bool:
    if has(priority, "machineFamily") and priority["machineFamily"] in _TDX_FAMILIES:
        return True
    machine = priority.get("machineType") or ""
    return machine.startswith(("c3-standard-", "c4-standard-")) or machine in (
        "a3-highgpu-1g",
        "a4-highgpu-8g",
    )


def _tdx_gpu(family: str, machine: str, gpu: str) -> Callable[[Fields], bool]:
    """Return a check of the GPU of one family; a machine that ends with '-' stands for all that begin so."""

    def check(priority: Fields) -> bool:
        found = priority.get("machineType") or ""
        named = found.startswith(machine) if machine.endswith("-") else found == machine
        if priority.get("machineFamily") != family and not named:
            return True
        return _equal_or_absent(priority, ("gpu", "type"), gpu)

    return check


def _scored(spec: Fields) -> bool:
    scores = {has(priority, "priorityScore") for priority in _priorities(spec)}
    return len(scores) <= 1


def _flex_start(priority: Fields) -> bool:
    return bool(has(priority, "flexStart") and priority["flexStart"].get("enabled"))


def _collects_garbage(config: Fields) -> bool:
    if not has(config, "imageGcHighThresholdPercent") or not has(config, "imageGcLowThresholdPercent"):
        return True
    return bool(config["imageGcHighThresholdPercent"] > config["imageGcLowThresholdPercent"])


def _collects_above_default(config: Fields) -> bool:
    if not has(config, "imageGcHighThresholdPercent") or has(config, "imageGcLowThresholdPercent"):
        return True
    return bool(config["imageGcHighThresholdPercent"] > 80)  # noqa: PLR2004 - the default of the other one


def _names_reservations(reservations: Fields) -> bool:
    return has(reservations, "specific") and len(reservations["specific"]) > 0


_CONFIDENTIAL = "(has(self.nodePoolConfig) && has(self.nodePoolConfig.confidentialNodeType)"
_TDX = (
    f'{_CONFIDENTIAL} && self.nodePoolConfig.confidentialNodeType == "TDX") ? self.priorities.all(priority, '
)


def _tdx_text(family: str, machine: str, gpu: str) -> str:
    return (
        f"{_TDX}(has(priority.machineFamily) && priority.machineFamily == '{family}' || "
        f"has(priority.machineType) && priority.machineType{machine}) ? (!has(priority.gpu) || "
        f"has(priority.gpu) && (!has(priority.gpu.type) || priority.gpu.type == '{gpu}')) : true) : true"
    )


_CLASSES: Rules = {
    "(has(self.autopilot) && self.autopilot.enabled) ? "
    "!self.priorities.exists(priority, has(priority.nodepools)) : true": lambda spec: (
        not _autopilot(spec) or not any(has(priority, "nodepools") for priority in _priorities(spec))
    ),
    "(has(self.autopilot) && self.autopilot.enabled) ? "
    "!(has(self.nodePoolAutoCreation) && !self.nodePoolAutoCreation.enabled) : true": lambda spec: (
        not _autopilot(spec) or _creates_pools(spec)
    ),
    "(has(self.autopilot) && self.autopilot.enabled) ? (!has(self.nodePoolConfig) || "
    "!has(self.nodePoolConfig.imageType) || self.nodePoolConfig.imageType == "
    '"cos_containerd") : true': lambda spec: (
        not _autopilot(spec) or _equal_or_absent(spec, ("nodePoolConfig", "imageType"), "cos_containerd")
    ),
    "(has(self.autopilot) && self.autopilot.enabled) ? (!has(self.nodePoolConfig) || "
    "!has(self.nodePoolConfig.loggingConfig) || "
    "!has(self.nodePoolConfig.loggingConfig.loggingVariantConfig) || "
    "!has(self.nodePoolConfig.loggingConfig.loggingVariantConfig.variant) || "
    'self.nodePoolConfig.loggingConfig.loggingVariantConfig.variant == "DEFAULT") : true': lambda spec: (
        not _autopilot(spec) or _equal_or_absent(spec, _LOGGING, "DEFAULT")
    ),
    "(has(self.nodePoolConfig) && has(self.nodePoolConfig.workloadType) && !has(self.nodePoolGroup)) ? "
    'self.nodePoolConfig.workloadType == "HIGH_AVAILABILITY" : true': lambda spec: (
        has(spec, "nodePoolGroup")
        or _equal_or_absent(spec, ("nodePoolConfig", "workloadType"), "HIGH_AVAILABILITY")
    ),
    "self.priorities.exists(priority, has(priority.podFamily)) ? "
    "(has(self.autopilot) && self.autopilot.enabled) : true": lambda spec: (
        _autopilot(spec) or not any(has(priority, "podFamily") for priority in _priorities(spec))
    ),
    f"{_CONFIDENTIAL}) ? self.priorities.all(priority, "
    "has(priority.machineFamily) || has(priority.machineType)) : true": _confidential(
        "", lambda priority: has(priority, "machineFamily") or has(priority, "machineType")
    ),
    f'{_CONFIDENTIAL} && self.nodePoolConfig.confidentialNodeType == "SEV") ? self.priorities.all(priority, '
    "((has(priority.machineFamily) && priority.machineFamily in ['n2d', 'c2d', 'c3d', 'c4d']) || "
    "(has(priority.machineType) && priority.machineType.split('-')[0] in "
    "['n2d', 'c2d', 'c3d', 'c4d']))) : true": _confidential("SEV", _family_in(_SEV)),
    f'{_CONFIDENTIAL} && self.nodePoolConfig.confidentialNodeType == "SEV_SNP") ? '
    "self.priorities.all(priority, ((has(priority.machineFamily) && priority.machineFamily in ['n2d']) || "
    "(has(priority.machineType) && priority.machineType.split('-')[0] in ['n2d']))) : true": _confidential(
        "SEV_SNP", _family_in(("n2d",))
    ),
    f"{_TDX}(has(priority.machineFamily) && priority.machineFamily in ['c3', 'c4', 'a3', 'a4']) || "
    "(has(priority.machineType) && (priority.machineType.startsWith('c3-standard-') || "
    "priority.machineType.startsWith('c4-standard-') || priority.machineType == 'a3-highgpu-1g' || "
    "priority.machineType == 'a4-highgpu-8g'))) : true": _confidential("TDX", _tdx_machine),
    _tdx_text("c3", ".startsWith('c3-standard-')", _H100): _confidential(
        "TDX", _tdx_gpu("c3", "c3-standard-", _H100)
    ),
    _tdx_text("c4", ".startsWith('c4-standard-')", _H100): _confidential(
        "TDX", _tdx_gpu("c4", "c4-standard-", _H100)
    ),
    _tdx_text("a3", " == 'a3-highgpu-1g'", _H100): _confidential(
        "TDX", _tdx_gpu("a3", "a3-highgpu-1g", _H100)
    ),
    _tdx_text("a4", " == 'a4-highgpu-8g'", "nvidia-b200"): _confidential(
        "TDX", _tdx_gpu("a4", "a4-highgpu-8g", "nvidia-b200")
    ),
    "self.priorities.all(p, has(p.priorityScore)) || self.priorities.all(p, !has(p.priorityScore))": _scored,
}
_PRIORITIES: Rules = {
    "has(self.nodepools) ? (size(dyn(self)) == 1) : true": lambda priority: (
        not has(priority, "nodepools") or sum(has(priority, field) for field in priority) == 1
    ),
    "!(has(self.machineFamily) && has(self.machineType))": lambda priority: (
        not (has(priority, "machineFamily") and has(priority, "machineType"))
    ),
    "!(has(self.machineType) && (has(self.minCores) || has(self.minMemoryGb)))": lambda priority: (
        not has(priority, "machineType") or not count_of(priority, "minCores", "minMemoryGb")
    ),
    "!(has(self.machineFamily) && self.machineFamily == 'ek')": lambda priority: (
        priority.get("machineFamily") != "ek"
    ),
    "!(has(self.machineType) && self.machineType.startsWith('ek'))": lambda priority: (
        not (priority.get("machineType") or "").startswith("ek")
    ),
    "!(has(self.machineFamily) && self.machineFamily == 'e4a')": lambda priority: (
        priority.get("machineFamily") != "e4a"
    ),
    "!(has(self.machineType) && self.machineType.startsWith('e4a'))": lambda priority: (
        not (priority.get("machineType") or "").startswith("e4a")
    ),
    "!(has(self.flexStart) && has(self.spot) && self.spot == true && self.flexStart.enabled == true)": (
        lambda priority: not (_flex_start(priority) and priority.get("spot") is True)
    ),
    "!has(self.capacityCheckWaitTimeSeconds) || has(self.tpu) || "
    "(has(self.flexStart) && self.flexStart.enabled)": lambda priority: (
        not has(priority, "capacityCheckWaitTimeSeconds") or has(priority, "tpu") or _flex_start(priority)
    ),
    "self == 'auto' || self.startsWith('auto-')": lambda profile: (
        profile == "auto" or profile.startswith("auto-")
    ),
    'has(self.specific) && self.specific.size() > 0 ? self.affinity == "Specific" : true': lambda found: (
        not _names_reservations(found) or get(found, "affinity") == "Specific"
    ),
    'self.affinity == "Specific" ? has(self.specific) && self.specific.size() > 0 : true': lambda found: (
        get(found, "affinity") != "Specific" or _names_reservations(found)
    ),
}
_NODES: Rules = {
    "has(self.imageGcHighThresholdPercent)&&has(self.imageGcLowThresholdPercent) ? "
    "self.imageGcHighThresholdPercent>self.imageGcLowThresholdPercent : true": _collects_garbage,
    "has(self.imageGcHighThresholdPercent)&&!has(self.imageGcLowThresholdPercent) ? "
    "self.imageGcHighThresholdPercent>80 : true": _collects_above_default,
    "(has(self.bootDiskProfile) ? 1 : 0) + (has(self.ephemeralLocalSsdProfile) ? 1 : 0) + "
    "(has(self.dedicatedLocalSsdProfile) ? 1 : 0) <= 1": lambda swap: (
        count_of(swap, "bootDiskProfile", "ephemeralLocalSsdProfile", "dedicatedLocalSsdProfile") <= 1
    ),
    "(has(self.swapSizeGib) ? 1 : 0) + (has(self.swapSizePercent) ? 1 : 0) <= 1": lambda profile: (
        count_of(profile, "swapSizeGib", "swapSizePercent") <= 1
    ),
}
RULES: Rules = {**_CLASSES, **_PRIORITIES, **_NODES}
