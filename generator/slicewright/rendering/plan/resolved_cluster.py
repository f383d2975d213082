"""A cluster with the shapes and the size limits of its pools, and the problems of its file.

Queues get the maximum of a pool, not its initial size: Kueue admits by quota, and GKE's autoscaler makes
nodes only for admitted pods. With a quota of existing nodes a pool would never grow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.catalogue.catalogue import Catalogue, CpuMachine
from slicewright.catalogue.resolve import Refusal, TpuRequest, resolve
from slicewright.catalogue.shape import Shape
from slicewright.intent.source import Source
from slicewright.intent.tpucluster import Cluster, ComputeClass, CpuPool, Pool, Rung, TpuPool
from slicewright.intent.tpuworkload import Provisioning
from slicewright.kubernetes.problem import Path, Problem, counted
from slicewright.rendering import header
from slicewright.rendering.plan.placement import NOT_SERVED, is_served, life_of, lifetime_problem

_OLDEST_JOBSET = (0, 9, 0)
"""The first release with `groupName`, which the bases write; an older API server refuses it."""
CPU_DISK = "200GB"
"""The boot disk that Terraform gives the nodes of CPU pools."""


class ResolvedCluster(Struct, frozen=True):
    """One cluster, ready to take workloads."""

    cluster: Cluster
    pools: tuple[tuple[TpuPool, Shape], ...]
    machines: Mapping[str, CpuMachine] = field(default_factory=dict)
    """Size of a node of each pool with a known machine type, by the pool's name."""
    compute_classes: tuple[tuple[ComputeClass, tuple[tuple[Rung, Shape], ...]], ...] = ()
    """The ComputeClasses with the shapes of their priorities."""
    has_elastic_runs: bool = False
    """Whether a workload runs Pathways here with elastic slices."""

    @property
    def source(self) -> Source:
        """The document of the TPUCluster."""
        return self.cluster.source

    def live(self, body: str) -> str:
        """Return a generated file that every render writes again from the TPUCluster."""
        return header.live(header.inputs(self.source.file.path, self.cluster.name), body)


def is_older(cluster: Cluster, jobset: tuple[int, int, int]) -> bool:
    """Tell whether a cluster has an older release of JobSet; none written means a new one."""
    release = cluster.spec.get("versions", {}).get("jobset", "")
    return bool(release) and tuple(int(part) for part in release[1:].split("-")[0].split(".")) < jobset


def region_of(location: str) -> str:
    """Return `us-west4` for `us-west4` and for `us-west4-a`."""
    return "-".join(location.split("-")[:2])


def resolve_cluster(cluster: Cluster, catalogue: Catalogue) -> tuple[ResolvedCluster, tuple[Problem, ...]]:
    """Return a cluster with the shapes of its TPU pools, and the problems of its file."""
    problems: list[Problem] = []
    if is_older(cluster, _OLDEST_JOBSET):
        message = "slicewright supports only JobSet v0.9.0 and newer"
        hint = "upgrade JobSet; the default is v0.12.0"
        problems.append(cluster.source.problem("FIELD002", ("spec", "versions", "jobset"), message, hint))
    pools: list[tuple[TpuPool, Shape]] = []
    for pool in cluster.tpu_pools:
        shape = _shape(cluster, pool.tpu, pool.path, catalogue, problems)
        problems += _provisioned(cluster, pool.provisioning, shape, pool.max_run_duration_seconds, pool.path)
        if shape is not None:
            pools.append((pool, shape))
        if pool.node_pool_names and len(pool.node_pool_names) != pool.slices:
            message = f"{len(pool.node_pool_names)} node pool names for {counted(pool.slices, 'slice')}"
            hint = "each slice is one node pool: write one name for each slice, or leave the list out"
            problems.append(cluster.source.problem("POOL002", (*pool.path, "nodePoolNames"), message, hint))
    problems += _duplicates(cluster)
    sizes = {pool.name: catalogue.cpu_machines.find(pool.machine_type) for pool in cluster.cpu_pools}
    for pool, shape in pools:
        host = shape.machine
        sizes[pool.name] = catalogue.cpu_machines.sized(host.vcpus, host.memory_gb * 1024)
    machines = {
        pool.name: replace(size, disk_gb=_disk_gb(cluster, pool, size.kept.disk.default_size))
        for pool in cluster.pools
        if (size := sizes.get(pool.name)) is not None
    }
    classes = tuple(
        (item, tuple(_rungs(cluster, item, catalogue, problems))) for item in cluster.compute_classes
    )
    return ResolvedCluster(cluster, tuple(pools), machines, classes), tuple(problems)


def _disk_gb(cluster: Cluster, pool: Pool, default: int) -> int:
    """Return the size of the boot disks of a pool; 0 if the storage of its nodes may be another."""
    config = cluster.written(pool).get("nodeConfig", {})
    is_of_class = isinstance(pool, TpuPool) and pool.provisioning.type == "ComputeClass"
    if cluster.mode == "Autopilot" or is_of_class or {"gcloudFlags", "terraformArguments"} & config.keys():
        return 0
    if isinstance(pool, CpuPool) and "environment" in cluster.spec:
        default = int(cluster.spec["environment"].get("cpuPoolDiskSize", CPU_DISK).removesuffix("GB"))
    return int(config.get("disk", {}).get("sizeGB", default))


def _shape(
    cluster: Cluster, tpu: TpuRequest, path: Path, catalogue: Catalogue, problems: list[Problem]
) -> Shape | None:
    """Return the shape of a `tpu:` field below a path, or add its problem."""
    answer = resolve(catalogue, tpu)
    if not isinstance(answer, Refusal):
        return answer
    problems.append(refusal_problem(cluster.source, (*path, "tpu"), answer))
    return None


def refusal_problem(source: Source, path: Path, refusal: Refusal) -> Problem:
    """Return why the catalogue refuses the `tpu:` field at a path of a document."""
    place = (*path, refusal.field) if refusal.field else path
    return source.problem(refusal.id, place, refusal.message, refusal.hint)


def _rungs(
    cluster: Cluster, item: ComputeClass, catalogue: Catalogue, problems: list[Problem]
) -> Iterator[tuple[Rung, Shape]]:
    for index, rung in enumerate(item.rungs):
        path: Path = ("spec", "computeClasses", item.index, "priorities", index)
        shape = _shape(cluster, rung.tpu, path, catalogue, problems)
        problems += _provisioned(cluster, rung.provisioning, shape, rung.max_run_duration_seconds, path)
        if shape is not None:
            yield rung, shape


def _provisioned(
    cluster: Cluster, way: Provisioning, shape: Shape | None, seconds: int | None, path: Path
) -> Iterator[Problem]:
    """Yield errors of GKE about the provisioning of a pool or of a priority; None is an unknown shape."""
    if shape and not is_served(shape, way):
        message = f"{shape.machine_type} is not available as {way.type}"
        yield cluster.source.problem("POOL011", (*path, "provisioning"), message, NOT_SERVED)
    if way.is_flex_start and (wrong := lifetime_problem("nodes must live", seconds)):
        yield cluster.source.problem("POOL012", (*path, "maxRunDurationSeconds"), *wrong)


def _duplicates(cluster: Cluster) -> Iterator[Problem]:
    """Yield a problem for each duplicate name of a pool or of a node pool, defaults included."""
    pools: dict[str, TpuPool | CpuPool] = {}
    taken: dict[str, str] = {}
    for pool in cluster.pools:
        if pool.name in pools:
            message, hint = f"duplicate pool '{pool.name}'", "give each pool its own name"
            yield cluster.source.problem("POOL001", (*pool.path, "name"), message, hint)
            continue
        pools[pool.name] = pool
    for pool in pools.values():
        for at, name in enumerate(pool.node_pool_names):
            other = taken.setdefault(name, pool.name)
            default = name.rpartition("-")[0]
            if other == pool.name and _is_default(name, pools.get(default)):
                other = default
            if other != pool.name:
                hint = f"pool '{other}' has the same node pool; write other nodePoolNames"
                path = (*pool.path, "nodePoolNames", at)
                yield cluster.source.problem("POOL001", path, f"duplicate node pool '{name}'", hint)


def _is_default(name: str, pool: TpuPool | CpuPool | None) -> bool:
    """Tell whether a node pool's name is one of those that a TPU pool gets where it writes none."""
    number = name.rpartition("-")[2]
    if not isinstance(pool, TpuPool) or pool.node_pool_names or not number.isdecimal():
        return False
    return number == str(int(number)) and int(number) < pool.slices


class SizeRange(Struct, frozen=True):
    """How many slices (of a TPU pool) or nodes (of a CPU pool) there are at least and at most."""

    least: int
    most: int


def count(pool: TpuPool | CpuPool) -> int:
    """Return how many slices or nodes the file gives a pool: its initial size, unless it starts empty."""
    return pool.slices if isinstance(pool, TpuPool) else pool.nodes


def node_life(site: ResolvedCluster, pool: TpuPool) -> float:
    """Return how many seconds GKE keeps the nodes of a pool at most; infinity if nothing limits it."""
    classes = {item.name: item.rungs for item in site.cluster.compute_classes}
    of_class = pool.provisioning.type == "ComputeClass"
    nodes = classes.get(pool.provisioning.name, ()) if of_class else (pool,)
    lives = (life_of(some.provisioning, some.max_run_duration_seconds) for some in nodes)
    return max(lives, default=math.inf)


def starts_empty(pool: TpuPool | CpuPool) -> bool:
    """Tell whether all node pools of a TPU pool start empty, whatever its autoscaling says."""
    return isinstance(pool, TpuPool) and pool.provisioning.is_flex_start


def autoscaling(site: ResolvedCluster, pool: TpuPool | CpuPool) -> SizeRange | None:
    """Return the bounds of `autoscaling` as written, also invalid ones; None without the field."""
    bounds = site.cluster.written(pool).get("autoscaling")
    return None if bounds is None else SizeRange(bounds.get("min", 0), bounds.get("max", count(pool)))


def size_range(site: ResolvedCluster, pool: TpuPool | CpuPool) -> SizeRange:
    """Return how many slices or nodes a pool has at least and at most.

    `slices` of a flex-start pool are the most that it has: it starts empty. The same holds on Autopilot and
    for ComputeClasses that make node pools, whose pools are declared capacity and go as far as the file says.
    """
    now, scales = count(pool), autoscaling(site, pool)
    most = max(now, scales.most) if scales else now
    least = 0 if starts_empty(pool) else min(scales.least, most) if scales else now
    return SizeRange(least, most)


def slice_names(pool: TpuPool, count: int) -> tuple[str, ...]:
    """Return the names of the first node pools of a TPU pool: those written, then `<pool>-<number>`."""
    names = pool.node_pool_names[:count]
    return (*names, *(f"{pool.name}-{index}" for index in range(len(names), count)))
