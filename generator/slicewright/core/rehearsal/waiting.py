"""Pods that began late -> for whom they waited: who had their nodes, and whether there were no others."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.core.rehearsal.event import Event
    from slicewright.core.rehearsal.slices import Pod, Pods

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


class Nodes:
    """Who was on which node, and when."""

    def __init__(self, pods: Pods, rooms: Mapping[str, tuple[str, int]], losses: Losses) -> None:
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
