"""Idle time is skipped: to the next thing that the rehearsal does, and only when nothing is under way."""

import math
import time
from types import SimpleNamespace
from typing import Any

import pytest

from slicewright.kubernetes.types import Object
from slicewright.rehearse.event_log import Clock, EventLog, Timers
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.model.run_pods import Work, gangs
from slicewright.rehearse.time_control import IdleTime

from .kit import A, job, pathwaysjob

ADMITTED = {
    "kind": "Workload",
    "metadata": {"name": "a", "uid": "u"},
    "status": {"conditions": [{"type": "Admitted", "status": "True"}]},
}
NODE = {"kind": "Node", "metadata": {"name": "n"}}


class Scene:
    """A rehearsal at 10x of default/a, which has one TPU pod, without a cluster; its real time is `real`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *runs: Object, **settings: Any) -> None:
        self.real = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.real)
        self.clock = Clock(10.0)
        self.event_log = EventLog(self.clock, {A: 1}, [A])
        monkeypatch.setattr(self.event_log, "wait", lambda _: None)
        self.timers = Timers(self.clock)
        self.autoscaler: Any = SimpleNamespace(next=math.inf, looked_at=math.inf)
        pace = ClockSettings(10.0, 6000.0, 0.0, 0.0, skips=settings.pop("skips", True))
        self.idle_time = IdleTime(self.event_log, self.clock, pace, runs or [job(pods=1)], settings)

    def says(self, *kinds: Any) -> None:
        """Let something happen to the run; an object of the cluster changes as well."""
        for kind in kinds:
            self.event_log.note(kind, A, **({"pod": "x", "chips": 4} if kind.startswith("pod") else {}))
        self.event_log.see("MODIFIED", NODE)

    def after(self, seconds: float) -> float:
        """Return what the clock shows when the rehearsal has waited once more after some real seconds."""
        self.real += seconds
        self.idle_time.wait(self.timers, self.autoscaler)
        return self.clock.now()


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Return a scene in which something is due after an hour, and an object has just changed."""
    scene = Scene(monkeypatch)
    scene.timers.at(3600.0, lambda: None)
    scene.says()
    return scene


def test_time_is_skipped_when_nothing_has_changed_for_two_seconds(scene: Scene) -> None:
    """It goes on from the moment of what is due next, which then is done before anything else is skipped."""
    scene.timers.at(5000.0, lambda: None)

    assert [18.75, 3600.0, 3620.0] == [scene.after(1.875), scene.after(0.125), scene.after(2.0)]


def test_each_skip_is_followed_by_two_seconds_in_which_something_may_happen(scene: Scene) -> None:
    """What was due there may have changed nothing yet that can be seen."""
    scene.timers.at(5000.0, lambda: None)
    found = [scene.after(2.0)]
    scene.timers.do_what_is_due()

    assert [3600.0, 3615.0, 5000.0] == [*found, scene.after(1.5), scene.after(0.5)]


def test_time_without_anything_to_come_is_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rehearsal then ends by itself, and never goes beyond its deadline."""
    scene = Scene(monkeypatch)
    assert 1000.0 == scene.after(100.0)
    scene.timers.at(7000.0, lambda: None)
    assert 6000.0 == scene.after(0.0)


def test_nodes_that_come_or_go_are_something_to_come(scene: Scene) -> None:
    """The autoscaler has to have looked since the last change."""
    scene.autoscaler.next = 600.0
    scene.autoscaler.looked_at = scene.real - 0.1
    before = scene.after(3.0)
    scene.autoscaler.looked_at = scene.real

    assert [30.0, 600.0] == [before, scene.after(0.0)]


def test_end_of_a_program_is_something_to_come(scene: Scene) -> None:
    """While a pod is told to end and has not, nothing is skipped."""
    scene.says("submitted", "reserved", "admitted", "podStarted")
    timelines = scene.event_log.timelines
    timelines.begin(A, gangs(job(pods=1)), 0.0, Work(1800.0))

    assert 1800.0 == scene.after(2.0)
    timelines.end(1800.0)
    assert 2300.0 == scene.after(50.0)
    scene.says("podEnded", "finished", "released")
    assert 3600.0 == scene.after(2.0)


@pytest.mark.parametrize(
    ("kinds", "seconds"),
    [
        (("submitted",), 2.0),
        (("submitted", "reserved"), 30.0),
        (("submitted", "reserved", "admitted"), 30.0),
        (("submitted", "reserved", "admitted", "podStarted"), 30.0),
        (("submitted", "reserved", "admitted", "podStarted", "finished"), 5.0),
        (("submitted", "refused"), 2.0),
    ],
    ids=["queued", "reserved", "starting", "ending", "over", "refused"],
)
def test_controllers_get_the_time_for_what_they_have_to_do(
    scene: Scene, kinds: tuple[str, ...], seconds: float
) -> None:
    """They try again after up to 16 seconds to make pods; a run in the queue waits for others."""
    scene.says(*kinds)

    assert [3600.0] == [now for now in (scene.after(seconds - 0.1), scene.after(0.1)) if now == 3600.0]


def test_run_that_lacks_nodes_is_waited_for_less(scene: Scene) -> None:
    """The scheduler acts on changes; where pods are still to be made, a controller tries again by itself."""
    scene.says("submitted", "reserved", "admitted")
    scene.event_log.note("warned", A, reason="FailedScheduling", pod="y")
    scene.timers.at(1800.0, lambda: None)

    assert [48.75, 1800.0] == [scene.after(4.875), scene.after(0.125)]
    scene.timers.do_what_is_due()
    scene.event_log.note("warned", A, reason="FailedCreate", pod="")
    assert [True, 3600.0] == [scene.after(29.0) < 3600.0, scene.after(1.0)]


def test_pods_that_wait_for_the_node_of_the_first_are_waited_for_less(scene: Scene) -> None:
    """JobSet refuses them until the first pod of their slice has a node; after that they come by a retry."""
    text = "admission webhook denied the request: follower pod node selector for topology domain not found"
    scene.says("submitted", "reserved", "admitted")
    scene.event_log.note("warned", A, reason="FailedScheduling", pod="y")
    scene.event_log.note("warned", A, reason="FailedCreate", pod="", text=text)
    scene.timers.at(1800.0, lambda: None)

    assert [True, 1800.0] == [scene.after(4.875) < 1800.0, scene.after(0.125)]
    scene.timers.do_what_is_due()
    scene.event_log.note("podStarted", A, pod="x", chips=4, job="slice/0")
    assert [True, 3600.0] == [scene.after(29.0) < 3600.0, scene.after(1.0)]


def test_server_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A headless Pathways runs, and that is all it does."""
    scene = Scene(monkeypatch, pathwaysjob())
    scene.timers.at(3600.0, lambda: None)
    scene.says("submitted", "reserved", "admitted", "podStarted")

    assert 3600.0 == scene.after(2.0)


def test_backoff_of_a_job_is_not_skipped(scene: Scene) -> None:
    """Its controller counts real time, and so does the clock: ten seconds, and the time to make the pod."""
    scene.says("submitted", "reserved", "admitted", "podStarted")
    scene.event_log.note("podEnded", A, pod="x", chips=4, reason="Failed")
    scene.event_log.note("podStarted", A, pod="y", chips=4)
    scene.event_log.timelines.begin(A, gangs(job(pods=1)), 0.0, Work(1800.0))

    assert [0.0, 19.0, 1800.0] == [scene.after(0.0), scene.after(19.0), scene.after(1.1)]


def test_clock_stops_at_the_timer_of_a_controller(scene: Scene) -> None:
    """Time is skipped to that moment; then the controllers do what they have to do before it expires."""
    scene.says("submitted")
    timers = scene.event_log.controller_timers
    timers.see(0.0, "ADDED", ADMITTED, A, "2026-01-31T12:00:00Z")
    found = [(scene.after(2.0), scene.idle_time.is_settled)]
    found += [(scene.after(seconds), scene.idle_time.is_settled) for seconds in (0.0, 1.9, 0.1)]
    (running,) = timers.due(scene.clock.now())
    timers.tell(running)
    found += [(scene.after(2.0), scene.idle_time.is_settled), (scene.after(2.0), True)]

    stopped = [(1800.0, False), (1800.0, False), (1800.0, False), (1800.0, True)]
    assert [*stopped, (1800.0, False), (1820.0, True)] == found


def test_clock_stops_for_a_minute_at_most(scene: Scene) -> None:
    """Controllers that never come to rest do not hold a rehearsal."""
    scene.event_log.controller_timers.see(0.0, "ADDED", ADMITTED, A, "2026-01-31T12:00:00Z")
    scene.clock.skip_to(1800.0)
    scene.autoscaler.looked_at = 0.0
    found = [(scene.after(seconds), scene.idle_time.is_settled) for seconds in (0.0, 59.0, 1.0)]

    assert [(1800.0, False), (1800.0, False), (1800.0, True)] == found


def test_slow_controllers_are_waited_for_longer(scene: Scene) -> None:
    """Twice as long as they once took, six seconds at most."""
    for gap in (1.5, 2.5, 4.0):
        scene.real += gap
        scene.says()

    assert 6.0 == scene.event_log.settles_within
    assert [True, 3600.0] == [scene.after(5.9) < 200.0, scene.after(0.2)]


def test_nothing_is_skipped_where_past_usage_decays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kueue counts that in real time, and in its memory."""
    scene = Scene(monkeypatch, admissionFairSharing={})
    scene.timers.at(3600.0, lambda: None)

    assert 100.0 == scene.after(10.0)


def test_nothing_is_skipped_where_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or where the cluster is not the rehearsal's own."""
    scene = Scene(monkeypatch, skips=False)
    scene.timers.at(3600.0, lambda: None)

    assert 100.0 == scene.after(10.0)
