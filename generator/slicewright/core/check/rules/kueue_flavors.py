"""What Kueue refuses about flavors, topologies and MultiKueue; traps of flavors and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.model import Finding, Rule
from slicewright.core.check.rules.dns import is_label_key, is_label_value
from slicewright.core.check.scheduler import tolerates
from slicewright.core.kubernetes.kinds import KUEUE_GROUP
from slicewright.core.kubernetes.labels import HOSTNAME, PROVISIONING_CONTROLLER, QUEUED_CLASS, TPU
from slicewright.core.kubernetes.read import at, entries, mapping, sequence, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.problem import Path

_CRD = "kubernetes-sigs/kueue v0.19.2: config/components/crd/bases/kueue.x-k8s.io_resourceflavors.yaml"
_WEBHOOK = "kubernetes-sigs/kueue v0.19.2: pkg/webhooks/resourceflavor_webhook.go"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TOLERATIONS: Path = ("spec", "tolerations")
_TAINTS: Path = ("spec", "nodeTaints")


def _tolerations(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
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


def _taints(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
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
            yield Finding(path, f"taint '{key}' with effect {effect} comes twice")
        taken.add((key, effect))


def _labels(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    labels = mapping(at(resource.data, "spec", "nodeLabels"))
    for key, value in labels.items():
        if not is_label_key(key) or not is_label_value(text(value)):
            yield Finding(("spec", "nodeLabels", key), f"'{key}: {value}' is not a valid label")
    if text(at(resource.data, "spec", "topologyName")) and not labels:
        yield Finding(("spec", "topologyName"), "a flavor with a topology has no node labels")


def _levels(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    levels = [text(level.get("nodeLabel")) for _, level in entries(at(resource.data, "spec", "levels"))]
    for index, label in enumerate(levels[:-1]):
        if label == HOSTNAME:
            path: Path = ("spec", "levels", index, "nodeLabel")
            yield Finding(path, "kubernetes.io/hostname is not the last level")


def _source(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    source = at(resource.data, "spec", "clusterSource")
    if resource.version != "v1beta1" and isinstance(source, dict):
        found = [key for key in ("kubeConfig", "clusterProfileRef") if source.get(key) is not None]
        if len(found) != 1:
            said = "both kubeConfig and clusterProfileRef" if found else "no kubeConfig or clusterProfileRef"
            yield Finding(("spec", "clusterSource"), f"the cluster has {said}")


def _tolerated(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    tolerations = [entry for _, entry in entries(at(resource.data, *map(str, _TOLERATIONS)))]
    for index, taint in entries(at(resource.data, *map(str, _TAINTS))):
        if taint.get("key") == TPU and not tolerates(tolerations, taint):
            message = f"no toleration of {TPU} is beside the taint"
            yield Finding((*_TAINTS, index), message)


def _managed(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    if at(resource.data, "spec", "provisioningClassName") != QUEUED_CLASS:
        return
    if TPU not in sequence(at(resource.data, "spec", "managedResources")):
        message = "every pod set becomes part of the request, and GKE takes one"
        yield Finding(("spec",), message)


def _parameters(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    if at(resource.data, "spec", "controllerName") != PROVISIONING_CONTROLLER:
        return
    parameters = at(resource.data, "spec", "parameters")
    if at(parameters, "kind") != "ProvisioningRequestConfig" or at(parameters, "apiGroup") != KUEUE_GROUP:
        path: Path = ("spec", "parameters") if parameters is not None else ("spec",)
        yield Finding(path, "the provisioning check has no ProvisioningRequestConfig as parameters")


RULES = (
    Rule(
        id="KQ113",
        severity="error",
        title="A toleration of a flavor is malformed",
        why="CEL rules of the CRD refuse them.",
        hint="write key, operator: Exists and effect: NoSchedule",
        kinds=frozenset({"ResourceFlavor"}),
        check=_tolerations,
        sources=(_CRD,),
    ),
    Rule(
        id="KQ114",
        severity="error",
        title="A taint of a flavor is malformed or duplicate",
        why="A CEL rule and Kueue's webhook refuse them.",
        hint="write key, value and effect: NoSchedule once",
        kinds=frozenset({"ResourceFlavor"}),
        check=_taints,
        sources=(_CRD, _WEBHOOK),
    ),
    Rule(
        id="KQ115",
        severity="error",
        title="Node labels of a flavor are malformed or missing",
        why="Kueue's webhook refuses an invalid label; a CEL rule requires a node label beside topologyName.",
        hint="write labels that the nodes of the pool carry",
        kinds=frozenset({"ResourceFlavor"}),
        check=_labels,
        sources=(_CRD, _WEBHOOK),
    ),
    Rule(
        id="KQ116",
        severity="error",
        title="kubernetes.io/hostname is not the last level of a topology",
        why="A CEL rule of the CRD refuses it anywhere else.",
        hint="order levels from the widest domain to the narrowest",
        kinds=frozenset({"Topology"}),
        check=_levels,
        sources=("kubernetes-sigs/kueue v0.19.2: apis/kueue/v1beta2/topology_types.go",),
    ),
    Rule(
        id="KQ117",
        severity="error",
        title="A MultiKueue cluster does not have exactly one source",
        why="A CEL rule of the CRD wants kubeConfig or clusterProfileRef, one of them.",
        hint="keep one",
        kinds=frozenset({"MultiKueueCluster"}),
        check=_source,
        sources=("kubernetes-sigs/kueue v0.19.2: apis/kueue/v1beta2/multikueue_types.go",),
    ),
    Rule(
        id="KQ118",
        severity="warning",
        title="A flavor declares the TPU taint and does not tolerate it",
        why="GKE adds the toleration to pods, and Kueue looks at the JobSet: a flavor with the taint fits no "
        "workload that does not write the toleration itself.",
        hint="leave nodeTaints out, or add tolerations: [{key: google.com/tpu, operator: Exists, effect: "
        "NoSchedule}] to the flavor",
        kinds=frozenset({"ResourceFlavor"}),
        check=_tolerated,
        sources=("https://github.com/kubernetes-sigs/kueue/issues/3721",),
    ),
    Rule(
        id="KQ119",
        severity="warning",
        title="Queued provisioning on GKE for pods without chips",
        why="GKE accepts one pod set a ProvisioningRequest; without managedResources the head and every CPU "
        "job become part of it, and it fails.",
        hint="write managedResources: [google.com/tpu]",
        kinds=frozenset({"ProvisioningRequestConfig"}),
        check=_managed,
        sources=("https://github.com/ray-project/ray/pull/59070",),
    ),
    Rule(
        id="KQ120",
        severity="error",
        title="A provisioning check has no configuration",
        why="Without a ProvisioningRequestConfig the check is never active, and neither is its queue.",
        hint="write parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: ...}",
        kinds=frozenset({"AdmissionCheck"}),
        check=_parameters,
        sources=("kubernetes-sigs/kueue v0.19.2: pkg/controller/admissionchecks/provisioning",),
    ),
)
