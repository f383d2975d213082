"""Decide a run: one workload on one cluster becomes a Plan, or the problems that prevent it."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.resolve import Refusal, resolve
from slicewright.catalogue.shape import Shape, cpu_nodes, version_numbers
from slicewright.intent import reserved_fields
from slicewright.intent.tpucluster import Cluster
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes import name_room
from slicewright.kubernetes.labels import (
    ACKNOWLEDGED,
    MAX_EXECUTION_TIME,
    NODE_POOL,
    QUEUE,
    RUN,
    SWEEP,
    WORKLOAD,
)
from slicewright.kubernetes.problem import Path, Problem, counted, did_you_mean, errors
from slicewright.rendering.folder import id_of, intent_digest
from slicewright.rendering.plan import placement, validate_workload, validate_workload_pools
from slicewright.rendering.plan.pathways_plan import pathways_plan
from slicewright.rendering.plan.plan import PATTERNS, Auxiliary, Pattern, Plan, pattern_of
from slicewright.rendering.plan.resilience import retries_in_place
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, is_older, refusal_problem
from slicewright.rendering.plan.ways import apart, pool_topology, slice_topology, topology_problems

_FUSE_ON_HOST = (1, 33, 3)
"""The first version of GKE whose GCS FUSE driver can mount for pods on the host's network."""
_MESSAGE_PATTERNS = (0, 10, 0)
"""The first release of JobSet with `onJobFailureMessagePatterns`."""


class Decision(Struct, frozen=True):
    """The shape and the problems of a workload, which are the same on every cluster."""

    workload: Workload
    shape: Shape | None
    problems: tuple[Problem, ...]


def decide_shape(workload: Workload, catalogue: Catalogue) -> Decision:
    """Resolve a workload's TPU, and collect the problems that it has on every cluster."""
    answer = resolve(catalogue, workload.tpu) if workload.tpu else None
    shape = None if isinstance(answer, Refusal) else answer
    problems = [*reserved_fields.problems(workload), *validate_workload.fields(workload)]
    problems += placement.refusals(workload, shape)
    if isinstance(answer, Refusal):
        problems.append(refusal_problem(workload.source, ("spec", "tpu"), answer))
    elif shape is not None:
        problems += validate_workload.shape(workload, shape, catalogue)
    return Decision(workload, shape, tuple(problems))


def decide(decision: Decision, site: ResolvedCluster) -> tuple[Plan | None, tuple[Problem, ...]]:
    """Return the plan of a workload on a cluster and its problems there.

    There is no plan where the shape is unknown, or with an error among the problems.
    """
    workload, shape, cluster = decision.workload, decision.shape, site.cluster
    problems = [*_references(workload, cluster), *_exit_codes(workload, cluster)]
    if workload.cpu is not None:
        machines = {pool.name: pool.machine_type for pool in cluster.cpu_pools}
        shape = cpu_nodes(machines.get(workload.cpu.pool, ""), workload.cpu.nodes)
    if shape is None:
        return None, tuple(problems)
    accounted = with_account(workload, cluster)
    problems += account_problems(accounted, cluster)
    plan = _plan(accounted, shape, site)
    problems += name_problems(workload, plan)
    if workload.cpu is not None:
        problems += validate_workload_pools.cpu_problems(workload, workload.cpu, site)
    else:
        problems += validate_workload_pools.problems(workload, shape, site)
        problems += topology_problems(workload, shape, site)
    problems += validate_workload.time_limits(workload, shape, site)
    if errors(problems) or errors(decision.problems):
        return None, tuple(problems)
    return plan, tuple(problems)


def _plan(workload: Workload, shape: Shape, site: ResolvedCluster) -> Plan:
    cluster = site.cluster
    pattern = pattern_of(workload, shape)
    intent = intent_digest(workload.spec) if workload.naming == "Hashed" else ""
    run = id_of(intent)
    name = f"{workload.name}-{run}" if run else workload.name
    identity = dict(zip(reserved_fields.ENV, (workload.name, run), strict=True)) if run else {}
    standard = cluster.mode == "Standard"
    if workload.cpu is None:
        placed = placement.place(workload, shape, autopilot=not standard)
        by_topology = slice_topology(workload, shape, site)
    else:
        placed = placement.Placement({NODE_POOL: _node_pool(cluster, workload.cpu.pool)}, {}, "")
        by_topology = pool_topology(workload, workload.cpu.pool, site)
    head_pool = _head_pool(workload, cluster)
    refused = {"hostNetwork": workload.host_network, "privileged": workload.privileged}
    written = workload.annotations.items()
    # Those that ignore problems stay in the file of the workload.
    annotations = {key: value for key, value in written if not key.startswith(ACKNOWLEDGED)}
    return Plan(
        cluster=cluster.name,
        namespace=workload.namespace,
        workload=workload.name,
        intent=intent,
        run=run,
        name=name,
        pattern=pattern,
        components=tuple(_components(workload, pattern, placed.component, standard=standard)),
        shape=shape,
        slices=workload.slices,
        containers_per_host=workload.containers_per_host,
        backoff_limit=workload.backoff_limit or 0,
        failure_policy=workload.failure_policy,
        resilience=workload.resilience,
        retries=retries_in_place(workload),
        shared_memory=workload.shared_memory,
        exclusive_topology=not by_topology and _is_exclusive(workload, shape),
        topology_request=by_topology,
        labels=_labels(workload, run),
        annotations={**annotations, **placed.annotations},
        node_selector=placed.node_selector,
        apart=apart(workload, shape, site),
        env={**identity, **workload.matrix.get("env", {})},
        main_container=workload.main_container,
        container=workload.container,
        pod_template=workload.pod_template,
        gcs_fuse=workload.gcs_fuse,
        fuse_on_host=_fuses_on_host(workload, cluster),
        files=workload.files,
        on_change=workload.on_change,
        priority_class=workload.workload_priority_class_name,
        auxiliaries=tuple(
            Auxiliary(
                **asdict(job),
                node_pool=_node_pool(cluster, job.pool),
                topology_request=pool_topology(workload, job.pool, site),
            )
            for job in workload.auxiliary_jobs
        ),
        pathways=pathways_plan(
            workload, shape, name, _node_pool(cluster, head_pool), pool_topology(workload, head_pool, site)
        ),
        patches=workload.patches,
        left_out=() if standard else tuple(name for name, is_set in refused.items() if is_set),
    )


def _node_pool(cluster: Cluster, pool: str) -> str:
    """Return the GKE node pool behind a CPU pool's name; '' if it is not clear, which is an error then."""
    return next((cpu.node_pool_names[0] for cpu in cluster.cpu_pools if cpu.name == pool), "")


def _fuses_on_host(workload: Workload, cluster: Cluster) -> bool:
    """Tell whether the pods are on the network of the host, and the driver of the cluster can mount there.

    The controller of PathwaysJob puts all its pods there; Autopilot refuses it.
    """
    on_host = cluster.mode == "Standard" and (workload.host_network or workload.api == "PathwaysJob")
    return on_host and version_numbers(cluster.spec.get("gke", {}).get("version", "")) >= _FUSE_ON_HOST


def _is_exclusive(workload: Workload, shape: Shape) -> bool:
    """Tell whether each slice has to be kept on a node pool of its own: those that are joined, or have hosts.

    A slice is one node pool; independent slices of one host may share theirs.
    """
    multislice = workload.slices > 1 and workload.pathways is None
    return workload.cpu is None and (shape.multi_host or multislice)


def _head_pool(workload: Workload, cluster: Cluster) -> str:
    """Return where the head of Pathways runs: on the pool that it names, else on the only CPU pool.

    '' leaves it to the scheduler: the head shares the workers' hosts, selects its nodes itself, or has no
    pool or several to choose from.
    """
    runtime = workload.pathways
    if runtime is None or runtime.deployment_mode != "default":
        return ""
    if runtime.head.pool:
        return runtime.head.pool
    spec = runtime.head.pod_template.get("spec", {})
    names = [cpu.name for cpu in cluster.cpu_pools for _ in cpu.node_pool_names]
    return names[0] if len(names) == 1 and spec.keys().isdisjoint({"nodeSelector", "affinity"}) else ""


def _components(workload: Workload, pattern: Pattern, provisioning: str, *, standard: bool) -> Iterator[str]:
    variant = PATTERNS[pattern].variant
    runtime = workload.pathways
    direct = runtime if pattern in ("pathways", "pathways-headless") else None
    concerns = {
        "host-network": workload.host_network and standard,
        "privileged": workload.privileged and standard,
        provisioning: bool(provisioning),
        "priority": bool(workload.workload_priority_class_name),
        "gcs-fuse": bool(workload.gcs_fuse),
        "host-maintenance": workload.failure_policy.on_host_maintenance is not None,
        "colocated-python": direct is not None and bool(direct.colocated_python),
        "colocate-head": direct is not None and direct.deployment_mode != "default",
    }
    for concern, has_concern in concerns.items():
        if has_concern:
            # Every JobSet carries its priority in the same place, so they share a component.
            fits = "jobset" if concern == "priority" and variant in ("cpu", "pathways") else variant
            if concern == "host-maintenance" and direct is not None and direct.elastic_slices:
                fits += "-elastic" if workload.failure_policy.on_host_maintenance == "Restart" else ""
            yield f"bases/components/{concern}/{fits}"
    yield from workload.components


def _labels(workload: Workload, run: str) -> dict[str, str]:
    labels = {**workload.labels, WORKLOAD: workload.name}
    if workload.sweep:
        labels[SWEEP] = workload.sweep.name
    if run:
        labels[RUN] = run
    if workload.queue_name:
        labels[QUEUE] = workload.queue_name
    if workload.max_execution_time_seconds is not None:
        labels[MAX_EXECUTION_TIME] = str(workload.max_execution_time_seconds)
    return labels


def _references(workload: Workload, cluster: Cluster) -> Iterator[Problem]:
    """Yield problems of names in a workload that the cluster does not have."""
    source = workload.source
    queues = [queue.name for queue in cluster.local_queues if queue.namespace == workload.namespace]
    if workload.queue_name and cluster.has_queues and workload.queue_name not in queues:
        message = f"cluster '{cluster.name}' has no LocalQueue '{workload.queue_name}' "
        message += f"in namespace '{workload.namespace}'"
        hint = _elsewhere(workload, cluster) or did_you_mean(workload.queue_name, queues)
        hint = hint or f"add it to {cluster.source.file.path}"
        yield source.problem("REF002", ("spec", "queueName"), message, hint)
    priority = workload.workload_priority_class_name
    if priority and priority not in cluster.priority_classes:
        message = f"cluster '{cluster.name}' has no WorkloadPriorityClass '{priority}'"
        hint = did_you_mean(priority, cluster.priority_classes)
        yield source.problem("REF003", ("spec", "workloadPriorityClassName"), message, hint)
    if workload.cpu is not None:
        yield from _pool_reference(workload, cluster, workload.cpu.pool, ("spec", "cpu", "pool"))
    for index, job in enumerate(workload.auxiliary_jobs):
        yield from _pool_reference(workload, cluster, job.pool, ("spec", "auxiliaryJobs", index, "pool"))
    if workload.pathways is not None and workload.pathways.head.pool:
        path: Path = ("spec", "pathways", "head", "pool")
        yield from _pool_reference(workload, cluster, workload.pathways.head.pool, path)


def _exit_codes(workload: Workload, cluster: Cluster) -> Iterator[Problem]:
    """Yield the problem of restarts by exit code beside host maintenance, for JobSet before v0.10.0.

    Older releases see one reason for both: the end of a program, and the end of a host.
    """
    policy = workload.failure_policy
    both = policy.restart_on_exit_codes and policy.on_host_maintenance and workload.pathways is None
    if both and workload.api == "JobSet" and is_older(cluster, _MESSAGE_PATTERNS):
        message = "restartOnExitCodes beside onHostMaintenance needs JobSet v0.10.0 or newer"
        hint = f"leave one of them out, or upgrade JobSet in {cluster.source.file.path}"
        path: Path = ("spec", "failurePolicy", "restartOnExitCodes")
        yield workload.source.problem("FIELD002", path, message, hint, key=True)


def _elsewhere(workload: Workload, cluster: Cluster) -> str:
    """Return the hint to use a namespace that has a LocalQueue of this name; '' if none has it."""
    namespaces = {queue.namespace for queue in cluster.local_queues if queue.name == workload.queue_name}
    if not namespaces:
        return ""
    names = " or ".join(sorted(namespaces))
    return f"write metadata.namespace: {names}, or add the queue to {cluster.source.file.path}"


def _pool_reference(workload: Workload, cluster: Cluster, pool: str, path: Path) -> Iterator[Problem]:
    pools = {cpu.name: cpu for cpu in cluster.cpu_pools}
    if pool not in pools:
        message = f"cluster '{cluster.name}' has no CPU pool '{pool}'"
        hint = did_you_mean(pool, pools) or f"add it to spec.pools of {cluster.source.file.path}"
        yield workload.source.problem("REF004", path, message, hint)
    elif len(pools[pool].node_pool_names) != 1:
        message = f"CPU pool '{pool}' has several node pools, but a pod can select only one"
        yield workload.source.problem("REF004", path, message, "declare a CPU pool for each node pool")


_ACCOUNT_FIELD = "podTemplate.spec.serviceAccountName"


def with_account(workload: Workload, cluster: Cluster) -> Workload:
    """Return a workload whose pod templates name the service account of the namespace's team.

    A template that names one, `default` included, keeps it. The controller of PathwaysJob makes the workers'
    pods, and the head's too where it is headless: there is nothing to write an account into.
    """
    names = _team_accounts(workload, cluster)
    if len(names) != 1:
        return workload
    runtime, by_controller = workload.pathways, workload.api == "PathwaysJob"
    if runtime is not None and not (by_controller and runtime.headless):
        head = replace(runtime.head, pod_template=_template_with(runtime.head.pod_template, names[0]))
        runtime = replace(runtime, head=head)
    template = workload.pod_template if by_controller else _template_with(workload.pod_template, names[0])
    auxiliary = workload.auxiliary_jobs
    jobs = tuple(replace(job, pod_template=_template_with(job.pod_template, names[0])) for job in auxiliary)
    return replace(workload, pod_template=template, pathways=runtime, auxiliary_jobs=jobs)


def account_problems(workload: Workload, cluster: Cluster) -> Iterator[Problem]:
    """Yield warnings for pods that use a bucket, or that two accounts could be meant for, and name none.

    The workload has the account of its team.
    """
    source, names, runtime = workload.source, _team_accounts(workload, cluster), workload.pathways
    path: Path = ("spec", "podTemplate")
    template, fields = workload.pod_template, _ACCOUNT_FIELD
    if runtime is not None:
        path, template = ("spec", "pathways", "head", "podTemplate"), runtime.head.pod_template
        fields = f"{_ACCOUNT_FIELD} and " * (workload.api == "JobSet") + f"pathways.head.{_ACCOUNT_FIELD}"
    if _account(template):
        return
    if len(names) > 1:
        message = f"namespace '{workload.namespace}' has the service accounts {' and '.join(names)}, "
        message += "but the pods name none: they get 'default'"
        yield source.problem("TEAM011", path, message, f"write {fields}", warning=True)
        return
    buckets: list[tuple[Path, str]] = [
        (("spec", "gcsFuse", index, "bucket"), item.bucket) for index, item in enumerate(workload.gcs_fuse)
    ]
    if runtime is not None and workload.api == "JobSet" and not workload.host_network:
        buckets.append((("spec", "pathways", "pathwaysDir"), runtime.pathways_dir))
    for place, bucket in buckets:
        message = f"the pods have no service account, so they access '{bucket}' as service account 'default'"
        hint = f"write {fields}, or serviceAccountName of the namespace's team in {cluster.source.file.path}"
        hint += "; write 'default' if that account has the rights"
        yield source.problem("TEAM010", place, message, hint, warning=True)


def _team_accounts(workload: Workload, cluster: Cluster) -> list[str]:
    """Return the service accounts that teams of a workload's namespace have."""
    teams = (team for team in cluster.teams if team.namespace == workload.namespace)
    return list(dict.fromkeys(team.service_account_name for team in teams if team.service_account_name))


def _account(template: dict[str, Any]) -> str:
    spec = template.get("spec", {})
    return str(spec.get("serviceAccountName", spec.get("serviceAccount", "")))


def _template_with(template: dict[str, Any], account: str) -> dict[str, Any]:
    """Return a pod template with a service account, unless it names one."""
    if _account(template):
        return template
    return {**template, "spec": {**template.get("spec", {}), "serviceAccountName": account}}


def name_problems(workload: Workload, plan: Plan) -> Iterator[Problem]:
    """Yield a problem for a run whose name is longer than its controllers can take."""
    room = _room(plan)
    if len(plan.name) <= room.length:
        return
    left = room.length - (len(plan.name) - len(workload.name))
    has = counted(len(workload.name), "character")
    length = f"has {has}; the limit is {left}" if left > 0 else "leaves no room for the names of its pods"
    message = f"name '{workload.name}' {length}: {room.because}"
    hint = f"shorten it to {left} characters" if left > 0 else "shorten the name of the auxiliary job"
    if plan.run:
        hint += f" (the run's id '-{plan.run}' takes {len(plan.run) + 1})"
    yield workload.source.problem("NAME001", ("metadata", "name"), message, hint)


def _room(plan: Plan) -> name_room.Room:
    if plan.pattern == "pathwaysjob":
        return name_room.room_in_pathwaysjob()
    if plan.pattern in ("job", "indexed-job"):
        return name_room.room_in_job(plan.hosts)
    jobs = {auxiliary.name: (1, 1) for auxiliary in plan.auxiliaries}
    if plan.pathways is None:
        return name_room.room_in_jobset({PATTERNS[plan.pattern].job: (plan.slices, plan.hosts), **jobs})
    jobs |= {"worker": (plan.slices, plan.hosts), name_room.PATHWAYS_HEAD: (1, 1)}
    return name_room.room_in_jobset(jobs, coordinator_subdomain=plan.pathways.subdomain)
