"""What stands against a workload among the pools of its cluster: no nodes for it, as far as the file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.cluster import TpuPool
    from slicewright.core.intent.workload import Workload
    from slicewright.core.plan.site import Site
    from slicewright.core.problem import Problem


def problems(workload: Workload, shape: Shape, site: Site) -> Iterator[Problem]:
    """Warn where no pool of the cluster has what the pods select: the run would wait for ever."""
    if not site.pools or workload.provisioning.type == "ComputeClass":
        return
    same = [pool for pool, has in site.pools if has == shape]
    fitting = [pool for pool in same if pool.provisioning.type == workload.provisioning.type]
    label = f"{shape.topology} on {shape.machine_type}"
    if fitting:
        yield from _run_time(workload, fitting, site)
    elif same:
        has = ", ".join(f"'{pool.name}' ({pool.provisioning.type})" for pool in same)
        message = f"cluster '{site.cluster.name}' has {label} only as {has}"
        hint = "change spec.provisioning, or declare such a pool in the TPUCluster"
        yield workload.source.problem("REF006", ("spec", "provisioning"), message, hint, warning=True)
    else:
        message = f"cluster '{site.cluster.name}' has no pool of {label}"
        hint = f"declare one in {site.cluster.source.file.path}, or the run waits for ever"
        yield workload.source.problem("REF006", ("spec", "tpu"), message, hint, warning=True)


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
