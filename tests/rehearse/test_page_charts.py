"""The pictures of a rehearsal's page."""

import re
from typing import Any

import pytest
from tests.e2e_html.records import eventful, large

from slicewright.cli.report.rehearsal_output import render_page
from slicewright.kubernetes.types import Object
from slicewright.rehearse.report.charts import (
    MARKS,
    OUTCOMES,
    STATES,
    above,
    axis,
    chart,
    described,
    icon,
    label,
    legend,
    number,
    occurring,
    percent,
    thinned,
    ticks,
    timeline,
)


def _run(name: str) -> tuple[Object, list[Object]]:
    record = eventful()
    (run,) = [run for run in record["workloads"] if run["run"] == name]
    return run, [event for event in record["events"] if event.get("run") == name]


def _usage(**fields: Any) -> Object:
    usage = {"name": "queue", "limitChips": 8, "peakChips": 12, "borrowedChips": 4, "utilisation": 0.5}
    return {**usage, "used": [[0.0, 0], [10.0, 12], [30.0, 4]], "there": [], **fields}


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (100, "100"), (12.5, "12.5"), (1 / 3, "0.33"), (-0.5, "-0.5"), (-0.001, "0")],
)
def test_numbers_have_two_decimals_at_most(value: float, text: str) -> None:
    """Numbers are written short, and zero has no sign."""
    assert text == number(value)


@pytest.mark.parametrize(("part", "text"), [(-1, "0%"), (0, "0%"), (5, "50%"), (10, "100%"), (11, "100%")])
def test_a_part_of_a_whole_stays_inside_its_picture(part: float, text: str) -> None:
    """What lies outside is drawn at the edge."""
    assert text == percent(part, 10)


@pytest.mark.parametrize(
    ("end", "labels"),
    [
        (0.01, ["0"]),
        (5, ["0", "1s", "2s", "3s", "4s", "5s"]),
        (60, ["0", "10s", "20s", "30s", "40s", "50s", "1m"]),
        (236, ["0", "1m", "2m", "3m"]),
        (36_000, ["0", "2h", "4h", "6h", "8h", "10h"]),
        (86_400 * 20, ["0", "4d", "8d", "12d", "16d", "20d"]),
    ],
)
def test_the_axis_has_few_round_moments(end: float, labels: list[str]) -> None:
    """Seven labels at most, at moments that people would name, whether it took seconds or weeks."""
    assert labels == [label(at) for at in ticks(end)]


def test_labels_at_the_edges_stay_inside() -> None:
    """The first label begins at the left edge, one at the right edge ends there."""
    assert ["start", "middle", "middle", "middle", "middle", "middle", "end"] == re.findall(
        r'text-anchor="(\w+)"', axis(60.0)
    )


@pytest.mark.parametrize(("at", "text"), [(0, "0"), (0.5, "0.5s"), (2, "2s"), (90, "1m30s"), (5400, "1h30m")])
def test_a_label_is_as_short_as_it_can_be(at: float, text: str) -> None:
    """Zeros that say nothing are left out."""
    assert text == label(at)


def test_every_state_and_mark_has_a_form_of_its_own_and_words() -> None:
    """States differ in their pattern and marks in their shape, so that nobody needs to tell colours apart."""
    drawn, told = render_page([]), legend({*STATES, *MARKS})
    patterns = {
        name: re.findall(rf'id="p-{name}".*?</pattern>', drawn) for name in STATES if name != "running"
    }
    shapes = {name: re.findall(rf'<[^>]*id="m-{name}".*?/>', drawn) for name in MARKS}

    assert [1, 1, 1, 1] == [len(found) for found in patterns.values()]
    assert [1] * len(MARKS) == [len(found) for found in shapes.values()]
    assert len(shapes) == len({re.sub('id="[^"]*"', "", found[0]) for found in shapes.values()})
    assert [] == [text for text in (*STATES, *STATES.values(), *MARKS.values()) if text not in told]
    assert [] == [name for name in OUTCOMES if f'id="i-{name}"' not in drawn or name not in icon(name)]


def test_legend_has_what_is_drawn() -> None:
    """Six lines of patterns that nobody sees push the timeline down."""
    run, events = _run("prod/nightly")

    assert {"queued", "starting", "running", "restarting", "failed", "fault", "restarted"} == occurring(
        [run], events
    )
    assert {"evicted"} == occurring([run | {"evictions": [{}]}]) - occurring([run])
    assert ["running", "finished"] == re.findall(r'class="(?:mark )?(\w+)"', legend({"running", "finished"}))[
        1:
    ]


def test_a_run_is_drawn_state_by_state() -> None:
    """Each state is an area from its start to its end, with its words for those who cannot see it."""
    run, events = _run("research/base-model")
    drawn = timeline(run, events, 2040.0, "k")

    assert ["queued", "starting", "running", "queued", "starting", "running"] == re.findall(
        r'<rect class="(\w+)"', drawn
    )
    assert '<rect class="running" x="3.01%" y="13" width="17.57%"' in drawn
    assert "<title>running from 1m02s to 7m00s, 5m58s</title>" in drawn
    assert 'role="img" aria-labelledby="kt" aria-describedby="kd"' in drawn
    assert "evicted at 7m00s: Preempted" in drawn
    assert ["evicted", "finished"] == re.findall(r'class="mark (\w+)"', drawn)


def test_faults_and_restarts_are_marked_where_they_happened() -> None:
    """A fault stands below the bar, what the controllers did about it above."""
    run, events = _run("prod/nightly")
    drawn = timeline(run, events, 2040.0, "k")

    assert ["fault", "restarted", "fault", "failed"] == re.findall(r'class="mark (\w+)"', drawn)
    assert "<title>fault at 12m00s: HostFailure: nightly-slice-1-0-0</title>" in drawn
    assert "<title>restarted at 12m15s: attempt 1</title>" in drawn


def test_a_run_that_was_refused_or_never_submitted_has_a_row_too() -> None:
    """A refusal is marked at its moment; what did not happen leaves the row empty, in words as well."""
    refused = timeline(*_run("prod/bad-name"), 2040.0, "k")
    late = timeline(*_run("prod/late"), 2040.0, "k")

    assert ["refused"] == re.findall(r'class="mark (\w+)"', refused)
    assert ('<desc id="kd">it had no state</desc>', 0) == (
        re.findall("<desc.*?</desc>", late)[0],
        late.count("<rect"),
    )


def test_a_state_too_short_to_see_is_drawn_all_the_same() -> None:
    """A state has at least a five-hundredth of the width."""
    run, events = _run("prod/flex")
    run = {**run, "states": [{"state": "queued", "start": 0.0, "end": 0.0}]}

    assert 'x="0%" y="13" width="0.2%"' in timeline(run, events, 100.0, "k")


def test_chips_in_use_are_steps_below_their_limit() -> None:
    """The line goes level and then up or down, the limit is a line of its own, what is above it is marked."""
    picture = chart(_usage(), 40.0, "k")

    assert 'class="used" d="M0 92H250V10H750V64.67H1000"' in picture
    assert 'class="area" d="M0 92H250V10H750V64.67H1000V92H0Z"' in picture
    assert 'class="limit" x1="0" x2="100%" y1="37.33" y2="37.33"' in picture
    assert '<rect class="borrowed" x="25%" y="10" width="50%" height="27.33"/>' in picture
    assert ["8", "12", "0"] == re.findall(r">(\d+)</text>", picture)


def test_the_description_of_a_chart_says_what_it_shows() -> None:
    """Who cannot see the chart reads the same numbers."""
    growing = _usage(borrowedChips=0, peakChips=8, there=[[0.0, 0], [5.0, 16]])

    assert "50% of 8 chips in use on average, peak 12, borrowed up to 4" == described(_usage())
    assert (
        "50% of 8 chips in use on average, peak 8, nodes with 0 chips at the start and 16 at most"
        == described(growing)
    )
    assert 'class="there" d="M0 92H125V' in chart(growing, 40.0, "k")


def test_a_peak_that_has_no_room_beside_the_limit_is_left_out_of_the_scale() -> None:
    """Two numbers on the scale never lie over each other."""
    picture = chart(_usage(limitChips=100, peakChips=101), 40.0, "k")

    assert ["100", "0"] == re.findall(r">(\d+)</text>", picture)


def test_nothing_in_use_of_nothing_is_a_flat_line() -> None:
    """A queue without quota that nobody used is drawn without an error."""
    empty = _usage(limitChips=0, peakChips=0, borrowedChips=0, used=[[0.0, 0]])

    assert 'class="used" d="M0 92H1000"' in chart(empty, 0.01, "k")


def test_more_steps_than_a_screen_has_are_thinned_without_losing_a_peak() -> None:
    """Of steps too near to tell apart the highest, the lowest and the last remain."""
    near = [[0.0, 0], [500.0, 3], [500.1, 9], [500.2, 1], [500.3, 5], [700.0, 2]]

    assert [[0.0, 0], [500.0, 9], [500.0, 1], [500.0, 5], [700.0, 2]] == thinned(near, 1000.0)
    assert [[0.0, 0], [700.0, 2]] == thinned([[0.0, 0], [700.0, 2]], 1000.0)


def test_times_above_the_quota() -> None:
    """A step without length is none of them."""
    used = [[0.0, 12], [10.0, 8], [20.0, 9], [20.0, 10], [25.0, 0]]

    assert [(0.0, 10.0, 12), (20.0, 25.0, 10)] == above(used, 30.0, 8)


def test_a_row_has_marks_up_to_a_number() -> None:
    """A run that restarts forever does not make the page grow forever."""
    run = large(1, 40)["workloads"][0]
    again = [{"at": float(number), "kind": "restarted", "run": run["run"]} for number in range(500)]

    assert 60 == timeline(run, again, 1000.0, "k").count('class="mark')
