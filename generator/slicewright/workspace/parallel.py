"""Work on many units or objects, shared by forked processes: YAML and rules take most of the time."""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from slicewright.core.check.examine import Checked, Examined
from slicewright.core.check.model import Resource
from slicewright.core.check.partial import is_called_partial
from slicewright.core.check.passed_by import (
    NO_OBJECT,
    UNNAMED_PATCH,
    PassedBy,
    begins_as_patch,
    holds_object,
    may_be_patch,
)
from slicewright.core.check.unfinished import placeholders_in
from slicewright.core.check.unpack import unpack
from slicewright.core.intent.source import Source, SourceFile
from slicewright.workspace.load import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from multiprocessing.connection import Connection

    from slicewright.core.check.engine import Engine
    from slicewright.core.check.examine import Unit
    from slicewright.core.problem import Problem
    from slicewright.workspace.load import Loaded

_MANY = 100
"""Units or objects from which a second process is worth its start."""
_CHUNK = 25
"""How many of them a process sends at once."""

_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")
"""Microseconds of CPU time and of the period that they are for, as a container sees its own limit."""

Result = TypeVar("Result")


def map_forked(work: Callable[[int], Result], count: int) -> Iterator[Result]:
    """Return an iterator over the results of `work` for each number below `count`, in order.

    Where there are many, forked processes begin at once, before the first result is asked for. They know all
    that `work` knows, and send pickled results. Until the last result is taken, garbage collection is off in
    all of them: results have no cycles and are needed to the end.
    """
    processes = _processes()
    if processes < 2 or count < _MANY:  # noqa: PLR2004 - more than one
        return map(work, range(count))
    chunks = [range(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK)]
    was_enabled = gc.isenabled()
    gc.disable()
    context = multiprocessing.get_context("fork")
    receivers = []
    for first in range(processes):
        receiver, sender = context.Pipe(duplex=False)
        context.Process(target=_send, args=(sender, work, chunks[first::processes]), daemon=True).start()
        sender.close()
        receivers.append(receiver)
    # Threads begin after the last fork, for a fork does not copy them.
    return _results(work, chunks, [_inbox(receiver) for receiver in receivers], was_enabled=was_enabled)


def _processes() -> int:
    return cores() if sys.platform == "linux" else 1


def cores() -> int:
    """Return how many processors this process may keep busy: its affinity and its container limit them."""
    usable = len(os.sched_getaffinity(0))
    try:
        quota, period = _CPU_LIMIT.read_text(encoding="ascii").split()
        return max(1, min(usable, int(quota) // int(period)))
    except (OSError, ValueError):  # not in a container, or `max`: without a limit
        return usable


def _send(sender: Connection, work: Callable[[int], Any], chunks: Iterable[range]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    Thread(target=_end_with_parent, daemon=True).start()
    with sender:
        for chunk in chunks:
            sender.send_bytes(pickle.dumps([work(number) for number in chunk]))


def _end_with_parent() -> None:
    """End this process when the one that wants its results has ended, for it may have been killed.

    A process that began later also holds the pipe that tells it: the last one ends first.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGKILL)


def _inbox(receiver: Connection) -> SimpleQueue[bytes | None]:
    """Return what a process sends, None at its end; it never waits for a reader."""
    inbox: SimpleQueue[bytes | None] = SimpleQueue()

    def receive() -> None:
        try:
            while True:
                inbox.put(receiver.recv_bytes())
        except (EOFError, OSError):  # OSError: the process was killed in the middle of a message
            inbox.put(None)

    Thread(target=receive, daemon=True).start()
    return inbox


def _results(
    work: Callable[[int], Result],
    chunks: Sequence[range],
    inboxes: Sequence[SimpleQueue[bytes | None]],
    *,
    was_enabled: bool,
) -> Iterator[Result]:
    """Yield the results as they come; those of a process that was killed are made here instead."""
    try:
        for number, chunk in enumerate(chunks):
            inbox = inboxes[number % len(inboxes)]
            sent = inbox.get()
            if sent is None:
                inbox.put(None)
                yield from map(work, chunk)
            else:
                yield from pickle.loads(sent)  # noqa: S301 - from our own child
        for inbox in inboxes:
            inbox.get()  # the end: a thread that still reads must not be there at the next fork
    finally:
        if was_enabled:
            gc.enable()


def problems_of_each(work: Callable[[int], Iterable[Problem]], count: int) -> Iterator[Problem]:
    """Yield the problems that `work` finds for each number below `count`, in order.

    The first is worked on before other processes begin: these then have what it gathered about all objects.
    """
    if count:
        yield from work(0)
    for problems in map_forked(lambda number: tuple(work(number + 1)), count - 1):
        yield from problems


def examine_each(
    units: Sequence[Unit],
    engine: Engine,
    values: Mapping[str, str] | None = None,
    *,
    metadata_only: bool = False,
) -> Iterator[Examined]:
    """Return an iterator over the units, each read and checked, in the order that was given.

    `values` are filled in for placeholders. With `metadata_only` a clean object keeps apiVersion, kind and
    metadata only. That is enough where no rule follows, and it is quicker to send.
    """
    # Another process has no stdin, and would find nothing to check.
    piped = {number: load(unit, values) for number, unit in enumerate(units) if unit.form == "stdin"}

    def work(number: int) -> tuple[Examined, ...]:
        loaded = piped.get(number) or load(units[number], values)
        return tuple(map(examined, (loaded, *(load(unit, values) for unit in loaded.instead))))

    def examined(loaded: Loaded) -> Examined:
        resources, problems, passed_by = _resources(loaded)
        if resources and _may_be_patch(loaded.unit, loaded.text) and not any(map(engine.is_whole, resources)):
            return Examined(
                loaded.unit, (), (), (), (PassedBy(loaded.unit.name, UNNAMED_PATCH),), loaded.used
            )
        objects = []
        for resource in resources:
            verdict = engine.verdict(resource)
            # What is rendered for a cluster is finished.
            held = None if loaded.unit.cluster else placeholders_in(resource.data)
            is_clean = not held and engine.is_clean(resource, verdict)
            sent = _without_body(resource) if metadata_only and is_clean else resource
            is_partial = _may_be_patch(loaded.unit, loaded.text) or is_called_partial(resource.file)
            is_partial = is_partial or loaded.unit.partial or loaded.unit.inside
            objects.append(Checked(sent, verdict, is_clean, held, is_partial, loaded.unit.patched))
        all_problems = (*loaded.problems, *problems)
        return Examined(
            loaded.unit,
            tuple(objects),
            all_problems,
            loaded.kustomizations,
            passed_by,
            loaded.used,
            loaded.unrestricted,
        )

    return _each_once(map_forked(work, len(units)), {unit.path for unit in units})


def _each_once(results: Iterable[Sequence[Examined]], seen: set[str]) -> Iterator[Examined]:
    """Yield what was examined; a file that is checked instead of several builds is yielded once."""
    for first, *others in results:
        yield first
        for file in others:
            if file.unit.path not in seen:
                seen.add(file.unit.path)
                yield file


def _without_body(resource: Resource) -> Resource:
    kept = ("apiVersion", "kind", "metadata")
    data = {key: value for key, value in resource.data.items() if key in kept}
    return Resource(data, resource.file, at=resource.at)


def _may_be_patch(unit: Unit, text: str) -> bool:
    is_called_so = unit.inside or may_be_patch(unit.name) or begins_as_patch(text)
    return unit.form == "file" and not unit.named and is_called_so


def _resources(loaded: Loaded) -> tuple[list[Resource], list[Problem], tuple[PassedBy, ...]]:
    """Return the objects of a unit, what keeps others from being one, and documents that are passed by."""
    unit = loaded.unit
    resources: list[Resource] = []
    problems: list[Problem] = []
    passed_by = list(loaded.passed_by)
    file = SourceFile(unit.name, loaded.text)
    for number, document in enumerate(loaded.documents):
        source = Source(file, document) if unit.form in ("file", "stdin") else None
        name = loaded.files[number] if loaded.files else unit.name
        if not unit.named and not holds_object(document.data):
            passed_by.append(PassedBy(name, NO_OBJECT, line=document.line))
            continue
        for unpacked in unpack(document.data, name, source):
            if isinstance(unpacked, Resource):
                resources.append(unpacked)
            else:
                problems.append(unpacked)
    return resources, problems, tuple(passed_by)
