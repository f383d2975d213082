"""A rehearsal as JUnit XML, and as an HTML page in a file."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from slicewright.cli import show
from slicewright.cli.report import junit as form
from slicewright.cli.streams import say
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.comparison import Group
from slicewright.rehearse.report.sentences import entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.rehearse.report.report import Report

_NO_PLACE_BESIDE = (errno.EACCES, errno.EPERM, errno.EBUSY)
"""The folder is not writable, or the file is a mount point: only the file itself can be written."""


def render_page(records: Sequence[Object]) -> str:
    """Return the HTML page of rehearsals, from their JSON records."""
    from slicewright.rehearse.report.page import page  # noqa: PLC0415 - 200 ms, few write one

    return page(records, *_template())


def render_variants(groups: Sequence[Group]) -> str:
    """Return the HTML page of variants, from their JSON records; in each group the base is first."""
    from slicewright.rehearse.report.page import page_of_variants  # noqa: PLC0415 - as in `render_page`

    return page_of_variants(groups, *_template())


def _template() -> tuple[str, str]:
    """Return the template of a page and its style sheet."""
    folder = files("slicewright.rehearse.report")
    template, style = ((folder / name).read_text("utf-8") for name in ("page.html.j2", "page.css"))
    return template, style


def check(page: Path | None) -> None:
    """End the command before a rehearsal if its page could not be written afterwards."""
    problem = page and unwritable(page)
    if problem:
        show.stop((problem,))


def unwritable(page: Path) -> Problem | None:
    """Return why a page could not be written, checked before the rehearsal; the file does not change."""
    is_new = not page.exists()
    try:
        with page.open("ab"):
            pass
    except OSError as error:
        return _not_written(page, error)
    if is_new:
        page.unlink()
    return None


def publish(page: Path | None, title: str, render: Callable[[], str]) -> tuple[Problem, ...]:
    """Write the page if it is requested, and print its path; else return why that failed."""
    if page is None:
        return ()
    problem = write(page, render())
    if problem:
        return (problem,)
    say(f"{title}: {page}", err=True)
    return ()


def write(page: Path, text: str) -> Problem | None:
    """Write a page, or return why that failed; then an earlier page is still whole."""
    try:
        if page.exists() and not page.is_file():  # a pipe or a device
            page.write_text(text, encoding="utf-8")
        else:
            _replace(page.resolve(), text)
    except OSError as error:
        return _not_written(page, error)
    return None


def _replace(page: Path, text: str) -> None:
    beside = page.with_name(f".slicewright-{os.getpid()}.html")
    try:
        beside.write_text(text, encoding="utf-8")
        if page.exists():
            shutil.copymode(page, beside)
        beside.replace(page)
    except OSError as error:
        beside.unlink(missing_ok=True)
        if error.errno not in _NO_PLACE_BESIDE:
            raise
        page.write_text(text, encoding="utf-8")


def _not_written(page: Path, error: OSError) -> Problem:
    hint = "name a file in a folder that exists and can be written, or make room"
    return Problem("FILE003", f"the page cannot be written: {error.strerror}", hint, file=str(page))


_MOST_ENTRIES = 60
"""Lines of a run; of more the middle is left out."""


def junit(reports: Iterable[Report], began: Mapping[str, str] | None = None) -> str:
    """Return the reports as JUnit XML; the case of problems without a workload has the cluster's name.

    A case is `skipped` if it had not ended when the rehearsal was cut short, or if an expectation cannot be
    decided. Times are seconds of the rehearsal's clock: a case lasts from the first submission of its runs to
    their last end. Its output is the events of its runs. `began` has the start of each cluster's rehearsal,
    in UTC.
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
