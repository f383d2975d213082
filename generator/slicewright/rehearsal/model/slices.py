"""The pods of runs -> their slices: where each ran, who was beside it, and whether its hosts ran together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slicewright.rehearsal.model.event import SUCCEEDED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from slicewright.rehearsal.model.event import Event


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
    is_torn: bool = False
    """Whether one of its pods began only when another had done its work, with none lost before."""
    is_late: bool = False
    """The same of all pods of the run that do the same work: whether it began after another slice's end."""
    waited_for: tuple[str, ...] = ()
    """The runs whose pods had the nodes of such pods until they had done their work, with no other free."""
    waited_certainly: bool = False
    """Whether the scheduler found no place for such a pod while the other was there."""
    late_at: float | None = None
    """When the first of such pods began."""


@dataclass(slots=True)
class Pod:
    """A pod from its start on."""

    start: Event
    end: Event | None = None
    refused: float | None = None
    """When the scheduler last found no place for it."""

    @property
    def key(self) -> tuple[int, str, str]:
        """Return what the pods of one slice have in common: they are of the same Job."""
        return self.start.attempt, self.start.job, self.start.job_uid

    @property
    def peers(self) -> tuple[int, str, str]:
        """Return what the pods have in common that work at one thing: all slices of a replicated job."""
        part = self.start.job.partition("/")[0]
        return self.start.attempt, part, "" if part else self.start.job_uid

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
Rooms = dict[str, tuple[str, int]]
"""Of each node pool its pool, and how many nodes it has."""


class Losses:
    """Node pools of which a fault took nodes, and until when."""

    def __init__(self) -> None:
        self._lost: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def add(self, event: Event) -> None:
        """Take in that a pool grew or shrank; one that shrinks because it is idle can come again."""
        spans = self._lost[event.node_pool]
        if event.kind == "poolShrank" and event.reason:
            spans.append((event.at, float("inf")))
        elif event.kind == "poolGrew":
            spans[:] = [(start, min(end, event.at)) for start, end in spans]

    def has(self, node_pool: str, at: float) -> bool:
        """Tell whether a node pool lacked nodes at a moment."""
        return any(start <= at < end for start, end in self._lost.get(node_pool, ()))


class _Nodes:
    """Who was on which node, and when."""

    def __init__(self, pods: Pods, rooms: Rooms, losses: Losses) -> None:
        self._rooms = rooms
        self._losses = losses
        self._on_node: dict[str, list[tuple[str, Pod]]] = defaultdict(list)
        self._on_pool: dict[str, list[tuple[str, Pod]]] = defaultdict(list)
        self._pools: dict[str, list[str]] = defaultdict(list)
        for node_pool, (pool, _) in rooms.items():
            self._pools[pool].append(node_pool)
        for run, found in pods.items():
            for pod in found.values():
                if pod.start.chips:
                    self._on_node[pod.start.node].append((run, pod))
                    self._on_pool[pod.start.node_pool].append((run, pod))

    def waited(self, run: str, late: Iterable[Pod], need: int, at: float) -> tuple[tuple[str, ...], bool]:
        """Return the runs that had done their work where late pods began, and whether it is a wait for sure.

        `need` is how many pods do one work, `at` when the first of them had done it: with room for all of
        them then, the controllers were slow. It is a wait for sure where there are too few nodes for the run
        at all, and where the scheduler found no place for the pod while the other was there. A node that
        nobody had before came later, and one whose pod was lost came back: no wait without an end.
        """
        runs: set[str] = set()
        is_certain = False
        for pod in late:
            earlier = [
                (other.end.at, whose, other)
                for whose, other in self._on_node[pod.start.node]
                if other is not pod and other.end is not None and other.end.at <= pod.start.at
            ]
            ended, whose, last = max(earlier, key=lambda one: one[0], default=(0.0, "", pod))
            alike = self._alike(pod.start.node_pool, at)
            count = sum(self._rooms[one][1] for one in alike)
            taken = sum(len(self._others(run, one, at)) for one in alike)
            if last.has_succeeded and last is not pod and count - taken < need:
                runs.add(whose)
                is_certain |= 0 < count < need
                is_certain |= pod.refused is not None and last.start.at <= pod.refused <= ended
        return tuple(sorted(runs)), is_certain

    def _alike(self, node_pool: str, at: float) -> list[str]:
        """Return the node pools of the same pool, but for those that a fault had taken nodes of.

        Those that come on demand count as well. Nothing where nothing is known.
        """
        pool, _ = self._rooms.get(node_pool, ("", 0))
        return [one for one in self._pools[pool] if not self._losses.has(one, at)]

    def _others(self, run: str, node_pool: str, at: float) -> set[str]:
        """Return the nodes of a node pool on which other runs were."""
        never = float("inf")
        return {
            pod.start.node
            for whose, pod in self._on_pool[node_pool]
            if whose != run and pod.start.at <= at <= pod.until(never)
        }


@dataclass(frozen=True, slots=True)
class _Piece:
    run: str
    slice: Slice
    whole: float
    """Until when it was whole: when the first of its pods has ended, another slice may take its place."""
    late: tuple[Pod, ...] = ()
    """Its pods that began only when another of the run had done its work."""
    need: int = 0
    """How many pods do that work together."""
    done: float = 0.0
    """When the first of them had done it."""


def slices(
    pods: Pods,
    evictions: Mapping[str, Collection[float]],
    now: float,
    rooms: Rooms,
    losses: Losses,
) -> dict[str, list[Slice]]:
    """Return the slices of each run; `evictions` says when Kueue took the quota of a run back.

    `rooms` and `losses` tell which nodes there were.
    """
    nodes = _Nodes(pods, rooms, losses)
    pieces = {
        run: [
            _with_waits(piece, nodes) for piece in _pieces(run, found.values(), evictions.get(run, ()), now)
        ]
        for run, found in pods.items()
    }
    on_pool: dict[str, list[_Piece]] = {}
    for piece in (piece for found in pieces.values() for piece in found):
        for pool in piece.slice.node_pools:
            on_pool.setdefault(pool, []).append(piece)
    return {run: [_with_neighbours(piece, on_pool) for piece in found] for run, found in pieces.items()}


def kept_apart(run: str, pods: Pods) -> bool:
    """Tell whether a host of a run had to wait for another run until one of its own slice was through."""
    own_slices: dict[tuple[int, str, str], list[Pod]] = {}
    for pod in pods[run].values():
        if pod.start.chips:
            own_slices.setdefault(pod.key, []).append(pod)
    return any(
        other.start.chips
        and other.start.node_pool == pod.start.node_pool
        and any(_overlap(before, other) for before in own if before.has_succeeded)
        for own in own_slices.values()
        for pod in _late(own)
        for name, others in pods.items()
        if name != run
        for other in others.values()
    )


def _overlap(one: Pod, other: Pod) -> bool:
    never = float("inf")
    return one.start.at < other.until(never) and other.start.at < one.until(never)


def _pieces(run: str, pods: Iterable[Pod], evictions: Collection[float], now: float) -> Iterator[_Piece]:
    """Yield the slices that some pods made.

    Pods of one Job that start when all before them were lost, as after an eviction, are another slice.
    """
    jobs: dict[tuple[int, str, str], list[list[Pod]]] = {}
    works: dict[tuple[int, int, str, str], list[Pod]] = {}
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
        works.setdefault((turn, *pod.peers), []).append(pod)
    late = {id(pod) for group in works.values() for pod in _late(group)}
    work_of = {id(pod): group for group in works.values() for pod in group}
    for (attempt, job, _), groups in sorted(jobs.items()):
        for group in groups:
            made = Slice(
                job=job,
                attempt=attempt,
                start=group[0].start.at,
                end=max(pod.until(now) for pod in group),
                node_pools=tuple(sorted({pod.start.node_pool for pod in group})),
                pods=len(group),
                exclusive=True,
                is_torn=bool(_late(group)),
                is_late=any(id(pod) in late for pod in group),
            )
            torn = {id(pod) for pod in _late(group)}
            work = work_of[id(group[0])]
            yield _Piece(
                run=run,
                slice=made,
                whole=min(pod.until(now) for pod in group),
                late=tuple(pod for pod in group if id(pod) in late | torn),
                need=sum(pod.is_there for pod in work),
                done=min((pod.until(now) for pod in work if pod.has_succeeded), default=now),
            )


def _all_lost(pods: Iterable[Pod], at: float) -> bool:
    return all(pod.end is not None and not pod.is_there and pod.end.at <= at for pod in pods)


def _late(pods: list[Pod]) -> list[Pod]:
    """Return the pods that began only when one of them had done its work.

    One in place of another that was lost is none of them: that one may have been there in time.
    """
    never = float("inf")
    done = min((pod.until(never) for pod in pods if pod.has_succeeded), default=never)
    lost = min((pod.until(never) for pod in pods if not pod.is_there), default=never)
    return [pod for pod in pods if done <= pod.start.at < lost]


def _with_waits(piece: _Piece, nodes: _Nodes) -> _Piece:
    if not piece.late:
        return piece
    waited_for, is_certain = nodes.waited(piece.run, piece.late, piece.need, piece.done)
    first = min(pod.start.at for pod in piece.late)
    made = replace(piece.slice, waited_for=waited_for, late_at=first, waited_certainly=is_certain)
    return replace(piece, slice=made)


def _with_neighbours(piece: _Piece, on_pool: Mapping[str, list[_Piece]]) -> Slice:
    beside = {
        other.run
        for pool in piece.slice.node_pools
        for other in on_pool[pool]
        if other is not piece and other.slice.start < piece.whole and piece.slice.start < other.whole
    }
    return replace(piece.slice, exclusive=not beside, shared_with=tuple(sorted(beside)))
