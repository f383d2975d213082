"""Rehearsals as JUnit XML: a suite a cluster, a case a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.cli.report import junit as form

if TYPE_CHECKING:
    from slicewright.core.problem import Problem
    from slicewright.core.rehearsal.report import Report


def junit(reports: list[Report]) -> str:
    """Return the reports; what is about no workload is a case called as its cluster.

    Where a rehearsal was cut short, what had not come to its end by then is neither right nor wrong: skipped.
    """
    suites: dict[str, dict[str, list[Problem]]] = {}
    skipped: dict[str, dict[str, str]] = {}
    for report in reports:
        cases: dict[str, list[Problem]] = {f"TPUWorkload {key}": [] for key, _ in report.stories}
        for problem in report.problems:
            name = problem.object if problem.object in cases else report.cluster
            cases.setdefault(name, []).append(problem)
        if report.interrupted:
            cases.setdefault(report.cluster, [])
        suites[report.cluster] = cases
        skipped[report.cluster] = _skipped(report)
    return form.document("slicewright rehearse", suites, skipped)


def _skipped(report: Report) -> dict[str, str]:
    why = "the rehearsal was interrupted" if report.interrupted else "the rehearsal broke off"
    if not report.is_cut_short:
        return {}
    found = {
        f"TPUWorkload {key}": f"{why} before {story.run} came to its end"
        for key, story in report.stories
        if not story.is_over
    }
    return {**found, report.cluster: why} if report.interrupted else found
