"""What is written down of what the API server tells."""

import time
from typing import Any

import pytest

from slicewright.rehearse.event_log import Clock, EventLog

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {
        "name": "x",
        "namespace": "default",
        "uid": "u",
        "labels": {"batch.kubernetes.io/job-name": "a"},
    },
    "spec": {"nodeName": "n1", "containers": []},
    "status": {"phase": "Running"},
}
NODE: dict[str, Any] = {
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"cloud.google.com/gke-nodepool": "np-0"}},
}


def test_pod_is_told_when_its_node_is_known() -> None:
    """Pods and nodes are watched apart: a slice is not split because its nodes are told of later."""
    event_log = EventLog(Clock(1.0), {"default/a": 1}, ())

    event_log.see("ADDED", POD)
    event_log.see("DELETED", POD)
    before = event_log.so_far()
    event_log.see("ADDED", NODE)

    assert [] == before
    assert [("podStarted", "np-0"), ("podEnded", "np-0")] == [
        (event.kind, event.node_pool) for event in event_log.so_far()
    ]


def test_pod_on_a_known_node_is_told_at_once() -> None:
    """Also on one that is in no node pool, and while it has no node."""
    event_log = EventLog(Clock(1.0), {"default/a": 1}, ())
    event_log.see("ADDED", {"kind": "Node", "metadata": {"name": "n1"}})

    event_log.see("ADDED", {**POD, "spec": {"containers": []}, "status": {}})
    event_log.see("MODIFIED", POD)

    assert [("podStarted", "")] == [(event.kind, event.node_pool) for event in event_log.so_far()]


def test_end_of_a_wait_of_kueue_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kueue admits a run a moment after its wait to be requeued: no rehearsal ends between the two."""
    real = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: real[0])
    event_log = EventLog(Clock(1.0), {"default/a": 1}, ["default/a"])
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "a", "controller": True}
    metadata = {"name": "jobset-a", "namespace": "default", "uid": "u", "ownerReferences": [owner]}
    workload: dict[str, Any] = {"kind": "Workload", "metadata": metadata, "spec": {}}
    quiet = []
    for seconds, requeue in ((0.0, {"requeueAt": "2026-01-31T12:01:00Z"}), (60.0, {}), (5.0, {})):
        real[0] += seconds
        event_log.see("MODIFIED", {**workload, "status": {"requeueState": requeue}})
        quiet.append(event_log.quiet_seconds())

    assert [0.0, 0.0, 5.0] == quiet
