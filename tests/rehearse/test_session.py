"""A rehearsal with its test bed: whenever Ctrl-C comes, the bed goes, and there is a report."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from slicewright.kubernetes.problem import Problem
from slicewright.project.repository_reader import read_checkout
from slicewright.rehearse import session as module
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.rehearsal import not_run
from slicewright.rehearse.scenario import scenarios
from slicewright.rehearse.session import run_scenario
from slicewright.testbed.waiting import BedError

if TYPE_CHECKING:
    from tests.conftest import Repo

    from slicewright.rehearse.report.report import Report
    from slicewright.rehearse.scenario import Scenario

pytestmark = pytest.mark.usefixtures("in_front")

TIME = ClockSettings(1.0, 60.0, 1.0, 1.0)
BROKEN = Problem("BED002", "etcd ended: exit code 1")


class Staged:
    """Test bed and rehearsal in one; at one moment something happens."""

    logs = None

    def __init__(self, moment: str, what: str, played: Report) -> None:
        self.moment, self.what, self.played = moment, what, played
        self.is_up = False

    def __call__(self, *_: Any, **__: Any) -> Staged:
        """Return it as the rehearsal that plays on it."""
        return self

    def start(self) -> None:
        """Be up, or nearly so."""
        self.is_up = True
        self._comes("starting")

    def run(self, _show: object) -> None:
        """Play."""
        self._comes("playing")

    def report(self) -> Report:
        """Return what was played."""
        self._comes("reporting")
        return self.played

    def stop(self) -> None:
        """Go."""
        self._comes("stopping")
        self.is_up = False

    def _comes(self, moment: str) -> None:
        if moment != self.moment:
            return
        if self.what == "error":
            raise BedError(BROKEN)
        signal.raise_signal(signal.Signals[self.what])


@pytest.fixture
def scenario(repo: Repo) -> Scenario:
    """Return a cluster with one workload."""
    repo.run("render")
    ((found,), _) = scenarios(read_checkout(repo.root), ["c1"])
    return found


@pytest.mark.parametrize(
    ("moment", "what", "expected"),
    [
        ("never", "", (True, False, ["REH001"])),
        ("starting", "SIGINT", (False, True, [])),
        ("playing", "SIGINT", (True, True, ["REH001"])),
        ("stopping", "SIGINT", (True, True, ["REH001"])),
        ("reporting", "SIGINT", (True, True, ["REH001"])),
        ("playing", "SIGTERM", (True, True, ["REH001"])),
        ("stopping", "SIGHUP", (True, True, ["REH001"])),
        ("starting", "error", (False, False, ["BED002"])),
    ],
)
def test_there_is_a_report_and_no_bed(
    moment: str,
    what: str,
    expected: tuple[bool, bool, list[str]],
    scenario: Scenario,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While the bed starts, plays, stops, and after that: told is whether it was played, and interrupted."""
    told = Problem("REH001", "default/a failed")
    staged = Staged(moment, what, replace(not_run(scenario, TIME, told), interrupted=False))
    monkeypatch.setattr(module, "_bed", lambda *_: staged)
    monkeypatch.setattr(module, "Rehearsal", staged)
    done = run_scenario(scenario, TIME)

    assert not staged.is_up
    assert expected == (
        done.is_played,
        done.report.interrupted,
        [problem.id for problem in done.report.problems],
    )
    assert (signal.Signals[what] if what.startswith("SIG") else 0) == done.signal
    assert ["default/a"] == [key for key, _ in done.report.timelines]
