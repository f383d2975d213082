"""What Kueue refuses about the labels and annotations of jobs, or never admits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.dns import is_domain_prefixed_path, is_label_key, is_subdomain
from slicewright.core.kubernetes.kinds import RUN_KINDS
from slicewright.core.kubernetes.labels import (
    ELASTIC,
    EQUAL_COMPLETIONS,
    GATED_BY,
    MAX_EXECUTION_TIME,
    MIN_PARALLELISM,
    PODSET,
    PRIORITY_CLASS,
    QUEUE,
)
from slicewright.core.kubernetes.read import number
from slicewright.core.plan.names import MAX_LABEL

if TYPE_CHECKING:
    from slicewright.core.kubernetes.pods import Pods
    from slicewright.core.problem import Path

_JOBS = frozenset({"JobSet", "Job"})
_TOPOLOGY = tuple(f"{PODSET}{mode}-topology" for mode in ("required", "preferred", "unconstrained"))
_SLICE = f"{PODSET}slice-required-topology"
_SLICE_SIZE = f"{PODSET}slice-size"
_GROUP = f"{PODSET}group-name"
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_BOOLEANS = frozenset({"1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"})
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_MOST_PODSETS = 18
"""Pod sets of a Workload in Kueue 0.19; 10 in 0.18, 8 before."""


def _integer(written: str) -> int | None:
    return int(written) if _INTEGER.fullmatch(written) else None


@rule("KQ131", _JOBS)
def _queue_label(resource: Resource, _objects: ObjectSet) -> Findings:
    name = resource.labels.get(QUEUE)
    if name is not None and not is_subdomain(name):
        path: Path = ("metadata", "labels", QUEUE)
        yield Finding(path, f"'{name}' is not a valid name of a queue")


@rule("KQ132", RUN_KINDS, "warning")
def _queue_annotation(resource: Resource, _objects: ObjectSet) -> Findings:
    for key in (QUEUE, PRIORITY_CLASS, MAX_EXECUTION_TIME):
        if key in resource.annotations and key not in resource.labels:
            path: Path = ("metadata", "annotations", key)
            yield Finding(path, f"{key} is an annotation, and Kueue reads the label")


@rule("KQ133", RUN_KINDS, "warning")
def _misplaced(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        for where, labels in (("template", pods.labels), ("job", pods.job_metadata.get("labels"))):
            if where == "job" and resource.kind != "JobSet":
                continue
            if isinstance(labels, dict) and QUEUE in labels and QUEUE not in resource.labels:
                base = (*pods.path, "metadata") if where == "template" else (*pods.path[:4], "metadata")
                message = f"{QUEUE} is on the template, and Kueue reads it from the {resource.kind}"
                yield Finding((*base, "labels", QUEUE), message)


@rule("KQ134", _JOBS)
def _max_time(resource: Resource, _objects: ObjectSet) -> Findings:
    written = resource.labels.get(MAX_EXECUTION_TIME)
    if written is not None and ((seconds := _integer(written)) is None or seconds <= 0):
        yield Finding(
            ("metadata", "labels", MAX_EXECUTION_TIME), f"'{written}' is not a valid number of seconds"
        )


@rule("KQ135", {"JobSet"})
def _elastic(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.annotations.get(ELASTIC) == "true":
        yield Finding(("metadata", "annotations", ELASTIC), "a JobSet cannot be elastic under Kueue")


@rule("KQ136", {"Job"})
def _partial(resource: Resource, _objects: ObjectSet) -> Findings:
    written = resource.annotations.get(MIN_PARALLELISM)
    for pods in resource.pods:
        if written is not None:
            least = _integer(written)
            if least is None or not 0 < least < pods.pods_per_job:
                path: Path = ("metadata", "annotations", MIN_PARALLELISM)
                yield Finding(path, f"'{written}' is not a number from 1 to {pods.pods_per_job - 1}")
        sync = resource.annotations.get(EQUAL_COMPLETIONS)
        if sync is None:
            continue
        path = ("metadata", "annotations", EQUAL_COMPLETIONS)
        if sync not in _BOOLEANS:
            yield Finding(path, f"'{sync}' is neither true nor false")
        elif sync in _TRUE:
            if pods.job.get("completionMode") != "Indexed":
                yield Finding(path, "the Job is not Indexed")
            if pods.parallelism != number(pods.job.get("completions"), 1):
                yield Finding(("spec", "completions"), "completions and parallelism differ")


def _podset_count(pods: Pods) -> int:
    return pods.replicas * pods.pods_per_job


@rule("KQ137", _JOBS)
def _topology(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        written = [key for key in _TOPOLOGY if key in pods.annotations]
        base = (*pods.path, "metadata", "annotations")
        if len(written) > 1:
            yield Finding(base, f"{' and '.join(written)} exclude each other")
        for key in (*_TOPOLOGY[:2], _SLICE):
            if key in pods.annotations and not is_label_key(pods.annotations[key]):
                yield Finding((*base, key), f"'{pods.annotations[key]}' is not a valid key of a node label")
        free = pods.annotations.get(_TOPOLOGY[2])
        if free is not None and free not in _BOOLEANS:
            yield Finding((*base, _TOPOLOGY[2]), f"'{free}' is neither true nor false")
        if (_SLICE in pods.annotations) != (_SLICE_SIZE in pods.annotations):
            yield Finding(base, f"{_SLICE} and {_SLICE_SIZE} must be set together")
        yield from _slice_size(pods, (*base, _SLICE_SIZE))


def _slice_size(pods: Pods, path: Path) -> Findings:
    written = pods.annotations.get(_SLICE_SIZE)
    if written is None:
        return
    size, count = _integer(written), _podset_count(pods)
    if size is None or size < 1:
        yield Finding(path, f"'{written}' is not a valid size of a slice")
    elif size > count:
        yield Finding(path, f"a slice of {size} pods is more than the {count} pods of the job")


@rule("KQ138", _JOBS)
def _slice_divides(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        size, count = _integer(pods.annotations.get(_SLICE_SIZE, "")), _podset_count(pods)
        if size and 0 < size <= count and count % size:
            path = (*pods.path, "metadata", "annotations", _SLICE_SIZE)
            yield Finding(path, f"slices of {size} pods do not divide {count} pods")


@rule("KQ139", {"JobSet"})
def _podset_groups(resource: Resource, _objects: ObjectSet) -> Findings:
    members: dict[str, list[Pods]] = {}
    for pods in resource.pods:
        name = pods.annotations.get(_GROUP)
        if name is None:
            continue
        members.setdefault(name, []).append(pods)
        path = (*pods.path, "metadata", "annotations", _GROUP)
        if name.isascii() and name.isdigit():
            yield Finding(path, f"'{name}' is a number, not a valid name of a group")
        if _SLICE in pods.annotations or _SLICE_SIZE in pods.annotations:
            yield Finding(path, "a group of pod sets has no slices")
        if not any(key in pods.annotations for key in _TOPOLOGY[:2]):
            yield Finding(path, "a group of pod sets needs a required or preferred topology")
    for name, group in members.items():
        path = (*group[0].path, "metadata", "annotations", _GROUP)
        pair = 2
        if len(group) != pair:
            yield Finding(path, f"group '{name}' must have two pod sets, not {len(group)}")
        elif all(_podset_count(pods) != 1 for pods in group):
            yield Finding(path, f"no pod set of group '{name}' is a single pod")
        elif len({tuple(pods.annotations.get(key) for key in _TOPOLOGY[:2]) for pods in group}) > 1:
            yield Finding(path, f"the pod sets of group '{name}' ask for different topologies")


@rule("KQ140", {"JobSet"})
def _too_many_podsets(resource: Resource, _objects: ObjectSet) -> Findings:
    if QUEUE in resource.labels and len(resource.pods) > _MOST_PODSETS:
        message = (
            f"{len(resource.pods)} replicatedJobs, and a Kueue Workload has {_MOST_PODSETS} pod sets at most"
        )
        yield Finding(("spec", "replicatedJobs"), message)


@rule("KQ141", _JOBS)
def _gates(resource: Resource, _objects: ObjectSet) -> Findings:
    written = resource.annotations.get(GATED_BY, "")
    seen: set[str] = set()
    for gate in (part.strip() for part in written.split(",")) if written else ():
        if gate in seen or len(gate) > MAX_LABEL or not is_domain_prefixed_path(gate):
            wrong = "is not a domain with a path of 63 characters at most"
            message = f"duplicate gate '{gate}'" if gate in seen else f"gate '{gate}' {wrong}"
            yield Finding(("metadata", "annotations", GATED_BY), message)
        seen.add(gate)
