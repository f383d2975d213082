"""Topology-aware scheduling: the annotations of pods if the flavor of their pool has a Topology.

Kueue then chooses the nodes. JobSet's exclusive placement chooses too, and both together leave slices that
are never whole. Pods without a request get no flavor with a Topology in a queue that has other flavors
(Kueue v0.19.2: pkg/cache/scheduler/tas_flavor_snapshot.go, .../flavorassigner/tas_flavorassigner.go).
"""

from collections.abc import Iterator

from slicewright.catalogue.shape import Shape
from slicewright.intent.tpuworkload import DIRECT_JOBSET, Workload
from slicewright.kubernetes.labels import NODE_POOL, PODSET
from slicewright.kubernetes.problem import Path, Problem
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.plan.ways import called, fits

SLICE_LEVEL = f"{PODSET}slice-required-topology"
SLICE_SIZE = f"{PODSET}slice-size"
UNCONSTRAINED = f"{PODSET}unconstrained-topology"


def of_slices(workload: Workload, shape: Shape, site: ResolvedCluster) -> dict[str, str]:
    """Return the annotations by which each slice gets a node pool of its own; none without a Topology.

    A request that the user writes is left as it is: then these are none, but what is left of the user's.
    """
    if not any(names - {""} for names in _by_way(workload, shape, site)):
        return {}
    annotations = workload.pod_template.get("metadata", {}).get("annotations", {})
    own = {key: value for key, value in annotations.items() if key.startswith(PODSET)}
    return own or {SLICE_LEVEL: NODE_POOL, SLICE_SIZE: str(shape.hosts)}


def of_pool(workload: Workload, name: str, site: ResolvedCluster) -> dict[str, str]:
    """Return the annotations of a queued pod on a CPU pool, which may run on any of its nodes."""
    pools = (pool for pool in site.cluster.cpu_pools if pool.name == name and workload.queue_name)
    has_topology = any(site.cluster.written(pool).get("topologyName") for pool in pools)
    return {UNCONSTRAINED: "true"} if has_topology else {}


def problems(workload: Workload, shape: Shape, site: ResolvedCluster) -> Iterator[Problem]:
    """Warn where a run cannot ask for its slices by node pool."""
    by_way = _by_way(workload, shape, site)
    names = set[str]().union(*by_way) - {""}
    if names and workload.api == "PathwaysJob":
        message = (
            "the workers of a PathwaysJob cannot request a topology, but the flavor of their pool has one"
        )
        yield workload.source.problem("TPU153", ("spec", "api"), message, DIRECT_JOBSET, warning=True)
        return
    yield from _never_given(workload, by_way if names else [])
    level = of_slices(workload, shape, site).get(SLICE_LEVEL)
    if level is None:
        return
    for topology in site.cluster.spec.get("topologies", []):
        levels = [entry["nodeLabel"] for entry in topology["levels"]]
        if topology["name"] in names and level not in levels:
            message = f"the slices request {level}, which is not a level of Topology '{topology['name']}'"
            hint = f"add the level {NODE_POOL} to a Topology in {site.cluster.source.file.path}"
            yield workload.source.problem("TPU152", ("spec", "queueName"), message, hint)


def _never_given(workload: Workload, by_way: list[set[str]]) -> Iterator[Problem]:
    """Refuse ways whose pools have no Topology where a run asks for one; warn where only some have none."""
    for index, (way, names) in enumerate(zip(workload.ways, by_way, strict=False)):
        if "" in names:
            path: Path = ("spec", "alternativeProvisioning", index - 1) if index else ("spec", "provisioning")
            which = "no pool" if names == {""} else "only part of the pools"
            message = f"the run requests a Topology, but {which} of {called(way)} in its queue has one: "
            message += "Kueue gives the run no flavor without a Topology"
            hint = "write topologyName in all of the pools that the run may get, or in none"
            yield workload.source.problem("TPU156", path, message, hint, warning=names != {""})


def _by_way(workload: Workload, shape: Shape, site: ResolvedCluster) -> list[set[str]]:
    """Return, for each way of a run, the Topologies of the pools that it can get; '' for a pool without one.

    Nothing without a queue, or where no pool of the cluster has a Topology.
    """
    cluster = site.cluster
    if not workload.queue_name or not any("topologyName" in pool for pool in cluster.spec.get("pools", ())):
        return []
    queue = cluster.queue_behind(workload.queue_name, workload.namespace)
    quota = {entry.pool for entry in queue.quota} if queue else set()
    pools = [
        (pool.provisioning, cluster.written(pool).get("topologyName", ""))
        for pool, has in site.pools
        if has == shape and (not cluster.cluster_queues or pool.name in quota)
    ]
    return [{name for has, name in pools if fits(way, has)} for way in workload.ways]
