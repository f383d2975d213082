"""What the generator owns in a pod and in an object's metadata, and the field to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.plan import placement
from slicewright.core.quantity import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.source import Source
    from slicewright.core.intent.workload import Workload
    from slicewright.core.problem import Path, Problem

TPU = "google.com/tpu"

_SELECTORS = {
    placement.ACCELERATOR: "spec.tpu",
    placement.TOPOLOGY: "spec.tpu",
    placement.ACCELERATOR_COUNT: "spec.tpu",
    placement.FLEX_START: "spec.provisioning: FlexStart",
    placement.SPOT: "spec.provisioning: Spot",
    placement.COMPUTE_CLASS: "spec.provisioning: {type: ComputeClass, name: ...}",
    f"{placement.RESERVATION}name": "spec.provisioning: {type: Reservation, name: ...}",
    placement.MAX_RUN_DURATION: "spec.maxRunDurationSeconds",
}
_POD_FIELDS = {
    "hostNetwork": "set spec.hostNetwork: it comes with the dnsPolicy that it needs",
    "subdomain": "leave it out: JobSet, or the headless Service of the run, sets it",
    "hostname": "leave it out: JobSet and the Job controller name the pods' hosts",
    "nodeName": "leave it out: the scheduler places the pods",
}
_LABELS = {
    "kueue.x-k8s.io/queue-name": "set spec.queueName",
    "kueue.x-k8s.io/priority-class": "set spec.workloadPriorityClassName",
    "kueue.x-k8s.io/max-exec-time-seconds": "set spec.maxExecutionTimeSeconds",
}
_ANNOTATIONS = {
    placement.PROVISIONING_REQUEST_DURATION: "set spec.maxRunDurationSeconds",
    "alpha.jobset.sigs.k8s.io/exclusive-topology": "leave it out: each slice gets a node pool of its own",
}
_OUR_PREFIX = "slicewright.dev/"


def in_workload(workload: Workload) -> Iterator[Problem]:
    """Yield a problem for each thing in a workload's own words that only the generator may set."""
    source = workload.source
    for field, taken in (("labels", _LABELS), ("annotations", _ANNOTATIONS)):
        for key in source.data["metadata"].get(field, {}):
            if key in taken or key.startswith(_OUR_PREFIX):
                hint = taken.get(key, "the prefix slicewright.dev/ is the generator's own")
                path: Path = ("metadata", field, key)
                yield source.problem("POD001", path, f"'{key}' cannot be set here", hint, key=True)
    yield from _in_container(source, workload.container, ("spec", "container"))
    yield from _in_template(source, workload.pod_template, ("spec", "podTemplate"))
    for index, job in enumerate(workload.auxiliary_jobs):
        yield from _in_template(source, job.pod_template, ("spec", "auxiliaryJobs", index, "podTemplate"))
    if workload.pathways is not None:
        path = ("spec", "pathways", "head", "podTemplate")
        yield from _in_template(source, workload.pathways.head.pod_template, path)


def _in_template(source: Source, template: dict[str, Any], path: Path) -> Iterator[Problem]:
    spec = template.get("spec", {})
    where = (*path, "spec")
    for key in spec.get("nodeSelector", {}):
        if key in _SELECTORS:
            hint = f"the node selector follows from {_SELECTORS[key]}"
            place = (*where, "nodeSelector", key)
            yield source.problem("POD001", place, f"'{key}' cannot be set here", hint, key=True)
    for field, hint in _POD_FIELDS.items():
        if field in spec:
            yield source.problem("POD001", (*where, field), f"'{field}' cannot be set here", hint, key=True)
    for name in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(name, [])):
            yield from _in_container(source, container, (*where, name, index))


def _in_container(source: Source, container: dict[str, Any], path: Path) -> Iterator[Problem]:
    for field in ("limits", "requests"):
        for name, value in container.get("resources", {}).get(field, {}).items():
            try:
                canonical(value)
            except ValueError as error:
                yield source.problem("POD002", (*path, "resources", field, name), str(error))
    for field in ("limits", "requests"):
        if TPU in container.get("resources", {}).get(field, {}):
            place = (*path, "resources", field, TPU)
            hint = "leave it out: spec.tpu says how many chips each host has"
            yield source.problem("POD001", place, f"'{TPU}' cannot be set here", hint, key=True)
