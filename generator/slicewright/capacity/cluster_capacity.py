"""The capacity of one cluster: pools, queues, cohorts, workloads, and what is wrong with each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from slicewright.capacity.supply import Holder, Pool, cohorts, pools, queues
from slicewright.capacity.workloads import Workload, runs, workloads
from slicewright.check.origin import Origins
from slicewright.check.suppress import Entry, inputs, suppress
from slicewright.kubernetes.problem import Problem, in_order
from slicewright.kubernetes.types import plain, record
from slicewright.kueue.quota_read import quotas
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.existing import Existing, locked_out
from slicewright.rendering.folder import platform_folder
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.plans import Planned, plan_all
from slicewright.rendering.platform.platform_files import objects
from slicewright.rendering.repository import Repository


class Capacity(Struct, frozen=True):
    """The supply and the demand of a cluster."""

    cluster: str
    mode: str
    managed: bool
    pools: tuple[Pool, ...]
    cohorts: tuple[Holder, ...]
    queues: tuple[Holder, ...]
    workloads: tuple[Workload, ...]
    problems: tuple[Problem, ...]
    """Problems of the cluster's file."""
    spec: dict[str, Any]
    """As the file has it."""

    def about(self, field: str, name: str) -> tuple[Problem, ...]:
        """Return the problems of an entry of `pools`, `clusterQueues` or `cohorts` in the file."""
        entries = enumerate(self.spec.get(field, ()))
        places = {(field, index) for index, entry in entries if entry["name"] == name}
        return tuple(problem for problem in self.problems if problem.path[1:3] in places)

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""

        def marked(field: str, entries: Iterable[Pool | Holder]) -> list[dict[str, Any]]:
            return [{**record(entry), "problems": plain(self.about(field, entry.name))} for entry in entries]

        return {
            "cluster": self.cluster,
            "mode": self.mode,
            "managed": self.managed,
            "pools": marked("pools", self.pools),
            "cohorts": marked("cohorts", self.cohorts),
            "queues": marked("clusterQueues", self.queues),
            "workloads": plain(self.workloads),
        }


class Report(Struct, frozen=True):
    """The capacity of some clusters, and everything that is wrong (schemas/slicewright/capacity.json)."""

    clusters: tuple[Capacity, ...]
    problems: tuple[Problem, ...]


def capacity(
    repository: Repository,
    existing: Mapping[str, str],
    clusters: Sequence[str],
    ignored: Sequence[Entry] = (),
) -> Report:
    """Return the capacity of some clusters of a repository.

    `existing` holds the text of every file under overlays/, `ignored` what is silenced with a reason.
    """
    planned, planning = plan_all(repository)
    left = suppress(planning, inputs(repository.sources), ignored)
    problems = list(_about(repository, clusters, (problem for problem in planning if problem in left)))
    capacities = []
    for name in clusters:
        of_cluster, unbuilt = _of_cluster(
            repository, repository.sites[name], planned, existing, problems, ignored
        )
        problems += unbuilt
        problems += [problem for workload in of_cluster.workloads for problem in workload.problems]
        capacities.append(of_cluster)
    return Report(tuple(capacities), in_order(problems))


def _about(repository: Repository, clusters: Sequence[str], problems: Iterable[Problem]) -> Iterator[Problem]:
    """Return the problems that are not about other clusters, or about workloads that run only there."""
    others = {site.cluster.source.subject for name, site in repository.sites.items() if name not in clusters}
    others |= {
        workload.source.subject
        for workload in repository.workloads
        if set(workload.clusters).isdisjoint(clusters) and repository.sites.keys() >= set(workload.clusters)
    }
    return (problem for problem in problems if problem.object not in others)


def _of_cluster(
    repository: Repository,
    site: ResolvedCluster,
    planned: Iterable[Planned],
    existing: Mapping[str, str],
    problems: Iterable[Problem],
    ignored: Sequence[Entry],
) -> tuple[Capacity, tuple[Problem, ...]]:
    own = [entry for entry in planned if entry.plan.cluster == site.cluster.name]
    pairs, unbuilt, frozen = runs(repository, own, existing)
    # As validate sees it: the objects of a platform that is ours, else what the file declares.
    untainted = locked_out(site, Existing(existing), frozen)
    platform = objects(site, untainted) if site.cluster.managed else []
    items = [Resource(data, platform_folder(site.cluster.name)) for data in platform]
    items += [run for _, run in pairs]
    object_set = ObjectSet(items, repository.package.catalogue, site)
    known, cluster = quotas(object_set), site.cluster
    origins = Origins(repository.workloads, repository.sites)
    return Capacity(
        cluster=cluster.name,
        mode=cluster.mode,
        managed=cluster.managed,
        pools=pools(site),
        cohorts=cohorts(known),
        queues=queues(known),
        workloads=workloads(object_set, pairs, origins, problems, ignored, repository.package.hint_of),
        problems=tuple(problem for problem in problems if problem.object == cluster.source.subject),
        spec=cluster.spec,
    ), unbuilt
