"""`slicewright status` on real controllers: a scene for each cause, and nothing that writes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.docs.transcript import DOCS, blocks

from slicewright.cli.main import cli
from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.cluster.api.kubeconfig import read
from slicewright.cluster.api.read_only import ReadOnly, read_inventory
from slicewright.cluster.status.run_status import Run, status
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import package
from slicewright.testbed.bed import Bed

from . import kit
from .test_queueing import V5E, jobset, prepare, submit

NAME = "scene"
PAGE = DOCS / "how-to/see-what-runs.md"
PENDING = "slicewright.dev/simulated-pending"
RBAC = "rbac.authorization.k8s.io"


def one(*, labels: Object | None = None, annotations: Object | None = None, **spec: Any) -> Object:
    """Return a JobSet of two hosts without a TPU; `spec` goes to its pods."""
    container = {"name": "main", "image": "no.example/train:1", "command": ["true"]}
    tolerations = [{"key": "google.com/tpu", "operator": "Exists", "effect": "NoSchedule"}]
    pod: Object = {"restartPolicy": "Never", "containers": [container], "tolerations": tolerations, **spec}
    template = {"metadata": {"annotations": annotations or {}}, "spec": pod}
    job = {"spec": {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": template}}
    return {
        "apiVersion": kit.JOBSET[0],
        "kind": kit.JOBSET[1],
        "metadata": {
            "name": NAME,
            "namespace": "default",
            "labels": {"slicewright.dev/workload": NAME, **(labels or {})},
        },
        "spec": {"replicatedJobs": [{"name": "slice", "replicas": 1, "template": job}]},
    }


def client(bed: Bed) -> ReadOnly:
    """Return the client that reads."""
    return ReadOnly(read(bed.kubeconfig))


def run_of(bed: Bed, name: str = NAME) -> Run:
    """Return what status says of a run."""
    with client(bed) as api:
        found = status("c", "x", {}, read_inventory(api, ["default"]), package().catalogue)
    return {entry.run: entry for entry in found.runs}[name]


def why(bed: Bed, reason: str, name: str = NAME, begins: str = "") -> str:
    """Wait until status names a cause, and return its message with the controller's words.

    Where pods are told of one after another, the message `begins` with the number of all.
    """

    def named() -> str | None:
        causes = [one for one in run_of(bed, name).causes if one.reason == reason]
        return next((f"{one.message} | {one.said}" for one in causes if one.message.startswith(begins)), None)

    return bed.until(f"the cause {reason}", named)


def pods(bed: Bed) -> list[Object]:
    """Wait for the two pods of the scene on their nodes, and return them."""

    def placed() -> list[Object] | None:
        found = [pod for pod in kit.pods_of(bed, NAME) if pod["spec"].get("nodeName")]
        return found if len(found) == 2 else None

    return bed.until("its pods to have nodes", placed)


def write_status(bed: Bed, pod: Object, **container: Any) -> None:
    """Write what a kubelet writes into the status of a pod whose container waits."""
    entry = {"name": "main", "image": "no.example/train:1", "imageID": "", "ready": False, "restartCount": 0}
    change = {"status": {"containerStatuses": [{**entry, **container}]}}
    bed.api.patch(pod, change, subresource="status")


def test_quota_is_held_by_whom(bed: Bed) -> None:
    """The arithmetic names the run that holds the chips, beside Kueue's own sentence."""
    prepare(bed)
    submit(bed, [jobset(f"multislice-{count}slice", seconds=600) for count in (3, 2)])

    expected = (
        "needs 16 chips of flavor multislice-queue-flavor; ClusterQueue multislice-queue-cq has quota of 24, "
        "24 held: 24 by default/multislice-3slice | Pending: couldn't assign flavors to pod set slice: "
        "insufficient unused quota for google.com/tpu in flavor multislice-queue-flavor, 16 more needed"
    )
    assert expected == why(bed, "QuotaHeld", "multislice-2slice")
    bed.until("the 3-slice to run", lambda: run_of(bed, "multislice-3slice").state == "Running")
    waiting = run_of(bed, "multislice-2slice")
    assert ("Pending", 16, 1) == (waiting.state, waiting.chips, waiting.position)


@pytest.mark.parametrize(
    ("kind", "queue"), [("ClusterQueue", "multislice-queue-cq"), ("LocalQueue", "multislice-queue")]
)
def test_queue_is_stopped(bed: Bed, kind: str, queue: str) -> None:
    """A stopPolicy of either queue is named."""
    prepare(bed)
    bed.api.patch(bed.api.get(kit.KUEUE, kind, queue, "default"), {"spec": {"stopPolicy": "Hold"}})
    submit(bed, [jobset("multislice-1slice", seconds=600)])

    assert f"{queue} is stopped: stopPolicy Hold" in why(bed, "QueueStopped", "multislice-1slice")


def test_queue_is_missing(bed: Bed) -> None:
    """A LocalQueue that the namespace lacks is named."""
    bed.api.create(one(labels={kit.QUEUE: "nowhere"}))

    assert "LocalQueue default/nowhere does not exist" in why(bed, "LocalQueueMissing")


def test_admission_check_is_pending(bed: Bed) -> None:
    """Quota is reserved, and the check that holds the run back is named."""
    check = {"apiVersion": kit.KUEUE, "kind": "AdmissionCheck", "metadata": {"name": "slow"}}
    made = bed.api.create({**check, "spec": {"controllerName": "example.com/slow"}})
    active = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    bed.api.patch(made, {"status": {"conditions": [active]}}, subresource="status")
    try:
        bed.add_nodes(kit.site("multislice-cluster"))
        checks = {"admissionChecks": [{"name": "slow"}]}
        for item in kit.queue_objects(
            "multislice-queue", chips=24, labels=V5E, admissionChecksStrategy=checks
        ):
            bed.api.create(item)
        submit(bed, [jobset("multislice-1slice", seconds=600)])

        assert "admission check slow is Pending" in why(bed, "AdmissionCheck", "multislice-1slice")
    finally:
        bed.api.delete(made)


def test_no_node_has_the_label(bed: Bed) -> None:
    """The label that no node has is named with the values that nodes have."""
    bed.add_nodes(kit.site("multislice-cluster"))
    bed.api.create(one(nodeSelector={"cloud.google.com/gke-tpu-topology": "4x4"}))

    said = why(bed, "NoSuitingNode", begins="2 pods")
    assert (
        "2 pods: no node has cloud.google.com/gke-tpu-topology=4x4; nodes have 2x4 | Unschedulable: 0/"
        in said
    )


def test_taint_is_not_tolerated(bed: Bed) -> None:
    """The taint that all nodes of the shape have is named."""
    bed.add_nodes(kit.site("multislice-cluster"))
    bed.api.create(one(nodeSelector=V5E, tolerations=[]))

    expected = "2 pods: nodes with its labels: 6; all have taint google.com/tpu=present:NoSchedule, which it "
    assert expected in why(bed, "TaintNotTolerated", begins="2 pods")


SPOT = {**V5E, "cloud.google.com/gke-spot": "true"}


@pytest.mark.ci
@pytest.mark.parametrize("kind", [kit.JOBSET, kit.JOB])
def test_run_moves_to_another_flavor(bed: Bed, kind: tuple[str, str]) -> None:
    """JobSet keeps the labels of Spot nodes until its Jobs are deleted, as the hint says; a Job does not."""
    bed.add_nodes(kit.site("multislice-cluster"))
    flavor, queue, local = kit.queue_objects("multislice-queue", chips=8, labels=V5E)
    spot = {**flavor, "metadata": {"name": "spot"}, "spec": {"nodeLabels": SPOT}}
    (group,) = queue["spec"]["resourceGroups"]
    group["flavors"].append({**group["flavors"][0], "name": "spot"})
    for item in (flavor, spot, queue, local):
        bed.api.create(item)
    submit(bed, [jobset("multislice-1slice", seconds=600)])
    moving = jobset("multislice-1slice", seconds=600)
    moving["metadata"]["name"] = NAME
    if kind == kit.JOB:
        of_job = moving["spec"]["replicatedJobs"][0]["template"]["spec"]
        moving = {**moving, "apiVersion": kind[0], "kind": kind[1], "spec": {**of_job, "suspend": True}}
    bed.api.create(moving)
    assert "no node has cloud.google.com/gke-spot=true" in why(bed, "NoSuitingNode")
    (workload,) = [
        item for item in bed.api.list(*kit.WORKLOAD) if item["metadata"]["ownerReferences"][0]["name"] == NAME
    ]
    bed.api.patch(workload, {"spec": {"active": False}})
    bed.until("it to be evicted", lambda: NAME not in kit.admitted(bed))
    bed.api.delete(bed.api.get(*kit.JOBSET, "multislice-1slice", "default"))
    bed.until("the quota to be free", lambda: not kit.admitted(bed))
    bed.api.patch(workload, {"spec": {"active": True}})

    if kind == kit.JOBSET:
        assert "its pods select cloud.google.com/gke-spot=true of flavor spot" in why(bed, "OtherFlavor")
        (cause,) = [cause for cause in run_of(bed).causes if cause.reason == "OtherFlavor"]
        labels = cause.hint.partition(" -l ")[2].strip("'")
        bed.api.each(bed.api.delete, list(bed.api.list(*kit.JOB, namespace="default", labels=labels)))
    bed.until("it to run", lambda: run_of(bed).state == "Running")
    assert () == run_of(bed).causes
    assert 0 == run_of(bed).restarts


def test_image_cannot_be_pulled(bed: Bed) -> None:
    """What the kubelet says of an image is shown, with the image."""
    bed.add_nodes(kit.site("multislice-cluster"))
    bed.api.create(one(nodeSelector=V5E, annotations={PENDING: "true"}))
    waiting = {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}
    for pod in pods(bed):
        write_status(bed, pod, state={"waiting": waiting})

    expected = "2 pods: image no.example/train:1 cannot be pulled | ImagePullBackOff: Back-off pulling image"
    assert expected == why(bed, "ImageNotPulled")
    assert "Starting" == run_of(bed).state


def test_secret_is_missing(bed: Bed) -> None:
    """A Secret for an env, and a ConfigMap for a volume, are named; nobody reads Secrets for it."""
    bed.add_nodes(kit.site("multislice-cluster"))
    bed.api.create(one(nodeSelector=V5E, annotations={PENDING: "true"}))
    first, second = pods(bed)
    waiting = {"reason": "CreateContainerConfigError", "message": 'secret "token" not found'}
    write_status(bed, first, state={"waiting": waiting})
    message = 'MountVolume.SetUp failed for volume "settings" : configmap "settings" not found'
    metadata = second["metadata"]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.mount", "namespace": "default"},
        "involvedObject": {
            "kind": "Pod",
            "namespace": "default",
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
        "type": "Warning",
        "reason": "FailedMount",
        "message": message,
    }
    bed.api.create(event)

    assert "1 pod: Secret token does not exist" in why(bed, "ReferenceMissing")
    messages = [cause.message for cause in run_of(bed).causes]
    assert "1 pod: ConfigMap settings does not exist in the namespace" in messages


def test_failed_with_its_exit_code(bed: Bed) -> None:
    """A run that failed has the exit code of its container, and has used up its restarts."""
    bed.add_nodes(kit.site("multislice-cluster"))
    failing = one(nodeSelector=V5E, annotations={kit.SECONDS: "0.5", kit.EXIT: "3"})
    failing["spec"]["failurePolicy"] = {"maxRestarts": 1}
    bed.api.create(failing)

    said = why(bed, "RestartsUsedUp")
    assert "it failed, and its 1 restarts are used up" in said
    assert "container main ended with exit code 3" in said or "does not say the exit code" in said
    assert ("Failed", 1) == (run_of(bed).state, run_of(bed).restarts)


def test_gang_is_not_whole(bed: Bed) -> None:
    """Of a gang of which one pod is not ready, this one is named."""
    bed.add_nodes(kit.site("multislice-cluster"))
    bed.api.create(one(nodeSelector=V5E))
    bed.until("both to run", lambda: run_of(bed).state == "Running")
    late = kit.pods_of(bed, NAME)[0]
    ready = [
        {**entry, "status": "False"} if entry["type"] == "Ready" else entry
        for entry in late["status"]["conditions"]
    ]
    bed.api.patch(late, {"status": {"conditions": ready}}, subresource="status")

    expected = f"ready: 1 of 2 pods; not ready: {late['metadata']['name']} | "
    assert expected == why(bed, "PodsNotReady")


@pytest.fixture
def documented_role(bed: Bed) -> Iterator[Object]:
    """Bind the role of the how-to page to a service account, and return it."""
    (text,) = [text for language, *_, text in blocks(PAGE) if language == "yaml"]
    role = yaml.safe_load(text)
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "reader", "namespace": "default"},
    }
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role["metadata"]["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
    }
    made = [bed.api.create(item) for item in (role, account, binding)]
    yield role
    bed.api.each(bed.api.delete, made)


def kubeconfig(bed: Bed, folder: Path) -> Path:
    """Write a kubeconfig of the service account."""
    token = bed.api.request(
        "POST",
        "/api/v1/namespaces/default/serviceaccounts/reader/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )["status"]["token"]
    document = yaml.safe_load(bed.kubeconfig.read_text(encoding="utf-8"))
    document["users"][0]["user"] = {"token": token}
    target = folder / "reader.kubeconfig"
    target.write_text(yaml.safe_dump(document), encoding="utf-8")
    return target


def test_documented_role_is_enough_and_no_more(bed: Bed, documented_role: Object, tmp_path: Path) -> None:
    """With the role of the page all is read and nothing is written; without nodes a warning says so."""
    prepare(bed)
    submit(bed, [jobset("multislice-1slice", seconds=600)])
    file = kubeconfig(bed, tmp_path)
    context = yaml.safe_load(file.read_text(encoding="utf-8"))["current-context"]
    arguments = [
        "status",
        "-C",
        str(kit.ROOT),
        "multislice-cluster",
        "--kubeconfig",
        str(file),
        "--context",
        context,
    ]
    bed.until("the role to count", lambda: "STA002" not in CliRunner().invoke(cli, arguments).stderr)

    done = CliRunner().invoke(cli, arguments, prog_name="slicewright")
    assert (0, "") == (done.exit_code, done.stderr)
    assert "multislice-1slice" in done.stdout
    with Api(read(file)) as api, pytest.raises(ApiError, match="403"):
        api.delete(api.get(*kit.JOBSET, "multislice-1slice", "default"))
    rules = [rule for rule in documented_role["rules"] if "nodes" not in rule["resources"]]
    bed.api.patch(documented_role, {"rules": rules})

    bed.until("the right to go", lambda: "STA002" in CliRunner().invoke(cli, arguments).stderr)
    done = CliRunner().invoke(cli, arguments, prog_name="slicewright")
    assert 0 == done.exit_code
    assert "multislice-1slice" in done.stdout
    assert "not every Node on multislice-cluster can be read" in done.stderr


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_client_sends_nothing_but_get(bed: Bed, method: str) -> None:
    """Whatever would write is refused before it is sent."""
    with client(bed) as api, pytest.raises(PermissionError, match="this client only reads"):
        api.request(method, "/api/v1/namespaces/default/pods", {})


@pytest.mark.ci
def test_wait(bed: Bed) -> None:
    """The exit code says whether the state is reached: 0 when it runs and ends, 124 when the time is over."""
    prepare(bed)
    context = yaml.safe_load(bed.kubeconfig.read_text(encoding="utf-8"))["current-context"]

    def wait(state: str, timeout: str) -> int:
        arguments = [
            "multislice-1slice",
            "--for",
            state,
            "--timeout",
            timeout,
            "--cluster",
            "multislice-cluster",
        ]
        where = ["--kubeconfig", str(bed.kubeconfig), "--context", context]
        return CliRunner().invoke(cli, ["wait", "-C", str(kit.ROOT), *arguments, *where]).exit_code

    assert 124 == wait("running", "100ms")
    submit(bed, [jobset("multislice-1slice", seconds=8)])
    assert 0 == wait("running", "60s")
    assert 0 == wait("finished", "60s")
