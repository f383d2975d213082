"""Pools whose flavors clash or keep nobody off; Topologies and ComputeClasses that would be refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    NODE_POOL,
    PROVISIONING,
    TOPOLOGY,
)
from slicewright.core.plan.ways import value
from slicewright.core.platform.flavor import CpuCapacity, capacities, kept_apart
from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.platform.flavor import Capacity
    from slicewright.core.problem import Path, Problem

_OF_GKE = frozenset({ACCELERATOR, ACCELERATOR_COUNT, NODE_POOL, TOPOLOGY})
"""Labels that GKE gives every node by what it is; flavors and pods select by them."""


def validate_pools(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of pools, topologies and ComputeClasses."""
    yield from _flavors(site)
    yield from _labels(site)
    yield from _levels(site)
    yield from _rungs(site)
    known = [item.name for item in site.cluster.compute_classes]
    for pool in site.cluster.tpu_pools:
        name = pool.provisioning.name
        if known and pool.provisioning.type == "ComputeClass" and name not in known:
            place: Path = ("spec", "pools", pool.index, "provisioning", "name")
            message = f"ComputeClass '{name}' is not defined"
            yield site.cluster.source.problem("POOL017", place, message, did_you_mean(name, known))


def _flavors(site: ResolvedCluster) -> Iterator[Problem]:
    taken: dict[str, Capacity] = {}
    for capacity in capacities(site).values():
        first = taken.setdefault(capacity.flavor.name, capacity)
        if first is capacity:
            continue
        if first.flavor == capacity.flavor and not isinstance(capacity, CpuCapacity):
            continue
        name = capacity.flavor.name
        written = "flavor" in site.cluster.spec["pools"][capacity.pool.index]
        place: Path = ("spec", "pools", capacity.pool.index, "flavor" if written else "name")
        message = f"pools '{first.pool.name}' and '{capacity.pool.name}' share the flavor '{name}', "
        message += "but their nodes differ"
        hint = "only slices of one shape, provisioning and topology add up: write another `flavor`"
        yield site.cluster.source.problem("POOL015", place, message, hint)


def _labels(site: ResolvedCluster) -> Iterator[Problem]:
    for index, pool in enumerate(site.cluster.spec["pools"]):
        for key in pool.get("labels", {}):
            if key in _OF_GKE:
                place: Path = ("spec", "pools", index, "labels", key)
                message = f"'{key}' has no effect: GKE gives it to the nodes itself"
                hint = "leave it out: it follows from the machine type, the topology and the node pool"
                yield site.cluster.source.problem("FIELD002", place, message, hint, key=True)


def _levels(site: ResolvedCluster) -> Iterator[Problem]:
    for at, item in enumerate(site.cluster.spec.get("topologies", [])):
        labels = [level["nodeLabel"] for level in item["levels"]]
        for index, label in enumerate(labels):
            place: Path = ("spec", "topologies", at, "levels", index, "nodeLabel")
            if label in labels[:index]:
                message, hint = f"duplicate level '{label}'", "each level is narrower than the one before"
                yield site.cluster.source.problem("QUOTA015", place, message, hint)


def _rungs(site: ResolvedCluster) -> Iterator[Problem]:
    source = site.cluster.source
    for item, rungs in site.compute_classes:
        shapes = dict(rungs)
        for index, rung in enumerate(item.rungs):
            path: Path = ("spec", "computeClasses", item.index, "priorities", index)
            wanted, shape = rung.provisioning, shapes.get(rung)
            if wanted.type in ("ComputeClass", "FlexStartQueued"):
                message = f"a rung of a ComputeClass is not available as {wanted.type}"
                hint = "write OnDemand, Spot, FlexStart or a Reservation"
                yield source.problem("POOL013", (*path, "provisioning"), message, hint)
            if shape is None:
                continue
            by_policy = shape.multi_host and shape.machine.placement == "HIGH_THROUGHPUT"
            if by_policy and not rung.placement_policy_name:
                message = f"multi-host slices of {shape.machine_type} need a workload policy"
                hint = "add placementPolicyName: the name of a policy for this topology"
                yield source.problem("POOL014", path, message, hint)
            elif rung.placement_policy_name and not by_policy:
                message = f"{shape.topology} on {shape.machine_type} takes no workload policy"
                hint = (
                    f"leave it out: GKE places slices of {shape.topology} on {shape.machine_type} without one"
                )
                yield source.problem("POOL014", (*path, "placementPolicyName"), message, hint, key=True)


def validate_mixing(site: ResolvedCluster) -> Iterator[Problem]:
    """Warn of flavors whose taint is turned off: what Kueue may count there."""
    for name, one in kept_apart(site).items():
        if one.flavor.may_have_taint:
            continue
        message = f"flavor '{name}' has no taint: Kueue may count runs of another provisioning on it, "
        message += "which then wait for nodes or take those of other runs"
        toleration = f"{PROVISIONING}={value(one.pool.provisioning)}:NoSchedule"
        hint = f"leave flavorTaint out, and let the workloads that need it tolerate {toleration}; "
        hint += "a PathwaysJob cannot: write api: JobSet with the same pathways block"
        place: Path = ("spec", "pools", one.pool.index, "flavorTaint")
        yield site.cluster.source.problem("POOL050", place, message, hint, key=True, warning=True)
