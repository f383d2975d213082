"""Pods in memory: where they go, and what their Jobs say, as the Job controller and the scheduler do."""

from collections import Counter
from typing import Any

import pytest

from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, NODE_POOL, TPU
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.memory_pods import MemoryPods, Step
from slicewright.rehearse.model.surroundings import PENDING

NOW = "2026-11-24T04:00:00Z"
SPOT = {"key": "spot", "value": "true", "effect": "NoSchedule"}


def nodes(pool: str, count: int, chips: int = 4, **spec: Any) -> list[Object]:
    """Return the nodes of a pool; only those with chips have the taint of TPUs."""
    tpu = {"key": TPU, "value": "present", "effect": "NoSchedule"}
    return [
        {
            "metadata": {
                "name": f"{pool}-{number}",
                "labels": {NODE_POOL: pool, "kind": pool.partition("-")[0]},
            },
            "spec": {"taints": [tpu] if chips else [], **spec},
            "status": {"capacity": {TPU: str(chips)} if chips else {}},
        }
        for number in range(count)
    ]


def job(name: str, count: int = 2, chips: int = 4, *, kind: str = "tpu", **more: Any) -> Object:
    """Return a Job whose pods insist on nodes of a kind."""
    resources = {"limits": {TPU: str(chips)}} if chips else {}
    pod = {
        "nodeSelector": {"kind": kind},
        "containers": [{"name": "c", "image": "i", "resources": resources}],
    }
    metadata = {"labels": {"job-name": name}, "annotations": more.pop("annotations", {})}
    spec = {"parallelism": count, "completions": count, "completionMode": "Indexed", **more}
    return {
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {**spec, "template": {"metadata": metadata, "spec": pod}},
        "status": {},
    }


def added(pods: MemoryPods, *jobs: Object, over: tuple[str, ...] = ()) -> Step:
    """Show Jobs, and end programs of the namespace default."""
    return pods.step([("ADDED", item) for item in jobs], [("default", name) for name in over], NOW)


def told(step: Step) -> list[tuple[str, str, str, str]]:
    """Return verb, name, node and phase of the pods that a step tells of."""
    return [
        (verb, pod["metadata"]["name"], pod["spec"].get("nodeName", ""), pod["status"]["phase"])
        for verb, pod in step.seen
        if pod["kind"] == "Pod"
    ]


def written(step: Step) -> dict[str, Object]:
    """Return what a step writes into the status of Jobs, by name; of conditions their type and status."""
    return {
        item["metadata"]["name"]: {
            **status,
            "conditions": [(entry["type"], entry["status"]) for entry in status["conditions"]],
        }
        for item, status in step.statuses.values()
    }


def test_pods_of_a_job_start_together_on_one_node_pool() -> None:
    """Each host has 4 chips, and each pod takes them all: one pool of two hosts holds one Job of two pods."""
    pods = MemoryPods([nodes("tpu-0", 2), nodes("tpu-1", 2)])
    step = added(pods, job("a"), job("b"))

    assert [
        ("ADDED", "a-0-1", "tpu-0-0", "Running"),
        ("ADDED", "a-1-1", "tpu-0-1", "Running"),
        ("ADDED", "b-0-2", "tpu-1-0", "Running"),
        ("ADDED", "b-1-2", "tpu-1-1", "Running"),
    ] == told(step)
    runs = {"active": 2, "ready": 2, "startTime": NOW, "conditions": [("Suspended", "False")]}
    assert {"a": runs, "b": runs} == written(step)
    assert ([], {}) == (told(added(pods, job("a"))), written(added(pods)))


def test_job_that_no_node_pool_suits_says_so() -> None:
    """Pods select nodes of a kind that does not exist: the reason is not a lack of free chips."""
    (_, warning) = (item for _, item in added(MemoryPods([nodes("tpu-0", 2)]), job("a", kind="gpu")).seen)

    assert "no node pool suits the node selector and the tolerations of a" == warning["message"]


def test_job_without_room_waits_until_another_ends() -> None:
    """The scheduler's warning comes once; a pool that is half full has no room for a Job of two pods."""
    pods = MemoryPods([nodes("tpu-0", 2)])
    (begun,) = written(added(pods, job("a"))).values()
    waits, again = added(pods, job("b")), added(pods)
    half = added(pods, over=("a-0-1",))
    whole = added(pods, over=("a-1-1", "unknown"))

    assert 2 == begun["active"]
    (pod, warning) = (item for _, item in waits.seen)
    assert ("Pod", "b-0-2", "FailedScheduling") == (pod["kind"], pod["metadata"]["name"], warning["reason"])
    assert "none of 1 node pool has the chips free for all pods of b" == warning["message"]
    assert ([], {}, [("MODIFIED", "a-0-1", "tpu-0-0", "Succeeded")], {}) == (
        again.seen,
        again.statuses,
        told(half),
        half.statuses,
    )
    assert ["a-1-1", "b-0-5", "b-1-5"] == [name for _, name, _, _ in told(whole)]
    done = written(whole)["a"]
    assert ("0-1", 2, 0, NOW) == (
        done["completedIndexes"],
        done["succeeded"],
        done["active"],
        done["completionTime"],
    )
    assert [("SuccessCriteriaMet", "True"), ("Complete", "True")] == done["conditions"]


def test_completed_indexes_are_those_that_the_api_server_takes() -> None:
    """One index is a number; a Job that is not indexed has none."""
    pods = MemoryPods([nodes("tpu-0", 2)])
    added(pods, job("one", 1), job("plain", 1, completionMode="NonIndexed"))
    ended = written(added(pods, over=("one-0-1", "plain-0-2")))

    assert ("0", None) == (ended["one"]["completedIndexes"], ended["plain"].get("completedIndexes"))


def test_suspended_job_gives_its_nodes_back() -> None:
    """Kueue preempts by suspending: the pods go, and the next ones have other names."""
    pods = MemoryPods([nodes("tpu-0", 2)])
    added(pods, job("a"))
    suspended = added(pods, job("a", suspend=True))
    resumed = added(pods, job("a"))

    assert ["DELETED", "DELETED"] == [verb for verb, *_ in told(suspended)]
    assert {"a": {"active": 0, "ready": 0, "conditions": [("Suspended", "True")]}} == written(suspended)
    assert ["a-0-2", "a-1-2"] == [name for _, name, _, _ in told(resumed)]


def test_suspended_job_is_told_once() -> None:
    """What says that it is suspended is not written again."""
    pods, item = MemoryPods([nodes("tpu-0", 2)]), job("a", suspend=True)
    first = added(pods, item)
    item["status"] = {"conditions": [{"type": "Suspended", "status": "True"}]}

    assert (["a"], {}) == ([*written(first)], added(pods, item).statuses)


@pytest.mark.parametrize("how", ["deleted", "deleting", "complete"])
def test_job_that_goes_takes_its_pods_along(how: str) -> None:
    """JobSet deletes Jobs that go on when it is over; nothing is written about them."""
    pods, gone = MemoryPods([nodes("tpu-0", 2)]), job("a")
    added(pods, gone)
    if how == "deleting":
        gone["metadata"]["deletionTimestamp"] = NOW
    if how == "complete":
        gone["status"]["conditions"] = [{"type": "Complete", "status": "True"}]
    step = pods.step([("DELETED" if how == "deleted" else "MODIFIED", gone)], [], NOW)

    assert (2, {}) == (Counter(verb for verb, *_ in told(step))["DELETED"], step.statuses)
    assert 2 == len(told(added(pods, job("b"))))


def test_pods_that_lack_an_object_hold_their_nodes_and_do_not_run() -> None:
    """As a pod without its Secret does."""
    pods = MemoryPods([nodes("tpu-0", 2)])
    step = added(pods, job("a", annotations={PENDING: "true"}))

    assert ["Pending", "Pending"] == [phase for *_, phase in told(step)]
    assert (2, 0) == (written(step)["a"]["active"], written(step)["a"]["ready"])


def test_small_pods_share_a_host_unless_their_slice_is_exclusive() -> None:
    """Two Jobs of one pod with 4 of 8 chips fit on one host; exclusive Jobs take a node pool each."""
    exclusive = {EXCLUSIVE_TOPOLOGY: NODE_POOL}
    shared = MemoryPods([nodes("tpu-0", 1, 8), nodes("tpu-1", 1, 8)])
    alone = MemoryPods([nodes("tpu-0", 1, 8), nodes("tpu-1", 1, 8)])

    assert ["tpu-0-0", "tpu-0-0"] == [node for _, _, node, _ in told(added(shared, job("a", 1), job("b", 1)))]
    jobs = [job(name, 1, annotations=exclusive) for name in "ab"]
    assert ["tpu-0-0", "tpu-1-0"] == [node for _, _, node, _ in told(added(alone, *jobs))]


def test_pods_without_chips_share_the_nodes_of_their_kind() -> None:
    """Of their resources nothing is counted; without a node of that kind they wait."""
    pods = MemoryPods([nodes("tpu-0", 1), nodes("cpu", 2, 0)])

    assert ["cpu-0", "cpu-1", "cpu-0"] == [
        node for _, _, node, _ in told(added(pods, job("a", 3, 0, kind="cpu")))
    ]
    assert [("ADDED", "b-0-2", "", "Pending")] == told(added(pods, job("b", 1, 0, kind="gpu")))


def test_tainted_nodes_are_for_those_that_tolerate_them() -> None:
    """The taint of TPUs is tolerated by every pod with chips: an admission plugin says so for them."""
    pods = MemoryPods([nodes("tpu-0", 1, taints=[SPOT])])
    barred, allowed = job("barred", 1), job("allowed", 1)
    allowed["spec"]["template"]["spec"]["tolerations"] = [{"key": "spot", "operator": "Exists"}]

    assert ["", "tpu-0-0"] == [node for _, _, node, _ in told(added(pods, barred, allowed))]


def test_job_that_is_suspended_before_it_found_nodes_waits_no_more() -> None:
    """It is told again that no node is free when it is resumed."""
    pods = MemoryPods([nodes("tpu-0", 1)])
    first = added(pods, job("a"))
    added(pods, job("a", suspend=True))

    assert (2, [], 2) == (len(first.seen), added(pods).seen, len(added(pods, job("a")).seen))
