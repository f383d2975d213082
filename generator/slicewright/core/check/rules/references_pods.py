"""Rules of references from pods. They are warnings: others may create what is not among the objects.

Of objects that nobody declared a cluster for, nothing is said of a kind of which their scope has none. In a
repository with a TPUCluster everything is in the tree, or the TPUCluster says that it is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from slicewright.core.check.model import Check, Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.dns import is_subdomain
from slicewright.core.kubernetes.kinds import TEMPLATE_KINDS
from slicewright.core.kubernetes.labels import COMPUTE_CLASS
from slicewright.core.kubernetes.read import at, entries, mapping, text
from slicewright.core.problem import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slicewright.core.intent.cluster import Existing
    from slicewright.core.kubernetes.pods import Pods
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Path

KINDS = ("ConfigMap", "Secret", "PersistentVolumeClaim", "ServiceAccount")
_GIVEN = (("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt"))
"""What Kubernetes itself makes in every namespace."""
_INJECTED = ("istio-ca-root-cert", "openshift-service-ca.crt")
"""ConfigMaps that Istio and OpenShift make in every namespace."""


class Reference(Struct, frozen=True):
    """One object of the pods' namespace without which they do not start."""

    kind: str
    name: str
    path: Path
    keys: tuple[str, ...] = ()
    """The keys that it must have."""


def references(pods: Pods) -> Iterator[Reference]:
    """Yield what pods need; neither what they call optional, nor what every namespace has."""
    for found in (*_of_volumes(pods), *_of_containers(pods)):
        if found.name and (found.kind, found.name) not in _GIVEN:
            yield found
    account = text(pods.spec.get("serviceAccountName"))
    if account and account != "default":
        yield Reference("ServiceAccount", account, (*pods.spec_path, "serviceAccountName"))


def needed(
    templates: Iterable[Pods], namespace: str, existing: Sequence[Existing] = ()
) -> Iterator[tuple[Reference, bool]]:
    """Yield what pods need, pull secrets too, and whether `existing` says that it is there."""
    for pods in templates:
        for found in (*references(pods), *pull_secrets(pods)):
            yield found, any(entry.has(found.kind, namespace, found.name) for entry in existing)


def absent_keys(wanted: Iterable[str], holder: Mapping[str, Any]) -> list[str]:
    """Return which keys a ConfigMap or Secret lacks; none where it is empty, for somebody else fills it."""
    held = {key for field in ("data", "binaryData", "stringData") for key in mapping(holder.get(field))}
    return [key for key in wanted if key not in held] if held else []


def pull_secrets(pods: Pods) -> Iterator[Reference]:
    """Yield the Secrets with which images are pulled: without them a private registry refuses."""
    for index, entry in entries(pods.spec.get("imagePullSecrets")):
        if text(entry.get("name")):
            yield Reference("Secret", text(entry["name"]), (*pods.spec_path, "imagePullSecrets", index))


def _of_volumes(pods: Pods) -> Iterator[Reference]:
    for index, volume in entries(pods.spec.get("volumes")):
        path = (*pods.spec_path, "volumes", index)
        yield from _source(volume, path)
        if volume.get("persistentVolumeClaim"):
            claim = text(at(volume, "persistentVolumeClaim", "claimName"))
            yield Reference("PersistentVolumeClaim", claim, path)
        if volume.get("csi"):
            yield Reference("Secret", text(at(volume, "csi", "nodePublishSecretRef", "name")), (*path, "csi"))
        for place, source in entries(at(volume, "projected", "sources")):
            yield from _source(source, (*path, "projected", "sources", place))


def _source(holder: dict[str, Any], path: Path) -> Iterator[Reference]:
    for kind, key, name in (("ConfigMap", "configMap", "name"), ("Secret", "secret", "secretName")):
        source = mapping(holder.get(key))
        if source and source.get("optional") is not True:
            keys = tuple(text(resource.get("key")) for _, resource in entries(source.get("items")))
            named = text(source.get(name)) or text(source.get("name"))
            yield Reference(kind, named, (*path, key), keys)


def _of_containers(pods: Pods) -> Iterator[Reference]:
    for path, container in (*pods.containers, *pods.init_containers):
        for index, entry in entries(container.get("env")):
            if "valueFrom" not in entry:
                continue
            for kind, key in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
                source = mapping(at(entry, "valueFrom", key))
                if source and source.get("optional") is not True:
                    place = (*path, "env", index, "valueFrom", key)
                    yield Reference(kind, text(source.get("name")), place, (text(source.get("key")),))
        for index, entry in entries(container.get("envFrom")):
            for kind, key in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
                source = mapping(entry.get(key))
                if source and source.get("optional") is not True:
                    yield Reference(kind, text(source.get("name")), (*path, "envFrom", index, key))


_BUILT_IN = ("system-cluster-critical", "system-node-critical")
_GKE_CLASSES = (
    "Accelerator", "Balanced", "General-purpose", "Performance", "Scale-Out", "autopilot", "autopilot-spot",
)  # fmt: skip


_MAKERS = (
    ("Certificate", ("spec", "secretName")),
    ("ExternalSecret", ("spec", "target", "name")),
    ("SealedSecret", ("spec", "template", "metadata", "name")),
)
"""Kinds whose controllers make a Secret, and the field that names it, else it has their own name."""


def _by_namespace(objects: ObjectSet, kind: str) -> dict[str, set[str]]:
    """Return the names of a kind by namespace."""

    def make(objects: ObjectSet) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for resource in (*objects.of_kind(kind), *(other for other in objects.beside if other.kind == kind)):
            found.setdefault(resource.namespace or "default", set()).add(resource.name)
        for maker, path in _MAKERS if kind == "Secret" else ():
            for resource in objects.of_kind(maker):
                made = text(at(resource.data, *path)) or resource.name
                found.setdefault(resource.namespace or "default", set()).add(made)
        if kind == "ServiceAccount" and objects.site:
            for _, team in entries(objects.site.cluster.spec.get("teams")):
                if team.get("serviceAccountName"):
                    names = found.setdefault(text(team.get("namespace")), set())
                    names.add(text(team["serviceAccountName"]))
        return found

    return objects.once(f"names of {kind}", make)


def _namespaced(kind: str) -> Check:
    # In a scope, a file that holds objects of the kind may hold all that it needs, and a name that is nearly
    # one of the folder is a mistake. Most Secrets are in no file: there it takes both.
    enough = all if kind == "Secret" else any

    def files(objects: ObjectSet) -> frozenset[str]:
        return frozenset(resource.file for resource in objects.of_kind(kind))

    def check(resource: Resource, objects: ObjectSet) -> Findings:
        namespace = resource.namespace or "default"
        if objects.site is not None:
            yield from _not_in_tree(kind, resource, objects, objects.site)
            return
        known = _by_namespace(objects, kind)
        own = [known.get(namespace, set())]
        if not objects.is_cluster:
            own = [*own, known.get("default", set())] if resource.namespace else list(known.values())
        in_file = resource.file in objects.once(f"files with {kind}", files)
        for pods in resource.pods if any(own) or objects.widest.before else ():
            for found in references(pods):
                is_lost = objects.lost(found.kind, found.name, resource.namespace)
                if (
                    found.kind == kind
                    and (is_lost or any(own))
                    and not any(found.name in names for names in own)
                    and found.name not in _INJECTED
                    and is_subdomain(found.name)
                    and not objects.has(kind, found.name, resource.namespace)
                ):
                    names = set().union(*own)
                    message = f"{kind} '{found.name}' is not defined in namespace '{namespace}'"
                    if is_lost or objects.is_cluster or enough((in_file, bool(nearest(found.name, names)))):
                        yield Finding(found.path, message, did_you_mean(found.name, names))

    return check


def _not_in_tree(kind: str, resource: Resource, objects: ObjectSet, site: ResolvedCluster) -> Findings:
    """Yield what the repository of a cluster holds nowhere, once: at the first object that needs it."""
    missing = objects.once("what is not in the tree", _missing)
    for namespace, name, path, others in missing.get((kind, id(resource)), ()):
        more = f", and {others:,} more need{'s' if others == 1 else ''} it" if others else ""
        there = [entry.name for entry in site.cluster.existing if entry.has(kind, namespace, entry.name)]
        near = nearest(name, (*_by_namespace(objects, kind).get(namespace, ()), *there))
        hint = f"add it to the tree, or list it under existing: in {site.cluster.source.file.path}"
        hint = f"did you mean '{near[0]}'? Else {hint}" if near else hint
        yield Finding(path, f"{kind} '{name}' of namespace '{namespace}' is not in the tree{more}", hint)


def _missing(objects: ObjectSet) -> dict[tuple[str, int], list[tuple[str, str, Path, int]]]:
    """Return what is neither in the tree nor on the cluster, by kind and the first object that needs it.

    Of each its namespace, its name, where it is needed, and how many more objects need it.
    """
    users: dict[tuple[str, str, str], dict[int, Path]] = {}
    existing = objects.site.cluster.existing if objects.site else ()
    for resource in objects.all:
        namespace = resource.namespace or "default"
        for found, is_declared in needed(resource.pods, namespace, existing):
            if not is_declared and found.name not in _by_namespace(objects, found.kind).get(namespace, ()):
                users.setdefault((found.kind, namespace, found.name), {}).setdefault(id(resource), found.path)
    missing: dict[tuple[str, int], list[tuple[str, str, Path, int]]] = {}
    for (kind, namespace, name), paths in users.items():
        first, path = next(iter(paths.items()))
        missing.setdefault((kind, first), []).append((namespace, name, path, len(paths) - 1))
    return missing


def _beside(objects: ObjectSet) -> dict[tuple[str, str, str], Resource]:
    return {
        (resource.kind, resource.namespace or "default", resource.name): resource
        for resource in objects.beside
    }


@rule("REF160", TEMPLATE_KINDS, "warning")
def _keys(resource: Resource, objects: ObjectSet) -> Findings:
    beside = objects.once("custom/", _beside)
    if not (beside or objects.of_kind("ConfigMap") or objects.of_kind("Secret")):
        return
    namespace = resource.namespace or "default"
    for pods in resource.pods:
        for found in references(pods):
            other = beside.get((found.kind, namespace, found.name))
            holders = objects.candidates(found.kind, found.name, resource.namespace, resource.file)
            absent = [absent_keys(found.keys, holder.data) for holder in holders or filter(None, [other])]
            for key in absent[0] if absent else ():
                if all(key in keys for keys in absent):
                    message = f"{found.kind} '{found.name}' of namespace '{namespace}' has no key '{key}'"
                    yield Finding(found.path, message)


@rule("REF125", TEMPLATE_KINDS, "warning")
def _priority(resource: Resource, objects: ObjectSet) -> Findings:
    known = [found.name for found in objects.of_kind("PriorityClass")]
    for pods in resource.pods:
        name = text(pods.spec.get("priorityClassName"))
        is_lost = objects.lost("PriorityClass", name)
        if is_lost or (known and name and name not in _BUILT_IN and not objects.has("PriorityClass", name)):
            path = (*pods.spec_path, "priorityClassName")
            yield Finding(path, f"PriorityClass '{name}' is not defined", did_you_mean(name, known))


@rule("REF126", TEMPLATE_KINDS, "warning")
def _compute_class(resource: Resource, objects: ObjectSet) -> Findings:
    known = [found.name for found in objects.of_kind("ComputeClass")]
    for _, entry in entries(objects.site.cluster.spec.get("computeClasses")) if objects.site else ():
        known.append(text(entry.get("name")))
    for pods in resource.pods:
        name = pods.selector.get(COMPUTE_CLASS, "")
        is_known = not name or name in (*known, *_GKE_CLASSES) or objects.has("ComputeClass", name)
        if not is_known and (known or objects.lost("ComputeClass", name)):
            path = pods.selector_path(COMPUTE_CLASS)
            yield Finding(path, f"ComputeClass '{name}' is not defined", did_you_mean(name, known))


@rule("REF127", TEMPLATE_KINDS, "warning")
def _pull_secrets(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        for index, entry in entries(pods.spec.get("imagePullSecrets")):
            # Without the key the name is empty; null and numbers are reported as such.
            name = entry.get("name", "")
            if isinstance(name, str) and not is_subdomain(name):
                message = f"no Secret can have the name '{name}'"
                yield Finding((*pods.spec_path, "imagePullSecrets", index), message)


_ref121 = rule("REF121", TEMPLATE_KINDS, "warning")(_namespaced("ConfigMap"))
_ref122 = rule("REF122", TEMPLATE_KINDS, "warning")(_namespaced("Secret"))
_ref123 = rule("REF123", TEMPLATE_KINDS, "warning")(_namespaced("PersistentVolumeClaim"))
_ref124 = rule("REF124", TEMPLATE_KINDS, "warning")(_namespaced("ServiceAccount"))
