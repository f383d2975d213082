"""A problem is data: where it is, what it is called, what is wrong and what to write instead."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["error", "warning"]

Path = tuple[str | int, ...]
"""The way from the root of a document to a value: mapping keys and list indexes."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding, in the form that every command reports.

    `file` is relative to the repository; `line` and `column` count from 1, 0 where no place is known;
    `object` is `Kind namespace/name`; `path` leads to the value inside its document.
    """

    id: str
    message: str
    hint: str = ""
    severity: Severity = "error"
    file: str = ""
    line: int = 0
    column: int = 0
    object: str = ""
    path: Path = field(default=())

    def at(self, file: str, line: int, column: int) -> Problem:
        """Return the same problem with a place in a file."""
        return replace(self, file=file, line=line, column=column)

    def dotted(self) -> str:
        """Return the path as people write it: `spec.replicatedJobs[0].name`."""
        return dotted(self.path)

    def text(self) -> str:
        """Return the one or two lines that a terminal shows."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        warning = "warning: " if self.severity == "warning" else ""
        head = f"{place}: " if self.file else ""
        first = f"{head}{warning}{self.id} {self.message}"
        return f"{first}\n  hint: {self.hint}" if self.hint else first

    def record(self) -> dict[str, str | int]:
        """Return the JSON form, the same record in every command."""
        return {
            "id": self.id,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "object": self.object,
            "path": self.dotted(),
            "message": self.message,
            "hint": self.hint,
        }


_QUOTED = frozenset("./[]' ")
"""Characters of a key that would look like a step of a path."""


def dotted(path: Path) -> str:
    """Return `a.b[0]['c.d/e']` for `("a", "b", 0, "c.d/e")`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not part or set(part) & _QUOTED:
            text += f"['{part}']"
        else:
            text += f".{part}" if text else part
    return text


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems by file, place and id, each once, whatever order they come in."""
    return tuple(sorted(dict.fromkeys(problems), key=_order))


def _order(problem: Problem) -> tuple[str, int, int, str, str, str, str]:
    place = (problem.file, problem.line, problem.column)
    return (*place, problem.id, problem.message, problem.object, problem.dotted())


def errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return those that stop a command."""
    return tuple(problem for problem in problems if problem.severity == "error")


def nearest(word: str, choices: Iterable[str], *, count: int = 1) -> list[str]:
    """Return the choices that look most like a word, best first; none when nothing is near."""
    pool = list(choices)
    by_lower = {choice.lower(): choice for choice in pool}
    found = difflib.get_close_matches(word.lower(), list(by_lower), n=count, cutoff=0.6)
    return [by_lower[match] for match in found]


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return the hint for a misspelt word: the nearest choice, else all of them when they are few."""
    pool = sorted(set(choices))
    near = nearest(word, pool)
    if near:
        return f"did you mean '{near[0]}'?"
    few = 12
    if pool and len(pool) <= few:
        return "one of: " + ", ".join(pool)
    return ""
