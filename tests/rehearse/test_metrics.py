"""The numbers of a rehearsal: waits, makespan and chip-hours, by hand arithmetic."""

import math

import pytest

from slicewright.rehearse.model.metrics import (
    Arriving,
    Usage,
    arrived,
    borrowed_hours,
    borrowed_shares,
    chip_hours,
    lost_hours,
    makespan,
    nominal_quotas,
    percentile,
    queue_waits,
)
from slicewright.rehearse.model.scenario_part import queues_behind
from slicewright.rehearse.model.timeline import Timeline

from .kit import gone, pod, says

HOUR = 3600.0
POOLS = {"np-0": "tpus", "np-1": "tpus"}


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([], 0.5, 0.0),
        ([7.0], 0.95, 7.0),
        ([0.0, 10.0, 20.0, 30.0], 0.5, 10.0),
        ([0.0, 10.0, 20.0, 30.0], 0.95, 30.0),
        ([0.0, 10.0, 20.0, 30.0], 1.0, 30.0),
        ([float(number) for number in range(1, 101)], 0.95, 95.0),
        ([5.0, math.inf, 0.0], 0.5, 5.0),
        ([5.0, math.inf, 0.0], 0.95, math.inf),
    ],
)
def test_percentile_is_a_value_that_was_measured(values: list[float], share: float, expected: float) -> None:
    """The nearest rank; an endless wait is the largest."""
    assert expected == percentile(values, share)


def test_waits_of_a_queue_count_runs_that_were_never_admitted() -> None:
    """They wait without end; a run whose time had not come does not wait."""
    timelines = [
        Timeline("default/a", submitted=10.0, admitted=40.0),
        Timeline("default/b", submitted=10.0),
        Timeline("default/c"),
        Timeline("default/no-queue", submitted=0.0, admitted=0.0),
    ]
    queues = {"default/a": "cq", "default/b": "cq", "default/c": "other"}

    assert {"cq": [30.0, math.inf], "other": []} == queue_waits(timelines, queues)


def test_makespan_is_from_the_first_submission_to_the_last_end() -> None:
    """Without an end there is none."""
    ended = Timeline("default/a", submitted=10.0, ended=100.0)
    waiting = Timeline("default/b", submitted=5.0)

    assert [95.0, None, None] == [makespan([ended, waiting]), makespan([waiting]), makespan([])]


def test_quota_by_flavor_and_queue_of_a_local_queue() -> None:
    """As the platform has them; resources that are not chips have no part in it."""
    flavors = [{"name": "v5e", "resources": [{"name": "google.com/tpu", "nominalQuota": "16"}]}]
    cpus = [{"name": "cpu", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]
    groups = [{"flavors": flavors}, {"flavors": cpus}]
    queue = {"clusterQueue": "cq"}
    platform = [
        {"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {"resourceGroups": groups}},
        {"kind": "LocalQueue", "metadata": {"name": "q", "namespace": "team"}, "spec": queue},
    ]

    assert {"cq": {"v5e": 16}} == nominal_quotas(platform)
    assert {("team", "q"): "cq"} == queues_behind(platform)


def test_borrowed_chip_hours_are_those_beyond_nominal_quota() -> None:
    """16 chips where 8 are nominal, for two hours: 16 chip-hours, of that flavor alone."""
    events = [
        says(0.0, "reserved", "default/a", queue="cq", flavors=(("v5e", 8), ("v6e", 4))),
        says(HOUR, "reserved", "default/b", queue="cq", flavors=(("v5e", 8),)),
        says(2 * HOUR, "admitted", "default/b"),
        says(3 * HOUR, "released", "default/b"),
        says(9 * HOUR, "released", "default/a"),
        says(9 * HOUR, "released", "default/gone"),
    ]
    nominal = {"cq": {"v5e": 8, "v6e": 8}, "idle": {"v5e": 8}}

    assert {"cq": {"v5e": 16.0, "v6e": 0.0}, "idle": {"v5e": 0.0}} == borrowed_hours(
        events, nominal, 9 * HOUR
    )


def test_queue_that_the_platform_does_not_have_borrows_all() -> None:
    """Its nominal quota is unknown, and so none."""
    events = [says(0.0, "reserved", queue="other", flavors=(("v5e", 8),)), says(HOUR, "released")]

    assert {"other": {"v5e": 8.0}} == borrowed_hours(events, {}, HOUR)


def test_chips_that_are_still_borrowed_at_the_end_count() -> None:
    """A run that goes on has borrowed until the rehearsal ends."""
    events = [says(HOUR, "reserved", queue="cq", flavors=(("v5e", 12),))]

    assert {"cq": {"v5e": 8.0}} == borrowed_hours(events, {"cq": {"v5e": 8}}, 3 * HOUR)


def test_pods_of_an_earlier_attempt_are_lost() -> None:
    """A JobSet that restarts after half an hour loses it, also the work of pods that had succeeded."""
    events = [
        pod(0.0, "a-0"),
        pod(0.0, "a-1", "np-1"),
        gone(1800.0, "a-0"),
        gone(1800.0, "a-1", "Failed"),
        pod(1800.0, "a-0-again", attempt=1),
        gone(5400.0, "a-0-again"),
    ]

    assert {"tpus": 4.0} == lost_hours(events, POOLS)


def test_work_before_an_eviction_is_lost() -> None:
    """4 chips for an hour, when the run starts from its beginning."""
    events = [
        pod(0.0, "a-0"),
        says(HOUR, "evicted"),
        gone(HOUR, "a-0", "Deleted"),
        pod(2 * HOUR, "a-0-again"),
        gone(4 * HOUR, "a-0-again"),
    ]

    assert {"tpus": 4.0} == lost_hours(events, POOLS)


def test_pod_in_place_of_another_is_a_loss_of_the_other() -> None:
    """As of a Job whose host failed; what ends with its run is not lost."""
    events = [
        pod(0.0, "a-0"),
        pod(0.0, "server"),
        gone(HOUR, "a-0", "Failed"),
        pod(2 * HOUR, "a-0-again"),
        gone(3 * HOUR, "a-0-again"),
        gone(3 * HOUR, "server", "Deleted"),
        gone(3 * HOUR, "unknown", "Deleted"),
        pod(3 * HOUR, "still", run="default/b"),
        pod(0.0, "elsewhere", "cpu-np", run="default/c"),
        gone(HOUR, "elsewhere", run="default/c"),
    ]

    assert {"tpus": 4.0} == lost_hours(events, POOLS)


def test_chip_hours_of_a_pool_until_all_work_was_done() -> None:
    """8 chips for two hours, of which 4 work for one: 16 there, 4 used, 12 idle."""
    events = [pod(0.0, "a-0"), gone(HOUR, "a-0"), says(2 * HOUR, "finished")]
    used = ((0.0, 4), (HOUR, 0))
    fixed, grown = Usage("tpus", 8, used), Usage("spot", 8, ((0.0, 0),), ((0.0, 0), (HOUR, 8)))

    assert [
        {"pool": "tpus", "available": 16.0, "used": 4.0, "idle": 12.0, "lost": 0.0, "startup": 0.0},
        {"pool": "spot", "available": 8.0, "used": 0.0, "idle": 8.0, "lost": 0.0, "startup": 0.0},
    ] == chip_hours(events, [fixed, grown], POOLS, 9 * HOUR)


def test_work_that_goes_on_is_measured_until_the_end() -> None:
    """Of a rehearsal."""
    (hours,) = chip_hours([pod(0.0, "a-0")], [Usage("tpus", 4, ((0.0, 4),))], POOLS, 2 * HOUR)

    assert (8.0, 8.0) == (hours["available"], hours["used"])


def test_arrivals_are_told_by_profile_and_queue() -> None:
    """Waits are those of the profile's runs in the queue alone; without a queue they end with the start."""
    timelines = [
        ("a/w-1", Timeline("a/w-1", submitted=10.0, admitted=40.0, is_queued=True, outcome="finished")),
        ("a/w-2", Timeline("a/w-2", submitted=10.0, is_queued=True)),
        ("a/w-3", Timeline("a/w-3", is_queued=True)),
        ("a/x-4", Timeline("a/x-4", submitted=10.0, admitted=10.0, started=15.0, outcome="finished")),
        ("a/w", Timeline("a/w", submitted=0.0, admitted=900.0, is_queued=True, outcome="finished")),
    ]
    queues = dict.fromkeys(("a/w", "a/w-1", "a/w-2", "a/w-3"), "cq")
    arriving = [Arriving("load", 7, "cq"), Arriving("load", 7, ""), Arriving("other", 1, "cq")]
    profile_of = dict.fromkeys(("a/w-1", "a/w-2", "a/w-3", "a/x-4"), "load")

    assert [
        {"profile": "load", "seed": 7, "clusterQueue": "cq", "runs": 3, "finished": 1, "neverAdmitted": 1,
         "p50WaitSeconds": 30.0, "p95WaitSeconds": None, "maxWaitSeconds": None},
        {"profile": "load", "seed": 7, "clusterQueue": "", "runs": 1, "finished": 1, "neverAdmitted": 0,
         "p50WaitSeconds": 5.0, "p95WaitSeconds": 5.0, "maxWaitSeconds": 5.0},
        {"profile": "other", "seed": 1, "clusterQueue": "cq", "runs": 0, "finished": 0, "neverAdmitted": 0,
         "p50WaitSeconds": 0.0, "p95WaitSeconds": 0.0, "maxWaitSeconds": 0.0},
    ] == arrived(arriving, timelines, profile_of, queues)  # fmt: skip


def test_share_of_borrowed_time_is_by_flavor() -> None:
    """Of 100 seconds a queue of 8 chips borrows for 20, and from 80 to the end for 20."""
    pods = says(0.0, "podStarted", pod="p0"), says(100.0, "podEnded", pod="p0")
    events = [
        pods[0],
        says(10.0, "reserved", queue="cq", flavors=(("v5e", 16),)),
        says(30.0, "released", queue="cq", flavors=(("v5e", 8),)),
        says(80.0, "reserved", "default/b", queue="cq", flavors=(("v5e", 8),)),
        pods[1],
    ]

    assert {"cq": {"v5e": pytest.approx(0.4), "v6e": 0.0}} == borrowed_shares(
        events, {"cq": {"v5e": 8, "v6e": 8}}, 300.0
    )
