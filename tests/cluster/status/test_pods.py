"""Why pods of an admitted run do not run: nodes, images, references, exit codes."""

from typing import Any

import pytest

from .kit import SHAPE, item, job, jobset, node, pod, queue, run, warning, why, workload

ADMITTED = [jobset(), workload(admitted=8), job()]
NOT_READY = ("PodsNotReady", "ready: 0 of 1 pod; not ready: p0")
SAID = "0/1 nodes are available"
BARS = "google.com/tpu=present:NoSchedule"
TAINT = {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"}


def unscheduled(reason: str = "Unschedulable", **spec: Any) -> dict[str, Any]:
    """Return a pod that no node takes."""
    return pod(conditions=[("PodScheduled", "False", reason, SAID)], spec=spec)


def waiting(reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    """Return a pod whose container waits."""
    status = {"name": "main", "state": {"waiting": {"reason": reason, "message": message}}, **more}
    return pod(status={"containerStatuses": [status]})


@pytest.mark.parametrize(
    ("nodes", "spec", "expected"),
    [
        (
            [],
            {},
            ("NoSuitingNode", "no node has cloud.google.com/gke-tpu-topology=2x4; no node has this label"),
        ),
        (
            [node(labels={"cloud.google.com/gke-tpu-topology": "4x4"})],
            {},
            ("NoSuitingNode", "no node has cloud.google.com/gke-tpu-topology=2x4; nodes have 4x4"),
        ),
        (
            [node(labels=SHAPE), node("n1", labels={"zone": "b"})],
            {"nodeSelector": {**SHAPE, "zone": "b"}},
            ("NoSuitingNode", "no node of 2 has all labels that it selects"),
        ),
        (
            [node(taints=[TAINT])],
            {},
            (
                "TaintNotTolerated",
                f"nodes with its labels: 1; all have taint {BARS}, which it does not tolerate",
            ),
        ),
        ([node(taints=[TAINT]), node("n1")], {}, ("NodesFull", "nodes for it: 1; none has room")),
    ],
)
def test_no_node_takes_a_pod(nodes: list[Any], spec: dict[str, Any], expected: tuple[str, str]) -> None:
    """Labels and taints of the nodes say why, beside the scheduler's own sentence."""
    found = run(*ADMITTED, unscheduled(**spec), *nodes).causes

    assert [(expected[0], f"1 pod: {expected[1]}")] == [(one.reason, one.message) for one in found]
    assert f"Unschedulable: {SAID}" == found[0].said


def test_who_has_the_nodes() -> None:
    """Runs whose pods are on the nodes are named; pods that are over, and those of nobody's run, are not."""
    other = [jobset("b"), job("b"), pod("q", "b", ready=True, spec={"nodeName": "n0"})]
    over = pod("r", "b", status={"phase": "Failed"}, spec={"nodeName": "n0"})
    stranger = item("Pod", "s", {"nodeName": "n0"})

    found = why(*ADMITTED, unscheduled(), node(), *other, over, stranger)
    assert "1 pod: nodes for it: 1; none has room; they run pods of default/b" == found[0][1]


@pytest.mark.parametrize(
    ("reason", "unread", "expected"),
    [
        ("Unschedulable", {"Node": "no"}, ("Unschedulable", "1 pod: no node takes it")),
        ("SchedulingGated", {}, ("SchedulingGated", "1 pod: a scheduling gate holds it")),
    ],
)
def test_what_nodes_do_not_tell(reason: str, unread: dict[str, str], expected: tuple[str, str]) -> None:
    """Nodes that may not be read, and gates, leave the scheduler's words."""
    assert [expected] == why(*ADMITTED, unscheduled(reason), unread=unread)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (waiting("ImagePullBackOff", "404"), ("ImageNotPulled", "1 pod: image x:1 cannot be pulled")),
        (
            waiting("ErrImagePull", name="other", image="y:2"),
            ("ImageNotPulled", "1 pod: image y:2 cannot be pulled"),
        ),
        (
            waiting("CreateContainerConfigError", 'secret "token" not found'),
            ("ReferenceMissing", "1 pod: Secret token does not exist in the namespace"),
        ),
        (
            waiting("CreateContainerConfigError", "host IP unknown"),
            ("ContainerNotMade", "1 pod: container main cannot be configured"),
        ),
        (
            waiting("CrashLoopBackOff", lastState={"terminated": {"exitCode": 2}}, restartCount=3),
            ("ContainerFailed", "1 pod: container main ended with exit code 2, restarted 3 times"),
        ),
    ],
)
def test_container_that_does_not_run(found: dict[str, Any], expected: tuple[str, str]) -> None:
    """The kubelet says in the pod's status why a container does not run."""
    assert [expected] == why(*ADMITTED, found)


def test_container_that_is_made_says_nothing() -> None:
    """A container that is being made is not a cause by itself."""
    assert [NOT_READY] == why(*ADMITTED, waiting("ContainerCreating"))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            'configmap "settings" not found',
            ("ReferenceMissing", "1 pod: ConfigMap settings does not exist in the namespace"),
        ),
        ("timed out", ("VolumeNotMounted", "1 pod: no volume")),
    ],
)
def test_volume_that_is_not_mounted(message: str, expected: tuple[str, str]) -> None:
    """The latest warning of the kubelet about a volume is the cause; other warnings are not."""
    warnings = [
        warning("Pod/p0", "FailedMount", message, "T3"),
        warning("Pod/p0", "FailedMount", "an earlier one", "T1"),
        warning("Pod/p0", "Unhealthy", "another matter", "T4"),
    ]
    assert [expected] == why(*ADMITTED, waiting("ContainerCreating"), *warnings)


def test_pods_that_cannot_be_made() -> None:
    """What the API server refuses is in the warnings about the Jobs."""
    refusal = warning("Job/a-0", "FailedCreate", "serviceaccount not found")
    (cause,) = run(*ADMITTED, refusal).causes

    assert ("PodsNotMade", "FailedCreate: serviceaccount not found") == (cause.reason, cause.said)


@pytest.mark.parametrize(
    ("unread", "expected"),
    [
        ({}, [("NoPods", "the cluster has no warning about it yet")]),
        ({"Event": "no"}, [("NoPods", "")]),
        ({"Pod": "no"}, []),
    ],
)
def test_no_pods(unread: dict[str, str], expected: list[tuple[str, str]]) -> None:
    """Where nothing says why there are no pods, and where pods may not be read, nothing is guessed."""
    assert expected == [(cause.reason, cause.hint) for cause in run(*ADMITTED, unread=unread).causes]


SPOT = {**SHAPE, "cloud.google.com/gke-spot": "true"}


@pytest.mark.parametrize(
    ("of_run", "is_ready", "expected"),
    [
        (SHAPE, False, ["OtherFlavor", "PodsNotReady"]),
        (SHAPE, True, ["OtherFlavor"]),
        (SPOT, False, ["PodsNotReady"]),
    ],
)
def test_pods_that_keep_the_labels_of_an_earlier_flavor(
    of_run: dict[str, str], is_ready: bool, expected: list[str]
) -> None:
    """The run is admitted to v5e, and its Job selects what the flavor spot has, which the JobSet does not."""
    made = jobset()
    template = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["spec"]["nodeSelector"] = of_run
    old = {**template, "spec": {**template["spec"], "nodeSelector": SPOT}}
    items = [
        made,
        workload(admitted=8),
        job(spec={"template": old}),
        pod(ready=is_ready),
        pod("p1", ready=is_ready),
    ]
    flavor = item("ResourceFlavor", "spot", {"nodeLabels": SPOT})
    found = run(*items, *queue(), flavor).causes

    assert expected == [cause.reason for cause in found]
    assert (expected[0] == "OtherFlavor") == (
        "its pods select cloud.google.com/gke-spot=true of flavor spot, but it is admitted to v5e: JobSet "
        "keeps the node labels of an earlier admission" == found[0].message
    )


def test_gang() -> None:
    """A gang that is not whole names how many pods are ready, and which are not."""
    late = [pod("p1"), pod("p2")]

    assert [("PodsNotReady", "ready: 1 of 3 pods; not ready: p1 and 1 more")] == why(
        jobset(replicas=2), workload(admitted=8), job(), pod(ready=True), *late
    )
