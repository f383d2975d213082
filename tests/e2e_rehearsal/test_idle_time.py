"""A rehearsal that skips idle time shows what one shows that does not: the same order, and the same times."""

from typing import Any

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from .kit import play

# It plays two minutes of real time, to prove that most of them are not needed.
pytestmark = pytest.mark.workflow

CLUSTER = """
pools:
- {name: tpus, tpu: v5litepod-8, slices: 1}
- {name: flex, tpu: v5litepod-16, slices: 1, provisioning: FlexStart}
priorityClasses: [{name: high, value: 1000}]
clusterQueues:
- name: team
  quota: [{pool: tpus, nominalSlices: 1}, {pool: flex, nominalSlices: 1}]
  preemption: {withinClusterQueue: LowerPriority}
  localQueues: [{name: team}]
"""
SPEC = """
clusters: [c1]
tpu: {tpu}
naming: Fixed
failurePolicy: {{maxRestarts: 1}}
queueName: team
container: {{image: python:3.12}}
rehearsal: {{submitAt: {at}, duration: {duration}, faults: [{faults}]}}
"""
RUNS = {
    "preempted": (
        "v5litepod-8",
        "0s",
        "5m",
        "{kind: HigherPriorityArrival, at: 2m, duration: 3m, workloadPriorityClassName: high}",
    ),
    "queued": ("v5litepod-8", "90s", "4m", "{kind: HostFailure, at: 2m, duration: 1m}"),
    "flex": ("v5litepod-16", "4m", "3m", ""),
    "late": ("v5litepod-8", "24m", "2m", ""),
}
SPEED = 20.0
RESOLUTION = SPEED
"""A second of real time."""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory, bed: Bed) -> tuple[Object, Object]:
    """A scene with an arrival, a preemption, a lost host and nodes that come, with and without skips."""
    repo = Repo(tmp_path_factory.mktemp("idle"))
    repo.cluster("c1", CLUSTER)
    for name, (tpu, at, duration, faults) in RUNS.items():
        repo.workload(name, SPEC.format(tpu=tpu, at=at, duration=duration, faults=faults))
    times: dict[str, Any] = {"speed": SPEED, "deadline": 3600.0, "delay": 480.0, "idle": 180.0}
    whole, skipping = (play(bed, repo, **times, skips=skips) for skips in (False, True))
    return whole, skipping


def milestones(record: Object) -> list[tuple[float, str]]:
    """Return what happened to runs and nodes, and when."""
    found = [
        (entry[moment], f"{entry['run']} {moment}")
        for entry in record["workloads"]
        for moment in ("submitted", "admitted", "started", "ended")
    ]
    found += [
        (event["at"], f"{event['kind']} {event.get('run', '')}{event.get('nodePool', '')}")
        for event in record["events"]
        if event["kind"] in ("evicted", "fault", "restarted", "poolGrew", "poolShrank")
    ]
    return sorted(found)


def test_each_run_goes_through_the_same_states(records: tuple[Object, Object]) -> None:
    """Queued, preempted, restarted and finished as without skips."""
    whole, skipping = (
        {entry["run"]: [span["state"] for span in entry["states"]] for entry in record["workloads"]}
        for record in records
    )

    assert whole == skipping
    assert "passed" == records[1]["verdict"]


def test_order_of_events_is_the_same(records: tuple[Object, Object]) -> None:
    """Of all that are further apart than the time resolution, in both."""
    whole, skipping = map(milestones, records)
    moments = {name: at for at, name in skipping}
    swapped = [
        (first, then)
        for index, (at, first) in enumerate(whole)
        for later, then in whole[index:]
        if later > at + RESOLUTION and moments[then] < moments[first]
    ]

    assert sorted(name for _, name in whole) == sorted(name for _, name in skipping)
    assert [] == swapped


def test_times_are_the_same_within_the_resolution(records: tuple[Object, Object]) -> None:
    """A chain of five steps of the controllers differs by five seconds of real time at most."""
    whole, skipping = ({name: at for at, name in milestones(record)} for record in records)

    assert {} == {
        name: (whole[name], at) for name, at in skipping.items() if abs(at - whole[name]) > 5 * RESOLUTION
    }
