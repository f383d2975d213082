"""What the double of GKE's autoscaler does where the cluster does not do what it asks for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from tests.testbed.kit import eventually

from slicewright.apiserver.errors import ApiError
from slicewright.rehearsal.autoscaler import Autoscaler
from slicewright.rehearsal.event_log import EventLog
from slicewright.rehearsal.model.clock import ClockSettings
from slicewright.rehearsal.node_pools import NodePool
from slicewright.rehearsal.timers import Clock
from slicewright.testbed.errors import BedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slicewright.core.kubernetes.types import Object


TIME = ClockSettings(speed=1.0, deadline=60.0, delay=0.0, idle=60.0)
LABELS = {"cloud.google.com/gke-tpu-topology": "2x4"}
TAINT = {"key": "cloud.google.com/gke-spot", "effect": "NoSchedule"}


def node(name: str) -> Object:
    """Return a node with four chips, and with a taint that has no value."""
    capacity = {"google.com/tpu": "4"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": LABELS},
        "spec": {"taints": [TAINT]},
        "status": {"capacity": capacity},
    }


def stuck(name: str, namespace: str = "default") -> Object:
    """Return a pod without labels for which the scheduler found no node."""
    asked = {"requests": {"google.com/tpu": "4"}}
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": name},
        "spec": {"tolerations": [{"key": TAINT["key"]}], "containers": [{"resources": asked}]},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False"}]},
    }


class Cluster:
    """A setup and its API, in memory; some answers can be told to fail."""

    def __init__(self, *pods: Object) -> None:
        self.pods: list[Object] = list(pods)
        self.made: list[str] = []
        self.refused: list[str] = []
        """Names of nodes that are refused once."""
        self.api = self

    def list(self, _version: str, kind: str) -> list[Object]:
        """Return pods or nodes; there are no ProvisioningRequests."""
        nodes = [{"metadata": {"name": name}} for name in self.made]
        return {"Pod": self.pods, "Node": nodes}.get(kind, [])

    def delete(self, item: Object) -> None:
        """Delete a node."""
        self.made.remove(item["metadata"]["name"])

    def each(self, verb: Callable[[Object], object], items: Iterable[Object]) -> None:
        """Do something with some objects."""
        for item in items:
            verb(item)

    def create(self, item: Object) -> None:
        """Make a node, unless it is there or is refused."""
        name = item["metadata"]["name"]
        if name in self.refused:
            self.refused.remove(name)
            raise ApiError(500, {"message": "storage is busy"})
        if name in self.made:
            raise ApiError(409, {"reason": "AlreadyExists"})
        self.made.append(name)

    def has_made(self, item: Object) -> bool:
        """Tell whether a node is there."""
        return item["metadata"]["name"] in self.made


def scaled(
    cluster: Cluster, time: ClockSettings = TIME, clock: Clock | None = None
) -> tuple[Autoscaler, EventLog]:
    """Return the double with a growing pool of two nodes, and what it writes into."""
    clock = clock or Clock(1.0)
    event_log = EventLog(clock, {}, ())
    pool = NodePool("np-0", "np", (node("n0"), node("n1")), queued=False)
    setup: Any = cluster
    return Autoscaler(setup, event_log, clock, [pool], time, namespaces=["default"]), event_log


def pools(event_log: EventLog) -> list[str]:
    """Return how the pool grew and shrank."""
    return [
        f"{event.kind} {event.chips} {event.text}"
        for event in event_log.so_far()
        if event.kind.startswith("pool")
    ]


def test_nodes_come_although_one_was_refused_at_first() -> None:
    """Until all are there the pool counts as on its way; the error is told once."""
    cluster = Cluster(stuck("a"))
    cluster.refused = ["n1"]
    scaler, event_log = scaled(cluster)
    was_awaited = []
    with scaler:
        eventually("a node", lambda: cluster.made)
        while "poolGrew" not in {event.kind for event in event_log.so_far()}:
            was_awaited.append(scaler.is_busy or scaler.has_nodes)
            time.sleep(0.01)
        scaler.check()

    assert ["n0", "n1"] == cluster.made
    assert ["warned", "poolGrew"] == [event.kind for event in event_log.so_far()]
    assert (True, False) == (scaler.has_nodes, scaler.is_busy)
    assert all(was_awaited)


def test_slice_that_was_lost_is_replaced() -> None:
    """It is not there any more, so it neither serves nor goes; who took it away tells of that."""
    cluster = Cluster(stuck("a"))
    scaler, event_log = scaled(cluster)
    with scaler:
        eventually("nodes", lambda: 1 == len(pools(event_log)))
        cluster.made.clear()
        eventually("other nodes", lambda: 2 == len(pools(event_log)))

    assert ["poolGrew 8 2 nodes", "poolGrew 8 2 nodes"] == pools(event_log)
    assert ["n0", "n1"] == cluster.made


def test_slice_that_was_lost_and_came_back_is_there_again() -> None:
    """And goes as any other when nobody needs it."""
    cluster = Cluster(stuck("a"))
    clock = Clock(1.0)
    scaler, event_log = scaled(cluster, replace(TIME, idle=0.0), clock)
    with scaler:
        eventually("nodes", lambda: 1 == len(pools(event_log)))
        cluster.pods.clear()
        cluster.made.clear()
        eventually("their loss is seen", lambda: not scaler.has_nodes)
        cluster.made += ["n0", "n1"]
        eventually("they are seen", lambda: scaler.has_nodes)
        clock.skip_to(clock.now() + 3)  # used nodes stay so long at least
        eventually("they go", lambda: not scaler.has_nodes)

    assert ["poolGrew 8 2 nodes", "poolShrank 8 2 nodes, idle"] == pools(event_log)
    assert [] == cluster.made


def test_broken_slice_goes_and_what_comes_back_of_it_is_used() -> None:
    """Chips are counted once: of what goes those that are still there, of what comes those that are not."""
    cluster = Cluster(stuck("a"))
    clock = Clock(1.0)
    scaler, event_log = scaled(cluster, replace(TIME, idle=0.0), clock)
    with scaler:
        eventually("nodes", lambda: 1 == len(pools(event_log)))
        cluster.pods.clear()
        cluster.made.remove("n0")
        clock.skip_to(clock.now() + 10)  # nodes that nobody has used stay so long at least
        eventually("the other one goes", lambda: 2 == len(pools(event_log)))
        cluster.made.append("n0")
        cluster.pods.append(stuck("b"))
        eventually("it comes again", lambda: 3 == len(pools(event_log)))

    assert ["poolGrew 8 2 nodes", "poolShrank 4 1 node, idle", "poolGrew 4 1 node"] == pools(event_log)
    assert ["n0", "n1"] == sorted(cluster.made)


def test_nothing_grows_for_what_others_do() -> None:
    """A pod in a namespace that takes no part waits for nodes that are not ours to make."""
    cluster = Cluster(stuck("theirs", "other"))
    scaler, _ = scaled(cluster)
    with scaler:
        time.sleep(0.7)

    assert ([], False) == (cluster.made, scaler.is_busy)


def test_no_node_comes_when_it_has_ended() -> None:
    """What was made is removed then: a node that came later would stay."""
    cluster = Cluster(stuck("a"))
    scaler, _ = scaled(cluster)
    create = cluster.create

    def slowly(item: Object) -> None:
        time.sleep(0.5)
        create(item)

    cluster.create = slowly  # type: ignore[method-assign]
    with scaler:
        eventually("nodes on their way", lambda: scaler.is_busy)
        time.sleep(0.4)
    at_the_end = list(cluster.made)
    time.sleep(0.7)

    assert (at_the_end, True) == (cluster.made, len(at_the_end) < 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_its_own_mistake_ends_the_play() -> None:
    """Nobody waits to the deadline for nodes that nobody makes."""
    cluster = Cluster()
    cluster.pods = [{"metadata": {}}]
    scaler, _ = scaled(cluster)

    def told() -> bool:
        try:
            scaler.check()
        except BedError as error:
            return error.problem.message == "the double of GKE's autoscaler has ended"
        return False

    with scaler:
        eventually("its end is told", told)


@pytest.mark.parametrize(("key", "grows"), [("cloud.google.com/gke-tpu-topology", False), ("other", True)])
def test_nodes_that_affinity_refuses_do_not_come(key: str, *, grows: bool) -> None:
    """Pods that keep off nodes of another way of provisioning do not make them grow."""
    from slicewright.rehearsal.autoscaler import _fits  # noqa: PLC0415

    terms = [{"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec = {"nodeSelector": LABELS, "tolerations": [TAINT], "affinity": {"nodeAffinity": required}}

    assert grows == _fits({"spec": spec}, NodePool("p-0", "p", (node("p-0"),), queued=False))
