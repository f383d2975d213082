"""Runs that cannot finish before the deadline that the user gives."""

from collections.abc import Iterable

from slicewright.rehearse.model.gang import ends_by_itself
from slicewright.rehearse.model.scenario_part import ScenarioPart
from slicewright.rehearse.model.time_span import shown


def too_early(parts: Iterable[ScenarioPart], deadline: float) -> tuple[str, str] | None:
    """Return message and hint where runs that should finish take longer than a deadline, whatever happens."""
    part = max(filter(_should_finish, parts), key=_end, default=None)
    if part is None or _end(part) <= deadline:
        return None
    what = f"an arrival of profile '{part.profile}'" if part.profile else f"'{part.key}'"
    takes = f"it is submitted at {shown(part.submit_at)} and runs for {shown(part.startup + part.duration)}"
    message = f"{what} cannot finish before --deadline {shown(deadline)}: {takes}"
    return message, f"set a --deadline of more than {shown(_end(part))}, or a shorter --duration"


def _should_finish(part: ScenarioPart) -> bool:
    return any(map(ends_by_itself, part.runs)) if part.finishes is None else part.finishes


def _end(part: ScenarioPart) -> float:
    return part.submit_at + part.startup + part.duration
