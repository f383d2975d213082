"""What happens to output that nobody can read: no traceback, and no other verdict."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from tests.conftest import Repo

from slicewright.cli.main import main

SLICEWRIGHT = f"{sys.executable} -m slicewright"
DESCRIPTORS = (1, 2)
FULL = Path("/dev/full")
LOST: dict[Path | None, str] = {FULL: "No space left on device", None: "Bad file descriptor"}
"""What is said of a stdout that takes nothing; None is a closed one."""


def shell(repo: Repo, line: str) -> tuple[int, str, str]:
    """Run a line of bash in a repository, with pipefail; return code, stdout and stderr."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("slicewright", SLICEWRIGHT)],
        cwd=repo.root,
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.returncode, done.stdout, done.stderr


def written_to(stdout: Path | None, line: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Run a command in this process with descriptors as a shell gives them; return code and stderr."""
    monkeypatch.setattr(sys, "argv", ["slicewright", *line.split()])
    monkeypatch.setattr("slicewright.cli.main.gc", MagicMock())
    kept = [os.dup(number) for number in DESCRIPTORS]
    with tempfile.TemporaryFile() as said:
        try:
            os.dup2(said.fileno(), 2)
            if stdout:
                target = os.open(stdout, os.O_WRONLY)
                os.dup2(target, 1)
                os.close(target)
            else:
                os.close(1)
                monkeypatch.setattr(sys, "__stdout__", None)
            for name in ("stdout", "stderr"):
                monkeypatch.setattr(sys, name, getattr(sys, f"__{name}__"))
            with pytest.raises(SystemExit) as ended:
                main()
            sys.stderr.flush()
        finally:
            monkeypatch.undo()
            for number, copy in zip(DESCRIPTORS, kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)
        said.seek(0)
        return int(ended.value.code or 0), said.read().decode()


@pytest.mark.slow
def test_reader_that_leaves_early_is_no_failure(repo: Repo) -> None:
    """`slicewright catalog | head` exits 0 under pipefail, and says nothing more."""
    assert shell(repo, "slicewright catalog -o json | head -c 10") == (0, "[\n  {\n    ", "")
    assert shell(repo, "slicewright --help | head -1") == (
        0,
        "Usage: slicewright [OPTIONS] COMMAND [ARGS]...\n",
        "",
    )
    assert shell(repo, "slicewright catalog v5p | true") == (0, "", "")


@pytest.mark.ci
def test_verdict_does_not_depend_on_the_reader(repo: Repo) -> None:
    """A check that fails exits 1 whether or not somebody read to the end, and a render writes its files."""
    assert shell(repo, "slicewright render --check | true")[0] == 1

    assert shell(repo, "slicewright render | true")[0] == 0
    repo.run("render", "--check")
    assert repo.runs() != []


COMMANDS = [
    "--help",
    "--version",
    "catalog",
    "catalog -o json",
    "explain a",
    "outdated",
    "render --stdout",
    "rule",
    "rule TPU003",
    "validate",
    "validate -o sarif",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("stdout", "reason"), LOST.items(), ids=["full", "closed"])
def test_result_that_cannot_be_written_exits_3(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, command: str, stdout: Path | None, reason: str
) -> None:
    """On a full disk and on a closed stdout: one line says so, for a result that is lost is not a result."""
    monkeypatch.chdir(repo.root)

    assert (3, f"Error: cannot write to stdout: {reason}\n") == written_to(stdout, command, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("redirect", "reason"), [(f"> {FULL}", LOST[FULL]), pytest.param(">&-", LOST[None], marks=pytest.mark.ci)]
)
def test_process_that_cannot_write_its_result_exits_3(repo: Repo, redirect: str, reason: str) -> None:
    """A process of its own ends as the command does: what Python does at its end changes nothing."""
    expected = (3, "", f"Error: cannot write to stdout: {reason}\n")

    assert expected == shell(repo, f"slicewright catalog v5p {redirect}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "redirect",
    [
        pytest.param(f"2> {FULL}", marks=pytest.mark.ci),
        pytest.param("2>&-", marks=pytest.mark.ci),
        "2>&- <&-",
    ],
)
def test_messages_that_cannot_be_written_are_lost(repo: Repo, redirect: str) -> None:
    """The result and the exit code are there without them."""
    repo.workload("a", "clusters: [c1]\ntpu: v6e-8\ncontainer: {image: x}")

    code, out, err = shell(repo, f"slicewright render --stdout {redirect}")

    assert (code, out.partition(":")[0], err) == (0, "apiVersion", "")
    assert shell(repo, f"slicewright explain nothing {redirect}") == (2, "", "")


@pytest.mark.slow
def test_closed_stdout_is_no_file_of_the_repository(repo: Repo) -> None:
    """No file that is opened takes the number of a stream that was closed, and gets its text."""
    repo.run("render")
    before = repo.tree()

    assert shell(repo, "slicewright render <&- >&- 2>&-")[0] == 3
    assert before == repo.tree()


@pytest.mark.slow
def test_results_are_utf8_in_every_locale(repo: Repo) -> None:
    """YAML and JSON are UTF-8, whatever the terminal is."""
    repo.workload("a", "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x, script: echo é}")

    code, out, err = shell(repo, "PYTHONIOENCODING=latin-1 slicewright render --stdout")

    assert (code, "echo é" in out, err) == (0, True, "")


@pytest.mark.slow
@pytest.mark.usefixtures("in_front")
def test_interrupt_is_no_verdict(repo: Repo) -> None:
    """Ctrl-C exits 130, as a shell says of a program that SIGINT ended; 1 would be a verdict."""
    command = [sys.executable, "-m", "slicewright", "validate", "-"]
    with subprocess.Popen(
        command,
        cwd=repo.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        _until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)

    assert (process.returncode, out, err) == (130, "", "\ninterrupted\n")


def _until_it_reads(pid: int) -> None:
    """Wait until a process waits for what is piped into it."""
    deadline = time.monotonic() + 300
    where = Path(f"/proc/{pid}/syscall")
    while time.monotonic() < deadline:
        number = where.read_text(encoding="ascii").split()
        if number[:2] in (["0", "0x0"], ["63", "0x0"]):  # read(0, ...) on x86-64 and arm64
            return
        time.sleep(0.02)
    message = f"process {pid} does not read its input; the tests run as {os.getuid()}"
    raise AssertionError(message)
