"""Decide a run: one workload on one cluster becomes a Plan, or the problems that prevent it.

The numbers of the Pathways part are those of the PathwaysJob controller v0.1.4.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import asdict

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.resolve import Refusal, resolve
from slicewright.catalogue.shape import Shape, cpu_nodes, version_numbers
from slicewright.intent import reserved_fields
from slicewright.intent.tpucluster import Cluster
from slicewright.intent.tpuworkload import Pathways, Workload
from slicewright.kubernetes.labels import (
    ACKNOWLEDGED,
    MAX_EXECUTION_TIME,
    NODE_POOL,
    QUEUE,
    RUN,
    SWEEP,
    WORKLOAD,
)
from slicewright.kubernetes.name_room import subdomain
from slicewright.kubernetes.problem import Path, Problem, did_you_mean, errors
from slicewright.rendering.plan import accounts, names, placement, topology, validate_workload
from slicewright.rendering.plan import validate_workload_pools as validate_pools
from slicewright.rendering.plan.plan import Auxiliary, PathwaysPlan, Plan
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, is_older, refusal_problem
from slicewright.rendering.plan.run_pattern import PATTERNS, Pattern, pattern_of
from slicewright.rendering.plan.ways import apart
from slicewright.rendering.run.identity import id_of, intent_digest

_DEFAULT_TAG = "latest"
_RETRIES_A_HOST = 4
"""How often each worker host may fail before its slice does, without elastic slices."""
_FUSE_ON_HOST = (1, 33, 3)
"""The first version of GKE whose GCS FUSE driver can mount for pods on the host's network."""
SIDECAR_FLAG = "--sidecar_name"
"""What the proxy has to be told to use the sidecar beside each worker (apple/axlearn@34aed43c:
axlearn/cloud/gcp/pathways_utils.py#L632, AI-Hypercomputer/pathways-utils@8950a34: isc_pathways.py#L147)."""
_DEFAULT_SLICE_RESTARTS = 1
"""The default of `workers[].maxSliceRestarts` in the CRD of PathwaysJob."""
_MESSAGE_PATTERNS = (0, 10, 0)
"""The release of JobSet that brought `onJobFailureMessagePatterns`."""


def _pathways_plan(
    workload: Workload, shape: Shape, name: str, head_node_pool: str, head_topology_request: dict[str, str]
) -> PathwaysPlan | None:
    """Return the Pathways part of a workload's plan, None for a workload without Pathways."""
    runtime = workload.pathways
    if runtime is None:
        return None
    restarts = _DEFAULT_SLICE_RESTARTS if runtime.max_slice_restarts is None else runtime.max_slice_restarts
    elastic = runtime.elastic_slices > 0 and restarts > 0
    return PathwaysPlan(
        written=runtime,
        instance_type=shape.pathways_instance_type or "",
        image_tag=runtime.pathways_version or _DEFAULT_TAG,
        subdomain=subdomain(workload.namespace, name),
        max_slice_restarts=restarts,
        worker_backoff_limit=shape.hosts * (restarts if elastic else _RETRIES_A_HOST),
        colocate_head=runtime.deployment_mode == "colocate_head_with_workers",
        sidecar_flag=_sidecar_flag(runtime),
        head_node_pool=head_node_pool,
        head_topology_request=head_topology_request,
    )


def _sidecar_flag(runtime: Pathways) -> str:
    """Return the flag that makes the proxy use the colocated Python sidecars, unless the user wrote one."""
    components = {item["componentType"]: item for item in runtime.custom_components}
    flags = components.get("proxy_server", {}).get("customFlags", [])
    has_sidecar = runtime.colocated_python or "image" in components.get("colocated_python_sidecar", {})
    has_flag = any(flag.partition("=")[0] == SIDECAR_FLAG for flag in flags)
    return f"{SIDECAR_FLAG}=external" if has_sidecar and not has_flag else ""


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
    with_account = accounts.with_account(workload, cluster)
    problems += accounts.problems(with_account, cluster)
    plan = _plan(with_account, shape, site)
    problems += names.problems(workload, plan)
    if workload.cpu is not None:
        problems += validate_pools.cpu_problems(workload, workload.cpu, site)
    else:
        problems += validate_pools.problems(workload, shape, site)
        problems += topology.problems(workload, shape, site)
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
        by_topology = topology.of_slices(workload, shape, site)
    else:
        placed = placement.Placement({NODE_POOL: _node_pool(cluster, workload.cpu.pool)}, {}, "")
        by_topology = topology.of_pool(workload, workload.cpu.pool, site)
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
                topology_request=topology.of_pool(workload, job.pool, site),
            )
            for job in workload.auxiliary_jobs
        ),
        pathways=_pathways_plan(
            workload, shape, name, _node_pool(cluster, head_pool), topology.of_pool(workload, head_pool, site)
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

    '' leaves it to the scheduler: where the head shares the workers' hosts, says itself on which nodes it
    runs, or has no pool or several to choose from.
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
    """Yield why a JobSet cannot tell the end of a program from that of a host: both are one reason to it."""
    policy = workload.failure_policy
    both = policy.restart_on_exit_codes and policy.on_host_maintenance and workload.pathways is None
    if both and workload.api == "JobSet" and is_older(cluster, _MESSAGE_PATTERNS):
        message = "restartOnExitCodes beside onHostMaintenance needs JobSet v0.10.0 or newer"
        hint = f"leave one of them out, or upgrade JobSet in {cluster.source.file.path}"
        path: Path = ("spec", "failurePolicy", "restartOnExitCodes")
        yield workload.source.problem("FIELD002", path, message, hint, key=True)


def _elsewhere(workload: Workload, cluster: Cluster) -> str:
    """Return the way to a LocalQueue that other namespaces have; '' if none has it."""
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
