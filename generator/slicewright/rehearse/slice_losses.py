"""Takes slices away at random moments of the rehearsal's clock, and gives them back."""

from collections.abc import Collection, Iterator
from functools import partial

from slicewright.kubernetes.labels import JOB_INDEX
from slicewright.kubernetes.pods import maker
from slicewright.kubernetes.types import Object
from slicewright.rehearse.cluster_setup import ClusterSetup
from slicewright.rehearse.event_log import EventLog, Timers
from slicewright.rehearse.fault_kinds import FAULT_KINDS, bring_back, lose, nodes_of
from slicewright.rehearse.model.losses import Losses
from slicewright.rehearse.model.scenario_part import Fault
from slicewright.rehearse.model.scenario_problems import Injected
from slicewright.rehearse.time_control import PENDING
from slicewright.testbed.nodes import Capacity, NodePool

_KIND = FAULT_KINDS["SliceLoss"]


class SliceLosses:
    """The random losses of one rehearsal."""

    def __init__(
        self,
        setup: ClusterSetup,
        event_log: EventLog,
        timers: Timers,
        room: Capacity,
        losses: Collection[Losses],
    ) -> None:
        self._setup = setup
        self._event_log = event_log
        self._timers = timers
        self._losses = losses
        self._lost: dict[str, list[tuple[float, float]]] = {entry.pool: [] for entry in losses}
        """When slices of each pool were lost, and when they return."""
        self.away: set[str] = set()
        """The node pools that are away now."""
        self.hits: list[Injected] = []
        """The losses of slices on which a run had pods."""
        for entry in losses:
            slices = (pool for pool in room.fixed + room.growing if pool.pool == entry.pool)
            for index, node_pool in enumerate(slices):
                self._go_on(self._life(node_pool, entry.of_slice(index)))

    def hold(self, *, is_busy: bool) -> None:
        """Let slices be lost only while this can change what happens: else the rehearsal would never end.

        That is while a program runs that will end, while something else is to happen (`is_busy`), and while a
        slice is away and a run waits for nodes, or was evicted.
        """
        with self._event_log.reading() as timelines:
            runs = timelines.of.values()
            is_waiting = any(run.state in PENDING or (run.state and run.evictions) for run in runs)
            is_needed = timelines.is_at_work or (is_waiting and bool(self.away))
        self._timers.is_held = not (is_needed or is_busy or self._timers.has_foreground)

    def record(self, end: float) -> tuple[Object, ...]:
        """Return the losses of each pool in their JSON form."""
        return tuple(
            {
                "pool": entry.pool,
                "rate": entry.rate,
                "seed": entry.seed,
                "losses": len(self._lost[entry.pool]),
                "awaySeconds": round(sum(min(back, end) - at for at, back in self._lost[entry.pool]), 2),
            }
            for entry in self._losses
        )

    def _go_on(self, life: Iterator[float]) -> None:
        """Do the next step in the life of a slice at the moment that it names."""
        self._timers.at(next(life), partial(self._go_on, life), is_background=True)

    def _life(self, node_pool: NodePool, moments: Iterator[tuple[float, float]]) -> Iterator[float]:
        """Yield when a slice is lost and when it returns; do it when the caller requests the next moment."""
        for at, back in moments:
            yield at
            self.away.add(node_pool.name)
            nodes = nodes_of(self._setup, node_pool.name)
            if nodes:
                self._lost[node_pool.pool].append((at, back))
            hit: dict[str, Fault] = {}
            for pod in lose(self._setup, self._event_log, nodes, _KIND.name):
                metadata = pod["metadata"]
                number = int(metadata["labels"].get(JOB_INDEX, 0))
                hit[f"{metadata['namespace']}/{maker(pod)[1]}"] = Fault(_KIND, at, back - at, {}, number)
            for run, fault in hit.items():
                self._event_log.note(
                    "fault", run, reason=_KIND.name, text=f"{node_pool.name} is lost at random"
                )
                self.hits.append(Injected(run, fault, at))
            yield back
            self.away.remove(node_pool.name)
            bring_back(self._setup, self._event_log, nodes, _KIND.name)
