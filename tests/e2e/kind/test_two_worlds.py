"""Real and simulated nodes in one cluster: what runs stays off the ones, what is played off the others."""

from tests.e2e import kit

from slicewright.testbed.bed import Bed
from slicewright.testbed.nodes import SIMULATED, simulated_nodes

from .controllers import DAEMON_SET


def test_pods_stay_in_their_world(bed: Bed, real_nodes: set[str]) -> None:
    """Daemons and controllers are on real nodes alone; a pod without a wish goes to a simulated one."""
    bed.add_nodes(kit.site("pathways-cluster"))
    container = {"name": "main", "image": "nowhere.invalid/nothing:1"}
    anywhere = {"containers": [container]}
    metadata = {"name": "anywhere", "namespace": "default"}
    bed.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": anywhere})

    played = bed.until(
        "the pod to run", lambda: bed.api.list(*kit.POD, "default", fields="status.phase=Running")
    )

    assert kit.node_pools(bed, played) == ["cpu-np"]
    running = [pod for pod in bed.api.list(*kit.POD) if pod["metadata"]["namespace"] != "default"]
    assert {pod["spec"].get("nodeName") for pod in running} == real_nodes
    daemons = {item["metadata"]["name"]: item["status"] for item in bed.api.list(*DAEMON_SET)}
    assert {status["desiredNumberScheduled"] for status in daemons.values()} == {len(real_nodes)}


def test_simulated_nodes_show_that_they_live(bed: Bed) -> None:
    """Their status says so again and again; else the cluster would take them for dead in a minute."""
    site = kit.site("multislice-cluster")
    names = {node["metadata"]["name"] for node in simulated_nodes(site)}
    bed.add_nodes(site)

    bed.until("a heartbeat of each", lambda: _heartbeats(bed).keys() >= names)
    first = _heartbeats(bed)
    bed.until("another one", lambda: all(_heartbeats(bed)[name] > first[name] for name in names))

    conditions = [
        (item["type"], item["status"], item["reason"])
        for node in bed.api.list(*kit.NODE)
        if node["metadata"]["name"] in names
        for item in node["status"]["conditions"]
    ]
    assert set(conditions) == {
        ("Ready", "True", "KubeletReady"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasNoPIDPressure"),
        ("NetworkUnavailable", "False", "RouteCreated"),
    }


def _heartbeats(bed: Bed) -> dict[str, str]:
    """Return when each simulated node has last said that it is ready, of those that have."""
    return {
        node["metadata"]["name"]: item["lastHeartbeatTime"]
        for node in bed.api.list(*kit.NODE, labels=f"{SIMULATED}=true")
        for item in node["status"]["conditions"]
        if item["type"] == "Ready" and item.get("lastHeartbeatTime")
    }
