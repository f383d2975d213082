"""Workflow commands of GitHub Actions: they show up as annotations in a pull request's diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.cli.report.plain import file_of, summary

if TYPE_CHECKING:
    from slicewright.core.problem import Problem
    from slicewright.workspace.examine import Report


def write(report: Report) -> str:
    """Return an annotation a problem; the summary is a plain line, which the log shows."""
    return "".join(f"{_command(problem)}\n" for problem in report.problems) + f"{summary(report)}\n"


def _command(problem: Problem) -> str:
    places = {"file": file_of(problem), "line": problem.line, "col": problem.column}
    title = f"{problem.id} {problem.object}".strip()
    properties = [f"{name}={_property(str(value))}" for name, value in places.items() if value]
    said = problem.message
    if not problem.line and problem.path:
        said = f"{problem.dotted()}: {said}"
    if problem.hint:
        said += f"\nhint: {problem.hint}"
    return f"::{problem.severity} {','.join([*properties, f'title={_property(title)}'])}::{_data(said)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
