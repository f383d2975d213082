"""A cluster with the shapes of its pools resolved, and what is wrong with its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slicewright.core.catalogue.resolve import Refusal, resolve
from slicewright.core.intent.cluster import CpuPool, TpuPool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.cluster import Cluster
    from slicewright.core.problem import Path, Problem

NOT_YET = {
    "gitops": "this version renders nothing for Argo CD or Flux",
    "environment": "this version renders no Terraform",
}
"""Fields of the format that nothing acts on yet; to accept them would be to promise what is not done."""

_OLDEST_JOBSET = (0, 9, 0)
"""The release that brought `groupName`, which the bases write; an older API server refuses it."""


@dataclass(frozen=True, slots=True)
class Site:
    """One cluster, ready to take workloads."""

    cluster: Cluster
    pools: tuple[tuple[TpuPool, Shape], ...]


def survey(cluster: Cluster, catalogue: Catalogue) -> tuple[Site, tuple[Problem, ...]]:
    """Return a cluster with the shapes of its TPU pools, and the problems of its file."""
    found = list(_not_yet(cluster))
    pools: list[tuple[TpuPool, Shape]] = []
    for pool in cluster.tpu_pools:
        answer = resolve(catalogue, pool.tpu)
        path: Path = ("spec", "pools", pool.index)
        if isinstance(answer, Refusal):
            place = (*path, "tpu", answer.field) if answer.field else (*path, "tpu")
            found.append(cluster.source.problem(answer.id, place, answer.message, answer.hint))
        else:
            pools.append((pool, answer))
        if pool.node_pool_names and len(pool.node_pool_names) != pool.slices:
            slices = "1 slice" if pool.slices == 1 else f"{pool.slices} slices"
            message = f"{len(pool.node_pool_names)} node pool names for {slices}"
            hint = "each slice is one node pool: write one name a slice, or leave the list out"
            found.append(cluster.source.problem("POOL002", (*path, "nodePoolNames"), message, hint))
    found += _twice(cluster)
    return Site(cluster, tuple(pools)), tuple(found)


def _not_yet(cluster: Cluster) -> Iterator[Problem]:
    if cluster.managed:
        message = "this version renders no platform (queues, node pools)"
        hint = "write managed: false: the platform exists already, and its queues and pools are declared here"
        yield cluster.source.problem("FIELD002", ("spec", "managed"), message, hint)
    jobset = cluster.spec.get("versions", {}).get("jobset", "")
    if jobset and tuple(int(part) for part in jobset[1:].split("-")[0].split(".")) < _OLDEST_JOBSET:
        message = "this version renders for JobSet v0.9.0 and newer"
        hint = "upgrade JobSet; without the field v0.12.0 is meant"
        yield cluster.source.problem("FIELD002", ("spec", "versions", "jobset"), message, hint)
    for field, reason in NOT_YET.items():
        if field in cluster.spec:
            message = f"'{field}' has no effect: {reason}"
            hint = "leave the field out until then"
            yield cluster.source.problem("FIELD002", ("spec", field), message, hint, key=True)


def _twice(cluster: Cluster) -> Iterator[Problem]:
    """Yield a problem for each name of a pool or of a node pool that comes twice, defaults included."""
    pools: dict[str, TpuPool | CpuPool] = {}
    taken: dict[str, str] = {}
    for pool in _in_order(cluster):
        path: Path = ("spec", "pools", pool.index)
        if pool.name in pools:
            message = f"pool '{pool.name}' comes twice"
            yield cluster.source.problem("POOL001", (*path, "name"), message, "give each pool its own name")
            continue
        pools[pool.name] = pool
    for pool in pools.values():
        for at, name in enumerate(pool.node_pool_names):
            other = taken.setdefault(name, pool.name)
            default = name.rpartition("-")[0]
            if other == pool.name and _is_default(name, pools.get(default)):
                other = default
            if other != pool.name:
                message = f"node pool '{name}' comes twice"
                hint = f"pool '{other}' has it; write other nodePoolNames"
                place = ("spec", "pools", pool.index, "nodePoolNames", at)
                yield cluster.source.problem("POOL001", place, message, hint)


def _in_order(cluster: Cluster) -> list[TpuPool | CpuPool]:
    pools: list[TpuPool | CpuPool] = [*cluster.tpu_pools, *cluster.cpu_pools]
    return sorted(pools, key=lambda pool: pool.index)


def _is_default(name: str, pool: TpuPool | CpuPool | None) -> bool:
    """Tell whether a node pool's name is one of those that a TPU pool gets where it writes none."""
    number = name.rpartition("-")[2]
    if not isinstance(pool, TpuPool) or pool.node_pool_names or not number.isdecimal():
        return False
    return number == str(int(number)) and int(number) < pool.slices
