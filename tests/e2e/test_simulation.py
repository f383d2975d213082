"""Simulated nodes: what their pods do by themselves, and what an annotation makes them do."""

import time
from typing import Any

import pytest
from tests.resolved import resolve_text

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed
from slicewright.testbed.waiting import stretched

from . import kit
from .kit import EXIT, SECONDS

CLUSTER = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: small}
spec:
  managed: false
  project: PROJECT_ID
  location: us-west4
  pools:
  - {name: cpu-np, machineType: n2-standard-8, nodes: 1}
  - {name: np, tpu: v5litepod-8, slices: 1}
"""


def pod(name: str, annotations: dict[str, str], **spec: Any) -> Object:
    """Return a pod for the CPU pool."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {
            "nodeSelector": {kit.NODE_POOL: "cpu-np"},
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "python:3.12"}],
            **spec,
        },
    }


def start(bed: Bed, item: Object) -> Object:
    """Create a pod and wait until it runs."""
    bed.api.create(item)
    name = item["metadata"]["name"]
    return bed.until(f"{name} to run", lambda: in_phase(bed, name, "Running"))


def in_phase(bed: Bed, name: str, phase: str) -> Object | None:
    """Return a pod once it is in a phase."""
    found = bed.api.get(*kit.POD, name, "default")
    return found if found["status"]["phase"] == phase else None


@pytest.fixture
def nodes(bed: Bed) -> Bed:
    """Hold a bed with one CPU node and one TPU slice."""
    bed.add_nodes(resolve_text(CLUSTER))
    return bed


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (3, "Failed")])
def test_pod_runs_until_it_is_told(code: int, phase: str, nodes: Bed) -> None:
    """A pod without annotations is ready and stays so; an exit code ends it at once, well or badly."""
    running = start(nodes, pod("server", {}))
    assert kit.condition(running, "Ready")

    kit.end_pod(nodes, running, code)

    over = nodes.until("the pod to end", lambda: in_phase(nodes, "server", phase))
    (status,) = over["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == code
    assert kit.condition(over, "Ready") is False


@pytest.mark.parametrize(("annotations", "phase"), [({}, "Succeeded"), ({EXIT: "1"}, "Failed")])
def test_pod_ends_after_its_seconds(annotations: dict[str, str], phase: str, nodes: Bed) -> None:
    """Seconds, fractions too, are counted from the start; the exit code that stands beside them holds."""
    start(nodes, pod("timed", {SECONDS: "1.5", **annotations}))
    started = time.monotonic()

    nodes.until("the pod to end", lambda: in_phase(nodes, "timed", phase))

    assert 1.0 < time.monotonic() - started < stretched(60)


def test_end_comes_before_seconds(nodes: Bed) -> None:
    """A pod that is told to end does so, whatever was planned for it."""
    running = start(nodes, pod("planned", {SECONDS: "600", EXIT: "0"}))

    kit.end_pod(nodes, running, code=9)

    over = nodes.until("the pod to end", lambda: in_phase(nodes, "planned", "Failed"))
    assert over["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 9


def test_failed_container_is_started_again(nodes: Bed) -> None:
    """Under OnFailure a container that fails is started again in place, and one that succeeds is not."""
    start(nodes, pod("again", {SECONDS: "0.2", EXIT: "1"}, restartPolicy="OnFailure"))

    def restarted() -> Object | None:
        found = nodes.api.get(*kit.POD, "again", "default")
        return found if found["status"]["containerStatuses"][0]["restartCount"] >= 2 else None

    again = nodes.until("two restarts", restarted)
    assert again["status"]["phase"] == "Running"
    kit.end_pod(nodes, again)
    nodes.until("the pod to succeed", lambda: in_phase(nodes, "again", "Succeeded"))


def test_pod_that_is_told_to_end_and_starts_again_has_ended_once(nodes: Bed) -> None:
    """What was told is taken away with the restart: else its container would end forever."""
    running = start(nodes, pod("once", {}, restartPolicy="OnFailure"))

    def restarts() -> int:
        (status,) = nodes.api.get(*kit.POD, "once", "default")["status"]["containerStatuses"]
        return int(status["restartCount"])

    kit.end_pod(nodes, running, code=3)
    nodes.until("a restart", restarts)
    time.sleep(3)
    again = nodes.api.get(*kit.POD, "once", "default")
    (status,) = again["status"]["containerStatuses"]

    assert ("Running", 1, 3) == (
        again["status"]["phase"],
        status["restartCount"],
        status["lastState"]["terminated"]["exitCode"],
    )
    assert kit.END not in again["metadata"].get("annotations", {})


def test_sidecars_end_with_the_pod(nodes: Bed) -> None:
    """A sidecar runs beside the program, another init container is done before; all are over in the end."""
    item = pod(
        "helped",
        {},
        initContainers=[
            {"name": "first", "image": "python:3.12"},
            {"name": "beside", "image": "python:3.12", "restartPolicy": "Always"},
        ],
    )
    running = start(nodes, item)
    assert init_states(running) == {"first": "terminated", "beside": "running"}

    kit.end_pod(nodes, running)

    over = nodes.until("the pod to succeed", lambda: in_phase(nodes, "helped", "Succeeded"))
    assert init_states(over) == {"first": "terminated", "beside": "terminated"}


def init_states(item: Object) -> dict[str, str]:
    """Return the state of each init container."""
    return {status["name"]: next(iter(status["state"])) for status in item["status"]["initContainerStatuses"]}


def test_deleted_pod_goes(nodes: Bed) -> None:
    """A running pod that is deleted goes at once: nobody waits for its grace period to end."""
    running = start(nodes, pod("gone", {}, terminationGracePeriodSeconds=3600))

    nodes.api.delete(running)

    nodes.until("the pod to go", lambda: nodes.api.find(*kit.POD, "gone", "default") is None)


def test_taint_keeps_pods_off(nodes: Bed) -> None:
    """A pod that asks for no chips stays off the TPU nodes, even if it selects them."""
    selector = {kit.NODE_POOL: "np-0"}
    nodes.api.create(pod("stranger", {}, nodeSelector=selector))

    def refused() -> str:
        found = nodes.api.get(*kit.POD, "stranger", "default")
        entries = found["status"].get("conditions") or ()
        return "".join(entry.get("message", "") for entry in entries if entry["type"] == "PodScheduled")

    assert "untolerated taint(s)" in nodes.until("the scheduler's reason", refused)
