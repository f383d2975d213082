"""A rule of nodes: a pod fits one of the pool that it selects."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from slicewright.core.catalogue.geometry import joined
from slicewright.core.check import quota_workload
from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.kubernetes.kinds import RUN_KINDS
from slicewright.core.kubernetes.labels import NODE_POOL
from slicewright.core.kubernetes.quantity import plain
from slicewright.core.plan.names import PATHWAYS_HEAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.cpu_machine import CpuMachine
    from slicewright.core.intent.cluster import CpuPool

_MEBI = Fraction(2**20)


def needs(names: list[str]) -> str:
    """Return how a message begins that says what some pod sets ask for."""
    if names == [PATHWAYS_HEAD]:
        return "the Pathways head needs"
    listed = joined([f"'{name}'" for name in names])
    return f"pods {listed} need"


def beyond(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Finding, str, str]]:
    """Yield what a pod asks for beyond a node of its pool, with the names of its pod set and the resource."""
    for pods, asked in zip(resource.pods, quota_workload.pod_sets(resource, objects), strict=False):
        pool, machine = objects.once("node pools", _pools).get(pods.selector.get(NODE_POOL, ""), (None, None))
        if pool is None or machine is None or not asked.count:
            continue
        for name, most in _sizes(machine).items():
            wanted = asked.requests.get(name, Fraction(0)) / asked.count
            if wanted > most:
                each = " each" if asked.count > 1 else ""
                has = _shown(name, most).removesuffix(f" {name}")
                message = f"{needs([asked.name])} {_shown(name, wanted)}{each}; "
                message += f"pool {pool.name} has {has} per node"
                hint = f"write a larger machineType than {pool.machine_type} for the pool, or ask for less"
                yield Finding(pods.spec_path, message, hint), asked.name, name


def _pools(objects: ObjectSet) -> dict[str, tuple[CpuPool, CpuMachine]]:
    """Return the CPU pools of a cluster whose machines are known, by the names of their node pools."""
    site = objects.site
    if site is None:
        return {}
    return {
        name: (pool, site.machines[pool.name])
        for pool in site.cluster.cpu_pools
        for name in pool.node_pool_names
        if pool.name in site.machines
    }


def _sizes(machine: CpuMachine) -> dict[str, Fraction]:
    millicpus, mebibytes = machine.allocatable_millicpus, machine.allocatable_mib
    return {"cpu": Fraction(millicpus) / 1000, "memory": Fraction(mebibytes) * _MEBI}


def _shown(resource: str, value: Fraction) -> str:
    return f"{plain(value)} cpu" if resource == "cpu" else f"{plain(round(value / 2**30, 1))}Gi memory"


@rule("FIT130", RUN_KINDS)
def _too_large(resource: Resource, objects: ObjectSet) -> Findings:
    for finding, _, _ in beyond(resource, objects):
        yield finding
