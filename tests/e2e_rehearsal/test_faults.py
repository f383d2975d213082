"""Each fault, with the outcome that docs/reference/rehearse.md promises."""

import pytest
from tests.conftest import Repo

from slicewright.testbed.bed import Bed

from . import kit
from .kit import play, run, spec, states

POOLS = """
    pools:
    - {name: p8, tpu: v5litepod-8, slices: 1}
    - {name: p16, tpu: v5litepod-16, slices: 1}
    - {name: p32, tpu: v5litepod-32, slices: 1}
    - {name: v4, tpu: v4-16, slices: 2}
    - {name: v6e-8, tpu: {accelerator: v6e, topology: 2x4, machineType: ct6e-standard-4t}, slices: 1}
    - {name: v6e-16, tpu: {accelerator: v6e, topology: 4x4, machineType: ct6e-standard-4t}, slices: 1}
"""
"""A shape for each workload, so that none takes the place of another."""


def faulty(fault: str, *, restarts: int = 2, more: str = "", expect: str = "[]") -> str:
    """Return lines of a spec: how often it may restart, and what goes wrong.

    Pods live long enough for a fault to find them also where several rehearsals share a machine.
    """
    policy = f"failurePolicy: {{maxRestarts: {restarts}{more}}}"
    return f"{policy}\nrehearsal: {{duration: 180s, faults: [{fault}], expect: {expect}}}"


def test_each_fault_has_its_documented_outcome(bed: Bed, empty: Repo) -> None:
    """What fails is restarted as often as the failure policy allows; what is gone is waited for."""
    v6e = "{{accelerator: v6e, topology: {}, machineType: ct6e-standard-4t}}"
    empty.cluster(spec=POOLS)
    lines = {
        "container": ("v5litepod-8", faulty("{kind: ContainerFailure, at: 10s, host: 1, exitCode: 3}")),
        "host": ("v5litepod-16", faulty("{kind: HostFailure, at: 10s, host: 2, duration: 20s}")),
        "slice": ("v5litepod-32", faulty("{kind: SliceLoss, at: 10s, duration: 20s}")),
        "spare": ("v4-16", faulty("{kind: SliceLoss, at: 10s}")),
        "maintained": (
            v6e.format("2x4"),
            faulty(
                "{kind: Maintenance, at: 10s, duration: 20s}", more=", onHostMaintenance: Restart", restarts=0
            ),
        ),
        "fatal": (
            v6e.format("4x4"),
            faulty("{kind: ContainerFailure, at: 10s}", restarts=0, expect="[{finishes: false}]"),
        ),
    }
    for name, (tpu, rest) in lines.items():
        empty.workload(name, spec(rest, tpu=tpu))
    record = play(bed, empty, speed=12)
    found = {name: run(record, name) for name in lines}

    assert [] == record["problems"]
    assert {f"default/{name}" for name in lines} == {fault.partition(" ")[0] for fault in kit.faults(record)}
    assert {name: entry["outcome"] for name, entry in found.items()} == {
        **dict.fromkeys(("container", "host", "slice", "spare", "maintained"), "finished"),
        "fatal": "failed",
    }
    assert {name: entry["restarts"] > 0 for name, entry in found.items()} == {
        **dict.fromkeys(("container", "host", "slice", "spare", "maintained"), True),
        "fatal": False,
    }
    assert ["starting", "running", "restarting", "running"] == states(found["container"])
    pools = [piece["nodePools"] for piece in found["spare"]["slices"]]
    assert [["v4-0"], ["v4-1"]] == sorted(pools)
    assert pools[0] != pools[1]


@pytest.mark.workflow
def test_lost_slice_that_does_not_come_back_is_waited_for_in_vain(bed: Bed, empty: Repo) -> None:
    """The verdict is against it, with what the scheduler says."""
    empty.cluster(spec="pools: [{name: p8, tpu: v5litepod-8, slices: 1}]")
    empty.workload("lost", spec(faulty("{kind: SliceLoss, at: 5s}")))
    record = play(bed, empty, speed=12, deadline=480)
    (problem,) = record["problems"]

    assert ("REH001", "default/lost was still waiting at the end") == (problem["id"], problem["message"])
    assert "FailedScheduling" in problem["hint"]


@pytest.mark.ci
def test_elastic_pathways_goes_on_while_a_slice_is_away(bed: Bed, empty: Repo) -> None:
    """The run is not restarted, and its other slice works on until the end."""
    empty.cluster(
        spec="pools:\n- {name: p8, tpu: v5litepod-8, slices: 2}\n- {name: cpu, machineType: n2-standard-64}"
    )
    pathways = "pathways: {pathwaysDir: gs://b/t, elasticSlices: 1, maxSliceRestarts: 3, head: {pool: cpu}}"
    fault = "{kind: SliceLoss, at: 10s, slice: 1, duration: 20s}"
    empty.workload("elastic", spec(f"slices: 2\n{pathways}\n{faulty(fault)}"))
    record = play(bed, empty, speed=12)
    elastic = run(record, "elastic")

    assert ([], "finished", 0) == (record["problems"], elastic["outcome"], elastic["restarts"])
    assert ["starting", "running", "restarting"] == states(elastic)[:3]
    (other,) = [piece for piece in elastic["slices"] if piece["job"] == "worker/0"]
    lost = elastic["states"][2]["start"]
    assert (2, True) == (other["pods"], other["start"] <= elastic["started"] < lost < other["end"])
    assert elastic["ended"] - other["end"] < 60  # the cluster may be seen to remove its pods first


@pytest.mark.workflow
def test_elastic_slice_in_maintenance_restarts_alone_and_counts_nothing(bed: Bed, empty: Repo) -> None:
    """With onHostMaintenance: Restart neither head nor other slices restart, where no restart is left too."""
    empty.cluster(
        spec="pools:\n- {name: p8, tpu: v5litepod-8, slices: 2}\n- {name: cpu, machineType: n2-standard-64}"
    )
    pathways = "pathways: {pathwaysDir: gs://b/t, elasticSlices: 1, maxSliceRestarts: 1, head: {pool: cpu}}"
    lost = "{kind: SliceLoss, at: 10s, slice: 1, duration: 20s}"
    again = "{kind: SliceLoss, at: 140s, slice: 1, duration: 20s}"
    lines = faulty(f"{lost}, {again}", restarts=0, more=", onHostMaintenance: Restart").replace(
        "180s", "300s"
    )
    empty.workload("elastic", spec(f"slices: 2\n{pathways}\n{lines}"))
    record = play(bed, empty, speed=5)
    elastic = run(record, "elastic")
    others = [piece for piece in elastic["slices"] if piece["job"] == "worker/0"]
    mended = [piece for piece in elastic["slices"] if piece["job"] == "worker/1"]

    assert [] == [f"{entry['message']} {entry['hint']}" for entry in record["problems"]]
    assert ("finished", 0, 2) == (elastic["outcome"], elastic["restarts"], len(kit.faults(record)))
    assert [2] == [piece["pods"] for piece in others]
    assert len(mended) > 1


CODES = ", restartOnExitCodes: [42, 128-255]"


@pytest.mark.ci
def test_exit_codes_decide_whether_a_run_restarts(bed: Bed, empty: Repo) -> None:
    """Codes of the list restart the run; any other fails it at once; the end of a host restarts it anyway."""
    empty.cluster(spec=POOLS.replace("slices: 1", "slices: 2"))
    v6e = "{{accelerator: v6e, topology: {}, machineType: ct6e-standard-4t}}"
    ends = "{{kind: ContainerFailure, at: 10s, exitCode: {}}}"
    evicted = "{kind: Maintenance, at: 10s, duration: 20s}"
    both = CODES + ", onHostMaintenance: Restart"
    fails = "[{finishes: false}]"
    lines = {
        "listed": ("v5litepod-8", faulty(ends.format(42), more=CODES)),
        "ranged": ("v5litepod-16", faulty(ends.format(137), more=both)),
        "other": ("v5litepod-8", faulty(ends.format(3), more=CODES, expect=fails)),
        "other-too": ("v5litepod-16", faulty(ends.format(3), more=both, expect=fails)),
        "evicted": (v6e.format("2x4"), faulty(evicted, more=CODES)),
        "maintained": (v6e.format("4x4"), faulty(evicted, more=both)),
    }
    for name, (tpu, rest) in lines.items():
        empty.workload(name, spec(rest, tpu=tpu))
    record = play(bed, empty, speed=12)
    found = {name: run(record, name) for name in lines}

    assert [] == record["problems"]
    assert set(lines) == {fault.partition(" ")[0].partition("/")[2] for fault in kit.faults(record)}
    assert {
        **dict.fromkeys(lines, ("finished", 1)),
        **dict.fromkeys(("other", "other-too"), ("failed", 0)),
    } == {name: (entry["outcome"], entry["restarts"]) for name, entry in found.items()}
