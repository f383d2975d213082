"""How fast time passes where nobody says it."""

import math
from typing import Any

import pytest
from msgspec.structs import replace

from slicewright.rehearse.model.clock import FASTEST, ClockSettings, clock_settings, factor

from .kit import part_of


@pytest.mark.parametrize(
    ("rehearsal", "delay", "speed"),
    [
        ("", None, 1.5),
        ("duration: 0s", None, 1.0),
        ("duration: 5s", None, 1.0),
        ("duration: 2h", None, 180.0),
        ("submitAt: 5d", None, 7200.0),
        ("{duration: 60s, submitAt: 60s}", None, 1.5),
        ("faults: [{kind: HostFailure, at: 1h, duration: 1h}]", None, 120.0),
        ("faults: [{kind: HostFailure, at: 1h}]", None, 60.0),
        ("", 2 * 86_400.0, 2880.0),
        ("duration: 3650d", None, FASTEST),
    ],
)
def test_days_play_in_seconds(rehearsal: str, delay: float | None, speed: float) -> None:
    """The longest run takes forty seconds, and no waiting for one thing more than a minute."""
    assert speed == clock_settings([part_of(rehearsal)], delay=delay, skips=False).speed


@pytest.mark.parametrize(
    ("number", "times", "speed"), [(16, {}, 36.0), (17, {}, 180.0), (1, {"skips": False}, 180.0)]
)
def test_few_runs_play_slower_where_idle_time_is_skipped(
    number: int, times: dict[str, Any], speed: float
) -> None:
    """Five times."""
    parts = [part_of("duration: 2h", name=f"w{index}") for index in range(number)]

    assert speed == clock_settings(parts, **times).speed


def test_what_is_given_holds() -> None:
    """Also where it is nothing."""
    part = part_of("duration: 2h")

    assert ClockSettings(2.0, 30.0, 0.0, 0.0, 36.0) == clock_settings(
        [part], speed=2, deadline=30, delay=0, idle=0
    )
    assert ClockSettings(10.0, math.inf, 20.0, 30.0, 36.0) == clock_settings([part], speed=10)


def test_rehearsal_takes_ten_minutes_of_real_time_at_most() -> None:
    """Unless somebody says how long it may last on its own clock."""
    part = part_of("duration: 2h")

    assert 600.0 == clock_settings([part]).real_deadline
    assert 90.0 == clock_settings([part], speed=10, deadline=900).real_deadline


def test_time_passes_slower_where_slices_are_lost() -> None:
    """The controllers' time for a loss must be a small part of the time for which a slice exists."""
    part = part_of("duration: 40h")
    found = clock_settings([part], gap=10_800.0)

    assert (10.8, 1800.0) == (found.speed, found.real_deadline)
    assert 1.0 == clock_settings([part], gap=60.0).speed
    assert clock_settings([part], skips=False).speed == clock_settings([part], skips=False, gap=60.0).speed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "room", "speed"), [(1, 8, 1.5), (12, 8, 6.0), (60, 8, 30.0), (60, 160, 1.5), (600, 8, 60.0)]
)
def test_work_that_does_not_fit_at_once_plays_faster(number: int, room: int, speed: float) -> None:
    """All work takes two minutes at most, as long as the longest run still takes a second."""
    parts = [part_of("", name=f"w{index}") for index in range(number)]

    assert speed == clock_settings(parts, room=room, skips=False).speed


@pytest.mark.parametrize(
    ("speed", "expected"), [(10.0, "10x"), (10.6667, "10.7x"), (1.5, "1.5x"), (2160.0, "2,160x")]
)
def test_speed_is_told_with_one_decimal_at_most(speed: float, expected: str) -> None:
    """Nobody needs more."""
    assert expected == factor(speed)


def test_arrivals_do_not_make_time_pass_faster() -> None:
    """Their moments and ends are skipped to, so a slow clock costs nothing; each gets some real time."""
    coming = [
        replace(part_of(f"{{duration: {hours}h, submitAt: 5d}}", name=f"w{hours}"), profile="evening")
        for hours in (1, 3)
    ]

    assert 1.0 == clock_settings([part_of(), *coming], room=8).speed
    assert 630.0 == clock_settings([part_of(), *coming]).real_deadline
    assert 7200.0 == clock_settings([part_of(), *coming], skips=False).speed
