"""Rules of pods on CPU nodes, Pathways heads above all: whether there are nodes, and enough of them."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate

from msgspec.structs import replace

from slicewright.check.rules import fit_nodes as nodes
from slicewright.check.rules.fit import Asked, asked
from slicewright.check.rules.kueue_queues import quotas
from slicewright.check.rules.pathways_servers import host_ports
from slicewright.check.rules.tpu_shape import exclusive, is_pathways
from slicewright.kubernetes.kinds import QUEUED_KINDS, RUN_KINDS
from slicewright.kubernetes.labels import HOSTNAME, NODE_POOL, QUEUE, SAFE_TO_EVICT, TPU
from slicewright.kubernetes.name_room import PATHWAYS_HEAD
from slicewright.kubernetes.problem import counted
from slicewright.kueue import assignment, quota_workload
from slicewright.kueue.quota import Key, PodSet, most
from slicewright.objects import Finding, Findings, ObjectSet, Resource, once, rule
from slicewright.rendering.plan.resolved_cluster import size_range
from slicewright.rendering.platform.flavor import CpuCapacity, capacities

_FULL = Fraction(85, 100)
"""No profile of GKE's autoscaler removes a node if this part of it is used; the default limit is half."""
_DEFAULT_NODE = (2, 4096)
"""vCPUs and MiB of a node of GKE's default node pool, an e2-medium."""


@rule("FIT131", QUEUED_KINDS)
def _nowhere(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare pods without a node selector with all pools; Autopilot makes nodes for them.

    The file of an existing cluster may leave out its CPU pools: if it has none, nothing is reported.
    """
    site = objects.site
    if site is None or site.cluster.mode != "Standard":
        return
    if not (site.cluster.managed or site.cluster.cpu_pools):
        return
    asks = asked(resource, objects)
    waits = None if asks is None or asks.known.declared else asks
    is_stuck = waits is not None and assignment.stuck(waits.known, waits.queue, waits.sets) is not None
    machines = [site.machines.get(pool.name) for pool in site.cluster.cpu_pools]
    small = objects.catalogue.cpu_machines.sized(*_DEFAULT_NODE)
    machines.append(replace(small, disk_gb=small.kept.disk.default_size))
    paths = [pods.spec_path for pods in resource.pods]
    for index, pod_set in enumerate(quota_workload.pod_sets(resource, objects)):
        own = nodes.of_one_pod(pod_set)
        if is_stuck or (waits and assignment.uncovered(waits.known, waits.queue, pod_set)):
            continue  # FIT102 and FIT103 say so
        is_free = not (pod_set.nodes.labels or pod_set.nodes.terms or TPU in pod_set.requests)
        if not is_free or any(nodes.holds(machine, own) for machine in machines):
            continue
        _, entry = nodes.cpu_pool(pod_set, objects, site)
        if entry:
            hint = f"add {entry} to pools in {site.cluster.source.file.path}"
            message = f"{nodes.needs([pod_set.name])} {nodes.listed(own)}, "
            message += f"but no pool of cluster '{site.cluster.name}' has such a node"
            path = paths[index] if index < len(paths) else ("spec",)
            yield Finding(path, message, hint, is_certain=site.cluster.managed)


@rule("FIT134", {"ClusterQueue"}, "warning")
def heads(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare the nodes of a pool with the heads that its quota admits at the same time, in all queues."""
    site = objects.site
    if site is None:
        return
    for flavor, by_queue in _at_once(objects).items():
        total, own = sum(by_queue.values()), by_queue.get(resource.name, 0)
        pools = [pool for pool in capacities(site).values() if pool.flavor.name == flavor]
        pools = [pool for pool in pools if isinstance(pool, CpuCapacity)]
        size = sum(pool.most for pool in pools)
        named = (
            path for path, name, entry in quotas(resource) if (name, entry.get("name")) == (flavor, "cpu")
        )
        path = next(named, ())
        if own and path and pools and total > size:
            beside = "" if own == total else f", and other queues {total - own} more"
            message = f"ClusterQueue '{resource.name}' admits {counted(own, 'Pathways head')} at a time"
            message += f"{beside}, but pool '{pools[0].pool.name}' has {counted(size, 'node')}, "
            message += "and each head takes a node for itself"
            hint = f"write nodes: {total} for pool '{pools[0].pool.name}', or let the quota admit fewer heads"
            yield Finding((*path, "nominalQuota"), message, hint)


@rule("TPU180", RUN_KINDS, "warning")
def _evicted(resource: Resource, objects: ObjectSet) -> Findings:
    """Find single pods whose loss ends a TPU run, on nodes that the autoscaler may remove.

    It removes nodes that are mostly free, if others have room for their pods.
    """
    site, is_operator = objects.site, resource.kind == "PathwaysJob"
    if site is None or not (is_operator or any(pods.asks_for_tpu for pods in resource.pods)):
        return
    pools = {name: pool for pool in site.cluster.cpu_pools for name in pool.node_pool_names}
    for pods, pod_set in zip(resource.pods, quota_workload.pod_sets(resource, objects), strict=False):
        pool = pools.get(pods.selector.get(NODE_POOL, ""))
        annotations = resource.annotations if is_operator else pods.annotations
        is_needed = is_operator or is_pathways(resource) or pods.job.get("backoffLimit") == 0
        if pool is None or not is_needed or pod_set.count != 1 or annotations.get(SAFE_TO_EVICT) == "false":
            continue
        own = nodes.of_one_pod(pod_set).items()
        used = {name: value / _FULL for name, value in own if name != nodes.STORAGE}
        is_free = nodes.holds(site.machines.get(pool.name), used)
        size = size_range(site, pool)
        if size.most > max(1, size.least) and is_free:
            message = f"the autoscaler of pool '{pool.name}' may remove the node of pod '{pod_set.name}', "
            yield Finding(pods.selector_path(NODE_POOL), f"{message}and the run ends with it")


@once
def _at_once(objects: ObjectSet) -> dict[str, dict[str, int]]:
    """Return how many heads Kueue admits at the same time, by flavor of their nodes and by queue."""
    waiting: dict[tuple[str, str, str | int], list[tuple[Asked, PodSet]]] = defaultdict(list)
    for resource in objects.all:
        is_queued = resource.kind in RUN_KINDS and QUEUE in resource.labels
        ask = asked(resource, objects) if is_queued else None
        if ask:
            for choice in ask.choices:
                head = choice.pods[0]
                if len(choice.flavors) == 1 and "cpu" in choice.requests:
                    for way in ways_apart(resource, head):
                        waiting[choice.flavors[0], ask.queue.name, way].append((ask, head))
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (flavor, queue, _), heads in waiting.items():
        found[flavor][queue] = max(found[flavor][queue], min(_fitting(heads, flavor)))
    return found


def ways_apart(resource: Resource, pod_set: PodSet) -> set[str | int]:
    """Return what keeps equal pods off the node of a pod: exclusive placement, and ports of the host."""
    if resource.kind == "PathwaysJob":
        return {HOSTNAME} if pod_set.name == PATHWAYS_HEAD else set()
    own = [pods for pods in resource.pods if pods.name == pod_set.name]
    ways = {exclusive(resource, pods) for pods in own} & {HOSTNAME}
    return ways.union(*map(host_ports, own))


def _fitting(heads: list[tuple[Asked, PodSet]], flavor: str) -> Iterator[int]:
    """Yield how many runs there are, and how many the quota of each resource of heads and of chips holds."""
    known, queue = heads[0][0].known, heads[0][0].queue
    yield len(heads)
    for name in {name for _, head in heads for name in head.requests if (flavor, name) in queue.cells}:
        values = [head.requests.get(name, Fraction(0)) for _, head in heads]
        yield _number(values, most(known, queue, (flavor, name)).total)
    keys: list[Key] = [key for key in queue.cells if key[1] == TPU]
    chips = [sum((pods.requests.get(TPU, Fraction(0)) for pods in ask.sets), Fraction(0)) for ask, _ in heads]
    yield _number(chips, sum((most(known, queue, key).total for key in keys), Fraction(0)))


def _number(values: list[Fraction], limit: Fraction) -> int:
    return sum(total <= limit for total in accumulate(sorted(values)))
