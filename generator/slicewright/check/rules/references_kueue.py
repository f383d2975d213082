"""Rules of references between workloads and Kueue.

If no object of a kind is known, references to the kind are not reported.
"""

from collections.abc import Iterator
from typing import Any

from slicewright.catalogue.shape import joined
from slicewright.check.rules.kueue_queues import checks, groups
from slicewright.check.rules.kueue_workloads import queue_label
from slicewright.check.rules.kustomize_build import renamed
from slicewright.check.rules.references_pods import dangling
from slicewright.document.document import may_be
from slicewright.kubernetes.fields import at, entries, mapping, text, texts, words
from slicewright.kubernetes.kinds import KUEUE_NAMESPACE, QUEUED_KINDS, RUN_KINDS
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    NAMESPACE_NAME,
    NODE_POOL,
    PRIORITY_CLASS,
    QUEUE,
    RUN,
    TOPOLOGY,
    meant_key,
)
from slicewright.kubernetes.problem import did_you_mean, first_of
from slicewright.kubernetes.scheduler import requirement
from slicewright.kueue import quota_read
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_OURS = frozenset({ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT, NODE_POOL})
_STOPS = ("Hold", "HoldAndDrain")
_MOST = 3
"""How many runs a message names."""
_DEFAULT = "default"
"""The LocalQueue and ClusterQueue that OpenShift AI makes; jobs without a queue get the LocalQueue."""
_NOT_MANAGED = frozenset({"kube-system", KUEUE_NAMESPACE})
"""The namespaces that the default managedJobsNamespaceSelector excludes."""
_PATHWAYS = "jobset.x-k8s.io/jobset"
"""Kueue manages the JobSet that the operator makes of a PathwaysJob."""


@rule("REF101", QUEUED_KINDS | {"CronJob"})
def local_queue(resource: Resource, objects: ObjectSet) -> Findings:
    """Find runs that name a LocalQueue that their namespace does not have."""
    known, (path, name) = quota_read.quotas(objects), queue_label(resource)
    namespace = resource.namespace or "default"
    if name is None or (namespace, name) in known.local or RUN in resource.labels:
        return
    if not known.has_queues:
        return
    if not objects.is_cluster and name == _DEFAULT:
        return
    if objects.has("LocalQueue", name, resource.namespace):
        return
    any_namespace = not (resource.namespace or objects.is_cluster)
    message = f"LocalQueue '{name}' is not defined in "
    message += "any namespace" if any_namespace else f"namespace '{namespace}'"
    hint = renamed(objects, "LocalQueue", name, resource)
    hint = hint or did_you_mean(
        name, {queue for place, queue in known.local if any_namespace or place == namespace}
    )
    if leading := [own for (place, own), to in known.local.items() if (place, to) == (namespace, name)]:
        hint = f"'{name}' is a ClusterQueue: write {joined(leading, 'or')}, the LocalQueue that leads to it"
    elsewhere = sorted(place for place, queue in known.local if queue == name)
    if elsewhere and not any_namespace:
        hint = f"name a LocalQueue of this namespace: this one serves only namespace {elsewhere[0]}"
    is_certain = objects.misses("LocalQueue", name, resource)
    yield Finding(path, message, hint, is_certain=is_certain)


@rule("REF165", RUN_KINDS | {"CronJob", "RayJob"}, "warning")
def _unqueued(resource: Resource, objects: ObjectSet) -> Findings:
    uses_chips = resource.kind == "PathwaysJob" or any(pods.asks_for_tpu for pods in resource.pods)
    # KQ133 and KQ150 report labels that are misplaced or misspelt.
    written = [key for _, holder, _ in resource.holders for key in texts(holder.get("labels"))]
    keys = {*written, *map(meant_key, written)}
    if QUEUE in keys or RUN in keys or not uses_chips:
        return
    is_kept = _keeps_without_queue(resource, objects)
    # Where nobody declared a cluster, queues of other files may be for another way to run the same program.
    queues = [
        queue.name
        for queue in objects.of_kind("LocalQueue")
        if (objects.is_cluster or is_kept or queue.file == resource.file)
        and (queue.namespace or "default") == (resource.namespace or "default")
    ]
    if (
        not queues and not is_kept
    ) or _DEFAULT in queues:  # Kueue itself adds the label of the queue `default`
        return
    subject = "Job of the CronJob" if resource.kind == "CronJob" else resource.kind
    effect = "so Kueue keeps it suspended" if is_kept else "so Kueue does not count its chips"
    message = f"the {subject} has no label {QUEUE}, {effect}"
    named = f": {joined(queues, 'or')}" if queues else ""
    yield Finding(queue_label(resource)[0][:-1], message, f"name a LocalQueue of its namespace{named}")


@rule("KQ186", QUEUED_KINDS)
def not_handled(resource: Resource, objects: ObjectSet) -> Findings:
    """Find runs of kinds that Kueue does not manage."""
    if QUEUE in resource.labels and not _handles(resource, objects):
        message = f"Kueue's configuration does not handle {resource.kind}s, so they start without quota"
        hint = f"add {_integration(resource)} to integrations.frameworks in Kueue's configuration"
        # A Configuration of another folder may be that of another cluster.
        is_certain = objects.is_cluster or bool(quota_read.configurations(objects))
        yield Finding(("metadata", "labels", QUEUE), message, hint, is_certain=is_certain)


@rule("REF102", {"LocalQueue"})
def _cluster_queue(resource: Resource, objects: ObjectSet) -> Findings:
    name = text(at(resource.data, "spec", "clusterQueue"))
    if objects.is_cluster or name != _DEFAULT:
        yield from dangling(resource, objects, "ClusterQueue", name, ("spec", "clusterQueue"))


@rule("REF103", {"ClusterQueue", "Cohort"})
def _flavors(resource: Resource, objects: ObjectSet) -> Findings:
    for path, group in groups(resource):
        for index, flavor in entries(group.get("flavors")):
            name = text(flavor.get("name"))
            yield from dangling(resource, objects, "ResourceFlavor", name, (*path, "flavors", index, "name"))


@rule("REF104", {"ClusterQueue"})
def _checks(resource: Resource, objects: ObjectSet) -> Findings:
    for path, name, _ in checks(resource):
        place = (*path, "name") if path[1] == "admissionChecksStrategy" else path
        yield from dangling(resource, objects, "AdmissionCheck", name, place)


@rule("REF105", {"AdmissionCheck"})
def _parameters(resource: Resource, objects: ObjectSet) -> Findings:
    kind, name = (text(at(resource.data, "spec", "parameters", key)) for key in ("kind", "name"))
    if kind in ("ProvisioningRequestConfig", "MultiKueueConfig"):
        yield from dangling(resource, objects, kind, name, ("spec", "parameters", "name"))


@rule("REF106", {"ResourceFlavor"})
def _topology(resource: Resource, objects: ObjectSet) -> Findings:
    name = text(at(resource.data, "spec", "topologyName"))
    yield from dangling(resource, objects, "Topology", name, ("spec", "topologyName"))


@rule("REF107", {"MultiKueueConfig"})
def _clusters(resource: Resource, objects: ObjectSet) -> Findings:
    for index, name in words(at(resource.data, "spec", "clusters")):
        yield from dangling(resource, objects, "MultiKueueCluster", name, ("spec", "clusters", index))


@rule("REF108", QUEUED_KINDS)
def _priority(resource: Resource, objects: ObjectSet) -> Findings:
    name, path = resource.labels.get(PRIORITY_CLASS, ""), ("metadata", "labels", PRIORITY_CLASS)
    yield from dangling(resource, objects, "WorkloadPriorityClass", name, path)
    if objects.has("PriorityClass", name) and not objects.of_kind("WorkloadPriorityClass"):
        message = f"'{name}' is a PriorityClass, but Kueue needs a WorkloadPriorityClass of this name"
        yield Finding(path, message, is_certain=objects.is_cluster)


@rule("REF109", {"ResourceFlavor"})
def _pools(resource: Resource, objects: ObjectSet) -> Findings:
    labels = texts(at(resource.data, "spec", "nodeLabels"))
    if objects.site is None or not labels:
        return
    pools = [labels for _, labels in quota_read.pools_of(objects)]
    own = {key for pool in pools for key in pool}
    judged = {key: value for key, value in labels.items() if key in own or key in _OURS}
    if pools and not any(all(value in pool.get(key, ()) for key, value in judged.items()) for pool in pools):
        message = f"no pool of {objects.site.cluster.name} has nodes with "
        message += ", ".join(f"{key}: {value}" for key, value in judged.items())
        hint = "run slicewright render" if objects.is_platform(resource) else ""
        yield Finding(("spec", "nodeLabels"), message, hint)


@rule("REF110", {"LocalQueue"})
def _namespace(resource: Resource, objects: ObjectSet) -> Findings:
    name, target = resource.namespace or "default", text(at(resource.data, "spec", "clusterQueue"))
    if not objects.is_cluster and not resource.namespace:
        return
    queues = objects.candidates("ClusterQueue", target, near=resource.file)
    namespaces = [namespace.labels for namespace in objects.candidates("Namespace", name)]
    if queues and all(_refuses(queue, name, labels) for queue in queues for labels in namespaces or (None,)):
        message = f"ClusterQueue '{queues[0].name}' does not select namespace '{name}'"
        # People label namespaces by hand; only beside the queue the labels are all of them.
        is_certain = not namespaces or objects.misses("Namespace", name, resource)
        yield Finding(("spec", "clusterQueue"), message, is_certain=is_certain)


def _refuses(queue: Resource, name: str, labels: dict[str, str] | None) -> bool:
    """Tell whether a ClusterQueue excludes a namespace; `labels` are None if they are not known."""
    selector = at(queue.data, "spec", "namespaceSelector")
    return isinstance(selector, dict) and _selects(selector, name, labels) is False


@rule("REF132", QUEUED_KINDS, "warning")
def _namespace_unwritten(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare namespaces in a scope, where an overlay or kubectl may still set a missing namespace."""
    name, namespace = resource.labels.get(QUEUE, ""), resource.namespace
    queues = () if objects.is_cluster else objects.candidates("LocalQueue", name, namespace, resource.file)

    known = (*queues, *objects.widest.candidates("LocalQueue", name, namespace))
    is_own = (may_be(queue.namespace or "default", namespace or "default") for queue in known)
    if queues and not any(is_own):
        theirs = f"is in namespace '{queues[0].namespace}'" if queues[0].namespace else "has no namespace"
        own = f"is in '{namespace}'" if namespace else "has none"
        message = f"LocalQueue '{name}' {theirs}, but the {resource.kind} {own}"
        yield Finding(("metadata",), message)


@rule("KQ172", {"ClusterQueue", "LocalQueue"} | QUEUED_KINDS, "warning")
def held(resource: Resource, objects: ObjectSet) -> Findings:
    """Find queues that admit nothing although runs wait in them; for a TPUCluster, the runs."""
    if resource.kind in QUEUED_KINDS:
        for policy in _declared_policies(resource, objects):
            if policy in _STOPS:
                message = f"stopPolicy {policy} of its queue admits no run"
                yield Finding(("metadata", "labels", QUEUE), message)
        return
    policy = text(at(resource.data, "spec", "stopPolicy"))
    if policy not in _STOPS:
        return
    own = [resource]
    if resource.kind == "ClusterQueue":
        of_queue = objects.of_kind("LocalQueue")
        own = [local for local in of_queue if at(local.data, "spec", "clusterQueue") == resource.name]
    places = {(local.namespace or "default", local.name) for local in own}
    waiting = [
        other.name
        for other in objects.all
        if other.kind in QUEUED_KINDS and (other.namespace or "default", other.labels.get(QUEUE)) in places
    ]
    if waiting:
        ends = ", and evicts those that run" if policy == "HoldAndDrain" else ""
        message = f"stopPolicy {policy} admits no run of this queue{ends}: {first_of(waiting, _MOST)}"
        yield Finding(("spec", "stopPolicy"), message)


def _declared_policies(run: Resource, objects: ObjectSet) -> Iterator[str]:
    """Yield the stopPolicy of the queues of a run in the file of an existing cluster."""
    site, place = objects.site, (run.namespace or "default", run.labels.get(QUEUE))
    if site is None or not quota_read.quotas(objects).declared:
        return
    for queue in site.cluster.spec.get("clusterQueues", ()):
        for local in queue.get("localQueues", ()):
            if (local.get("namespace", "default"), local["name"]) == place:
                yield from (text(entry.get("stopPolicy")) for entry in (local, queue))


def _integration(resource: Resource) -> str:
    """Return Kueue's name of the integration that manages a kind (pkg/controller/jobs of v0.19.2)."""
    if resource.kind == "PathwaysJob":
        return _PATHWAYS
    name = resource.kind.lower()
    return f"{resource.group}/{name}" if "." in resource.group or resource.group == "batch" else name


def _handles(resource: Resource, objects: ObjectSet) -> bool:
    """Tell whether Kueue may manage a kind: also true if no Configuration lists integrations."""
    settings = mapping(quota_read.configuration(objects).get("integrations"))
    known = {name for _, name in words(settings.get("frameworks"))}
    others = {name.lower() for _, name in words(settings.get("externalFrameworks"))}
    own = f"{resource.kind}.{resource.version}.{resource.group}".lower()
    return not known or _integration(resource) in known or own in others


def _keeps_without_queue(resource: Resource, objects: ObjectSet) -> bool:
    """Tell whether Kueue suspends a job because it has no queue: manageJobsWithoutQueueName."""
    settings = quota_read.configuration(objects)
    if settings.get("manageJobsWithoutQueueName") is not True or not _handles(resource, objects):
        return False
    name, selector = resource.namespace or "default", settings.get("managedJobsNamespaceSelector")
    if not isinstance(selector, dict):
        return name not in _NOT_MANAGED
    known = [namespace.labels for namespace in objects.candidates("Namespace", name)]
    return all(_selects(selector, name, labels) for labels in known or (None,))


def _selects(selector: dict[str, Any], name: str, labels: dict[str, str] | None) -> bool | None:
    """Tell whether a selector selects a namespace; None if that depends on unknown labels."""
    own = {**(labels or {}), NAMESPACE_NAME: name}
    selected = texts(selector.get("matchLabels"))
    expressions = [requirement(expression) for _, expression in entries(at(selector, "matchExpressions"))]
    keys = {*selected, *(expression.key for expression in expressions)}
    if labels is None and not keys <= {NAMESPACE_NAME}:
        return None
    return selected.items() <= own.items() and all(
        expression.accepts(own.get(expression.key)) for expression in expressions
    )
