"""Names in a platform that come twice, and names of what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.kinds import KUEUE_GROUP
from slicewright.core.platform.checks import QUEUED_CHECK
from slicewright.core.platform.flavor import capacities, queued
from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Path, Problem

_NAMED = {
    "topologies": "Topology",
    "computeClasses": "ComputeClass",
    "admissionChecks": "AdmissionCheck",
    "provisioningRequestConfigs": "ProvisioningRequestConfig",
    "cohorts": "Cohort",
    "clusterQueues": "ClusterQueue",
    "priorityClasses": "priority class",
}
_HOLDERS = ("cohorts", "clusterQueues")
_HIGHEST_OF_PODS = 1_000_000_000
"""The highest value that a PriorityClass of users may have (Kubernetes)."""


def validate_references(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of names."""
    yield from _twice(site)
    yield from _pools(site)
    yield from _cohorts(site)
    yield from _cycles(site)
    yield from _checks(site)
    yield from _priorities(site)
    for index, pool in enumerate(site.cluster.spec["pools"]):
        place: Path = ("spec", "pools", index, "topologyName")
        yield from _unknown(site, "Topology", pool.get("topologyName", ""), _names(site, "topologies"), place)


def _names(site: ResolvedCluster, field: str) -> list[str]:
    return [item["name"] for item in site.cluster.spec.get(field, [])]


def _unknown(
    site: ResolvedCluster, kind: str, name: str, known: Iterable[str], path: Path
) -> Iterator[Problem]:
    """Yield a problem where something is named and is not among what is known."""
    if name and name not in known:
        hint = did_you_mean(name, known) or f"declare it in {site.cluster.source.file.path}"
        yield site.cluster.source.problem("QUOTA002", path, f"there is no {kind} '{name}'", hint)


def _twice(site: ResolvedCluster) -> Iterator[Problem]:
    for field, kind in _NAMED.items():
        named = [(name, ("spec", field, index, "name")) for index, name in enumerate(_names(site, field))]
        yield from _repeated(site, kind, named)
    local: list[tuple[str, Path]] = [
        (
            f"{item.get('namespace', 'default')}/{item['name']}",
            ("spec", "clusterQueues", at, "localQueues", index, "name"),
        )
        for at, queue in enumerate(site.cluster.spec.get("clusterQueues", []))
        for index, item in enumerate(queue.get("localQueues", []))
    ]
    yield from _repeated(site, "LocalQueue", local)


def _repeated(
    site: ResolvedCluster, kind: str, named: Iterable[tuple[str, Path]], hint: str = "give each its own name"
) -> Iterator[Problem]:
    seen: set[str] = set()
    for name, path in named:
        if name in seen:
            message = f"duplicate {kind} '{name}'"
            yield site.cluster.source.problem("QUOTA001", path, message, hint)
        seen.add(name)


def _pools(site: ResolvedCluster) -> Iterator[Problem]:
    known = _names(site, "pools")
    for field in _HOLDERS:
        for at, holder in enumerate(site.cluster.spec.get(field, [])):
            base: Path = ("spec", field, at, "quota")
            quotas = holder.get("quota", [])
            for index, quota in enumerate(quotas):
                yield from _unknown(site, "pool", quota["pool"], known, (*base, index, "pool"))
            named = [(quota["pool"], (*base, index, "pool")) for index, quota in enumerate(quotas)]
            yield from _repeated(site, "quota of pool", named, "merge them into one quota")


def _cohorts(site: ResolvedCluster) -> Iterator[Problem]:
    known = _names(site, "cohorts")
    for field, key in (("cohorts", "parentName"), ("clusterQueues", "cohortName")):
        for index, holder in enumerate(site.cluster.spec.get(field, [])):
            yield from _unknown(site, "Cohort", holder.get(key, ""), known, ("spec", field, index, key))


def _cycles(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield one problem a cycle, at the first of its cohorts."""
    parents = {cohort.name: cohort.parent_name for cohort in site.cluster.cohorts}
    known: set[str] = set()
    for index, cohort in enumerate(site.cluster.cohorts):
        way: dict[str, None] = {}
        name = cohort.name
        while name and name not in way and name not in known:
            way[name] = None
            name = parents.get(name, "")
        if name == cohort.name and name not in known:
            known.update(way)
            message = f"cohorts are part of each other: {' in '.join((*way, cohort.name))}"
            hint = "Kueue admits nothing from a cycle: leave one parentName out"
            place: Path = ("spec", "cohorts", index, "parentName")
            yield site.cluster.source.problem("QUOTA011", place, message, hint)
        elif name not in way:
            known.update(way)


def _priorities(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield what the API server refuses of priorities that are for pods too."""
    for index, entry in enumerate(site.cluster.spec.get("priorityClasses", [])):
        if not entry.get("podPriorityClass", False):
            continue
        path: Path = ("spec", "priorityClasses", index)
        if entry["value"] > _HIGHEST_OF_PODS:
            message = f"'value' must be at most {_HIGHEST_OF_PODS} for pods, not {entry['value']}"
            hint = "write less, or leave podPriorityClass out: Kueue alone takes higher ones"
            yield site.cluster.source.problem("IN005", (*path, "value"), message, hint)
        if entry["name"].startswith("system-"):
            message = f"'name' cannot be '{entry['name']}' for pods: Kubernetes keeps 'system-' for itself"
            hint = "write another name, or leave podPriorityClass out"
            yield site.cluster.source.problem("IN005", (*path, "name"), message, hint)


def _checks(site: ResolvedCluster) -> Iterator[Problem]:
    source, declared = site.cluster.source, site.cluster.spec.get("admissionChecks", [])
    configs = [*_names(site, "provisioningRequestConfigs"), QUEUED_CHECK]
    for index, check in enumerate(declared):
        path: Path = ("spec", "admissionChecks", index)
        if check["name"] == QUEUED_CHECK:
            message = f"the AdmissionCheck '{QUEUED_CHECK}' is made on its own, for queued flex-start pools"
            yield source.problem("QUOTA014", (*path, "name"), message, "give yours another name")
        parameters = check.get("parameters", {})
        if (parameters.get("apiGroup"), parameters.get("kind")) == (KUEUE_GROUP, "ProvisioningRequestConfig"):
            place = (*path, "parameters", "name")
            yield from _unknown(site, "ProvisioningRequestConfig", parameters["name"], configs, place)
    known = [check["name"] for check in declared]
    pools = capacities(site)
    for at, queue in enumerate(site.cluster.cluster_queues):
        own = [pools[quota.pool] for quota in queue.quota if quota.pool in pools]
        flavors = list(dict.fromkeys(capacity.flavor.name for capacity in own))
        yield from _queue_checks(site, at, queue.written.get("admissionChecks", []), known, flavors)
        if queued(own) and any(
            item["name"] == QUEUED_CHECK for item in queue.written.get("admissionChecks", [])
        ):
            place = ("spec", "clusterQueues", at, "admissionChecks")
            message = f"the queue has the AdmissionCheck '{QUEUED_CHECK}' already, for its queued flavors"
            yield source.problem("QUOTA014", place, message, "leave it out", key=True)


def _queue_checks(
    site: ResolvedCluster, at: int, written: list[dict[str, Any]], known: list[str], flavors: list[str]
) -> Iterator[Problem]:
    base: Path = ("spec", "clusterQueues", at, "admissionChecks")
    named = [(check["name"], (*base, index, "name")) for index, check in enumerate(written)]
    yield from _repeated(site, "AdmissionCheck", named)
    for index, check in enumerate(written):
        if check["name"] != QUEUED_CHECK:
            yield from _unknown(site, "AdmissionCheck", check["name"], known, (*base, index, "name"))
        for number, flavor in enumerate(check.get("onFlavors", [])):
            place = (*base, index, "onFlavors", number)
            yield from _unknown(site, "quota of this queue for the flavor", flavor, flavors, place)
