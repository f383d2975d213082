"""Workloads that ask for what no platform makes: a namespace, a ComputeClass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.platform.teams import is_given, namespaces
from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.core.intent.workload import Workload
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Problem


def problems_of_workloads(
    sites: Mapping[str, ResolvedCluster], workloads: Iterable[Workload]
) -> Iterator[Problem]:
    """Yield what workloads ask for in vain, where the platform of the cluster is ours."""
    ours = {name: site for name, site in sites.items() if site.cluster.managed}
    made = {name: [item["metadata"]["name"] for item in namespaces(site)] for name, site in ours.items()}
    for workload in workloads:
        for cluster in workload.clusters:
            if cluster in ours:
                yield from _namespace(workload, ours[cluster], made[cluster])
                yield from _compute_class(workload, ours[cluster])


def _namespace(workload: Workload, site: ResolvedCluster, made: list[str]) -> Iterator[Problem]:
    """Warn of a namespace that nothing makes: somebody else may."""
    if is_given(workload.namespace) or workload.namespace in made:
        return
    message = f"nothing makes namespace '{workload.namespace}' on cluster '{site.cluster.name}'"
    hint = did_you_mean(workload.namespace, made) or f"add a team to {site.cluster.source.file.path}"
    yield workload.source.problem("TEAM006", ("metadata", "namespace"), message, hint, warning=True)


def _compute_class(workload: Workload, site: ResolvedCluster) -> Iterator[Problem]:
    """Refuse a ComputeClass that is not among those of the file; where it has none, any is taken on trust."""
    known = [item.name for item in site.cluster.compute_classes]
    name = workload.provisioning.name
    if known and workload.provisioning.type == "ComputeClass" and name not in known:
        message = f"cluster '{site.cluster.name}' has no ComputeClass '{name}'"
        hint = did_you_mean(name, known)
        yield workload.source.problem("POOL017", ("spec", "provisioning", "name"), message, hint)
