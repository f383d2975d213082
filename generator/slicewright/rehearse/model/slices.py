"""The slices of runs, from their pods: where each slice ran, and which runs shared its node pools."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

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
    """Yield the slices that some pods made.

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
