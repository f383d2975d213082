"""Rehearsals as JUnit XML, as CI systems read it: what they count is what is there."""

from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from slicewright.cli.report.rehearsal_output import junit
from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rehearse.report.report import Report

from .kit import ran

FAILED = Problem("REH001", "default/b was still waiting at the end", object="TPUWorkload default/b")
SHARED = replace(FAILED, id="REH010", severity="warning", message="shared <its> & 'pool'\x1b")
TAKEN = Problem("REH006", "PriorityClass low already exists", object="TPUCluster c1")
DIED = Problem("BED002", "kueue ended: killed by SIGKILL\n  its last words")
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def report(*problems: Problem, cluster: str = "c1", interrupted: bool = False, cut: bool = False) -> Report:
    """Return a rehearsal of two workloads, of which one finished and the other waits."""
    timelines = (
        ("default/a", ran("default/a", (1, 2))),
        ("default/b", Timeline("default/b-1", outcome="waiting")),
    )
    return Report(
        cluster,
        1.0,
        9.0,
        interrupted,
        "",
        timelines,
        (),
        (),
        (),
        problems,
        {},
        is_cut_short=cut or interrupted,
    )


def cases(*reports: Report) -> dict[tuple[str | None, str | None], list[str]]:
    """Return what each case holds, once all counts are right."""
    root = ET.fromstring(junit(list(reports)))  # noqa: S314 - our own
    assert "testsuites" == root.tag
    for element in (root, *root):
        found = list(element.iter("testcase"))
        assert len(found) == int(element.get("tests", ""))
        for name, tag in COUNTED.items():
            assert sum(case.find(tag) is not None for case in found) == int(element.get(name, ""))
    for suite in root:
        assert [("testcase", suite.get("name"))] * len(suite) == [
            (case.tag, case.get("classname")) for case in suite
        ]
    return {
        (suite.get("name"), case.get("name")): [child.tag for child in case]
        for suite in root
        for case in suite
    }


A, B = "TPUWorkload default/a", "TPUWorkload default/b"


@pytest.mark.parametrize(
    ("played", "expected"),
    [
        (report(), {("c1", A): [], ("c1", B): []}),
        (report(FAILED), {("c1", A): [], ("c1", B): ["failure"]}),
        (report(SHARED), {("c1", A): [], ("c1", B): ["system-out"]}),
        (report(FAILED, SHARED), {("c1", A): [], ("c1", B): ["failure", "system-out"]}),
        (report(interrupted=True), {("c1", A): [], ("c1", B): ["skipped"], ("c1", "c1"): ["skipped"]}),
        (
            report(FAILED, interrupted=True),
            {("c1", A): [], ("c1", B): ["failure"], ("c1", "c1"): ["skipped"]},
        ),
        (report(TAKEN, cut=True), {("c1", A): [], ("c1", B): ["skipped"], ("c1", "c1"): ["failure"]}),
        (report(DIED, cut=True), {("c1", A): [], ("c1", B): ["skipped"], ("c1", "c1"): ["failure"]}),
        (report(DIED, interrupted=True), {("c1", A): [], ("c1", B): ["skipped"], ("c1", "c1"): ["failure"]}),
    ],
)
def test_a_workload_is_a_case(played: Report, expected: dict[tuple[str, str], list[str]]) -> None:
    """What was not judged is skipped, not passed; what is about no workload has the cluster's name."""
    assert expected == cases(played)


def test_expectation_that_nobody_can_tell_is_skipped_and_not_passed() -> None:
    """With what is to be known; an error of the same workload goes before it."""
    untold = replace(FAILED, id="REH020", severity="warning", message="cannot tell whether")

    assert {("c1", A): [], ("c1", B): ["skipped", "system-out"]} == cases(report(untold))
    assert '<skipped message="cannot tell whether" />' in junit([report(untold)])
    assert {("c1", A): [], ("c1", B): ["failure", "system-out"]} == cases(report(untold, FAILED))


def test_times_are_those_of_the_rehearsals_clock() -> None:
    """From a workload's submission to its end, and of the whole; what was not submitted has none."""
    told = report()
    (a, b) = told.timelines
    late = Timeline("default/c-1", submitted=4.0, outcome="waiting")
    root = ET.fromstring(junit([replace(told, timelines=(a, b, ("default/c", late)))]))  # noqa: S314 - our own

    assert [("c1", "9.0"), (A, "2.0"), (B, None), ("TPUWorkload default/c", "5.0")] == [
        (element.get("name"), element.get("time")) for element in (root[0], *root[0])
    ]


def test_output_of_a_case_is_what_happened_to_its_runs() -> None:
    """Each event with its time, below what is less than an error; the events of others are not there."""
    events = (
        Event(0.0, "submitted", "default/a"),
        Event(0.5, "poolGrew", node_pool="np-0", chips=8),
        Event(1.0, "waiting", "default/b-1", reason="Pending", text="no <quota>\x1b"),
        Event(2.0, "finished", "default/a", reason="Done"),
    )
    played = replace(report(replace(SHARED, message="shared")), events=events)
    root = ET.fromstring(junit([played]))  # noqa: S314 - our own
    output = {case.get("name"): case.findtext("system-out", "").splitlines() for case in root[0]}

    assert {
        A: ["default/a:", "0.0s submitted", "2.0s finished: Done"],
        B: [
            "TPUWorkload default/b: warning: REH010 shared",
            "default/b-1:",
            "1.0s waits in the queue: Pending, no <quota>\\x1b",
        ],
    } == output


def test_output_of_a_run_without_end_has_one() -> None:
    """A run that restarts for days does not fill the log of a CI system."""
    events = tuple(Event(float(at), "warned", "default/a", text=str(at)) for at in range(500))
    root = ET.fromstring(junit([replace(report(), events=events)]))  # noqa: S314 - our own
    lines = root[0][0].findtext("system-out", "").splitlines()

    assert (62, "440 more entries; the JSON report has all events") == (len(lines), lines[31])


def test_suite_says_when_its_rehearsal_began() -> None:
    """In UTC and without a zone, as the schema of JUnit files has it."""
    root = ET.fromstring(junit([report()], {"c1": "2026-01-31T12:00:00"}))  # noqa: S314 - our own

    assert ["2026-01-31T12:00:00"] == [suite.get("timestamp") for suite in root]
    assert "timestamp" not in junit([report()])


def test_skipped_case_says_why() -> None:
    """With the run, which is called otherwise than its workload."""
    assert 'message="the rehearsal was interrupted before default/b-1 came to its end"' in junit(
        [report(interrupted=True)]
    )
    assert 'message="the rehearsal broke off before default/b-1 came to its end"' in junit([report(cut=True)])
