"""The play: submit what is to be submitted when its time has come, and let things go wrong."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from slicewright.rehearsal.model.event import NOT_IN_TREE
from slicewright.rehearsal.model.scenario_part import run_key
from slicewright.rehearsal.model.surroundings import held_back
from slicewright.testbed.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slicewright.core.kubernetes.types import Object
    from slicewright.rehearsal.cluster_setup import ClusterSetup
    from slicewright.rehearsal.event_log import EventLog
    from slicewright.rehearsal.faults.injector import Injector
    from slicewright.rehearsal.gang import Programs
    from slicewright.rehearsal.model.scenario_part import ScenarioPart
    from slicewright.rehearsal.model.surroundings import Need
    from slicewright.rehearsal.timers import Clock, Timers


_LOOK_SECONDS = 0.2


class Runner:
    """One rehearsal, played once."""

    def __init__(
        self,
        setup: ClusterSetup,
        event_log: EventLog,
        clock: Clock,
        parts: Iterable[ScenarioPart],
        timers: Timers,
        faults: Injector,
        missing: Mapping[str, tuple[Need, ...]],
    ) -> None:
        self._setup = setup
        self._event_log = event_log
        self._clock = clock
        self._parts = tuple(parts)
        self._timers = timers
        self._faults = faults
        self._missing = missing
        """What runs need and nobody has."""

    def run(
        self, programs: Programs, is_over: Callable[[], bool], show: Callable[[], object] = lambda: None
    ) -> None:
        """Play until it is over. `show` is called whenever something has changed."""
        for part in self._parts:
            self._timers.at(part.submit_at, partial(self._submit, part))
        while not is_over():
            self._event_log.wait(self._timers.pause(_LOOK_SECONDS))
            programs.begin()
            self._faults.schedule()
            self._timers.do_what_is_due()
            show()

    def _submit(self, part: ScenarioPart) -> None:
        """Submit the runs of a part; what is refused is noted, with the API server's words."""
        try:
            for item in sorted(part.others, key=lambda item: item["kind"] != "PersistentVolume"):
                self._setup.create(item)
        except ApiError as error:
            for item in part.runs:
                self._event_log.note("submitted", run_key(item))
                self._refused(item, error)
            return
        for item in part.runs:
            # Said before it is done: the controllers are faster than the answer to us.
            run = run_key(item)
            self._event_log.note("submitted", run)
            missing = self._missing.get(run, ())
            if missing:
                told = "; ".join(need.told() for need in missing)
                self._event_log.note("warned", run, reason=NOT_IN_TREE, text=told)
            try:
                self._setup.create(held_back(item, missing))
            except ApiError as error:
                self._refused(item, error)

    def _refused(self, item: Object, error: ApiError) -> None:
        self._event_log.note("refused", run_key(item), reason=error.reason, text=error.message)
