"""Rules of nodes: whether the cluster has a node for each pod, and what to write in the TPUCluster if not."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache

from msgspec import Struct

from slicewright.catalogue.catalogue import CpuMachine
from slicewright.catalogue.shape import joined
from slicewright.check.rules.tpu_shape import shapes
from slicewright.intent.tpucluster import CpuPool, Pool
from slicewright.kubernetes.fields import at, mapping
from slicewright.kubernetes.kinds import NAMESPACED_KINDS
from slicewright.kubernetes.labels import ACCELERATOR, NODE_POOL, TPU
from slicewright.kubernetes.name_room import PATHWAYS_HEAD
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import plain
from slicewright.kueue import quota_read, quota_workload
from slicewright.kueue.quota import PodSet
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform import kueue_configuration
from slicewright.rendering.platform.flavor import Capacity, TpuCapacity, capacities

_OF_HOSTS = ("cpu", "memory")
"""Resources besides chips for which a queue may have quota."""
STORAGE = "ephemeral-storage"
_MEBI = Fraction(2**20)


def needs(names: Sequence[str]) -> str:
    """Return the beginning of a message: what some pod sets request."""
    if list(names) == [PATHWAYS_HEAD]:
        return "the Pathways head needs"
    listed = joined([f"'{name}'" for name in names])
    return f"pods {listed} need"


def unit(resource: str) -> str:
    """Return what messages call a resource."""
    return "chips" if resource == TPU else resource


def amount(resource: str, value: Fraction) -> str:
    """Return `32 chips`, `8 cpu` or `64Gi memory`."""
    return f"{number(resource, value)} {unit(resource)}"


def number(resource: str, value: Fraction) -> str:
    """Return the amount without its unit."""
    return f"{plain(round(value / 2**30, 1))}Gi" if resource in ("memory", STORAGE) else plain(value)


class _Node(Struct, frozen=True):
    """A node on which pods may run, and its pool where a TPUCluster has it."""

    name: str
    machine: CpuMachine | None
    pool: Pool | None = None


def beyond(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Finding, str, str]]:
    """Yield each resource of which no possible node has enough for a pod, with the name of its pod set."""
    for pods, pod_set in zip(resource.pods, quota_workload.pod_sets(resource, objects), strict=False):
        known, each = _nodes(pods, objects), of_one_pod(pod_set)
        if not known or not pod_set.count or any(holds(node.machine, each) for node in known):
            continue
        node = max(known, key=lambda node: node.machine.memory_mib if node.machine else 0)
        for name, most in _sizes(node.machine).items():
            if (request := each.get(name, most)) > most:
                message = f"{needs([pod_set.name])} {amount(name, request)}{' each' * (pod_set.count > 1)}, "
                message += f"but {node.name} has {number(name, most)}"
                hint, is_certain = _larger(node, name, request, objects)
                hint += f"request at most {_whole(name, most)} of {name}"
                finding = Finding(_asking(pods, name), message, hint, is_certain=is_certain)
                yield finding, pod_set.name, name


def _nodes(pods: Pods, objects: ObjectSet) -> list[_Node]:
    """Return a node of each pool with all labels that pods select; without one, the hosts of their slice."""
    selected = pods.selector.items()
    known = [
        _Node(_name(capacity), capacity.machine, capacity.pool)
        for capacity, labels in quota_read.pools_of(objects)
        if selected and all(value in labels.get(key, ()) for key, value in selected)
    ]
    rows = [row for row in shapes(pods, objects) if pods.chips in (0, row.chips_per_host)]
    sized = objects.catalogue.cpu_machines.sized
    hosts = {row.machine_type: sized(row.machine.vcpus, row.machine.memory_gb * 1024) for row in rows}
    return known or [_Node(f"a host of {name}", machine) for name, machine in hosts.items()]


def _name(capacity: Capacity) -> str:
    if isinstance(capacity, TpuCapacity):
        return f"a host of {capacity.shape.machine_type}"
    return f"a node of pool {capacity.pool.name}"


def _larger(node: _Node, name: str, request: Fraction, objects: ObjectSet) -> tuple[str, bool]:
    """Return how to get nodes with more of a resource, and whether the file tells how much they have."""
    pool, way, is_certain = node.pool, "", True
    if pool is None or objects.site is None:
        return way, is_certain
    cluster = objects.site.cluster
    if name == STORAGE:
        way = _disk(objects, request)
        is_certain = cluster.managed or "disk" in cluster.written(pool).get("nodeConfig", {})
    elif isinstance(pool, CpuPool):
        way = f"a larger machineType than {pool.machine_type}"
    where = f"for pool '{pool.name}' in {cluster.source.file.path}"
    return (f"write {way} {where}, or " if way else ""), is_certain


def _disk(objects: ObjectSet, storage: Fraction) -> str:
    """Return the configuration of nodes with a boot disk for pods; nothing if none is large enough."""
    size = objects.catalogue.cpu_machines.kept.disk.size_for(storage / 2**30)
    return f"nodeConfig: {{disk: {{sizeGB: {size}}}}}" if size else ""


def _asking(pods: Pods, name: str) -> Path:
    """Return where the containers of pods first request a resource, else the pods."""
    for place, container in (*pods.containers, *pods.init_containers):
        for key in ("requests", "limits"):
            if name in mapping(at(container, "resources", key)):
                return (*place, "resources", key, name)
    return pods.spec_path


def _whole(name: str, value: Fraction) -> str:
    """Return an amount that a manifest can have, rounded down: `698Gi`, `95`."""
    if name == "cpu":
        return plain(value)
    return f"{value // 2**30}Gi" if value >= 2**30 else f"{value // 2**20}Mi"


@cache
def _sizes(machine: CpuMachine | None) -> dict[str, Fraction]:
    """Return what pods can request of a node, as far as it is known."""
    if machine is None:
        return {}
    sizes = {"cpu": Fraction(machine.allocatable_millicpus, 1000), "memory": machine.allocatable_mib * _MEBI}
    return sizes | ({STORAGE: machine.allocatable_storage_mib * _MEBI} if machine.disk_gb else {})


@rule("FIT130", NAMESPACED_KINDS)
def _too_large(resource: Resource, objects: ObjectSet) -> Findings:
    for finding, _, _ in beyond(resource, objects):
        yield finding


def of_one_pod(pod_set: PodSet) -> dict[str, Fraction]:
    """Return what one pod requests of its node, beside chips."""
    count = pod_set.count or 1
    names = (*_OF_HOSTS, STORAGE)
    return {name: pod_set.requests[name] / count for name in names if pod_set.requests.get(name)}


def listed(each: Mapping[str, Fraction]) -> str:
    """Return `24 cpu and 122.9Gi memory`."""
    return joined([amount(name, value) for name, value in each.items()])


def holds(machine: CpuMachine | None, each: Mapping[str, Fraction]) -> bool:
    """Tell whether a node may have room for a pod; a node of unknown size may."""
    return machine is None or all(value <= _sizes(machine).get(name, value) for name, value in each.items())


def cpu_pool(pod_set: PodSet, objects: ObjectSet, site: ResolvedCluster) -> tuple[str, str]:
    """Return the CPU pool for some pods, and where the cluster has none, the entry of `pools` to write."""
    each, chosen = of_one_pod(pod_set), pod_set.nodes.labels.get(NODE_POOL)
    for pool in site.cluster.cpu_pools:
        if chosen in pool.node_pool_names or (not chosen and holds(site.machines.get(pool.name), each)):
            return pool.name, ""
    common = objects.catalogue.cpu_machines.common()
    machine = next((name for name, machine in common if holds(machine, each)), "")
    if chosen or not machine:
        return "", ""
    taken = {pool.name for pool in site.cluster.pools}
    names = ("cpu", *(f"cpu-{index}" for index in range(2, len(taken) + 3)))
    name = next(name for name in names if name not in taken)
    more = f", {_disk(objects, each[STORAGE])}" if STORAGE in each else ""
    return name, f"{{name: {name}, machineType: {machine}, nodes: 1{more}}}"


def uncovered(queue: str, pod_set: PodSet, resources: Sequence[str]) -> str:
    """Return the message that a queue has no quota of resources that pods request."""
    if pod_set.name != PATHWAYS_HEAD:
        them = "it" if len(resources) == 1 else "them"
        asked = f"pods '{pod_set.name}' request {joined(list(resources))}"
        return f"{asked}, but ClusterQueue '{queue}' does not cover {them}"
    each = listed(of_one_pod(pod_set))
    where = "from the hosts of the workers" if _on_hosts(pod_set) else "on a CPU node"
    lacks = f"but ClusterQueue '{queue}' has no quota of {joined(list(resources))}"
    return f"the Pathways head needs {each} {where}, {lacks}"


def _on_hosts(pod_set: PodSet) -> bool:
    """Tell whether pods run on the hosts of TPU slices."""
    return TPU in pod_set.requests or ACCELERATOR in pod_set.nodes.labels


def quota_hint(
    queue: str,
    pod_set: PodSet,
    resources: Sequence[str],
    objects: ObjectSet,
    leave: str = "remove the request and the limit",
) -> str:
    """Return what to write so that a queue has quota for pods; nothing if that is unclear.

    `leave` says how pods get rid of the request.
    """
    site = objects.site
    if site is None:
        if pod_set.name != PATHWAYS_HEAD or _on_hosts(pod_set):
            return ""
        each = listed(of_one_pod(pod_set))
        return f"cover cpu and memory with a ResourceFlavor of CPU nodes, with quota of {each} for each head"
    file, of_queue = site.cluster.source.file.path, f"the quota of ClusterQueue '{queue}'"
    if not _on_hosts(pod_set):
        pool, entry = cpu_pool(pod_set, objects, site)
        quota = f"{{pool: {pool}}} to {of_queue}"
        if not pool:
            return ""
        return f"in {file}, add {entry} to pools and {quota}" if entry else f"in {file}, add {quota}"
    fitting = [
        capacity.pool.name
        for capacity in capacities(site).values()
        if isinstance(capacity, TpuCapacity) and pod_set.nodes.suits(capacity.flavor.node_labels)
    ]
    own = [
        quota.pool for holder in site.cluster.cluster_queues if holder.name == queue for quota in holder.quota
    ]
    if TPU in resources or not (having := [pool for pool in own if pool in fitting]):
        return f"in {file}, add {{pool: {fitting[0]}}} to {of_queue}" if fitting else ""
    ways = []
    if TPU in pod_set.requests:
        ways.append(leave)
        if _ignored(site, resources):
            ways.append(f"write kueue: {{}} in {file}: Kueue then ignores what no queue covers")
    if {*resources} <= {*_OF_HOSTS}:
        ways.append(
            f"write cpuAndMemory: true in the quota of pool '{having[0]}' of ClusterQueue '{queue}' in {file}"
        )
    return ", or ".join(ways)


def _ignored(site: ResolvedCluster, resources: Sequence[str]) -> bool:
    """Tell whether the configuration that an empty `kueue` renders ignores resources that no queue covers."""
    if "kueue" in site.cluster.spec or not site.cluster.managed:
        return False
    settings = kueue_configuration.configuration(site, {}).get("resources", {})
    prefixes = tuple(settings.get("excludeResourcePrefixes", ()))
    ignores = settings.get("quotaCheckStrategy") == "IgnoreUndeclared"
    return ignores or all(name.startswith(prefixes) for name in resources)
