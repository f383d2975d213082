"""Pods of one way of provisioning that may run on nodes of another, for want of a label or a taint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.plan.placement import provisioning_selector, shape_selector, tolerated_taints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.cluster import TpuPool
    from slicewright.core.intent.workload import Provisioning
    from slicewright.core.plan.site import Site
    from slicewright.core.problem import Path, Problem


def against_mixing(site: Site) -> Iterator[Problem]:
    """Warn once of each two ways of a shape between which nothing keeps pods apart.

    On Autopilot GKE makes the nodes for the pods, and keeps others off.
    """
    if site.cluster.mode == "Autopilot":
        return
    told: set[tuple[tuple[tuple[str, str], ...], Provisioning, Provisioning]] = set()
    for pool, shape in site.pools:
        for other, its_shape in site.pools:
            pair = (tuple(shape_selector(shape).items()), pool.provisioning, other.provisioning)
            alike = shape_selector(shape) == shape_selector(its_shape)
            if alike and pair not in told and _mixes(site, pool, other):
                told.add(pair)
                yield _mixed(site, pool, other)


def _mixes(site: Site, pool: TpuPool, other: TpuPool) -> bool:
    """Tell whether pods of a pool may run on nodes of another one of its shape, obtained in another way.

    A label of the pool's own that the other one has not is one that its pods are meant to select.
    """
    mine, theirs = pool.provisioning, other.provisioning
    if mine == theirs or theirs.type == "ComputeClass":
        return False
    own, others = (site.cluster.spec["pools"][one.index].get("labels", {}) for one in (pool, other))
    wanted = {**own, **provisioning_selector(mine)}
    there = {**others, **provisioning_selector(theirs)}
    return wanted.items() <= there.items() and {*tolerated_taints(theirs)} <= {*tolerated_taints(mine)}


def _mixed(site: Site, pool: TpuPool, other: TpuPool) -> Problem:
    place: Path = ("spec", "pools", pool.index, "name")
    message = f"pods of '{pool.name}' ({pool.provisioning.type}) can run on nodes of '{other.name}' "
    message += f"({other.provisioning.type}) as well: no label and no taint keeps them off"
    hint = f"give '{pool.name}' a label that '{other.name}' has not, such as labels: {{nodes: {pool.name}}}, "
    hint += "and select it in podTemplate.spec.nodeSelector of its workloads"
    return site.cluster.source.problem("POOL031", place, message, hint, warning=True)
