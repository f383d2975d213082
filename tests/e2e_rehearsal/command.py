"""`slicewright rehearse` as a process of its own, which is watched, interrupted and ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import Repo
from tests.testbed.kit import eventually, processes

from slicewright.testbed import process_group, supervisor, waiting

DEADLINE = 600.0
CLUSTER = """
    pools: [{name: tpus, tpu: v5litepod-8, slices: 1}]
    priorityClasses: [{name: high, value: 1000}]
    clusterQueues:
    - name: cq
      quota: [{pool: tpus, nominalSlices: 1}]
      localQueues: [{name: q, namespace: team}]
"""
TEAM = "queueName: q\nrehearsal: {duration: 20s}"


class Rehearsing:
    """The command while it runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []

    def until(self, words: str) -> None:
        """Wait for a line of stderr that has some words."""
        for line in self.process.stderr or ():
            self.said.append(line)
            if words in line:
                return
        raise AssertionError(f"it ended without saying '{words}':\n{''.join(self.said)}")

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        """Press Ctrl-C, or send another signal."""
        os.kill(self.process.pid, number)

    def kill_program(self, name: str) -> None:
        """Kill a program of its test bed."""
        (folder,) = process_group.clusters_root(os.environ).glob(f"run-{self.process.pid}-*")
        os.kill(supervisor.read_state(folder)["programs"][name], signal.SIGKILL)

    def end(self) -> tuple[int, str, str]:
        """Wait for its end; return exit code, stdout and all of stderr. Nothing of it is left."""
        out, err = self.process.communicate(timeout=waiting.stretched(DEADLINE))
        eventually("no program is left", lambda: not processes(Path(f"run-{self.process.pid}-")))
        return self.process.returncode, out, "".join(self.said) + (err or "")


@contextmanager
def rehearsing(
    repo: Repo, *arguments: str, stderr: int = subprocess.PIPE, **environ: str
) -> Iterator[Rehearsing]:
    """Run the command as a shell in the foreground does, with some variables of the environment."""
    command = [sys.executable, "-c", _IN_FRONT, "rehearse", "-C", str(repo.root), *arguments]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        process_group=0,
        env={**os.environ, **environ},
    ) as process:
        try:
            yield Rehearsing(process)
        finally:
            process.kill()


_IN_FRONT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored in the background,
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and nohup this one
from slicewright.cli.main import main
main()
"""


def rehearsed(repo: Repo, *arguments: str) -> tuple[int, str, str]:
    """Run the command to its end; return exit code, stdout and stderr."""
    with rehearsing(repo, *arguments) as running:
        return running.end()
