"""What the Job controller and JobSet make of lost hosts and failed programs, with `resilience` and without.

The nodes have no kubelet: the test plays the pods on them.
"""

import time
from typing import Any, Literal

import pytest
from msgspec import Struct
from tests.rendering.build.kit import run

from slicewright.cluster.api.api_error import Ignored
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.kinds import JOBSET_VERSION
from slicewright.kubernetes.labels import HOSTNAME, JOBSET_NAME, NODE_POOL, TPU
from slicewright.kubernetes.types import Object
from slicewright.testbed.waiting import until

pytestmark = pytest.mark.ci  # pods of a lost node are collected after 40 s at the earliest

SECONDS = 200
NODE = {"cpu": "100", "memory": "1000Gi", "pods": "10", TPU: "4"}
MAINTENANCE: dict[str, Any] = {"failurePolicy": {"onHostMaintenance": "Restart"}}
RETRIED: dict[str, Any] = {"resilience": {"retryExitCodes": [75]}}
SURVIVES: dict[str, Any] = {"resilience": {}}

Answer = tuple[int, int, str]
"""Restarts, restarts that count, and how the JobSet has ended."""


class Scene(Struct):
    """A run, what happens to it, and what becomes of it."""

    fields: dict[str, Any]
    happens: Literal["lost", "evicted", "failed"]
    """`lost`, `evicted`: one host, and then the programs of all others fail; `failed`: all programs do."""
    expected: Answer
    slices: int = 1
    code: int = 1
    pattern: str = "jobset"


SCENES = {
    "lost": Scene(SURVIVES, "lost", (1, 0, "")),
    "lost-of-two": Scene(SURVIVES, "lost", (1, 0, ""), slices=2),
    "lost-without": Scene(MAINTENANCE, "lost", (0, 0, "Failed")),
    "evicted": Scene(SURVIVES, "evicted", (1, 0, "")),
    "evicted-without": Scene(MAINTENANCE, "evicted", (0, 0, "Failed")),
    "head": Scene(SURVIVES, "evicted", (1, 0, ""), pattern="pathways"),
    "failed": Scene(SURVIVES, "failed", (0, 0, "Failed")),
    "not-begun": Scene(RETRIED, "failed", (1, 0, ""), code=75),
    "begun": Scene(RETRIED, "failed", (0, 0, "Failed"), code=76),
}


class Hosts:
    """The hosts of all runs, and what their kubelets would do."""

    def __init__(self, api: Api) -> None:
        """Create the nodes and the runs."""
        self._api = api
        self._pods = 0
        for name, scene in SCENES.items():
            item = run(scene.pattern, slices=scene.slices, **scene.fields).item
            item["metadata"] |= {"name": name, "namespace": "default"}
            for job in item["spec"]["replicatedJobs"]:
                spec = job["template"]["spec"]
                spec["template"]["spec"]["nodeSelector"] = {"run": name, "job": job["name"]}
                for pool in range(job["replicas"]):
                    for host in range(spec["completions"]):
                        self._add_node(
                            f"{name}-{job['name']}-{pool}", host, {"run": name, "job": job["name"]}
                        )
            api.create(item)

    def _add_node(self, pool: str, host: int, labels: dict[str, str]) -> None:
        name = f"{pool}-{host}"
        metadata = {"name": name, "labels": {HOSTNAME: name, NODE_POOL: pool, **labels}}
        node = self._api.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        status = {"conditions": [{"type": "Ready", "status": "True"}], "capacity": NODE, "allocatable": NODE}
        self._api.patch(node, {"status": status}, subresource="status")
        self._pods += 1

    def run(self) -> dict[str, list[Object]] | None:
        """Return the pods of each run, those of its last slice at the end, once all of them run."""
        self.live()
        pods = self._running()
        pods.sort(key=lambda pod: str(pod["spec"]["nodeName"]))
        if len(pods) == self._pods:
            return {name: [pod for pod in pods if _run(pod) == name] for name in SCENES}
        return None

    def _running(self) -> list[Object]:
        nodes = {node["metadata"]["name"] for node in self._api.list("v1", "Node")}
        pods = self._api.list("v1", "Pod", "default")
        return [pod for pod in pods if pod["spec"].get("nodeName") in nodes and _runs(pod)]

    def live(self) -> None:
        """Start the pods that have a node, and end those that are deleted; none on a node that is gone."""
        nodes = {node["metadata"]["name"] for node in self._api.list("v1", "Node")}
        for pod in self._api.list("v1", "Pod", "default"):
            if pod["spec"].get("nodeName") not in nodes:
                continue
            if pod["metadata"].get("deletionTimestamp"):
                self.end(pod, 143)
                path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
                with Ignored(404):
                    self._api.request("DELETE", path, {"gracePeriodSeconds": 0})
            elif pod["status"]["phase"] == "Pending":
                ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                with Ignored(404):
                    self._api.patch(pod, {"status": ready}, subresource="status")

    def hit(self, pod: Object, happens: str) -> None:
        """Evict a pod, or delete its node."""
        if happens == "evicted":
            self._api.evict(pod)
        else:
            self._api.delete(
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": pod["spec"]["nodeName"]}}
            )

    def end(self, pod: Object, code: int) -> None:
        """End the containers of a pod."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        state = {"terminated": {"exitCode": code, "reason": "Error", "finishedAt": now}}
        ended = {"image": "", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        containers = [{"name": container["name"], **ended} for container in pod["spec"]["containers"]]
        status = {"phase": "Failed", "containerStatuses": containers}
        with Ignored(404):
            self._api.patch(pod, {"status": status}, subresource="status")

    def fail_again(self) -> None:
        """End the programs that start again beside a lost host."""
        answers = self.answers()
        for pod in self._running():
            if SCENES[_run(pod)].happens == "lost" and answers[_run(pod)][0] == 0:
                self.end(pod, 1)

    def answers(self) -> dict[str, Answer]:
        """Return what has become of the runs."""
        found = {}
        for item in self._api.list(JOBSET_VERSION, "JobSet", "default"):
            status = item.get("status", {})
            restarts, counted = status.get("restarts", 0), status.get("restartsCountTowardsMax", 0)
            found[item["metadata"]["name"]] = (restarts, counted, status.get("terminalState", ""))
        return found


def _run(pod: Object) -> str:
    return str(pod["metadata"]["labels"][JOBSET_NAME])


def _runs(pod: Object) -> bool:
    return pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]


def test_only_failures_of_the_program_count(own_api: Api) -> None:
    """A lost or evicted host restarts a run uncounted, though other programs end before it is noticed."""
    hosts, expected = Hosts(own_api), {name: scene.expected for name, scene in SCENES.items()}
    pods = until("the pods", hosts.run, seconds=SECONDS)

    for name, scene in SCENES.items():
        victim, others = pods[name][-1], pods[name][:-1]
        if scene.pattern == "pathways":
            victim, others = pods[name][0], []
        if scene.happens == "failed":
            others.append(victim)
        else:
            hosts.hit(victim, scene.happens)
        for pod in others:
            hosts.end(pod, scene.code)
    time.sleep(5)  # the Jobs count what has ended, while the evicted programs save their checkpoints

    def settled() -> bool:
        hosts.live()
        hosts.fail_again()
        return hosts.answers() == expected

    try:
        until("what becomes of the runs", settled, seconds=SECONDS)
    finally:
        assert hosts.answers() == expected
