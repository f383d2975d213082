"""The play: submit what is to be submitted when its time has come, and let things go wrong."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from slicewright.core.rehearsal.script import run_key
from slicewright.core.rehearsal.simulate import simulated
from slicewright.testbed.api import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slicewright.core.rehearsal.script import Part
    from slicewright.rehearsal.agenda import Agenda
    from slicewright.rehearsal.clock import Clock
    from slicewright.rehearsal.faults import Faults
    from slicewright.rehearsal.journal import Journal
    from slicewright.rehearsal.program import Programs
    from slicewright.rehearsal.stage import Stage

Object = dict[str, Any]

_LOOK_SECONDS = 0.2


class Play:
    """One rehearsal, played once."""

    def __init__(
        self,
        stage: Stage,
        journal: Journal,
        clock: Clock,
        parts: Iterable[Part],
        agenda: Agenda,
        faults: Faults,
    ) -> None:
        self._stage = stage
        self._journal = journal
        self._clock = clock
        self._parts = tuple(parts)
        self._agenda = agenda
        self._faults = faults

    def run(
        self, programs: Programs, is_over: Callable[[], bool], show: Callable[[], object] = lambda: None
    ) -> None:
        """Play until it is over. `show` is called whenever something has changed."""
        for part in self._parts:
            self._agenda.at(part.submit_at, partial(self._submit, part))
        while not is_over():
            self._journal.wait(self._agenda.pause(_LOOK_SECONDS))
            programs.begin()
            self._faults.schedule()
            self._agenda.do_what_is_due()
            show()

    def _submit(self, part: Part) -> None:
        """Submit the runs of a part; what is refused is noted, with the API server's words."""
        for item in part.runs:
            # Said before it is done: the controllers are faster than the answer to us.
            self._journal.note("submitted", run_key(item))
        try:
            for item in part.others:
                self._stage.create(item)
        except ApiError as error:
            for item in part.runs:
                self._refused(item, error)
            return
        for item in part.runs:
            try:
                self._stage.create(simulated(item, self._clock.real(part.duration)))
            except ApiError as error:
                self._refused(item, error)

    def _refused(self, item: Object, error: ApiError) -> None:
        self._journal.note("refused", run_key(item), reason=error.reason, text=error.message)
