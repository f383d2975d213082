"""The progress of programs. A run that stops loses its progress since the last checkpoint."""

from collections.abc import Mapping

from msgspec import Struct

from slicewright.rehearse.model.gang import Gangs
from slicewright.rehearse.model.slices import Pod, Pods


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
    """The progress of the runs whose pods are given, while these grow."""

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
