"""The command with test beds of its own: interrupted, broken, side by side."""

import re
import signal
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.conftest import Repo
from tests.testbed.kit import eventually, processes

from .command import rehearsing

LASTING = ("--duration", "10m", "--speed", "1", "--no-skip-idle")
"""A rehearsal that goes on while a busy machine gets to its interruption."""


@pytest.mark.parametrize(
    ("moment", "number", "states"),
    [
        ("API server ready", signal.SIGINT, "not submitted"),
        pytest.param(
            "2 simulated nodes", signal.SIGTERM, "not submitted|still ran", marks=pytest.mark.workflow
        ),
        pytest.param("team/a running", signal.SIGHUP, "still ran", marks=pytest.mark.workflow),
    ],
)
def test_interruption_ends_with_a_partial_report(
    moment: str, number: signal.Signals, states: str, repo: Repo
) -> None:
    """Ctrl-C, or a CI that ends the job, while the test bed starts, is set up, or plays.

    The exit code is the shell's for the signal, and there is what happened until then. On a busy machine the
    signal comes late, and the run has come further.
    """
    with rehearsing(repo, *LASTING) as running:
        running.until(moment)
        running.interrupt(number)
        code, out, _ = running.end()

    assert code == 128 + number
    assert re.match(rf"c1: interrupted; 1 ({states}); simulated ", out)


@pytest.mark.workflow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_end_of_the_command_ends_the_plays_beside_each_other(number: signal.Signals, repo: Repo) -> None:
    """After a Ctrl-C the exit code is the shell's; after a kill nothing can be said, and nothing is left."""
    sweep = ("--sweep", "pools.tpus.slices=1..2", "--jobs", "2", "--no-pods", "--speed", "1")
    with rehearsing(repo, "c1", *sweep) as running:
        running.until("running")
        pid = running.process.pid
        beds = [f"run-{child}-" for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        running.interrupt(number)
        code = running.process.wait(120)
        eventually("no program is left", lambda: not any(processes(Path(bed)) for bed in beds))

    assert (2, 130 if number == signal.SIGINT else -number) == (len(beds), code)


@pytest.mark.workflow
def test_program_that_dies_is_named_and_others_do_not_notice(repo: Repo) -> None:
    """Three rehearsals side by side: two lose a program each, which is named with its log; one plays on."""
    with (
        rehearsing(repo, *LASTING) as first,
        rehearsing(repo, *LASTING, "-o", "junit") as second,
        rehearsing(repo, "--speed", "2", "-o", "junit", "--html", "/dev/full") as third,
    ):
        for running, program in ((first, "kueue"), (second, "kube-apiserver")):
            running.until("team/a running")
            running.kill_program(program)
        of_first, of_second, of_third = first.end(), second.end(), third.end()

    assert (3, "c1: failed, 1 error; 1 still ran; simulated") == (of_first[0], of_first[1][:43])
    assert "BED002 kueue ended: killed by SIGKILL" in of_first[2]
    assert "REH001" not in of_first[2]
    assert (3, {"tests": "2", "failures": "1", "errors": "0", "skipped": "1"}) == (
        of_second[0],
        _numbers(of_second[1]),
    )
    assert "BED002 kube-apiserver ended: killed by SIGKILL" in of_second[1]
    assert {"tests": "1", "failures": "0", "errors": "0", "skipped": "0"} == _numbers(of_third[1])
    assert (1, True) == (
        of_third[0],
        "/dev/full: FILE003 the page cannot be written: No space left on device" in of_third[2],
    )


def _numbers(xml: str) -> dict[str, str]:
    root = ET.fromstring(xml)  # noqa: S314 - our own
    return {name: root.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
