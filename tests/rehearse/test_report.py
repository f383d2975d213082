"""A rehearsal as a record and as text."""

import pytest
from msgspec.structs import replace

from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.expectation import Answer
from slicewright.rehearse.model.metrics import Arriving, Usage
from slicewright.rehearse.model.run_pods import Slice
from slicewright.rehearse.model.scenario_part import Ties
from slicewright.rehearse.model.scenario_problems import Injected
from slicewright.rehearse.model.surroundings import Need
from slicewright.rehearse.model.timeline import Eviction, Span, Timeline
from slicewright.rehearse.model.waits import Wait
from slicewright.rehearse.report.report import Report, sweep_heads
from slicewright.rehearse.report.terminal import drawn, text, width_in

from .kit import part_of, ran

EMPTY = Report("c1", 2.0, 0.0, False, "", (), (), (), (), (), {})  # noqa: FBT003


def played() -> Report:
    """Return a rehearsal in which one run came back after an eviction, and one never ran."""
    back = ran("default/a", (10, 30), (60, 100))
    back.restarts, back.evictions = 2, [Eviction(30, "Preempted", "for b")]
    back.spans.insert(1, Span("queued", 30, 60))
    back.slices = [Slice("slice/0", 0, 10, 30, ("np-0",), 2, exclusive=True)]
    never = Timeline("default/never", submitted=5.0, outcome="waiting", waits_for="no quota", is_queued=True)
    never.spans = [Span("queued", 5, 100)]
    return Report(
        cluster="c1",
        speed=10.0,
        seconds=100.0,
        interrupted=False,
        operator="simulated operator",
        timelines=(("default/a", back), ("default/never", never)),
        queues=(Usage("cq", 8, ((0.0, 0), (10.0, 8), (30.0, 0), (60.0, 16))),),
        pools=(Usage("tpus", 16, ((0.0, 0), (10.0, 8)), ((0.0, 0), (5.0, 16))),),
        events=(Event(5.0, "submitted", "default/never"),),
        problems=(Problem("REH001", "default/never was still waiting at the end"),),
        never_fits={"default/never": "FIT101 too many"},
    )


def test_verdict() -> None:
    """An interruption is not a verdict; without an error it is passed."""
    warned = replace(played(), problems=(Problem("REH001", "x", severity="warning"),))
    found = [played(), warned, replace(played(), interrupted=True)]

    assert [("failed", False), ("passed", True), ("interrupted", False)] == [
        (report.record()["verdict"], report.passed) for report in found
    ]


def test_record_of_a_run() -> None:
    """Times are rounded; what never was is null."""
    back, never = played().record()["workloads"]

    assert back == {
        "workload": "default/a",
        "run": "default/a",
        "outcome": "finished",
        "clusterQueue": "",
        "submitted": 0.0,
        "admitted": 10,
        "started": 10,
        "ended": 100,
        "wait": 10.0,
        "delay": None,
        "restarts": 2,
        "evictions": [{"at": 30, "reason": "Preempted", "message": "for b"}],
        "states": [
            {"state": "running", "start": 10, "end": 30},
            {"state": "queued", "start": 30, "end": 60},
            {"state": "running", "start": 60, "end": 100},
        ],
        "slices": [
            {
                "job": "slice/0",
                "attempt": 0,
                "start": 10,
                "end": 30,
                "nodePools": ["np-0"],
                "pods": 2,
                "exclusive": True,
            }
        ],
        "why": "",
        "quotaCheck": "",
        "waits": [],
        "sweep": "",
        "equal": "",
        "unordered": "",
        "profile": "",
        "team": "",
        "expectations": [],
    }
    assert (None, None, "Kueue: no quota", "FIT101 too many") == (
        never["admitted"],
        never["wait"],
        never["why"],
        never["quotaCheck"],
    )


def test_record_of_use_and_summary() -> None:
    """Queues and pools have the same form; the summary counts runs by their end."""
    record = played().record()

    assert record["queues"] == [
        {
            "name": "cq",
            "limitChips": 8,
            "peakChips": 16,
            "borrowedChips": 8,
            "utilisation": 1.0,
            "used": [[0.0, 0], [10.0, 8], [30.0, 0], [60.0, 16]],
            "there": [],
            "waiting": [],
            "borrowedTime": [],
        }
    ]
    assert [[0.0, 0], [5.0, 16]] == record["pools"][0]["there"]
    assert record["summary"] == {
        "runs": 2,
        "finished": 1,
        "failed": 0,
        "refused": 0,
        "waiting": 1,
        "running": 0,
        "notSubmitted": 0,
        "evictions": 1,
        "restarts": 2,
    }


def test_text_is_a_line_for_each_run_queue_and_pool() -> None:
    """States are drawn along the time, chips as the height of the line."""
    assert [line.rstrip() for line in text(played(), width=10).splitlines()] == [
        "c1: failed, 1 error; 1 finished, 1 waiting, 1 eviction, 2 restarts; simulated 1m40s in 10s at 10x",
        "time resolution: 10s, a second of the controllers' own time",
        "",
        "default/a       ██···████  finished at 1m40s, waited 10s, 2 restarts, Preempted at 30s",
        "default/never  ··········  never ran: Kueue: no quota",
        "               · queued   - reserved   ░ starting   █ running   ▒ restarting",
        "",
        "quota in use",
        "cq              ▄▄   ████  100% of 8 chips, peak 16, borrowed up to 8",
        "",
        "chips in use by pool",
        "tpus            ▄▄▄▄▄▄▄▄▄  45% of 16 chips, peak 8",
        "",
        "PathwaysJobs were reconciled by the simulated operator.",
    ]


def test_report_says_that_there_were_no_pods() -> None:
    """Who reads it must not think that a scheduler placed them."""
    told = "Rehearsed on the real JobSet and Kueue, without pods: only the chips of nodes were counted."
    without = replace(played(), has_pods=False)

    assert [False, True] == [told in text(report).splitlines() for report in (played(), without)]
    assert [True, False] == [report.record()["pods"] for report in (played(), without)]


def test_chips_that_runs_wait_for_are_drawn_by_flavor() -> None:
    """A row for each queue and its flavors where runs waited."""
    steps = {("v5e",): ((5.0, 32), (60.0, 0)), ("v5p", "v6e"): ()}
    waited = replace(played(), waiting={"cq": steps, "idle": {}}, nominal={"cq": {"v5e": 8}})
    lines = [line.rstrip() for line in text(waited, width=10).splitlines()]

    at = lines.index("chips that runs wait for")
    assert ["cq: v5e        ██████      up to 32 chips", ""] == lines[at + 1 : at + 3]


def test_borrowed_time_is_told_by_flavor() -> None:
    """12 of 8 chips from 25 s to the end at 100 s."""
    borrowing = Event(25.0, "reserved", "default/a", queue="cq", flavors=(("v5e", 12), ("v6e", 4)))
    late = Event(100.0, "submitted", "default/never")
    report = replace(played(), events=(borrowing, late), nominal={"cq": {"v5e": 8, "v6e": 4}})

    assert "peak 16, borrowed up to 8 (v5e 75% of the time)\n" in text(report)


def test_first_line_has_the_verdict() -> None:
    """Runs that all finished are not yet a rehearsal that passed: what speaks against it is counted."""
    error, warning = Problem("REH011", "x"), Problem("REH010", "x", severity="warning")
    found = [
        text(replace(EMPTY, problems=problems)).partition(";")[0]
        for problems in ((), (warning,), (error,), (error, warning, error))
    ]

    assert ["c1: passed", "c1: passed", "c1: failed, 1 error", "c1: failed, 2 errors"] == found


def test_drawings_begin_in_one_column() -> None:
    """What ran, what quota it had and which chips it had are compared by eye, whatever is longest."""
    named = replace(played(), queues=(replace(played().queues[0], name="a-queue-of-a-long-name"),))
    lines = [line.rstrip() for line in text(named, width=10).splitlines()]

    assert [
        "default/a                ██···████  finished at 1m40s, waited 10s, 2 restarts, Preempted at 30s",
        "a-queue-of-a-long-name   ▄▄   ████  100% of 8 chips, peak 16, borrowed up to 8",
        "tpus                     ▄▄▄▄▄▄▄▄▄  45% of 16 chips, peak 8",
    ] == [lines[index] for index in (3, 8, 11)]


def test_injected_faults_are_told_with_what_became_of_them() -> None:
    """So that nobody looks for the cause of a restart that was made on purpose."""
    faults = "[{kind: SliceLoss, at: 10s, duration: 5m}, {kind: SliceLoss, at: 1h}]"
    early, late = part_of(f"faults: {faults}").faults
    told = (Injected("default/a", early, 20.0), Injected("default/a", late, missed="it had ended before"))
    lines = text(replace(played(), faults=told)).splitlines()
    index = lines.index("injected faults")

    assert [
        "",
        "injected faults",
        "default/a      SliceLoss at 20s: slice 0, for 5m00s",
        "default/a      SliceLoss 1h00m after the start (slice 0) did not happen: it had ended before",
        "",
    ] == lines[index - 1 : index + 4]


@pytest.mark.parametrize(
    ("speed", "advised", "told"),
    [
        (1440.0, 360.0, "24m00s, a second of the controllers' own time; for finer times: --speed 360"),
        (360.0, 360.0, "6m00s, a second of the controllers' own time"),
        (100.0, 360.0, "1m40s, a second of the controllers' own time"),
        (2.0, 0.0, "2.0s, a second of the controllers' own time"),
    ],
)
def test_time_resolution_is_told(speed: float, advised: float, told: str) -> None:
    """And no other speed than the usual one is recommended, which is slower where a person asks for more."""
    report = replace(EMPTY, speed=speed, advised=advised)

    assert f"time resolution: {told}" == text(report).splitlines()[1]
    assert speed == report.record()["resolution"]
    assert "" == text(replace(report, speed=1.0)).splitlines()[1]


def test_stand_ins_are_named() -> None:
    """In words and in the record."""
    report = replace(EMPTY, stand_ins=(Need("ConfigMap", "team", "files"), Need("Secret", "team", "token")))

    assert "Stand-ins for what exists on the cluster: ConfigMap team/files, Secret team/token." in text(
        report
    )
    assert {"kind": "Secret", "namespace": "team", "name": "token"} == report.record()["standIns"][1]


def test_expectation_of_which_nobody_can_tell_is_never_passed() -> None:
    """The first line counts them, and the record has each with its reason."""
    told = (Answer("waitBelow", "cannotTell", "too fine"), Answer("finishes", "passed"))
    report = replace(EMPTY, timelines=(("default/a", ran("default/a", (1, 2))),), answers={"default/a": told})

    assert text(report).startswith("c1: passed, 1 expectation could not be judged; 1 finished;")
    assert report.record()["workloads"][0]["expectations"] == [
        {"kind": "waitBelow", "result": "cannotTell", "message": "too fine"},
        {"kind": "finishes", "result": "passed", "message": ""},
    ]


def test_run_that_lost_its_place_says_why() -> None:
    """It ran, and waits for another admission; of one that ran to its end nothing has to be explained."""
    timeline = ran("default/a", (10, 30))
    timeline.ended, timeline.outcome, timeline.waits_for = None, "waiting", "no quota"

    assert "waits again, waited 10s: Kueue: no quota" in text(
        replace(EMPTY, timelines=(("default/a", timeline),))
    )


@pytest.mark.parametrize(
    ("spans", "end", "expected"),
    [
        ([], 10.0, "    "),
        ([Span("queued", 0, 5), Span("running", 5, 10)], 10.0, "··██"),
        ([Span("queued", 0, 9.99), Span("running", 9.99, 10)], 10.0, "···█"),
        ([Span("running", 0, 0)], 0.0, "█   "),
    ],
)
def test_a_short_state_still_gets_a_character(spans: list[Span], end: float, expected: str) -> None:
    """What happened is seen, however short it was."""
    assert expected == drawn(spans, end, 4)


def test_interrupted_and_empty_rehearsals_have_a_text() -> None:
    """Nothing to draw is not an error."""
    assert "c1: interrupted; nothing to run; simulated 0.0s in 0.0s at 1x\n\n" == text(
        replace(EMPTY, interrupted=True, speed=1.0)
    )


@pytest.mark.parametrize(("columns", "width"), [(None, 48), (200, 48), (80, 30), (20, 12)])
def test_drawings_fit_the_terminal(columns: int | None, width: int) -> None:
    """So that a line is one line; in a file, and on a wide terminal, they are as wide as is usual."""
    assert width == width_in(played(), columns)


def test_drawings_of_nothing_fit() -> None:
    """A rehearsal that was interrupted at once has no runs."""
    assert 43 == width_in(EMPTY, 80)


def test_evictions_of_one_reason_are_one_fact() -> None:
    """A run that is pushed aside again and again has a line that can be read."""
    timeline = ran("default/a", (10, 30))
    timeline.evictions = [
        Eviction(at, reason, "for b")
        for at, reason in ((3, "Preempted"), (5, "PodsReadyTimeout"), (7, "Preempted"), (9, "Preempted"))
    ]

    assert "waited 10s, Preempted at 3.0s and 2 times more, PodsReadyTimeout at 5.0s\n" in text(
        replace(EMPTY, timelines=(("default/a", timeline),))
    )


def test_wait_below_the_time_resolution_is_left_out() -> None:
    """The controllers' own time looks like a wait where a rehearsal runs fast."""
    told = [text(replace(played(), speed=speed)).splitlines()[3] for speed in (10.0, 10.5)]

    assert [True, False] == ["waited 10s" in line for line in told]


def test_run_without_a_queue_tells_when_it_started() -> None:
    """It waits for no quota: what takes long is that its pods come."""
    started = Timeline(
        "default/a", submitted=5.0, admitted=5.0, started=1805.0, ended=1900.0, outcome="finished"
    )
    stuck = Timeline("default/b", submitted=5.0, admitted=5.0, outcome="waiting")
    report = replace(EMPTY, speed=1234.56, timelines=(("default/a", started), ("default/b", stuck)))
    head, _, _, first, second, *_ = text(report).splitlines()

    assert head.endswith("in 0.0s at 1,234.6x")
    assert first.endswith("  finished at 31m40s, started after 30m00s")
    assert second.endswith("  never ran")
    assert 80 - len("default/a") - len("    finished at 31m40s, started after 30m00s") == width_in(report, 80)


def test_hundred_runs_stand_below_each_other() -> None:
    """Names of any length, drawings of one width, facts in one column; the legend at the end."""
    timelines = [
        Timeline(f"team/{'long-' * (number % 7)}{number}", outcome="running") for number in range(100)
    ]
    for number, timeline in enumerate(timelines):
        timeline.submitted, timeline.admitted = float(number), float(number)
        timeline.spans = [Span("starting", number, number + 50)]
    lines = text(
        replace(EMPTY, speed=1.0, seconds=200.0, timelines=tuple((one.run, one) for one in timelines))
    ).splitlines()
    width = max(len(one.run) for one in timelines)

    assert 100 == sum("still ran" in line for line in lines[2:102])
    assert {width + 2 + 48 + 2} == {line.index("still ran") for line in lines[2:102]}
    assert lines[102].strip().startswith("· queued")


def test_sweep_has_a_line_before_its_runs() -> None:
    """It says how many finished, and how many were admitted at once at most."""
    runs = [ran(f"default/lr-{at}", (10 * at, 10 * at + 15)) for at in range(3)]
    never = Timeline("default/lr-never", submitted=5.0, outcome="waiting", is_queued=True)
    rows = tuple((one.run, one) for one in (*runs, never))
    report = replace(EMPTY, timelines=rows, sweeps={name: "default/lr" for name, _ in rows[1:]})

    head = "default/lr: 3 runs, 2 finished, at most 2 at once"
    lines = text(report).splitlines()

    assert {"default/lr-1": head} == sweep_heads(report.runs())
    first = next(at for at, line in enumerate(lines) if line.startswith("default/lr-1 "))
    assert lines.index(head) + 1 == first


def test_arrivals_are_told_by_profile() -> None:
    """A line for each profile and queue; their runs have rows in the record alone."""
    late = ran("default/w-1", (20, 30))
    late.is_queued = True
    never = Timeline("default/w-2", submitted=5.0, outcome="waiting", is_queued=True)
    alone = ran("default/x-3", (10, 30))
    arriving = (Arriving("evening", 7, "cq"), Arriving("evening", 7, ""), Arriving("night", 1, ""))
    report = replace(
        EMPTY,
        seconds=100.0,
        timelines=tuple((timeline.run, timeline) for timeline in (late, never, alone)),
        arriving=arriving,
        profile_of=dict.fromkeys((late.run, never.run, alone.run), "evening"),
        queue_of={late.run: "cq", never.run: "cq"},
    )
    waits = "median 20s, p95 never admitted, longest never admitted"

    assert [
        "arrivals",
        f"evening in cq: 2 runs, 1 finished, waits: {waits} (seed 7)",
        "evening, no queue: 1 run, 1 finished, waits: median 10s, p95 10s, longest 10s (seed 7)",
        "night, no queue: 0 runs, 0 finished (seed 1)",
    ] == text(report).splitlines()[4:]
    assert ["evening"] * 3 == [run["profile"] for run in report.record()["workloads"]]


def test_random_losses_are_told_by_pool_and_run() -> None:
    """The report says how many slices were lost and for how long, and the delay of each run."""
    row = {"pool": "tpus", "rate": "8/d", "seed": 2, "losses": 3, "awaySeconds": 7200.0}
    report = replace(played(), losses=(row,), takes={"default/a": 60.0})
    _, _, told = text(report).partition("random losses\n")

    assert [
        "tpus           3 slices lost at 8/d (seed 2), away for 2h00m in all",
        "default/a      took 30s longer than its programs run",
    ] == told.splitlines()[:2]
    assert ([row], [30.0, None]) == (
        report.record()["measures"]["losses"],
        [run["delay"] for run in report.record()["workloads"]],
    )


def test_equal_runs_that_waited_have_one_line() -> None:
    """With the sweep or the first of them, how many waited, and the longest of their waits."""
    timelines = tuple((f"default/{name}", ran(f"default/{name}", (60, 70))) for name in "abcd")
    report = replace(
        played(),
        timelines=timelines,
        sweeps={"default/a": "default/lr", "default/b": "default/lr"},
        ties={f"default/{name}": Ties(f"default/{name}" if name < "c" else "default/c") for name in "abcd"},
        waits={
            "default/a": (Wait(30.0, 60.0, "Pending", "no quota"),),
            "default/b": (Wait(0.0, 60.0, "NotTried"),),
            "default/d": (Wait(0.0, 50.0, "NotTried"),),
        },
    )

    lines = text(report).splitlines()

    at = lines.index("why runs waited")
    assert [
        "default/lr  2 of 2 runs, up to 1m00s from 0.0s: Kueue says Pending: no quota",
        "default/c  1 of 2 equal runs, up to 50s from 0.0s: Kueue wrote no reason",
    ] == lines[at + 1 : at + 3]


def test_why_a_run_waited_is_a_line_about_its_longest_wait() -> None:
    """Other waits are in the record and on the page; a run that did not wait has no line."""
    waits = {"default/a": (Wait(30.0, 60.0, "NotTried"), Wait(0.0, 10.0, "Pending", "no quota"))}
    report = replace(played(), waits=waits)

    lines = text(report).splitlines()

    at = lines.index("why runs waited")
    assert ["default/a      30s from 30s: Kueue wrote no reason", ""] == lines[at + 1 : at + 3]
    assert [2, 0] == [len(run["waits"]) for run in report.record()["workloads"]]
