"""Rules of references between workloads and Kueue; a kind of which nothing is said is taken on trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check import quota_read
from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.placeholder import may_be
from slicewright.core.check.rules.kueue_queues import groups
from slicewright.core.check.scheduler import requirement
from slicewright.core.kubernetes.kinds import QUEUED_KINDS
from slicewright.core.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    NAMESPACE_NAME,
    NODE_POOL,
    PRIORITY_CLASS,
    QUEUE,
    RUN,
    TOPOLOGY,
)
from slicewright.core.kubernetes.read import at, entries, mapping, text, texts, words
from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from slicewright.core.problem import Path

_OURS = frozenset({ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT, NODE_POOL})
_DEFAULT = "default"
"""The LocalQueue and ClusterQueue that OpenShift AI makes."""
_PARAMETERS = {"ProvisioningRequestConfig", "MultiKueueConfig"}


def _dangling(resource: Resource, objects: ObjectSet, kind: str, name: str, path: Path) -> Findings:
    """Yield a finding where objects of a kind are known and one that is named is not among them."""
    known = [one.name for one in objects.of_kind(kind)]
    if name and (objects.lost(kind, name) or (known and not objects.has(kind, name))):
        is_certain = objects.misses(kind, name, resource)
        message = f"{kind} '{name}' is not defined"
        yield Finding(path, message, did_you_mean(name, known), is_certain=is_certain)


@rule("REF101", QUEUED_KINDS)
def _queue(resource: Resource, objects: ObjectSet) -> Findings:
    known, name = quota_read.quotas(objects), resource.labels.get(QUEUE)
    namespace = resource.namespace or "default"
    if name is None or (namespace, name) in known.local or RUN in resource.labels:
        return
    if not known.has_queues and not objects.lost("LocalQueue", name, resource.namespace):
        return
    if not objects.is_cluster and (name == _DEFAULT or objects.has("LocalQueue", name, resource.namespace)):
        return
    is_certain = objects.misses("LocalQueue", name, resource)
    if not (resource.namespace or objects.is_cluster):
        message = f"LocalQueue '{name}' is not defined in any namespace"
        hint = did_you_mean(name, sorted({queue for _, queue in known.local}))
        yield Finding(("metadata", "labels", QUEUE), message, hint, is_certain=is_certain)
        return
    here = [queue for place, queue in known.local if place == namespace]
    elsewhere = sorted(place for place, queue in known.local if queue == name)
    hint = did_you_mean(name, here)
    if elsewhere:
        hint = f"it is in namespace {elsewhere[0]}: a LocalQueue serves its own namespace"
    message = f"LocalQueue '{name}' is not defined in namespace '{namespace}'"
    yield Finding(("metadata", "labels", QUEUE), message, hint, is_certain=is_certain)


@rule("REF102", {"LocalQueue"})
def _cluster_queue(resource: Resource, objects: ObjectSet) -> Findings:
    name = text(at(resource.data, "spec", "clusterQueue"))
    if objects.is_cluster or name != _DEFAULT:
        yield from _dangling(resource, objects, "ClusterQueue", name, ("spec", "clusterQueue"))


@rule("REF103", {"ClusterQueue", "Cohort"})
def _flavors(resource: Resource, objects: ObjectSet) -> Findings:
    for path, group in groups(resource):
        for index, flavor in entries(group.get("flavors")):
            name = text(flavor.get("name"))
            yield from _dangling(resource, objects, "ResourceFlavor", name, (*path, "flavors", index, "name"))


@rule("REF104", {"ClusterQueue"})
def _checks(resource: Resource, objects: ObjectSet) -> Findings:
    base = ("spec", "admissionChecksStrategy", "admissionChecks")
    for index, check in entries(at(resource.data, "spec", "admissionChecksStrategy", "admissionChecks")):
        yield from _dangling(
            resource, objects, "AdmissionCheck", text(check.get("name")), (*base, index, "name")
        )
    for index, name in words(at(resource.data, "spec", "admissionChecks")):
        yield from _dangling(resource, objects, "AdmissionCheck", name, ("spec", "admissionChecks", index))


@rule("REF105", {"AdmissionCheck"})
def _parameters(resource: Resource, objects: ObjectSet) -> Findings:
    parameters = mapping(at(resource.data, "spec", "parameters"))
    kind = text(parameters.get("kind"))
    if kind in _PARAMETERS:
        yield from _dangling(
            resource, objects, kind, text(parameters.get("name")), ("spec", "parameters", "name")
        )


@rule("REF106", {"ResourceFlavor"})
def _topology(resource: Resource, objects: ObjectSet) -> Findings:
    name = text(at(resource.data, "spec", "topologyName"))
    yield from _dangling(resource, objects, "Topology", name, ("spec", "topologyName"))


@rule("REF107", {"MultiKueueConfig"})
def _clusters(resource: Resource, objects: ObjectSet) -> Findings:
    for index, name in words(at(resource.data, "spec", "clusters")):
        yield from _dangling(resource, objects, "MultiKueueCluster", name, ("spec", "clusters", index))


@rule("REF108", QUEUED_KINDS)
def _priority(resource: Resource, objects: ObjectSet) -> Findings:
    name = resource.labels.get(PRIORITY_CLASS, "")
    yield from _dangling(
        resource, objects, "WorkloadPriorityClass", name, ("metadata", "labels", PRIORITY_CLASS)
    )


@rule("REF109", {"ResourceFlavor"})
def _pools(resource: Resource, objects: ObjectSet) -> Findings:
    labels = texts(at(resource.data, "spec", "nodeLabels"))
    if objects.site is None or not labels:
        return
    pools = [labels for _, labels in quota_read.pools_of(objects.site)]
    own = {key for pool in pools for key in pool}
    judged = {key: value for key, value in labels.items() if key in own or key in _OURS}
    if pools and not any(all(value in pool.get(key, ()) for key, value in judged.items()) for pool in pools):
        said = ", ".join(f"{key}: {value}" for key, value in judged.items())
        name = objects.site.cluster.name
        hint = "run slicewright render" if objects.is_platform(resource) else ""
        yield Finding(("spec", "nodeLabels"), f"no pool of {name} has nodes with {said}", hint)


@rule("REF110", {"LocalQueue"})
def _namespace(resource: Resource, objects: ObjectSet) -> Findings:
    name = resource.namespace or "default"
    if not objects.is_cluster and not resource.namespace:
        return
    queues = objects.candidates(
        "ClusterQueue", text(at(resource.data, "spec", "clusterQueue")), near=resource.file
    )
    namespaces = [namespace.labels for namespace in objects.candidates("Namespace", name)]
    if queues and all(_refuses(queue, name, labels) for queue in queues for labels in namespaces or (None,)):
        message = f"ClusterQueue '{queues[0].name}' does not select namespace '{name}'"
        # People label namespaces by hand; only beside the queue the labels are all of them.
        is_certain = not namespaces or objects.misses("Namespace", name, resource)
        yield Finding(("spec", "clusterQueue"), message, is_certain=is_certain)


def _refuses(queue: Resource, name: str, labels: dict[str, str] | None) -> bool:
    """Tell whether a ClusterQueue does not select a namespace; of None nobody knows more than its name."""
    selector = at(queue.data, "spec", "namespaceSelector")
    if not isinstance(selector, dict):
        return False
    own = {**(labels or {}), NAMESPACE_NAME: name}
    wanted = texts(selector.get("matchLabels"))
    keys = set(wanted)
    refused = any(own.get(key) != value for key, value in wanted.items())
    for _, expression in entries(selector.get("matchExpressions")):
        key = text(expression.get("key"))
        keys.add(key)
        refused = refused or not requirement(expression).accepts(own.get(key))
    return refused and (labels is not None or keys <= {NAMESPACE_NAME})


@rule("REF132", QUEUED_KINDS, "warning")
def _namespace_unwritten(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare namespaces in a scope, where somebody may still choose one for what has none."""
    name, namespace = resource.labels.get(QUEUE, ""), resource.namespace
    queues = () if objects.is_cluster else objects.candidates("LocalQueue", name, namespace, resource.file)

    def is_own(queue: Resource) -> bool:
        return may_be(queue.namespace or "default", namespace or "default")

    if (
        queues
        and not any(map(is_own, queues))
        and not any(map(is_own, objects.widest.candidates("LocalQueue", name, namespace)))
    ):
        theirs = f"is in namespace '{queues[0].namespace}'" if queues[0].namespace else "has no namespace"
        own = f"is in '{namespace}'" if namespace else "has none"
        message = f"LocalQueue '{name}' {theirs}, but the {resource.kind} {own}"
        yield Finding(("metadata",), message)
