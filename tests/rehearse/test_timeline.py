"""Events -> the timeline of each run."""

from slicewright.rehearse.model.run_pods import Work, gangs
from slicewright.rehearse.model.timeline import Eviction, Timelines

from .kit import A, gone, jobset, pod, replicated_job, says, spans, told


def test_run_without_a_queue_starts_when_all_its_tpu_pods_do() -> None:
    """It is admitted when it is submitted; pods without chips do not count."""
    found = told(
        says(1, "submitted"),
        pod(2, "head", chips=0),
        pod(3, "x"),
        pod(5, "y"),
        gone(9, "x"),
        gone(9, "y"),
        says(10, "finished", text="done"),
    )[A]

    assert (1, 1, 5, 10, "finished", 0) == (
        found.submitted,
        found.admitted,
        found.started,
        found.ended,
        found.outcome,
        found.wait,
    )
    assert [("starting", 1, 5), ("running", 5, 10)] == spans(found)


def test_queued_run_waits_for_quota_and_for_its_checks() -> None:
    """`wait` is the time until the first admission."""
    found = told(
        says(0, "submitted"),
        says(1, "waiting", text="no quota"),
        says(4, "reserved", queue="cq"),
        says(6, "admitted"),
        pod(7, "x"),
        pod(8, "y"),
        queued=[A],
        end=10,
    )[A]

    assert [("queued", 0, 4), ("reserved", 4, 6), ("starting", 6, 8), ("running", 8, 10)] == spans(found)
    assert (6, "cq", "running", "") == (found.wait, found.queue, found.outcome, found.why)


def test_pods_that_are_seen_before_the_admission_count() -> None:
    """Queues and pods are watched apart, so the order of what is seen is not that of what happened."""
    found = told(says(0, "submitted"), pod(1, "x"), pod(1, "y"), says(2, "admitted"), queued=[A])[A]

    assert [("queued", 0, 2), ("running", 2, 100)] == spans(found)


def test_evicted_run_waits_again_and_comes_back() -> None:
    """The first admission and the first start stay; a second eviction is told too."""
    found = told(
        says(0, "submitted"),
        says(1, "admitted"),
        pod(2, "x"),
        pod(2, "y"),
        says(5, "evicted", reason="Preempted", text="for b"),
        gone(6, "x", "Failed"),
        gone(6, "y", "Deleted"),
        says(7, "released"),
        says(20, "reserved", queue="cq"),
        says(20, "admitted"),
        pod(22, "x2"),
        pod(23, "y2"),
        says(40, "evicted", reason="InactiveWorkload"),
        queued=[A],
        end=50,
    )[A]

    assert [Eviction(5, "Preempted", "for b"), Eviction(40, "InactiveWorkload", "")] == found.evictions
    assert (1, 2, "waiting") == (found.admitted, found.started, found.outcome)
    assert spans(found) == [
        ("queued", 0, 1),
        ("starting", 1, 2),
        ("running", 2, 5),
        ("queued", 5, 20),
        ("starting", 20, 23),
        ("running", 23, 40),
        ("queued", 40, 50),
    ]


def test_run_that_gives_a_part_of_its_quota_back_goes_on() -> None:
    """Those of its slices that are done need it no more."""
    found = told(
        says(0, "submitted"),
        says(1, "admitted"),
        pod(2, "x"),
        pod(2, "y"),
        says(5, "released", reason="ReclaimablePods"),
        queued=[A],
    )[A]

    assert ("running", [("queued", 0, 1), ("starting", 1, 2), ("running", 2, 100)]) == (
        found.outcome,
        spans(found),
    )


def test_restart_of_a_jobset_is_another_attempt() -> None:
    """Pods of the attempt before do not count any more."""
    found = told(
        says(0, "submitted"),
        pod(1, "x"),
        pod(1, "y"),
        gone(5, "x", "Failed"),
        says(6, "restarted", attempt=1),
        pod(8, "x1", attempt=1, job_uid="v"),
        gone(8, "y", "Deleted"),
        pod(9, "y1", attempt=1, job_uid="v"),
        end=20,
    )[A]

    assert (1, "running") == (found.restarts, found.outcome)
    assert [("starting", 0, 1), ("running", 1, 5), ("restarting", 5, 9), ("running", 9, 20)] == spans(found)
    assert [(0, 2), (1, 2)] == [(piece.attempt, piece.pods) for piece in found.slices]


def test_pods_of_the_next_attempt_that_are_seen_first_count() -> None:
    """The JobSet says only afterwards that it has restarted."""
    found = told(
        says(0, "submitted"),
        pod(1, "x"),
        gone(2, "x", "Failed"),
        pod(3, "x1", attempt=1),
        says(4, "restarted", attempt=1),
        pod(5, "y1", attempt=1),
        end=9,
    )[A]

    assert [("starting", 0, 4), ("restarting", 4, 5), ("running", 5, 9)] == spans(found)


def test_pod_in_place_of_another_is_no_restart_of_the_run() -> None:
    """As the worker of an elastic Pathways: its Job makes it again, and all else goes on."""
    found = told(says(0, "submitted"), pod(1, "x"), pod(1, "y"), gone(5, "x", "Failed"), pod(8, "z"), end=20)[
        A
    ]

    assert [("starting", 0, 1), ("running", 1, 5), ("restarting", 5, 8), ("running", 8, 20)] == spans(found)
    assert (0, 3) == (found.restarts, found.slices[0].pods)


def test_pods_that_are_removed_at_the_end_are_no_restart() -> None:
    """The head has done its work, JobSet removes the workers, and says only then that all is done."""
    found = told(
        says(0, "submitted"),
        pod(1, "head", chips=0),
        pod(1, "x"),
        pod(1, "y"),
        gone(5, "head"),
        gone(6, "x", "Deleted"),
        gone(6, "y", "Deleted"),
        says(7, "finished"),
    )[A]

    assert [("starting", 0, 1), ("running", 1, 7)] == spans(found)


def test_quota_is_held_until_kueue_has_all_of_it_back() -> None:
    """A part that comes back early does not end it."""
    timelines = Timelines({A: 2}, [A])
    held = []
    for event in (
        says(0, "submitted"),
        says(1, "reserved", flavors=(("f", 8),)),
        says(2, "released", reason="ReclaimablePods", flavors=(("f", 4),)),
        says(3, "finished"),
        says(4, "released", reason="Finished"),
    ):
        timelines.add(event)
        held.append(timelines.holds_quota)

    assert [False, False, False, True, False] == held


def test_pod_in_place_of_one_that_was_removed_is_a_restart() -> None:
    """Then the run was not about to end; it restarts from the moment when the first one was lost."""
    found = told(
        says(0, "submitted"),
        pod(1, "x"),
        pod(1, "y"),
        gone(4, "x"),
        gone(5, "y", "Deleted"),
        pod(8, "z"),
        end=9,
    )[A]

    assert [("starting", 0, 1), ("running", 1, 5), ("restarting", 5, 8), ("running", 8, 9)] == spans(found)


def test_run_without_chips_is_running_when_all_of_its_pods_are() -> None:
    """Its pods have no chips, so all of them count: also the one that is lost and comes back."""
    timelines = Timelines({A: 2}, (), [A])
    started = [pod(at, name, chips=0) for at, name in ((1, "x"), (2, "y"), (7, "z"))]
    for event in (says(0, "submitted"), *started[:2], gone(5, "y", "Failed"), started[2]):
        timelines.add(event)

    assert [("starting", 0, 2), ("running", 2, 5), ("restarting", 5, 7), ("running", 7, 9)] == spans(
        timelines.close(9)[A]
    )


def test_timelines_can_be_asked_for_at_every_moment() -> None:
    """What is told at one moment changes neither what is told later nor what was told before."""
    timelines = Timelines({A: 1}, ())
    timelines.add(says(0, "submitted"))
    first = timelines.close(3)[A]
    for event in (pod(4, "x"), says(5, "warned", reason="BackOff", text="!"), says(6, "evicted")):
        timelines.add(event)
    second = timelines.close(8)[A]

    assert ([("starting", 0, 3)], [], {}, []) == (spans(first), first.slices, first.warnings, first.evictions)
    assert [("starting", 0, 4), ("running", 4, 6), ("queued", 6, 8)] == spans(second)
    assert second == timelines.close(8)[A]
    assert (1, 1) == (len(second.slices), len(second.evictions))


def test_pods_that_did_their_work_still_count() -> None:
    """One slice may be through before another one has begun."""
    found = told(says(0, "submitted"), pod(1, "x"), gone(2, "x"), pod(3, "y"), end=4)[A]

    assert (3, "running") == (found.started, found.outcome)


def test_end_of_a_pod_that_was_not_seen_to_start_tells_nothing() -> None:
    """It never ran."""
    assert [("starting", 0, 100)] == spans(told(says(0, "submitted"), gone(1, "x", "Deleted"))[A])


def test_nothing_changes_after_the_end() -> None:
    """Pods may be seen late, and Kueue gives the quota back when all is over."""
    found = told(
        says(0, "submitted"),
        says(1, "admitted"),
        says(2, "failed", text="ReachedMaxRestarts"),
        pod(3, "x"),
        pod(3, "y"),
        says(4, "released", reason="Finished"),
        says(5, "released"),
        queued=[A],
    )[A]

    assert ("failed", 2, "ReachedMaxRestarts") == (found.outcome, found.ended, found.why)
    assert [("queued", 0, 1), ("starting", 1, 2)] == spans(found)


def test_refused_run_has_the_words_of_the_refusal() -> None:
    """It was submitted, and nothing came of it."""
    found = told(says(0, "submitted"), says(0, "refused", text="denied by a webhook"))[A]

    assert ("refused", "denied by a webhook", [], None) == (
        found.outcome,
        found.why,
        found.spans,
        found.ended,
    )


def test_why_a_run_is_not_where_it_should_be() -> None:
    """While it waits, Kueue's sentence; once admitted, the scheduler's, else the last warning."""
    queued = told(says(0, "submitted"), says(1, "waiting", text="no quota"), queued=[A])[A]
    stuck = told(
        says(0, "submitted"),
        says(1, "warned", reason="FailedScheduling", text="0/6"),
        says(2, "warned", reason="FailedScheduling", text="0/9"),
        says(2, "warned", reason="FailedCreate", text="denied"),
    )[A]

    other = told(*(says(1, "warned", reason=reason, text="!") for reason in ("FailedCreate", "BackOff")))[A]

    assert "Kueue: no quota" == queued.why
    assert "BackOff: !" == other.why
    assert "FailedScheduling: 0/9" == stuck.why
    assert ("", None) == (told()[A].why, told()[A].wait)


def test_pod_that_runs_has_found_its_node() -> None:
    """Whether the scheduler's sentence on an earlier attempt is seen before its start or after it."""
    no_node = [
        says(at, "warned", reason="FailedScheduling", text="0/6", pod=name)
        for at, name in ((1, "x"), (3, "y"))
    ]
    found = told(says(0, "submitted"), *no_node[:1], pod(2, "x"), pod(2, "y"), *no_node[1:])[A]

    assert {} == found.unplaced
    assert {"z"} == set(told(says(1, "warned", reason="FailedScheduling", text="0/6", pod="z"))[A].unplaced)


def test_strangers_are_passed_by() -> None:
    """Events of other runs, and of pools."""
    assert told(says(0, "submitted", "default/b"), says(0, "poolGrew", ""), says(1, "fault")) == told()


def test_state_while_it_grows() -> None:
    """For the live view: the state now, or how it ended; and whether the end of a pod is to come."""
    timelines = Timelines({A: 1}, ())
    found = [(timelines.state_of(A), timelines.is_at_work)]
    one = gangs(jobset("a", replicated_job("slice", pods=1)))
    for event in (says(0, "submitted"), pod(1, "x"), gone(2, "x"), says(3, "finished")):
        timelines.add(event)
        timelines.begin(A, one, 0.0, Work(9.0))
        found.append((timelines.state_of(A), timelines.is_at_work))

    assert found == [
        ("notSubmitted", False),
        ("starting", False),
        ("running", True),
        ("running", False),
        ("finished", False),
    ]


def test_end_of_a_run_is_known_while_all_of_it_runs_a_program() -> None:
    """Not before, and not of what ends when it is told to; what may still begin has no end either."""
    timelines = Timelines({A: 2}, [])
    timelines.add(says(0.0, "submitted"))
    two = gangs(jobset())
    found = []
    for event in (pod(1.0, "p0"), pod(2.0, "p1"), gone(7.0, "p0"), says(12.0, "finished")):
        timelines.add(event)
        before = timelines.ends_at(A)
        timelines.begin(A, two, event.at, Work(9.0))
        found.append((before, timelines.ends_at(A)))

    assert [(None, None), (None, 11.0), (11.0, 11.0), (None, None)] == found


def test_backoff_doubles_with_each_pod_that_a_job_loses() -> None:
    """It counts from the last one, ten minutes at most; a pod that succeeded is none that was lost."""
    timelines = Timelines({A: 2}, ())
    timelines.add(says(0, "submitted"))
    timelines.add(pod(1, "done"))
    timelines.add(gone(2, "done"))
    found = []
    for at in range(10, 90, 10):
        timelines.add(pod(at, f"x{at}"))
        timelines.add(gone(at + 5, f"x{at}", "Failed"))
        found += timelines.backoffs()

    seconds = (10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 600.0, 600.0)
    assert found == list(zip(range(15, 95, 10), seconds, strict=True))


def test_backoff_of_what_is_over_counts_no_more() -> None:
    """A restart makes other Jobs, an eviction is not a failure, a run that has ended makes no pods."""
    found = {}
    for after in (says(3, "restarted", attempt=1), says(3, "evicted"), says(3, "failed"), says(3, "warned")):
        timelines = Timelines({A: 1}, ())
        for event in (says(0, "submitted"), pod(1, "x"), gone(2, "x", "Failed"), after):
            timelines.add(event)
        found[after.kind] = timelines.backoffs()

    assert {"restarted": [], "evicted": [], "failed": [], "warned": [(2, 10.0)]} == found


def test_runs_that_were_evicted_again_are_those_for_which_nothing_has_changed() -> None:
    """Until any run comes, runs or ends, Kueue only repeats the eviction."""
    timelines = Timelines({"default/a": 1, "default/b": 1}, ["default/a", "default/b"])
    found = []
    for event in (
        says(1.0, "submitted"),
        says(2.0, "evicted", reason="Preempted"),
        says(3.0, "evicted", reason="PodsReadyTimeout"),
        says(4.0, "submitted", "default/b"),
        says(5.0, "evicted", "default/b", reason="PodsReadyTimeout"),
        says(6.0, "failed", "default/b"),
    ):
        timelines.add(event)
        found.append(sorted(timelines.evicted_again))

    assert [[], [], ["default/a"], [], ["default/b"], []] == found
