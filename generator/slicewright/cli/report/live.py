"""What a rehearsal does at this moment: redrawn on a terminal, a line for each change elsewhere."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from slicewright.rehearse.model.time_span import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.cli.report.picture import Redrawn
    from slicewright.rehearse.event_log import Clock, EventLog
    from slicewright.rehearse.scenario import Scenario


def is_redrawn(stream: IO[str], environ: Mapping[str, str]) -> bool:
    """Tell whether a stream is a terminal that draws over itself, which somebody looks at."""
    return stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("CI")


def live_view(
    scenario: Scenario, stream: IO[str], environ: Mapping[str, str], *, name: str
) -> Lines | Redrawn:
    """Return the live view of a rehearsal; one with a `name` runs in parallel and is not redrawn."""
    if name or not is_redrawn(stream, environ):
        return Lines(scenario.site.cluster.name + (f" ({name})" if name else ""), stream)
    from slicewright.cli.report.picture import Redrawn  # noqa: PLC0415 - 35 ms

    return Redrawn(scenario, stream)


class Lines:
    """Writes a line for each change of a run."""

    def __init__(self, title: str, stream: IO[str]) -> None:
        self._title = title
        self._stream = stream
        self._states: dict[str, str] = {}

    def say(self, text: str) -> None:
        """Show the present step of the preparation."""
        self._stream.write(f"{self._title}: {text}\n")
        self._stream.flush()

    def show(self, event_log: EventLog, _clock: Clock) -> None:
        """Write what runs do now that they did not do before."""
        with event_log.reading() as timelines:
            rows = [(timelines.since(run), run, timelines.state_of(run)) for run in timelines.of]
        for since, run, state in sorted(rows):  # what is seen late did not happen late
            if self._states.get(run, "notSubmitted") != state:
                self._states[run] = state
                self.say(f"{shown(since)} {run} {state}")

    def close(self) -> None:
        """Leave the lines as they are."""
