"""What Kueue refuses about jobs and Workloads, their names, labels and annotations, or never admits."""

import json
import re
from collections import defaultdict
from typing import Any

from slicewright.catalogue.shape import joined
from slicewright.check.rules.dns import is_domain_prefixed_path, is_label_key, is_subdomain
from slicewright.document import edit as edits
from slicewright.kubernetes import labels
from slicewright.kubernetes.fields import at, entries, mapping, number, texts
from slicewright.kubernetes.kinds import GROUP_OF, JOB_KINDS, KUEUE_GROUP, QUEUED_KINDS
from slicewright.kubernetes.labels import meant_key
from slicewright.kubernetes.name_room import MAX_LABEL
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import amount
from slicewright.kueue import quota_read
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.validate_workload import MAX_INT32

_JOBS = frozenset({"JobSet", "Job"})
_WHOLE = frozenset(kind for kind in QUEUED_KINDS if GROUP_OF[kind] not in ("", "apps"))
"""Kinds that Kueue queues as a whole; of a Deployment it can also queue each pod, by the label of the pod."""
FIXED = (f"{labels.PODSET}required-topology", f"{labels.PODSET}preferred-topology")
"""The annotations with a level for all pods."""
_FREE = f"{labels.PODSET}unconstrained-topology"
SLICE = f"{labels.PODSET}slice-required-topology"
LAYERS = f"{SLICE}-constraints"
_SLICE_SIZE = f"{labels.PODSET}slice-size"
_GROUP = f"{labels.PODSET}group-name"
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_BOOLEANS = _TRUE | {"0", "f", "F", "FALSE", "false", "False"}
_MOST_PODSETS = 18
_TRUE_OR_FALSE = 'write "true" or "false", or leave the annotation out'
_LEVEL = "write the nodeLabel of a level of the Topology"
_BOTH = "add the other annotation, or remove this one"
_SIZE = "write a number of pods from 1 to the pods of the job"
_GROUP_NAME = "write a name with a letter, such as leader-and-workers"
_NO_SLICES = "remove the podset-slice annotations, or the group"
_PAIR = "put two replicatedJobs into the group, one of them with a single pod"
_SAME = "write the same required or preferred topology on both pod sets"
"""Pod sets of a Workload in Kueue 0.19; 10 in 0.18, 8 before."""


def _integer(value: str) -> int | None:
    return int(value) if _INTEGER.fullmatch(value) else None


def _to_queued(resource: Resource) -> Path:
    """Return the path to what Kueue queues: the Jobs of a CronJob, else the object itself."""
    if resource.kind == "CronJob":
        return "spec", "jobTemplate"
    return ()


def queue_label(resource: Resource) -> tuple[Path, str | None]:
    """Return the path and the value of the queue label that Kueue reads: a CronJob has that of its Jobs."""
    path: Path = (*_to_queued(resource), "metadata", "labels", labels.QUEUE)
    name = at(resource.data, *path)
    return path, name if isinstance(name, str) else None


@rule("KQ131", QUEUED_KINDS | {"CronJob"})
def _queue_label(resource: Resource, _objects: ObjectSet) -> Findings:
    path, name = queue_label(resource)
    if name is not None and not is_subdomain(name):
        yield Finding(path, f"'{name}' is not a valid queue name")


@rule("KQ132", QUEUED_KINDS, "warning")
def _queue_annotation(resource: Resource, _objects: ObjectSet) -> Findings:
    for key in (labels.QUEUE, labels.PRIORITY_CLASS, labels.MAX_EXECUTION_TIME):
        if key in resource.annotations and key not in resource.labels:
            path = ("metadata", "annotations", key)
            yield Finding(path, f"{key} is an annotation, but Kueue reads the label")


@rule("KQ133", _WHOLE | {"CronJob", "RayCronJob"}, "warning")
def _misplaced(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.kind in ("CronJob", "RayCronJob"):
        yield from _of_schedule(resource)
        return
    is_queued = labels.QUEUE in resource.labels
    of_jobs = {
        pods.path: mapping(at(pods.job_metadata, "labels")) if resource.kind == "JobSet" else {}
        for pods in resource.pods
    }
    alone = [pods for pods in resource.pods if labels.QUEUE in of_jobs[pods.path] and not is_queued]
    for pods in resource.pods:
        places = {} if pods in alone else {pods.path[:4]: of_jobs[pods.path]}
        places[pods.path] = pods.labels
        if pods in alone:
            message = f"Kueue suspends each Job with {labels.QUEUE} alone, and JobSet resumes it, without end"
            yield Finding((*pods.path[:4], "metadata", "labels", labels.QUEUE), message)
        for path, own in places.items():
            for key in (labels.QUEUE, labels.PRIORITY_CLASS, labels.MAX_EXECUTION_TIME):
                if key in own and key not in resource.labels:
                    message = f"{key} is on the template, but Kueue reads it from the {resource.kind}"
                    hint = f'write {key}: "{own[key]}" in metadata.labels of the {resource.kind}'
                    yield Finding((*path, "metadata", "labels", key), message, hint)


def _of_schedule(resource: Resource) -> Findings:
    """Find a queue label that scheduled jobs do not get; a CronJob copies the labels of `jobTemplate`."""
    place: Path = ("spec", "jobTemplate", "metadata", "labels", labels.QUEUE)
    copies = resource.kind == "CronJob"
    if copies and at(resource.data, *place) is not None:
        return
    for path, holder, _ in resource.holders:
        for key in ("labels", "annotations"):
            queue = at(holder, key, labels.QUEUE)
            if queue is None:
                continue
            message = (
                f"the jobs of the {resource.kind} do not get {labels.QUEUE} from here, so Kueue does not "
            )
            message += "queue them"
            hint, fix = _NO_LABELS, None
            if copies:
                hint = f"write {labels.QUEUE}: {queue} in spec.jobTemplate.metadata.labels"
                fix = edits.write(resource.data, {place: queue})
            yield Finding((*path, key, labels.QUEUE), message, hint, fix)


_NO_LABELS = "name the LocalQueue of the namespace default: Kueue gives its label to jobs that have none"


@rule("KQ167", {"JobSet", "Job", "CronJob", "RayJob", "TrainJob"}, "warning")
def _suspended(resource: Resource, objects: ObjectSet) -> Findings:
    """Find suspended runs that nothing resumes; Kueue itself adds the label of a LocalQueue `default`."""
    path: Path = (*_to_queued(resource), "spec")
    spec = mapping(at(resource.data, *path))
    # KQ133 and KQ150 report labels that are misplaced or misspelt.
    written = [key for _, holder, _ in resource.holders for key in texts(holder.get("labels"))]
    keys = {*written, *map(meant_key, written)}
    uses_chips = resource.kind not in JOB_KINDS or any(pods.asks_for_tpu for pods in resource.pods)
    is_managed = spec.get("managedBy") or quota_read.configuration(objects).get("manageJobsWithoutQueueName")
    if spec.get("suspend") is not True or labels.QUEUE in keys or not uses_chips or is_managed:
        return
    queues = [
        queue.name
        for queue in objects.of_kind("LocalQueue")
        if (queue.namespace or "default") == (resource.namespace or "default")
    ]
    if "default" not in queues:
        hint = f"remove suspend, or add the label {labels.QUEUE}"
        hint += f" with a LocalQueue of the namespace: {joined(queues, 'or')}" if queues else ""
        message = "suspend is true, but no label names a queue, so nothing starts the run"
        yield Finding((*path, "suspend"), message, hint)


@rule("KQ134", _JOBS)
def _max_time(resource: Resource, _objects: ObjectSet) -> Findings:
    seconds = resource.labels.get(labels.MAX_EXECUTION_TIME)
    if seconds is not None and (_integer(seconds) or 0) <= 0:
        path = ("metadata", "labels", labels.MAX_EXECUTION_TIME)
        yield Finding(path, f"'{seconds}' is not a valid number of seconds")


@rule("KQ135", {"JobSet"})
def _elastic(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.annotations.get(labels.ELASTIC) == "true":
        yield Finding(("metadata", "annotations", labels.ELASTIC), "a JobSet cannot be elastic under Kueue")


@rule("KQ136", {"Job"})
def _partial(resource: Resource, _objects: ObjectSet) -> Findings:
    least, sync = (
        resource.annotations.get(labels.MIN_PARALLELISM),
        resource.annotations.get(labels.EQUAL_COMPLETIONS),
    )
    for pods in resource.pods:
        if least is not None and not 0 < (_integer(least) or 0) < pods.pods_per_job:
            path = ("metadata", "annotations", labels.MIN_PARALLELISM)
            allowed = f"a number from 1 to {pods.pods_per_job - 1}"
            yield Finding(
                path, f"'{least}' must be {allowed}", f"write {allowed}, or leave the annotation out"
            )
        path = ("metadata", "annotations", labels.EQUAL_COMPLETIONS)
        if sync is not None and sync not in _BOOLEANS:
            yield Finding(path, f"'{sync}' is neither true nor false", _TRUE_OR_FALSE)
        if sync in _TRUE and pods.job.get("completionMode") != "Indexed":
            yield Finding(
                path, "the Job must be Indexed for this annotation", "write completionMode: Indexed"
            )
        if sync in _TRUE and pods.parallelism != number(pods.job.get("completions"), 1):
            message = (
                f"completions must equal parallelism, because of the annotation {labels.EQUAL_COMPLETIONS}"
            )
            yield Finding(("spec", "completions"), message, "write the same number in both")


@rule("KQ137", _JOBS)
def _topology(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        modes = [key for key in (*FIXED, _FREE) if key in pods.annotations]
        base = (*pods.path, "metadata", "annotations")
        if len(modes) > 1:
            yield Finding(base, f"{' and '.join(modes)} exclude each other", "keep one of the annotations")
        for key in (*FIXED, SLICE):
            if key in pods.annotations and not is_label_key(pods.annotations[key]):
                yield Finding(
                    (*base, key), f"'{pods.annotations[key]}' is not a valid node label key", _LEVEL
                )
        free = pods.annotations.get(_FREE)
        if free is not None and free not in _BOOLEANS:
            yield Finding((*base, _FREE), f"'{free}' is neither true nor false", _TRUE_OR_FALSE)
        if (SLICE in pods.annotations) != (_SLICE_SIZE in pods.annotations):
            yield Finding(base, f"{SLICE} and {_SLICE_SIZE} must be set together", _BOTH)
        yield from _slice_size(pods, (*base, _SLICE_SIZE))


def _slice_size(pods: Pods, path: Path) -> Findings:
    annotation = pods.annotations.get(_SLICE_SIZE)
    size = _integer(annotation or "") or 0
    if annotation is not None and size < 1:
        yield Finding(path, f"'{annotation}' is not a valid size of a slice", _SIZE)
    elif size > pods.count:
        yield Finding(path, f"a slice of {size} pods is larger than the {pods.count} pods of the job", _SIZE)


@rule("KQ138", _JOBS)
def _slice_divides(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        size, count = _integer(pods.annotations.get(_SLICE_SIZE, "")), pods.count
        if size and 0 < size <= count and count % size:
            path = (*pods.path, "metadata", "annotations", _SLICE_SIZE)
            yield Finding(path, f"{count} pods cannot be divided into slices of {size} pods")


@rule("KQ139", {"JobSet"})
def _podset_groups(resource: Resource, _objects: ObjectSet) -> Findings:
    members: dict[str, list[Pods]] = defaultdict(list)
    for pods in resource.pods:
        name = pods.annotations.get(_GROUP)
        if name is None:
            continue
        members[name].append(pods)
        path = (*pods.path, "metadata", "annotations", _GROUP)
        if name.isascii() and name.isdigit():
            yield Finding(path, f"'{name}' is a number, not a valid group name", _GROUP_NAME)
        if SLICE in pods.annotations or _SLICE_SIZE in pods.annotations:
            yield Finding(path, "a group of pod sets cannot have slices", _NO_SLICES)
        if not any(key in pods.annotations for key in FIXED):
            yield Finding(path, "a group of pod sets needs a required or preferred topology", _SAME)
    for name, group in members.items():
        path = (*group[0].path, "metadata", "annotations", _GROUP)
        if len(group) != 2:  # noqa: PLR2004 - a leader and its workers
            yield Finding(path, f"group '{name}' must have two pod sets, not {len(group)}", _PAIR)
        elif all(pods.count != 1 for pods in group):
            yield Finding(path, f"one of the two pod sets of group '{name}' must have exactly one pod", _PAIR)
        elif len({tuple(pods.annotations.get(key) for key in FIXED) for pods in group}) > 1:
            yield Finding(path, f"the pod sets of group '{name}' request different topologies", _SAME)


@rule("KQ140", {"JobSet"})
def _too_many_podsets(resource: Resource, _objects: ObjectSet) -> Findings:
    if labels.QUEUE in resource.labels and len(resource.pods) > _MOST_PODSETS:
        message = f"the JobSet has {len(resource.pods)} replicatedJobs, but a Kueue Workload can have at most"
        yield Finding(("spec", "replicatedJobs"), f"{message} {_MOST_PODSETS} pod sets")


@rule("KQ141", _JOBS)
def _gates(resource: Resource, _objects: ObjectSet) -> Findings:
    gates = resource.annotations.get(labels.GATED_BY, "")
    seen: set[str] = set()
    if gates:
        for gate in map(str.strip, gates.split(",")):
            if gate in seen or len(gate) > MAX_LABEL or not is_domain_prefixed_path(gate):
                refusal = f"gate '{gate}' is not a domain with a path of at most 63 characters"
                message = f"duplicate gate '{gate}'" if gate in seen else refusal
                yield Finding(("metadata", "annotations", labels.GATED_BY), message)
            seen.add(gate)


@rule("KQ143", {"JobSet", "Job"})
def _prebuilt(resource: Resource, _objects: ObjectSet) -> Findings:
    # Kueue reads the annotation, and the label where there is none.
    place = "annotations" if resource.annotations.get(labels.PREBUILT) else "labels"
    name = at(resource.metadata, place, labels.PREBUILT)
    if isinstance(name, str) and not is_subdomain(name):
        yield Finding(("metadata", place, labels.PREBUILT), f"'{name}' is not a valid Workload name")


_NO_MINIMUM = "remove minCount, or the annotation elastic-job"


@rule("KQ145", {"Workload"})
def _workload(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.group != KUEUE_GROUP:
        return
    pod_sets: dict[Path, dict[str, Any]] = {
        ("spec", "podSets", index): pod_set
        for index, pod_set in entries(at(resource.data, "spec", "podSets"))
    }
    partial = [path for path, pod_set in pod_sets.items() if pod_set.get("minCount") is not None]
    if len(partial) > 1:
        yield Finding(
            (*partial[1], "minCount"),
            "a second pod set has minCount; only one may have it",
            "remove minCount from the other pod sets",
        )
    if partial and resource.annotations.get(labels.ELASTIC) == "true":
        yield Finding((*partial[0], "minCount"), "an elastic Workload cannot have minCount", _NO_MINIMUM)
    for pods in resource.pods:
        yield from _requests(pods)
    for path, pod_set in pod_sets.items():
        yield from _slices(mapping(pod_set.get("topologyRequest")), (*path, "topologyRequest"))


def _requests(pods: Pods) -> Findings:
    for place, holder in ((pods.spec_path, pods.spec), *pods.init_containers, *pods.containers):
        for kind in ("requests", "limits"):
            for resource, value in mapping(at(holder, "resources", kind)).items():
                where = (*place, "resources", kind, resource)
                if resource == "pods":
                    yield Finding(
                        where,
                        "the resource 'pods' is reserved for Kueue",
                        "remove 'pods' from requests and limits",
                    )
                if (amount(value) or 0) < 0:
                    yield Finding(where, f"{resource} is negative: {value}")


def _slices(request: dict[str, Any], path: Path) -> Findings:
    topology, size = request.get("podSetSliceRequiredTopology"), request.get("podSetSliceSize")
    if (topology is None) != (size is None):
        yield Finding(path, "podSetSliceRequiredTopology and podSetSliceSize must be set together")
    elif isinstance(size, int) and size < 1:
        yield Finding((*path, "podSetSliceSize"), f"{size} is not a valid size of a slice")


_MOST_LAYERS = 3

_Layer = tuple[str, int]
"""The node label of a layer, and how many pods are together in it."""


@rule("KQ142", {"JobSet", "Job"})
def _topology_layers(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        annotation = pods.annotations.get(LAYERS)
        if annotation is None:
            continue
        path = (*pods.path, "metadata", "annotations", LAYERS)
        for key in (SLICE, _SLICE_SIZE, _GROUP):
            if key in pods.annotations:
                yield Finding(path, f"layers cannot be combined with {key}")
        layers = layers_of(annotation)
        if layers is None:
            yield Finding(path, "the layers are not a JSON list of {topology, size}")
        elif not 0 < len(layers) <= _MOST_LAYERS:
            yield Finding(path, f"the list has {len(layers)} layers, but must have 1 to {_MOST_LAYERS}")
        else:
            yield from _of_layers(layers, pods, path)


def _of_layers(layers: list[_Layer], pods: Pods, path: Path) -> Findings:
    count = pods.count
    if layers[0][1] > count:
        yield Finding(path, f"a layer of {layers[0][1]} pods is more than the {count} pods of the job")
    seen: set[str] = set()
    above = 0
    for topology, size in layers:
        if not is_label_key(topology):
            yield Finding(path, f"'{topology}' is not a valid node label key")
        if topology in seen:
            yield Finding(path, f"duplicate layer '{topology}'")
        if size < 1:
            yield Finding(path, f"{size} is not a valid size of a layer")
        elif above % size:
            message = f"the {above} pods of the layer above cannot be divided into layers of {size} pods"
            yield Finding(path, message)
        seen.add(topology)
        above = max(size, 0)


def layers_of(annotation: str) -> list[_Layer] | None:
    """Return the layers as Go reads them: what is missing is empty, and names are found in any case."""
    try:
        data = json.loads(annotation)
    except ValueError:
        return None
    layers = [_layer(entry) for entry in data or ()] if isinstance(data, list | None) else [None]
    return None if None in layers else [layer for layer in layers if layer is not None]


def _layer(entry: Any) -> _Layer | None:
    if not isinstance(entry, dict | None):
        return None
    named = {key.lower(): value for key, value in (entry or {}).items()}
    topology, size = named.get("topology", ""), named.get("size", 0)
    is_size = isinstance(size, int) and not isinstance(size, bool) and abs(size) <= MAX_INT32
    return (topology, size) if isinstance(topology, str) and is_size else None


@rule("KQ144", {"Job"})
def _elastic_job(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.annotations.get(labels.ELASTIC) != "true":
        return
    if labels.MIN_PARALLELISM in resource.annotations:
        path: Path = ("metadata", "annotations", labels.MIN_PARALLELISM)
        yield Finding(path, "an elastic Job cannot have partial admission")
    for pods in resource.pods:
        for key in FIXED:
            if key in pods.annotations:
                path = (*pods.path, "metadata", "annotations", key)
                yield Finding(path, "an elastic Job cannot have a required or preferred topology")
