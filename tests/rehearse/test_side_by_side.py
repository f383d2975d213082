"""Plays side by side: their order, an interruption, and processes that are killed."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.testbed.kit import eventually

from slicewright.cli.side_by_side import side_by_side
from slicewright.rehearse.report.report import Report
from slicewright.rehearse.session import Interruption, Result

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="forked processes")]


def play(name: str, seconds: float = 0.0, mark: Path | None = None) -> Result:
    """Return a result of that name after a while, as a rehearsal does: an interruption is in it."""
    with Interruption() as interruption:
        try:
            if mark:
                mark.write_text(str(os.getpid()))
            time.sleep(seconds)
        except KeyboardInterrupt:
            pass
        finally:
            if mark:
                mark.unlink()
    stopped = bool(interruption.signal)
    report = Report(name, 1.0, 0.0, stopped, is_cut_short=stopped)
    return Result(report, is_played=True, logs=None, signal=interruption.signal)


def die() -> Result:
    """End as a process that the system kills."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_results_come_in_the_order_of_the_plays() -> None:
    """Whichever ends first: the second play takes no time."""
    plays = [partial(play, name, seconds) for name, seconds in (("a", 0.3), ("b", 0.0), ("c", 0.1))]

    assert ["a", "b", "c"] == [one.report.cluster for one in side_by_side(plays, 2)]


def test_plays_run_at_the_same_time() -> None:
    """Each waits until the other has begun."""
    barrier = multiprocessing.get_context("fork").Barrier(2)

    def meet(name: str) -> Result:
        barrier.wait(30)
        return play(name)

    assert ["a", "b"] == [
        one.report.cluster for one in side_by_side([partial(meet, "a"), partial(meet, "b")], 2)
    ]


@pytest.mark.usefixtures("in_front")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_ends_all_plays(number: signal.Signals, tmp_path: Path) -> None:
    """The first that it cut short says so, with the signal; none begins after it, and none goes on."""
    marks = [tmp_path / name for name in "abc"]
    plays = [partial(play, mark.name, 60.0, mark) for mark in marks]

    def press() -> None:
        eventually("both play", lambda: all(mark.exists() for mark in marks[:2]))
        os.kill(os.getpid(), number)

    pressing = threading.Thread(target=press)
    pressing.start()
    results = side_by_side(plays, 2)
    first = next(results)
    pressing.join()
    results.close()

    assert ("a", True, number) == (first.report.cluster, first.report.interrupted, first.signal)
    eventually("no play goes on", lambda: not any(mark.exists() for mark in marks))


@pytest.mark.parametrize(("ends", "code", "said"), [(die, 3, "--jobs 1"), (partial(sys.exit, 5), 5, "")])
def test_play_without_a_result_ends_the_command(
    ends: Callable[[], Result], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The system kills what takes too much memory: that is told. Others have said themselves why they end."""
    with pytest.raises(SystemExit) as caught:
        list(side_by_side([ends, partial(play, "b")], 2))

    assert (code, bool(said)) == (caught.value.code, "REH009" in (told := capsys.readouterr().err))
    assert said in told


def test_plays_end_with_the_process_that_wants_them(tmp_path: Path) -> None:
    """Also where that is killed and can say nothing any more."""
    script = (
        "from functools import partial; from pathlib import Path\n"
        "from slicewright.cli.side_by_side import side_by_side\n"
        "from tests.rehearse.test_side_by_side import play\n"
        f"marks = [Path({str(tmp_path)!r}, name) for name in 'ab']\n"
        "list(side_by_side([partial(play, mark.name, 60.0, mark) for mark in marks], 2))\n"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        eventually("both play", lambda: {"a", "b"} == {path.name for path in tmp_path.iterdir()})
        process.kill()

    eventually("no play goes on", lambda: not list(tmp_path.iterdir()))
