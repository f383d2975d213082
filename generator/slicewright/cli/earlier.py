"""Findings that were there before, for `validate`: the file of a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from slicewright.cli import show
from slicewright.core.check.baseline import Baseline, read_baseline, write_baseline
from slicewright.core.check.selection import is_below
from slicewright.core.problem import Problem
from slicewright.workspace.text_file import read_file
from slicewright.workspace.write import replace_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slicewright.core.check.examine import Report
    from slicewright.core.check.selection import Selection


def baseline_at(file: Path, *, writes: bool) -> Baseline:
    """Return the baseline of a file; empty where there is none and it is to be written. Else this exits."""
    name = str(file)
    if name == "-":
        raise click.UsageError("--baseline needs the name of a file: - is none")
    if writes and not file.exists():
        return Baseline(name, {}, {})
    text = read_file(file, name)
    if isinstance(text, Problem):
        show.stop((replace(text, hint="--write-baseline writes it"),))
    baseline, problems = read_baseline(text, name)
    show.stop_for_errors(problems)
    return baseline


def new(
    report: Report, before: Baseline, checked: Sequence[str], selection: Selection, *, writes: bool
) -> Report:
    """Return a report without what a baseline has; it is written first where somebody asks for that.

    Files and folders that were `checked` by all rules are named as the report does it.
    """

    def is_checked(file: str) -> bool:
        return is_below(file, checked)

    if writes:
        text = write_baseline(before, report, is_checked)
        hint = "name another file, or check permissions"
        for problem in replace_file(Path(before.file).resolve(), text):
            message = f"the baseline {problem.message}"
            show.stop((Problem("FILE003", message, hint, file=before.file),))
        before, _ = read_baseline(text, before.file)
    left = before.filtered(report, is_checked)
    return replace(left, problems=tuple(filter(selection.names, left.problems)))
