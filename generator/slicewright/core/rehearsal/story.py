"""Events -> the story of each run: when it waited, ran, was evicted or restarted, where, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from slicewright.core.rehearsal.event import FINISHED, RECLAIMED, SUCCEEDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.core.rehearsal.event import Event

State = Literal["queued", "reserved", "starting", "running", "restarting"]
"""`queued`: Kueue has no quota for it. `reserved`: it has, and an admission check is open. `starting`:
admitted, and not all of its TPU pods run yet. `running`: all do. `restarting`: all did, and some of them are
started again, by JobSet (a restart) or by their Job (a pod in place of another)."""

_CAUSE = "FailedScheduling"
_TRIED_AGAIN = "FailedCreate"
"""A controller could not make a pod, and tries again: told and over when all pods run."""

_FIRST_BACKOFF, _LONGEST_BACKOFF, _MOST_DOUBLINGS = 10.0, 600.0, 6
"""What the Job controller waits after a failure and at most, in seconds; each further failure doubles it."""

Outcome = Literal["waiting", "running", "finished", "failed", "refused", "notSubmitted"]


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


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice from the start of its pods to their end, and where they ran."""

    job: str
    attempt: int
    start: float
    end: float
    node_pools: tuple[str, ...]
    pods: int
    exclusive: bool
    """Whether nothing else had a TPU pod on these node pools until the first of its pods ended."""
    shared_with: tuple[str, ...] = ()
    """The runs whose pods were there: others, or the run itself with another slice."""


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
        if self.waits_for:
            return f"Kueue: {self.waits_for}"
        # Why there is no node is the cause; that a controller cannot make pods beside it follows from that.
        reason = _CAUSE if _CAUSE in self.warnings else next(reversed(self.warnings), "")
        return f"{reason}: {self.warnings[reason]}" if reason else ""


@dataclass(slots=True)
class _Pod:
    start: Event
    end: Event | None = None

    @property
    def key(self) -> tuple[int, str, str]:
        """Return what the pods of one slice have in common: they are of the same Job."""
        return self.start.attempt, self.start.job, self.start.job_uid

    @property
    def is_there(self) -> bool:
        """Whether it runs, or has done its work."""
        return self.end is None or self.end.reason == SUCCEEDED

    def until(self, now: float) -> float:
        return now if self.end is None else self.end.at


class Stories:
    """The stories of a rehearsal while they grow.

    `tpu_pods` says for each run how many TPU pods it has when all of it runs, `queued` which runs ask a
    queue; both come from the run objects.
    """

    def __init__(self, tpu_pods: Mapping[str, int], queued: Iterable[str]) -> None:
        self.of: dict[str, Story] = {run: Story(run) for run in tpu_pods}
        self._tpu_pods = tpu_pods
        self._queued = frozenset(queued)
        self._state: dict[str, tuple[State, float]] = {}
        self._pods: dict[str, dict[str, _Pod]] = {run: {} for run in tpu_pods}

    def add(self, event: Event) -> None:
        """Take an event in; those of runs that are not ours are passed by."""
        story = self.of.get(event.run)
        tell = _TELL.get(event.kind)
        if story is not None and tell is not None:
            tell(self, story, event)

    def close(self, at: float) -> dict[str, Story]:
        """Return the stories, cut off at a moment: what still lasts then ends there."""
        for run, (state, since) in self._state.items():
            self.of[run].spans.append(Span(state, since, at))
        self._state.clear()
        pieces = {run: list(_pieces(run, pods.values(), at)) for run, pods in self._pods.items()}
        on_pool: dict[str, list[_Piece]] = {}
        for piece in (piece for found in pieces.values() for piece in found):
            for pool in piece.slice.node_pools:
                on_pool.setdefault(pool, []).append(piece)
        for run, found in pieces.items():
            self.of[run].slices = [_with_neighbours(piece, on_pool) for piece in found]
        return self.of

    @property
    def is_at_work(self) -> bool:
        """Whether a pod runs that will end by itself, so that something is going to happen."""
        return any(
            pod.end is None and pod.start.ends for pods in self._pods.values() for pod in pods.values()
        )

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

    def _pod_started(self, story: Story, event: Event) -> None:
        self._pods[story.run][event.pod] = _Pod(event)
        self._settle(story, event.at)

    def _pod_ended(self, story: Story, event: Event) -> None:
        pod = self._pods[story.run].get(event.pod)
        if pod is None:
            return
        pod.end = event
        if pod.start.chips and not pod.is_there and self._state_is(story, "running"):
            self._back_to(story, "restarting", event.at)

    def _settle(self, story: Story, at: float) -> None:
        """Let a run be running from the moment when all of its TPU pods are."""
        if not self._state_is(story, "starting", "restarting"):
            return
        there = sum(
            1
            for pod in self._pods[story.run].values()
            if pod.start.chips and pod.is_there and pod.start.attempt >= story.restarts
        )
        if there < self._tpu_pods[story.run]:
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


@dataclass(frozen=True, slots=True)
class _Piece:
    run: str
    slice: Slice
    whole: float
    """Until when it was whole: when the first of its pods has ended, another slice may take its place."""


def _pieces(run: str, pods: Iterable[_Pod], now: float) -> Iterator[_Piece]:
    """Yield the slices that some pods made.

    Pods of one Job that start when all before them have ended, as after an eviction, are another slice.
    """
    jobs: dict[tuple[int, str, str], list[list[_Pod]]] = {}
    for pod in pods:
        if not pod.start.chips:
            continue
        found = jobs.setdefault(pod.key, [[]])
        if found[-1] and all(other.end and other.end.at <= pod.start.at for other in found[-1]):
            found.append([])
        found[-1].append(pod)
    for (attempt, job, _), groups in sorted(jobs.items()):
        for group in groups:
            start, end = group[0].start.at, max(pod.until(now) for pod in group)
            pools = tuple(sorted({pod.start.node_pool for pod in group}))
            whole = min(pod.until(now) for pod in group)
            yield _Piece(run, Slice(job, attempt, start, end, pools, len(group), exclusive=True), whole)


def _with_neighbours(piece: _Piece, on_pool: Mapping[str, list[_Piece]]) -> Slice:
    beside = {
        other.run
        for pool in piece.slice.node_pools
        for other in on_pool[pool]
        if other is not piece and other.slice.start < piece.whole and piece.slice.start < other.whole
    }
    return replace(piece.slice, exclusive=not beside, shared_with=tuple(sorted(beside)))


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
