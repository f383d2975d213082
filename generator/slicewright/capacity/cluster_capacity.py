"""The capacity of a cluster: pools, queues, cohorts, the workloads that fit, and the problems of each."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct

from slicewright.capacity.supply import Holder, Pool, cohorts, pools, queues
from slicewright.check.origin import Origins, of_inputs, said_of_input
from slicewright.check.rules.every import FITS
from slicewright.check.rules.fit_heads import heads, ways_apart
from slicewright.check.rules.pathways_servers import shared_host
from slicewright.check.rules.references_kueue import held
from slicewright.check.run import RuleSet
from slicewright.check.suppress import Entry, inputs, suppress
from slicewright.document.read import read_documents
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import QUEUE, TPU
from slicewright.kubernetes.problem import Problem, errors, in_order
from slicewright.kubernetes.types import plain, record
from slicewright.kueue import assignment, quota, quota_workload
from slicewright.kueue.quota_read import queue_of, quotas
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering import overlays
from slicewright.rendering.existing import Existing, locked_out
from slicewright.rendering.folder import platform_folder
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.plans import Planned, plan_all
from slicewright.rendering.platform.platform_files import objects
from slicewright.rendering.repository import Repository

_ERRORS = [rule for rule in FITS if rule.severity == "error" and rule.kinds & RUN_KINDS]
_OF_PLACE = (*_ERRORS, held, heads, shared_host)
"""Rules of `validate` about a run, its queue, its namespace and its nodes."""
_OF_OTHER_FLAVORS = "KQ164"
"""A warning of this rule is about flavors that Kueue tries when the first is full."""


class Workload(Struct, frozen=True):
    """One run of a workload, in its queue."""

    workload: str
    """`namespace/name` of the TPUWorkload."""
    run: str
    sweep: str
    """The TPUWorkload whose `matrix` has this run; empty for others."""
    kind: str
    queue: str
    cluster_queue: str
    """Empty if no queue is named, or if nothing is known of it."""
    chips: int
    possible: int | None
    """The most chips that the queue can give to pods like these; None if no queue is known."""
    fits: bool | None
    """Whether it can ever be admitted and run; None if it is not known, or if a problem is a warning."""
    borrows: int
    """The chips beyond the nominal quota of its queue that it needs, with nothing else running."""
    flavors: dict[str, dict[str, str]]
    """The flavors that each pod set is given by resource, with nothing else running."""
    problems: tuple[Problem, ...]


def workloads(
    repository: Repository,
    object_set: ObjectSet,
    pairs: Iterable[tuple[Planned, Resource]],
    problems: Iterable[Problem],
    ignored: Sequence[Entry],
) -> tuple[Workload, ...]:
    """Return the runs of some objects; problems that are ignored with a reason are left out.

    `problems` are those of their TPUWorkloads. One about the same mistake replaces the problem of the run.
    """
    known = {(one.file, one.subject): one for one in object_set.all}
    origins = Origins(repository.workloads, repository.sites)
    broken = RuleSet(_OF_PLACE, repository.package.hint_of).problems(object_set)
    placed = [origins.placed(problem, known[problem.file, problem.object]) for problem in broken]
    refused = of_inputs(problems)
    by_object: dict[tuple[str, str], list[Problem]] = defaultdict(list)
    for problem in suppress(placed, [*inputs(origins.sources), *object_set.all], ignored):
        by_object[problem.folder, problem.object].append(said_of_input(problem, refused) or problem)
    return tuple(
        _workload(object_set, entry, run, by_object) for entry, run in pairs if run.kind in RUN_KINDS
    )


def _workload(
    object_set: ObjectSet, entry: Planned, item: Resource, by_object: dict[tuple[str, str], list[Problem]]
) -> Workload:
    queue = queue_of(item, object_set)
    sets = quota_workload.pod_sets(item, object_set)
    assigned = assignment.admit(quotas(object_set), queue, sets) if queue else None
    problems = by_object[item.file, item.subject]
    has_head = any(ways_apart(item, pods) for pods in sets)
    if queue is not None:
        local = f"LocalQueue {item.namespace or 'default'}/{item.labels.get(QUEUE)}"
        for subject in (f"ClusterQueue {queue.name}", local):
            found = by_object[platform_folder(entry.plan.cluster), subject]
            problems = [*problems, *(problem for problem in found if has_head or problem.id != heads.id)]
    return Workload(
        workload=entry.workload.key,
        run=item.name,
        sweep=entry.workload.sweep.name if entry.workload.sweep else "",
        kind=item.kind,
        queue=item.labels.get(QUEUE, ""),
        cluster_queue=queue.name if queue else "",
        chips=int(sum(pods.requests.get(TPU, 0) for pods in sets)),
        possible=None if queue is None else _possible(object_set, queue, sets),
        fits=_fits(problems, assigned),
        borrows=_borrowed(quotas(object_set), queue, assigned or ()) if queue else 0,
        flavors={pods.pods.name: pods.flavors for pods in assigned or ()},
        problems=tuple(problems),
    )


def _fits(problems: Sequence[Problem], assigned: Sequence[assignment.Assignment] | None) -> bool | None:
    ids = {problem.id for problem in problems}
    if errors(problems) or held.id in ids:
        return False
    return None if assigned is None or ids - {_OF_OTHER_FLAVORS} else True


def _borrowed(known: quota.Quotas, queue: quota.Node, assigned: Sequence[assignment.Assignment]) -> int:
    """Return the chips that a queue borrows for some assigned pod sets."""
    used: dict[str, Fraction] = {}
    for pods in assigned:
        if TPU in pods.flavors:
            quota.add(used, {pods.flavors[TPU]: assignment.asked(known, pods.pods)[TPU]})
    beyond = (chips - queue.cells[flavor, TPU].nominal for flavor, chips in used.items())
    return int(sum(chips for chips in beyond if chips > 0))


def _possible(object_set: ObjectSet, queue: quota.Node, sets: list[quota.PodSet]) -> int:
    """Return the most chips that these pod sets can get; each takes one flavor; two may take the same."""
    known = quotas(object_set)
    choices = [choice for choice in assignment.choices(known, queue, sets) if TPU in choice.requests]
    flavors = {flavor for choice in choices for flavor in choice.flavors}
    totals = sorted(int(quota.most(known, queue, (flavor, TPU)).total) for flavor in flavors)
    return sum(totals[-len(choices) :]) if choices else 0


def built(
    repository: Repository, planned: Iterable[Planned], existing: Mapping[str, str]
) -> tuple[list[tuple[Planned, Resource]], tuple[Problem, ...], list[str]]:
    """Return the objects of some plans, the problems of building them, and the files of frozen runs.

    A frozen run is what its file holds; what is not rendered yet is built as `render` would build it.
    `existing` holds the text of every file under overlays/ by path.
    """
    bases = overlays.Bases(repository.read_text, repository.package.schemas)
    present = Existing(existing)
    pairs: list[tuple[Planned, Resource]] = []
    problems: list[Problem] = []
    frozen: list[str] = []
    for entry in planned:
        live = _frozen(entry, present)
        frozen += live
        objects: list[Any] = []
        for path in live:
            objects += [document.data for document in read_documents(present.body(path) or "", path)[0]]
        if overlays.frozen_file(entry.plan) not in live:
            run, unbuilt = overlays.make(entry, bases)
            problems += unbuilt
            if run:
                objects += run.objects
        pairs += [(entry, Resource(data, entry.plan.folder)) for data in objects]
    return pairs, tuple(problems), frozen


def _frozen(entry: Planned, present: Existing) -> list[str]:
    """Return the files of a workload's live runs: a render ends earlier ones, unless it is to keep them."""
    if not entry.plan.run:
        return []
    own = overlays.frozen_file(entry.plan)
    live = [path for path in present.live_runs(entry.plan.folder) if path in present.frozen]
    return [path for path in live if path == own or entry.plan.on_change == "Keep"]


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
    beside: Sequence[Resource] = (),
) -> Report:
    """Return the capacity of some clusters of a repository.

    `existing` holds the text of every file under overlays/, `ignored` what is silenced with a reason, and
    `beside` what custom/ holds.
    """
    planned, planning = plan_all(repository)
    left = suppress(planning, inputs(repository.sources), ignored)
    problems = list(_about(repository, clusters, (problem for problem in planning if problem in left)))
    capacities = []
    for name in clusters:
        of_cluster, unbuilt = _of_cluster(
            repository, repository.sites[name], planned, existing, problems, ignored, beside
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
    beside: Sequence[Resource],
) -> tuple[Capacity, tuple[Problem, ...]]:
    own = [entry for entry in planned if entry.plan.cluster == site.cluster.name]
    pairs, unbuilt, frozen = built(repository, own, existing)
    # As validate sees it: the objects of a platform that is ours, else what the file declares.
    untainted = locked_out(site, Existing(existing), frozen)
    platform = objects(site, untainted) if site.cluster.managed else []
    items = [Resource(data, platform_folder(site.cluster.name)) for data in platform]
    items += [run for _, run in pairs]
    object_set = ObjectSet(items, repository.package.catalogue, site, beside)
    known, cluster = quotas(object_set), site.cluster
    return Capacity(
        cluster=cluster.name,
        mode=cluster.mode,
        managed=cluster.managed,
        pools=pools(site),
        cohorts=cohorts(known),
        queues=queues(known),
        workloads=workloads(repository, object_set, pairs, problems, ignored),
        problems=tuple(problem for problem in problems if problem.object == cluster.source.subject),
        spec=cluster.spec,
    ), unbuilt
