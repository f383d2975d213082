"""Many files: a bar on a terminal that waits, and several processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write
from tests.testbed.kit import eventually

from slicewright.workspace import parallel


def test_progress_is_shown_on_a_terminal_that_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar appears on stderr when it takes more than a second, and only on a terminal."""
    write(tmp_path, {f"{number}.yaml": CONFIG_MAP for number in range(3)})
    module = sys.modules["slicewright.cli.validate"]
    assert "checking" not in run(tmp_path, ".").err
    monkeypatch.setattr(module, "_PATIENCE", -1)
    assert "checking" not in run(tmp_path, ".").err
    monkeypatch.setattr(module, "_is_terminal", lambda: True)
    assert "checking" in run(tmp_path, ".").err


@pytest.mark.slow
def test_many_files_are_spread_over_processes(tmp_path: Path) -> None:
    """With two processes the report is that of one, in the same order."""
    write(
        tmp_path,
        {f"{number}.yaml": CONFIG_MAP.replace("name: a", f"name: a{number}") for number in range(120)},
    )
    write(tmp_path, {"7.yaml": BAD_CONFIG_MAP, "90.yaml": "kind: A\napiVersion: ["})
    code = (
        "import os, sys; from slicewright.workspace import parallel; "
        "count = int(sys.argv.pop(1)); parallel._processes = lambda: count; "
        "from slicewright.cli.validate import validate; validate()"
    )
    reports = [
        subprocess.run(
            [sys.executable, "-c", code, count, ".", "-o", "json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for count in ("1", "2")
    ]
    assert [problem["id"] for problem in json.loads(reports[0])["problems"]] == ["SCHEMA003", "YAML001"]
    assert reports[0] == reports[1]


@pytest.mark.slow
def test_stdin_is_read_beside_many_files(tmp_path: Path) -> None:
    """Other processes have no stdin: what is piped in is read by the first."""
    write(tmp_path, {f"{number}.yaml": CONFIG_MAP for number in range(120)})
    done = subprocess.run(
        [sys.executable, "-m", "slicewright", "validate", "-", ".", "-o", "json", "--schemas-only"],
        cwd=tmp_path,
        input=BAD_CONFIG_MAP,
        capture_output=True,
        text=True,
        check=False,
    )

    assert [problem["file"] for problem in json.loads(done.stdout)["problems"]] == ["stdin"]


def test_process_that_is_killed_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system kills a process where memory is short: what it was to do is done by the first."""
    first = os.getpid()

    def work(number: int) -> int:
        if number == 60 and os.getpid() != first:
            os.kill(os.getpid(), signal.SIGKILL)
        return number * 2

    monkeypatch.setattr(parallel, "_processes", lambda: 2)

    assert list(parallel.map_forked(work, 150)) == [number * 2 for number in range(150)]


@pytest.mark.skipif(sys.platform != "linux", reason="forked processes")
def test_processes_end_with_the_one_that_wants_their_results(tmp_path: Path) -> None:
    """Also where that is killed and can say nothing any more: whether they work, or wait for a reader."""
    script = (
        "import os, time; from pathlib import Path; from slicewright.workspace import parallel\n"
        "parallel._processes = lambda: 3\n"
        "def work(number):\n"
        f"    Path({str(tmp_path)!r}, str(os.getpid())).touch()\n"
        "    if number < 25: time.sleep(600)\n"
        "    return 'x' * 1_000_000\n"
        "list(parallel.map_forked(work, 150))\n"
    )

    def alive() -> list[str]:
        return [path.name for path in tmp_path.iterdir() if Path("/proc", path.name).exists()]

    with subprocess.Popen([sys.executable, "-c", script]) as process:
        eventually("three processes work", lambda: len(alive()) == 3)
        process.kill()

    eventually("no process goes on", lambda: not alive())


def test_work_is_spread_where_processes_can_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Linux there are as many processes as cores; elsewhere one, for forking is not safe there."""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert parallel._processes() == 1
    monkeypatch.setattr(sys, "platform", "linux")
    assert parallel._processes() >= 1
    assert list(parallel.map_forked(lambda number: number * 2, 3)) == [0, 2, 4]
