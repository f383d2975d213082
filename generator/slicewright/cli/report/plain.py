"""Text for a terminal, and JSON with the same records."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from slicewright.core.compose.kustomization import FILE_NAME

if TYPE_CHECKING:
    from slicewright.core.problem import Problem
    from slicewright.workspace.examine import Report


def write(report: Report) -> str:
    """Return a problem a line or two, and a summary."""
    return "".join(f"{line(problem)}\n" for problem in report.problems) + f"{summary(report)}\n"


def line(problem: Problem) -> str:
    """Return a problem as text; a composed object, which has no line, is named with the field."""
    return _VISIBLE.sub(_escaped, _line(problem))


def _line(problem: Problem) -> str:
    if problem.line or not problem.object:
        return problem.text()
    where = " ".join(part for part in (problem.object, problem.dotted()) if part)
    first, _, rest = problem.text().partition("\n")
    place = f"{problem.file}: " if problem.file else ""
    said = first.removeprefix(place)
    return f"{place}{where}: {said}" + (f"\n{rest}" if rest else "")


_VISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal would obey instead of showing it, but for line breaks and tabs."""


def _escaped(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"


def file_of(problem: Problem) -> str:
    """Return the file that a problem is shown at; of a composed object that is the kustomization."""
    composed = problem.object and problem.file and not problem.line
    return f"{problem.file}/{FILE_NAME}" if composed else problem.file


def summary(report: Report) -> str:
    """Return the line at the end: what was looked at, what was found, what was not."""
    numbers = report.summary()
    read = _count(numbers["read"], "file or folder", "files and folders")
    text = (
        f"{_count(numbers['objects'], 'object')} in {read}: "
        f"{_count(numbers['errors'], 'error')}, {_count(numbers['warnings'], 'warning')}"
    )
    if report.skipped:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report.skipped.items()))
        text += f"; not checked, as asked: {kinds}"
    if report.passed_by:
        text += f"; {_count(len(report.passed_by), 'file')} without a Kubernetes object"
    return text


def write_json(report: Report) -> str:
    """Return the records of all problems, and the numbers."""
    document = {"problems": [problem.record() for problem in report.problems], "summary": report.summary()}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
