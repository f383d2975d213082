"""Rehearsals as JUnit XML: a suite a cluster, a case a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.cli.report import junit as form
from slicewright.rehearse.report.entries import entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.kubernetes.problem import Problem
    from slicewright.kubernetes.types import Object
    from slicewright.rehearse.report.report import Report

_MOST_ENTRIES = 60
"""Lines of a run; of more the middle is left out."""


def junit(reports: Iterable[Report], began: Mapping[str, str] | None = None) -> str:
    """Return the reports; the case of problems without a workload has the name of the cluster.

    Skipped, neither right nor wrong, is what had not come to its end where a rehearsal was cut short, and a
    workload with an expectation of which the rehearsal cannot tell whether it holds. Times are seconds of the
    rehearsal's clock: of a case from the first submission of its runs to their last end. The output of a case
    is what happened to its runs. `began` says of clusters when their rehearsals began, in UTC.
    """
    suites: dict[str, dict[str, list[Problem]]] = {}
    facts: dict[str, form.SuiteFacts] = {}
    for report in reports:
        cases: dict[str, list[Problem]] = {f"TPUWorkload {key}": [] for key, _ in report.timelines}
        for problem in report.problems:
            name = problem.object if problem.object in cases else report.cluster
            cases.setdefault(name, []).append(problem)
        if report.interrupted:
            cases.setdefault(report.cluster, [])
        suites[report.cluster] = cases
        timestamp = (began or {}).get(report.cluster, "")
        facts[report.cluster] = form.SuiteFacts(_skipped(report), _times(report), _output(report), timestamp)
    return form.document("slicewright rehearse", suites, facts)


def _output(report: Report) -> dict[str, str]:
    """Return what happened to the runs of each workload: a line for each entry, below the name of the run."""
    events: dict[str, list[Object]] = {}
    for event in report.events:
        events.setdefault(event.run, []).append(event.record())
    output: dict[str, list[str]] = {}
    for key, timeline in report.timelines:
        if own := events.get(timeline.run):
            lines = (entry.line() for entry in entries(own, _MOST_ENTRIES))
            output.setdefault(f"TPUWorkload {key}", []).extend((f"{timeline.run}:", *lines))
    return {name: "\n".join(lines) for name, lines in output.items()}


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
    skipped = {problem.object: problem.message for problem in report.problems if problem.id == "REH020"}
    if not report.is_cut_short:
        return skipped
    for key, timeline in report.timelines:
        if not timeline.is_over:
            skipped[f"TPUWorkload {key}"] = f"{why} before {timeline.run} came to its end"
    return {**skipped, report.cluster: why} if report.interrupted else skipped
