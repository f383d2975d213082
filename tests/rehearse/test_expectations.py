"""Expectations of a workload against timelines."""

from typing import Any

import pytest
from tests.words import places

from slicewright.rehearse.model.clock import clock_settings
from slicewright.rehearse.model.expectation import answers
from slicewright.rehearse.model.run_pods import Slice
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rehearse.model.verdict import judge, too_fast

from .kit import part_of, ran
from .test_verdict import A, B, C, expecting, said


@pytest.mark.parametrize(
    ("expected", "is_broken"),
    [
        ("order: [a, b]", False),
        ("order: [default/b, a]", True),
        ("order: [a, same]", True),
        ("order: [a, x]", True),
        ("order: [a, waits]", True),
        ("together: [same]", False),
        ("together: [b]", True),
        ("together: [x]", True),
        ("notBefore: {workload: early}", False),
        ("notBefore: {workload: early, state: Running}", False),
        ("notBefore: {workload: x}", True),
        ("notBefore: {workload: b, state: Admitted}", True),
        ("notBefore: {workload: b, state: Running}", True),
        ("notBefore: {workload: waits}", True),
        ("waitBelow: 2s", False),
        ("waitBelow: 1s", True),
        ("finishes: true", False),
        ("finishes: false", True),
    ],
)
def test_expectation(expected: str, is_broken: bool) -> None:
    """Each kind of expectation, kept and broken; a broken one is reported at its line."""
    others = [ran(B, (5, 9)), ran("default/same", (1, 3)), ran("default/early", (0.2, 0.5))]
    never = ran("default/waits", (1, 2))
    never.started = never.ended = None
    never.slices = [Slice("slice/0", 0, 1, 2, ("np-0",), 2, exclusive=True)]
    found = said(expecting(expected), ran(A, (1, 4)), *others, never)

    assert [f"{_value(expected)}REH004"] * is_broken == found


def _value(expected: str, line: int = 10) -> str:
    """Return the place of the value of an expectation."""
    return f"workloads/a.yaml:{line}:{len('    - ') + expected.index(' ') + 2}: "


def test_together_means_all_at_one_moment() -> None:
    """Two by two is not enough; a run that comes back counts with each of its times."""
    part = expecting("together: [b, c]")

    assert [f"{_value('together: ')}REH004"] == said(part, ran(A, (0, 10)), ran(B, (0, 4)), ran(C, (5, 9)))
    assert [] == said(part, ran(A, (0, 10)), ran(B, (0, 4), (6, 8)), ran(C, (5, 9)))


def test_run_that_never_starts_keeps_no_promise_about_its_start() -> None:
    """Whether it would have started before the other nobody can tell."""
    part = expecting("notBefore: {workload: b}", "waitBelow: 5s", "finishes: false")

    assert said(part, Timeline(A, outcome="waiting", submitted=0.0), ran(B, (1, 2))) == [
        f"{_value('notBefore: ')}warning: REH020",
        f"{_value('waitBelow: ', 11)}REH004",
    ]


@pytest.mark.parametrize(
    ("expected", "speed", "is_too_fine"),
    [
        ("waitBelow: 10m", 60.0, False),
        ("waitBelow: 10m", 600.0, False),
        ("waitBelow: 10m", 1440.0, True),
        ("waitBelow: 5m", 400.0, True),
        ("order: [early, a]", 399.0, False),
        ("order: [early, a, late]", 401.0, True),
        ("together: [late]", 99.0, False),
        ("together: [late]", 101.0, True),
        ("notBefore: {workload: early}", 200.0, False),
        ("notBefore: {workload: early}", 600.0, True),
        ("notBefore: {workload: late, state: Admitted}", 400.0, False),
    ],
)
def test_expectation_that_is_finer_than_the_time_resolution_never_passes(
    expected: str, speed: float, is_too_fine: bool
) -> None:
    """A second of the controllers' own time counts as many; who waited for another started late enough."""
    others = [ran("default/early", (100, 110)), ran("default/late", (900, 1500))]
    others[1].admitted = 490.0
    found = said(expecting(expected), ran(A, (500, 1000)), *others, speed=speed)

    assert [f"{_value(expected)}warning: REH020"] * is_too_fine == found


@pytest.mark.parametrize(
    ("speed", "is_too_fast"), [(100_000.0, True), (91.0, True), (90.0, False), (None, False)]
)
def test_speed_at_which_no_time_is_measured(speed: float | None, is_too_fast: bool) -> None:
    """A warning at the longest program says that nobody can trust the times."""
    parts = [part_of(name="b"), part_of("duration: 80s\nstartupSeconds: 10")]
    found = list(too_fast(parts, clock_settings(parts, speed=speed)))

    assert ["workloads/a.yaml:9:15: warning: REH020"] * is_too_fast == [*places(found)]


def test_wait_far_above_a_fine_limit_is_broken_at_every_speed() -> None:
    """The controllers do not take that long."""
    found = said(expecting("waitBelow: 10s"), ran(A, (500, 1000)), speed=60.0)

    assert [f"{_value('waitBelow: ')}REH004"] == found


@pytest.mark.parametrize(
    ("expected", "facts"),
    [
        ("waitBelow: 10s", {"is_queued": False}),
        ("finishes: false", {"outcome": "running"}),
        ("finishes: false", {"outcome": "notSubmitted"}),
        ("waitBelow: 0.5s", {"started": 0.2, "admitted": 0.2}),
        ("waitBelow: 2s", {}),
    ],
)
def test_expectation_that_cannot_be_told_says_why_and_what_to_do(
    expected: str, facts: dict[str, Any]
) -> None:
    """It is a warning: nothing speaks against the run."""
    timeline = ran(A, (1, 2))
    for name, value in facts.items():
        setattr(timeline, name, value)
    speed = 4.0 if expected == "waitBelow: 2s" else 1.0

    assert [f"{_value(expected)}warning: REH020"] == said(expecting(expected), timeline, speed=speed)


def test_expectations_of_what_was_cut_short_are_undecided() -> None:
    """Nobody is told of them."""
    part = expecting("waitBelow: 1s", "finishes: true")
    told = answers(part, {}, {A: Timeline(A, outcome="waiting")}, cut_short=True, speed=1.0)

    assert ["undecided", "undecided"] == [answer.result for answer in told]
    assert ["failed"] == [
        answer.result
        for answer in answers(
            expecting("finishes: true"), {}, {A: Timeline(A, outcome="waiting")}, cut_short=False, speed=1.0
        )
    ]


def test_expectations_are_about_the_current_run() -> None:
    """One that is not live has nothing to keep, and earlier runs that are kept are judged on their own."""
    part = expecting("waitBelow: 0s")
    (old,) = part_of(name="old").runs
    kept = part_of("expect: [{waitBelow: 0s}]", old)

    assert [] == [problem.id for problem in judge([part], {}, {}, cut_short=False)]
    assert ["REH001"] == [
        problem.id for problem in judge([kept], {"default/old": Timeline("default/old")}, {}, cut_short=False)
    ]


@pytest.mark.parametrize(
    ("expected", "speed"),
    [
        ("order: [b, a]", 60.0),
        ("notBefore: {workload: b}", 60.0),
        ("together: [b]", 60.0),
        ("together: [b]", 1.0),
        ("waitBelow: 1s", 1.0),
        ("order: [b, a]", 3.0),
        ("order: [b, a]", None),
        ("notBefore: {workload: b, state: Running}", 3.0),
        ("notBefore: {workload: c}", 60.0),
        ("finishes: false", 60.0),
    ],
)
def test_gap_that_may_be_the_controllers_own_time_is_told(expected: str, speed: float | None) -> None:
    """At a high speed a second in which they think is a minute of the rehearsal: the first three say so."""
    part = expecting(expected)
    timelines = {A: ran(A, (5, 10)), B: ran(B, (25, 26)), C: ran(C, (1, 2))}
    timelines[C].ended = None
    parts = [part, part_of(name="b"), part_of(name="c")]

    assert [f"{_value(expected)}REH004"] == [
        *places(judge(parts, timelines, {}, cut_short=False, speed=speed))
    ]
