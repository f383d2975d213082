"""Rehearsals as JUnit XML: a suite a cluster, a case a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.cli.report import junit as form

if TYPE_CHECKING:
    from slicewright.core.problem import Problem
    from slicewright.rehearsal.report.report import Report


def junit(reports: list[Report]) -> str:
    """Return the reports; what is about no workload is a case called as its cluster.

    Skipped, neither right nor wrong, is what had not come to its end where a rehearsal was cut short, and a
    workload with an expectation of which the rehearsal cannot tell whether it holds. Times are seconds of the
    rehearsal's clock: of a case from the first submission of its runs to their last end.
    """
    suites: dict[str, dict[str, list[Problem]]] = {}
    skipped: dict[str, dict[str, str]] = {}
    for report in reports:
        cases: dict[str, list[Problem]] = {f"TPUWorkload {key}": [] for key, _ in report.timelines}
        for problem in report.problems:
            name = problem.object if problem.object in cases else report.cluster
            cases.setdefault(name, []).append(problem)
        if report.interrupted:
            cases.setdefault(report.cluster, [])
        suites[report.cluster] = cases
        skipped[report.cluster] = _skipped(report)
    times = {report.cluster: _times(report) for report in reports}
    return form.document("slicewright rehearse", suites, skipped, times)


def _times(report: Report) -> dict[str, float]:
    """Return for how long each workload took, and the whole."""
    spans: dict[str, list[float]] = {}
    for key, timeline in report.timelines:
        if timeline.submitted is not None:
            end = report.seconds if timeline.ended is None else timeline.ended
            spans.setdefault(f"TPUWorkload {key}", []).extend((timeline.submitted, end))
    return {report.cluster: report.seconds} | {name: max(span) - min(span) for name, span in spans.items()}


def _skipped(report: Report) -> dict[str, str]:
    why = "the rehearsal was interrupted" if report.interrupted else "the rehearsal broke off"
    untold = {problem.object: problem.message for problem in report.problems if problem.id == "REH020"}
    if not report.is_cut_short:
        return untold
    found = untold | {
        f"TPUWorkload {key}": f"{why} before {timeline.run} came to its end"
        for key, timeline in report.timelines
        if not timeline.is_over
    }
    return {**found, report.cluster: why} if report.interrupted else found
