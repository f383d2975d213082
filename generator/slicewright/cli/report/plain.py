"""Text for a terminal, annotations for GitHub, and JSON with the same records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from slicewright.check.passed_by import counts
from slicewright.cli.show import json_text, records
from slicewright.kubernetes.problem import counted, foremost, tallied
from slicewright.kubernetes.visible import shown, visible
from slicewright.rendering.kustomization import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.check.examine import Report
    from slicewright.kubernetes.problem import Problem


def write(report: Report) -> str:
    """Return one or two lines for each problem, and a summary."""
    printed, more = foremost(_grouped(report.problems))
    lines = [*map(line, printed), more, *summary(report)]
    return shown("".join(f"{line}\n" for line in lines if line))


_OF_FILES = ("FILE030", "SCHEMA009")
"""Problems that many objects of a file have alike."""
_OF_BUILDS = ("GIT111",)
"""Problems that an object has in each build that takes it."""


def _grouped(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems with repeated ones merged: the first of them, and the number of the others."""
    groups: dict[object, list[Problem]] = {}
    for problem in problems:
        of_build = problem.object if problem.id in _OF_BUILDS else problem
        place = problem.file if problem.id in _OF_FILES else of_build
        groups.setdefault((problem.id, problem.severity, place), []).append(problem)
    return [_with_others(first, len(others)) for first, *others in groups.values()]


def _with_others(problem: Problem, others: int) -> Problem:
    if not others:
        return problem
    nouns = ("object", "file") if problem.id in _OF_FILES else ("build", "object")
    message = f"{problem.message}; also {counted(others, f'more {nouns[0]}')} of this {nouns[1]}"
    return replace(problem, message=message)


def line(problem: Problem) -> str:
    """Return a problem as text; a composed object, which has no line, is named with the field."""
    if problem.line or not problem.object:
        return problem.text()
    where = visible(" ".join(part for part in (problem.object, problem.dotted()) if part))
    first, _, rest = problem.text().partition("\n")
    place = visible(f"{problem.file}: ") if problem.file else ""
    return f"{place}{where}: {first.removeprefix(place)}" + (f"\n{rest}" if rest else "")


def file_of(problem: Problem) -> str:
    """Return the file at which a problem is shown: for a composed object its kustomization."""
    composed = problem.object and problem.file and not problem.line
    if composed and problem.file.endswith((".yaml", ".yml")):  # the template of a chart
        return problem.file
    return f"{problem.file}/{FILE_NAME}" if composed else problem.file


def summary(report: Report) -> list[str]:
    """Return the lines at the end: what was looked at and what was found, then what was passed by."""
    numbers = report.summary()
    number = numbers["read"] - len(numbers["withoutObject"])
    places = "1 file or folder" if number == 1 else f"{number:,} files and folders"
    text = f"{counted(numbers['objects'], 'object')} in {places}: {tallied(report.problems)}"
    if report.unchanged:
        text += f"; {report.unchanged:,} not of this change"
    unbuilt = sum(problem.id == "KUS021" for problem in report.problems)
    if unbuilt:
        text += f"; not built, and checked file by file: {counted(unbuilt, 'kustomization')}"
    passed = ", ".join(counts(report.passed_by, report.skipped))
    return [text, visible(f"passed by: {passed}")] if passed else [text]


def write_json(report: Report) -> str:
    """Return the records of all problems, and the numbers."""
    return json_text({"problems": records(report.problems), "summary": report.summary()})


def write_github(report: Report) -> str:
    """Return workflow commands of GitHub Actions, which annotate the diff of a pull request.

    The summary is a plain line, which the log shows.
    """
    printed, more = foremost(report.problems)
    rest = "".join(f"{line}\n" for line in (more, *summary(report)) if line)
    return "".join(f"{annotation(problem)}\n" for problem in printed) + shown(rest)


def annotation(problem: Problem) -> str:
    """Return the workflow command of GitHub that shows a problem at its line."""
    places = {"file": file_of(problem), "line": problem.line, "col": problem.column}
    title = visible(f"{problem.id} {problem.object}".strip())
    properties = [f"{name}={_property(visible(str(value)))}" for name, value in places.items() if value]
    text = problem.message
    if not problem.line and problem.path:
        text = f"{problem.dotted()}: {text}"
    if problem.folder:
        text = f"{problem.input_field}: {text}"
    text = visible(text) + (f"\nhint: {visible(problem.hint)}" if problem.hint else "")
    command = "notice" if problem.severity == "note" else problem.severity
    return f"::{command} {','.join([*properties, f'title={_property(title)}'])}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
