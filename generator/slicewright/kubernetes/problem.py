"""A problem is data: where it is, what it is called, what is wrong and what to write instead."""

from __future__ import annotations

import builtins
import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import astuple, replace

from slicewright.kubernetes.visible import visible

Severity = Literal["error", "warning", "note"]
"""An error stops a command, a warning only with `--strict`, a note never."""
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""All of them, the worst first."""

Path = tuple[str | int, ...]
"""The path from the root of a document to a value: mapping keys and list indexes."""


class Edit(Struct, frozen=True):
    """One operation of a JSON 6902 patch. A `move` goes from `source` to another key of the same mapping."""

    op: Literal["add", "replace", "remove", "move"]
    path: Path
    value: Any = None
    source: Path = ()

    def record(self) -> dict[str, Any]:
        """Return the operation as JSON has it."""
        way = {"from": pointer(self.source)} if self.op == "move" else {}
        value = {"value": self.value} if self.op in ("add", "replace") else {}
        return {"op": self.op, **way, "path": pointer(self.path), **value}


class Fix(Struct, frozen=True):
    """What to change in a document so that a finding goes away, as data.

    A rule gives paths from the root of its object; `within` makes them paths of the document that holds it.
    """

    title: str
    """What it does, in words: an imperative without a full stop."""
    edits: tuple[Edit, ...]
    safe: bool = True
    """Whether it says what the person meant beyond doubt; others are applied only when asked for."""
    document: int = 0
    """The document of the file, from 0."""

    def within(self, document: int, at: Path = ()) -> Fix:
        """Return the fix of an object as one of the document of a file in which it is, at a path."""
        if not at:
            return self if document == self.document else replace(self, document=document)
        edits = tuple(
            replace(edit, path=(*at, *edit.path), source=edit.source and (*at, *edit.source))
            for edit in self.edits
        )
        return replace(self, edits=edits, document=document)

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "title": self.title,
            "safe": self.safe,
            "document": self.document,
            "edits": [edit.record() for edit in self.edits],
        }


class Problem(Struct, frozen=True, eq=False):
    """One finding, in the form that every command reports.

    `file` is relative to the repository; `line` and `column` count from 1, 0 if no place is known;
    `object` is `Kind namespace/name`; `path` leads to the value inside its document. If the object is
    rendered into a `folder`, `file` is the input that a person changes, and `input_path` leads to its field.
    `sweep` is the namespace and name of the sweep of which the object is an entry; `alike` are the same
    findings of its other entries, where `by_sweep` joined them.
    A `fix` changes the document in `file`, so what is composed or rendered has none.
    """

    id: str
    message: str
    hint: str = ""
    severity: Severity = "error"
    file: str = ""
    line: int = 0
    column: int = 0
    object: str = ""
    path: Path = ()
    folder: str = ""
    input_path: Path = ()
    sweep: str = ""
    alike: tuple[Problem, ...] = ()
    fix: Fix | None = None

    def __eq__(self, other: builtins.object) -> bool:
        """Return whether both report the same at the same place; fixes are not compared."""
        return isinstance(other, Problem) and astuple(self)[:-1] == astuple(other)[:-1]

    def __hash__(self) -> int:
        return hash(astuple(self)[:-1])

    def at(self, file: str, line: int, column: int) -> Problem:
        """Return the same problem with a place in a file."""
        return replace(self, file=file, line=line, column=column)

    def without_place(self) -> Problem:
        """Return the same problem without line and column, for a text that is not a file of the user."""
        return replace(self, line=0, column=0)

    @property
    def objects(self) -> tuple[str, ...]:
        """The objects that have this problem: several if it joins the entries of a sweep."""
        return tuple(dict.fromkeys(each.object for each in (self, *self.alike)))

    @property
    def is_about_key(self) -> bool:
        """Whether it is about the key at its path, which is unknown or excludes another one."""
        return self.id in ("IN002", "IN006", "SCHEMA004", "SCHEMA008")

    def dotted(self) -> str:
        """Return the path as people write it: `spec.replicatedJobs[0].name`."""
        return dotted(self.path)

    @property
    def input_field(self) -> str:
        """Return the field of the input and its cluster, as people write it; empty for what is their own."""
        return f"{dotted(self.input_path)} in cluster {self.folder.split('/')[1]}" if self.folder else ""

    def text(self) -> str:
        """Return the one or two lines that a terminal shows."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        severity = "" if self.severity == "error" else f"{self.severity}: "
        head = f"{place}: " if self.file else ""
        subject = f"{self.input_field}, {self.object}: " if self.folder else ""
        first = visible(f"{head}{severity}{self.id} {subject}{self.message}")
        return f"{first}\n  hint: {visible(self.hint)}" if self.hint else first

    def record(self) -> dict[str, Any]:
        """Return the JSON form, the same record in every command.

        Only a rendered object has a folder, only a correctable problem has fixes, and only one of several
        entries of a sweep has the list of all objects.
        """
        folder = {"folder": self.folder} if self.folder else {}
        objects = {"objects": list(self.objects)} if self.alike else {}
        fixes = {"fixes": [self.fix.record()]} if self.fix else {}
        return {
            **folder,
            "id": self.id,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "object": self.object,
            "path": self.dotted(),
            "message": self.message,
            "hint": self.hint,
            **objects,
            **fixes,
        }


def from_record(record: dict[str, Any]) -> Problem:
    """Return a problem of its JSON form, without its fixes.

    A path, which is text there, leads the message if no line is known.
    """
    path = "" if record["line"] or not record["path"] else f"{record['path']}: "
    fields = {name: value for name, value in record.items() if name not in ("fixes", "objects")}
    return Problem(**{**fields, "message": path + record["message"], "path": ()})


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


def escape_key(token: str) -> str:
    """Return a token as a JSON Pointer has it."""
    return token.replace("~", "~0").replace("/", "~1")


def pointer(path: Path) -> str:
    """Return `/a/b/0/c.d~1e` for `("a", "b", 0, "c.d/e")`, as RFC 6901 writes it."""
    return "".join(f"/{escape_key(str(part))}" for part in path)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems by file, place and id, each once, whatever order they come in."""
    order = attrgetter("file", "line", "column", "id", "message", "object")
    return tuple(sorted(dict.fromkeys(problems), key=lambda problem: (*order(problem), problem.dotted())))


def by_sweep(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems, with equal ones of several entries of a sweep joined into the first.

    They are equal if they have one id and place, and if their words differ only in the names of entries and
    objects.
    """
    groups: dict[object, list[Problem]] = {}
    for problem in problems:
        key = _without_entry(problem) if problem.sweep else id(problem)
        groups.setdefault(key, []).append(problem)
    return tuple(_joined(first, others) for first, *others in map(dict.fromkeys, groups.values()))


def _without_entry(problem: Problem) -> object:
    """Return what the problems of a sweep's entries share; the object and its folder have other names."""
    root, _, below = problem.folder.partition("/")
    kind, _, name = problem.object.partition(" ")
    entry = problem.folder.rpartition("/")[2]
    message, hint = (without_names(text, (name, entry)) for text in (problem.message, problem.hint))
    own = replace(problem, message=message, hint=hint, object=kind, folder=f"{root}/{below.split('/')[0]}")
    return replace(own, alike=())


def without_names(text: str, names: Iterable[str]) -> str:
    """Return a text without names of objects, `namespace/name` or `name`, the longest names first."""
    parts = {part for name in names for part in (name, name.rpartition("/")[2]) if part}
    for part in sorted(parts, key=len, reverse=True):
        text = re.sub(rf"(?<![\w-]){re.escape(part)}(?![\w])", "", text)
    return text


def _joined(first: Problem, others: list[Problem]) -> Problem:
    if not others:
        return first
    more = "1 more entry" if len(others) == 1 else f"{len(others):,} more entries"
    return replace(
        first, message=f"{first.message} (and {more} of the sweep {first.sweep})", alike=tuple(others)
    )


def errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return those that stop a command."""
    return tuple(problem for problem in problems if problem.severity == "error")


def family(ident: str) -> str:
    """Return the letters of an id: `TPU` of `TPU119`, `ACME` of `ACME-101`."""
    return ident.rstrip("0123456789").rstrip("-")


def selectors(idents: Iterable[str]) -> set[str]:
    """Return what may be written to name problems: ids, and the letters of families."""
    return {name for ident in idents for name in (ident, family(ident))}


def tally(problems: Iterable[Problem]) -> dict[Severity, int]:
    """Return the number of problems of each severity, the worst first."""
    numbers = Counter(problem.severity for problem in problems)
    return {severity: numbers[severity] for severity in SEVERITIES}


def tallied(problems: Iterable[Problem]) -> str:
    """Return `1 error, 0 warnings`, and the number of notes if there are any."""
    numbers = tally(problems).items()
    return ", ".join(counted(number, noun) for noun, number in numbers if number or noun != "note")


MOST = 1000
"""Problems that are printed for people; programs get all."""


def foremost(problems: Sequence[Problem]) -> tuple[Sequence[Problem], str]:
    """Return the problems to print and a line about the rest: of many, only the worst."""
    if len(problems) <= MOST:
        return problems, ""
    ranked = sorted(range(len(problems)), key=lambda at: SEVERITIES.index(problems[at].severity))
    left = len(problems) - MOST
    more = f"and {counted(left, 'more problem')}, which -o json lists"
    return [problems[at] for at in sorted(ranked[:MOST])], more


def bounded(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of one document; of very many, the first ones and a line about the rest."""
    first = list(islice(problems, MOST + 1))
    if len(first) > MOST:
        message = f"the document has more than {MOST:,} errors; the others are not listed"
        first[MOST] = Problem("FILE020", message, "correct the listed errors, and check again")
    return first


def nearest(word: str, choices: Iterable[str], *, count: int = 1) -> list[str]:
    """Return the choices that look most like a word, best first; none if no choice is similar."""
    by_lower = {choice.lower(): choice for choice in choices}
    matches = difflib.get_close_matches(word.lower(), list(by_lower), n=count, cutoff=0.6)
    return [by_lower[match] for match in matches]


_SHORT_WORD = 6
"""Letters; in a shorter word two typing errors leave too little of it."""


def only_near(word: str, choices: Iterable[str]) -> tuple[str, bool]:
    """Return the one choice near to a misspelt word, '' for none or several, and whether that is sure.

    It is sure if one or two letters are wrong, or only their case.
    """
    near = nearest(word, choices, count=3)
    steps = [steps_between(word.lower(), choice.lower()) for choice in near]
    least = min(steps, default=0)
    if steps.count(least) != 1:
        return "", False
    return near[steps.index(least)], least <= (1 if len(word) < _SHORT_WORD else 2)


_LONG_WORD = 5


def are_both_meant(name: str, other: str) -> bool:
    """Tell whether two similar names may both be right.

    They may if they differ by numbers, or by a letter of short words: cpu and gpu, east and west, a and b.
    """
    words, others = (re.findall("[a-z]+", text) for text in (name, other))
    pairs = zip(words, others, strict=False)
    return len(words) == len(others) and all(a == b or len(a) == len(b) < _LONG_WORD for a, b in pairs)


def steps_between(word: str, other: str) -> int:
    """Return how many letters are added, left out, exchanged or swapped with the next between two words."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(word):
        row = [i + 1]
        for j, counterpart in enumerate(other):
            steps = min(rows[-1][j] + (letter != counterpart), rows[-1][j + 1] + 1, row[j] + 1)
            if i and j and (letter, word[i - 1]) == (other[j - 1], counterpart):
                steps = min(steps, rows[-2][j - 1] + 1)
            row.append(steps)
        rows.append(row)
    return rows[-1][-1]


def counted(number: int, noun: str) -> str:
    """Return `1 slice`, `2 slices` or `1,024 slices`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def first_of(words: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return `a, b and 7 more`: the first words of a list, and how many there are besides."""
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return separator.join(words[:most]) + more


_MEANT, _FEW = "did you mean '", 12


def meant(hint: str) -> str:
    """Return the word that a hint of `did_you_mean` proposes, '' for other hints."""
    return hint.removeprefix(_MEANT).removesuffix("'?") if hint.startswith(_MEANT) else ""


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return the hint for a misspelt word: the nearest choice, else all of them when they are few."""
    pool = sorted(set(choices))
    if near := nearest(word, pool):
        return f"{_MEANT}{near[0]}'?"
    return f"write one of: {', '.join(pool)}" if 0 < len(pool) <= _FEW else ""
