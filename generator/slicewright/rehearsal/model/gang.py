"""Runs whose hosts or slices never ran together: on GKE they would never start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.rehearsal.model.scenario_part import in_waves, run_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.core.problem import Problem
    from slicewright.rehearsal.model.fault import Injected
    from slicewright.rehearsal.model.scenario_part import ScenarioPart
    from slicewright.rehearsal.model.slices import Slice
    from slicewright.rehearsal.model.timeline import Timeline

LONG_SECONDS = 8.0
"""A program that plays so long is not over because the controllers were slow to make its other pods."""


class Waits:
    """Which runs wait for which, as far as a rehearsal showed it.

    Simulated programs do not wait for each other, so a host of a run may begin on a node where another host
    has done its work. In truth nobody would have done it before all are there.
    """

    def __init__(self, timelines: Mapping[str, Timeline], injected: Iterable[Injected]) -> None:
        self._away = [
            (one.run, one.at, one.at + one.fault.duration)
            for one in injected
            if one.at is not None
            and not one.missed
            and one.fault.duration is not None
            and one.fault.kind.takes_nodes
        ]
        waits = {
            timeline.run: {run for piece in timeline.slices for run in self._of(timeline, piece)}
            for timeline in timelines.values()
        }
        doomed = {run for run, others in waits.items() if others}
        while ending := {run for run in doomed if not waits[run] & doomed}:
            doomed -= ending  # it waits for what ends by itself, and then runs
        self._doomed = doomed

    def is_doomed(self, timeline: Timeline, piece: Slice) -> bool:
        """Tell whether a part of a slice, or of its run, waits for what waits forever itself."""
        return bool(self._of(timeline, piece) & self._doomed)

    def _of(self, timeline: Timeline, piece: Slice) -> set[str]:
        """Return for whom a slice waited, unless a fault had taken nodes that it gave back."""
        runs = {timeline.run, *piece.waited_for}
        if piece.late_at is None or any(
            run in runs and start <= piece.late_at <= end for run, start, end in self._away
        ):
            return set()
        return set(piece.waited_for)


def not_together(
    part: ScenarioPart, timeline: Timeline, waits: Waits, speed: float | None
) -> Iterator[Problem]:
    """Tell of the first slice whose hosts never ran together, or that never ran beside the others.

    At a high speed a program may be over before the scheduler has tried its other pods. Then it is a warning:
    a wait cannot be told from slowness.
    """
    if any(in_waves(item) for item in part.runs if run_key(item) == timeline.run):
        return
    is_long = speed is not None and part.duration >= LONG_SECONDS * speed
    for piece in timeline.slices:
        others = [run for run in piece.shared_with if run != timeline.run]
        pools = ", ".join(piece.node_pools)
        slice_ = f"slice {piece.job or timeline.run} of {timeline.run}"
        is_certain = True
        if piece.is_torn and others:
            message = f"the hosts of {slice_} never ran together: {', '.join(others)} held one on {pools}"
            hint = (
                "on GKE they never start; keep such runs off each other's node pools: see "
                "slicewright rule TPU119"
            )
        elif waits.is_doomed(timeline, piece):
            what = "the hosts of" if piece.is_torn else "the slices of the run and"
            message = f"{what} {slice_} never ran together: one part started after another had finished"
            hint = "on GKE they never start; check that there are nodes for all of them at once"
            is_certain = is_long or piece.waited_certainly
            if not is_certain:
                message += ", which may be the controllers' own time at this speed"
                hint = f"without enough nodes they never start on GKE; to find out, {slower(part)}"
        else:
            continue
        source = part.workload.source
        yield source.problem("REH011", ("metadata", "name"), message, hint, warning=not is_certain)
        return


def slower(part: ScenarioPart) -> str:
    """Return how to play a workload so that its program is not over before its pods have come."""
    if part.duration < LONG_SECONDS:
        return f"let it run longer: --duration {part.key}={LONG_SECONDS:.0f}s --speed 1"
    return f"play slower: --speed {int(part.duration / LONG_SECONDS)}"
