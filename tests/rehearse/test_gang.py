"""Programs begin when all TPU pods that work together run, and those end that the run waits for."""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from slicewright.cluster.api.api_error import ApiError
from slicewright.kubernetes.types import Object
from slicewright.rehearse.event_log import Clock, EventLog
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.run_pods import Work, ends_by_itself, gangs
from slicewright.rehearse.model.timeline import Timelines
from slicewright.rehearse.simulated_pods import play_programs, succeed

from .kit import A, gone, job, jobset, pathwaysjob, pod, replicated_job, says

TENSORBOARD = (replicated_job("slice"), replicated_job("tensorboard", pods=1, chips=0))
HEAD = (replicated_job("pathways-head", pods=1, chips=0), replicated_job("worker"))


def targets(*names: str) -> Object:
    """Return a success policy that waits for some replicated jobs."""
    return {"operator": "All", "targetReplicatedJobs": list(names)}


def after(job: Object, *others: str, status: str = "Complete") -> Object:
    """Return a replicated job that begins after others."""
    return {**job, "dependsOn": [{"name": name, "status": status} for name in others]}


STEPS = (replicated_job("slice"), after(replicated_job("eval"), "slice"))


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (job(), {""}),
        (jobset("a", *TENSORBOARD), {"slice", "tensorboard"}),
        (jobset("a", *TENSORBOARD, successPolicy=targets("slice")), {"slice"}),
        (jobset("a", STEPS[0], STEPS[1], TENSORBOARD[1], successPolicy=targets("eval")), {"slice", "eval"}),
        (jobset("a", *TENSORBOARD, successPolicy=None), {"slice", "tensorboard"}),
        (jobset("a", *HEAD, successPolicy=targets("pathways-head")), {"pathways-head"}),
        (jobset("a", *HEAD, successPolicy={"operator": "All"}), set()),
        (pathwaysjob(template={}), {"pathways-head"}),
        (pathwaysjob(), set()),
    ],
    ids=[
        "job",
        "jobset",
        "auxiliary",
        "steps",
        "no policy",
        "pathways",
        "headless",
        "pathwaysjob",
        "headless pathwaysjob",
    ],
)
def test_programs_end_that_the_run_waits_for(item: Object, expected: set[str]) -> None:
    """Servers beside them stay, and so do the workers of a Pathways head."""
    assert expected == gangs(item).ends


def test_headless_pathways_runs_without_end() -> None:
    """It waits for clients until a person deletes it; a run with a head, or with pods that end, ends."""
    headless = [jobset("a", *HEAD), pathwaysjob(deploymentMode="default"), pathwaysjob()]
    ending = [
        job(),
        jobset(),
        jobset("a", *HEAD, successPolicy=targets(HEAD[0]["name"])),
        pathwaysjob(template={}),
    ]

    assert [False] * 3 + [True] * 4 == [ends_by_itself(item) for item in (*headless, *ending)]


def begun(item: Object, *events: Event) -> list[tuple[float, list[str]]]:
    """Return which programs of default/a begin at which event."""
    of_run = gangs(item, (1, 2))
    timelines = Timelines({A: of_run.all_tpu_pods}, ())
    found = []
    for event in events:
        timelines.add(event)
        timelines.begin(A, of_run, event.at, Work(0.0))
        begun = timelines.end(event.at)
        assert [] == timelines.end(event.at)
        if begun:
            assert {A} == {run for run, _ in begun}
            found.append((event.at, [name for _, name in begun]))
    return found


def test_programs_begin_when_all_tpu_pods_of_the_run_run() -> None:
    """Of all slices, and those of pods without chips with them; each once."""
    two = jobset("a", replicated_job("slice", replicas=2, pods=1), replicated_job("driver", chips=0))
    events = (
        says(0, "submitted"),
        pod(1, "d", chips=0, job="driver/0"),
        pod(2, "x"),
        pod(3, "y", job="slice/1", job_uid="v"),
        pod(4, "e", chips=0, job="driver/0"),
    )

    assert [(3, ["d", "x", "y"]), (4, ["e"])] == begun(two, *events)
    assert [(2, ["x", "y"])] == begun(job(), pod(1, "x", job=""), pod(2, "y", job=""))


def test_hosts_that_never_meet_never_begin() -> None:
    """One that is gone does not count, nor does one of an earlier attempt."""
    failed = gone(2, "x", "Failed")

    assert [] == begun(jobset(), pod(1, "x"), failed, pod(3, "y"))
    assert [] == begun(jobset(), pod(1, "x"), says(2, "restarted", attempt=1), pod(3, "y", attempt=1))
    assert [(4, ["y", "z"])] == begun(jobset(), pod(1, "x"), failed, pod(3, "y"), pod(4, "z"))


def test_programs_begin_anew_after_a_restart_and_in_a_pod_that_replaces_another() -> None:
    """The others go on as they are."""
    first = (pod(1, "x"), pod(1, "y"))
    again = (says(2, "restarted", attempt=1), pod(3, "x1", attempt=1), pod(4, "y1", attempt=1))

    assert [(1, ["x", "y"]), (4, ["x1", "y1"])] == begun(jobset(), *first, *again)
    assert [(1, ["x", "y"]), (3, ["z"])] == begun(jobset(), *first, gone(2, "y", "Failed"), pod(3, "z"))


def test_pods_of_a_new_attempt_do_not_begin_with_those_that_are_about_to_end() -> None:
    """Their start may be seen before the end of the old pods, and before JobSet counts the restart."""
    first = (pod(1, "x"), pod(1, "y"))
    new = (pod(3, "x1", attempt=1), says(4, "restarted", attempt=1), gone(5, "y", "Deleted"))
    back = (says(2, "evicted"), pod(3, "x1"), gone(4, "x", "Deleted"), gone(5, "y", "Deleted"))

    assert [(1, ["x", "y"]), (6, ["x1", "y1"])] == begun(
        jobset(), *first, gone(2, "x", "Failed"), *new, pod(6, "y1", attempt=1)
    )
    assert [(1, ["x", "y"]), (6, ["x1", "y1"])] == begun(jobset(), *first, *back, pod(6, "y1"))


def test_pods_in_waves_begin_as_they_come() -> None:
    """A Job may have more pods than run at a time: those that have done their work count."""
    waves = job()
    waves["spec"]["completions"] = 3

    assert [(1, ["x", "y"]), (3, ["z"])] == begun(
        waves, pod(1, "x", job=""), pod(1, "y", job=""), gone(2, "x"), pod(3, "z", job="")
    )


def test_head_of_a_pathways_run_begins_when_its_workers_run() -> None:
    """The workers serve it until it ends; without a head nothing ends."""
    events = (
        pod(1, "h", chips=0, job="pathways-head/0"),
        pod(2, "w0", job="worker/0"),
        pod(3, "w1", job="worker/0"),
    )

    assert [(3, ["h"])] == begun(pathwaysjob(template={}), *events)
    assert [(3, ["h"])] == begun(jobset("a", *HEAD, successPolicy=targets("pathways-head")), *events)
    assert [] == begun(pathwaysjob(), *events)


def test_job_that_waits_until_another_is_complete_is_no_part_of_its_gang() -> None:
    """Else both would wait for each other; jobs that are to be ready together are one gang."""
    prepare = replicated_job("prepare", pods=1, chips=0)
    train = after(replicated_job("slice"), "prepare")
    both = after(replicated_job("slice"), "prepare", status="Ready")
    prepared = pod(1, "p", chips=0, job="prepare/0")
    events = (prepared, pod(2, "x"), pod(3, "y"))

    assert [(1, ["p"]), (3, ["x", "y"])] == begun(jobset("a", prepare, train), *events)
    assert [(3, ["p", "x", "y"])] == begun(jobset("a", prepare, both), *events)


class Pods:
    """An API that keeps what pods are told; one of them may have gone."""

    def __init__(self, gone: str = "") -> None:
        self.gone = gone
        self.told: dict[str, Object] = {}

    def each(self, verb: Callable[[Object], object], items: Iterable[Object]) -> None:
        """Do something with some objects."""
        for item in items:
            verb(item)

    def patch(self, item: Object, change: Object, *, subresource: str = "") -> None:
        """Change a pod."""
        assert ("status", "default") == (subresource, item["metadata"]["namespace"])
        if item["metadata"]["name"] == self.gone:
            raise ApiError(404, {"reason": "NotFound", "message": "gone"})
        self.told[item["metadata"]["name"]] = change["status"]["phase"]


def test_pods_are_told_to_end_when_their_programs_are_over() -> None:
    """Once; one that has gone meanwhile is passed over, and all is at work until they have ended."""
    event_log = EventLog(Clock(10.0), {A: 3}, ())
    api: Any = Pods(gone="y")
    nothing: Any = None
    runs = {A: (gangs(job(pods=3)), Work(1.5))}
    event_log.note("submitted", A)
    for name in ("x", "y", "z"):
        play_programs(event_log, 1.0, runs, partial(succeed, api))
        event_log.note("podStarted", A, pod=name, chips=4)
    play_programs(event_log, 2.0, runs, partial(succeed, api))
    play_programs(event_log, 3.4, runs, partial(succeed, api))
    timelines = event_log.timelines

    assert ({}, 3.5, False) == (api.told, timelines.next_end, timelines.is_ending)

    play_programs(event_log, 3.5, runs, partial(succeed, api))
    play_programs(event_log, 4.0, runs, partial(succeed, nothing))

    assert {"x": "Succeeded", "z": "Succeeded"} == api.told
    assert (math.inf, True, True) == (timelines.next_end, timelines.is_ending, timelines.is_at_work)


def test_program_of_a_container_that_is_started_again_begins_anew() -> None:
    """Also where the pod had been told to end: the container failed before."""
    event_log = EventLog(Clock(1.0), {A: 1}, ())
    event_log.note("podStarted", A, pod="x", chips=4)
    runs = {A: (gangs(job(pods=1)), Work(10.0))}
    api: Any = Pods()
    play_programs(event_log, 0.0, runs, partial(succeed, api))
    play_programs(event_log, 10.0, runs, partial(succeed, api))
    for name in ("x", "gone"):
        event_log.note("warned", A, reason="ContainerRestarted", pod=name)
    play_programs(event_log, 11.0, runs, partial(succeed, api))

    assert (21.0, False) == (event_log.timelines.next_end, event_log.timelines.is_ending)


def test_all_pods_of_a_run_without_chips_work_together() -> None:
    """Nothing in it has chips, so no pod is one that the others need not wait for."""
    made = gangs(jobset("a", replicated_job("worker", chips=0, pods=2)))

    assert (made.has_chips, dict(made.tpu_pods)) == (False, {0: 2})
