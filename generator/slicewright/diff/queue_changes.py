"""What queues may use, and what is asked of them, before and after."""

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.diff.run_changes import runs_of
from slicewright.diff.tree_version import Objects, TreeObject
from slicewright.kubernetes.fields import at, entries, text
from slicewright.kubernetes.labels import QUEUE, TPU
from slicewright.kubernetes.quantity import amount
from slicewright.kueue.quota_workload import pod_sets
from slicewright.objects import ObjectSet, Resource

_HOLDERS = frozenset({"ClusterQueue", "Cohort"})
_LIMITS = frozenset({"nominalQuota", "borrowingLimit", "lendingLimit"})
Cell = tuple[str, str, str, str, str, str]
"""Cluster, kind, name, flavor, resource and limit."""
Queue = tuple[str, str, str]
"""Cluster, namespace and name; the name is empty where a run asks no queue."""


class QuotaMove(Struct, frozen=True):
    """One limit of a queue or cohort that moves; None if it is not set."""

    cluster: str
    kind: str
    queue: str
    flavor: str
    resource: str
    limit: str
    before: str | None
    after: str | None


class Asked(Struct, frozen=True):
    """The chips that all runs of a queue ask for together."""

    cluster: str
    namespace: str
    queue: str
    cluster_queue: str
    """The ClusterQueue behind it; empty if the tree does not say."""
    before: int
    after: int


def counter(catalogue: Catalogue) -> Callable[[TreeObject], int]:
    """Return a function that counts the chips that a run asks for."""
    object_set = ObjectSet((), catalogue)
    known: dict[int, int] = {}

    def chips_of(run: TreeObject) -> int:
        if id(run.data) not in known:  # both sides share what did not change
            sets = pod_sets(Resource(run.data, run.folder.path), object_set)
            known[id(run.data)] = int(sum(pods.requests.get(TPU, 0) for pods in sets))
        return known[id(run.data)]

    return chips_of


def moves(before: Objects, after: Objects) -> Iterator[QuotaMove]:
    """Yield the limits that differ, compared as quantities."""
    old, new = dict(_cells(before)), dict(_cells(after))
    for cell in sorted(old.keys() | new.keys()):
        if amount(old.get(cell)) != amount(new.get(cell)):
            yield QuotaMove(*cell, old.get(cell), new.get(cell))


def _cells(objects: Objects) -> Iterator[tuple[Cell, str]]:
    for (cluster, _, kind, _, name), holder in objects.items():
        if kind not in _HOLDERS:
            continue
        for _, group in entries(at(holder.data, "spec", "resourceGroups")):
            for _, flavor in entries(group.get("flavors")):
                for _, resource in entries(flavor.get("resources")):
                    names = text(flavor.get("name")), text(resource.get("name"))
                    for limit in resource.keys() & _LIMITS:
                        yield (cluster, kind, name, *names, limit), str(resource[limit])


def asked(
    before: Objects, after: Objects, staying: Objects, chips_of: Callable[[TreeObject], int]
) -> Iterator[Asked]:
    """Yield what is asked of each queue of which anything is.

    `staying` goes on asking although the tree shows it to nobody any more.
    """
    old, new = +_chips(before, chips_of), _chips(after, chips_of) + _chips(staying, chips_of)
    behind = _behind(before) | _behind(after)
    for queue in sorted(old.keys() | new.keys()):
        yield Asked(*queue, behind.get(queue, ""), old[queue], new[queue])


def _chips(objects: Objects, chips_of: Callable[[TreeObject], int]) -> Counter[Queue]:
    chips: Counter[Queue] = Counter()
    for (cluster, namespace, _), runs in runs_of(objects).items():
        for run in runs.values():
            chips[cluster, namespace, str(run.labels.get(QUEUE, ""))] += chips_of(run)
    return chips


def _behind(objects: Objects) -> dict[Queue, str]:
    return {
        (cluster, namespace, name): text(at(queue.data, "spec", "clusterQueue"))
        for (cluster, _, kind, namespace, name), queue in objects.items()
        if kind == "LocalQueue"
    }
