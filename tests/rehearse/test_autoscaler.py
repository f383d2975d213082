"""What the double of GKE's autoscaler does where the cluster does not do what it asks for."""

import math
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.testbed.kit import eventually

from slicewright.cluster.api.api_error import ApiError
from slicewright.kubernetes.types import Object
from slicewright.rehearse.autoscaler import Autoscaler
from slicewright.rehearse.event_log import Clock, EventLog
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.testbed.nodes import NodePool
from slicewright.testbed.waiting import BedError

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
        self.requests: list[Object] = []
        self.api = self

    def list(self, _version: str, kind: str) -> list[Object]:
        """Return pods, nodes or ProvisioningRequests."""
        nodes = [{"metadata": {"name": name}} for name in self.made]
        return {"Pod": self.pods, "Node": nodes, "ProvisioningRequest": self.requests}.get(kind, [])

    def get(self, _version: str, kind: str, name: str, _namespace: str) -> Object:
        """Return a ProvisioningRequest, or the template of pods that fit every pool."""
        requests = {request["metadata"]["name"]: request for request in self.requests}
        template = {"spec": {"nodeSelector": LABELS, "tolerations": [TAINT]}}
        return requests[name] if kind == "ProvisioningRequest" else {"template": template}

    def patch(self, item: Object, change: Object, subresource: str) -> None:
        """Change the status of a ProvisioningRequest or of a pod."""
        item[subresource] = change[subresource]

    def delete(self, item: Object) -> None:
        """Delete a pod or a node."""
        if item in self.pods:
            self.pods.remove(item)
        else:
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
    cluster: Cluster,
    time: ClockSettings = TIME,
    clock: Clock | None = None,
    queued: tuple[str, ...] = (),
    away: Collection[str] = (),
    life: float = math.inf,
) -> tuple[Autoscaler, EventLog]:
    """Return the double with a growing pool of two nodes, or with queued ones, and what it writes into."""
    clock = clock or Clock(1.0)
    event_log = EventLog(clock, {}, ())
    pools = [
        NodePool(name, "np", (node(f"{name}-0"), node(f"{name}-1")), queued=True, life=life)
        for name in queued
    ] or [NodePool("np-0", "np", (node("n0"), node("n1")), queued=False, life=life)]
    setup: Any = cluster
    scaler = Autoscaler(setup, event_log, clock, pools, time, namespaces=["default"], away=away)
    return scaler, event_log


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


def test_slice_without_capacity_comes_when_there_is_capacity() -> None:
    """While a node pool is without capacity, the autoscaler creates no node for waiting pods."""
    cluster, away = Cluster(stuck("a")), {"np-0"}
    scaler, event_log = scaled(cluster, away=away)
    with scaler:
        looked = scaler.looked_at
        eventually("a look", lambda: scaler.looked_at > looked)
        before = pools(event_log)
        away.clear()
        eventually("nodes", lambda: 1 == len(pools(event_log)))

    assert ([], ["poolGrew 8 2 nodes"]) == (before, pools(event_log))


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
    from slicewright.rehearse.autoscaler import _fits  # noqa: PLC0415

    terms = [{"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec = {"nodeSelector": LABELS, "tolerations": [TAINT], "affinity": {"nodeAffinity": required}}

    assert grows == _fits({"spec": spec}, NodePool("p-0", "p", (node("p-0"),), queued=False))


def request(*counts: int) -> Object:
    """Return a ProvisioningRequest for pod sets of some sizes."""
    name = "-".join(map(str, counts))
    metadata = {
        "name": name,
        "uid": name,
        "namespace": "default",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {
        "metadata": metadata,
        "spec": {"podSets": [{"podTemplateRef": {"name": "pods"}, "count": count} for count in counts]},
    }


def said(item: Object) -> list[str]:
    """Return the conditions of a ProvisioningRequest."""
    return [entry["type"] for entry in item.get("status", {}).get("conditions", ())]


@pytest.mark.parametrize("counts", [(2,), (1, 1), (1,)])
def test_request_gets_the_nodes_of_one_node_pool(counts: tuple[int, ...]) -> None:
    """All of its pod sets go to one node pool, which grows to its full size."""
    cluster = Cluster()
    asked = request(*counts)
    cluster.requests = [asked]
    scaler, _ = scaled(cluster, queued=("np-0", "np-1"))
    with scaler:
        eventually("nodes", lambda: said(asked) == ["Accepted", "Provisioned"])

    assert ["np-0-0", "np-0-1"] == cluster.made


@pytest.mark.parametrize("counts", [(3,), (4,), (2, 2)])
def test_request_for_more_than_a_node_pool_fails(counts: tuple[int, ...]) -> None:
    """Two free node pools together do not help, as on GKE; it fails after two minutes, and no node comes."""
    cluster = Cluster()
    clock = Clock(1.0)
    asked = request(*counts)
    cluster.requests = [asked]
    scaler, _ = scaled(cluster, clock=clock, queued=("np-0", "np-1"))
    with scaler:
        eventually("its end is planned", lambda: 119 < scaler.next - clock.now() <= 120)
        before = said(asked)
        clock.skip_to(scaler.next)
        eventually("its end", lambda: said(asked) == ["Failed"])

    assert ([], []) == (before, cluster.made)


def running(name: str, node: str) -> Object:
    """Return a pod that runs on a node."""
    return {**stuck(name), "spec": {"nodeName": node}, "status": {"phase": "Running"}}


def test_nodes_end_at_their_age_with_the_pods_that_are_on_them() -> None:
    """Busy and idle nodes end; their pods fail as those of lost nodes do, and other pods get new nodes."""
    cluster = Cluster(stuck("a"))
    clock = Clock(1.0)
    scaler, event_log = scaled(cluster, clock=clock, life=3600.0)
    with scaler:
        eventually("nodes", lambda: 1 == len(pools(event_log)))
        pod = running("a", "n0")
        cluster.pods[:] = [pod, running("other", "n9")]
        eventually("their end is planned", lambda: 3590 < scaler.next - clock.now() <= 3600)
        clock.skip_to(scaler.next)
        eventually("they go", lambda: 2 == len(pools(event_log)))
        eventually("the pod goes", lambda: 1 == len(cluster.pods))
        cluster.pods.append(stuck("b"))
        eventually("other nodes", lambda: 3 == len(pools(event_log)))

    assert [
        "poolGrew 8 2 nodes",
        "poolShrank 8 2 nodes, at the end of their life",
        "poolGrew 8 2 nodes",
    ] == pools(event_log)
    assert ("Failed", "DisruptionTarget") == (pod["status"]["phase"], pod["status"]["conditions"][0]["type"])
    assert ["other", "b"] == [item["metadata"]["name"] for item in cluster.pods]


@pytest.mark.parametrize(("asked", "life"), [("7200", 7200), ("", 3600)])
def test_request_is_revoked_when_its_nodes_end(asked: str, life: int) -> None:
    """The request says for how long it needs nodes, else the pool does; it gets no other nodes."""
    cluster = Cluster()
    clock = Clock(1.0)
    item = request(2)
    item["spec"]["parameters"] = {"maxRunDurationSeconds": asked} if asked else {}
    cluster.requests = [item]
    scaler, event_log = scaled(cluster, clock=clock, queued=("np-0", "np-1"), life=3600.0)
    with scaler:
        eventually("nodes", lambda: said(item) == ["Accepted", "Provisioned"])
        eventually("their end is planned", lambda: life - 10 < scaler.next - clock.now() <= life)
        clock.skip_to(scaler.next)
        eventually("the end", lambda: said(item)[-1] == "CapacityRevoked")
        time.sleep(0.6)

    assert ([], 2) == (cluster.made, len(pools(event_log)))


def test_request_waits_for_a_node_pool_that_another_one_holds() -> None:
    """It fits the pool, and gets it when the other request is gone."""
    cluster = Cluster()
    first, second = request(2), request(1)
    cluster.requests = [first, second]
    scaler, _ = scaled(cluster, queued=("np-0",))
    with scaler:
        eventually("nodes", lambda: said(first) == ["Accepted", "Provisioned"])
        waiting = said(second)
        cluster.requests = [second]
        eventually("its turn", lambda: said(second) == ["Accepted", "Provisioned"])

    assert [] == waiting
