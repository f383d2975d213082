"""What Kueue refuses about flavors, topologies and MultiKueue, traps, and what its versions changed."""

from collections import defaultdict
from typing import Any

from slicewright.catalogue.shape import joined
from slicewright.check.kueue_conversion import moved
from slicewright.check.rules.dns import KEY_FORM, VALUE_FORM, is_label_key, is_label_value
from slicewright.check.rules.kueue_queues import checks, groups
from slicewright.document import edit as edits
from slicewright.document.edit import fix_of_choice
from slicewright.kubernetes.fields import at, entries, mapping, text, words
from slicewright.kubernetes.kinds import KUEUE_GROUP
from slicewright.kubernetes.labels import (
    HOSTNAME,
    PROVISIONING_CONTROLLER,
    QUEUED_CLASS,
    SLICE_CONTROLLER,
    TPU,
)
from slicewright.kubernetes.problem import Path, only_near
from slicewright.kubernetes.scheduler import tolerates
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.platform.queues import MAY_STOP_SEARCH

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SAYS_EFFECTS = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
_TOLERATIONS: Path = ("spec", "tolerations")
_TAINTS: Path = ("spec", "nodeTaints")


@rule(
    "KQ113",
    {"ResourceFlavor"},
    says=(
        "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
        "effect must be 'NoExecute' when 'tolerationSeconds' is set",
        "supported toleration values: 'Equal'(default), 'Exists'",
        "a value must be empty when 'operator' is 'Exists'",
        _SAYS_EFFECTS,
    ),
)
def _tolerations(resource: Resource, _objects: ObjectSet) -> Findings:
    yield from of_tolerations(at(resource.data, *_TOLERATIONS), _TOLERATIONS)


def of_tolerations(tolerations: Any, base: Path) -> Findings:
    """Yield what the API server refuses about a list of tolerations at a path."""
    for index, entry in entries(tolerations):
        path = (*base, index)
        operator, effect = entry.get("operator"), entry.get("effect")
        if operator not in (None, "Equal", "Exists"):
            place: Path = (*path, "operator")
            fix = fix_of_choice(operator, ("Equal", "Exists"), place)
            message = f"'{operator}' is not a valid operator of a toleration"
            yield Finding(place, message, "write Equal or Exists", fix)
        key = text(entry.get("key"))
        if key and not is_label_key(key):
            yield Finding((*path, "key"), f"'{key}' is not a valid taint key", _TAINT_KEY)
        if not entry.get("key") and operator != "Exists":
            message = "a toleration without a key must have the operator Exists"
            yield Finding(path, message, "add the key, or write operator: Exists")
        if operator == "Exists" and entry.get("value"):
            place = (*path, "value")
            message = "a toleration with the operator Exists cannot have a value"
            yield Finding(place, message, "leave value out, or write operator: Equal", edits.remove(place))
        if effect not in (None, *_EFFECTS):
            place = (*path, "effect")
            fix = fix_of_choice(effect, _EFFECTS, place)
            yield Finding(place, f"'{effect}' is not a valid effect of a taint", _EFFECT_HINT, fix)
        if entry.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield Finding(
                (*path, "tolerationSeconds"), "tolerationSeconds needs the effect NoExecute", _ONLY_NO_EXECUTE
            )


_TAINT_KEY, _TAINT_VALUE = f"write {KEY_FORM}", f"write {VALUE_FORM}"
_EFFECT_HINT = "write NoSchedule, PreferNoSchedule or NoExecute"
_ONLY_NO_EXECUTE = "write effect: NoExecute, or leave tolerationSeconds out"


@rule("KQ114", {"ResourceFlavor"}, says=(_SAYS_EFFECTS,))
def _taints(resource: Resource, _objects: ObjectSet) -> Findings:
    taken: set[tuple[str, str]] = set()
    for index, taint in entries(at(resource.data, *_TAINTS)):
        path = (*_TAINTS, index)
        key, effect = text(taint.get("key")), text(taint.get("effect"))
        if effect not in _EFFECTS:
            message = f"'{effect}' is not a valid effect of a taint"
            yield Finding((*path, "effect"), message, _EFFECT_HINT)
        if not is_label_key(key):
            yield Finding((*path, "key"), f"'{key}' is not a valid taint key", _TAINT_KEY)
        if not is_label_value(text(taint.get("value"))):
            message = f"'{taint.get('value')}' is not a valid taint value"
            yield Finding((*path, "value"), message, _TAINT_VALUE)
        if (key, effect) in taken:
            yield Finding(path, f"duplicate taint '{key}' with effect {effect}", "remove one of the two")
        taken.add((key, effect))


@rule("KQ115", {"ResourceFlavor"}, says=("at least one nodeLabel is required when topology is set",))
def _labels(resource: Resource, _objects: ObjectSet) -> Findings:
    labels = mapping(at(resource.data, "spec", "nodeLabels"))
    for key, value in labels.items():
        if not is_label_key(key) or not is_label_value(text(value)):
            yield Finding(("spec", "nodeLabels", key), f"'{key}: {value}' is not a valid label")
    if text(at(resource.data, "spec", "topologyName")) and not labels:
        yield Finding(("spec", "topologyName"), "a flavor with a topologyName needs nodeLabels")


@rule(
    "KQ116",
    {"Topology"},
    says=("the kubernetes.io/hostname label can only be used at the lowest level of topology",),
)
def _levels(resource: Resource, _objects: ObjectSet) -> Findings:
    levels = [text(level.get("nodeLabel")) for _, level in entries(at(resource.data, "spec", "levels"))]
    for index, label in enumerate(levels[:-1]):
        if label == HOSTNAME:
            yield Finding(("spec", "levels", index, "nodeLabel"), f"{HOSTNAME} must be the last level")


@rule(
    "KQ117",
    {"MultiKueueCluster"},
    says=("exactly one of the fields in [kubeConfig clusterProfileRef] must be set",),
)
def _source(resource: Resource, _objects: ObjectSet) -> Findings:
    source = at(resource.data, "spec", "clusterSource")
    if resource.version != "v1beta1" and isinstance(source, dict):
        has_config, has_profile = (source.get(key) is not None for key in ("kubeConfig", "clusterProfileRef"))
        if has_config == has_profile:
            fields = "both kubeConfig and" if has_config else "no kubeConfig or"
            yield Finding(("spec", "clusterSource"), f"the cluster has {fields} clusterProfileRef")


@rule("KQ118", {"ResourceFlavor"}, "warning")
def _tolerated(resource: Resource, _objects: ObjectSet) -> Findings:
    tolerations = [entry for _, entry in entries(at(resource.data, *_TOLERATIONS))]
    for index, taint in entries(at(resource.data, *_TAINTS)):
        if taint.get("key") == TPU and not tolerates(tolerations, taint):
            message = f"the flavor has a taint {TPU}, but no toleration for it"
            yield Finding((*_TAINTS, index), message)


@rule("KQ119", {"ProvisioningRequestConfig"}, "warning")
def _managed(resource: Resource, objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "provisioningClassName") != QUEUED_CLASS:
        return
    managed = {name for _, name in words(at(resource.data, "spec", "managedResources"))}
    covered = objects.once("accelerators of provisioning", _covered).get(resource.name, set())
    if managed and covered and managed.isdisjoint(covered):
        message = f"no queue with this check covers {joined(sorted(managed))}, so Kueue requests no nodes"
        yield Finding(("spec", "managedResources"), message, f"write {joined(sorted(covered))}")
    if not managed:
        message = "the ProvisioningRequest has all pod sets, but GKE serves it from one node pool"
        yield Finding(("spec",), message)


def _covered(objects: ObjectSet) -> dict[str, set[str]]:
    """Return, by ProvisioningRequestConfig, the accelerators of the queues whose checks have it."""
    accelerators: dict[str, set[str]] = defaultdict(set)
    for queue in objects.of_kind("ClusterQueue"):
        covered = {name for _, group in groups(queue) for _, name in words(group.get("coveredResources"))}
        for _, name, _ in checks(queue):
            accelerators[name] |= {resource for resource in covered if "/" in resource}
    by_config: dict[str, set[str]] = defaultdict(set)
    for check in objects.of_kind("AdmissionCheck"):
        by_config[text(at(check.data, "spec", "parameters", "name"))] |= accelerators[check.name]
    return by_config


_CLASSES = (
    QUEUED_CLASS,
    "check-capacity.autoscaling.x-k8s.io",
    "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
)


@rule("KQ158", {"AdmissionCheck", "ProvisioningRequest", "ProvisioningRequestConfig"})
def _misspelt(resource: Resource, _objects: ObjectSet) -> Findings:
    is_check = resource.kind == "AdmissionCheck"
    path: Path = ("spec", "controllerName" if is_check else "provisioningClassName")
    name = text(at(resource.data, *path))
    known = (PROVISIONING_CONTROLLER, SLICE_CONTROLLER) if is_check else _CLASSES
    near, is_sure = only_near(name, known)
    whole = (full for full in known if name and (full.startswith(f"{name}.") or full.endswith(f"/{name}")))
    meant = next(whole, near * is_sure)
    if name not in known and meant:
        noun = "controller of admission checks" if is_check else "class of ProvisioningRequests"
        fix = fix_of_choice(name, known, path)
        yield Finding(path, f"unknown {noun} '{name}'", f"did you mean '{meant}'?", fix)


@rule("KQ120", {"AdmissionCheck"})
def _parameters(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "controllerName") == PROVISIONING_CONTROLLER:
        yield from parameters_of(resource, "provisioning", "ProvisioningRequestConfig")


def parameters_of(check: Resource, name: str, kind: str) -> Findings:
    """Yield a finding where an admission check of some name has no parameters of its kind."""
    parameters = at(check.data, "spec", "parameters")
    if at(parameters, "kind") != kind or at(parameters, "apiGroup") != KUEUE_GROUP:
        path = ("spec", "parameters") if parameters is not None else ("spec",)
        yield Finding(path, f"the {name} check has no {kind} as parameters")


_MOVED: dict[str, dict[tuple[str, ...], str]] = {
    "ClusterQueue": {
        ("spec", "cohort"): "spec.cohortName",
        ("spec", "admissionChecks"): "spec.admissionChecksStrategy.admissionChecks: [{name: ...}]",
    },
    "Cohort": {("spec", "parent"): "spec.parentName"},
    "AdmissionCheck": {("spec", "retryDelayMinutes"): "spec.retryStrategy of the ProvisioningRequestConfig"},
    "MultiKueueCluster": {
        ("spec", "kubeConfig"): "spec.clusterSource.kubeConfig",
        ("spec", "clusterProfileRef"): "spec.clusterSource.clusterProfileRef",
    },
}


@rule("KQ152", _MOVED)
def _moved(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.version != "v1beta2":
        return
    for path, instead in _MOVED.get(resource.kind, {}).items():
        if at(resource.data, *path) is not None:
            message = f"v1beta2 has no field {path[-1]}, so the API server drops it"
            yield Finding(path, message, f"write {instead}", moved(resource.data))
    if resource.kind == "ClusterQueue":
        for key, value in mapping(at(resource.data, "spec", "flavorFungibility")).items():
            if value in MAY_STOP_SEARCH.values():
                path = ("spec", "flavorFungibility", key)
                message = f"{key} cannot be {value} in v1beta2"
                yield Finding(path, message, "write MayStopSearch", moved(resource.data))
