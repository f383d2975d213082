"""One rehearsal, with its own test bed or on another cluster; an interruption still gives a report."""

import datetime as dt
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from slicewright.cluster.api.api_error import AccessError
from slicewright.cluster.api.kubeconfig import read
from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.event_log import Clock, EventLog
from slicewright.rehearse.existing_cluster import NAME, Lease, admit
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.model.controller_timers import scaled
from slicewright.rehearse.rehearsal import Rehearsal, not_run
from slicewright.rehearse.report.report import Report
from slicewright.rehearse.scenario import Scenario
from slicewright.testbed.bed import Bed
from slicewright.testbed.bed_cluster import Attached, Cluster, kept_bed

USUAL_HANDLERS: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
"""The signals that interrupt, with the handlers of a process that does not ignore them."""


class Interruption:
    """Turns SIGINT, SIGTERM and SIGHUP in its `with` block into KeyboardInterrupt, unless ignored."""

    def __init__(self) -> None:
        self.signal = 0
        """The number of the first signal; 0 if none came."""
        self._is_held_back = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Install the handlers, in the main thread only."""
        if threading.current_thread() is threading.main_thread():
            for number, usual in USUAL_HANDLERS.items():
                if signal.getsignal(number) is usual:
                    self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the earlier handlers."""
        for number, before in self._before.items():
            signal.signal(number, before)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Only record signals that arrive meanwhile."""
        self._is_held_back = True
        try:
            yield
        finally:
            self._is_held_back = False

    def _take(self, number: int, _frame: object) -> None:
        self.signal = self.signal or number
        if not self._is_held_back:
            raise KeyboardInterrupt


class Elsewhere(Struct, frozen=True):
    """An existing cluster."""

    kubeconfig: Path
    context: str
    mark: bool


class Result(Struct, frozen=True):
    """The report of a rehearsal, and how it ended."""

    report: Report
    is_played: bool
    """Whether the rehearsal began; if not, the report holds no more than the reason."""
    logs: Path | None
    """Where the logs of the test bed are, if they were kept."""
    signal: int = 0
    """The number of the signal that interrupted it; 0 if none did."""
    began: str = ""
    """When it began, in UTC: `2026-01-31T12:00:00`."""


def run_scenario(
    scenario: Scenario,
    time: ClockSettings,
    elsewhere: Elsewhere | None = None,
    *,
    keep: bool = False,
    has_pods: bool = True,
    say: Callable[[str], object] = lambda _: None,
    show: Callable[[EventLog, Clock], object] = lambda *_: None,
) -> Result:
    """Run a scenario on a test bed of its own, or elsewhere.

    A Ctrl-C, SIGTERM or SIGHUP ends it with what has happened until then. The test bed is gone afterwards;
    with `keep` it stays, empty, for the next rehearsal that is to keep one with the same controllers.
    """
    began = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    bed: Bed | None = None
    rehearsal: Rehearsal | None = None
    cause: Problem | None = None
    with Interruption() as interruption:
        try:
            with ExitStack() as stack:
                lease = _take_lease(stack, elsewhere, say) if elsewhere else None
                bed = _bed(scenario, time.speed, elsewhere, say, keep, has_pods)
                try:
                    bed.start()
                    if keep:
                        lease = stack.enter_context(Lease(read(bed.kubeconfig), progress=say))
                    clean = lease is not None
                    rehearsal = Rehearsal(
                        bed,
                        scenario,
                        time,
                        clean=clean,
                        is_ours=keep,
                        has_pods=has_pods,
                        lease=lease,
                        progress=say,
                    )
                    rehearsal.run(show)
                finally:
                    with interruption.held_back():
                        if keep and lease and lease.is_clear:
                            bed.detach()
                            say(f"kept: 'slicewright cluster down --name {bed.name}' ends it")
                        bed.stop()
        except KeyboardInterrupt:
            interruption.signal = interruption.signal or signal.SIGINT  # another handler raised it
        except AccessError as error:
            cause = error.problem
        # A Ctrl-C may have come before `try` was there to stop it, or while it was on its way out.
        with interruption.held_back():
            if bed is not None:
                bed.stop()
            report = rehearsal.report() if rehearsal else not_run(scenario, time, cause)
    report = replace(report, interrupted=report.interrupted or bool(interruption.signal))
    return Result(report, rehearsal is not None, bed.logs if bed else None, interruption.signal, began)


def _take_lease(stack: ExitStack, elsewhere: Elsewhere, say: Callable[[str], object]) -> Lease:
    access = read(elsewhere.kubeconfig, elsewhere.context)
    admit(access, mark=elsewhere.mark)
    return stack.enter_context(Lease(access, progress=say))


def _bed(
    scenario: Scenario,
    speed: float,
    elsewhere: Elsewhere | None,
    say: Callable[[str], object],
    keep: bool,
    has_pods: bool,
) -> Bed:
    if elsewhere is None:
        install = scenario.installation
        install = replace(install, settings=scaled(install.settings, speed))
        if keep:
            return kept_bed(install, scenario.catalogue.generations, has_pods=has_pods, progress=say)
        return Cluster(**install.options, has_pods=has_pods, progress=say)
    # Another KWOK may simulate other nodes there. Rehearsals share a value: one runs at a time, and the next
    # must simulate what is left of another until it is removed.
    return Attached(elsewhere.kubeconfig, context=elsewhere.context, simulates=NAME, progress=say)
