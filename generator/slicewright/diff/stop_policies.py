"""Queues that are stopped or opened again, and what that does to the runs behind them.

The object of a run does not change. With HoldAndDrain Kueue evicts the runs of a queue, and starts them again
when the queue is opened. With Hold it admits no run, and admitted runs continue.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from slicewright.diff.tree_version import Key, Objects, TreeObject
from slicewright.kubernetes.fields import at, text
from slicewright.kubernetes.kinds import KUEUE_GROUP
from slicewright.kubernetes.labels import QUEUE

HOLD, DRAIN = "Hold", "HoldAndDrain"
_NONE = "None"
_RANK = {HOLD: 1, DRAIN: 2}
"""What stops more, of a run's LocalQueue and the ClusterQueue behind it; all else stops nothing."""


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
    """The stopPolicy of a queue that is another now."""

    cluster: str
    kind: str
    namespace: str
    queue: str
    before: str
    after: str
    runs: int
    """Runs behind it, which it is another policy for now."""
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
        """Yield the queues that are stopped or opened, with the runs that are there before and afterwards."""
        concerned = [run for run in going_on.values() if len({stop.rank for stop in self.stop(run)}) > 1]
        for key in sorted(self._after):
            before, after = _policy(self._before.get(key)), _policy(self._after[key])
            if before != after:
                behind = [run for run in concerned if key in _behind(self._after, run)]
                cluster, _, kind, namespace, name = key
                chips = sum(map(chips_of, behind))
                yield StopChange(cluster, kind, namespace, name, before, after, len(behind), chips)


def _queues(objects: Objects) -> Objects:
    kinds = {(KUEUE_GROUP, "ClusterQueue"), (KUEUE_GROUP, "LocalQueue")}
    return {key: queue for key, queue in objects.items() if key[1:3] in kinds}


def _behind(queues: Objects, run: TreeObject) -> tuple[Key, ...]:
    """Return the keys of a run's LocalQueue and of the ClusterQueue behind that."""
    cluster, namespace = run.folder.cluster, run.folder.namespace
    local = (cluster, KUEUE_GROUP, "LocalQueue", namespace, str(run.labels.get(QUEUE, "")))
    if local not in queues:
        return ()
    name = text(at(queues[local].data, "spec", "clusterQueue"))
    return local, (cluster, KUEUE_GROUP, "ClusterQueue", "", name)


def _stop(queues: Objects, run: TreeObject) -> Stop:
    stops = (Stop(_policy(queues.get(key)), f"{key[2]} {key[4]}") for key in _behind(queues, run))
    strictest = max(stops, key=lambda stop: stop.rank, default=Stop())
    return strictest if strictest.rank else Stop()


def _policy(queue: TreeObject | None) -> str:
    return (text(at(queue.data, "spec", "stopPolicy")) if queue else "") or _NONE
