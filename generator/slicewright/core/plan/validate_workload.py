"""Validate a workload: fields that exclude each other, and shapes that cannot do what it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.plan import program, validate_containers, validate_pathways
from slicewright.core.problem import Path, Problem, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.generation import Generation
    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.workload import Workload

_PATHWAYS_JOB = "pathways-job"
"""What the catalogue calls the list of topologies in PathwaysJob's controller."""


EXIT_CODES = "exitCodes"
"""What the failure rule of `failurePolicy.restartOnExitCodes` is called."""
MAX_INT32 = 2**31 - 1
"""What the API server takes for a count."""


def fields(workload: Workload) -> Iterator[Problem]:
    """Yield a problem for each field that has no meaning beside the others."""
    source = workload.source
    if workload.api == "Job":
        yield from _job(workload)
    if workload.pathways is not None:
        yield from validate_pathways.fields(workload, workload.pathways)
    elif not program.has_image(workload):
        yield _nothing_to_run(workload)
    if workload.max_execution_time_seconds is not None and not workload.queue_name:
        path: Path = ("spec", "maxExecutionTimeSeconds")
        hint = "add spec.queueName: Kueue enforces the limit"
        yield source.problem("FIELD001", path, "maxExecutionTimeSeconds needs a queue", hint, key=True)
    if workload.alternative_provisioning:
        yield from _alternatives(workload)
    if workload.failure_policy.restart_strategy == "InPlaceRestart":
        yield from _in_place(workload)
    yield from _failure_rules(workload)
    yield from _auxiliary_jobs(workload)
    yield from validate_containers.fields(workload)
    for field in ("onHostMaintenance", "restartOnExitCodes"):
        if field in workload.spec.get("failurePolicy", {}):
            yield from _pod_failures(workload, field)
    if "restartOnExitCodes" in workload.spec.get("failurePolicy", {}):
        yield from _exit_codes(workload)


def _nothing_to_run(workload: Workload) -> Problem:
    written = program.own_containers(workload)
    message = "nothing to run: no container has an image"
    hint = "add spec.container.image, or a container with an image to spec.podTemplate"
    if any("image" in item for item in written):
        names = ", ".join(f"'{item['name']}'" for item in written)
        message = f"nothing says which container runs the program: {names}"
        hint = "describe it in spec.container, or call it 'main'"
    return workload.source.problem("FIELD001", ("spec",), message, hint)


def _job(workload: Workload) -> Iterator[Problem]:
    spec, source = workload.spec, workload.source
    for field in ("pathways", "auxiliaryJobs"):
        if field in spec:
            message = f"a Job has no {field}"
            yield source.problem("FIELD001", ("spec", field), message, "write api: JobSet", key=True)
    if workload.slices > 1:
        message = f"a Job runs one slice, not {workload.slices}"
        yield source.problem("FIELD001", ("spec", "slices"), message, "write api: JobSet")
    for field in ("maxRestarts", "restartStrategy", "rules"):
        if field in spec.get("failurePolicy", {}):
            path: Path = ("spec", "failurePolicy", field)
            hint = "write api: JobSet, or use spec.backoffLimit"
            yield source.problem("FIELD001", path, f"a Job has no failurePolicy.{field}", hint, key=True)


def _alternatives(workload: Workload) -> Iterator[Problem]:
    """Kueue chooses among the ways of a run, and pods have to tolerate the taints of their flavors."""
    source, field = workload.source, "alternativeProvisioning"
    if not workload.queue_name:
        hint = "add spec.queueName: Kueue chooses among the ways"
        yield source.problem("FIELD001", ("spec", field), f"{field} needs a queue", hint, key=True)
    if workload.api == "PathwaysJob":
        message = f"a PathwaysJob has no {field}: its workers tolerate nothing"
        hint = "write api: JobSet with the same pathways block"
        yield source.problem("FIELD001", ("spec", field), message, hint, key=True)
    for index, way in enumerate(workload.alternative_provisioning):
        if way in workload.ways[: index + 1]:
            message = f"the run may take {way.type} already"
            yield source.problem("FIELD001", ("spec", field, index), message, "name each way once")


def _in_place(workload: Workload) -> Iterator[Problem]:
    """JobSet's webhook asks for one backoffLimit in every job of a JobSet that restarts in place."""
    paths: list[Path] = [("spec", "backoffLimit")] if workload.backoff_limit is not None else []
    for index, job in enumerate(workload.auxiliary_jobs):
        if job.backoff_limit is not None:
            paths.append(("spec", "auxiliaryJobs", index, "backoffLimit"))
    for path in paths:
        message = "restartStrategy: InPlaceRestart sets every backoffLimit itself"
        yield workload.source.problem("FIELD001", path, message, "leave it out", key=True)


def _failure_rules(workload: Workload) -> Iterator[Problem]:
    known = {job.name for job in workload.auxiliary_jobs}
    known |= {"slice"} if workload.pathways is None else {"pathways-head", "worker"}
    # The rule of the host-maintenance component comes first, and unnamed rules are called after their place.
    names = {"hostMaintenance"} if workload.failure_policy.on_host_maintenance else set()
    first = len(names)
    names |= {EXIT_CODES} if workload.failure_policy.restart_on_exit_codes else set()
    for index, rule in enumerate(workload.failure_policy.rules):
        path: Path = ("spec", "failurePolicy", "rules", index)
        for at, target in enumerate(rule.get("targetReplicatedJobs", [])):
            if target not in known:
                place = (*path, "targetReplicatedJobs", at)
                message = f"there is no replicatedJob '{target}'"
                yield workload.source.problem("FIELD001", place, message, did_you_mean(target, known))
        name = rule.get("name", f"failurePolicyRule{first + index}")
        if name in names:
            message = f"failure rule '{name}' comes twice"
            yield workload.source.problem("FIELD001", (*path, "name"), message, "give each rule its own name")
        names.add(name)


def _auxiliary_jobs(workload: Workload) -> Iterator[Problem]:
    taken = {"slice"}
    for index, job in enumerate(workload.auxiliary_jobs):
        path: Path = ("spec", "auxiliaryJobs", index)
        if job.name in taken:
            message = f"replicatedJob '{job.name}' comes twice"
            yield workload.source.problem(
                "FIELD001", (*path, "name"), message, "give each job its own name; 'slice' is the TPU slices'"
            )
        taken.add(job.name)
        containers = job.pod_template.get("spec", {}).get("containers", [])
        # A component may bring the job along; then its containers are not for us to judge.
        if not workload.components and not any("image" in item for item in containers):
            message = f"auxiliary job '{job.name}' has nothing to run: no container has an image"
            hint = "add podTemplate.spec.containers with a name and an image"
            yield workload.source.problem("FIELD001", path, message, hint)


def _pod_failures(workload: Workload, field: str) -> Iterator[Problem]:
    """A podFailurePolicy needs restartPolicy Never (kubernetes/kubernetes#125677)."""
    path: Path = ("spec", "podTemplate", "spec", "restartPolicy")
    template = workload.pod_template
    if field == "restartOnExitCodes" and workload.pathways is not None:
        path = ("spec", "pathways", "head", "podTemplate", "spec", "restartPolicy")
        template = workload.pathways.head.pod_template
    if template.get("spec", {}).get("restartPolicy", "Never") != "Never":
        message = f"failurePolicy.{field} needs restartPolicy: Never"
        yield workload.source.problem("FIELD001", path, message, "leave restartPolicy out")


def _exit_codes(workload: Workload) -> Iterator[Problem]:
    """Yield why exit codes that restart a run would restart nothing."""
    path: Path = ("spec", "failurePolicy", "restartOnExitCodes")
    for index, entry in enumerate(workload.spec["failurePolicy"]["restartOnExitCodes"]):
        first, _, last = str(entry).partition("-")
        if int(first) > int(last or first):
            message = f"'{entry}' is an empty range"
            hint = f"write the smaller number first: {last}-{first}"
            yield workload.source.problem("FIELD001", (*path, index), message, hint)
    job = workload.api == "Job"
    if not (workload.backoff_limit if job else workload.failure_policy.max_restarts):
        limit = "spec.backoffLimit" if job else "failurePolicy.maxRestarts"
        message = f"restartOnExitCodes restarts nothing: {limit} is 0"
        yield workload.source.problem("FIELD001", path, message, f"write {limit} of 1 or more", key=True)


def shape(workload: Workload, found: Shape, generation: Generation) -> Iterator[Problem]:
    """Yield what the resolved shape cannot do."""
    source = workload.source
    label = f"{found.topology} on {found.machine_type}"
    yield from validate_containers.share_of_chips(workload, found)
    if workload.slices > 1 and workload.pathways is None and not found.multislice:
        why = f"{label} is one host"
        hint = "write slices: 1, or several workloads, or a topology of several hosts"
        if generation.multislice:
            why += "; GKE documents multislice for multi-host slices only"
        else:
            why = f"GKE has no multislice on {found.generation}"
            hint = "write slices: 1, or several workloads, or another generation"
        yield source.problem("TPU010", ("spec", "slices"), why, hint, warning=generation.multislice)
    if workload.pathways is None:
        return
    if found.pathways_instance_type is None:
        message = f"Pathways does not run on {label}"
        hint = "use a -4t or -8t machine type of v4, v5e, v5p, v6e or tpu7x"
        yield source.problem("TPU014", ("spec", "tpu"), message, hint)
    elif workload.api == "PathwaysJob" and _PATHWAYS_JOB not in found.listed_by:
        message = f"the controller of PathwaysJob does not accept {label}"
        hint = "write api: JobSet with the same pathways block"
        yield source.problem("TPU015", ("spec", "tpu"), message, hint)
    restarts = workload.pathways.max_slice_restarts
    if restarts is not None and restarts * found.hosts > MAX_INT32:
        most = MAX_INT32 // found.hosts
        message = f"{restarts} restarts of {found.hosts} hosts are more than a Job counts"
        path: Path = ("spec", "pathways", "maxSliceRestarts")
        yield source.problem("FIELD001", path, message, f"write {most} or less")
