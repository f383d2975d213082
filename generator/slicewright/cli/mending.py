"""`validate --fix` and `--diff`: apply the fixes of findings until there is nothing left to apply."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.cli import show
from slicewright.cli.streams import exact, say
from slicewright.document.edit_file import mended
from slicewright.document.io import read_file, read_stdin
from slicewright.document.text_difference import unified
from slicewright.kubernetes.problem import Problem, counted
from slicewright.rendering.header import is_ours
from slicewright.rendering.io.write import byte_order_mark, refused, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from slicewright.check.examine import Report
    from slicewright.check.units import Unit
    from slicewright.kubernetes.problem import Fix

_ROUNDS = 10
"""How often files are checked and fixed: one fix may make place for another."""
Mark = tuple[str, str, str, str]
"""What identifies a finding at any place: file, id, object, and field without indexes of lists."""


def _mark(problem: Problem) -> Mark:
    return problem.file, problem.id, problem.object, re.sub(r"\[\d+\]", "[]", problem.dotted())


def read_once(units: Iterable[Unit]) -> list[Unit]:
    """Return the units with the text of stdin, which several rounds need."""
    return [replace(unit, text=read_stdin()) if unit.form == "stdin" else unit for unit in units]


class Mending(Struct):
    """Files that change, from a report to the next one."""

    units: Sequence[Unit]
    root: Path
    """The folder to which the names of files that are not units are relative."""
    unsafe: bool
    writes: bool
    """Whether files are written; else they are only checked as they would be."""
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    """Files that wait to be written: all rounds come first, so a killed run leaves no file half fixed."""
    refused: dict[str, Problem] = field(default_factory=dict)
    first: int = 0
    """The number of findings at the beginning."""
    fixed: int = 0
    later: list[Problem] = field(default_factory=list)
    """Findings that one fix caused and a later one fixed."""
    left: int = 0
    """Findings that an unsafe fix would remove."""

    def run(self, report: Report, check: Callable[[Sequence[Unit]], Report]) -> Report:
        """Fix the problems of a report, and return the report of the remaining ones."""
        self.first = len(report.problems)
        first = Counter(map(_mark, report.problems))
        caused: dict[Mark, Problem] = {}
        rounds = 0
        while rounds < _ROUNDS and (self._changes(report) or self._write()):
            rounds += 1
            new = ((_mark(problem), problem) for problem in report.problems)
            caused |= {mark: problem for mark, problem in new if mark not in first}
            report = check([self._unit(unit) for unit in self.units])
        if self._write():
            report = check([self._unit(unit) for unit in self.units])
        last = Counter(map(_mark, report.problems))
        self.fixed = (first - last).total()
        self.later = [problem for mark, problem in caused.items() if mark not in last]
        self.left = sum(bool(problem.fix and not problem.fix.safe) for problem in report.problems)
        return replace(report, problems=(*report.problems, *self.refused.values()))

    def _unit(self, unit: Unit) -> Unit:
        return replace(unit, text=self.after[unit.name]) if unit.name in self.after else unit

    def _changes(self, report: Report) -> bool:
        by_name = self._files()
        done = self.pending if self.writes else self.after
        fixes: dict[str, list[Fix]] = defaultdict(list)
        for problem in report.problems:
            # A file that is not a unit is read again only after it is written, so it has one round before.
            again = problem.file in by_name or problem.file not in done
            if problem.fix and again and (problem.fix.safe or self.unsafe):
                fixes[problem.file].append(problem.fix)
        # Each file is tried.
        changed = [self._mend(name, by_name.get(name), of_file) for name, of_file in fixes.items()]
        return any(changed)

    def _files(self) -> dict[str, Unit]:
        return {unit.name: unit for unit in self.units if unit.form != "folder"}

    def _mend(self, name: str, unit: Unit | None, fixes: list[Fix]) -> bool:
        path = self._path(name)
        text: str | Problem | None = self.after.get(name) or (unit.text if unit else None)
        text = read_file(path, name) if text is None else text
        if isinstance(text, Problem) or is_ours(text) or name in self.refused:
            return False
        mended_text, applied = mended(text, fixes)
        if not applied:
            return False
        if path.name:
            if problems := self._in_the_way(path):
                self.refused[name] = replace(problems[0], file=name)
                return False
            self.pending.add(name)
        self.before.setdefault(name, text)
        self.after[name] = mended_text
        return True

    def _write(self) -> bool:
        """Write each file that waits, once its rounds are over; tell whether files must be read again."""
        names = self._files().keys()
        again = False
        if self.writes:
            for name in sorted(self.pending):
                problems = replace_file(self._path(name), self.after[name])
                again = again or bool(problems) or name not in names
                if problems:
                    self.refused[name] = replace(problems[0], file=name)
                    del self.after[name]
        self.pending.clear()
        return again

    def _path(self, name: str) -> Path:
        """Return the path of a file; of stdin, which has none, one without a name."""
        unit = self._files().get(name)
        return Path(unit.path) if unit else self.root / name

    def _in_the_way(self, path: Path) -> tuple[Problem, ...]:
        """Return why a file would not be written, wherever the difference is applied."""
        if not (os.access(path, os.W_OK) and path.stat().st_mode & 0o222):  # root may write all
            return (Problem("FILE003", "is read-only", "make it writable: chmod u+w"),)
        problems = refused(path.parent, {path.name: ""})
        return tuple(problem for problem in problems if problem.id == "FILE004")

    def _difference(self, name: str) -> str:
        path = self._path(name)
        mark = byte_order_mark(path).decode() if path.name else ""
        return unified(name, mark + self.before[name], mark + self.after[name])

    def show(self, report: str, unchecked: Sequence[Problem]) -> None:
        """Print the difference and the unchecked files, or the report; for stdin the fixed text."""
        stdin = next((unit for unit in self.units if unit.form == "stdin"), None)
        if not self.writes:
            exact("".join(self._difference(name) for name in sorted(self.after)))
            show.messages(unchecked)
        elif stdin and isinstance(stdin.text, str):
            exact(self.after.get(stdin.name, stdin.text))
            say(report, err=True, nl=False)
        else:
            exact(report)
        verb = "fixed" if self.writes else "would fix"
        more = f"; --unsafe would fix {self.left} more" if self.left and not self.unsafe else ""
        files = counted(len(self.after), "file")
        also = f" and {len(self.later)} that a fix caused," if self.later else ""
        say(f"{verb} {self.fixed} of {counted(self.first, 'finding')}{also} in {files}{more}", err=True)
        for problem in self.later:
            say(f"  caused: {problem.text().splitlines()[0]}", err=True)
