"""Expectations of a workload against timelines."""

from __future__ import annotations

from typing import Any

import pytest

from slicewright.rehearsal.model.expectation import answers
from slicewright.rehearsal.model.slices import Slice
from slicewright.rehearsal.model.timeline import Timeline
from slicewright.rehearsal.model.verdict import judge

from .kit import part_of, ran
from .test_verdict import A, B, C, expecting, said

EARLY = "it started at 1.0s, before"
NOT_THERE = "workload 'x' is not part of this rehearsal"


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("order: [a, b]", ""),
        (
            "order: [default/b, a]",
            "'a' should start after 'default/b': it started at 1.0s, the other at 5.0s",
        ),
        ("order: [a, same]", "'same' should start after 'a': it started at 1.0s, the other at 1.0s"),
        ("order: [a, x]", NOT_THERE),
        ("order: [a, waits]", "'waits' did not start"),
        ("together: [same]", ""),
        ("together: [b]", "'a' and 'b' never ran at the same time"),
        ("together: [x]", NOT_THERE),
        ("notBefore: {workload: early}", ""),
        ("notBefore: {workload: early, state: Running}", ""),
        ("notBefore: {workload: x}", NOT_THERE),
        ("notBefore: {workload: b, state: Admitted}", f"{EARLY} 'b' was admitted: that was so at 5.0s"),
        ("notBefore: {workload: b, state: Running}", f"{EARLY} 'b' was running: that was so at 5.0s"),
        ("notBefore: {workload: waits}", f"{EARLY} 'waits' was finished: that never was"),
        ("waitBelow: 2s", ""),
        ("waitBelow: 1s", "it waited 1.0s for its admission, and should wait less than 1s"),
        ("finishes: true", ""),
        ("finishes: false", "it finished, and was expected not to"),
    ],
)
def test_expectation(expected: str, message: str) -> None:
    """Each kind of expectation, kept and broken; a broken one is placed where it stands."""
    others = [ran(B, (5, 9)), ran("default/same", (1, 3)), ran("default/early", (0.2, 0.5))]
    never = ran("default/waits", (1, 2))
    never.started = never.ended = None
    never.slices = [Slice("slice/0", 0, 1, 2, ("np-0",), 2, exclusive=True)]
    found = said(expecting(expected), ran(A, (1, 4)), *others, never)

    assert found == ([f"workloads/a.yaml:10: REH004 {message}"] if message else [])


def test_together_means_all_at_one_moment() -> None:
    """Two by two is not enough; a run that comes back counts with each of its times."""
    part = expecting("together: [b, c]")
    message = "workloads/a.yaml:10: REH004 'a' and 'c' never ran at the same time"

    assert [message] == said(part, ran(A, (0, 10)), ran(B, (0, 4)), ran(C, (5, 9)))
    assert [] == said(part, ran(A, (0, 10)), ran(B, (0, 4), (6, 8)), ran(C, (5, 9)))


def test_run_that_never_starts_keeps_no_promise_about_its_start() -> None:
    """Whether it would have started before the other nobody can tell."""
    part = expecting("notBefore: {workload: b}", "waitBelow: 5s", "finishes: false")

    assert said(part, Timeline(A, outcome="waiting", submitted=0.0), ran(B, (1, 2))) == [
        "workloads/a.yaml:10: REH020 cannot tell whether 'notBefore' holds: default/a never started",
        "workloads/a.yaml:11: REH004 it was never admitted, and should be within 5s",
    ]


UNTOLD = "workloads/a.yaml:10: REH020 cannot tell whether"


@pytest.mark.parametrize(
    ("expected", "speed", "message", "resolution"),
    [
        ("waitBelow: 10m", 60.0, "", ""),
        ("waitBelow: 10m", 600.0, "", ""),
        (
            "waitBelow: 10m",
            1440.0,
            "'waitBelow' holds: it waited 8m20s, and should wait less than 10m",
            "24m00s",
        ),
        ("waitBelow: 5m", 400.0, "'waitBelow' holds: it waited 8m20s, and should wait less than 5m", "6m40s"),
        ("order: [early, a]", 399.0, "", ""),
        ("order: [early, a, late]", 401.0, "'order' holds: 'a' started 6m40s after 'early'", "6m41s"),
        ("together: [late]", 99.0, "", ""),
        ("together: [late]", 101.0, "'together' holds: they ran at the same time for 1m40s", "1m41s"),
        ("notBefore: {workload: early}", 200.0, "", ""),
        (
            "notBefore: {workload: early}",
            600.0,
            "'notBefore' holds: it started 6m30s after 'early' was finished",
            "10m00s",
        ),
        ("notBefore: {workload: late, state: Admitted}", 400.0, "", ""),
    ],
)
def test_expectation_that_is_finer_than_the_time_resolution_never_passes(
    expected: str, speed: float, message: str, resolution: str
) -> None:
    """A second of the controllers' own time counts as many; who waited for another started late enough."""
    others = [ran("default/early", (100, 110)), ran("default/late", (900, 1500))]
    others[1].admitted = 490.0
    found = said(expecting(expected), ran(A, (500, 1000)), *others, speed=speed)

    told = f"{UNTOLD} {message}: the time resolution of this rehearsal is {resolution}"
    assert found == ([told] if message else [])


def test_wait_far_above_a_fine_limit_is_broken_at_every_speed() -> None:
    """The controllers do not take that long."""
    (told,) = said(expecting("waitBelow: 10s"), ran(A, (500, 1000)), speed=60.0)

    assert "REH004 it waited 8m20s" in told


@pytest.mark.parametrize(
    ("expected", "facts", "why", "hint"),
    [
        (
            "waitBelow: 10s",
            {"is_queued": False},
            "it has no queue, so it does not wait for an admission",
            "give the workload a queueName, or leave the expectation out",
        ),
        (
            "finishes: false",
            {"outcome": "running"},
            "it was still running when the rehearsal ended",
            "play longer with --deadline",
        ),
        (
            "finishes: false",
            {"outcome": "notSubmitted"},
            "it had not been submitted when the rehearsal ended",
            "play longer with --deadline",
        ),
        (
            "waitBelow: 0.5s",
            {"started": 0.2, "admitted": 0.2},
            "it waited 0.2s, and should wait less than 0.5s: the time resolution of this rehearsal is 1.0s",
            "no rehearsal tells less than a second: change the times, or leave the expectation out",
        ),
        (
            "waitBelow: 2s",
            {},
            "it waited 1.0s, and should wait less than 2s: the time resolution of this rehearsal is 4.0s",
            "play slower: --speed 1",
        ),
    ],
)
def test_expectation_that_cannot_be_told_says_why_and_what_to_do(
    expected: str, facts: dict[str, Any], why: str, hint: str
) -> None:
    """It is a warning: nothing speaks against the run."""
    timeline = ran(A, (1, 2))
    for name, value in facts.items():
        setattr(timeline, name, value)
    speed = 4.0 if expected == "waitBelow: 2s" else 1.0
    (problem,) = judge([expecting(expected)], {A: timeline}, {}, cut_short=False, speed=speed)

    assert (problem.severity, problem.hint) == ("warning", hint)
    assert problem.message.endswith(f"holds: {why}")


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
    ("expected", "speed", "more"),
    [
        (
            "order: [b, a]",
            60.0,
            "; or play slower, because the controllers' own time is not scaled: --speed 15",
        ),
        (
            "notBefore: {workload: b}",
            60.0,
            "; or play slower, because the controllers' own time is not scaled: --speed 15",
        ),
        (
            "together: [b]",
            60.0,
            "; or play slower, because the controllers' own time is not scaled: --speed 15",
        ),
        ("together: [b]", 1.0, ""),
        ("waitBelow: 1s", 1.0, ""),
        ("order: [b, a]", 3.0, ""),
        ("order: [b, a]", None, ""),
        ("notBefore: {workload: b, state: Running}", 3.0, ""),
        ("notBefore: {workload: c}", 60.0, ""),
        ("finishes: false", 60.0, ""),
    ],
)
def test_gap_that_may_be_the_controllers_own_time_is_told(
    expected: str, speed: float | None, more: str
) -> None:
    """At a high speed a second in which they think is a minute of the rehearsal."""
    part = expecting(expected)
    timelines = {A: ran(A, (5, 10)), B: ran(B, (25, 26)), C: ran(C, (1, 2))}
    timelines[C].ended = None
    parts = [part, part_of(name="b"), part_of(name="c")]
    (problem,) = judge(parts, timelines, {}, cut_short=False, speed=speed)

    assert (
        f"the timeline shows what happened instead; change the workload, the queues or the expectation{more}"
        == (problem.hint)
    )
