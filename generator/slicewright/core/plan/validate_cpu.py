"""Validate a run on CPU nodes against its pool: enough nodes, and requests that Kueue can count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.plan.scaling import size_range
from slicewright.core.problem import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.workload import Cpu, Workload
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Problem


def problems(workload: Workload, cpu: Cpu, site: ResolvedCluster) -> Iterator[Problem]:
    """Yield why a run on CPU nodes would never start, or would not be counted."""
    pool = next((pool for pool in site.cluster.cpu_pools if pool.name == cpu.pool), None)
    if pool is None:
        return  # REF004 says so
    most, file = size_range(site, pool).most, site.cluster.source.file.path
    if cpu.nodes > most:
        message = f"the run needs {counted(cpu.nodes, 'node')}; pool '{cpu.pool}' has {most} at most"
        hint = f"write nodes: {most} or less, or give the pool more nodes in {file}"
        warning = site.cluster.mode == "Autopilot"
        yield workload.source.problem("REF009", ("spec", "cpu", "nodes"), message, hint, warning=warning)
    if workload.queue_name and not _requests_cpu(workload):
        message = "the pods request no cpu: Kueue counts nothing for them and admits the run at once"
        hint = "write container: {resources: {requests: {cpu: ..., memory: ...}}}"
        yield workload.source.problem("POD005", ("spec", "container"), message, hint, key=True, warning=True)


def _requests_cpu(workload: Workload) -> bool:
    """Tell whether a container requests cpu, or limits it, which requests it too."""
    containers = (workload.container, *workload.own_containers)
    resources = [item.get("resources", {}) for item in containers]
    return any("cpu" in item.get(field, {}) for item in resources for field in ("requests", "limits"))
