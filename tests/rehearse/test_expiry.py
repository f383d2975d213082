"""Timers of controllers expire when they are due, and what cannot be told of them is said."""

import math
import time
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from tests.rendering.platform.kit import site

from slicewright.cluster.api.api_error import ApiError
from slicewright.kubernetes.kinds import CONFIGURATION_KEY
from slicewright.rehearse.event_log import Clock, EventLog
from slicewright.rehearse.model.run_pods import Slice, Work, gangs
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rehearse.model.verdict import judge
from slicewright.rehearse.time_control import Expiry, installed_settings, outlived
from slicewright.testbed.nodes import capacity

from .kit import A, job, part_of

READY = {"type": "PodsReady", "status": "True"}


def workload(*others: Any, **spec: Any) -> Any:
    """Return a Workload that is admitted."""
    conditions = [{"type": "Admitted", "status": "True"}, *others]
    return {
        "kind": "Workload",
        "metadata": {"name": "a", "namespace": "default", "uid": "u"},
        "spec": spec,
        "status": {"conditions": conditions},
    }


class Scene:
    """A rehearsal at 10x of default/a, whose Workload was admitted at its start."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, item: Any) -> None:
        self.real = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.real)
        self.clock = Clock(10.0)
        self.event_log = EventLog(self.clock, {A: 1}, [A])
        self.event_log.controller_timers.see(0.0, "ADDED", item, A, "2026-01-31T12:00:00Z")
        self.patches: list[str] = []
        self.error: ApiError | None = None
        idle_time: Any = SimpleNamespace(is_settled=True)
        self.idle_time = idle_time
        self.autoscaler: Any = SimpleNamespace(is_busy=False, next=math.inf)
        api: Any = SimpleNamespace(patch=self._patch)
        self.expiry = Expiry(api, self.event_log, self.clock, self.idle_time)

    def _patch(self, item: Any, _change: Any, *, subresource: str) -> None:
        if self.error:
            raise self.error
        self.patches.append(f"{item['kind']} {item['metadata']['name']} {subresource}")

    def after(self, seconds: float) -> int:
        """Play after some real seconds, and return how many patches there are."""
        self.real += seconds
        self.expiry.play(self.autoscaler)
        return len(self.patches)

    @property
    def unknown(self) -> list[str]:
        """What cannot be told."""
        return [problem.message for problem in self.expiry.problems(())]


def test_timer_expires_once_when_it_is_due_and_the_controllers_have_settled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kueue waits 30 minutes for pods: three minutes of real time at 10x."""
    scene = Scene(monkeypatch, workload())
    found = [scene.after(179.0)]
    scene.idle_time.is_settled = False
    found.append(scene.after(1.0))
    scene.idle_time.is_settled = True
    scene.error = ApiError(409, {"reason": "Conflict"})
    found.append(scene.after(0.0))
    scene.error = None
    found += [scene.after(0.0), scene.after(1.0)]

    assert [0, 0, 0, 1, 1] == found
    assert ["Workload a status"] == scene.patches
    assert [] == scene.unknown


def test_deadline_that_ends_a_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """JobSet says only that a Job failed; the verdict names the deadline."""
    metadata = {"name": "a-slice-0", "namespace": "default", "uid": "u"}
    status = {"startTime": "2026-01-31T12:00:00Z"}
    item = {"kind": "Job", "metadata": metadata, "spec": {"activeDeadlineSeconds": 3600}, "status": status}
    scene = Scene(monkeypatch, item)
    scene.after(360.0)
    timeline = Timeline(A, submitted=0.0, started=0.0, outcome="failed", end_text="jobset failed")
    told = {event.reason: event.text for event in scene.event_log.so_far() if event.kind == "warned"}
    (problem,) = judge([part_of()], {A: replace(timeline, warnings=told)}, {}, cut_short=False)

    limit = "activeDeadlineSeconds of a Job ends it after 1h00m"
    assert {"TimeLimit": limit} == told
    assert f"remove the cause: jobset failed; {limit}" == problem.hint


def test_timer_on_which_no_controller_acts_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the Kueue of another cluster has a longer timeout."""
    scene = Scene(monkeypatch, workload())
    scene.after(180.0)
    scene.after(19.0)
    before = scene.unknown
    scene.after(1.0)
    scene.after(30.0)

    assert [] == before
    (message,) = scene.unknown
    assert (
        "cannot tell what waitForPodsReady.timeout of default/a does: it expires 30m00s after 0.0s, and no "
        "controller acted"
    ) == message


@pytest.mark.parametrize(("work", "unknown"), [(3649.0, 1), (3650.0, 0)])
def test_work_that_ends_at_the_same_time_as_its_limit_is_said(
    work: float, unknown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controllers take five seconds of real time for themselves, which are 50 at 10x."""
    scene = Scene(monkeypatch, workload(READY, maximumExecutionTimeSeconds=3600))
    for kind in ("submitted", "reserved", "admitted", "podStarted"):
        word: Any = kind
        scene.event_log.note(word, A, **({"pod": "x", "chips": 4} if kind == "podStarted" else {}))
    scene.event_log.timelines.begin(A, gangs(job(pods=1)), 0.0, Work(work))
    scene.after(360.0)

    assert unknown == len(scene.unknown)


@pytest.mark.parametrize(("arrival", "unknown"), [(1849.0, 1), (1850.0, 0)])
def test_nodes_that_come_at_the_same_time_as_the_timeout_are_said(
    arrival: float, unknown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As well."""
    scene = Scene(monkeypatch, workload())
    scene.autoscaler = SimpleNamespace(is_busy=True, next=arrival)
    scene.after(180.0)

    assert unknown == len(scene.unknown)


@pytest.mark.parametrize(
    ("pool", "ran", "expected"),
    [
        ("maxRunDurationSeconds: 3600", 3600.0, []),
        ("maxRunDurationSeconds: 3600", 3601.0, ["spec.pools[0]"]),
        ("provisioning: {type: ComputeClass, name: c}", 7201.0, ["spec.pools[0]"]),
        ("provisioning: {type: ComputeClass, name: c}", 7200.0, []),
        ("provisioning: Spot", 700_000.0, []),
        ("provisioning: FlexStart, maxRunDurationSeconds: 3600", 3601.0, []),
    ],
)
def test_end_of_nodes_that_is_not_simulated_is_said(pool: str, ran: float, expected: list[str]) -> None:
    """Nodes that exist at the start stay: their pool has one warning. Nodes that are added end as on GKE."""
    classes = "[{name: c, priorities: [{tpu: v6e-8, maxRunDurationSeconds: 7200}]}]"
    of = site(f"pools: [{{name: f, tpu: v6e-8, slices: 2, {pool}}}]\ncomputeClasses: {classes}")
    pieces = [Slice("", 0, 10.0, 10.0 + ran, (name,), 1, exclusive=True) for name in ("f-0", "f-1")]
    problems = outlived(of, capacity(of).fixed, [Timeline(A, slices=pieces), Timeline(A, slices=pieces)])

    assert expected == [problem.dotted() for problem in problems]


@pytest.mark.parametrize(
    ("found", "settings", "problems"),
    [
        (
            {"data": {CONFIGURATION_KEY: "waitForPodsReady: {timeout: 5m}"}},
            {"waitForPodsReady": {"timeout": "5m"}},
            0,
        ),
        ({"data": {CONFIGURATION_KEY: "admissionFairSharing: {}"}}, {"admissionFairSharing": {}}, 1),
        ({"data": {CONFIGURATION_KEY: "["}}, None, 1),
        ({"data": {}}, None, 1),
        (None, None, 1),
    ],
)
def test_settings_of_another_cluster_are_read_there(found: Any, settings: Any, problems: int) -> None:
    """Where they cannot be read, or count what a rehearsal cannot reach, that is said."""
    api: Any = SimpleNamespace(find=lambda *_: found)
    read, unknown = installed_settings(api)

    assert (settings, ["REH026"] * problems) == (read, [problem.id for problem in unknown])
