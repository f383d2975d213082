"""Events -> the story of each run: when it waited, ran, was evicted or restarted, where, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.core.rehearsal.event import Event

State = Literal["queued", "reserved", "starting", "running", "restarting"]
"""`queued`: Kueue has no quota for it. `reserved`: it has, and an admission check is open. `starting`:
admitted, and not all of its TPU pods run. `running`: all do. `restarting`: JobSet starts them again."""

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
    """One slice of one attempt, and where its pods ran."""

    job: str
    attempt: int
    start: float
    end: float
    node_pools: tuple[str, ...]
    pods: int
    exclusive: bool
    """Whether nothing else had a TPU pod on these node pools meanwhile."""


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
        if self.admitted is None and self.waits_for:
            return f"Kueue: {self.waits_for}"
        last = next(reversed(self.warnings.items()), None)
        return f"{last[0]}: {last[1]}" if last else ""


@dataclass(slots=True)
class _Pod:
    event: Event
    admission: int
    end: float | None = None

    @property
    def slice(self) -> tuple[int, int, str, str]:
        """Return what the pods of one slice have in common: the same Job, since the same admission."""
        return self.admission, self.event.attempt, self.event.job, self.event.job_uid


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
        self._started: dict[str, set[str]] = {}
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
        for run, story in self.of.items():
            story.slices = list(self._slices(run, at))
        return self.of

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
        story.queue = event.queue
        self._enter(story, "reserved", event.at)

    def _admitted(self, story: Story, event: Event) -> None:
        if story.admitted is None:
            story.admitted = event.at
        self._enter(story, "starting", event.at)
        self._started[story.run] = set()

    def _evicted(self, story: Story, event: Event) -> None:
        story.evictions.append(Eviction(event.at, event.reason, event.text))
        self._back_to(story, "queued", event.at)

    def _released(self, story: Story, event: Event) -> None:
        if story.ended is None and event.reason != "Finished":
            self._back_to(story, "queued", event.at)

    def _restarted(self, story: Story, event: Event) -> None:
        story.restarts = event.attempt
        self._back_to(story, "restarting", event.at)

    def _back_to(self, story: Story, state: State, at: float) -> None:
        self._started[story.run] = set()
        story.outcome = "waiting"
        if self._state.get(story.run, ("",))[0] != state:
            self._enter(story, state, at)

    def _warned(self, story: Story, event: Event) -> None:
        story.warnings.pop(event.reason, None)
        story.warnings[event.reason] = event.text

    def _pod_started(self, story: Story, event: Event) -> None:
        self._pods[story.run][event.pod] = _Pod(event, len(story.evictions))
        started = self._started.setdefault(story.run, set())
        if event.chips and event.attempt >= story.restarts:
            started.add(event.pod)
        if len(started) < self._tpu_pods[story.run] or story.ended is not None:
            return
        if story.started is None:
            story.started = event.at
        story.outcome = "running"
        if self._state.get(story.run, ("",))[0] != "running":
            self._enter(story, "running", event.at)

    def _pod_ended(self, story: Story, event: Event) -> None:
        pod = self._pods[story.run].get(event.pod)
        if pod is not None:
            pod.end = event.at

    def _finished(self, story: Story, event: Event) -> None:
        self._over(story, event, "finished")

    def _failed(self, story: Story, event: Event) -> None:
        self._over(story, event, "failed")

    def _over(self, story: Story, event: Event, outcome: Outcome) -> None:
        story.ended, story.outcome, story.end_text = event.at, outcome, event.text
        self._enter(story, None, event.at)

    def _slices(self, run: str, now: float) -> Iterable[Slice]:
        groups: dict[tuple[int, int, str, str], list[_Pod]] = {}
        for pod in self._pods[run].values():
            if pod.event.chips:
                groups.setdefault(pod.slice, []).append(pod)
        for key, pods in sorted(groups.items()):
            start = min(pod.event.at for pod in pods)
            end = max(now if pod.end is None else pod.end for pod in pods)
            pools = tuple(sorted({pod.event.node_pool for pod in pods}))
            alone = not any(
                other.event.node_pool in pools
                and (name, other.slice) != (run, key)
                and other.event.at < end
                and start < (now if other.end is None else other.end)
                for name, of_run in self._pods.items()
                for other in of_run.values()
                if other.event.chips
            )
            yield Slice(key[2], key[1], start, end, pools, len(pods), alone)


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
