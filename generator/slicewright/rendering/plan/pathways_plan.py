"""The Pathways part of a plan, the problems of its fields, and the CPU pool for its head.

The numbers are those of the PathwaysJob controller v0.1.4.
"""

from collections.abc import Iterator, Sequence

from slicewright.catalogue.shape import Shape
from slicewright.intent.tpucluster import CpuPool
from slicewright.intent.tpuworkload import Pathways, Workload
from slicewright.kubernetes.name_room import subdomain
from slicewright.kubernetes.problem import Path, Problem
from slicewright.rendering.plan.plan import PathwaysPlan
from slicewright.rendering.plan.resilience import retries, survives_host_loss
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

_DEFAULT_TAG = "latest"


_RETRIES_A_HOST = 4
"""How often each worker host may fail before its slice does, without elastic slices."""


SIDECAR_FLAG = "--sidecar_name"
"""What the proxy has to be told to use the sidecar beside each worker (apple/axlearn@34aed43c:
axlearn/cloud/gcp/pathways_utils.py#L632, AI-Hypercomputer/pathways-utils@8950a34: isc_pathways.py#L147)."""


_DEFAULT_SLICE_RESTARTS = 1
"""The default of `workers[].maxSliceRestarts` in the CRD of PathwaysJob."""


def pathways_plan(
    workload: Workload, shape: Shape, name: str, head_node_pool: str, head_topology_request: dict[str, str]
) -> PathwaysPlan | None:
    """Return the Pathways part of a workload's plan, None for a workload without Pathways."""
    runtime = workload.pathways
    if runtime is None:
        return None
    restarts = _DEFAULT_SLICE_RESTARTS if runtime.max_slice_restarts is None else runtime.max_slice_restarts
    elastic = runtime.elastic_slices > 0 and restarts > 0
    each = restarts if elastic else _RETRIES_A_HOST
    if workload.resilience is not None and survives_host_loss(workload.resilience):
        each = max(each, retries(workload.resilience.repair_seconds, by_kubelet=True))
    return PathwaysPlan(
        written=runtime,
        instance_type=shape.pathways_instance_type or "",
        image_tag=runtime.pathways_version or _DEFAULT_TAG,
        subdomain=subdomain(workload.namespace, name),
        max_slice_restarts=restarts,
        worker_backoff_limit=shape.hosts * each,
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


RUNTIME = ("pathways-rm", "pathways-proxy")
"""Sidecars in the head of Pathways, from the base or from the PathwaysJob controller."""
_COLOCATED = "colocated_python_sidecar"
_FIELD: Path = ("spec", "pathways")


def pathways_problems(workload: Workload, runtime: Pathways) -> Iterator[Problem]:
    """Yield a problem for each field that Pathways, or another field beside it, makes meaningless."""
    source, spec = workload.source, workload.resolved_spec
    yield from _head_problems(workload, runtime)
    if runtime.elastic_slices > workload.slices:
        message = f"elasticSlices is {runtime.elastic_slices}, but must be at most slices ({workload.slices})"
        hint = f"write at most {workload.slices}"
        yield source.problem("FIELD001", (*_FIELD, "elasticSlices"), message, hint)
    yield from _custom_components(workload, runtime)
    if runtime.headless and workload.failure_policy.restart_on_exit_codes:
        message = "a headless Pathways run has no program that ends with an exit code"
        path: Path = ("spec", "failurePolicy", "restartOnExitCodes")
        yield source.problem("FIELD001", path, message, "leave it out", key=True)
    if runtime.elastic_slices and workload.failure_policy.on_host_maintenance == "Fail":
        message = (
            "onHostMaintenance: Fail ends the run after one lost slice, but with elastic slices it "
            "could continue"
        )
        path = ("spec", "failurePolicy", "onHostMaintenance")
        hint = "write Restart, which restarts only the lost slice, or leave elasticSlices out"
        yield source.problem("PW130", path, message, hint, warning=True)
    if workload.api == "PathwaysJob":
        yield from _pathwaysjob(workload, runtime)
    elif "maxSliceRestarts" in spec["pathways"] and not runtime.elastic_slices:
        message = "maxSliceRestarts has an effect only with elastic slices"
        hint = "add pathways.elasticSlices, or use failurePolicy.maxRestarts for the whole run"
        yield source.problem("FIELD001", (*_FIELD, "maxSliceRestarts"), message, hint, key=True)


def _head_problems(workload: Workload, runtime: Pathways) -> Iterator[Problem]:
    source = workload.source
    containers = workload.own_containers
    brought = [item["name"] for item in containers if item["name"] in RUNTIME]
    if runtime.headless and brought:
        message = f"container '{brought[0]}' belongs to Pathways and cannot be changed in head.podTemplate"
        hint = "write its image, flags and variables in pathways.customComponents; "
        hint += "its resources in patches (api: JobSet)"
        yield source.problem(
            "FIELD001", (*_FIELD, "head", "podTemplate", "spec", "containers"), message, hint
        )
    elif runtime.headless and (workload.container or containers):
        message = "a headless Pathways run cannot have its own container: users connect from outside"
        hint = "leave the container out, or headless"
        yield source.problem("FIELD001", (*_FIELD, "headless"), message, hint)
    mounts = {"gcsFuse": ("a bucket", workload.gcs_fuse), "sharedMemory": ("memory", workload.shared_memory)}
    for field, (what, value) in mounts.items():
        if runtime.headless and value:
            message = f"a headless Pathways run has no container to mount {what} into"
            yield source.problem("FIELD001", ("spec", field), message, f"leave {field} out", key=True)
    if not runtime.headless and not workload.has_image:
        message = f"nothing to run: the head has no container '{workload.main_container}' with an image"
        hint = "add spec.container.image, or write pathways.headless: true"
        yield source.problem("FIELD001", ("spec",), message, hint)
    if runtime.deployment_mode != "default" and runtime.head.pool:
        message = "a head that runs with the workers cannot have its own pool"
        hint = "leave head.pool out, or write deploymentMode: default"
        yield source.problem("FIELD001", (*_FIELD, "head", "pool"), message, hint)
    name, other = workload.container.get("name"), runtime.main_container_name
    if "mainContainerName" in workload.resolved_spec["pathways"] and name not in (None, other):
        message = f"mainContainerName is '{other}', but the name in container is '{name}'"
        hint = "write the name in only one of the two fields"
        yield source.problem("FIELD001", (*_FIELD, "mainContainerName"), message, hint)


def _custom_components(workload: Workload, runtime: Pathways) -> Iterator[Problem]:
    source = workload.source
    taken: set[str] = set()
    for index, component in enumerate(runtime.custom_components):
        path: Path = (*_FIELD, "customComponents", index)
        kind = component["componentType"]
        if kind in taken:
            message = f"duplicate component '{kind}'"
            yield source.problem("FIELD001", (*path, "componentType"), message, "write one entry for each")
        taken.add(kind)
        if kind != _COLOCATED:
            continue
        if runtime.colocated_python and "image" in component:
            message = "the image of the colocated-python sidecar has two values"
            hint = "write it here or in pathways.colocatedPython, not in both"
            yield source.problem("FIELD001", (*path, "image"), message, hint, key=True)
        elif workload.api != "PathwaysJob" and not runtime.colocated_python:
            message = "the run has no colocated-python sidecar"
            hint = "add pathways.colocatedPython.image"
            yield source.problem("FIELD001", (*path, "componentType"), message, hint)


def _pathwaysjob(workload: Workload, runtime: Pathways) -> Iterator[Problem]:
    """A PathwaysJob's controller makes the pods: what its CRD cannot carry, or it drops, is refused."""
    spec, source = workload.resolved_spec, workload.source
    if "metadata" in runtime.head.pod_template:
        message = "the controller of PathwaysJob drops the metadata of the head's pod"
        hint = "use metadata.annotations and metadata.labels of the workload, or api: JobSet"
        yield source.problem(
            "FIELD001", (*_FIELD, "head", "podTemplate", "metadata"), message, hint, key=True
        )
    for field in ("pool", "podTemplate"):
        if runtime.headless and field in spec["pathways"].get("head", {}):
            message = f"a headless PathwaysJob has no template for its head, so head.{field} would be dropped"
            path = (*_FIELD, "head", field)
            yield source.problem("FIELD001", path, message, "leave it out, or write api: JobSet", key=True)
    if runtime.deployment_mode != "default" and "nodeSelector" in runtime.head.pod_template.get("spec", {}):
        message = (
            "the controller of PathwaysJob replaces the node selector of a head that runs with the workers"
        )
        path = (*_FIELD, "head", "podTemplate", "spec", "nodeSelector")
        yield source.problem("FIELD001", path, message, "leave it out", key=True)


HEAD_VCPUS = 24
HEAD_GIGABYTES = 132
"""Both are what the resource manager and the proxy of the base request; the user's program needs more."""
HEAD_MACHINE_TYPE = "n2-standard-64"
"""Google recommends at least this for the head ("Porting JAX workloads to Pathways")."""

_MIB = 2**20


def head_pool(sites: Sequence[ResolvedCluster]) -> str:
    """Return the CPU pool that suits the head on all of some clusters; '' for none.

    A pool with quota in a queue comes first.
    """
    if not sites:
        return ""
    names = [{pool.name for pool in site.cluster.cpu_pools if _suits(site, pool)} for site in sites]
    counted = {quota.pool for site in sites for quota in site.cluster.quotas}
    common = [pool.name for pool in sites[0].cluster.cpu_pools if all(pool.name in each for each in names)]
    return next((name for name in common if name in counted), common[0] if common else "")


def lacks_head_pool(site: ResolvedCluster) -> bool:
    """Tell whether a cluster has no CPU pool for the head; on Autopilot GKE creates its node."""
    return site.cluster.mode == "Standard" and not head_pool([site])


def _suits(site: ResolvedCluster, pool: CpuPool) -> bool:
    """Tell whether a node has room for the head, as far as its size is known; a pod selects one node pool."""
    machine = site.machines.get(pool.name)
    has_room = machine is None or (
        machine.allocatable_millicpus >= HEAD_VCPUS * 1000
        and machine.allocatable_mib * _MIB >= HEAD_GIGABYTES * 10**9
    )
    return has_room and len(pool.node_pool_names) == 1
