"""What stands against a workload among the pools of its cluster: no nodes for it, as far as the file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.plan.placement import provisioning_selector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.cluster import TpuPool
    from slicewright.core.intent.workload import Provisioning, Workload
    from slicewright.core.plan.site import Site
    from slicewright.core.problem import Problem

_TAINTED = ("Spot", "FlexStartQueued", "ComputeClass")
"""The ways of provisioning whose nodes keep off pods that do not tolerate it."""


def problems(workload: Workload, shape: Shape, site: Site) -> Iterator[Problem]:
    """Say where no pool of the cluster has what the pods select: the run would wait for ever.

    It is an error where that is certain, else a warning.
    """
    if not site.pools or workload.provisioning.type == "ComputeClass":
        return
    same = [pool for pool, has in site.pools if has == shape]
    wanted, file = workload.provisioning, site.cluster.source.file.path
    fitting = [pool for pool in same if _way(pool.provisioning) == _way(wanted)]
    label = f"{shape.topology} on {shape.machine_type}"
    certain = _has_no_other_nodes(site)
    ends = "it would wait for ever"
    if not certain:
        others = "GKE" if site.cluster.mode == "Autopilot" else "something else"
        ends += f", unless {others} makes such nodes"
    if fitting:
        yield from _run_time(workload, fitting, site)
    elif same:
        has = ", ".join(f"'{pool.name}' ({_way(pool.provisioning)})" for pool in same)
        message = f"cluster '{site.cluster.name}' has {label} only as {has}"
        never = all(_keeps_off(workload, pool) for pool in same)
        ends = ends if never else "it may wait for ever"
        hint = f"{ends}: change spec.provisioning, or declare a pool of {_way(wanted)} in {file}"
        place = ("spec", "provisioning")
        yield workload.source.problem("REF006", place, message, hint, warning=not (certain and never))
    else:
        message = f"cluster '{site.cluster.name}' has no pool of {label}"
        hint = f"{ends}: declare such a pool in {file}, or change spec.tpu"
        yield workload.source.problem("REF006", ("spec", "tpu"), message, hint, warning=not certain)


def _way(wanted: Provisioning) -> str:
    """Return `Spot`, or `Reservation r1`."""
    return f"{wanted.type} {wanted.name}".rstrip()


def _has_no_other_nodes(site: Site) -> bool:
    """Tell whether the pools of the file are all that makes TPU nodes on a cluster.

    Autopilot makes nodes for whatever pods select. What somebody else makes (`managed: false`) the file may
    tell in part. A ComputeClass makes node pools by its ladder, for pods that name none too where it is the
    default of a namespace or of the cluster. There remains the Standard cluster that is ours. Nothing that we
    write turns node auto-provisioning on, and whoever did so by hand declares the shape all the same: queues
    and rehearsals know of it by its pool alone, and with `autoscaling: {min: 0}` it stands empty.
    """
    cluster = site.cluster
    by_class = any(pool.provisioning.type == "ComputeClass" for pool in cluster.tpu_pools)
    by_class = by_class or bool(cluster.compute_classes)
    return cluster.managed and cluster.mode == "Standard" and not by_class


def _keeps_off(workload: Workload, pool: TpuPool) -> bool:
    """Tell whether the nodes of a pool of the right shape, but of another provisioning, take no such pods.

    Pods that select a label of theirs do not find it there, and Kueue adds none that the nodes do not have.
    Others are kept off by taints alone: the flavor of a queue tolerates them, and what people add may.
    """
    if provisioning_selector(workload.provisioning):
        return True
    tolerates = workload.queue_name or workload.components or workload.patches
    tolerates = tolerates or workload.pod_template.get("spec", {}).get("tolerations")
    return pool.provisioning.type in _TAINTED and not tolerates


def _run_time(workload: Workload, pools: list[TpuPool], site: Site) -> Iterator[Problem]:
    """Warn where the nodes of no pool have the label by which the pods say how long they want them.

    GKE labels nodes with the limit of their pool. Only Autopilot makes nodes for the number that a pod says.
    """
    seconds = workload.max_run_duration_seconds
    standard = site.cluster.mode == "Standard"
    if seconds is None or workload.provisioning.type != "FlexStart" or not standard:
        return
    limits = {pool.name: pool.max_run_duration_seconds for pool in pools}
    if seconds in limits.values():
        return
    has = ", ".join(f"'{name}' {'none' if limit is None else limit}" for name, limit in limits.items())
    message = f"the pods select nodes of maxRunDurationSeconds {seconds}, and no pool has it: {has}"
    others = sorted({limit for limit in limits.values() if limit is not None})
    here = f"write {' or '.join(map(str, others))} here" if others else "leave it out here"
    hint = f"{here}, or write {seconds} in the pool in {site.cluster.source.file.path}"
    yield workload.source.problem("REF007", ("spec", "maxRunDurationSeconds"), message, hint, warning=True)
