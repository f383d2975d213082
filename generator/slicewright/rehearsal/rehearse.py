"""A rehearsal from beginning to end: what is to be played -> what happened."""

from __future__ import annotations

import os
import secrets
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.problem import Problem
from slicewright.core.rehearsal import usage
from slicewright.core.rehearsal.offline import never_fits
from slicewright.core.rehearsal.report import Report
from slicewright.core.rehearsal.script import is_queued, run_key, tpu_pods
from slicewright.core.rehearsal.verdict import judge
from slicewright.rehearsal.autoscaler import Autoscaler
from slicewright.rehearsal.capacity import capacity
from slicewright.rehearsal.clock import Clock
from slicewright.rehearsal.journal import Journal
from slicewright.rehearsal.play import Play
from slicewright.rehearsal.stage import Stage
from slicewright.rehearsal.watch import Watch
from slicewright.testbed import kubeconfig, pathways
from slicewright.testbed.trouble import BedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slicewright.core.rehearsal.script import Part
    from slicewright.core.rehearsal.story import Story
    from slicewright.rehearsal.scene import Scene
    from slicewright.testbed.bed import Bed

Object = dict[str, Any]

_PLAYED_SECONDS = 10.0
"""How long the longest workload plays, of our seconds, where nobody says a speed."""
_MOST_SECONDS = 600.0
"""The deadline, of our seconds, where nobody says one."""
_SEEN_SECONDS = 3.0
"""How long the end of a program may take to be seen."""
_TOO_LONG = "BED003"


@dataclass(frozen=True, slots=True)
class Tempo:
    """How time passes. Spans are in seconds of the rehearsal's clock."""

    speed: float
    deadline: float
    delay: float
    """How long flex-start nodes take to come."""
    idle: float
    """How long they stay without work."""


def tempo(
    parts: Iterable[Part],
    *,
    speed: float | None = None,
    deadline: float | None = None,
    delay: float | None = None,
    idle: float | None = None,
) -> Tempo:
    """Return how time passes, with what is not given chosen: the longest workload plays some seconds."""
    longest = max((part.duration for part in parts), default=0.0)
    chosen = speed or max(1.0, longest / _PLAYED_SECONDS)
    return Tempo(
        speed=chosen,
        deadline=deadline if deadline is not None else _MOST_SECONDS * chosen,
        delay=delay if delay is not None else 2 * chosen,
        idle=idle if idle is not None else 3 * chosen,
    )


def rehearse(
    bed: Bed,
    scene: Scene,
    time: Tempo,
    *,
    clean: bool = False,
    progress: Callable[[str], object] = lambda _: None,
    show: Callable[[Journal, Clock], object] = lambda *_: None,
) -> Report:
    """Play a scene on a bed that stands, and return what happened.

    An interruption by the user ends the play, and the report tells what happened until then. With `clean`
    all that was made is removed from the cluster. Raises BedError where the stage cannot be set.
    """
    mark = secrets.token_hex(4)
    runs = [item for part in scene.parts for item in part.runs]
    pods = {run: count for part in scene.parts for run, count in tpu_pods(part).items()}
    clock = Clock(time.speed)
    journal = Journal(clock, pods, {run_key(item) for item in runs if is_queued(item)})
    room = capacity(scene.site)
    interrupted = False
    broken: Problem | None = None
    with ExitStack() as stack:
        stage = stack.enter_context(Stage(bed, mark, clean=clean, progress=progress))
        namespaces = sorted({part.workload.namespace for part in scene.parts})
        stage.set_up(room, scene.platform, namespaces)
        stack.enter_context(Watch(kubeconfig.read(bed.kubeconfig), journal))
        grower = stack.enter_context(
            Autoscaler(bed.api, journal, clock, room.growing, mark, delay=time.delay, idle=time.idle)
        )
        play = Play(
            stage,
            journal,
            clock,
            scene.parts,
            mark,
            deadline=time.deadline,
            idle=time.idle,
            check=bed.held.check,
        )
        clock.start()
        try:
            play.run(grower, lambda: show(journal, clock))
        except KeyboardInterrupt:
            interrupted = True
        except BedError as error:
            broken = error.problem
        except OSError as error:
            broken = _lost(bed, error)
        end = clock.now()
    stories = journal.stories.close(end)
    fits = never_fits(runs, scene.platform, scene.catalogue)
    problems = judge(scene.parts, stories, fits, cut_short=interrupted)
    return Report(
        cluster=scene.site.cluster.name,
        speed=time.speed,
        seconds=end,
        interrupted=interrupted,
        operator=pathways.name(os.environ) if any(item["kind"] == "PathwaysJob" for item in runs) else "",
        stories=tuple(_in_order(scene.parts, stories)),
        queues=usage.by_queue(journal.events, usage.quotas(scene.platform)),
        pools=usage.by_pool(journal.events, room.chips(), room.pools(), room.chips_at_start()),
        events=tuple(journal.events),
        problems=(broken, *problems) if broken else problems,
        never_fits=fits,
    )


def _lost(bed: Bed, error: OSError) -> Problem:
    """Return why the API server does not answer any more: the program that ended, where it is one of ours."""
    try:
        bed.until("the end of a program to be seen", lambda: None, seconds=_SEEN_SECONDS)
    except BedError as found:
        if found.problem.id != _TOO_LONG:
            return found.problem
    return Problem("REH009", f"the cluster does not answer any more: {error}", "is it still up?")


def _in_order(parts: Iterable[Part], stories: dict[str, Story]) -> Iterator[tuple[str, Story]]:
    found = [(part.key, stories[run_key(item)]) for part in parts for item in part.runs]
    last = float("inf")
    return iter(sorted(found, key=lambda entry: last if entry[1].submitted is None else entry[1].submitted))
