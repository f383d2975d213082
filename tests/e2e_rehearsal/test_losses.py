"""A run on slices that are lost at random ends when the moments of the losses and its checkpoints say."""

import pytest
from msgspec.structs import replace
from tests.conftest import Repo

from slicewright.rehearse.model.losses import Losses
from slicewright.testbed.bed import Bed

from . import kit
from .kit import play, run, spec

HOUR = 3600.0
SPEED = 10.0
OWN = 40 * SPEED
"""What the controllers' own time adds at most for each loss: a restart and a start."""


def ends_after(losses: Losses, work: float, checkpoint: float) -> tuple[float, int]:
    """Return when a run of one slice ends that begins at 0, and how many losses hit it."""
    now = saved = 0.0
    for number, (lost, back) in enumerate(losses.of_slice(0)):
        if now + work - saved <= lost:
            return now + work - saved, number
        saved += (lost - now) // checkpoint * checkpoint
        now = back
    raise AssertionError


@pytest.mark.ci
def test_run_on_spot_ends_as_its_losses_and_checkpoints_say(bed: Bed, empty: Repo) -> None:
    """Twelve hours of work with checkpoints of 30 minutes, a loss each 3 hours on average, 40 minutes away.

    Two seeds. A part of the slice is lost whenever the slice is; the run starts from its last checkpoint when
    the slice is there again.
    """
    empty.cluster(
        spec="""
        pools: [{name: spot, tpu: v5litepod-16, provisioning: Spot}]
        rehearsal:
          losses: [{pool: spot, rate: 8/d, duration: 40m}]
        """
    )
    times = "rehearsal: {duration: 12h, checkpointEvery: 30m}"
    policy = "provisioning: Spot\nfailurePolicy: {maxRestarts: 99}"
    empty.workload("a", spec(f"{policy}\n{times}", tpu="v5litepod-16"))
    empty.run("render")
    for repetition in range(2):
        end, hits = ends_after(Losses("spot", "8/d", "40m", repetition + 1), 12 * HOUR, 0.5 * HOUR)
        record = play(bed, kit.scenario(empty.root).repeated(repetition), speed=SPEED)
        found, (row,) = run(record, "a"), record["measures"]["losses"]
        took = found["ended"] - found["started"]

        assert ("passed", hits) == (record["verdict"], row["losses"])
        assert end - SPEED <= took <= end + (hits + 1) * OWN
        assert pytest.approx(found["delay"], abs=0.1) == took - 12 * HOUR
        assert ("spot", "8/d", repetition + 1) == (row["pool"], row["rate"], row["seed"])
        assert pytest.approx(hits * 2400.0, abs=1.0) == row["awaySeconds"]


@pytest.mark.ci
def test_rehearsal_whose_run_is_stuck_ends_although_slices_are_lost(bed: Bed, empty: Repo) -> None:
    """Losses have no end, so the rehearsal does not wait for them if no run can use a slice."""
    empty.cluster(
        spec="""
        pools: [{name: spot, tpu: v5litepod-16, provisioning: Spot, slices: 2}]
        rehearsal:
          losses: [{pool: spot, rate: 1/m, duration: 10s}]
        """
    )
    empty.workload(
        "a", spec("provisioning: Spot\nslices: 3\nfailurePolicy: {maxRestarts: 9}", tpu="v5litepod-16")
    )
    kit.allow(empty, "FIT101", "the run waits for a slice that does not exist")
    empty.run("render")
    found = replace(kit.scenario(empty.root), notes=())
    record = play(bed, found, speed=10.0)

    assert ["REH011"] == [problem["id"] for problem in record["problems"]]
    assert record["seconds"] < 600.0 * 10
