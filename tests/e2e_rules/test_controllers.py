"""LeaderWorkerSet, Trainer, KubeRay and Kueue give the verdicts of tests/check/rules/controllers.yaml."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any

import pytest
from tests.check.rules.verdicts import CONTROLLED, controlled
from tests.e2e_rules import controllers
from tests.testbed.kit import keeping_logs

from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.testbed.bed_cluster import Cluster
from slicewright.testbed.waiting import BedError

pytestmark = pytest.mark.workflow  # controllers that `make tools` does not build

FRAMEWORKS = (
    "batch/job",
    "jobset.x-k8s.io/jobset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "trainer.kubeflow.org/trainjob",
)
PODS = {"lws": 4, "raycluster": 5, "rayjob": 5, "rayservice": 5, "trainjob": 4}
"""How many pods the object of a file has, where its row does not say another number."""
EXPECTED = {"Pod", "Workload"}
"""Kinds whose warnings say that nodes and queues are missing: this cluster has none."""
SECONDS = 60


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Hold a cluster with the controllers of other projects, whose kinds Kueue queues."""
    installed = [controllers.objects(row, tmp_path_factory.mktemp(row["tool"])) for row in controllers.ROWS]
    objects = [item for items in installed for item in items if not controllers.is_webhook(item)]
    settings = {"integrations": {"frameworks": FRAMEWORKS}}
    with keeping_logs(Cluster(controllers=objects, kueue_settings=settings), request) as cluster:
        for row, items in zip(controllers.ROWS, installed, strict=True):
            controllers.start(cluster, row, items)
        yield cluster


@pytest.fixture(scope="module")
def verdicts(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Return what each row came to, and the words of the server or of the controller, by its namespace."""
    rows = {f"{of}-{index}": row for of in CONTROLLED for index, row in enumerate(CONTROLLED[of])}
    for of in CONTROLLED:
        cluster.until(f"the webhooks of {of}", partial(_answers, cluster.api, CONTROLLED[of][0]))
    found: dict[str, tuple[str, str]] = {}
    for name in rows:
        cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    # A webhook sees a moment later what was created, and the last object of a row refers to the others.
    for part in slice(None, -1), slice(-1, None):
        for name, row in rows.items():
            if name not in found and (said := _refused(cluster.api, name, controlled(row)[part])):
                found[name] = "refused", said
    waiting = {name: _pods(row) for name, row in rows.items() if name not in found}

    def settled() -> bool:
        pods = Counter(pod["metadata"]["namespace"] for pod in cluster.api.list("v1", "Pod"))
        warned = _warnings(cluster.api)
        for name, number in waiting.items():
            state = "accepted" if pods[name] >= number else "waiting"
            found[name] = ("failed", warned[name]) if name in warned else (state, f"{pods[name]} pods")
        return "waiting" not in {word for word, _ in found.values()}

    with suppress(BedError):  # what is still waited for then has no verdict
        cluster.until("the controllers to say what they make of all objects", settled, seconds=SECONDS)
    cluster.processes.check()
    return found


def _answers(api: Api, row: dict[str, Any]) -> bool:
    return all(api.create(_placed(item, "default"), dryRun="All") for item in controlled(row)[:1])


def _pods(row: dict[str, Any]) -> int:
    return int(row.get("pods", PODS[row["of"]]))


def _placed(item: dict[str, Any], namespace: str) -> dict[str, Any]:
    return {**item, "metadata": {**item["metadata"], "namespace": namespace}}


def _refused(api: Api, namespace: str, items: list[dict[str, Any]]) -> str:
    """Create objects in a namespace; return what the server says where it refuses one, else ''."""
    try:
        for item in items:
            api.create(_placed(item, namespace), fieldValidation="Strict")
    except ApiError as error:
        if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        return error.message
    return ""


def _warnings(api: Api) -> dict[str, str]:
    """Return the message of a warning for each namespace that has one about what controllers made.

    A busy controller that does not see yet what it has made makes it again: "already exists" is no verdict.
    """
    return {
        event["metadata"]["namespace"]: f"{event['reason']}: {event['message']}"
        for event in api.list("v1", "Event")
        if event["type"] == "Warning"
        and event["involvedObject"]["kind"] not in EXPECTED
        and not event["message"].endswith("already exists")
    }


@pytest.mark.parametrize("of", CONTROLLED)
def test_controllers_give_the_verdicts(verdicts: dict[str, tuple[str, str]], of: str) -> None:
    """Admission refuses, a controller warns of what it cannot make, or all pods come, as the row says."""
    theirs = [verdicts[f"{of}-{index}"] for index in range(len(CONTROLLED[of]))]
    differing = [
        (row["ops"], row["verdict"], *said)
        for row, said in zip(CONTROLLED[of], theirs, strict=True)
        if row["verdict"] != said[0]
    ]
    assert [] == differing


def test_controllers_are_asked_about_enough() -> None:
    """At least 60 objects, of which a good part is accepted, and none by its schema alone."""
    words = [row["verdict"] for rows in CONTROLLED.values() for row in rows]

    assert len(words) >= 60
    assert words.count("accepted") >= 30
    assert set(words) == {"accepted", "failed", "refused"}
