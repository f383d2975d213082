"""The words of messages, asserted in one file a group: tests/messages/KQ.txt has those of KQ101, KQ102 ...

A test asserts what `places` returns: where each problem is, and its id. `places` itself compares the words,
message and hint, with the snapshot. `make snapshots` writes the snapshots anew.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from slicewright.kubernetes.problem import Problem

FOLDER = Path(__file__).parent / "messages"
HINT = "  hint: "
USE = "  - "
_PROBLEM = re.compile(
    r"(?P<place>.*?\b(?P<id>[A-Z]{2,9}\d{3})(?: \S+ in cluster \S+, \S+ \S+:)?) (?P<message>.+)"
)

Use = tuple[str, int]
"""A test or its case, and which of its problems it is, from 1."""


@dataclass
class _Session:
    """The test that runs and how many problems it had so far; with --snapshots, what to write."""

    test: str = ""
    count: int = 0
    recorded: dict[Use, str] | None = None
    compared: set[Use] = field(default_factory=set)


_session = _Session()


def places(said: Any) -> Any:
    """Return problems without their words: `clusters/c1.yaml:8:31: QUOTA001`, a line each.

    Accepts a problem, the text of a terminal, and lists and mappings of these; the form is kept. Lines of a
    text that are not problems stay as they are. The words must be those of this problem in the snapshot.
    """
    if isinstance(said, Problem):
        return places(said.text())
    if isinstance(said, str):
        return _text(said)
    if isinstance(said, Mapping):
        return {key: places(value) for key, value in said.items()}
    if isinstance(said, tuple):
        return tuple(places(value) for value in said)
    return [places(value) for value in said] if isinstance(said, Iterable) else said


def _text(said: str) -> str:
    kept: list[str] = []
    problem: re.Match[str] | None = None
    for line in (*said.split("\n"), ""):
        if problem:
            is_hint = line.startswith(HINT)
            _compare(f"{problem['id']} {problem['message']}" + (f"\n{line}" if is_hint else ""))
            problem = None
            if is_hint:
                continue
        problem = _PROBLEM.fullmatch(line)
        kept.append(problem["place"] if problem else line)
    return "\n".join(kept[:-1])


def _compare(text: str) -> None:
    test = _test()
    _session.count = _session.count + 1 if _session.test == test else 1
    _session.test = test
    use = (test, _session.count)
    if _session.recorded is None:
        _session.compared.add(use)
        expected = _read(_group(text)).get(use, "nothing")
        if expected != text:
            pytest.fail(
                f"expected in tests/messages:\n{expected}\nnow:\n{text}\nif now is right: make snapshots"
            )
    elif _session.recorded.setdefault(use, text) != text:
        pytest.fail(f"two tests have the name {test!r}")


def _test() -> str:
    """Return a short name of the test that runs: its folder, and its case or its function."""
    path, _, name = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].partition("::")
    case = name.partition("[")[2].removesuffix("]") or name.removeprefix("test_")
    return f"{Path(path).parent.name}: {case}"


def _group(text: str) -> str:
    return text.partition(" ")[0].rstrip("0123456789")


@cache
def _read(group: str) -> dict[Use, str]:
    path = FOLDER / f"{group}.txt"
    texts = {}
    text = ""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith(USE):
            use = re.fullmatch(r"  - (.+?)(?: #(\d+))?", line)
            assert use, f"{path}: {line}"
            texts[use[1], int(use[2] or 1)] = text
        else:
            text = f"{text}\n{line}" if line.startswith(HINT) else line
    return texts


def compared() -> set[Use]:
    """Return the words that were compared so far; those of other processes can be added."""
    return _session.compared


def unused() -> list[str]:
    """Return the lines of the snapshots that no test compared."""
    uses = {use: path.name for path in sorted(FOLDER.glob("*.txt")) for use in _read(path.stem)}
    return [f"{name}:{_line(use)}" for use, name in uses.items() if use not in _session.compared]


def record() -> None:
    """Begin to write down words instead of comparing them."""
    _session.recorded = {}


def write() -> None:
    """Write what was recorded; what was there of other tests is kept."""
    recorded = _session.recorded or {}
    tests = {test for test, _ in recorded}
    known = {
        use: text
        for path in FOLDER.glob("*.txt")
        for use, text in _read(path.stem).items()
        if use[0] not in tests
    }
    groups: dict[str, dict[str, list[Use]]] = defaultdict(lambda: defaultdict(list))
    for use, text in (known | recorded).items():
        groups[_group(text)][text].append(use)
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for group, texts in groups.items():
        lines = [line for text in sorted(texts) for line in (text, *map(_line, sorted(texts[text])))]
        (FOLDER / f"{group}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _line(use: Use) -> str:
    name, number = use
    return f"{USE}{name} #{number}" if number > 1 else f"{USE}{name}"
