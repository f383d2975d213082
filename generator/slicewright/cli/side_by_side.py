"""Rehearsals of a comparison in parallel: each in a forked process with its own test bed."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess

from msgspec.structs import replace

from slicewright.cli import show
from slicewright.cli.command import BROKEN
from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.session import USUAL_HANDLERS, Interruption, Result

Play = Callable[[], Result]


_LOOK_SECONDS = 1.0


def side_by_side(plays: Sequence[Play], jobs: int) -> Generator[Result]:
    """Yield the results of rehearsals in their order, while up to `jobs` of them run.

    An interruption ends all of them: the first that it cut short says so in its result. Processes that still
    rehearse end with this iterator, and with this process however that ends.
    """
    processes = _Processes(plays)
    with Interruption() as interruption:
        try:
            for number in range(len(plays)):
                while number not in processes.done:
                    with interruption.held_back():
                        processes.begin(0 if interruption.signal else jobs)
                        processes.tell(interruption.signal)
                        processes.look()
                result = processes.done.pop(number)
                if result.report.interrupted:
                    result = replace(result, signal=interruption.signal or result.signal)
                yield result
        finally:
            processes.tell(signal.SIGTERM)


class _Processes:
    """The running processes, by the pipes that transfer their results."""

    def __init__(self, plays: Sequence[Play]) -> None:
        self._plays = plays
        self._begun = 0
        self._signal = 0
        self._running: dict[Connection, tuple[int, ForkProcess]] = {}
        self.done: dict[int, Result] = {}

    def begin(self, jobs: int) -> None:
        """Start the next rehearsals, as long as fewer than `jobs` run."""
        context = multiprocessing.get_context("fork")
        while self._begun < len(self._plays) and len(self._running) < jobs:
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_send, args=(sender, self._plays[self._begun]), daemon=True)
            process.start()
            sender.close()
            self._running[receiver] = self._begun, process
            self._begun += 1
        if not self._running:
            raise KeyboardInterrupt

    def tell(self, number: int) -> None:
        """Send a signal once to all processes that rehearse; 0 sends none."""
        if number and not self._signal:
            self._signal = number
            for _, process in self._running.values():
                os.kill(process.ident or 0, number)

    def look(self) -> None:
        """Wait up to a second for results of the processes."""
        ready = multiprocessing.connection.wait(self._running, _LOOK_SECONDS)
        for receiver in [each for each in self._running if each in ready]:
            number, process = self._running.pop(receiver)
            try:
                self.done[number] = receiver.recv()
            except EOFError:
                process.join()
                self._end(process.exitcode or 0)

    def _end(self, code: int) -> None:
        """End the command as a rehearsal that gave no result; it has said why, unless it was killed."""
        if self._signal:
            raise KeyboardInterrupt
        if code > 0:
            sys.exit(code)
        message, hint = "a rehearsal ended: its process was killed", "run one rehearsal at a time: --jobs 1"
        show.stop((Problem("REH009", message, hint),), BROKEN)


def _send(sender: Connection, play: Play) -> None:
    os.setpgrp()  # a Ctrl-C is for the first process, which tells the others
    for number, usual in USUAL_HANDLERS.items():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, usual)
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    sender.send(play())


def _follow(parent: int) -> None:
    """End this process when the one that wants its result has ended."""
    gone = threading.Event()
    while os.getppid() == parent:
        gone.wait(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
