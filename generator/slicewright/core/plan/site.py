"""A cluster with the shapes of its pools resolved, and what is wrong with its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slicewright.core.catalogue.resolve import Refusal, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.cluster import Cluster, TpuPool
    from slicewright.core.problem import Path, Problem

NOT_YET = {
    "gitops": "this version renders nothing for Argo CD or Flux",
    "environment": "this version renders no Terraform",
}
"""Fields of the format that nothing acts on yet; to accept them would be to promise what is not done."""


@dataclass(frozen=True, slots=True)
class Site:
    """One cluster, ready to take workloads."""

    cluster: Cluster
    pools: tuple[tuple[TpuPool, Shape], ...]


def survey(cluster: Cluster, catalogue: Catalogue) -> tuple[Site, tuple[Problem, ...]]:
    """Return a cluster with the shapes of its TPU pools, and the problems of its file."""
    found = list(_not_yet(cluster))
    pools: list[tuple[TpuPool, Shape]] = []
    indexes = [index for index, pool in enumerate(cluster.spec.get("pools", [])) if "tpu" in pool]
    for index, pool in zip(indexes, cluster.tpu_pools, strict=True):
        answer = resolve(catalogue, pool.tpu)
        path: Path = ("spec", "pools", index)
        if isinstance(answer, Refusal):
            place = (*path, "tpu", answer.field) if answer.field else (*path, "tpu")
            found.append(cluster.source.problem(answer.id, place, answer.message, answer.hint))
        else:
            pools.append((pool, answer))
        if len(pool.node_pool_names) != pool.slices:
            message = f"{len(pool.node_pool_names)} node pool names for {pool.slices} slices"
            hint = "each slice is one node pool: write one name a slice, or leave the list out"
            found.append(cluster.source.problem("POOL002", (*path, "nodePoolNames"), message, hint))
    found += _twice(cluster)
    return Site(cluster, tuple(pools)), tuple(found)


def _not_yet(cluster: Cluster) -> Iterator[Problem]:
    if cluster.managed:
        message = "this version renders no platform (queues, node pools)"
        hint = "write managed: false: the platform exists already, and its queues and pools are declared here"
        yield cluster.source.problem("FIELD002", ("spec", "managed"), message, hint)
    for field, reason in NOT_YET.items():
        if field in cluster.spec:
            message = f"'{field}' has no effect: {reason}"
            hint = "leave the field out until then"
            yield cluster.source.problem("FIELD002", ("spec", field), message, hint, key=True)


def _twice(cluster: Cluster) -> Iterator[Problem]:
    names: set[str] = set()
    node_pools: set[str] = set()
    for index, pool in enumerate(cluster.spec.get("pools", [])):
        path: Path = ("spec", "pools", index)
        if pool["name"] in names:
            message = f"pool '{pool['name']}' comes twice"
            yield cluster.source.problem("POOL001", (*path, "name"), message, "give each pool its own name")
        names.add(pool["name"])
        for at, name in enumerate(pool.get("nodePoolNames", [])):
            if name in node_pools:
                message = f"node pool '{name}' comes twice"
                place = (*path, "nodePoolNames", at)
                yield cluster.source.problem(
                    "POOL001", place, message, "each slice is a node pool of its own"
                )
            node_pools.add(name)
