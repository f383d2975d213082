"""The rules of GKE's ComputeClass CRD."""

from collections.abc import Callable, Iterable
from typing import Any

from slicewright.core.check.cel.value import Rules, count_of, get, has

Fields = dict[str, Any]

_SEV = ("n2d", "c2d", "c3d", "c4d")
_TDX_FAMILIES = ("c3", "c4", "a3", "a4")
_TDX_GPUS = (
    *(("c3", "c3-standard-", "nvidia-h100-80gb"), ("c4", "c4-standard-", "nvidia-h100-80gb")),
    *(("a3", "a3-highgpu-1g", "nvidia-h100-80gb"), ("a4", "a4-highgpu-8g", "nvidia-b200")),
)
"""Families with their machine types and the only GPU that they may have."""
_GC_HIGH, _GC_LOW = "imageGcHighThresholdPercent", "imageGcLowThresholdPercent"
_LOGGING = ("nodePoolConfig", "loggingConfig", "loggingVariantConfig", "variant")


def _autopilot(spec: Fields) -> bool:
    return bool(has(spec, "autopilot") and spec["autopilot"].get("enabled"))


def _priorities(spec: Fields) -> Iterable[Fields]:
    return spec.get("priorities") or ()


def _equal_or_absent(value: Fields, fields: tuple[str, ...], expected: str) -> bool:
    return not has(value, *fields) or get(value, *fields) == expected


def _confidential(kind: str, check: Callable[[Fields], bool]) -> Callable[[Fields], bool]:
    """Return a rule over every priority of a class whose nodes are confidential in one way."""

    def rule(spec: Fields) -> bool:
        way = ("nodePoolConfig", "confidentialNodeType")
        if not has(spec, *way) or (kind and get(spec, *way) != kind):
            return True
        return all(map(check, _priorities(spec)))

    return rule


def _family_in(families: tuple[str, ...]) -> Callable[[Fields], bool]:
    return lambda priority: (
        (has(priority, "machineFamily") and priority["machineFamily"] in families)
        or (has(priority, "machineType") and priority["machineType"].split("-")[0] in families)
    )


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
        machine_type = priority.get("machineType") or ""
        is_named = machine_type.startswith(machine) if machine.endswith("-") else machine_type == machine
        if priority.get("machineFamily") != family and not is_named:
            return True
        return _equal_or_absent(priority, ("gpu", "type"), gpu)

    return check


def _flex_start(priority: Fields) -> bool:
    return bool(has(priority, "flexStart") and priority["flexStart"].get("enabled"))


def _names_reservations(reservations: Fields) -> bool:
    return has(reservations, "specific") and len(reservations["specific"]) > 0


_CONFIDENTIAL = "(has(self.nodePoolConfig) && has(self.nodePoolConfig.confidentialNodeType)"
_TDX = (
    f'{_CONFIDENTIAL} && self.nodePoolConfig.confidentialNodeType == "TDX") ? self.priorities.all(priority, '
)


def _tdx_text(family: str, machine: str, gpu: str) -> str:
    is_machine = f".startsWith('{machine}')" if machine.endswith("-") else f" == '{machine}'"
    return (
        f"{_TDX}(has(priority.machineFamily) && priority.machineFamily == '{family}' || "
        f"has(priority.machineType) && priority.machineType{is_machine}) ? (!has(priority.gpu) || "
        f"has(priority.gpu) && (!has(priority.gpu.type) || priority.gpu.type == '{gpu}')) : true) : true"
    )


_CLASSES: Rules = {
    "(has(self.autopilot) && self.autopilot.enabled) ? "
    "!self.priorities.exists(priority, has(priority.nodepools)) : true": lambda spec: (
        not _autopilot(spec) or not any(has(priority, "nodepools") for priority in _priorities(spec))
    ),
    "(has(self.autopilot) && self.autopilot.enabled) ? "
    "!(has(self.nodePoolAutoCreation) && !self.nodePoolAutoCreation.enabled) : true": lambda spec: (
        not _autopilot(spec)
        or not has(spec, "nodePoolAutoCreation")
        or get(spec, "nodePoolAutoCreation", "enabled")
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
        "", lambda priority: count_of(priority, "machineFamily", "machineType") > 0
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
    **{_tdx_text(*gpu): _confidential("TDX", _tdx_gpu(*gpu)) for gpu in _TDX_GPUS},
    "self.priorities.all(p, has(p.priorityScore)) || self.priorities.all(p, !has(p.priorityScore))": (
        lambda spec: len({has(priority, "priorityScore") for priority in _priorities(spec)}) <= 1
    ),
}
_PRIORITIES: Rules = {
    "has(self.nodepools) ? (size(dyn(self)) == 1) : true": lambda priority: (
        not has(priority, "nodepools") or sum(has(priority, field) for field in priority) == 1
    ),
    "!(has(self.machineFamily) && has(self.machineType))": lambda priority: (
        count_of(priority, "machineFamily", "machineType") <= 1
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
    'has(self.specific) && self.specific.size() > 0 ? self.affinity == "Specific" : true': lambda reserved: (
        not _names_reservations(reserved) or get(reserved, "affinity") == "Specific"
    ),
    'self.affinity == "Specific" ? has(self.specific) && self.specific.size() > 0 : true': lambda reserved: (
        get(reserved, "affinity") != "Specific" or _names_reservations(reserved)
    ),
}
_NODES: Rules = {
    "has(self.imageGcHighThresholdPercent)&&has(self.imageGcLowThresholdPercent) ? "
    "self.imageGcHighThresholdPercent>self.imageGcLowThresholdPercent : true": lambda config: (
        count_of(config, _GC_HIGH, _GC_LOW) <= 1 or config[_GC_HIGH] > config[_GC_LOW]
    ),
    "has(self.imageGcHighThresholdPercent)&&!has(self.imageGcLowThresholdPercent) ? "
    "self.imageGcHighThresholdPercent>80 : true": lambda config: (
        not has(config, _GC_HIGH) or has(config, _GC_LOW) or config[_GC_HIGH] > 80  # noqa: PLR2004
    ),
    "(has(self.bootDiskProfile) ? 1 : 0) + (has(self.ephemeralLocalSsdProfile) ? 1 : 0) + "
    "(has(self.dedicatedLocalSsdProfile) ? 1 : 0) <= 1": lambda swap: (
        count_of(swap, "bootDiskProfile", "ephemeralLocalSsdProfile", "dedicatedLocalSsdProfile") <= 1
    ),
    "(has(self.swapSizeGib) ? 1 : 0) + (has(self.swapSizePercent) ? 1 : 0) <= 1": lambda profile: (
        count_of(profile, "swapSizeGib", "swapSizePercent") <= 1
    ),
}
RULES: Rules = {**_CLASSES, **_PRIORITIES, **_NODES}
