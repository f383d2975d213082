"""A deadline that is too early for what it should see the end of."""

import pytest
from msgspec.structs import replace

from slicewright.rehearse.model.clock import too_early
from slicewright.rehearse.model.scenario_part import ScenarioPart

from .kit import jobset, part_of, replicated_job

HEADLESS = jobset(
    "a", replicated_job("pathways-head", chips=0, pods=1), replicated_job("worker"), successPolicy={}
)


@pytest.mark.parametrize(
    ("part", "is_told"),
    [
        (part_of("duration: 8h"), True),
        (part_of("duration: 30m"), False),
        (part_of("{duration: 20m, submitAt: 11m}"), True),
        (part_of("{duration: 20m, submitAt: 10m}"), False),
        (part_of("{duration: 29m, startupSeconds: 61}"), True),
        (part_of("{duration: 8h, expect: [{finishes: false}]}"), False),
        (part_of("{duration: 8h}", HEADLESS), False),
        (part_of("{duration: 8h, expect: [{finishes: true}]}", HEADLESS), True),
        (replace(part_of("duration: 8h"), profile="week"), True),
    ],
)
def test_run_that_should_finish_and_cannot(part: ScenarioPart, is_told: bool) -> None:
    """By its submission, its startup and its duration alone; what need not finish has time."""
    assert is_told == (too_early([part], 1800.0) is not None)


def test_latest_end_is_told() -> None:
    """One problem, at the cause, however many runs have it."""
    late = replace(part_of("duration: 9h"), profile="week")

    assert (
        "'default/a' cannot finish before --deadline 30m00s: it is submitted at 5m00s and runs for 8h00m",
        "set a --deadline of more than 8h05m, or a shorter --duration",
    ) == too_early([part_of("duration: 1h", name="b"), part_of("{duration: 8h, submitAt: 5m}")], 1800.0)
    message, _ = too_early([late], 1800.0) or ("", "")
    assert message.startswith("an arrival of profile 'week' cannot finish before --deadline 30m00s: ")
    assert too_early([], 1.0) is None
