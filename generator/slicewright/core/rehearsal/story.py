"""Events -> the story of each run: when it waited, ran, was evicted or restarted, where, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from slicewright.core.rehearsal.event import DELETED, FINISHED, NOT_IN_TREE, RECLAIMED
from slicewright.core.rehearsal.slices import Pod, kept_apart, slices
from slicewright.core.rehearsal.waiting import Losses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.core.rehearsal.event import Event
    from slicewright.core.rehearsal.slices import Pods, Slice
    from slicewright.core.rehearsal.waiting import Rooms

State = Literal["queued", "reserved", "starting", "running", "restarting"]
"""`queued`: Kueue has no quota for it. `reserved`: it has, and an admission check is open. `starting`:
admitted, and not all of its TPU pods run yet. `running`: all do, or have done their work. `restarting`: all
did, and some of them are started again, by JobSet (a restart) or by their Job (a pod in place of another)."""

_CAUSE = "FailedScheduling"
_TRIED_AGAIN = "FailedCreate"
"""A controller could not make a pod, and tries again: told and over when all pods run."""

_FIRST_BACKOFF, _LONGEST_BACKOFF, _MOST_DOUBLINGS = 10.0, 600.0, 6
"""What the Job controller waits after a failure and at most, in seconds; each further failure doubles it."""

Outcome = Literal["waiting", "running", "finished", "failed", "refused", "notSubmitted"]
OVER = frozenset({"finished", "failed", "refused"})
"""Outcomes after which nothing more is to come."""


@dataclass(frozen=True, slots=True)
class Span:
    """A state and how long it lasted, in seconds of the rehearsal's clock."""

    state: State
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Eviction:
    """Kueue took the quota back."""

    at: float
    reason: str
    """Kueue's word: `Preempted`, `PodsReadyTimeout`, `InactiveWorkload`, ..."""
    text: str


@dataclass(slots=True)
class Story:
    """What happened to one run."""

    run: str
    submitted: float | None = None
    admitted: float | None = None
    """When it was admitted for the first time; the same as `submitted` where no queue is asked."""
    started: float | None = None
    """When all of its TPU pods ran for the first time."""
    ended: float | None = None
    outcome: Outcome = "notSubmitted"
    is_queued: bool = False
    """Whether Kueue decides when it starts."""
    queue: str = ""
    restarts: int = 0
    evictions: list[Eviction] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    slices: list[Slice] = field(default_factory=list)
    waits_for: str = ""
    """Kueue's last sentence on why it is not admitted."""
    warnings: dict[str, str] = field(default_factory=dict)
    """The last warning of each reason."""
    refusal: str = ""
    end_text: str = ""
    ran: set[str] = field(default_factory=set)
    """The replicated jobs of which a pod has started."""
    unplaced: dict[str, tuple[float, str]] = field(default_factory=dict)
    """When the scheduler found no place for a pod, for the last time, and its sentence."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come."""
        return self.outcome in OVER

    @property
    def wait(self) -> float | None:
        """Return the seconds from submission to the first admission."""
        if self.submitted is None or self.admitted is None:
            return None
        return self.admitted - self.submitted

    @property
    def why(self) -> str:
        """Return the best that the cluster said about why the run is not where it should be."""
        if self.refusal:
            return self.refusal
        if self.outcome == "failed":
            return self.end_text
        if NOT_IN_TREE in self.warnings:
            return self.warnings[NOT_IN_TREE]
        if self.waits_for:
            return f"Kueue: {self.waits_for}"
        # Why there is no node is the cause; that a controller cannot make pods beside it follows from that.
        reason = _CAUSE if _CAUSE in self.warnings else next(reversed(self.warnings), "")
        return f"{reason}: {self.warnings[reason]}" if reason else ""


class Stories:
    """The stories of a rehearsal while they grow.

    `tpu_pods` says for each run how many TPU pods it has when all of it runs, `queued` which runs ask a
    queue; both come from the run objects. `rooms` tells of the node pools, where they are known.
    """

    def __init__(
        self, tpu_pods: Mapping[str, int], queued: Iterable[str], rooms: Rooms | None = None
    ) -> None:
        self._queued = frozenset(queued)
        self.of: dict[str, Story] = {run: Story(run, is_queued=run in self._queued) for run in tpu_pods}
        self._tpu_pods = tpu_pods
        self._state: dict[str, tuple[State, float]] = {}
        self._pods: Pods = {run: {} for run in tpu_pods}
        self._lost: dict[str, float] = {}
        """When runs lost a pod of which it is not clear whether there will be another in its place."""
        self._holding: set[str] = set()
        """Runs for which Kueue holds quota."""
        self._rooms = rooms or {}
        self._losses = Losses()

    def add(self, event: Event) -> None:
        """Take an event in; those of runs that are not ours are passed by."""
        story = self.of.get(event.run)
        tell = _TELL.get(event.kind)
        if event.node_pool and not event.run:
            self._losses.add(event)
        if story is not None and tell is not None:
            tell(self, story, event)

    def close(self, at: float) -> dict[str, Story]:
        """Return the stories as they are at a moment: what still lasts ends there."""
        evictions = {run: [eviction.at for eviction in story.evictions] for run, story in self.of.items()}
        found = slices(self._pods, evictions, at, self._rooms, self._losses)
        return {
            run: replace(
                story,
                spans=[*story.spans, *self._lasting(run, at)],
                slices=found[run],
                evictions=list(story.evictions),
                warnings=dict(story.warnings),
                ran=set(story.ran),
                unplaced=dict(story.unplaced),
            )
            for run, story in self.of.items()
        }

    def _lasting(self, run: str, at: float) -> list[Span]:
        return [Span(state, since, at) for state, since in (self._state[run],)] if run in self._state else []

    @property
    def is_at_work(self) -> bool:
        """Whether a pod runs that will end by itself, so that something is going to happen."""
        return any(
            pod.end is None and pod.start.ends for pods in self._pods.values() for pod in pods.values()
        )

    @property
    def holds_quota(self) -> bool:
        """Whether Kueue has not yet given back the quota of all runs."""
        return bool(self._holding)

    def backoffs(self) -> list[tuple[float, float]]:
        """Return when the Jobs of runs that have not ended lost their last pod, and their backoff.

        The first is on the rehearsal's clock, the second in real seconds: the Job controller waits so long
        before it makes pods again.
        """
        found = []
        for run, pods in self._pods.items():
            story = self.of[run]
            since = story.evictions[-1].at if story.evictions else -1.0  # what Kueue takes away is no failure
            lost: dict[str, list[float]] = {}
            for pod in pods.values():
                is_lost = pod.end is not None and not pod.is_there
                if is_lost and pod.start.attempt >= story.restarts and pod.start.at > since:
                    lost.setdefault(pod.start.job_uid, []).append(pod.until(since))
            if run in self._state:
                found += [(max(times), _backoff(len(times))) for times in lost.values()]
        return found

    def state_of(self, run: str) -> str:
        """Return what a run does now: its state, or how it ended."""
        if run in self._state:
            return self._state[run][0]
        return self.of[run].outcome

    def since(self, run: str) -> float:
        """Return when the present state of a run began; 0 where it has none."""
        if run in self._state:
            return self._state[run][1]
        story = self.of[run]
        return story.submitted or 0.0 if story.ended is None else story.ended

    def _enter(self, story: Story, state: State | None, at: float) -> None:
        before = self._state.pop(story.run, None)
        if before is not None and at > before[1]:
            story.spans.append(Span(before[0], before[1], at))
        if state is not None:
            self._state[story.run] = (state, at)

    def _submitted(self, story: Story, event: Event) -> None:
        story.submitted, story.outcome = event.at, "waiting"
        if story.run in self._queued:
            self._enter(story, "queued", event.at)
        else:
            story.admitted = event.at
            self._enter(story, "starting", event.at)

    def _refused(self, story: Story, event: Event) -> None:
        story.outcome, story.refusal = "refused", event.text
        self._enter(story, None, event.at)

    def _waiting(self, story: Story, event: Event) -> None:
        story.waits_for = event.text

    def _reserved(self, story: Story, event: Event) -> None:
        story.queue, story.waits_for = event.queue, ""
        self._holding.add(story.run)
        self._enter(story, "reserved", event.at)

    def _admitted(self, story: Story, event: Event) -> None:
        if story.admitted is None:
            story.admitted = event.at
        story.waits_for = ""
        self._enter(story, "starting", event.at)
        self._settle(story, event.at)  # pods and queues are watched apart: some may have been seen already

    def _evicted(self, story: Story, event: Event) -> None:
        story.evictions.append(Eviction(event.at, event.reason, event.text))
        self._back_to(story, "queued", event.at)

    def _released(self, story: Story, event: Event) -> None:
        if not event.flavors:
            self._holding.discard(story.run)
        if story.ended is None and event.reason not in (FINISHED, RECLAIMED):
            self._back_to(story, "queued", event.at)

    def _restarted(self, story: Story, event: Event) -> None:
        story.restarts = event.attempt
        self._back_to(story, "restarting", event.at)

    def _back_to(self, story: Story, state: State, at: float) -> None:
        story.outcome = "waiting"
        if self._state_is(story, state):
            return
        self._enter(story, state, at)

    def _state_is(self, story: Story, *states: State) -> bool:
        return self._state.get(story.run, ("",))[0] in states

    def _warned(self, story: Story, event: Event) -> None:
        story.warnings.pop(event.reason, None)
        story.warnings[event.reason] = event.text
        if event.reason == _CAUSE:
            story.unplaced[event.pod] = event.at, event.text

    def _pod_started(self, story: Story, event: Event) -> None:
        refused, _ = story.unplaced.get(event.pod, (None, ""))
        self._pods[story.run][event.pod] = Pod(event, refused=refused)
        story.ran.add(event.job.partition("/")[0])
        since = self._lost.pop(story.run, None)
        if event.chips and since is not None and self._state_is(story, "running"):
            self._back_to(story, "restarting", since)  # one in its place: the run was not about to end
        self._settle(story, event.at)

    def _pod_ended(self, story: Story, event: Event) -> None:
        pod = self._pods[story.run].get(event.pod)
        if pod is None:
            return
        pod.end = event
        if not pod.start.chips or pod.is_there or not self._state_is(story, "running"):
            return
        if event.reason == DELETED and self._has_succeeded(story):
            self._lost.setdefault(story.run, event.at)
        else:
            self._back_to(story, "restarting", event.at)

    def _has_succeeded(self, story: Story) -> bool:
        """Tell whether a pod has done its work, such as a head: its JobSet then removes the others."""
        pods = self._pods[story.run].values()
        return any(pod.has_succeeded and pod.start.attempt >= story.restarts for pod in pods)

    def _settle(self, story: Story, at: float) -> None:
        """Let a run be running from the moment when all of its TPU pods are."""
        if not self._state_is(story, "starting", "restarting"):
            return
        there = sum(
            1
            for pod in self._pods[story.run].values()
            if pod.start.chips and pod.is_there and pod.start.attempt >= story.restarts
        )
        if there < self._tpu_pods[story.run] or (story.started is None and kept_apart(story.run, self._pods)):
            return
        if story.started is None:
            story.started = at
        story.warnings.pop(_TRIED_AGAIN, None)
        story.outcome = "running"
        self._enter(story, "running", at)

    def _finished(self, story: Story, event: Event) -> None:
        self._over(story, event, "finished")

    def _failed(self, story: Story, event: Event) -> None:
        self._over(story, event, "failed")

    def _over(self, story: Story, event: Event, outcome: Outcome) -> None:
        story.ended, story.outcome, story.end_text = event.at, outcome, event.text
        self._enter(story, None, event.at)


def _backoff(failures: int) -> float:
    doublings = min(failures - 1, _MOST_DOUBLINGS)
    return min(_FIRST_BACKOFF * 2.0**doublings, _LONGEST_BACKOFF)


_TELL = {
    "submitted": Stories._submitted,  # noqa: SLF001 - the table of this module's own methods
    "refused": Stories._refused,  # noqa: SLF001
    "waiting": Stories._waiting,  # noqa: SLF001
    "reserved": Stories._reserved,  # noqa: SLF001
    "admitted": Stories._admitted,  # noqa: SLF001
    "evicted": Stories._evicted,  # noqa: SLF001
    "released": Stories._released,  # noqa: SLF001
    "restarted": Stories._restarted,  # noqa: SLF001
    "warned": Stories._warned,  # noqa: SLF001
    "podStarted": Stories._pod_started,  # noqa: SLF001
    "podEnded": Stories._pod_ended,  # noqa: SLF001
    "finished": Stories._finished,  # noqa: SLF001
    "failed": Stories._failed,  # noqa: SLF001
}
