"""What stands against a workload: fields that exclude each other, and shapes that cannot do what it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.problem import Path, Problem, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.workload import Workload

NOT_YET = {
    "rehearsal": "`slicewright rehearse` does not exist in this version",
}
"""Fields of the format that nothing acts on yet; to accept them would be to promise what is not done."""


def fields(workload: Workload) -> Iterator[Problem]:
    """Yield a problem for each field that has no meaning beside the others."""
    source, api = workload.source, workload.api
    spec = workload.spec

    def refuse(path: Path, message: str, hint: str) -> Problem:
        return source.problem("FIELD001", path, message, hint, key=True)

    for field, reason in NOT_YET.items():
        if field in spec:
            hint = "leave the field out until then"
            yield source.problem(
                "FIELD002", ("spec", field), f"'{field}' has no effect: {reason}", hint, key=True
            )
    if api == "PathwaysJob" and workload.pathways is None:
        yield refuse(("spec", "api"), "a PathwaysJob needs a pathways block", "add spec.pathways.pathwaysDir")
    if api == "Job":
        yield from _job_fields(workload)
    if workload.pathways is None:
        if not _has_image(workload):
            hint = "add spec.container.image, or a container with an image to spec.podTemplate"
            yield refuse(("spec",), "nothing to run: no container has an image", hint)
    else:
        yield from _pathways_fields(workload)
    if api == "PathwaysJob":
        yield from _pathwaysjob_fields(workload)
    if workload.max_execution_time_seconds is not None and not workload.queue_name:
        hint = "add spec.queueName: Kueue enforces the limit"
        yield refuse(("spec", "maxExecutionTimeSeconds"), "maxExecutionTimeSeconds needs a queue", hint)
    yield from _failure_rules(workload)
    yield from _auxiliary_names(workload)
    if workload.failure_policy.on_host_maintenance is not None:
        yield from _maintenance(workload)


def _job_fields(workload: Workload) -> Iterator[Problem]:
    spec, source = workload.spec, workload.source
    for field in ("pathways", "auxiliaryJobs"):
        if field in spec:
            hint = "write api: JobSet"
            yield source.problem("FIELD001", ("spec", field), f"a Job has no {field}", hint, key=True)
    if workload.slices > 1:
        message = f"a Job runs one slice, not {workload.slices}"
        yield source.problem("FIELD001", ("spec", "slices"), message, "write api: JobSet")
    for field in ("maxRestarts", "restartStrategy", "rules"):
        if field in spec.get("failurePolicy", {}):
            path: Path = ("spec", "failurePolicy", field)
            hint = "write api: JobSet, or use spec.backoffLimit"
            yield source.problem("FIELD001", path, f"a Job has no failurePolicy.{field}", hint, key=True)


def _has_image(workload: Workload) -> bool:
    containers = workload.pod_template.get("spec", {}).get("containers", [])
    return "image" in workload.container or any("image" in item for item in containers)


def _pathways_fields(workload: Workload) -> Iterator[Problem]:
    runtime, source, spec = workload.pathways, workload.source, workload.spec
    if runtime is None:  # pragma: no cover - asked by the caller, told to the type checker
        return
    head = runtime.head.pod_template.get("spec", {}).get("containers", [])
    programs = "image" in workload.container or any("image" in item for item in head)
    if runtime.headless and (workload.container or head):
        hint = "leave the container out, or headless"
        message = "a headless Pathways run has no container of its own: users connect from outside"
        yield source.problem("FIELD001", ("spec", "pathways", "headless"), message, hint)
    if not runtime.headless and not programs:
        hint = "add spec.container.image, or write pathways.headless: true"
        yield source.problem("FIELD001", ("spec",), "nothing to run: the head has no container", hint)
    if runtime.elastic_slices >= workload.slices and runtime.elastic_slices:
        message = f"{runtime.elastic_slices} elastic slices of {workload.slices} would leave none"
        hint = f"write a number below {workload.slices}"
        yield source.problem("FIELD001", ("spec", "pathways", "elasticSlices"), message, hint)
    if runtime.deployment_mode != "default" and runtime.head.pool:
        message = "a head that runs beside the workers has no pool of its own"
        hint = "leave head.pool out, or write deploymentMode: default"
        yield source.problem("FIELD001", ("spec", "pathways", "head", "pool"), message, hint)
    if runtime.headless and workload.gcs_fuse:
        message = "a headless Pathways run has no container to mount a bucket into"
        yield source.problem("FIELD001", ("spec", "gcsFuse"), message, "leave gcsFuse out", key=True)
    named = workload.container.get("name", runtime.main_container_name)
    if "mainContainerName" in spec["pathways"] and named != runtime.main_container_name:
        message = f"the container is called '{named}' here and '{runtime.main_container_name}' there"
        path: Path = ("spec", "pathways", "mainContainerName")
        yield source.problem("FIELD001", path, message, "give the name in one place only")
    for field in ("auxiliaryJobs", "backoffLimit"):
        if field in spec:
            message = f"a Pathways run has no {field}"
            hint = "use pathways.maxSliceRestarts" if field == "backoffLimit" else "use a workload of its own"
            yield source.problem("FIELD001", ("spec", field), message, hint, key=True)


def _pathwaysjob_fields(workload: Workload) -> Iterator[Problem]:
    """A PathwaysJob's controller makes the pods: what its CRD cannot carry is refused."""
    spec, source = workload.spec, workload.source
    instead = {
        "podTemplate": "use pathways.worker and pathways.head.podTemplate, or api: JobSet",
        "hostNetwork": "leave it out: the controller always sets it",
        "privileged": "write api: JobSet",
    }
    for field, hint in instead.items():
        if field in spec:
            yield source.problem("FIELD001", ("spec", field), f"a PathwaysJob has no {field}", hint, key=True)
    for field in ("restartStrategy", "rules", "onHostMaintenance"):
        if field in spec.get("failurePolicy", {}):
            path: Path = ("spec", "failurePolicy", field)
            message = f"a PathwaysJob has no failurePolicy.{field}"
            yield source.problem("FIELD001", path, message, "write api: JobSet", key=True)


def _failure_rules(workload: Workload) -> Iterator[Problem]:
    known = {job.name for job in workload.auxiliary_jobs}
    known |= {"slice"} if workload.pathways is None else {"pathways-head", "worker"}
    names: set[str] = set()
    for index, rule in enumerate(workload.failure_policy.rules):
        path: Path = ("spec", "failurePolicy", "rules", index)
        for at, target in enumerate(rule.get("targetReplicatedJobs", [])):
            if target not in known:
                place = (*path, "targetReplicatedJobs", at)
                message = f"there is no replicatedJob '{target}'"
                yield workload.source.problem("FIELD001", place, message, did_you_mean(target, known))
        name = rule.get("name", f"failurePolicyRule{index}")
        if name in names:
            message = f"failure rule '{name}' comes twice"
            yield workload.source.problem("FIELD001", (*path, "name"), message, "give each rule its own name")
        names.add(name)


def _auxiliary_names(workload: Workload) -> Iterator[Problem]:
    taken = {"slice"}
    for index, job in enumerate(workload.auxiliary_jobs):
        if job.name in taken:
            path: Path = ("spec", "auxiliaryJobs", index, "name")
            message = f"replicatedJob '{job.name}' comes twice"
            yield workload.source.problem("FIELD001", path, message, "give each job its own name")
        taken.add(job.name)


def _maintenance(workload: Workload) -> Iterator[Problem]:
    """A podFailurePolicy needs restartPolicy Never (kubernetes/kubernetes#125677)."""
    if workload.pod_template.get("spec", {}).get("restartPolicy", "Never") != "Never":
        path: Path = ("spec", "podTemplate", "spec", "restartPolicy")
        message = "failurePolicy.onHostMaintenance needs restartPolicy: Never"
        yield workload.source.problem("FIELD001", path, message, "leave restartPolicy out")


def shape(workload: Workload, found: Shape) -> Iterator[Problem]:
    """Yield what the resolved shape cannot do."""
    source = workload.source
    label = f"{found.topology} on {found.machine_type}"
    if workload.slices > 1 and workload.pathways is None and not found.multislice:
        why = "is one host" if not found.multi_host else f"is {found.generation}"
        message = f"multislice joins multi-host slices, and {label} {why}"
        hint = "write slices: 1, or several workloads; or a topology of several hosts (not v3)"
        yield source.problem("TPU010", ("spec", "slices"), message, hint)
    if workload.pathways is None:
        return
    if found.pathways_instance_type is None:
        message = f"Pathways does not run on {label}"
        hint = "use a -4t or -8t machine type of v4, v5e, v5p, v6e or tpu7x"
        yield source.problem("TPU014", ("spec", "tpu"), message, hint)
