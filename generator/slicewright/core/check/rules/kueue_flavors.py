"""What Kueue refuses about flavors, topologies and MultiKueue; traps of flavors and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.dns import is_label_key, is_label_value
from slicewright.core.check.scheduler import tolerates
from slicewright.core.kubernetes.kinds import KUEUE_GROUP
from slicewright.core.kubernetes.labels import HOSTNAME, PROVISIONING_CONTROLLER, QUEUED_CLASS, TPU
from slicewright.core.kubernetes.read import at, entries, mapping, sequence, text

if TYPE_CHECKING:
    from slicewright.core.problem import Path

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
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
        "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",
    ),
)
def _tolerations(resource: Resource, _objects: ObjectSet) -> Findings:
    for index, entry in entries(at(resource.data, *map(str, _TOLERATIONS))):
        path = (*_TOLERATIONS, index)
        operator, effect = entry.get("operator"), entry.get("effect")
        if operator not in (None, "Equal", "Exists"):
            yield Finding((*path, "operator"), f"'{operator}' is not a valid operator of a toleration")
        if "key" not in entry and operator != "Exists":
            yield Finding(path, "a toleration without a key must have the operator Exists")
        if operator == "Exists" and "value" in entry:
            yield Finding((*path, "value"), "a toleration with the operator Exists has no value")
        if effect not in (None, *_EFFECTS):
            yield Finding((*path, "effect"), f"'{effect}' is not a valid effect of a taint")
        if "tolerationSeconds" in entry and effect != "NoExecute":
            yield Finding((*path, "tolerationSeconds"), "tolerationSeconds goes with the effect NoExecute")


@rule(
    "KQ114",
    {"ResourceFlavor"},
    says=("supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",),
)
def _taints(resource: Resource, _objects: ObjectSet) -> Findings:
    taken: set[tuple[str, str]] = set()
    for index, taint in entries(at(resource.data, *map(str, _TAINTS))):
        path = (*_TAINTS, index)
        key, effect = text(taint.get("key")), text(taint.get("effect"))
        if effect not in _EFFECTS:
            yield Finding((*path, "effect"), f"'{effect}' is not a valid effect of a taint")
        if not is_label_key(key):
            yield Finding((*path, "key"), f"'{key}' is not a valid key of a taint")
        if not is_label_value(text(taint.get("value"))):
            yield Finding((*path, "value"), f"'{taint.get('value')}' is not a valid value of a taint")
        if (key, effect) in taken:
            yield Finding(path, f"duplicate taint '{key}' with effect {effect}")
        taken.add((key, effect))


@rule("KQ115", {"ResourceFlavor"}, says=("at least one nodeLabel is required when topology is set",))
def _labels(resource: Resource, _objects: ObjectSet) -> Findings:
    labels = mapping(at(resource.data, "spec", "nodeLabels"))
    for key, value in labels.items():
        if not is_label_key(key) or not is_label_value(text(value)):
            yield Finding(("spec", "nodeLabels", key), f"'{key}: {value}' is not a valid label")
    if text(at(resource.data, "spec", "topologyName")) and not labels:
        yield Finding(("spec", "topologyName"), "a flavor with a topology has no node labels")


@rule(
    "KQ116",
    {"Topology"},
    says=("the kubernetes.io/hostname label can only be used at the lowest level of topology",),
)
def _levels(resource: Resource, _objects: ObjectSet) -> Findings:
    levels = [text(level.get("nodeLabel")) for _, level in entries(at(resource.data, "spec", "levels"))]
    for index, label in enumerate(levels[:-1]):
        if label == HOSTNAME:
            path: Path = ("spec", "levels", index, "nodeLabel")
            yield Finding(path, "kubernetes.io/hostname is not the last level")


@rule(
    "KQ117",
    {"MultiKueueCluster"},
    says=("exactly one of the fields in [kubeConfig clusterProfileRef] must be set",),
)
def _source(resource: Resource, _objects: ObjectSet) -> Findings:
    source = at(resource.data, "spec", "clusterSource")
    if resource.version != "v1beta1" and isinstance(source, dict):
        found = [key for key in ("kubeConfig", "clusterProfileRef") if source.get(key) is not None]
        if len(found) != 1:
            said = "both kubeConfig and clusterProfileRef" if found else "no kubeConfig or clusterProfileRef"
            yield Finding(("spec", "clusterSource"), f"the cluster has {said}")


@rule("KQ118", {"ResourceFlavor"}, "warning")
def _tolerated(resource: Resource, _objects: ObjectSet) -> Findings:
    tolerations = [entry for _, entry in entries(at(resource.data, *map(str, _TOLERATIONS)))]
    for index, taint in entries(at(resource.data, *map(str, _TAINTS))):
        if taint.get("key") == TPU and not tolerates(tolerations, taint):
            message = f"the flavor has a taint {TPU}, but no toleration of it"
            yield Finding((*_TAINTS, index), message)


@rule("KQ119", {"ProvisioningRequestConfig"}, "warning")
def _managed(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "provisioningClassName") != QUEUED_CLASS:
        return
    if TPU not in sequence(at(resource.data, "spec", "managedResources")):
        message = "the ProvisioningRequest has all pod sets, but GKE accepts only one"
        yield Finding(("spec",), message)


@rule("KQ120", {"AdmissionCheck"})
def _parameters(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "controllerName") != PROVISIONING_CONTROLLER:
        return
    parameters = at(resource.data, "spec", "parameters")
    if at(parameters, "kind") != "ProvisioningRequestConfig" or at(parameters, "apiGroup") != KUEUE_GROUP:
        path: Path = ("spec", "parameters") if parameters is not None else ("spec",)
        yield Finding(path, "the provisioning check has no ProvisioningRequestConfig as parameters")
