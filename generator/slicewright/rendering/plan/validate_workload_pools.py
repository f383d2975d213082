"""Validate a workload against the pools of its cluster: the file must name nodes for it."""

from collections.abc import Iterator
from typing import Any

from slicewright.catalogue.shape import Shape, joined
from slicewright.intent.tpucluster import CpuPool, TpuPool
from slicewright.intent.tpuworkload import Cpu, Workload
from slicewright.kubernetes.problem import Problem, counted
from slicewright.rendering.plan.placement import provisioning_selector
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, size_range
from slicewright.rendering.plan.ways import called, fits

_TAINTED = ("Spot", "FlexStartQueued", "ComputeClass")
"""The ways of provisioning whose nodes keep off pods that do not tolerate it."""
_STORAGE = ("storage-full", "storage-rw", "devstorage.full_control", "devstorage.read_write")
_WRITING = ("cloud-platform", *_STORAGE)
"""The scopes with which a node may write to Cloud Storage, where its account may."""


def problems(workload: Workload, shape: Shape, site: ResolvedCluster) -> Iterator[Problem]:
    """Yield a problem if no pool of the cluster has nodes that the pods select: the run would never start.

    It is an error if that is certain, else a warning.
    """
    if not site.pools:
        return
    same = [pool for pool, has in site.pools if has == shape]
    yield from _alternatives(workload, shape, site, same)
    if workload.provisioning.type == "ComputeClass":
        return
    way, file = workload.provisioning, site.cluster.source.file.path
    fitting = [pool for pool in same if fits(way, pool.provisioning)]
    label = f"{shape.topology} on {shape.machine_type}"
    certain = has_no_other_nodes(site)
    ends = "the run never starts"
    if not certain:
        others = "GKE" if site.cluster.mode == "Autopilot" else "another tool"
        ends += f" unless {others} creates such nodes"
    if fitting:
        yield from _run_time(workload, fitting, site)
        yield from _scratch(workload, fitting, site)
        if workload.api == "PathwaysJob" and way.type == "Spot" and not workload.queue_name:
            message = "the workers of a PathwaysJob cannot tolerate the taint of Spot nodes"
            hint = "add spec.queueName (its flavor adds the toleration), or write api: JobSet"
            path = ("spec", "provisioning")
            yield workload.source.problem("PW131", path, message, hint, warning=not certain)
    elif same:
        has = ", ".join(f"'{pool.name}' ({called(pool.provisioning)})" for pool in same)
        message = f"cluster '{site.cluster.name}' has {label} only in {has}"
        never = all(_keeps_off(workload, pool) for pool in same)
        ends = ends if never else "the run may never start"
        hint = f"{ends}: change spec.provisioning, or declare a pool of {called(way)} in {file}"
        path = ("spec", "provisioning")
        yield workload.source.problem("REF006", path, message, hint, warning=not (certain and never))
    else:
        message = f"cluster '{site.cluster.name}' has no pool of {label}"
        hint = f"{ends}: declare such a pool in {file}, or change spec.tpu"
        yield workload.source.problem("REF006", ("spec", "tpu"), message, hint, warning=not certain)


def _alternatives(
    workload: Workload, shape: Shape, site: ResolvedCluster, same: list[TpuPool]
) -> Iterator[Problem]:
    """Yield alternative kinds of provisioning that no pool of the run's shape has."""
    for index, way in enumerate(workload.alternative_provisioning):
        if not any(fits(way, pool.provisioning) for pool in same):
            label = f"{shape.topology} on {shape.machine_type}"
            message = f"cluster '{site.cluster.name}' has no pool of {label} as {called(way)}"
            hint = f"leave it out, or declare such a pool in {site.cluster.source.file.path}"
            place = ("spec", "alternativeProvisioning", index)
            certain = has_no_other_nodes(site)
            yield workload.source.problem("REF006", place, message, hint, warning=not certain)


def has_no_other_nodes(site: ResolvedCluster) -> bool:
    """Tell whether a cluster has no other TPU nodes than those of the pools in its file.

    That is false on Autopilot, which makes nodes for all pods; with `managed: false`, where the file may be
    incomplete; and with a ComputeClass that makes node pools, also for pods that name none if it is the
    default of a namespace or of the cluster. On a Standard cluster of ours it is true: slicewright does not
    turn node auto-provisioning on. Whoever does so declares the shape in a pool (`autoscaling: {min: 0}`),
    because queues and rehearsals know only pools.
    """
    cluster = site.cluster
    by_class = cluster.compute_classes or any(
        pool.provisioning.type == "ComputeClass" for pool in cluster.tpu_pools
    )
    return cluster.managed and cluster.mode == "Standard" and not by_class


def _keeps_off(workload: Workload, pool: TpuPool) -> bool:
    """Tell whether nodes with the right shape and another provisioning exclude the pods of a run.

    They do if pods select a label that these nodes do not have. A taint alone is not enough: the flavor of a
    queue tolerates it, and a user's toleration may.
    """
    if provisioning_selector(workload.provisioning):
        return True
    tolerates = workload.queue_name or workload.components or workload.patches
    tolerates = tolerates or workload.pod_template.get("spec", {}).get("tolerations")
    return pool.provisioning.type in _TAINTED and not tolerates


def _run_time(workload: Workload, pools: list[TpuPool], site: ResolvedCluster) -> Iterator[Problem]:
    """Warn if no pool keeps its nodes for the duration of a run.

    On a Standard cluster the nodes live for as long as their pool says. Only Autopilot makes nodes for the
    number of a pod, and a ProvisioningRequest carries that of its run.
    """
    seconds = workload.max_run_duration_seconds
    standard = site.cluster.mode == "Standard"
    if seconds is None or workload.provisioning.type == "FlexStartQueued" or not standard:
        return
    limits = {pool.name: pool.max_run_duration_seconds for pool in pools}
    if seconds in limits.values():
        return
    has = ", ".join(f"pool '{name}' has {limit or 'none'}" for name, limit in limits.items())
    message = f"no pool has maxRunDurationSeconds {seconds} ({has})"
    others = sorted({limit for limit in limits.values() if limit is not None})
    change = f"write {' or '.join(map(str, others))} here" if others else "leave it out here"
    hint = f"{change}, or write {seconds} in the pool in {site.cluster.source.file.path}"
    yield workload.source.problem("REF007", ("spec", "maxRunDurationSeconds"), message, hint, warning=True)


def _scratch(workload: Workload, pools: list[TpuPool], site: ResolvedCluster) -> Iterator[Problem]:
    """Warn if Pathways acts as nodes that cannot write to its bucket.

    Pods on the host network have the identity of their node, and those of a PathwaysJob always are on it.
    gcloud gives nodes a scope that reads Cloud Storage; Google's page on GKE clusters for Pathways gives them
    more. Terraform's node pools have an account of their own with all scopes.
    """
    runtime, cluster = workload.pathways, site.cluster
    on_host = workload.host_network or workload.api == "PathwaysJob"
    by_script = cluster.managed and cluster.mode == "Standard" and "environment" not in cluster.spec
    if runtime is None or not on_host or not by_script:
        return
    pool_of_head = runtime.head.pool or (cluster.cpu_pools[0].name if len(cluster.cpu_pools) == 1 else "")
    has_own = runtime.deployment_mode == "default"
    heads = [cpu for cpu in cluster.cpu_pools if cpu.name == pool_of_head and has_own]
    used: list[TpuPool | CpuPool] = [*pools, *heads]
    names = [f"'{pool.name}'" for pool in used if not _writes(cluster.written(pool))]
    if names:
        of_pools = f"of pool{'s' * (len(names) > 1)} {joined(names)}"
        message = "Pathways uses the host network and the identity of its nodes; "
        message += f"the nodes {of_pools} cannot write to {runtime.pathways_dir}"
        hint = "write nodeConfig: {serviceAccount: ...}, "
        hint += "or {scopes: [storage-full, gke-default, cloud-platform]}, "
        hint += f"in these pools in {cluster.source.file.path}"
        path = ("spec", "pathways", "pathwaysDir")
        yield workload.source.problem("POOL040", path, message, hint, warning=True)


def _writes(pool: dict[str, Any]) -> bool:
    config = pool.get("nodeConfig", {})
    scopes = config.get("scopes", ["cloud-platform"] if "serviceAccount" in config else [])
    return any(scope.rpartition("/")[2] in _WRITING for scope in scopes)


def cpu_problems(workload: Workload, cpu: Cpu, site: ResolvedCluster) -> Iterator[Problem]:
    """Yield why a run on CPU nodes would never start, or would not be counted."""
    pool = next((pool for pool in site.cluster.cpu_pools if pool.name == cpu.pool), None)
    if pool is None:
        return  # REF004 says so
    most, file = size_range(site, pool).most, site.cluster.source.file.path
    if cpu.nodes > most:
        message = f"the run needs {counted(cpu.nodes, 'node')}, but pool '{cpu.pool}' can have at most {most}"
        hint = f"write nodes: {most} or less, or give the pool more nodes in {file}"
        warning = site.cluster.mode == "Autopilot"
        yield workload.source.problem("REF009", ("spec", "cpu", "nodes"), message, hint, warning=warning)
    if workload.queue_name and not _requests_cpu(workload):
        message = "the pods request no cpu: Kueue counts nothing for them and admits the run immediately"
        hint = "write container: {resources: {requests: {cpu: ..., memory: ...}}}"
        yield workload.source.problem("POD005", ("spec", "container"), message, hint, key=True, warning=True)


def _requests_cpu(workload: Workload) -> bool:
    """Tell whether a container requests cpu, or limits it, which requests it too."""
    containers = (workload.container, *workload.own_containers)
    resources = [item.get("resources", {}) for item in containers]
    return any("cpu" in item.get(field, {}) for item in resources for field in ("requests", "limits"))
