"""The fields of pods and metadata that slicewright sets itself, and the input field to use instead."""

from collections.abc import Iterator, Mapping

from slicewright.intent.source import Source
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes import labels
from slicewright.kubernetes.problem import Path, Problem
from slicewright.kubernetes.quantity import canonical
from slicewright.kubernetes.types import Object

_SELECTORS = {
    labels.ACCELERATOR: "spec.tpu",
    labels.TOPOLOGY: "spec.tpu",
    labels.ACCELERATOR_COUNT: "spec.tpu",
    labels.FLEX_START: "spec.provisioning: FlexStart",
    labels.SPOT: "spec.provisioning: Spot",
    labels.COMPUTE_CLASS: "spec.provisioning: {type: ComputeClass, name: ...}",
    f"{labels.RESERVATION}name": "spec.provisioning: {type: Reservation, name: ...}",
    f"{labels.RESERVATION}project": "spec.provisioning: {type: Reservation, project: ...}",
    f"{labels.RESERVATION}blocks": "spec.provisioning: {type: Reservation, block: ...}",
    f"{labels.RESERVATION}subblocks": "spec.provisioning: {type: Reservation, subBlock: ...}",
    labels.MAX_RUN_DURATION: "spec.maxRunDurationSeconds",
}
_POD_FIELDS = {
    "hostNetwork": "set spec.hostNetwork: it also sets the dnsPolicy that it needs",
    "subdomain": "leave it out: JobSet, or the headless Service of the run, sets it",
    "hostname": "leave it out: JobSet and the Job controller name the pods' hosts",
    "nodeName": "leave it out: the scheduler places the pods",
}
_LABELS = {
    labels.QUEUE: "set spec.queueName",
    labels.PRIORITY_CLASS: "set spec.workloadPriorityClassName",
    labels.MAX_EXECUTION_TIME: "set spec.maxExecutionTimeSeconds",
}
_ANNOTATIONS = {
    labels.PROVISIONING_REQUEST_DURATION: "set spec.maxRunDurationSeconds",
    labels.EXCLUSIVE_TOPOLOGY: "leave it out: each slice gets its own node pool",
}
_CHIPS = "leave it out: spec.tpu says how many chips each host has"
_PREFIXES = {"labels": (labels.OURS, labels.KUEUE), "annotations": (labels.OURS,)}
ENV = ("SLICEWRIGHT_WORKLOAD", "SLICEWRIGHT_RUN")
"""What a hashed run tells its pods: the name of the workload and the id of the run."""


def problems(workload: Workload) -> Iterator[Problem]:
    """Yield a problem for each field of a workload that only the generator may set."""
    source = workload.source
    yield from _in_metadata(source, source.data["metadata"], ("metadata",))
    for name in ENV:
        if name in workload.matrix.get("env", {}):
            hint = "choose another name: slicewright sets this variable in each run"
            yield _refused(source, ("spec", "matrix", "env", name), hint)
    yield from _in_container(source, workload.container, ("spec", "container"))
    yield from _in_template(source, workload.pod_template, ("spec", "podTemplate"))
    for index, job in enumerate(workload.auxiliary_jobs):
        path: Path = ("spec", "auxiliaryJobs", index, "podTemplate")
        yield from _in_template(source, job.pod_template, path, pool="the job's pool")
    if workload.pathways is not None:
        head, worker = workload.pathways.head, workload.pathways.worker
        path = ("spec", "pathways", "head", "podTemplate")
        yield from _in_template(source, head.pod_template, path, pool="head.pool" if head.pool else "")
        yield from _in_selector(source, worker.node_selector, ("spec", "pathways", "worker", "nodeSelector"))


def excluded(workload: Workload, kind: str, fields: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for each field below spec that is written and that a kind of run does not have.

    `fields` are dotted paths, each with what to do instead.
    """
    for field, hint in fields.items():
        *outer, name = field.split(".")
        holder = workload.resolved_spec.get(outer[0], {}) if outer else workload.resolved_spec
        if name in holder:
            path: Path = ("spec", *outer, name)
            yield workload.source.problem("FIELD001", path, f"a {kind} cannot have {field}", hint, key=True)


def _refused(source: Source, path: Path, hint: str) -> Problem:
    return source.problem("POD001", path, f"'{path[-1]}' cannot be set here", hint, key=True)


def _in_metadata(source: Source, metadata: Object, path: Path) -> Iterator[Problem]:
    for field, taken in (("labels", _LABELS), ("annotations", _ANNOTATIONS)):
        for key in metadata.get(field, {}):
            if key in taken:
                yield _refused(source, (*path, field, key), taken[key])
            elif key.startswith(labels.ACKNOWLEDGED) and path == ("metadata",) and field == "annotations":
                continue
            elif key.startswith(_PREFIXES[field]):
                prefix = key.partition("/")[0]
                hint = f"choose another prefix: {prefix}/ is reserved for slicewright"
                yield _refused(source, (*path, field, key), hint)


def _in_template(source: Source, template: Object, path: Path, *, pool: str = "") -> Iterator[Problem]:
    """Yield the reserved fields in a pod template; `pool` says which field selects the node pool."""
    spec, where = template.get("spec", {}), (*path, "spec")
    yield from _in_metadata(source, template.get("metadata", {}), (*path, "metadata"))
    yield from _in_selector(source, spec.get("nodeSelector", {}), (*where, "nodeSelector"))
    if pool and labels.NODE_POOL in spec.get("nodeSelector", {}):
        yield _refused(
            source,
            (*where, "nodeSelector", labels.NODE_POOL),
            f"leave it out: slicewright sets this node selector from {pool}",
        )
    for field, hint in _POD_FIELDS.items():
        if field in spec:
            yield _refused(source, (*where, field), hint)
    if labels.TPU in spec.get("overhead", {}):
        yield _refused(source, (*where, "overhead", labels.TPU), _CHIPS)
    yield from _in_container(source, spec, where)
    for name in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(name, [])):
            yield from _in_container(source, container, (*where, name, index))


def _in_selector(source: Source, selector: dict[str, str], path: Path) -> Iterator[Problem]:
    for key in selector:
        if key in _SELECTORS:
            yield _refused(
                source,
                (*path, key),
                f"leave it out: slicewright sets this node selector from {_SELECTORS[key]}",
            )


def _in_container(source: Source, container: Object, path: Path) -> Iterator[Problem]:
    own = source.data["spec"].get("matrix", {}).get("env", {})
    for index, variable in enumerate(container.get("env", [])):
        name = variable["name"]
        if name in ENV or name in own:
            hint = "leave it out, or remove it from the matrix, which sets it for each entry"
            if name in ENV:
                hint = "leave it out: hashed runs have it, and your own variables may refer to it"
            message = f"'{name}' cannot be set here"
            yield source.problem("POD001", (*path, "env", index, "name"), message, hint)
    for field in ("limits", "requests"):
        place = (*path, "resources", field)
        for name, value in container.get("resources", {}).get(field, {}).items():
            if name == labels.TPU:
                yield _refused(source, (*place, name), _CHIPS)
                continue
            try:
                canonical(value)
            except ValueError as error:
                yield source.problem("POD002", (*place, name), str(error))
