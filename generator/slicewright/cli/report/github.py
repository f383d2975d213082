"""Workflow commands of GitHub Actions: they show up as annotations in a pull request's diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.cli.report.plain import file_of, summary
from slicewright.core.problem import foremost
from slicewright.core.visible import shown, visible

if TYPE_CHECKING:
    from slicewright.core.check.examine import Report
    from slicewright.core.problem import Problem


def write(report: Report) -> str:
    """Return an annotation a problem; the summary is a plain line, which the log shows."""
    printed, more = foremost(report.problems)
    rest = "".join(f"{line}\n" for line in (more, summary(report)) if line)
    return "".join(f"{_command(problem)}\n" for problem in printed) + shown(rest)


def _command(problem: Problem) -> str:
    places = {"file": file_of(problem), "line": problem.line, "col": problem.column}
    title = visible(f"{problem.id} {problem.object}".strip())
    properties = [f"{name}={_property(visible(str(value)))}" for name, value in places.items() if value]
    said = problem.message
    if not problem.line and problem.path:
        said = f"{problem.dotted()}: {said}"
    if problem.folder:
        said = f"{problem.folder}: {said}"
    said = visible(said) + (f"\nhint: {visible(problem.hint)}" if problem.hint else "")
    return f"::{problem.severity} {','.join([*properties, f'title={_property(title)}'])}::{_data(said)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
