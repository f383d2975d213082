"""Rehearsals as JUnit XML: a suite a cluster, a case a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.cli.report import junit as form

if TYPE_CHECKING:
    from slicewright.core.problem import Problem
    from slicewright.core.rehearsal.report import Report


def junit(reports: list[Report]) -> str:
    """Return the reports; what is about no workload is a case called as its cluster."""
    suites: dict[str, dict[str, list[Problem]]] = {}
    for report in reports:
        cases: dict[str, list[Problem]] = {f"TPUWorkload {key}": [] for key, _ in report.stories}
        for problem in report.problems:
            cases.setdefault(problem.object or report.cluster, []).append(problem)
        suites[report.cluster] = cases
    return form.document("slicewright rehearse", suites)
