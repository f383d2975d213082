"""Validate a workload: fields that exclude each other, containers, time limits, what its shape cannot do."""

import math
from collections.abc import Iterator
from typing import Any

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import Shape
from slicewright.intent.reserved_fields import excluded
from slicewright.intent.tpuworkload import AS_JOBSET, DIRECT_JOBSET, ONE_SLICE, Workload, lacks
from slicewright.kubernetes.fields import at
from slicewright.kubernetes.name_room import MAX_LABEL
from slicewright.kubernetes.problem import Path, Problem, did_you_mean
from slicewright.kubernetes.quantity import seconds, without_days
from slicewright.rendering.plan.pathways_plan import RUNTIME, pathways_problems
from slicewright.rendering.plan.placement import FLEX_START_SECONDS, life_of
from slicewright.rendering.plan.plan import PATTERNS
from slicewright.rendering.plan.resilience import (
    UNCOUNTED,
    empty_ranges,
    resilience_problems,
    shared_memory_problems,
    survives_host_loss,
)
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, node_life
from slicewright.rendering.plan.ways import fits

FILES_VOLUME = "files"
"""Name of the volume of `files`."""
FUSE_VOLUME = "gcs-fuse-"
"""Prefix of the volumes of `gcsFuse`, before their number."""
SHARED_MEMORY = "shared-memory"
"""Name of the volume of `sharedMemory`."""
DEV_SHM = "/dev/shm"  # noqa: S108 - a path in pods
"""Where it is mounted."""
_PATHWAYS_JOB = "pathways-job"
"""Name in the catalogue of the topologies that PathwaysJob's controller knows."""
EXIT_CODES = "exitCodes"
"""Name of the failure rule of `failurePolicy.restartOnExitCodes`."""
MAX_INT32 = 2**31 - 1
"""The maximum of a count in the Kubernetes API."""
_DEADLINE = ("podTemplate", "spec", "activeDeadlineSeconds")


def share_of_chips(workload: Workload, shape: Shape) -> Iterator[Problem]:
    """Yield errors and warnings of containers that share the chips of a host."""
    count = workload.containers_per_host
    if count == 1:
        return
    path: Path = ("spec", "containersPerHost")
    chips, nodes = shape.chips_per_host, shape.machine.numa_nodes
    if chips % count:
        message = f"{count} containers cannot share the {chips} chips of a {shape.machine_type} evenly"
        hint = f"write a divisor of {chips}, or leave it out"
        yield workload.source.problem("POD003", path, message, hint)
    elif count != nodes:
        has = f"{nodes or 'an unknown number of'} NUMA node{'' if nodes == 1 else 's'}"
        message = f"{count} containers share a host of {shape.machine_type} with {has}"
        hint = "leave it out; GKE binds containers to NUMA nodes on tpu7x-standard-4t, which has two"
        yield workload.source.problem("POD004", path, message, hint, warning=True)


def _copies(workload: Workload, main: str) -> Iterator[Problem]:
    """Yield fields that cannot be used if a pod has several copies of the program's container."""
    count, path = workload.containers_per_host, ("spec", "containersPerHost")
    if count == 1:
        return
    taken = {item["name"] for item in workload.own_containers}
    for name in (f"{main}-{copy + 1}" for copy in range(count)):
        if name in taken:
            message = f"the pod would have two containers '{name}'"
            hint = "give your container another name"
            yield workload.source.problem("FIELD001", path, message, hint, key=True)
    if workload.pathways is not None:
        message, hint = "a Pathways worker has only one container", "leave containersPerHost out"
        yield workload.source.problem("FIELD001", path, message, hint, key=True)
    if len(f"{main}-{count}") > MAX_LABEL:
        message = f"container '{main}-{count}' would have a name of more than {MAX_LABEL} characters"
        yield workload.source.problem("FIELD001", path, message, f"shorten the name '{main}'", key=True)
    own = (item for item in workload.own_containers if item["name"] == main)
    ports = [port for item in (workload.container, *own) for port in item.get("ports", [])]
    if any(workload.host_network or port.get("hostPort") for port in ports):
        message = f"{count} containers cannot list the same ports of their host"
        on_host = "leave the ports out: with hostNetwork they need no entry"
        hint = on_host if workload.host_network else "leave hostPort out"
        yield workload.source.problem("FIELD001", path, message, hint, key=True)


def _pods(
    workload: Workload, main: str
) -> Iterator[tuple[Path, dict[str, Any], tuple[str, ...], tuple[str, ...]]]:
    """Yield each pod template with the containers and sidecars that slicewright adds to it."""
    head = workload.pathways.head.pod_template if workload.pathways else {}
    copies = [f"{main}-{copy + 1}" for copy in range(workload.containers_per_host)]
    program = () if workload.pathways else (main, *copies) if len(copies) > 1 else (main,)
    yield ("spec", "podTemplate"), workload.pod_template, program, ()
    if workload.pathways is not None and not workload.pathways.headless:
        yield ("spec", "pathways", "head", "podTemplate"), head, (main,), RUNTIME
    for index, job in enumerate(workload.auxiliary_jobs):
        yield ("spec", "auxiliaryJobs", index, "podTemplate"), job.pod_template, (), ()


def _names(
    workload: Workload,
    path: Path,
    template: dict[str, Any],
    containers: tuple[str, ...],
    sidecars: tuple[str, ...],
) -> Iterator[Problem]:
    spec = template.get("spec", {})
    taken = {*containers, *(item["name"] for item in spec.get("containers", []))}
    first = {*sidecars, *(item["name"] for item in spec.get("initContainers", []))}
    for name in sorted(taken & first):
        place = path if spec else ("spec", "container")
        message = f"the pod would have two containers '{name}'"
        yield workload.source.problem("FIELD001", place, message, "give one of them another name")


def _mounts(workload: Workload, main: str) -> Iterator[Problem]:
    template = workload.pathways.head.pod_template if workload.pathways else workload.pod_template
    spec = template.get("spec", {})
    containers = [workload.container, *(c for c in spec.get("containers", []) if c["name"] == main)]
    taken = {item["mountPath"] for container in containers for item in container.get("volumeMounts", [])}
    paths = {("spec", "files", index): file.mount_path for index, file in enumerate(workload.files)}
    paths |= {("spec", "gcsFuse", index): bucket.mount_path for index, bucket in enumerate(workload.gcs_fuse)}
    if workload.shared_memory and DEV_SHM in taken:
        message, hint = f"another volume is mounted at '{DEV_SHM}'", "leave sharedMemory out"
        yield workload.source.problem("FIELD001", ("spec", "sharedMemory"), message, hint, key=True)
    for place, path in paths.items():
        if path in taken:
            message, hint = f"another volume is mounted at '{path}'", "give each mount its own path"
            yield workload.source.problem("FIELD001", (*place, "mountPath"), message, hint)
        taken.add(path)
    for index, file in enumerate(workload.files):
        below = next((other for other in sorted(taken) if other.startswith(f"{file.mount_path}/")), "")
        if below:
            message = f"a file is mounted at '{file.mount_path}', so nothing can be mounted at '{below}'"
            hint = "a file has no folder below it: mount one of them elsewhere"
            yield workload.source.problem("FIELD001", ("spec", "files", index, "mountPath"), message, hint)
    ours = {f"{FUSE_VOLUME}{index}": "gcsFuse" for index in range(len(workload.gcs_fuse))}
    ours |= {FILES_VOLUME: "files"} if workload.files else {}
    ours |= {SHARED_MEMORY: "sharedMemory"} if workload.shared_memory else {}
    for volume in spec.get("volumes", []):
        if volume["name"] in ours:
            field = ours[volume["name"]]
            message = f"volume '{volume['name']}' has a name that {field} uses"
            hint = "give your volume another name"
            yield workload.source.problem("FIELD001", ("spec", field), message, hint, key=True)


def fields(workload: Workload) -> Iterator[Problem]:
    """Yield a problem for each field that has no meaning together with the others."""
    source = workload.source
    for kind, absent in lacks(workload.resolved_spec):
        yield from excluded(workload, kind, absent)
    if workload.cpu is not None and workload.api != "JobSet":
        message = f"a run on CPU nodes must be a JobSet, not a {workload.api}"
        yield source.problem("FIELD001", ("spec", "api"), message, "leave api out")
    if workload.cpu is None and workload.api in ONE_SLICE and workload.slices > 1:
        message = f"a {workload.api} runs one slice, not {workload.slices}"
        yield source.problem("FIELD001", ("spec", "slices"), message, AS_JOBSET)
    if workload.pathways is not None:
        yield from pathways_problems(workload, workload.pathways)
    elif not workload.has_image:
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
    main = workload.main_container
    for pod in _pods(workload, main):
        yield from _names(workload, *pod)
    yield from _mounts(workload, main)
    yield from _copies(workload, main)
    for field in ("onHostMaintenance", "restartOnExitCodes"):
        if field in workload.resolved_spec.get("failurePolicy", {}):
            yield from _pod_failures(workload, f"failurePolicy.{field}")
    if survives_host_loss(workload.resilience):
        yield from _pod_failures(workload, "resilience")
    yield from resilience_problems(workload)
    if "restartOnExitCodes" in workload.resolved_spec.get("failurePolicy", {}):
        yield from _exit_codes(workload)


def _nothing_to_run(workload: Workload) -> Problem:
    containers = workload.own_containers
    message = "nothing to run: no container has an image"
    hint = "add spec.container.image, or a container with an image to spec.podTemplate"
    if any("image" in item for item in containers):
        names = ", ".join(f"'{item['name']}'" for item in containers)
        message = f"it is not clear which container runs the program: {names}"
        hint = "describe it in spec.container, or call it 'main'"
    return workload.source.problem("FIELD001", ("spec",), message, hint)


def _alternatives(workload: Workload) -> Iterator[Problem]:
    """Yield the problems of alternativeProvisioning: no queue, a PathwaysJob, or a duplicate."""
    source, field = workload.source, "alternativeProvisioning"
    if not workload.queue_name:
        hint = "add spec.queueName: Kueue chooses one of them"
        yield source.problem("FIELD001", ("spec", field), f"{field} needs a queue", hint, key=True)
    if workload.api == "PathwaysJob":
        message = f"a PathwaysJob cannot have {field}: its workers tolerate no taints"
        yield source.problem("FIELD001", ("spec", field), message, DIRECT_JOBSET, key=True)
    for index, way in enumerate(workload.alternative_provisioning):
        if way in workload.ways[: index + 1]:
            message = f"duplicate provisioning {way.type}"
            yield source.problem("FIELD001", ("spec", field, index), message, "write each one once")


def _in_place(workload: Workload) -> Iterator[Problem]:
    """Yield a backoffLimit beside InPlaceRestart, which needs one value in every job of the JobSet."""
    paths: list[Path] = [("spec", "backoffLimit")] if workload.backoff_limit is not None else []
    paths += [
        ("spec", "auxiliaryJobs", index, "backoffLimit")
        for index, job in enumerate(workload.auxiliary_jobs)
        if job.backoff_limit is not None
    ]
    for path in paths:
        message = "restartStrategy: InPlaceRestart sets every backoffLimit itself"
        yield workload.source.problem("FIELD001", path, message, "leave it out", key=True)


def _failure_rules(workload: Workload) -> Iterator[Problem]:
    known = {job.name for job in workload.auxiliary_jobs}
    known |= {_program_job(workload)} if workload.pathways is None else {"pathways-head", "worker"}
    # The rule of the host-maintenance component comes first, and unnamed rules are called after their place.
    names = {"hostMaintenance"} if workload.failure_policy.on_host_maintenance else set()
    first = len(names)
    names |= {UNCOUNTED} if workload.resilience else set()
    names |= {EXIT_CODES} if workload.failure_policy.restart_on_exit_codes else set()
    for index, rule in enumerate(workload.failure_policy.rules):
        path: Path = ("spec", "failurePolicy", "rules", index)
        for number, target in enumerate(rule.get("targetReplicatedJobs", [])):
            if target not in known:
                place = (*path, "targetReplicatedJobs", number)
                message = f"replicatedJob '{target}' is not defined"
                yield workload.source.problem("FIELD001", place, message, did_you_mean(target, known))
        name = rule.get("name", f"failurePolicyRule{first + index}")
        if name in names:
            message = f"duplicate failure rule '{name}'"
            yield workload.source.problem("FIELD001", (*path, "name"), message, "give each rule its own name")
        names.add(name)


def _program_job(workload: Workload) -> str:
    return PATTERNS["jobset" if workload.cpu is None else "cpu"].job


def _auxiliary_jobs(workload: Workload) -> Iterator[Problem]:
    ours = _program_job(workload)
    taken = {ours}
    for index, job in enumerate(workload.auxiliary_jobs):
        path: Path = ("spec", "auxiliaryJobs", index)
        if job.name in taken:
            message = f"duplicate replicatedJob '{job.name}'"
            hint = f"give each job its own name; '{ours}' runs the program"
            yield workload.source.problem("FIELD001", (*path, "name"), message, hint)
        taken.add(job.name)
        containers = job.pod_template.get("spec", {}).get("containers", [])
        # A component may bring the job along; then its containers are not for us to judge.
        if not workload.components and not any("image" in item for item in containers):
            message = f"auxiliary job '{job.name}' has nothing to run: no container has an image"
            hint = "add podTemplate.spec.containers with a name and an image"
            yield workload.source.problem("FIELD001", path, message, hint)


def _pod_failures(workload: Workload, field: str) -> Iterator[Problem]:
    """Yield a restartPolicy other than Never with a podFailurePolicy (kubernetes/kubernetes#125677)."""
    path: Path = ("spec", "podTemplate", "spec", "restartPolicy")
    template = workload.pod_template
    if field != "failurePolicy.onHostMaintenance" and workload.pathways is not None:
        path = ("spec", "pathways", "head", "podTemplate", "spec", "restartPolicy")
        template = workload.pathways.head.pod_template
    if template.get("spec", {}).get("restartPolicy", "Never") != "Never":
        message = f"{field} needs restartPolicy: Never"
        yield workload.source.problem("FIELD001", path, message, "leave restartPolicy out")


def _exit_codes(workload: Workload) -> Iterator[Problem]:
    """Yield why exit codes that restart a run would restart nothing."""
    path: Path = ("spec", "failurePolicy", "restartOnExitCodes")
    yield from empty_ranges(workload, "failurePolicy", "restartOnExitCodes")
    job = workload.api == "Job"
    if not (workload.backoff_limit if job else workload.failure_policy.max_restarts):
        limit = "spec.backoffLimit" if job else "failurePolicy.maxRestarts"
        message = f"restartOnExitCodes restarts nothing: {limit} is 0"
        yield workload.source.problem("FIELD001", path, message, f"write {limit} of 1 or more", key=True)


def shape(workload: Workload, resolved: Shape, catalogue: Catalogue) -> Iterator[Problem]:
    """Yield what the resolved shape cannot do."""
    source, generation = workload.source, catalogue.generations[resolved.generation]
    label = f"{resolved.topology} on {resolved.machine_type}"
    yield from share_of_chips(workload, resolved)
    yield from shared_memory_problems(workload, resolved)
    if workload.slices > 1 and workload.pathways is None and not resolved.multislice:
        why = f"{label} is one host"
        hint = "write slices: 1, or several workloads, or a topology of several hosts"
        if generation.multislice:
            why += "; GKE documents multislice for multi-host slices only"
        else:
            why = f"GKE has no multislice on {resolved.generation}"
            hint = "write slices: 1, or several workloads, or another generation"
        yield source.problem("TPU010", ("spec", "slices"), why, hint, warning=generation.multislice)
    if workload.pathways is None:
        return
    if resolved.pathways_instance_type is None:
        message = f"Pathways does not run on {label}"
        yield source.problem("TPU014", ("spec", "tpu"), message, catalogue.pathways_hint)
    elif workload.api == "PathwaysJob" and _PATHWAYS_JOB not in resolved.listed_by:
        message = f"the controller of PathwaysJob does not accept {label}"
        yield source.problem("TPU015", ("spec", "tpu"), message, DIRECT_JOBSET)
    restarts = workload.pathways.max_slice_restarts
    if restarts is not None and restarts * resolved.hosts > MAX_INT32:
        most = MAX_INT32 // resolved.hosts
        message = f"{restarts} restarts of {resolved.hosts} hosts exceed the number that a Job can count"
        path: Path = ("spec", "pathways", "maxSliceRestarts")
        yield source.problem("FIELD001", path, message, f"write {most} or less")


def time_limits(workload: Workload, shape: Shape, site: ResolvedCluster) -> Iterator[Problem]:
    """Yield a warning for each limit that ends the program of a workload too early."""
    block, policy, source = workload.spec.get("rehearsal", {}), workload.failure_policy, workload.source
    if "duration" not in block:
        return
    allowed, field, each = policy.max_restarts, "failurePolicy.maxRestarts", 1
    if workload.api == "Job":
        allowed, field, each = workload.backoff_limit or 0, "backoffLimit", shape.hosts
    path: Path = ("spec", *_DEADLINE)
    if workload.pathways is not None:
        allowed, path = MAX_INT32, ("spec", "pathways", "head", *_DEADLINE)
    whole = math.ceil(_attempts(block, math.inf)[1])
    deadline = at(source.data, *path)
    if deadline is not None and _attempts(block, deadline)[0] * each > allowed:
        message = f"the pods end after {deadline} s, but the program takes {whole} s"
        yield source.problem("JS147", path, message, f"write {whole} or more", warning=True)
    life, where = _life(workload, shape, site)
    again, takes = _attempts(block, life)
    hint = f"let it save checkpoints: write rehearsal.checkpointEvery, and enough {field}"
    hint = hint if again == math.inf else f"write {field}: {again * each:.0f}"
    message = f"the program takes {whole} s, but GKE deletes its nodes after {life:.0f} s"
    if workload.provisioning.type == "FlexStartQueued":
        allowed, hint = 0, "let it save checkpoints, and run it in parts with slicewright rerun"
        message += ", and Kueue then ends the run"
    elif policy.on_host_maintenance == "Restart" or survives_host_loss(workload.resilience):
        allowed = MAX_INT32
    if again * each > allowed:
        if whole <= FLEX_START_SECONDS[1] or not any(way.is_flex_start for way in workload.ways):
            hint = f"write maxRunDurationSeconds: {whole} or more {where}, or {hint}"
        yield source.problem("TPU173", ("spec", "rehearsal", "duration"), message, hint, warning=True)
        takes = whole
    limit = workload.max_execution_time_seconds
    if limit is not None and takes > limit:
        message = f"Kueue ends the run after {limit} s with all restarts, but the program takes {takes:.0f} s"
        hint = f"write {math.ceil(takes)} or more, and add time for the start of the pods and for restarts"
        yield source.problem("KQ173", ("spec", "maxExecutionTimeSeconds"), message, hint, warning=True)


def _attempts(block: dict[str, Any], limit: float) -> tuple[float, float]:
    """Return how often a program starts again if each attempt has `limit` seconds, and its whole time."""
    spans = (seconds(without_days(block.get(field, "0s"))) for field in ("duration", "checkpointEvery"))
    work, interval = (float(span or 0) for span in spans)
    startup = block.get("startupSeconds", 0)
    if startup + work <= limit:
        return 0, startup + work
    saved = max(0.0, limit - startup) // interval * interval if interval else 0.0
    again = math.ceil((startup + work - limit) / saved) if saved else math.inf
    return again, startup + work + again * (limit - saved)


def _life(workload: Workload, shape: Shape, site: ResolvedCluster) -> tuple[float, str]:
    """Return how long the nodes of a run live at most, and where this is written."""
    asked, lives = workload.max_run_duration_seconds, [(0.0, "")]
    for way in workload.ways:
        if way.type == "FlexStartQueued" or (site.cluster.mode == "Autopilot" and way.type != "ComputeClass"):
            lives.append((life_of(way, asked), "here"))
            continue
        for pool, has in site.pools:
            if has == shape and fits(way, pool.provisioning):
                of_class = pool.provisioning.type == "ComputeClass"
                where = f"ComputeClass '{way.name}'" if of_class else f"pool '{pool.name}'"
                here = "here and " if asked else ""
                lives.append((node_life(site, pool), f"{here}in {where} in {site.cluster.source.file.path}"))
    return max(lives) if len(lives) > 1 else (math.inf, "")
