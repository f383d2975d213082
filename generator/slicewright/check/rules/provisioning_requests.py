"""Rules of ProvisioningRequests: what GKE can provision for a queued run, and those that people write."""

from collections import Counter
from collections.abc import Iterator

from slicewright.catalogue.shape import Shape
from slicewright.check.rules.fit import LABEL, Asked, asked
from slicewright.check.rules.kueue_queues import queued_flavors
from slicewright.check.rules.tpu_shape import of_labels, shape
from slicewright.document import edit as edits
from slicewright.kubernetes.fields import at, entries, number, sequence, text
from slicewright.kubernetes.kinds import NAMESPACED_KINDS, POD_KINDS, QUEUED_KINDS
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    PROVISIONING_REQUEST_DURATION,
    QUEUE,
    QUEUED_CLASS,
    TOPOLOGY,
    TPU,
)
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path, counted, did_you_mean
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_REQUEST = "ProvisioningRequest"
_CONSUME = "consume-provisioning-request"
_CLASS = "provisioning-class-name"
_PREFIXES = ("autoscaling.x-k8s.io/", "cluster-autoscaler.kubernetes.io/")
"""Prefixes of both annotations; the second one is deprecated."""


@rule(
    "KQ164",
    QUEUED_KINDS,
    hint="write a separate run for each slice, or use flex-start without a ProvisioningRequest "
    "(provisioning: FlexStart), which creates the slices one by one",
)
def one_node_pool(resource: Resource, objects: ObjectSet) -> Findings:
    """Find queued runs that need more node pools than one ProvisioningRequest can get."""
    ask = asked(resource, objects)
    queued = queued_flavors(objects).get(ask.queue.name) if ask else None
    if ask is None or not queued:
        return
    choices = [choice.flavors for choice in ask.choices if TPU in choice.requests]
    requested = [name for flavors in choices for name in flavors if name in queued]
    chips = _chips(ask, objects)
    slices = sum(-(-chips[row] // row.chips) for row in chips if _is_node_pool(row, objects))
    if requested and slices > 1:
        is_certain = any(queued.issuperset(flavors) for flavors in choices if flavors)
        message = f"the run needs {counted(slices, 'slice')} of flavor '{requested[0]}', but GKE provisions "
        message += "a ProvisioningRequest in one node pool, which is one slice"
        yield Finding(_several(resource), message, is_certain=is_certain)


def _chips(ask: Asked, objects: ObjectSet) -> Counter[Shape]:
    """Return how many chips a run requests of slices of each shape."""
    chips: Counter[Shape] = Counter()
    for choice in ask.choices:
        if choice.flavors and TPU in choice.requests:
            # Without chips: the leader of a topology group, and a job of no replicas.
            for pods in (pods for pods in choice.pods if pods.requests.get(TPU)):
                flavor = ask.known.flavors.get(choice.flavors[0])
                labels = {**(flavor.labels if flavor else {}), **pods.nodes.fixed()}
                keys = (ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT)
                rows = of_labels(objects.catalogue, *(labels.get(key, "") for key in keys))
                each = pods.requests[TPU] / pods.count
                rows = [row for row in rows if row.chips_per_host == each] or rows
                chips.update({row: int(pods.requests[TPU]) for row in rows[:1]})
    return chips


def _is_node_pool(row: Shape, objects: ObjectSet) -> bool:
    """Tell whether each slice of a shape is one node pool.

    GKE can have many single hosts in a node pool, but slicewright creates one node pool for each slice.
    """
    cluster = objects.site.cluster if objects.site else None
    return row.multi_host or (cluster is not None and cluster.managed and cluster.mode == "Standard")


def _several(resource: Resource) -> Path:
    """Return the field that multiplies the slices, else the label of the queue."""
    paths = (pods.replicas_path for pods in resource.pods if pods.asks_for_tpu and pods.replicas > 1)
    return next(filter(None, paths), LABEL)


def _beside(kind: str, resource: Resource, objects: ObjectSet) -> list[Resource]:
    """Return the objects of a kind in the namespace of an object."""
    own = resource.namespace or "default"
    return [other for other in objects.of_kind(kind) if (other.namespace or "default") == own]


def _templates(
    request: Resource, objects: ObjectSet
) -> Iterator[tuple[Path, int, str, Pods | None, list[str]]]:
    """Yield (path, count, name of the PodTemplate, its pods, names of all) for each pod set of a request.

    If the name is wrong and only one PodTemplate exists, its pods are used.
    """
    known = _beside("PodTemplate", request, objects)
    names = [template.name for template in known]
    for index, pod_set in entries(at(request.data, "spec", "podSets")):
        name = text(at(pod_set, "podTemplateRef", "name"))
        meant = [template for template in known if template.name == name] or known
        pods = meant[0].pods[0] if len(meant) == 1 and meant[0].pods else None
        yield ("spec", "podSets", index), number(pod_set.get("count"), 0) or 0, name, pods, names


def _consumed(pods: Pods) -> str:
    """Return the name of the request that pods consume."""
    return next(
        (pods.annotations[key + _CONSUME] for key in _PREFIXES if key + _CONSUME in pods.annotations), ""
    )


@rule("REF168", {_REQUEST})
def _template(resource: Resource, objects: ObjectSet) -> Findings:
    for path, _, name, _, names in _templates(resource, objects):
        if name and name not in names and not objects.has("PodTemplate", name, resource.namespace):
            message = f"PodTemplate '{name}' is not defined in namespace '{resource.namespace or 'default'}'"
            hint = f"write name: {names[0]}" if len(names) == 1 else did_you_mean(name, names)
            is_certain = objects.is_cluster or any(
                other.file == resource.file for other in objects.of_kind("PodTemplate")
            )
            yield Finding((*path, "podTemplateRef", "name"), message, hint, is_certain=is_certain)


@rule("KQ168", {_REQUEST})
def _count(resource: Resource, objects: ObjectSet) -> Findings:
    sets = len(sequence(at(resource.data, "spec", "podSets")))
    if sets > 1 and at(resource.data, "spec", "provisioningClassName") == QUEUED_CLASS:
        hint = "write a request for each slice, with all of its hosts in one pod set"
        yield Finding(("spec", "podSets"), f"the request has {sets} pod sets, but GKE takes one", hint)
        return
    for path, count, _, pods, _ in _templates(resource, objects):
        row = shape(pods, objects) if pods else None
        if row is None or not row.multi_host or count in (0, row.hosts):
            continue
        message = f"the request is for {counted(count, 'node')}, but a slice of {row.topology} on "
        message += (
            f"{row.machine_type} has {counted(row.hosts, 'host')}, and GKE serves a request from one slice"
        )
        hint = f"write count: {row.hosts}"
        if count % row.hosts == 0 and count != row.chips:
            hint += ", and a request of its own for each further slice"
        fix = edits.write(resource.data, {(*path, "count"): row.hosts}, safe=count == row.chips)
        yield Finding((*path, "count"), message, hint, fix)


@rule("KQ170", NAMESPACED_KINDS, "warning")
def _consumer(resource: Resource, objects: ObjectSet) -> Findings:
    """Find pods for the nodes of a request that do not consume it, or consume one that does not exist."""
    requests = _beside(_REQUEST, resource, objects)
    if not requests:
        return
    known = [request.name for request in requests]
    for pods in resource.pods:
        path, name = (*pods.path, "metadata", "annotations"), _consumed(pods)
        if name and name not in known and not objects.has(_REQUEST, name, resource.namespace):
            key = next(prefix for prefix in _PREFIXES if prefix + _CONSUME in pods.annotations) + _CONSUME
            message = f"ProvisioningRequest '{name}' is not defined in this namespace"
            yield Finding((*path, key), message, did_you_mean(name, known) or f"write {key}: {known[0]}")
        first = next((other for other in objects.all if name and _consumes(other, name, resource)), resource)
        if first is not resource:
            message = f"ProvisioningRequest '{name}' is for one run, and {first.subject} consumes it too"
            yield Finding(path, message, "write a ProvisioningRequest for each run")
        if name or QUEUE in resource.labels or not pods.asks_for_tpu:
            continue
        for request in requests:
            if _is_for(request, pods, objects) and not _is_consumed(request, objects):
                kind = text(at(request.data, "spec", "provisioningClassName")) or QUEUED_CLASS
                annotations = {_PREFIXES[0] + _CONSUME: request.name, _PREFIXES[0] + _CLASS: kind}
                message = (
                    f"the pods do not consume ProvisioningRequest '{request.name}', which is for their nodes"
                )
                listed = ", ".join(f"{key}: {value}" for key, value in annotations.items())
                hint = f"annotate the pod template: annotations: {{{listed}}}"
                fix = edits.write(resource.data, {(*path, key): value for key, value in annotations.items()})
                yield Finding(pods.spec_path, message, hint, fix)
                break


def _is_for(request: Resource, pods: Pods, objects: ObjectSet) -> bool:
    """Tell whether a request is for nodes of the shape that pods select."""
    keys = (ACCELERATOR, TOPOLOGY)
    own = [pods.selector.get(key) for key in keys]
    return any(
        other is not None and own == [other.selector.get(key) for key in keys]
        for _, _, _, other, _ in _templates(request, objects)
    )


def _is_consumed(request: Resource, objects: ObjectSet) -> bool:
    """Tell whether pods of its namespace consume a request."""
    return any(_consumes(other, request.name, request) for other in objects.all)


def _consumes(resource: Resource, name: str, beside: Resource) -> bool:
    """Tell whether pods of a run in the namespace of another object consume a request."""
    is_near = (resource.namespace or "default") == (beside.namespace or "default")
    return (
        is_near
        and resource.kind in NAMESPACED_KINDS
        and any(_consumed(pods) == name for pods in resource.pods)
    )


def is_behind_request(resource: Resource, pods: Pods, objects: ObjectSet) -> bool:
    """Tell whether a ProvisioningRequest provisions the nodes of pods, be it Kueue's or a person's."""
    if resource.kind == "PodTemplate":
        return any(
            text(at(pod_set, "podTemplateRef", "name")) == resource.name
            for request in _beside(_REQUEST, resource, objects)
            for _, pod_set in entries(at(request.data, "spec", "podSets"))
        )
    if _consumed(pods) or PROVISIONING_REQUEST_DURATION in resource.annotations:
        return True
    ask = asked(resource, objects) if QUEUE in resource.labels else None
    queued = queued_flavors(objects).get(ask.queue.name) if ask else None
    if ask is None or not queued:
        return False
    own = [choice for choice in ask.choices if any(one.name == (pods.name or "main") for one in choice.pods)]
    return bool(own) and all(queued.issuperset(choice.flavors) for choice in own if choice.flavors)


@rule("KQ171", POD_KINDS)
def _ephemeral(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        for index, volume in entries(pods.spec.get("volumes")):
            if "ephemeral" in volume and is_behind_request(resource, pods, objects):
                message = (
                    f"volume '{text(volume.get('name'))}' gets its claim only when the pod exists, but the "
                )
                message += "nodes are requested before"
                hint = f"write {{name: {text(volume.get('name'))}, emptyDir: {{}}}}, or a claim that exists"
                yield Finding(
                    (*pods.spec_path, "volumes", index), message, hint, is_certain=objects.is_cluster
                )
