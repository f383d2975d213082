"""Work on many units or objects, by several processes: YAML and rules are what takes the time."""

from __future__ import annotations

import gc
import marshal
import multiprocessing
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slicewright.core.check.examine import Checked, Examined
from slicewright.core.check.model import Resource
from slicewright.core.check.unpack import unpack
from slicewright.core.document.read import Document
from slicewright.core.intent.source import Source, SourceFile
from slicewright.core.problem import Problem
from slicewright.workspace.load import Loaded, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from multiprocessing.pool import IMapIterator, Pool
    from multiprocessing.process import BaseProcess

    from slicewright.core.check.engine import Engine
    from slicewright.core.check.examine import Unit

_MANY = 100
"""Units or objects from which a second process is worth its start."""
_CHUNK = 25
"""How many of them a process takes at once."""
_PATIENCE = 0.5
"""Seconds without an answer after which we look whether all processes are still there."""


def map_forked(work: Work, count: int) -> Iterator[Any]:
    """Return an iterator over what some work returns for each of `count` numbers, in their order.

    Where many wait, processes begin with it at once, before anybody asks for the first answer. They are
    forked, so that they start with everything that `work` knows; they send plain data back. Until the last
    answer was taken no process looks for garbage: all of them make data without cycles, which is needed to
    the end, so that looking would be lost on them.
    """
    processes = _processes()
    if processes < 2 or count < _MANY:  # noqa: PLR2004 - more than one
        return map(work, range(count))
    global _WORK  # noqa: PLW0603 - how a forked process gets what cannot be sent to it
    _WORK = work
    before = set(multiprocessing.active_children())
    was_enabled = gc.isenabled()
    gc.disable()
    pool = multiprocessing.get_context("fork").Pool(processes)
    helpers = set(multiprocessing.active_children()) - before
    ranges = [(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK)]
    answers = _answers(work, pool, helpers, ranges)
    return _then_enable(answers) if was_enabled else answers


def _then_enable(answers: Iterator[Any]) -> Iterator[Any]:
    """Yield all answers, and then look for garbage again."""
    try:
        yield from answers
    finally:
        gc.enable()


def _answers(
    work: Work, pool: Pool, helpers: set[BaseProcess], ranges: Sequence[tuple[int, int]]
) -> Iterator[Any]:
    """Yield the answers as they come; those of a helper that was killed are found here instead.

    A pool starts another process in its place, and waits forever for what the first one took along.
    """
    with pool:
        parts = pool.imap(_part, ranges)
        for start, _ in ranges:
            part = _next(parts, helpers)
            if part is None:
                pool.terminate()
                yield from map(work, range(start, ranges[-1][1]))
                return
            yield from marshal.loads(part)  # noqa: S302 - from our own child


def _next(parts: IMapIterator[bytes], helpers: set[BaseProcess]) -> bytes | None:
    """Return the next part; None where it does not come, because a process is gone."""
    while True:
        try:
            return parts.next(_PATIENCE)
        except multiprocessing.TimeoutError:
            if not all(helper.is_alive() for helper in helpers):
                return None


Work = Callable[[int], Any]
"""Returns plain data for a number: None, numbers, strings, lists, tuples and dicts of them."""
_WORK: Work | None = None


def _processes() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def _part(numbers: tuple[int, int]) -> bytes:
    assert _WORK is not None  # noqa: S101 - set before the fork
    return marshal.dumps([_WORK(number) for number in range(*numbers)])


def problems_of_each(work: Callable[[int], Iterable[Problem]], count: int) -> Iterator[Problem]:
    """Yield the problems that some work finds for each of `count` numbers, in their order."""
    for found in map_forked(lambda number: packed(work(number)), count):
        yield from unpacked(found)


def examine_each(units: Sequence[Unit], engine: Engine, *, metadata_only: bool = False) -> Iterator[Examined]:
    """Return an iterator over the units, each read and checked, in the order that was given.

    With `metadata_only` nothing but apiVersion, kind and metadata is left of units in which everything is
    clean: enough where nobody asks for more than the verdict, and quicker to send.
    """
    # Another process has no stdin, and would find nothing to check.
    piped = {number: load(unit) for number, unit in enumerate(units) if unit.form == "stdin"}

    def work(number: int) -> tuple[Any, ...]:
        loaded = piped.get(number) or load(units[number])
        items, others = _items(loaded)
        verdicts = [engine.verdict(item) for item in items]
        checks = [
            (verdict, engine.is_clean(item, verdict)) for item, verdict in zip(items, verdicts, strict=True)
        ]
        is_clean = not others and all(clean for _, clean in checks)
        part = _head if metadata_only and is_clean else _whole
        documents = [(part(document.data), document.index, document.line) for document in loaded.documents]
        text = "" if part is _head else loaded.text
        return text, documents, packed(loaded.problems), checks, loaded.kustomizations

    return map(_examined, units, map_forked(work, len(units)))


def _whole(data: Any) -> Any:
    return data


def _head(data: Any) -> Any:
    if not isinstance(data, dict) or "items" in data:
        return data
    return {key: data[key] for key in ("apiVersion", "kind", "metadata") if key in data}


def _examined(unit: Unit, answer: tuple[Any, ...]) -> Examined:
    text, data, problems, checks, written = answer
    loaded = Loaded(unit, text, tuple(Document(*document) for document in data), unpacked(problems))
    items, others = _items(loaded)
    objects = tuple(Checked(item, *check) for item, check in zip(items, checks, strict=True))
    return Examined(unit, objects, (*loaded.problems, *others), written)


def _items(loaded: Loaded) -> tuple[list[Resource], list[Problem]]:
    unit = loaded.unit
    items: list[Resource] = []
    problems: list[Problem] = []
    file = SourceFile(unit.name, loaded.text)
    for document in loaded.documents:
        source = None if unit.form == "folder" else Source(file, document)
        if not unit.named and not _looks_like_an_object(document.data):
            continue
        for found in unpack(document.data, unit.name, source):
            if isinstance(found, Resource):
                items.append(found)
            else:
                problems.append(found)
    return items, problems


def _looks_like_an_object(data: Any) -> bool:
    """Tell whether a document that nobody named is meant as an object.

    It has an apiVersion and a kind, or one of the two and the fields of an object: Helm's Chart.yaml has an
    apiVersion, and other tools have a kind.
    """
    if not isinstance(data, dict):
        return False
    known = ("apiVersion" in data) + ("kind" in data)
    return known == 2 or (known == 1 and ("metadata" in data or "spec" in data))  # noqa: PLR2004 - both


_FIELDS = ("id", "message", "hint", "severity", "file", "line", "column", "object", "path")


def packed(problems: Iterable[Problem]) -> list[tuple[Any, ...]]:
    """Return problems as plain data."""
    return [tuple(getattr(problem, name) for name in _FIELDS) for problem in problems]


def unpacked(problems: Iterable[tuple[Any, ...]]) -> tuple[Problem, ...]:
    """Return the problems that were packed."""
    return tuple(Problem(*values) for values in problems)
