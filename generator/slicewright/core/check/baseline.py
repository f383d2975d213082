"""Findings that were there before: those of a baseline file.

A finding is known by its id, file, object and field, wherever it is in the file: lines move. Indexes of lists
move too, and are left out; equal findings are counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import chain, filterfalse
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from slicewright.core.check.selection import is_below, keeps_unchecked
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


def mark_of(problem: Problem) -> Mark:
    """Return what a finding is known by, wherever it is in its file."""
    field = re.sub(r"\[\d+\]", "[]", problem.dotted())
    file = problem.file.encode(errors="backslashreplace").decode()  # the name may be no UTF-8
    return file, " ".join(part for part in (problem.id, problem.object, field) if part)


def _is_always_reported(problem: Problem) -> bool:
    return problem.severity == "error" and problem.id.startswith(_ALWAYS)


class Baseline(Struct, frozen=True):
    """The findings of a file: how often each is in it, and its line."""

    file: str
    marks: Mapping[Mark, int]
    lines: Mapping[Mark, int]

    def filtered(self, report: Report, is_checked: Callable[[str], bool]) -> Report:
        """Return a report without the findings of the baseline, with a note on each that is gone.

        A finding that is hidden is not gone. Of what is not checked nothing is known.
        """
        left, unmet = _without(report.problems, self.marks)
        _, gone = _without(report.hidden, unmet)
        is_known = _known(report, is_checked)
        notes = [
            Problem(
                "IGN112",
                f"the problem no longer exists: {mark[0]} {mark[1]}",
                _REWRITE,
                "note",
                self.file,
                self.lines.get(mark, 0),
            )
            for mark, number in gone.items()
            if number and is_known(mark)
        ]
        known = len(report.problems) - len(left)
        return replace(report, problems=in_order((*notes, *left)), baseline=known)


def _known(report: Report, is_checked: Callable[[str], bool]) -> Callable[[Mark], bool]:
    """Return what tells whether a run would have found a finding that is still there."""
    problems = chain(report.problems, report.hidden)
    blind = {problem.file for problem in problems if keeps_unchecked(problem)}
    blind |= {passed.path for passed in report.passed_by if not passed.line}

    def is_known(mark: Mark) -> bool:
        file, finding = mark
        kind = finding.split()[1:2]
        return is_checked(file) and not is_below(file, blind) and report.skipped.keys().isdisjoint(kind)

    return is_known


_REWRITE = "remove the line, or write the file again with --write-baseline"


def _without(
    problems: Iterable[Problem], marks: Mapping[Mark, int]
) -> tuple[list[Problem], Mapping[Mark, int]]:
    """Return the problems that have no mark of their own, and the marks that are left."""
    unmet, left = Counter(marks), []
    for problem in problems:
        mark = mark_of(problem)
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
            isinstance(findings, list) and all(isinstance(finding, str) for finding in findings)
            for findings in by_file.values()
        ):
            message, hint = "this is not a baseline: findings: must have a list for each file", _WRITE
            return Baseline(file, {}, {}), (source.problem("IGN111", (), message, hint),)
        for name, findings in by_file.items():
            for index, finding in enumerate(findings):
                marks[name, finding] += 1
                lines[name, finding] = source.place(("findings", name, index))[0]
    return Baseline(file, marks, lines), problems


_WRITE = "write it with --baseline FILE --write-baseline"


def write_baseline(before: Baseline, report: Report, is_checked: Callable[[str], bool]) -> str:
    """Return the text of a baseline with all findings of a report, and those that it could not find."""
    is_known = _known(report, is_checked)
    marks = {mark: number for mark, number in before.marks.items() if not is_known(mark)}
    problems = filterfalse(_is_always_reported, chain(report.problems, report.hidden))
    by_file: dict[str, list[str]] = defaultdict(list)
    for (file, finding), number in sorted((marks | Counter(map(mark_of, problems))).items()):
        by_file[file] += [finding] * number
    return _HEAD + write_document({"findings": dict(by_file)})
