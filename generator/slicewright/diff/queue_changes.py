"""How queues change between two trees: quota, requested chips, and whether they are stopped.

The object of a run does not change when its queue stops. With HoldAndDrain Kueue evicts the runs of a queue,
and starts them again when the queue is opened. With Hold it admits no run, and admitted runs continue.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.diff.tree_version import Key, Objects, TreeObject, runs_of
from slicewright.kubernetes.fields import at, entries, text
from slicewright.kubernetes.kinds import KUEUE_GROUP
from slicewright.kubernetes.labels import QUEUE, TPU
from slicewright.kubernetes.quantity import amount
from slicewright.kueue.quota_workload import pod_sets
from slicewright.objects import ObjectSet, Resource

_HOLDERS = frozenset({"ClusterQueue", "Cohort"})
_LIMITS = frozenset({"nominalQuota", "borrowingLimit", "lendingLimit"})
Cell = tuple[str, str, str, str, str, str]
"""Cluster, kind, name, flavor, resource and limit."""
Queue = tuple[str, str, str]
"""Cluster, namespace and name; the name is empty if a run asks no queue."""


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
    """Yield the chips that runs request of each queue, before and after.

    `staying` are runs that left the tree but stay on the cluster: their chips still count.
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


HOLD, DRAIN = "Hold", "HoldAndDrain"
_NONE = "None"
_RANK = {HOLD: 1, DRAIN: 2}
"""Policies that stop runs: the higher one of a LocalQueue and its ClusterQueue counts."""


class Stop(Struct, frozen=True):
    """What stops a run."""

    policy: str = _NONE
    by: str = ""
    """The queue that does, kind and name."""

    @property
    def rank(self) -> int:
        """How much it stops."""
        return _RANK.get(self.policy, 0)


class StopChange(Struct, frozen=True):
    """A changed stopPolicy of a queue."""

    cluster: str
    kind: str
    namespace: str
    queue: str
    before: str
    after: str
    runs: int
    """Runs behind it that are now stopped more, or less, than before."""
    chips: int


class StopPolicies:
    """The queues of both sides."""

    def __init__(self, before: Objects, after: Objects) -> None:
        """Take the objects of both sides. A queue that leaves the tree stops as it did."""
        self._before, self._after = _queues(before), _queues(before) | _queues(after)

    def stop(self, run: TreeObject) -> tuple[Stop, Stop]:
        """Return what stops a run before and afterwards, as far as the trees tell."""
        return _stop(self._before, run), _stop(self._after, run)

    def changes(self, going_on: Objects, chips_of: Callable[[TreeObject], int]) -> Iterator[StopChange]:
        """Yield the queues that are stopped or opened, with the runs that exist before and afterwards."""
        concerned = [run for run in going_on.values() if len({stop.rank for stop in self.stop(run)}) > 1]
        for key in sorted(self._after):
            before, after = _policy(self._before.get(key)), _policy(self._after[key])
            if before != after:
                behind = [run for run in concerned if key in _queues_of(self._after, run)]
                cluster, _, kind, namespace, name = key
                chips = sum(map(chips_of, behind))
                yield StopChange(cluster, kind, namespace, name, before, after, len(behind), chips)


def _queues(objects: Objects) -> Objects:
    kinds = {(KUEUE_GROUP, "ClusterQueue"), (KUEUE_GROUP, "LocalQueue")}
    return {key: queue for key, queue in objects.items() if key[1:3] in kinds}


def _queues_of(queues: Objects, run: TreeObject) -> tuple[Key, ...]:
    """Return the keys of a run's LocalQueue and of the ClusterQueue behind that."""
    cluster, namespace = run.folder.cluster, run.folder.namespace
    local = (cluster, KUEUE_GROUP, "LocalQueue", namespace, str(run.labels.get(QUEUE, "")))
    if local not in queues:
        return ()
    name = text(at(queues[local].data, "spec", "clusterQueue"))
    return local, (cluster, KUEUE_GROUP, "ClusterQueue", "", name)


def _stop(queues: Objects, run: TreeObject) -> Stop:
    stops = (Stop(_policy(queues.get(key)), f"{key[2]} {key[4]}") for key in _queues_of(queues, run))
    strictest = max(stops, key=lambda stop: stop.rank, default=Stop())
    return strictest if strictest.rank else Stop()


def _policy(queue: TreeObject | None) -> str:
    return (text(at(queue.data, "spec", "stopPolicy")) if queue else "") or _NONE
