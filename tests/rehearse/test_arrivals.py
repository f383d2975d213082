"""A seed makes the same arrivals everywhere, at the rate, in the hours and of the durations of the file."""

import math
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

import pytest
from tests.words import places

from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.model.arrivals import (
    MOST,
    Arrival,
    Job,
    Profile,
    arrivals,
    drawn,
    lasting,
    profiles,
    validate_profiles,
)

from . import lindley

HOUR = 3600.0
DAY = 24 * HOUR


def source(text: str) -> Source:
    """Return a TPUCluster with profiles, which are a YAML list."""
    lines = text.strip().splitlines()
    written = "spec:\n  rehearsal:\n    arrivals:\n" + "".join(f"    {line}\n" for line in lines)
    (document,), problems = read_documents(written, "clusters/c1.yaml")
    assert not problems
    return Source(SourceFile("clusters/c1.yaml", written), document)


def profile(text: str) -> Profile:
    """Return the only profile of a text."""
    (found,) = profiles(source(text).data["spec"])
    return found


def wrong(text: str) -> list[Problem]:
    """Return the problems of profiles on a cluster with three workloads, two of which share a name."""
    known = {"train": ["a/train"], "a/train": ["a/train"], "eval": ["a/eval", "b/eval"]}
    return list(validate_profiles(source(text), known))


POISSON = "- {name: p, rate: 2/h, count: 3, mix: [{workload: a, weight: 3}, {workload: b, duration: 90s}]}"

EXPECTED = [(6153.416, "b", 90.0), (6200.189, "a", None), (8945.713, "a", None)]
DRAWN = 0.9672405758059582


def test_seed_gives_the_same_arrivals_on_every_machine() -> None:
    """The values are written out: no version of Python and no processor may change them."""
    assert EXPECTED == [(one.at, one.job.workload, one.duration) for one in arrivals(profile(POISSON))]
    assert DRAWN == drawn(1, "p", "gap", 1)


def test_repetition_has_the_seed_that_follows() -> None:
    """With --repeat the second repetition plays seed + 1, which is what a file with that seed plays."""
    following = POISSON.replace("name: p", "name: p, seed: 2")

    assert list(arrivals(profile(POISSON), 1)) == list(arrivals(profile(following)))
    assert list(arrivals(profile(POISSON))) != list(arrivals(profile(following)))


def test_variant_has_the_luck_of_its_base() -> None:
    """Half the rate: each arrival comes after twice the time, and is the same work."""
    base, half = (list(arrivals(profile(POISSON.replace("2/h", rate)))) for rate in ("2/h", "1/h"))

    assert [one.job for one in base] == [one.job for one in half]
    assert [pytest.approx(2 * one.at, abs=0.002) for one in base] == [one.at for one in half]


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "gap"), [("s", 1.0), ("m", 60.0), ("h", HOUR), ("d", DAY)])
def test_mean_rate_is_the_one_that_is_written(unit: str, gap: float) -> None:
    """Of ten thousand Poisson arrivals within 3 %; their spread is that of an exponential distribution."""
    written = f"- {{name: p, rate: 1/{unit}, count: {MOST}, mix: [{{workload: a}}]}}"
    gaps: list[float] = []
    for seed in range(10):
        moments = [one.at / gap for one in arrivals(profile(written), seed)]
        gaps += [after - before for before, after in zip([0.0, *moments], moments, strict=False)]

    assert 10 * MOST == len(gaps)
    assert pytest.approx(1.0, rel=0.03) == fmean(gaps)
    assert pytest.approx(math.log(2), rel=0.03) == median(gaps)


def test_mix_follows_the_weights() -> None:
    """Three of four are of the workload with weight 3, within 5 %."""
    written = POISSON.replace("count: 3", f"count: {MOST}")
    names = [one.job.workload for one in arrivals(profile(written))]

    assert pytest.approx(0.75, rel=0.05) == names.count("a") / MOST


def test_fixed_interval_begins_at_its_start_and_ends_before_its_end() -> None:
    """From 1 h to 3 h, every 40 minutes; nothing arrives at the end itself."""
    written = "- {name: f, interval: 40m, startAt: 1h, endAt: 3h, mix: [{workload: a}]}"
    job = Job("a")

    assert [Arrival("f", at * 60.0, job, None) for at in (60, 100, 140)] == list(arrivals(profile(written)))


@pytest.mark.parametrize(
    ("hours", "start", "expected"),
    [
        ("{from: 09:00, until: 11:00}", "0s", [9, 10, 33, 34, 57]),
        ("{from: 09:00, until: 11:00, days: [Tuesday]}", "0s", [33, 34, 201, 202, 369]),
        ("{from: 22:00, until: 01:00, days: [Monday]}", "0s", [22, 23, 24, 190, 191]),
        ("{from: 23:00, until: 02:00, days: [Sunday]}", "0s", [0, 1, 167, 168, 169]),
        ("{from: 09:00, until: 11:00}", "570m", [9.5, 10.5, 33.5, 34.5, 57.5]),
        ("{days: [Wednesday]}", "0s", [48, 49, 50, 51, 52]),
        ("{until: 02:00}", "0s", [0, 1, 24, 25, 48]),
    ],
)
def test_working_hours_are_a_daily_window(hours: str, start: str, expected: list[float]) -> None:
    """An interval of 1 h counts time within it. Moment 0 is Monday, 00:00; a night belongs to its evening."""
    within = f"startAt: {start}, workingHours: {hours}"
    written = f"- {{name: f, interval: 1h, count: 5, {within}, mix: [{{workload: a}}]}}"

    assert expected == [one.at / HOUR for one in arrivals(profile(written))]


def test_poisson_arrivals_keep_to_the_hours() -> None:
    """All of them are within the window, and the rate within it is that of the file."""
    hours = "{from: 08:00, until: 18:00, days: [Monday, Tuesday, Wednesday, Thursday, Friday]}"
    written = f"- {{name: p, rate: 2/h, endAt: 28d, workingHours: {hours}, mix: [{{workload: a}}]}}"
    moments = [one.at for one in arrivals(profile(written))]

    assert all(8 * HOUR <= at % DAY < 18 * HOUR and at // DAY % 7 < 5 for at in moments)
    assert pytest.approx(4 * 5 * 10 * 2, rel=0.1) == len(moments)


@pytest.mark.parametrize(
    ("duration", "shares"),
    [
        ("2h", {0.1: 7200.0, 0.9: 7200.0}),
        ({"uniform": {"min": "1h", "max": "3h"}}, {0.25: 5400.0, 0.5: 7200.0}),
        ({"exponential": {"mean": "1h"}}, {0.5: 3600 * math.log(2), 1 - 1 / math.e: 3600.0}),
        ({"lognormal": {"median": "1h", "p95": "8h"}}, {0.5: 3600.0, 0.95: 28_800.0, 0.05: 450.0}),
    ],
)
def test_durations_have_the_distribution_that_is_written(duration: Any, shares: dict[float, float]) -> None:
    """The share of all draws below a span is the one of its definition."""
    assert {share: pytest.approx(span) for share, span in shares.items()} == {
        share: lasting(duration, share) for share in shares
    }


def test_mean_of_drawn_durations_is_that_of_the_distribution() -> None:
    """Of ten thousand exponential ones, within 3 %."""
    job = "{workload: a, duration: {exponential: {mean: 1h}}}"
    written = profile(f"- {{name: p, interval: 1h, count: {MOST}, mix: [{job}]}}")
    durations = [one.duration or 0.0 for seed in range(10) for one in arrivals(written, seed)]

    assert pytest.approx(HOUR, rel=0.03) == fmean(durations)


def waits(load: float, servers: int, seeds: int) -> Sequence[float]:
    """Return the waits, in service times, of each of some seeds after its first hundred arrivals."""
    rate = Profile("p", 1, HOUR / (load * servers), is_poisson=True, mix=(Job("a"),), count=MOST)
    return [
        wait / HOUR
        for seed in range(seeds)
        for wait in lindley.waits((one.at for one in arrivals(rate, seed)), HOUR, servers)[100:]
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "servers", "known"), [(0.5, 1, 0.5), pytest.param(0.5, 2, 0.1767, marks=pytest.mark.ci)]
)
def test_waits_of_many_arrivals_are_those_of_queueing_theory(load: float, servers: int, known: float) -> None:
    """Pollaczek-Khinchine: load / (2 (1 - load)) service times for M/D/1; for M/D/2 Crommelin's value."""
    assert pytest.approx(known, rel=1e-3) == lindley.mean_wait(load, servers)
    assert pytest.approx(known, rel=0.02) == fmean(waits(load, servers, 60))


@pytest.mark.slow
def test_crommelin_is_pollaczek_and_khinchine_for_one_server() -> None:
    """The formula for k servers is the one of the textbooks where k is 1."""
    loads = (0.2, 0.5, 0.7)

    assert [pytest.approx(load / (2 * (1 - load))) for load in loads] == list(map(lindley.mean_wait, loads))


ONE = "- {name: p, rate: 1/h, count: 1, mix: [{workload: train, duration: {%s}}]}"
WRONG = {
    "- {name: p, rate: 1/h, count: 1, mix: [{workload: trian}]}": ["4:55: REH023"],
    "- {name: p, rate: 1/h, count: 1, mix: [{workload: eval}]}": ["4:55: REH023"],
    "- {name: p, rate: 0/h, count: 1, mix: [{workload: train}]}": ["4:23: REH023"],
    "- {name: p, rate: 1/h, count: 1, mix: [{workload: train, weight: 0}]}": ["4:43: REH023"],
    "- {name: p, rate: 1/s, endAt: 1h, mix: [{workload: train}]}": ["4:7: REH023"],
    "- {name: p, interval: 3000d, count: 3, mix: [{workload: train}]}": ["4:7: REH023"],
    "- {name: p, interval: 1h, startAt: 2h, endAt: 1h, mix: [{workload: train}]}": ["4:7: warning: REH023"],
    ONE % "uniform: {min: 2h, max: 1h}": ["4:88: REH023"],
    ONE % "lognormal: {median: 0s, p95: 1h}": ["4:93: REH023"],
    ONE % "exponential: {mean: 0s}": [],
    f"{POISSON}\n- {{name: p, interval: 0s, count: 9, mix: [{{workload: a/train}}]}}": [
        "4:55: REH023",
        "4:81: REH023",
        "5:14: REH023",
    ],
}


@pytest.mark.parametrize("at", range(len(WRONG)))
def test_wrong_profile_is_a_problem_at_its_place(at: int) -> None:
    """Before anything is played, with what to write instead."""
    text, expected = list(WRONG.items())[at]

    assert [f"clusters/c1.yaml:{place}" for place in expected] == places(wrong(text))


def test_working_hours_that_come_too_seldom_end() -> None:
    """A window of a minute a week, and an interval of a day: the arrivals within ten years are found."""
    hours = "{from: 09:00, until: 09:01, days: [Monday]}"
    written = f"- {{name: f, interval: 1d, count: 5, workingHours: {hours}, mix: [{{workload: a}}]}}"

    assert [9.0] == [one.at / HOUR for one in arrivals(profile(written))]


def test_cluster_without_profiles_has_none() -> None:
    """`rehearsal` may be missing, or say nothing of arrivals."""
    assert ((), ()) == (profiles({}), profiles({"rehearsal": {}}))
