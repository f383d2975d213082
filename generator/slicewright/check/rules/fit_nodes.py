"""Rules of nodes: whether the cluster has a node for each pod, and what to write in the TPUCluster if not."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from slicewright.catalogue.catalogue import CpuMachine
from slicewright.catalogue.shape import joined
from slicewright.intent.tpucluster import CpuPool
from slicewright.kubernetes.kinds import QUEUED_KINDS
from slicewright.kubernetes.labels import ACCELERATOR, NODE_POOL, TPU
from slicewright.kubernetes.name_room import PATHWAYS_HEAD
from slicewright.kubernetes.quantity import plain
from slicewright.kueue import quota_workload
from slicewright.kueue.quota import PodSet
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform import kueue_configuration
from slicewright.rendering.platform.flavor import TpuCapacity, capacities

_OF_HOSTS = ("cpu", "memory")
"""What a node has beside chips, as far as it is known."""


def needs(names: Sequence[str]) -> str:
    """Return how a message begins that says what some pod sets ask for."""
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
    return f"{plain(round(value / 2**30, 1))}Gi" if resource == "memory" else plain(value)


def beyond(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Finding, str, str]]:
    """Yield what a pod requests beyond a node of its pool, with the names of its pod set and the resource."""
    for pods, pod_set in zip(resource.pods, quota_workload.pod_sets(resource, objects), strict=False):
        pool, sizes = objects.once("node pools", _pools).get(pods.selector.get(NODE_POOL, ""), (None, {}))
        if pool is None or not pod_set.count:
            continue
        for name, most in sizes.items():
            request = pod_set.requests.get(name, Fraction(0)) / pod_set.count
            if request > most:
                each = " each" if pod_set.count > 1 else ""
                message = f"{needs([pod_set.name])} {amount(name, request)}{each}, "
                message += f"but a node of pool {pool.name} has {number(name, most)}"
                hint = f"write a larger machineType than {pool.machine_type} for the pool, or request less"
                yield Finding(pods.spec_path, message, hint), pod_set.name, name


def _pools(objects: ObjectSet) -> dict[str, tuple[CpuPool, dict[str, Fraction]]]:
    """Return the CPU pools whose machines are known, with the size of a node, by names of node pools."""
    site = objects.site
    if site is None:
        return {}
    return {
        name: (pool, _sizes(site.machines[pool.name]))
        for pool in site.cluster.cpu_pools
        for name in pool.node_pool_names
        if pool.name in site.machines
    }


def _sizes(machine: CpuMachine) -> dict[str, Fraction]:
    cpus, mebibytes = Fraction(machine.allocatable_millicpus) / 1000, machine.allocatable_mib
    return {"cpu": cpus, "memory": Fraction(mebibytes) * 2**20}


@rule("FIT130", QUEUED_KINDS)
def _too_large(resource: Resource, objects: ObjectSet) -> Findings:
    for finding, _, _ in beyond(resource, objects):
        yield finding


def of_one_pod(pod_set: PodSet) -> dict[str, Fraction]:
    """Return the cpu and memory of one pod."""
    count = pod_set.count or 1
    return {name: pod_set.requests[name] / count for name in _OF_HOSTS if pod_set.requests.get(name)}


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
    return name, f"{{name: {name}, machineType: {machine}, nodes: 1}}"


def uncovered(queue: str, pod_set: PodSet, resources: Sequence[str]) -> str:
    """Return the message about pods of whose requests a queue has no quota."""
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
    """Return what to write so that a queue has quota for pods; nothing where that is unclear.

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
