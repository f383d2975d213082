"""Rules of references from pods. They are warnings: others may create what is not among the objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.read import at, entries, mapping, text
from slicewright.core.check.rule import Finding, Rule
from slicewright.core.check.rules.dns import is_subdomain
from slicewright.core.check.rules.shapes import POD_KINDS
from slicewright.core.plan.placement import COMPUTE_CLASS
from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.item import Item
    from slicewright.core.check.read import Pods
    from slicewright.core.check.rule import Check
    from slicewright.core.check.world import World
    from slicewright.core.problem import Path

_PODS = "Kubernetes documentation, page Pod Lifecycle"
_BUILT_IN = ("system-cluster-critical", "system-node-critical")
_GKE_CLASSES = (
    "Accelerator", "Balanced", "General-purpose", "Performance", "Scale-Out", "autopilot", "autopilot-spot",
)  # fmt: skip


def _by_namespace(world: World, kind: str) -> dict[str, set[str]]:
    """Return the names of a kind by namespace."""

    def make(world: World) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for item in world.of_kind(kind):
            found.setdefault(item.namespace or "default", set()).add(item.name)
        if kind == "ServiceAccount" and world.site:
            for _, team in entries(world.site.cluster.spec.get("teams")):
                if team.get("serviceAccountName"):
                    names = found.setdefault(text(team.get("namespace")), set())
                    names.add(text(team["serviceAccountName"]))
        return found

    return world.once(f"names of {kind}", make)


def _of_volumes(pods: Pods) -> Iterator[tuple[str, str, Path]]:
    for index, volume in entries(pods.spec.get("volumes")):
        path = (*pods.spec_path, "volumes", index)
        yield from _source(volume, path)
        yield "PersistentVolumeClaim", text(at(volume, "persistentVolumeClaim", "claimName")), path
        for place, source in entries(at(volume, "projected", "sources")):
            yield from _source(source, (*path, "projected", "sources", place))


def _source(holder: dict[str, Any], path: Path) -> Iterator[tuple[str, str, Path]]:
    for kind, key, name in (("ConfigMap", "configMap", "name"), ("Secret", "secret", "secretName")):
        source = mapping(holder.get(key))
        if source.get("optional") is not True:
            yield kind, text(source.get(name)) or text(source.get("name")), (*path, key)


def _of_containers(pods: Pods) -> Iterator[tuple[str, str, Path]]:
    for path, container in (*pods.containers, *pods.init_containers):
        for index, entry in entries(container.get("env")):
            if "valueFrom" not in entry:
                continue
            for kind, key in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
                source = mapping(at(entry, "valueFrom", key))
                if source.get("optional") is not True:
                    yield kind, text(source.get("name")), (*path, "env", index, "valueFrom", key)
        for index, entry in entries(container.get("envFrom")):
            for kind, key in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
                source = mapping(entry.get(key))
                if source.get("optional") is not True:
                    yield kind, text(source.get("name")), (*path, "envFrom", index, key)


def _references(pods: Pods) -> Iterator[tuple[str, str, Path]]:
    yield from _of_volumes(pods)
    yield from _of_containers(pods)
    account = text(pods.spec.get("serviceAccountName"))
    if account != "default":
        yield "ServiceAccount", account, (*pods.spec_path, "serviceAccountName")


def _namespaced(kind: str) -> Check:
    def check(item: Item, world: World) -> Iterator[Finding]:
        namespace = item.namespace or "default"
        known = _by_namespace(world, kind).get(namespace)
        if not known:
            return
        for pods in item.pods:
            for wanted, name, path in _references(pods):
                if wanted == kind and name and name not in known:
                    message = f"there is no {kind} '{name}' in namespace '{namespace}'"
                    yield Finding(path, message, did_you_mean(name, known))

    return check


def _priority(item: Item, world: World) -> Iterator[Finding]:
    known = [found.name for found in world.of_kind("PriorityClass")]
    for pods in item.pods:
        name = text(pods.spec.get("priorityClassName"))
        if known and name and name not in (*known, *_BUILT_IN):
            path = (*pods.spec_path, "priorityClassName")
            yield Finding(path, f"there is no PriorityClass '{name}'", did_you_mean(name, known))


def _compute_class(item: Item, world: World) -> Iterator[Finding]:
    known = [found.name for found in world.of_kind("ComputeClass")]
    for _, entry in entries(world.site.cluster.spec.get("computeClasses")) if world.site else ():
        known.append(text(entry.get("name")))
    for pods in item.pods:
        name = pods.selector.get(COMPUTE_CLASS, "")
        if known and name and name not in (*known, *_GKE_CLASSES):
            path = pods.selector_path(COMPUTE_CLASS)
            yield Finding(path, f"there is no ComputeClass '{name}'", did_you_mean(name, known))


def _pull_secrets(item: Item, _world: World) -> Iterator[Finding]:
    for pods in item.pods:
        for index, entry in entries(pods.spec.get("imagePullSecrets")):
            # Without the key the name is empty; null and numbers are reported as such.
            name = entry.get("name", "")
            if isinstance(name, str) and not is_subdomain(name):
                message = f"no Secret can have the name '{name}'"
                yield Finding((*pods.spec_path, "imagePullSecrets", index), message)


def _rule(ident: str, title: str, why: str, check: Check) -> Rule:
    hint = "add the object, or correct the name"
    return Rule(ident, "warning", title, why, hint, POD_KINDS, check, (_PODS,))


_WAITS = "The pods are created and wait: their containers never start, and the chips stay taken."

RULES = (
    _rule("REF121", "ConfigMaps that pods use exist", _WAITS, _namespaced("ConfigMap")),
    _rule("REF122", "Secrets that pods use exist", _WAITS, _namespaced("Secret")),
    _rule("REF123", "Volume claims that pods use exist", _WAITS, _namespaced("PersistentVolumeClaim")),
    _rule(
        "REF124",
        "ServiceAccounts that pods use exist",
        "Every pod is refused after the workload was admitted: nothing runs, and the quota stays taken.",
        _namespaced("ServiceAccount"),
    ),
    _rule(
        "REF125",
        "PriorityClasses that pods use exist",
        "Every pod is refused after the workload was admitted: nothing runs, and the quota stays taken.",
        _priority,
    ),
    _rule(
        "REF126",
        "ComputeClasses that pods select exist",
        "No node belongs to the class: the pods wait for ever.",
        _compute_class,
    ),
    Rule(
        id="REF127",
        severity="warning",
        title="Pull secrets have names that a Secret can have",
        why="The API server does not look at the name. The kubelet finds no such Secret (an empty name it "
        "passes over) and pulls without it: a private registry refuses, and the chips stay taken. `None` is "
        "what programs in Python write where they have no name.",
        hint="name a Secret of type kubernetes.io/dockerconfigjson, or leave imagePullSecrets out",
        kinds=POD_KINDS,
        check=_pull_secrets,
        sources=(
            "kubernetes/kubernetes v1.36.1: pkg/apis/core/validation/validation.go",
            "kubernetes/kubernetes v1.36.1: pkg/kubelet/kubelet_pods.go",
        ),
    ),
)
