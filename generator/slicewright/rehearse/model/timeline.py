"""Events -> the timeline of each run: when it waited, ran or restarted, on which nodes, and how it ended."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.rehearse.model.event import (
    DELETED,
    FINISHED,
    NOT_IN_TREE,
    RECLAIMED,
    RESTARTED,
    TIMED_OUT,
    Event,
)
from slicewright.rehearse.model.run_pods import Gangs, Pod, Pods, Progress, Slice, Spent, Work, slices

State = Literal["queued", "reserved", "starting", "running", "restarting"]
"""`queued`: Kueue has no quota for it. `reserved`: it has, and an admission check is open. `starting`:
admitted, and not all of its TPU pods run yet. `running`: all do, or have done their work. `restarting`: all
did, and some of them are started again, by JobSet (a restart) or by their Job (a pod in place of another)."""

_CAUSE = "FailedScheduling"
_TRIED_AGAIN = "FailedCreate"
"""A controller could not make a pod, and tries again: no longer shown when all pods run."""
IN_VAIN = (_CAUSE, _TRIED_AGAIN)
"""Reasons of Events of controllers that try again and again, and change nothing."""
_FOLLOWER = "follower pod node selector"
"""JobSet's webhook refuses the pods of a slice until its first pod has a node (pod_admission_webhook.go)."""

_FIRST_BACKOFF, _LONGEST_BACKOFF, _MOST_DOUBLINGS = 10.0, 600.0, 6
"""What the Job controller waits after a failure and at most, in seconds; each further failure doubles it."""

Outcome = Literal["waiting", "running", "finished", "failed", "refused", "notSubmitted"]
OVER = frozenset({"finished", "failed", "refused"})
"""Outcomes that are final."""


class Span(Struct, frozen=True):
    """A state and how long it lasted, in seconds of the rehearsal's clock."""

    state: State
    start: float
    end: float


class Eviction(Struct, frozen=True):
    """Kueue took the quota back."""

    at: float
    reason: str
    """Kueue's reason: `Preempted`, `PodsReadyTimeout`, `InactiveWorkload`, ..."""
    text: str


class Timeline(Struct):
    """What happened to one run."""

    run: str
    submitted: float | None = None
    admitted: float | None = None
    """When it was admitted for the first time; the same as `submitted` for a run without a queue."""
    started: float | None = None
    """When all of its TPU pods ran for the first time."""
    ended: float | None = None
    outcome: Outcome = "notSubmitted"
    state: State | None = None
    """Its present state; None if it has not begun, or is over."""
    since: float = 0.0
    """When that state began."""
    is_queued: bool = False
    """Whether Kueue decides when it starts."""
    queue: str = ""
    restarts: int = 0
    evictions: list[Eviction] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    slices: list[Slice] = field(default_factory=list)
    waits_for: str = ""
    """Kueue's last message on why it is not admitted."""
    warnings: dict[str, str] = field(default_factory=dict)
    """The last warning by reason."""
    refusal: str = ""
    end_text: str = ""
    ran: set[str] = field(default_factory=set)
    """The replicated jobs of which a pod has started."""
    is_placed: bool = False
    """Whether a pod has started since the run began, or began again."""
    unplaced: dict[str, str] = field(default_factory=dict)
    """The scheduler's last message about each pod that it could not place."""
    together: int = 0
    """The most TPU pods that ran at a time."""

    @property
    def is_over(self) -> bool:
        """Whether its outcome is final."""
        return self.outcome in OVER

    @property
    def lacks_nodes(self) -> bool:
        """Whether the scheduler has no node for a pod, and no controller still has to create pods.

        As long as no pod has started, or none since a restart, the other pods of a slice cannot be made.
        """
        retried = self.warnings.get(_TRIED_AGAIN)
        return bool(self.unplaced) and (retried is None or (_FOLLOWER in retried and not self.is_placed))

    @property
    def wait(self) -> float | None:
        """Return the seconds from submission to the first admission."""
        if self.submitted is None or self.admitted is None:
            return None
        return self.admitted - self.submitted

    def spans_until(self, at: float) -> list[Span]:
        """Return the states until a moment, the present one included."""
        return [*self.spans, Span(self.state, self.since, at)] if self.state else list(self.spans)

    @property
    def why(self) -> str:
        """Return the cluster's most specific message on why the run does not progress, or ''."""
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


class Timelines:
    """The timelines of a rehearsal while they grow.

    `tpu_pods` has the full number of TPU pods of each run, `queued` the runs with a queue, and
    `without_chips` the runs without TPU pods, all of whose pods count. All come from the run objects.
    """

    def __init__(
        self, tpu_pods: Mapping[str, int], queued: Iterable[str], without_chips: Iterable[str] = ()
    ) -> None:
        in_queues = frozenset(queued)
        self.of: dict[str, Timeline] = {run: Timeline(run, is_queued=run in in_queues) for run in tpu_pods}
        self._tpu_pods = tpu_pods
        self._without_chips = frozenset(without_chips)
        self._pods: Pods = {run: {} for run in tpu_pods}
        self._progress = Progress(self._pods)
        self._lost: dict[str, float] = {}
        """When runs lost a pod that may or may not be replaced."""
        self._grown: set[str] = set()
        """Runs that have a new pod since their programs were checked."""
        self._holding: set[str] = set()
        """Runs for which Kueue holds quota."""
        self._advanced_at = 0.0
        """When a run was last submitted, started or ended."""

    def add(self, event: Event) -> None:
        """Add an event; events of other runs are ignored."""
        timeline = self.of.get(event.run)
        if timeline is None:
            return
        match event.kind:
            case "submitted":
                self._advanced_at = event.at
                timeline.submitted, timeline.outcome = event.at, "waiting"
                if not timeline.is_queued:
                    timeline.admitted = event.at
                self._enter(timeline, "queued" if timeline.is_queued else "starting", event.at)
            case "refused":
                timeline.outcome, timeline.refusal = "refused", event.text
                self._enter(timeline, None, event.at)
            case "waiting":
                timeline.waits_for = event.text
            case "reserved":
                timeline.queue, timeline.waits_for = event.queue, ""
                self._holding.add(timeline.run)
                self._enter(timeline, "reserved", event.at)
            case "admitted":
                timeline.waits_for = ""
                if timeline.admitted is None:
                    timeline.admitted = event.at
                self._enter(timeline, "starting", event.at)
                self._settle(timeline, event.at)  # pods are watched apart: some may be known already
            case "evicted":
                self._progress.stop(timeline.run, event.at)
                timeline.evictions.append(Eviction(event.at, event.reason, event.text))
                self._back_to(timeline, "queued", event.at)
            case "released":
                if not event.flavors:
                    self._holding.discard(timeline.run)
                if timeline.ended is None and event.reason not in (FINISHED, RECLAIMED):
                    self._back_to(timeline, "queued", event.at)
            case "restarted":
                timeline.restarts = event.attempt
                self._progress.stop(timeline.run, event.at, before=event.attempt)
                self._back_to(timeline, "restarting", event.at)
            case "warned":
                self._warned(timeline, event)
            case "podStarted":
                self._pod_started(timeline, event)
            case "podEnded":
                self._pod_ended(timeline, event)
            case "finished" | "failed":
                self._advanced_at = event.at
                timeline.ended, timeline.outcome, timeline.end_text = event.at, event.kind, event.text
                self._enter(timeline, None, event.at)

    def close(self, at: float) -> dict[str, Timeline]:
        """Return the timelines at a moment, at which their present states end."""
        evictions = {run: [each.at for each in timeline.evictions] for run, timeline in self.of.items()}
        by_run = slices(self._pods, evictions, at)
        return {
            run: replace(
                timeline,
                spans=timeline.spans_until(at),
                slices=by_run[run],
                evictions=list(timeline.evictions),
                warnings=dict(timeline.warnings),
                ran=set(timeline.ran),
                unplaced=dict(timeline.unplaced),
            )
            for run, timeline in self.of.items()
        }

    @property
    def is_at_work(self) -> bool:
        """Whether a program runs that will end by itself."""
        return next(self._programs(), None) is not None

    @property
    def is_ending(self) -> bool:
        """Whether a pod was told to end and still runs."""
        return any(pod.is_told for pod in self._programs())

    @property
    def next_end(self) -> float:
        """Return when the next program ends by itself; infinity if there is no such program."""
        return min((pod.ends_at or 0.0 for pod in self._programs() if not pod.is_told), default=math.inf)

    def runs_program(self, run: str) -> bool:
        """Tell whether a pod of a run has a program that will end by itself."""
        return any(pod.start.run == run for pod in self._programs())

    def begin(self, run: str, gangs: Gangs, now: float, work: Work) -> None:
        """Start the programs of a run whose gang is complete; they end when their remaining work is done."""
        if run in self._grown:
            self._grown.remove(run)
            for pod in gangs.ready(self._present(run)):
                if pod.ends_at is None and work.is_followed:
                    pod.ends_at = self._progress.begin(pod, gangs, now, work)
                elif pod.ends_at is None:
                    pod.ends_at = now + work.duration

    def spent(self, now: float) -> Mapping[tuple[str, str], Spent]:
        """Return how pods with chips spent their time, by run and name, for runs with tracked progress."""
        return self._progress.spent(now)

    def end(self, now: float) -> list[tuple[str, str]]:
        """Return run and name of the pods whose programs end now; each is returned once."""
        ending = [pod for pod in self._programs() if not pod.is_told and (pod.ends_at or 0.0) <= now]
        for pod in ending:
            pod.is_told = True
        return [(pod.start.run, pod.start.pod) for pod in ending]

    def _programs(self) -> Iterator[Pod]:
        """Yield the pods with a program that has begun and will end by itself."""
        for pods in self._pods.values():
            yield from (pod for pod in pods.values() if pod.end is None and pod.ends_at is not None)

    def _present(self, run: str) -> list[Pod]:
        """Return the pods of a run since its last restart or eviction.

        A pod of a new attempt is often seen before its JobSet says that it restarted, and before the end of
        the pods of the attempt before.
        """
        timeline, pods = self.of[run], self._pods[run].values()
        attempt = max((timeline.restarts, *(pod.start.attempt for pod in pods)))
        since = timeline.evictions[-1].at if timeline.evictions else 0.0
        return [pod for pod in pods if pod.start.attempt == attempt and pod.start.at >= since]

    @property
    def holds_quota(self) -> bool:
        """Whether Kueue still holds quota for runs that are over."""
        return any(self.of[run].is_over for run in self._holding)

    @property
    def evicted_again(self) -> frozenset[str]:
        """Runs evicted with PodsReadyTimeout since any run was last submitted, started or ended."""
        return frozenset(
            run
            for run, timeline in self.of.items()
            if any(each.at > self._advanced_at and each.reason == TIMED_OUT for each in timeline.evictions)
        )

    def backoffs(self) -> list[tuple[float, float]]:
        """Return when the Jobs of runs that have not ended lost their last pod, and their backoff.

        The Job controller waits so long before it makes pods again.
        """
        backoffs = []
        for run in (timeline.run for timeline in self.of.values() if timeline.state):
            lost: dict[str, list[float]] = {}
            for pod in self._present(run):  # what Kueue takes away is not a failure
                if pod.end is not None and not pod.is_there:
                    lost.setdefault(pod.start.job_uid, []).append(pod.end.at)
            for times in lost.values():
                doublings = min(len(times) - 1, _MOST_DOUBLINGS)
                backoffs.append((max(times), min(_FIRST_BACKOFF * 2.0**doublings, _LONGEST_BACKOFF)))
        return backoffs

    def state_of(self, run: str) -> str:
        """Return the present state of a run, or its outcome."""
        return self.of[run].state or self.of[run].outcome

    def since(self, run: str) -> float:
        """Return when the present state of a run began; 0 if it has none."""
        timeline = self.of[run]
        if timeline.state:
            return timeline.since
        return timeline.submitted or 0.0 if timeline.ended is None else timeline.ended

    def ends_at(self, run: str) -> float | None:
        """Return when the programs of a run end if nothing happens to them; None if it is not known.

        That is known while all of its TPU pods run, and have a program that ends by itself.
        """
        if self.of[run].state != "running":
            return None
        pods = self._pods[run].values()
        ends = (pod.ends_at for pod in pods if pod.end is None and pod.ends_at is not None)
        return max(ends, default=None)

    def _enter(self, timeline: Timeline, state: State | None, at: float) -> None:
        if timeline.state and at > timeline.since:
            timeline.spans.append(Span(timeline.state, timeline.since, at))
        timeline.state, timeline.since = state, at

    def _back_to(self, timeline: Timeline, state: State, at: float) -> None:
        timeline.outcome, timeline.is_placed = "waiting", False
        if timeline.state != state:
            self._enter(timeline, state, at)

    def _warned(self, timeline: Timeline, event: Event) -> None:
        timeline.warnings.pop(event.reason, None)
        timeline.warnings[event.reason] = event.text
        pod = self._pods[timeline.run].get(event.pod)
        if event.reason == _CAUSE and pod is None:
            timeline.unplaced[event.pod] = event.text
        elif event.reason == RESTARTED and pod is not None:  # its program begins again
            self._progress.lose(pod, event.at)
            pod.ends_at, pod.is_told = None, False
            self._grown.add(timeline.run)

    def _pod_started(self, timeline: Timeline, event: Event) -> None:
        timeline.unplaced.pop(event.pod, None)
        self._pods[timeline.run][event.pod] = Pod(event)
        self._grown.add(timeline.run)
        timeline.is_placed = True
        timeline.ran.add(event.job.partition("/")[0])
        since = self._lost.pop(timeline.run, None)
        if self._counts(event) and since is not None and timeline.state == "running":
            self._back_to(timeline, "restarting", since)  # one in its place: the run was not about to end
        self._settle(timeline, event.at)

    def _pod_ended(self, timeline: Timeline, event: Event) -> None:
        pod = self._pods[timeline.run].get(event.pod)
        if pod is None:
            return
        pod.end = event
        if not pod.is_there and any(pod is other for other in self._present(timeline.run)):
            self._progress.lose(pod, event.at)
        if not self._counts(pod.start) or pod.is_there or timeline.state != "running":
            return
        is_through = any(other.has_succeeded for other in self._present(timeline.run))
        if event.reason == DELETED and is_through:  # such as a head: its JobSet then removes the others
            self._lost.setdefault(timeline.run, event.at)
        else:
            self._back_to(timeline, "restarting", event.at)

    def _counts(self, started: Event) -> bool:
        return started.chips > 0 or started.run in self._without_chips

    def _settle(self, timeline: Timeline, at: float) -> None:
        """Change the state of a run to `running` once all of its TPU pods run."""
        if timeline.state not in ("starting", "restarting"):
            return
        running = sum(self._counts(pod.start) and pod.is_there for pod in self._present(timeline.run))
        timeline.together = max(timeline.together, running)
        if running < self._tpu_pods[timeline.run]:
            return
        if timeline.started is None:
            timeline.started = at
        timeline.warnings.pop(_TRIED_AGAIN, None)
        timeline.outcome = "running"
        self._advanced_at = at
        self._enter(timeline, "running", at)
