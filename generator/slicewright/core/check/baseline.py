"""Findings that were there before: those of a baseline file, and those that a change did not bring.

A finding is known by its id, file, object and field, wherever it is in the file: lines move. Indexes of lists
move too, and are left out; equal findings are counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slicewright.core.document.read import read_documents
from slicewright.core.document.write import write_document
from slicewright.core.intent.source import Source, SourceFile
from slicewright.core.kubernetes.read import mapping
from slicewright.core.problem import Problem, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slicewright.core.check.examine import Report

_HEAD = "# Findings that slicewright validate --baseline leaves out. Written by --write-baseline.\n"
_ALWAYS = ("FILE", "TOOL", "EXT")
"""How ids of errors begin that nobody can put off: nothing was checked."""

Mark = tuple[str, str]
"""The file of a finding; and its id, object and field."""


def _mark(problem: Problem) -> Mark:
    field = re.sub(r"\[\d+\]", "[]", problem.dotted())
    return problem.file, " ".join(part for part in (problem.id, problem.object, field) if part)


def _is_always_reported(problem: Problem) -> bool:
    return problem.severity == "error" and problem.id.startswith(_ALWAYS)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The findings of a file: how often each is in it, and its line."""

    file: str
    marks: Mapping[Mark, int]
    lines: Mapping[Mark, int]

    def of(self, report: Report, is_checked: Callable[[str], bool]) -> Report:
        """Return a report without the findings of the baseline, with a note on each that is gone.

        Of files that are not checked nothing is known.
        """
        left, gone = _without(report.problems, self.marks)
        notes = [
            Problem(
                "IGN112", f"gone: {file} {said}", _REWRITE, "note", self.file, self.lines.get((file, said), 0)
            )
            for (file, said), number in gone.items()
            if number and is_checked(file)
        ]
        known = len(report.problems) - len(left)
        return replace(report, problems=in_order((*notes, *left)), baseline=known)


_REWRITE = "remove the line, or write the file again: --write-baseline"


def _without(
    problems: Iterable[Problem], marks: Mapping[Mark, int]
) -> tuple[list[Problem], Mapping[Mark, int]]:
    """Return the problems that have no mark of their own, and the marks that are left."""
    unmet, left = Counter(marks), []
    for problem in problems:
        mark = _mark(problem)
        if unmet[mark] > 0 and not _is_always_reported(problem):
            unmet[mark] -= 1
        else:
            left.append(problem)
    return left, unmet


def read_baseline(text: str, file: str) -> tuple[Baseline, tuple[Problem, ...]]:
    """Return the baseline of a file's text, empty for another form, and what is wrong with it."""
    documents, problems = read_documents(text, file)
    marks: Counter[Mark] = Counter()
    lines: dict[Mark, int] = {}
    for document in documents:
        source = Source(SourceFile(file, text), document)
        by_file = mapping(document.data).get("findings")
        if not isinstance(by_file, dict) or not all(
            isinstance(said, list) and all(isinstance(one, str) for one in said) for said in by_file.values()
        ):
            message, hint = "this is not a baseline: findings: must have a list for each file", _WRITE
            return Baseline(file, {}, {}), (source.problem("IGN111", (), message, hint),)
        for name, said in by_file.items():
            for index, one in enumerate(said):
                marks[name, one] += 1
                lines[name, one] = source.place(("findings", name, index))[0]
    return Baseline(file, marks, lines), problems


_WRITE = "write it with --baseline FILE --write-baseline"


def write_baseline(before: Baseline, report: Report, is_checked: Callable[[str], bool]) -> str:
    """Return the text of a baseline with the findings of a report, and those of files not checked."""
    marks = {mark: number for mark, number in before.marks.items() if not is_checked(mark[0])}
    found = Counter(_mark(one) for one in report.problems if not _is_always_reported(one))
    by_file: dict[str, list[str]] = defaultdict(list)
    for (file, said), number in sorted((marks | found).items()):
        by_file[file] += [said] * number
    return _HEAD + write_document({"findings": dict(by_file)})


def of_change(
    report: Report, is_touched: Callable[[Problem], bool], before: Callable[[], Iterable[Problem]]
) -> Report:
    """Return a report of what a change touched, and of what was not there `before` it."""
    others = [one for one in report.problems if not is_touched(one)]
    left, _ = _without(others, Counter(map(_mark, before()))) if others else ([], {})
    new = set(left)
    problems = tuple(one for one in report.problems if one in new or is_touched(one))
    return replace(report, problems=problems, unchanged=len(report.problems) - len(problems))
