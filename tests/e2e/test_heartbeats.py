"""Simulated nodes beside a cluster that waits for signs of life: what they show, and how they come back."""

from collections.abc import Iterator
from itertools import count

import pytest
from tests.resolved import resolve_text
from tests.testbed.kit import GUEST

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed
from slicewright.testbed.bed_cluster import Attached

from . import kit

pytestmark = pytest.mark.ci  # it waits for nodes that are silent


NODE = "guest-0"
HEALTHY = {
    "Ready": "True",
    "MemoryPressure": "False",
    "DiskPressure": "False",
    "PIDPressure": "False",
    "NetworkUnavailable": "False",
}
READY = "Ready"


@pytest.fixture
def guest(bed: Bed, not_ours: frozenset[str]) -> Iterator[Bed]:
    """Hold a bed beside the cluster with one node of its own, whose pods end while it is played."""
    with Attached(bed.kubeconfig, simulates="guest") as guest:
        guest.add_nodes(resolve_text(GUEST))
        yield guest
        kit.clear(guest, not_ours)


def statuses(item: Object) -> dict[str, str]:
    """Return the conditions of a node or a pod."""
    return {entry["type"]: entry["status"] for entry in item["status"].get("conditions", ())}


def is_ready(bed: Bed, pod: str) -> bool:
    """Tell whether a pod is ready."""
    return statuses(bed.api.get(*kit.POD, pod, "default")).get(READY) == "True"


def last_heard(bed: Bed) -> str:
    """Return when the node has last said that it is ready; '' before it has."""
    (found,) = (
        entry.get("lastHeartbeatTime") or ""
        for entry in bed.api.get(*kit.NODE, NODE)["status"]["conditions"]
        if entry["type"] == READY
    )
    return str(found)


def say(bed: Bed, item: Object, **told: str) -> Object:
    """Write conditions, as a node monitor does, and return the object as it is then."""
    conditions = [
        {**entry, "status": told.get(entry["type"], entry["status"])}
        for entry in item["status"]["conditions"]
    ]
    return bed.api.patch(item, {"status": {"conditions": conditions}}, subresource="status")


def test_nodes_are_heard_at_once_and_again(guest: Bed) -> None:
    """One of a name that was there before is not dead to a cluster that still remembers the other."""
    guest.until("the first heartbeat", lambda: last_heard(guest), seconds=8)
    first = last_heard(guest)

    guest.until("another one", lambda: last_heard(guest) != first, seconds=120)

    assert statuses(guest.api.get(*kit.NODE, NODE)) == HEALTHY
    assert guest.api.find("coordination.k8s.io/v1", "Lease", NODE, "kube-node-lease") is None


def test_node_that_was_silent_for_too_long_comes_back_with_its_pods(guest: Bed) -> None:
    """As after a machine that slept: the cluster took it for dead, and its pods for not ready."""
    container = {"name": "main", "image": "nowhere.invalid/nothing:1"}
    metadata = {"name": "runs", "namespace": "default"}
    spec = {"nodeName": NODE, "containers": [container]}
    guest.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    guest.until("the pod to be ready", lambda: is_ready(guest, "runs"))
    silent = dict.fromkeys(["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"], "Unknown")

    say(guest, guest.api.get(*kit.NODE, NODE), **silent)
    written = say(guest, guest.api.get(*kit.POD, "runs", "default"), Ready="False")

    assert statuses(written)[READY] == "False"
    guest.until("the node", lambda: statuses(guest.api.get(*kit.NODE, NODE)) == HEALTHY, seconds=120)
    guest.until("the pod", lambda: is_ready(guest, "runs"))


def test_node_that_changes_all_the_time_is_heard_all_the_same(guest: Bed) -> None:
    """A change of a node, by an autoscaler for example, does not put its heartbeat off."""
    node, turns = guest.api.get(*kit.NODE, NODE), count()
    guest.until("the first heartbeat", lambda: last_heard(guest))
    first = last_heard(guest)

    def another_one() -> bool:
        guest.api.patch(node, {"metadata": {"annotations": {"example.com/turn": str(next(turns))}}})
        return last_heard(guest) > first

    guest.until("another one", another_one, seconds=120)


def test_what_others_say_of_a_node_stays(guest: Bed) -> None:
    """A heartbeat says that the node lives, and nothing of what somebody else has found out about it."""
    say(guest, guest.api.get(*kit.NODE, NODE), MemoryPressure="True")
    before = last_heard(guest)

    guest.until("a heartbeat", lambda: last_heard(guest) > before, seconds=120)

    assert statuses(guest.api.get(*kit.NODE, NODE)) == {**HEALTHY, "MemoryPressure": "True"}
