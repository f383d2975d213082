"""WorkloadPriorityClasses, and PriorityClasses where pods are to name them; Topologies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.kubernetes.kinds import SCHEDULING_VERSION
from slicewright.core.platform.kueue import has_kueue, kueue_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster


def priority_classes(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the classes in order of their value.

    Those for pods preempt nobody: the scheduler would tear single pods out of slices, where Kueue takes
    whole workloads.
    """
    if not has_kueue(site):
        return
    for entry in site.cluster.priorities:
        said = {"description": entry.description} if entry.description else {}
        yield kueue_object(site, "WorkloadPriorityClass", entry.name, value=entry.value, **said)
        if entry.pods:
            yield {
                "apiVersion": SCHEDULING_VERSION,
                "kind": "PriorityClass",
                "metadata": {"name": entry.name},
                "value": entry.value,
                "preemptionPolicy": "Never",
                **said,
            }


def topologies(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the Topologies, for topology-aware scheduling."""
    for item in site.cluster.spec.get("topologies", []):
        yield kueue_object(site, "Topology", item["name"], spec={"levels": item["levels"]})
