"""Faults as people are told of them."""

from slicewright.rehearse.model.scenario_problems import Injected, all_faults, blame
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rehearse.model.verdict import judge

from .kit import A, part_of, ran

FAULTS = """
faults:
- {kind: ContainerFailure, at: 10s, slice: 1, host: 1, exitCode: 3}
- {kind: HostFailure, at: 20s, host: 1, duration: 5m}
- {kind: SliceLoss, at: 30s, slice: 1}
- {kind: HigherPriorityArrival, at: 40s, workloadPriorityClassName: urgent}
- {kind: HigherPriorityArrival, at: 50s, workloadPriorityClassName: urgent, slices: 2, duration: 2h}
"""


def test_each_fault_is_told_with_what_it_hits() -> None:
    """A host, a slice, or what comes; and for how long, where that has an end."""
    found = [Injected(A, fault, 100.0).describe() for fault in part_of(FAULTS).faults]

    assert [
        "ContainerFailure at 1m40s: slice 1, host 1, exit code 3",
        "HostFailure at 1m40s: slice 0, host 1, for 5m00s",
        "SliceLoss at 1m40s: slice 1",
        "HigherPriorityArrival at 1m40s: 1 slice of class urgent, for 1m00s",
        "HigherPriorityArrival at 1m40s: 2 slices of class urgent, for 2h00m",
    ] == found


def test_fault_that_did_not_happen_says_why() -> None:
    """With the moment at which it should have, or its own time where that did not come."""
    fault = part_of(FAULTS).faults[2]

    assert [
        "SliceLoss at 45s (slice 1) did not happen: no pod of slice 1 was running",
        "SliceLoss 30s after the start (slice 1) did not happen: it never ran",
    ] == [
        Injected(A, fault, 45.0, "no pod of slice 1 was running").describe(),
        Injected(A, fault, missed="it never ran").describe(),
    ]


def test_faults_whose_time_did_not_come_are_told_last() -> None:
    """With what became of the run until then; of a run that takes no part nothing is said."""
    fault = "faults: [{kind: SliceLoss, at: 9s}, {kind: SliceLoss, at: 5s}]"
    parts = [part_of(fault, name=name) for name in ("a", "b", "c", "d")]
    (late, early) = parts[0].faults
    struck = {(A, 0): Injected(A, late, 19.0), (A, 1): Injected(A, early, 15.0)}
    working = ran("default/c", (1, 2))
    working.outcome = "running"
    timelines = {A: ran(A, (10, 60)), "default/b": ran("default/b", (1, 2)), "default/c": working}
    found = all_faults(parts, struck, timelines)

    assert [
        (A, 15.0, ""),
        (A, 19.0, ""),
        *[("default/b", None, "default/b had ended before")] * 2,
        *[("default/c", None, "the rehearsal ended before")] * 2,
    ] == [(one.run, one.at, one.missed) for one in found]
    assert ["default/b never ran"] * 2 == [
        one.missed for one in all_faults(parts[1:2], {}, {"default/b": Timeline("default/b")})
    ]


def test_hint_names_what_was_done_to_the_run() -> None:
    """And neither what did not happen nor what was done to others; of many faults the first three."""
    fault = part_of(FAULTS).faults[2]
    one, other = Injected(A, fault, 45.0), Injected("default/b", fault, 45.0)
    told = "the rehearsal injected SliceLoss at 45s: slice 1"

    assert ["", "", told] == [
        blame(A, found) for found in ((), (other, Injected(A, fault, 4.0, "x")), (one, other))
    ]
    assert f"{told}; SliceLoss at 45s: slice 1; SliceLoss at 45s: slice 1 and 2 more" == blame(A, [one] * 5)


def test_run_that_fails_after_a_fault_is_told_of_it() -> None:
    """Beside the words of its controller, which knows of no rehearsal; so are expectations that it can break.

    A fault follows the start of its run, so that no admission was late because of it.
    """
    part = part_of("faults: [{kind: SliceLoss, at: 5s}]\nexpect: [{waitBelow: 1s}, {together: [gone]}]")
    timeline = ran(A, (10, 60))
    timeline.outcome, timeline.end_text = "failed", "jobset failed due to one or more job failures"
    found = judge([part], {A: timeline}, {}, cut_short=False, injected=[Injected(A, part.faults[0], 15.0)])
    injected = "the rehearsal injected SliceLoss at 15s: slice 0"
    changes = "the timeline shows what happened; change the workload, the queues or the expectation"

    assert [
        ("REH001", f"remove the cause: jobset failed due to one or more job failures; {injected}"),
        ("REH004", changes),
        ("REH004", f"{changes}; {injected}"),
    ] == [(problem.id, problem.hint) for problem in found]
