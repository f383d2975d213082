"""Rules of references from pods. They are warnings: others may create the missing objects.

In a scope without a TPUCluster, a kind without objects is not reported. In a repository with a TPUCluster
everything is in the tree, or the TPUCluster lists it under `existing`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from slicewright.check.rules.dns import is_subdomain
from slicewright.check.rules.kustomize_build import renamed
from slicewright.intent.tpucluster import BUILT_IN_PRIORITIES, Existing
from slicewright.kubernetes.fields import at, entries, mapping, text
from slicewright.kubernetes.kinds import TEMPLATE_KINDS
from slicewright.kubernetes.labels import COMPUTE_CLASS, PRIORITY_CLASS, WORKLOAD
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path, did_you_mean, nearest
from slicewright.objects import Check, Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

KINDS = ("ConfigMap", "Secret", "PersistentVolumeClaim", "PriorityClass", "ServiceAccount")
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
    for reference in (*_of_volumes(pods), *_of_containers(pods)):
        if reference.name and (reference.kind, reference.name) not in _GIVEN:
            yield reference
    account = text(pods.spec.get("serviceAccountName"))
    if account not in ("", "default"):
        yield Reference("ServiceAccount", account, (*pods.spec_path, "serviceAccountName"))


def needed(
    templates: Iterable[Pods], namespace: str, existing: Sequence[Existing] = ()
) -> Iterator[tuple[Reference, bool]]:
    """Yield each object that pods need, and whether `existing` says that the cluster has it."""
    for pods in templates:
        for needed in (*references(pods), *pull_secrets(pods), *_classes(pods)):
            yield needed, any(entry.has(needed.kind, namespace, needed.name) for entry in existing)


def absent_keys(keys: Iterable[str], holder: Mapping[str, Any]) -> list[str]:
    """Return the keys that a ConfigMap or Secret lacks; none if it is empty: something else fills it."""
    own = {key for field in ("data", "binaryData", "stringData") for key in mapping(holder.get(field))}
    return [key for key in keys if key not in own] if own else []


def pull_secrets(pods: Pods) -> Iterator[Reference]:
    """Yield the Secrets with which images are pulled: without them a private registry refuses."""
    for index, entry in entries(pods.spec.get("imagePullSecrets")):
        if text(entry.get("name")):
            yield Reference("Secret", text(entry["name"]), (*pods.spec_path, "imagePullSecrets", index))


def _classes(pods: Pods) -> Iterator[Reference]:
    """Yield the PriorityClass of pods: without it the API server refuses them."""
    name = text(pods.spec.get("priorityClassName"))
    if name and name not in BUILT_IN_PRIORITIES:
        yield Reference("PriorityClass", name, (*pods.spec_path, "priorityClassName"))


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


def dangling(resource: Resource, objects: ObjectSet, kind: str, name: str, path: Path) -> Findings:
    """Yield a finding where objects of a kind are known and one that is named is not among them."""
    known = [candidate.name for candidate in objects.of_kind(kind)]
    if name and known and not objects.has(kind, name):
        is_certain = objects.misses(kind, name, resource)
        message = f"{kind} '{name}' is not defined"
        hint = renamed(objects, kind, name, resource) or did_you_mean(name, known)
        yield Finding(path, message, hint, is_certain=is_certain)


_GKE_CLASSES = (
    "Accelerator", "Balanced", "General-purpose", "Performance", "Scale-Out", "autopilot", "autopilot-spot",
)  # fmt: skip


_DESTINATION = ("spec", "destination", "name")
_MAKERS: dict[str, tuple[tuple[str, Path], ...]] = {
    "ConfigMap": (("Bundle", ()), ("ObjectBucketClaim", ())),
    "PersistentVolumeClaim": (("DataVolume", ()), ("Dataset", ())),
    "Secret": (
        ("Certificate", ("spec", "secretName")),
        ("DopplerSecret", ("spec", "managedSecret", "name")),
        ("ExternalSecret", ("spec", "target", "name")),
        ("InfisicalSecret", ("spec", "managedSecretReference", "secretName")),
        ("KafkaUser", ()),
        ("ObjectBucketClaim", ()),
        ("OnePasswordItem", ()),
        ("SealedSecret", ("spec", "template", "metadata", "name")),
        ("VaultDynamicSecret", _DESTINATION),
        ("VaultStaticSecret", _DESTINATION),
    ),
}
"""Kinds whose controllers make an object, and the field that names it, else it has their own name."""


def _by_namespace(objects: ObjectSet, kind: str) -> dict[str, set[str]]:
    """Return the names of a kind by namespace."""

    def make(objects: ObjectSet) -> dict[str, set[str]]:
        names: dict[str, set[str]] = defaultdict(set)
        for resource in objects.with_beside(kind):
            names[resource.namespace or "default"].add(resource.name)
        for maker, path in _MAKERS.get(kind, ()):
            for resource in objects.of_kind(maker):
                names[resource.namespace or "default"].add(text(at(resource.data, *path)) or resource.name)
        if kind == "ServiceAccount" and objects.site:
            for _, team in entries(objects.site.cluster.spec.get("teams")):
                if team.get("serviceAccountName"):
                    names[text(team.get("namespace"))].add(text(team["serviceAccountName"]))
        return names

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
        names = set().union(*own)
        if names:
            for pods in resource.pods:
                for reference in references(pods):
                    name = reference.name
                    if (
                        reference.kind == kind
                        and name not in names
                        and name not in _INJECTED
                        and is_subdomain(name)
                        and not objects.has(kind, name, resource.namespace)
                        and (objects.is_cluster or enough((in_file, bool(nearest(name, names)))))
                    ):
                        message = f"{kind} '{name}' is not defined in namespace '{namespace}'"
                        hint = renamed(objects, kind, name, resource) or did_you_mean(name, names)
                        yield Finding(reference.path, message, hint)

    return check


def _not_in_tree(kind: str, resource: Resource, objects: ObjectSet, site: ResolvedCluster) -> Findings:
    """Yield what the repository of a cluster holds nowhere, once: at the first object that needs it."""
    missing = objects.once("what is not in the tree", _missing)
    for namespace, name, path, others in missing.get((kind, id(resource)), ()):
        existing = [entry.name for entry in site.cluster.existing if entry.has(kind, namespace, entry.name)]
        near = nearest(name, (*_by_namespace(objects, kind).get(namespace, ()), *existing))
        hint = f"add it to the tree, or list it under existing: in {site.cluster.source.file.path}"
        hint = f"did you mean '{near[0]}'? Otherwise {hint}" if near else hint
        subject = f"{kind} '{name}' of namespace '{namespace}'"
        needed_by = f"{others + 1:,} objects need {subject}, but it" if others else subject
        yield Finding(path, f"{needed_by} is not in the tree", hint)


def _missing(objects: ObjectSet) -> dict[tuple[str, int], list[tuple[str, str, Path, int]]]:
    """Return what is neither in the tree nor on the cluster, by kind and the first object that needs it.

    Each has its namespace, its name, the place that needs it, and the number of other objects that need it.
    """
    users: dict[tuple[str, str, str], dict[int, Path]] = defaultdict(dict)
    existing = objects.site.cluster.existing if objects.site else ()
    for resource in objects.all:
        namespace = resource.namespace or "default"
        for reference, is_declared in needed(resource.pods, namespace, existing):
            kind, name = reference.kind, reference.name
            if not is_declared and name not in _by_namespace(objects, kind).get(namespace, ()):
                users[kind, namespace, name].setdefault(id(resource), reference.path)
    missing: dict[tuple[str, int], list[tuple[str, str, Path, int]]] = defaultdict(list)
    for (kind, namespace, name), paths in users.items():
        first, path = next(iter(paths.items()))
        missing[kind, first].append((namespace, name, path, len(paths) - 1))
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
        for reference in references(pods):
            kind, name = reference.kind, reference.name
            other = beside.get((kind, namespace, name))
            holders = objects.candidates(kind, name, resource.namespace, resource.file)
            absent = [absent_keys(reference.keys, holder.data) for holder in holders or filter(None, [other])]
            if absent:
                for key in absent[0]:
                    if all(key in keys for keys in absent):
                        message = f"{kind} '{name}' of namespace '{namespace}' has no key '{key}'"
                        yield Finding(reference.path, message)


@rule("REF125", TEMPLATE_KINDS)
def _priority(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare a priority class with those of the cluster, or with those of a scope that has any.

    A cluster with `managed: false` may have classes that are not in its file.
    """
    site = objects.site
    is_ours = site is None or site.cluster.managed
    for reference in (reference for pods in resource.pods for reference in _classes(pods)):
        name, known = reference.name, _priority_classes(objects)
        is_there = name in known or objects.has(reference.kind, name)
        if is_there or (site is not None and site.cluster.has_pod_priority(name)):
            continue
        of_queues = name in _queue_classes(objects)
        if site is not None or known or of_queues:
            hint = renamed(objects, reference.kind, name, resource) or did_you_mean(name, known)
            if of_queues:
                hint = f"did you mean the label {PRIORITY_CLASS}: {name}?"
                if WORKLOAD in resource.labels:
                    hint = f"did you mean workloadPriorityClassName: {name}?"
            if site is not None:
                beside = f"list the PriorityClass under existing: in {site.cluster.source.file.path}"
                hint = f"{hint} Otherwise {beside}" if hint else f"correct the name, or {beside}"
            is_certain = is_ours and objects.misses(reference.kind, name, resource)
            message = f"PriorityClass '{name}' is not defined"
            yield Finding(reference.path, message, hint, is_certain=is_certain)


def _priority_classes(objects: ObjectSet) -> list[str]:
    """Return the names of the PriorityClasses among some objects, and of those in custom/."""
    return [resource.name for resource in objects.with_beside("PriorityClass")]


def _queue_classes(objects: ObjectSet) -> set[str]:
    """Return the names of the WorkloadPriorityClasses."""
    names = {resource.name for resource in objects.of_kind("WorkloadPriorityClass")}
    if objects.site:
        names.update(objects.site.cluster.priority_classes)
    return names


@rule("REF126", TEMPLATE_KINDS, "warning")
def _compute_class(resource: Resource, objects: ObjectSet) -> Findings:
    known = [compute_class.name for compute_class in objects.of_kind("ComputeClass")]
    if objects.site:
        for _, entry in entries(objects.site.cluster.spec.get("computeClasses")):
            known.append(text(entry.get("name")))
    for pods in resource.pods:
        name = pods.selector.get(COMPUTE_CLASS, "")
        is_known = not name or name in (*known, *_GKE_CLASSES) or objects.has("ComputeClass", name)
        if known and not is_known:
            path = pods.selector_path(COMPUTE_CLASS)
            yield Finding(path, f"ComputeClass '{name}' is not defined", did_you_mean(name, known))


@rule("REF127", TEMPLATE_KINDS, "warning")
def _pull_secrets(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        for index, entry in entries(pods.spec.get("imagePullSecrets")):
            # Without the key the name is empty; null and numbers are reported as such.
            name = entry.get("name", "")
            if isinstance(name, str) and not is_subdomain(name):
                message = f"a Secret cannot have the name '{name}'"
                yield Finding((*pods.spec_path, "imagePullSecrets", index), message)


_config_maps = rule("REF121", TEMPLATE_KINDS, "warning")(_namespaced("ConfigMap"))
_secrets = rule("REF122", TEMPLATE_KINDS, "warning")(_namespaced("Secret"))
_claims = rule("REF123", TEMPLATE_KINDS, "warning")(_namespaced("PersistentVolumeClaim"))
_accounts = rule("REF124", TEMPLATE_KINDS, "warning")(_namespaced("ServiceAccount"))
