"""What is read of a cluster whose API server refuses a part, or lacks a kind."""

from typing import Any

import pytest
from tests.cluster.api.served import Served

from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.read_only import read_inventory
from slicewright.kubernetes.kinds import KUEUE_VERSION
from slicewright.kubernetes.types import Object


def listing(*names: str) -> Object:
    """Return a list of objects of namespace `a`."""
    items = [{"metadata": {"name": name, "namespace": "a", "uid": name}, "spec": {}} for name in names]
    return {"items": items, "metadata": {"resourceVersion": "1"}}


def cluster(more: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a cluster with pods, events, nodes and Jobs, and what `more` answers."""
    kinds = [("pods", "Pod", True), ("events", "Event", True), ("nodes", "Node", False)]
    served = [{"name": name, "kind": kind, "namespaced": inside} for name, kind, inside in kinds]
    answers: dict[str, Any] = {
        "/api/v1": {"resources": served},
        "/apis/batch/v1": {"resources": [{"name": "jobs", "kind": "Job", "namespaced": True}]},
        "/apis/batch/v1/jobs": listing("j"),
        **{f"/api/v1/{name}": listing() for name, _, _ in kinds},
    }
    return answers | (more or {})


def test_kinds_that_a_cluster_lacks_have_no_objects() -> None:
    """A cluster without JobSet and Kueue is read as it is; only pods of Jobs and warnings are read."""
    api = Served(cluster())
    found = read_inventory(api, ["a"])

    assert {"Job", "Pod", "Event", "Node"} == set(found.objects)
    assert {} == found.unread
    asked = dict(api.asked)
    assert "batch.kubernetes.io/job-name" == asked["/api/v1/pods"]["labelSelector"]
    assert "type=Warning" == asked["/api/v1/events"]["fieldSelector"]


def test_kinds_that_may_not_be_listed_everywhere() -> None:
    """Namespaces of the tree are read one by one; what is refused there too, and nodes, are unread."""
    answers = {
        **dict.fromkeys(("/apis/batch/v1/jobs", "/api/v1/nodes", "/api/v1/events"), 403),
        "/apis/batch/v1/namespaces/a/jobs": listing("mine"),
        "/apis/batch/v1/namespaces/b/jobs": 403,
        "/api/v1/namespaces/a/events": 403,
        "/api/v1/namespaces/b/events": 403,
    }
    found = read_inventory(Served(cluster(answers)), ["a", "b"])

    assert ["mine"] == [item["metadata"]["name"] for item in found.of("Job")]
    assert {"Job", "Event", "Node"} == set(found.unread)
    assert "403 at /api/v1/nodes" == found.unread["Node"]


@pytest.mark.parametrize(
    "answers",
    [
        {"/apis/kueue.x-k8s.io": 500},
        {"/api/v1/pods": 500},
        {"/api/v1/pods": 403, "/api/v1/namespaces/a/pods": 500},
    ],
)
def test_cluster_that_breaks_is_not_half_read(answers: dict[str, Any]) -> None:
    """An answer that is neither a refusal nor a missing kind ends the reading."""
    with pytest.raises(ApiError, match="500"):
        read_inventory(Served(cluster(answers)), ["a"])


def kueue(pending: Any) -> dict[str, Any]:
    """Return a cluster with a ClusterQueue, and what Kueue's visibility API answers."""
    root = f"/apis/{KUEUE_VERSION}"
    return cluster(
        {
            "/apis/kueue.x-k8s.io": {"versions": [{"version": "v1beta1"}, {"version": "v1beta2"}]},
            root: {"resources": [{"name": "clusterqueues", "kind": "ClusterQueue", "namespaced": False}]},
            f"{root}/clusterqueues": listing("cq"),
            "/apis/visibility.kueue.x-k8s.io/v1beta1/clusterqueues/cq/pendingworkloads": pending,
        }
    )


def test_places_in_the_queue_as_kueue_says_them() -> None:
    """Kueue counts from 0; the newest version of its API that is served is read."""
    waiting = {"metadata": {"name": "w", "namespace": "a"}, "positionInClusterQueue": 2}
    first = {"metadata": {"name": "v", "namespace": "a"}}

    found = read_inventory(Served(kueue({"items": [first, waiting]})), [])
    assert {("a", "v"): 1, ("a", "w"): 3} == found.positions


@pytest.mark.parametrize(
    "pending",
    [
        {},
        {"items": 5},
        {"items": [None, 5, "w"]},
        {"items": [{"metadata": {"name": "w"}, "positionInClusterQueue": "first"}]},
    ],
)
def test_places_with_fields_of_other_types(pending: Object) -> None:
    """An entry that says no place has none."""
    assert {} == read_inventory(Served(kueue(pending)), []).positions


def test_name_of_a_queue_stays_within_its_path() -> None:
    """What a server calls a queue leads to no other address."""
    answers = kueue({}) | {f"/apis/{KUEUE_VERSION}/clusterqueues": listing("../a?b")}
    api = Served(answers)

    read_inventory(api, [])

    assert api.asked[-1][0].endswith("/clusterqueues/..%2Fa%3Fb/pendingworkloads")


@pytest.mark.parametrize("code", [403, 404, 503])
def test_places_that_are_not_served(code: int) -> None:
    """Without the visibility API, or the right to read it, there are no places."""
    assert {} == read_inventory(Served(kueue(code)), []).positions


def test_places_of_a_server_that_breaks() -> None:
    """Any other answer is an error."""
    with pytest.raises(ApiError, match="500"):
        read_inventory(Served(kueue(500)), [])


WHOLE: Object = {"metadata": {"name": "j", "namespace": "a", "uid": "u"}, "spec": {}, "status": {}}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"spec": None}, "a/j: Object missing required field `spec`"),
        ({"metadata": None}, "without a name: Object missing required field `metadata`"),
        ({"metadata": {"name": "j"}}, "j: Object missing required field `uid`"),
        (
            {"metadata": {**WHOLE["metadata"], "creationTimestamp": "yesterday"}},
            "a/j: Invalid RFC3339 encoded datetime - at `$.metadata.creationTimestamp`",
        ),
        (
            {"metadata": {**WHOLE["metadata"], "creationTimestamp": "2026-11-23T00:00:00"}},
            "a/j: Expected `datetime` with a timezone component",
        ),
        ({"status": {"failed": "many"}}, "a/j: Expected `int`, got `str` - at `$.status.failed`"),
        ({"status": {"conditions": [{"type": "Failed"}]}}, "a/j: Object missing required field `status`"),
    ],
)
def test_object_with_wrong_types_is_skipped(change: Object, why: str) -> None:
    """One odd object is noted with the field, and all others are read."""
    odd, good = {**WHOLE, **change}, {**WHOLE, "metadata": {"name": "good", "uid": "v"}, "status": None}
    answers = {"/apis/batch/v1/jobs": {**listing(), "items": [odd, good]}}

    found = read_inventory(Served(cluster(answers)), [])

    assert ["good"] == [item["metadata"]["name"] for item in found.of("Job")]
    assert found.unread["Job"].startswith(f"1 object skipped, the first is {why}")


def test_entry_of_a_list_that_is_not_an_object_is_skipped() -> None:
    """Several are counted."""
    answers = {"/apis/batch/v1/jobs": {**listing(), "items": [None, "j", WHOLE]}}

    found = read_inventory(Served(cluster(answers)), [])

    assert 1 == len(found.of("Job"))
    assert found.unread["Job"].startswith("2 objects skipped, the first is without a name: ")
