"""A failed container costs what was not saved since the last checkpoint, and a start."""

import pytest
from tests.conftest import Repo

from slicewright.testbed.bed import Bed

from .kit import play, run, spec

CLUSTER = """
    pools:
    - {name: plain, tpu: v5litepod-8, slices: 1}
    - {name: saving, tpu: v5litepod-16, slices: 1}
"""
FAILS = "duration: 2h, faults: [{kind: ContainerFailure, at: 50m}]"
RESTARTS = "failurePolicy: {maxRestarts: 1}"
MINUTE = 60.0
SPEED = 30
CONTROLLERS = 4 * MINUTE
"""What the controllers' own time adds to a run at most, for two starts and two ends."""
LATER = 2 * MINUTE
"""The same between the time of the fault and the end of the attempt; wrong arithmetic is off by 5 minutes."""


@pytest.mark.ci
def test_restarted_run_goes_on_from_its_checkpoint(bed: Bed, empty: Repo) -> None:
    """A container of each run fails after 50 of its 120 minutes, and its JobSet restarts it.

    - plain begins anew: 50 + 120 = 170 minutes, and 50 minutes of 8 chips are lost.
    - saving starts for 5 minutes each time, and saves every 20: of 50 minutes 45 are progress and 40 are
      saved, so that it ends after 50 + 5 + 80 = 135; 5 minutes of 16 chips are lost, and 10 are startup.
    """
    empty.cluster(spec=CLUSTER)
    empty.workload("plain", spec(f"{RESTARTS}\nrehearsal: {{{FAILS}}}"))
    saving = f"{RESTARTS}\nrehearsal: {{{FAILS}, checkpointEvery: 20m, startupSeconds: 300}}"
    empty.workload("saving", spec(saving, tpu="v5litepod-16"))
    record = play(bed, empty, speed=SPEED)
    ends = {name: run(record, name)["ended"] - run(record, name)["started"] for name in ("plain", "saving")}
    chips = {row["pool"]: row for row in record["measures"]["chipHours"]}

    assert [1, 1] == [run(record, name)["restarts"] for name in ends]
    assert 170 * MINUTE - SPEED <= ends["plain"] <= 170 * MINUTE + CONTROLLERS
    assert 135 * MINUTE - SPEED <= ends["saving"] <= 135 * MINUTE + CONTROLLERS
    assert pytest.approx(50 / 60 * 8, abs=LATER / 3600 * 8) == chips["plain"]["lost"]
    assert pytest.approx(5 / 60 * 16, abs=LATER / 3600 * 16) == chips["saving"]["lost"]
    assert [0.0, pytest.approx(10 / 60 * 16, abs=0.01)] == [chips[name]["startup"] for name in ends]
