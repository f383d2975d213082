"""Timers of controllers on the rehearsal's clock: when each expires, and what lets it expire."""

import math
from typing import Any

import pytest

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.controller_timers import (
    DEADLINE,
    MAX_EXECUTION,
    RECOVERY,
    REQUEUE,
    RETENTION,
    TTL,
    WAIT_FOR_PODS,
    ControllerTimers,
    Spans,
    read_spans,
    scaled,
)

from .kit import A, job, jobset

NOW = "2026-01-31T12:00:00.5+00:00"
SINCE = "2026-01-31T12:00:00Z"
LONG_AGO = "2026-01-31T11:00:00Z"
B = "default/b"


def condition(kind: str, status: str = "True", reason: str = "", since: str = SINCE) -> Object:
    """Return a condition."""
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": since}


def workload(*conditions: Object, spec: Object | None = None, **status: Any) -> Object:
    """Return a Workload with some conditions."""
    return {
        "kind": "Workload",
        "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7"},
        "spec": spec or {},
        "status": {"conditions": list(conditions), **status},
    }


def of(item: Object, **status: Any) -> Object:
    """Return an object with a uid and a status."""
    return {**item, "metadata": {**item["metadata"], "uid": "u"}, "status": status}


def pod(phase: str) -> Object:
    """Return a pod with a deadline."""
    metadata = {"name": "p", "namespace": "default", "uid": "u"}
    return {"kind": "Pod", "metadata": metadata, "spec": {DEADLINE: 60}, "status": {"phase": phase}}


def seen(item: Object, at: float = 100.0, **settings: Any) -> ControllerTimers:
    """Return the timers that an object has which is seen for the first time."""
    timers = ControllerTimers(settings)
    timers.see(at, "ADDED", item, A, NOW)
    return timers


def limited(**fields: Any) -> Object:
    """Return a Job with fields of its spec."""
    item = job()
    return {**item, "spec": {**item["spec"], **fields}}


ADMITTED = condition("Admitted")
UNREADY = condition("PodsReady", "False", "WaitForStart")
LOST = condition("PodsReady", "False", "WaitForRecovery")
EVICTED = condition("Evicted", reason="PodsReadyTimeout")
DEACTIVATED = condition("Evicted", reason="DeactivatedDueToRequeuingLimitExceeded")
OVER = [condition("Complete")]
KEPT = {"objectRetentionPolicies": {"workloads": {"afterFinished": "2h", "afterDeactivatedByKueue": "3h"}}}


@pytest.mark.parametrize(
    ("item", "settings", "expected"),
    [
        (workload(), {}, []),
        (workload(ADMITTED), {}, [(WAIT_FOR_PODS, 1900.0)]),
        (workload(ADMITTED, UNREADY), {"waitForPodsReady": {"timeout": "10m"}}, [(WAIT_FOR_PODS, 700.0)]),
        (workload(ADMITTED, LOST), {"waitForPodsReady": {"timeout": "10m"}}, [(RECOVERY, 700.0)]),
        (workload(ADMITTED, LOST), {"waitForPodsReady": {"recoveryTimeout": "1m"}}, [(RECOVERY, 160.0)]),
        (
            workload(ADMITTED, LOST),
            {"waitForPodsReady": {"recoveryTimeout": "60000000us"}},
            [(RECOVERY, 160.0)],
        ),
        (workload(ADMITTED, LOST), {"waitForPodsReady": {"recoveryTimeout": "0s"}}, []),
        (workload(ADMITTED, LOST), {"waitForPodsReady": {"recoveryTimeout": "0"}}, []),
        (workload(ADMITTED), {"waitForPodsReady": {"enable": False}}, []),
        (workload(ADMITTED, LOST), {"waitForPodsReady": {"enable": False, "recoveryTimeout": "1m"}}, []),
        (workload(ADMITTED, condition("PodsReady")), {}, []),
        (workload(ADMITTED, EVICTED), {}, []),
        (
            workload(EVICTED, requeueState={"requeueAt": "2026-01-31T12:01:00Z", "count": 1}),
            {},
            [(REQUEUE, 160.0)],
        ),
        (workload(requeueState={"requeueAt": LONG_AGO}), {}, [(REQUEUE, 100.0)]),
        (
            workload(ADMITTED, condition("PodsReady"), spec={"maximumExecutionTimeSeconds": 50}),
            {},
            [(MAX_EXECUTION, 150.0)],
        ),
        (workload(condition("Finished")), {}, []),
        (workload(condition("Finished")), KEPT, [(RETENTION, 7300.0)]),
        (workload(DEACTIVATED, spec={"active": False}), KEPT, [(RETENTION, 10_900.0)]),
        (workload(EVICTED, spec={"active": False}), KEPT, []),
        (of(limited(**{DEADLINE: 60}), startTime=SINCE), {}, [(DEADLINE, 160.0)]),
        (of(limited(**{DEADLINE: 60, "suspend": True}), startTime=SINCE), {}, []),
        (of(limited(**{DEADLINE: 60}), conditions=OVER, startTime=SINCE), {}, []),
        (of(limited(**{TTL: 60}), conditions=OVER, startTime=SINCE), {}, [(TTL, 160.0)]),
        (of(jobset(ttlSecondsAfterFinished=60), conditions=[condition("Failed")]), {}, [(TTL, 160.0)]),
        (of(jobset(ttlSecondsAfterFinished=60)), {}, []),
        (pod("Running"), {}, [(DEADLINE, 160.0)]),
        (pod("Pending"), {}, []),
        (of({"kind": "PathwaysJob", "metadata": {}}), {}, []),
    ],
)
def test_each_timer_expires_so_long_after_it_began(
    item: Object, settings: dict[str, Any], expected: list[tuple[str, float]]
) -> None:
    """The object was seen at second 100 of the rehearsal's clock."""
    timers = seen(item, **settings)

    assert expected == [(running.timer.name, running.due) for running in timers.all]
    assert min((at for _, at in expected), default=math.inf) == timers.next


@pytest.mark.parametrize(
    ("item", "change"),
    [
        (
            workload(ADMITTED, UNREADY),
            {"status": {"conditions": [condition("Admitted", since=LONG_AGO), UNREADY]}},
        ),
        (
            workload(ADMITTED, LOST),
            {"status": {"conditions": [ADMITTED, {**LOST, "lastTransitionTime": LONG_AGO}]}},
        ),
        (
            workload(EVICTED, requeueState={"requeueAt": "2026-01-31T12:01:00Z"}),
            {"status": {"requeueState": {"requeueAt": None}}},
        ),
        (of(limited(**{DEADLINE: 60}), startTime=SINCE), {"spec": {DEADLINE: 0}}),
    ],
)
def test_timer_expires_by_the_field_from_which_its_controller_counts(item: Object, change: Object) -> None:
    """What has changed meanwhile is not overwritten: the version of the object is sent along."""
    (running,) = seen(item).all
    version = {"resourceVersion": item["metadata"].get("resourceVersion", "")}

    assert {"metadata": version, **change} == running.expired(LONG_AGO)


def test_timer_goes_on_while_its_object_changes_otherwise() -> None:
    """It begins again where the field changes from which it counts, and ends where its object goes."""
    timers = seen(workload(ADMITTED, UNREADY))
    found = [timers.next]
    for at, verb, item in (
        (200.0, "MODIFIED", workload(ADMITTED, UNREADY, condition("Other"))),
        (300.0, "MODIFIED", workload(condition("Admitted", since=LONG_AGO), UNREADY)),
        (400.0, "DELETED", workload(ADMITTED)),
    ):
        timers.see(at, verb, item, A, NOW)
        found.append(timers.next)

    assert [1900.0, 1900.0, 2100.0, math.inf] == found


def test_past_executions_count() -> None:
    """Kueue adds up for how long a workload was admitted: 30 of 50 seconds are over."""
    spec = {"maximumExecutionTimeSeconds": 50}
    ready = condition("PodsReady")
    timers = seen(workload(ADMITTED, ready, spec=spec))
    timers.see(130.0, "MODIFIED", workload(condition("Admitted", "False"), spec=spec), A, NOW)
    timers.see(200.0, "MODIFIED", workload(ADMITTED, ready, spec=spec), A, NOW)

    assert 220.0 == timers.next


def test_timer_that_was_told_to_expire_is_told_once() -> None:
    """Until its controller acts, or nobody waits for that any more."""
    timers = seen(workload(ADMITTED, UNREADY))
    (running,) = timers.due(1900.0)
    timers.tell(running)
    found = [(len(timers.told), timers.due(9000.0))]
    timers.see(1901.0, "MODIFIED", workload(condition("Admitted", since=LONG_AGO), UNREADY), A, NOW)
    found.append((len(timers.told), timers.due(9000.0)))
    timers.give_up(running)
    found.append((len(timers.told), timers.due(9000.0)))
    timers.see(1902.0, "MODIFIED", workload(EVICTED), A, NOW)
    timers.tell(running)

    assert [(1, []), (1, []), (0, [])] == found
    assert [] == timers.all == timers.due(1899.0)


@pytest.mark.parametrize(
    ("item", "settings", "over", "evicted", "expected"),
    [
        (workload(ADMITTED, UNREADY), {}, [], [], True),
        (workload(ADMITTED, UNREADY), {}, [], [B], True),
        (workload(ADMITTED, UNREADY), {}, [], [A], False),
        (
            workload(ADMITTED, UNREADY),
            {"waitForPodsReady": {"requeuingStrategy": {"backoffLimitCount": 2}}},
            [],
            [A],
            True,
        ),
        (workload(EVICTED, requeueState={"requeueAt": SINCE}), {}, [], [A], True),
        (workload(ADMITTED, UNREADY), {}, [A], [], False),
        (workload(condition("Finished")), KEPT, [], [], False),
    ],
)
def test_rehearsal_waits_for_timers_that_may_change_something(
    item: Object, settings: dict[str, Any], over: list[str], evicted: list[str], expected: bool
) -> None:
    """Not for the same eviction once more, and not for what only deletes what is over."""
    assert expected == seen(item, **settings).awaited(over, evicted)


def test_settings_have_the_defaults_of_kueue() -> None:
    """Kueue 0.19 waits for pods for 30 minutes where nothing is written; recovery takes as long."""
    limited = {"waitForPodsReady": {"timeout": "1h30m", "requeuingStrategy": {"backoffLimitCount": 0}}}

    assert Spans(1800.0, 1800.0) == read_spans({}) == read_spans({"waitForPodsReady": None})
    assert Spans(5400.0, 5400.0, limits_requeues=True) == read_spans(limited)
    assert Spans(after_finished=7200.0, after_deactivated=10_800.0) == read_spans(KEPT)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"fairSharing": {}}, {"fairSharing": {}}),
        (
            {"admissionFairSharing": {"usageHalfLifeTime": "168h", "resourceWeights": {"cpu": 0}}},
            {
                "usageHalfLifeTime": "10080.000s",
                "usageSamplingInterval": "5.000s",
                "resourceWeights": {"cpu": 0},
            },
        ),
        (
            {"admissionFairSharing": {"usageHalfLifeTime": "0s", "usageSamplingInterval": "10s"}},
            {"usageHalfLifeTime": "0s", "usageSamplingInterval": "1.000s"},
        ),
    ],
)
def test_past_usage_decays_as_fast_as_the_clock(settings: Object, expected: Object) -> None:
    """At 60x; a sample is taken once a second at most, which is the time resolution."""
    found = scaled(settings, 60.0)

    assert expected == found.get("admissionFairSharing", found)
