"""The pods of runs: the slices that they make, the gangs that work together, and the work of their programs.

As on GKE, where each host waits for the others, no program of a gang begins before all its TPU pods run.
A run without chips has no TPU pods: there, all pods count. A run that stops loses its progress since the last
checkpoint.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from slicewright.kubernetes.name_room import PATHWAYS_HEAD
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.event import SUCCEEDED, Event


class Slice(Struct, frozen=True):
    """One slice from the start of its pods to their end, and where they ran."""

    job: str
    attempt: int
    start: float
    end: float
    node_pools: tuple[str, ...]
    pods: int
    exclusive: bool
    """Whether no other slice had a TPU pod on these node pools until the first of its pods ended."""
    shared_with: tuple[str, ...] = ()
    """The runs that had pods there: other runs, or the same run with another slice."""


class Pod(Struct):
    """A pod that has started."""

    start: Event
    end: Event | None = None
    ends_at: float | None = None
    """When its program ends by itself; None if it has not begun or does not end."""
    is_told: bool = False
    """Whether it was told to end."""

    @property
    def key(self) -> tuple[int, str, str]:
        """Return the key that the pods of one slice share: attempt, Job and its UID."""
        return self.start.attempt, self.start.job, self.start.job_uid

    @property
    def replicated_job(self) -> str:
        """Return the name of its replicated job; empty outside a JobSet."""
        return self.start.job.partition("/")[0]

    @property
    def has_succeeded(self) -> bool:
        """Whether it has done its work."""
        return self.end is not None and self.end.reason == SUCCEEDED

    @property
    def is_there(self) -> bool:
        """Whether it runs, or has done its work."""
        return self.end is None or self.has_succeeded

    def until(self, now: float) -> float:
        """Return when it ended, or now."""
        return now if self.end is None else self.end.at


Pods = dict[str, dict[str, Pod]]
"""The pods of each run, by their names."""


class _Piece(Struct, frozen=True):
    run: str
    slice: Slice
    whole: float
    """When the first of its pods ended. From then on another slice may take its nodes."""


def slices(pods: Pods, evictions: Mapping[str, Collection[float]], now: float) -> dict[str, list[Slice]]:
    """Return the slices of each run; `evictions` says when Kueue took the quota of a run back."""
    pieces = {
        run: list(_pieces(run, by_name.values(), evictions.get(run, ()), now))
        for run, by_name in pods.items()
    }
    on_pool: dict[str, list[_Piece]] = {}
    for piece in (piece for of_run in pieces.values() for piece in of_run):
        for pool in piece.slice.node_pools:
            on_pool.setdefault(pool, []).append(piece)
    return {run: [_with_neighbours(piece, on_pool) for piece in of_run] for run, of_run in pieces.items()}


def _pieces(run: str, pods: Iterable[Pod], evictions: Collection[float], now: float) -> Iterator[_Piece]:
    """Yield the slices of some pods.

    Pods of one Job that start when all before them were lost, as after an eviction, are another slice.
    """
    jobs: dict[tuple[int, str, str], list[list[Pod]]] = {}
    turns: dict[tuple[int, str, str], int] = {}
    for pod in pods:
        if not pod.start.chips:
            continue
        turn = sum(at <= pod.start.at for at in evictions)
        groups = jobs.setdefault(pod.key, [[]])
        if turns.setdefault(pod.key, turn) < turn or (groups[-1] and _all_lost(groups[-1], pod.start.at)):
            groups.append([])
        turns[pod.key] = turn
        groups[-1].append(pod)
    for (attempt, job, _), groups in sorted(jobs.items()):
        for group in groups:
            ends = [pod.until(now) for pod in group]
            pools = tuple(sorted({pod.start.node_pool for pod in group}))
            whole = Slice(job, attempt, group[0].start.at, max(ends), pools, len(group), exclusive=True)
            yield _Piece(run, whole, min(ends))


def _all_lost(pods: Iterable[Pod], at: float) -> bool:
    return all(pod.end is not None and not pod.is_there and pod.end.at <= at for pod in pods)


def _with_neighbours(piece: _Piece, on_pool: Mapping[str, list[_Piece]]) -> Slice:
    mine = piece.run, piece.slice.job  # a slice that starts again is not its own neighbour
    beside = {
        other.run
        for pool in piece.slice.node_pools
        for other in on_pool[pool]
        if (other.run, other.slice.job) != mine
        and other.slice.start < piece.whole
        and piece.slice.start < other.whole
    }
    return replace(piece.slice, exclusive=not beside, shared_with=tuple(sorted(beside)))


class Gangs(Struct, frozen=True):
    """The gangs of one run: usually one, and one more for each step that begins when another is complete."""

    tpu_pods: Mapping[int, int]
    """The number of TPU pods in each gang, by the number of the gang."""
    numbers: Mapping[str, int]
    """The gang of each replicated job; a job that is not listed belongs to gang 0."""
    has_chips: bool
    """Whether only TPU pods are counted."""
    ends: frozenset[str]
    """The replicated jobs whose programs end by themselves; `""` is the program of a Job."""

    @property
    def all_tpu_pods(self) -> int:
        """Return how many TPU pods the complete run has."""
        return sum(self.tpu_pods.values())

    def ready(self, pods: Iterable[Pod]) -> Iterator[Pod]:
        """Yield the pods of the present attempt whose programs may begin, because their gang is complete."""
        present = [pod for pod in pods if pod.is_there]
        running = Counter(self.number(pod) for pod in present if pod.start.chips or not self.has_chips)
        for pod in present:
            number = self.number(pod)
            if (
                pod.end is None
                and pod.replicated_job in self.ends
                and running[number] >= self.tpu_pods[number]
            ):
                yield pod

    def needs(self, pod: Pod) -> bool:
        """Tell whether the programs of a gang stop without this pod. Only the head has a Pathways program."""
        has_part = bool(pod.start.chips) or not self.has_chips
        return pod.replicated_job in self.ends or (has_part and PATHWAYS_HEAD not in self.ends)

    def number(self, pod: Pod) -> int:
        """Return the gang of a pod."""
        return self.numbers.get(pod.replicated_job, 0)


def slices_of(item: Object, plan: tuple[int, int]) -> list[tuple[str, int, int]]:
    """Return each replicated job with chips: its name, its slices, and the hosts of a slice.

    `plan` has the slices and hosts of a PathwaysJob, whose pods are made by its controller.
    """
    if item["kind"] == "PathwaysJob":
        return [("", *plan)]
    return [(pods.name, pods.slices, pods.hosts) for pods in pods_of(item, item["kind"]) if pods.chips]


def gangs(item: Object, plan: tuple[int, int] = (0, 0)) -> Gangs:
    """Return the gangs of a run object; `plan` as for `slices_of`."""
    numbers = _numbers(item)
    tpu_pods = dict.fromkeys((0, *numbers.values()), 0)
    on_tpus = slices_of(item, plan)
    everything = [(pods.name, pods.slices, pods.hosts) for pods in pods_of(item, item["kind"])]
    for name, slices, hosts in on_tpus or everything:
        tpu_pods[numbers.get(name, 0)] += slices * hosts
    return Gangs(tpu_pods, numbers, bool(on_tpus), _ending(item) | {*_steps(item)})


def ends_by_itself(item: Object) -> bool:
    """Tell whether a run ends with its program. A headless Pathways run waits for clients and never ends."""
    return bool(_ending(item))


def lacks_head(item: Object, ran: Collection[str]) -> bool:
    """Tell whether a Pathways run has no head. `ran` are the replicated jobs that had a running pod."""
    jobs = item["spec"].get("replicatedJobs", ())
    is_pathways = item["kind"] == "PathwaysJob" or any(job["name"] == PATHWAYS_HEAD for job in jobs)
    return is_pathways and PATHWAYS_HEAD not in ran


def _ending(item: Object) -> frozenset[str]:
    """Return the jobs whose pods end by themselves: those in the success policy of a JobSet, else all.

    The others are servers that go with them, such as a TensorBoard or the workers of a Pathways head.
    """
    if item["kind"] == "PathwaysJob":
        return frozenset([PATHWAYS_HEAD] if "template" in item["spec"].get("controller", {}) else [])
    jobs = frozenset(pods.name for pods in pods_of(item, item["kind"]))
    targets = (item["spec"].get("successPolicy") or {}).get("targetReplicatedJobs") or ()
    return jobs & {*targets} if targets or PATHWAYS_HEAD in jobs else jobs


def _steps(item: Object) -> Iterator[str]:
    """Yield the replicated jobs that other jobs wait for until they complete: their programs end too."""
    for job in item["spec"].get("replicatedJobs", ()):
        yield from (other["name"] for other in job.get("dependsOn") or () if other["status"] == "Complete")


def _numbers(item: Object) -> dict[str, int]:
    """Return the gang of each replicated job; one that waits until another is complete is in a later gang."""
    numbers: dict[str, int] = {}
    for job in item["spec"].get("replicatedJobs", ()):
        earlier = job.get("dependsOn") or ()  # JobSet lets it name only jobs above
        numbers[job["name"]] = max(
            (numbers.get(other["name"], 0) + (other["status"] == "Complete") for other in earlier), default=0
        )
    return numbers


class Work(Struct, frozen=True):
    """The work of a run's programs, in seconds of the rehearsal's clock."""

    duration: float
    """How long the programs run if nothing stops them."""
    checkpoint_every: float | None = None
    """Progress between two checkpoints: 0 saves all progress, None saves nothing."""
    startup: float = 0.0
    """How long each start takes before there is progress."""

    @property
    def is_followed(self) -> bool:
        """Whether progress is tracked; if not, a restarted pod does all of its work again."""
        return self.checkpoint_every is not None or self.startup > 0

    def saved(self, done: float) -> float:
        """Return how much of the work `done` is saved. Complete work is always saved."""
        if self.checkpoint_every is None:
            return 0.0
        if done >= self.duration or not self.checkpoint_every:
            return done
        return done - done % self.checkpoint_every


class Spent(Struct):
    """How a pod spent its time, in seconds; the rest is waiting for other pods, and its termination."""

    kept: float = 0.0
    """Progress that was saved."""
    lost: float = 0.0
    """Progress that was not saved."""
    startup: float = 0.0


_Spending = dict[tuple[str, str], Spent]
"""How pods spent their time, by run and name of the pod."""


class _Session(Struct):
    """The programs of a gang since their start."""

    work: Work
    gangs: Gangs
    began: float
    before: float
    """The saved progress at their start."""
    attempt: int
    programs: list[Pod]

    @property
    def ends_at(self) -> float:
        return self.began + self.work.startup + self.work.duration - self.before

    def done(self, at: float) -> float:
        return self.before + max(0.0, min(at, self.ends_at) - self.began - self.work.startup)

    def started(self, at: float) -> float:
        """Return how much of the startup had passed."""
        return min(self.work.startup, max(0.0, at - self.began))


class Progress:
    """How far the programs of runs are; `pods` gets further pods while a rehearsal runs."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        self._sessions: dict[tuple[str, int], _Session] = {}
        """Running programs by run and gang."""
        self._saved: dict[tuple[str, int], float] = {}
        self._spent: _Spending = {}

    def begin(self, pod: Pod, gangs: Gangs, now: float, work: Work) -> float:
        """Start the program of a pod, and return when it ends. The programs of a gang end together."""
        key = pod.start.run, gangs.number(pod)
        session = self._sessions.get(key)
        if session and session.attempt < pod.start.attempt:  # seen before the end of the attempt before
            self._stop(key, now)
            session = None
        if session is None:
            before = self._saved.get(key, 0.0)
            session = self._sessions[key] = _Session(work, gangs, now, before, pod.start.attempt, [])
        session.programs.append(pod)
        return session.ends_at

    def lose(self, pod: Pod, at: float) -> None:
        """Stop the programs of a gang that cannot continue without this pod, which failed or was deleted."""
        for (run, number), session in list(self._sessions.items()):
            gangs = session.gangs
            is_of_it = (pod.start.run, gangs.number(pod), pod.start.attempt) == (run, number, session.attempt)
            if is_of_it and gangs.needs(pod):
                self._stop((run, number), at)

    def stop(self, run: str, at: float, *, before: float = float("inf")) -> None:
        """Stop all programs of a run; of its attempts only those before this one."""
        for key, session in list(self._sessions.items()):
            if key[0] == run and session.attempt < before:
                self._stop(key, at)

    def spent(self, now: float) -> Mapping[tuple[str, str], Spent]:
        """Return what the time of pods with chips went to until now, by run and name of the pod.

        Of programs that still run, or have ended well, nothing is lost.
        """
        spent = dict(self._spent)
        for key, session in self._sessions.items():
            self._add(spent, key, session, now, session.done(now))
        return spent

    def _stop(self, key: tuple[str, int], at: float) -> None:
        session = self._sessions.pop(key)
        saved = self._saved[key] = session.work.saved(session.done(at))
        self._add(self._spent, key, session, at, saved)
        for pod in session.programs:
            if not pod.is_told:
                pod.ends_at = None

    def _add(
        self, spending: _Spending, key: tuple[str, int], session: _Session, at: float, saved: float
    ) -> None:
        """Add the time that pods with chips spent until `at`, when `saved` of their progress was saved."""
        run, number = key
        for name, pod in self._pods[run].items():
            belongs = session.gangs.number(pod) == number and pod.start.attempt == session.attempt
            if not belongs or not pod.start.chips or pod.until(session.began) < session.began:
                continue
            begin, end = pod.start.at, min(at, pod.until(at))
            first, last = session.done(begin), session.done(end)
            kept = max(first, min(saved, last)) - first
            before = spending.get((run, name), Spent())
            spending[run, name] = Spent(
                before.kept + kept,
                before.lost + last - first - kept,
                before.startup + session.started(end) - session.started(begin),
            )
