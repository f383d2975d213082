"""Progress, checkpoints and startup: what a run has left to do, and what its chips were spent on."""

import pytest

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.clock import clock_settings
from slicewright.rehearse.model.event import DELETED, RESTARTED, Event
from slicewright.rehearse.model.metrics import lost_hours, startup_hours
from slicewright.rehearse.model.run_pods import Work, gangs
from slicewright.rehearse.model.timeline import Timelines

from .kit import A, gone, jobset, part_of, pod, replicated_job, says

WORK = Work(100.0, checkpoint_every=30.0, startup=10.0)
HEAD = (replicated_job("pathways-head", pods=1, chips=0), replicated_job("worker"))
HEADED = {"operator": "All", "targetReplicatedJobs": ["pathways-head"]}
POOLS = {"np-0": "tpus"}
CHIP_SECONDS = 4 / 3600
"""Chip-hours of a second of a pod."""


def played(item: Object, *events: Event, work: Work = WORK, pods: int = 2) -> Timelines:
    """Return timelines after events; programs begin as soon as they may."""
    timelines = Timelines({A: pods}, ())
    for event in (says(0.0, "submitted"), *events):
        timelines.add(event)
        timelines.begin(A, gangs(item), event.at, work)
    return timelines


def hours(timelines: Timelines, events: tuple[Event, ...], now: float) -> tuple[float, float]:
    """Return the chip-seconds of one pod that were lost and that startup took."""
    spent = timelines.spent(now)
    lost, startup = lost_hours(events, POOLS, spent), startup_hours(events, POOLS, spent)
    return (round(lost.get("tpus", 0.0) / CHIP_SECONDS, 3), round(startup.get("tpus", 0.0) / CHIP_SECONDS, 3))


PREEMPTED = (
    pod(0.0, "x"),
    pod(0.0, "y"),
    says(85.0, "evicted", reason="Preempted"),
    gone(85.0, "x", DELETED),
    gone(85.0, "y", DELETED),
    pod(200.0, "x2"),
    pod(205.0, "y2"),
)


@pytest.mark.parametrize(
    ("work", "end", "lost", "startup"),
    [
        (WORK, 205.0 + 10 + 100 - 60, 2 * 15.0, 4 * 10.0),
        (Work(100.0, checkpoint_every=0.0, startup=10.0), 205.0 + 10 + 100 - 75, 0.0, 40.0),
        (Work(100.0, checkpoint_every=30.0), 205.0 + 100 - 60, 2 * 25.0, 0.0),
        (Work(100.0, startup=10.0), 205.0 + 10 + 100, 2 * 75.0, 40.0),
        (Work(100.0), 205.0 + 100, 2 * 85.0, 0.0),
    ],
    ids=["both", "at any time", "checkpoints", "startup", "neither"],
)
def test_evicted_run_goes_on_from_its_last_checkpoint(
    work: Work, end: float, lost: float, startup: float
) -> None:
    """After 10 s of startup and 75 of progress, 60 are saved every 30: 15 of each of two pods are lost.

    Startup is counted apart: 10 s for each of four pods. Without checkpoints all is lost.
    """
    timelines = played(jobset(), *PREEMPTED, work=work)

    assert end == timelines.next_end
    assert (lost, startup) == hours(timelines, PREEMPTED, end)


def test_second_stop_loses_only_what_followed_the_checkpoint_before_it() -> None:
    """60 of 100 s are saved; of 25 more the next checkpoint, at 90, is not reached: they are lost as well."""
    events = (
        *PREEMPTED,
        says(240.0, "evicted", reason="Preempted"),
        gone(240.0, "x2", DELETED),
        gone(240.0, "y2", DELETED),
        pod(300.0, "x3"),
        pod(300.0, "y3"),
    )
    timelines = played(jobset(), *events)

    assert 300.0 + 10 + 40 == timelines.next_end
    # x2 ran for 5 s before y2 came: it waited, and this is lost with its attempt.
    assert (2 * 15.0 + 2 * 25.0 + 5.0, 6 * 10.0) == hours(timelines, events, 350.0)


def test_stop_in_startup_loses_no_progress() -> None:
    """There is none yet; what is saved stays, and startup counts as far as it came."""
    events = (*PREEMPTED, says(209.0, "evicted"), gone(209.0, "x2", DELETED), gone(209.0, "y2", DELETED))
    timelines = played(jobset(), *events, pod(300.0, "x3"), pod(300.0, "y3"))

    assert 300.0 + 10 + 40 == timelines.next_end
    assert (30.0 + 5.0, 20.0 + 2 * 4.0) == hours(timelines, events, 300.0)


def test_lost_host_stops_all_hosts() -> None:
    """No progress counts until its pod is replaced, 30 s later: then all go on from the checkpoint at 30."""
    events = (pod(0.0, "x"), pod(0.0, "y"), gone(50.0, "x", "Failed"), pod(80.0, "x2"))
    timelines = played(jobset(), *events[:3])

    assert float("inf") == timelines.next_end

    timelines = played(jobset(), *events)

    assert 80.0 + 10 + 70 == timelines.next_end
    assert (2 * 10.0, 4 * 10.0) == hours(timelines, events, 160.0)


def test_container_that_is_started_again_stops_its_gang() -> None:
    """Its pod stays: of 40 s of progress, 30 are saved and 10 lost, in both pods."""
    events = (pod(0.0, "x"), pod(0.0, "y"), says(50.0, "warned", reason=RESTARTED, pod="x"))
    timelines = played(jobset(), *events)
    done = (*events, gone(130.0, "x"), gone(130.0, "y"))

    assert 50.0 + 10 + 70 == timelines.next_end
    assert (20.0, 40.0) == hours(timelines, done, 130.0)


@pytest.mark.parametrize("told_first", [True, False])
def test_attempt_of_a_jobset_goes_on_from_the_checkpoint(told_first: bool) -> None:
    """Whether its restart is told before its new pods are seen, or after them."""
    restart = [says(75.0, "restarted", attempt=1)]
    again = [pod(75.0, "x2", attempt=1), pod(75.0, "y2", attempt=1)]
    events = (pod(0.0, "x"), pod(0.0, "y"), *(restart + again if told_first else again + restart))
    timelines = played(jobset(), *events)
    timelines.add(gone(76.0, "x", DELETED))
    timelines.add(gone(76.0, "y", DELETED))

    assert 75.0 + 10 + 40 == timelines.next_end


def test_program_of_a_pathways_head_goes_on_without_a_worker() -> None:
    """It stops with its head. The worker that came later has not started with it."""
    item = jobset("a", *HEAD, successPolicy=HEADED)
    worker = {"job": "worker/0"}
    events = (
        pod(0.0, "w0", **worker),
        pod(0.0, "w1", **worker),
        pod(0.0, "head", "cpus", job="pathways-head/0", chips=0),
        gone(40.0, "w1", "Failed"),
        pod(50.0, "w2", **worker),
    )
    timelines = played(item, *events)

    assert 110.0 == timelines.next_end
    # w1 ran for 40 s: 10 of startup, and 30 of progress that is kept.
    assert (0.0, 20.0) == hours(timelines, events, 110.0)

    more = (
        *events,
        gone(80.0, "head", "Failed", chips=0),
        pod(90.0, "head2", "cpus", job="pathways-head/0", chips=0),
        gone(140.0, "w0"),
        gone(140.0, "w2"),
    )
    timelines = played(item, *more)

    assert 90.0 + 10 + 40 == timelines.next_end
    # At 80 s, 70 s are done and 60 saved: w0 and w2 lose 10 each. w0, w1, w2 and then w0, w2 start.
    assert (2 * 10.0, 2 * 10.0 + 2 * 10.0) == hours(timelines, more, 140.0)


def test_what_is_complete_is_saved() -> None:
    """A step that has ended does not run again when the next one restarts the run."""
    steps = (
        replicated_job("slice"),
        {**replicated_job("eval"), "dependsOn": [{"name": "slice", "status": "Complete"}]},
    )
    events = (
        pod(0.0, "x"),
        pod(0.0, "y"),
        gone(110.0, "x"),
        gone(110.0, "y"),
        pod(120.0, "e0", job="eval/0"),
        pod(120.0, "e1", job="eval/0"),
        says(180.0, "restarted", attempt=1),
        pod(190.0, "x2", attempt=1),
        pod(190.0, "y2", attempt=1),
    )
    timelines = played(jobset("a", *steps), *events, pods=4)

    assert 200.0 == timelines.next_end
    # The eval was 50 s on its way, and 30 of it are saved. It is lost when its pods are replaced.
    kept = {name: spent.kept for (_, name), spent in timelines.spent(200.0).items()}
    assert {"x": 100.0, "y": 100.0, "e0": 30.0, "e1": 30.0, "x2": 0.0, "y2": 0.0} == kept


def test_fields_of_a_workload_say_what_its_programs_do() -> None:
    """Without them a program makes no checkpoints, and progress from its start."""
    written = "duration: 2h\ncheckpointEvery: 30m\nstartupSeconds: 90"

    assert Work(7200.0, 1800.0, 90.0) == part_of(written).work
    assert Work(60.0) == part_of().work


def test_startup_counts_for_the_speed() -> None:
    """A run that starts for an hour and works for one takes as long to play as one that works for two."""
    slow = part_of("duration: 1h\nstartupSeconds: 3600")

    assert clock_settings([part_of("duration: 2h")]).speed == clock_settings([slow]).speed


def test_pod_that_was_told_to_end_is_ending_also_after_an_eviction() -> None:
    """No time is skipped until the pod has ended."""
    timelines = played(jobset("a", replicated_job("slice")), pod(0.0, "x"), pod(0.0, "y"))

    assert [(A, "x"), (A, "y")] == timelines.end(110.0)
    timelines.add(says(110.0, "evicted", reason="Preempted"))

    assert timelines.is_ending
