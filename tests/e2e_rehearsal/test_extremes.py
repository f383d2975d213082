"""Plays at the edges: no time at all, far too much of it, and slices that share what should be theirs."""

from typing import Any

import pytest
from tests.conftest import Repo

from slicewright.testbed.bed import Bed

from .kit import allow, play, run, spec, states

FLEX = "provisioning: FlexStart"
V6E = "{accelerator: v6e, topology: 2x4, machineType: ct6e-standard-4t}"
HALF = """
failurePolicy: {{maxRestarts: 0}}
{priority}
rehearsal: {{submitAt: {at}, duration: {duration}}}
patches:
- target: {{kind: JobSet}}
  ops:
  - {{op: replace, path: /spec/replicatedJobs/0/template/spec/parallelism, value: 1}}
  - {{op: replace, path: /spec/replicatedJobs/0/template/spec/completions, value: 1}}
"""
"""A JobSet that takes one of the two hosts of its slice, so that there is room beside it."""


@pytest.mark.workflow
def test_spans_of_nothing_and_of_days_are_played(bed: Bed, empty: Repo) -> None:
    """Pods that end at once have run; nodes that go at once are used first; nobody waits for idle days."""
    empty.cluster(
        spec="""
        pools:
        - {name: tpus, tpu: v5litepod-8, slices: 1}
        - {name: flex, tpu: v5litepod-16, slices: 1, provisioning: FlexStart}
        """
    )
    empty.workload("instant", spec("rehearsal: {duration: 0s}"))
    empty.workload("flex", spec(f"{FLEX}\nrehearsal: {{duration: 0s}}", tpu="v5litepod-16"))
    at_once = play(bed, empty, speed=1, delay=0, idle=0, deadline=600)
    for_days = play(bed, empty, speed=1, delay=0, idle=10 * 86_400, deadline=600)

    for record in (at_once, for_days):
        assert ([], 2) == (record["problems"], record["summary"]["finished"])
        assert ["starting", "running"] == states(run(record, "flex"))
        assert record["seconds"] < 600
    assert ["poolGrew", "poolShrank"] == grown(at_once)
    assert ["poolGrew"] == grown(for_days)


@pytest.mark.ci
def test_deadline_before_the_submission_is_told(bed: Bed, empty: Repo) -> None:
    """What was never submitted has not finished, and the hint says when it would have been."""
    empty.cluster(spec="pools: [{name: tpus, tpu: v5litepod-8, slices: 1}]")
    empty.workload("late", spec("rehearsal: {submitAt: 2h}"))
    record = play(bed, empty, speed=1, deadline=2)
    (problem,) = record["problems"]

    assert "default/late was not submitted before the end" == problem["message"]
    assert "it is submitted at 2h00m: set a longer --deadline, or submit it earlier" == problem["hint"]


@pytest.mark.ci
def test_slices_of_two_priorities_share_what_each_asked_for_alone(bed: Bed, empty: Repo) -> None:
    """JobSet keeps pods of one priority apart: of two, both say REH010; of one, the second waits."""
    empty.cluster(
        spec=f"""
        pools: [{{name: tpus, tpu: v5litepod-8, slices: 1}}, {{name: others, tpu: {V6E}, slices: 1}}]
        priorityClasses: [{{name: urgent, value: 1000, podPriorityClass: true}}]
        """
    )
    urgent = "podTemplate: {spec: {priorityClassName: urgent}}"
    empty.workload("first", spec(HALF.format(priority="", at="0s", duration="30s")))
    empty.workload("second", spec(HALF.format(priority=urgent, at="10s", duration="30s")))
    empty.workload("alone", spec(HALF.format(priority="", at="0s", duration="30s"), tpu=V6E))
    empty.workload("waits", spec(HALF.format(priority="", at="10s", duration="30s"), tpu=V6E))
    allow(empty, "TPU103", "half of a slice")
    record = play(bed, empty, speed=5)

    assert ("passed", 4) == (record["verdict"], record["summary"]["finished"])
    assert {"first": [False], "second": [False], "alone": [True], "waits": [True]} == {
        name: [piece["exclusive"] for piece in run(record, name)["slices"]]
        for name in ("first", "second", "alone", "waits")
    }
    assert [
        (
            "REH010",
            "warning",
            "slice slice/0 of default/first shared the node pool tpus-0 with default/second",
        ),
        (
            "REH010",
            "warning",
            "slice slice/0 of default/second shared the node pool tpus-0 with default/first",
        ),
    ] == [(problem["id"], problem["severity"], problem["message"]) for problem in record["problems"]]


@pytest.mark.ci
def test_run_starts_when_all_of_its_hosts_run(bed: Bed, empty: Repo) -> None:
    """Another priority holds one of them: the others wait for it until that run is through, as on GKE."""
    empty.cluster(
        spec="""
        pools: [{name: tpus, tpu: v5litepod-8, slices: 1}]
        priorityClasses: [{name: urgent, value: 1000, podPriorityClass: true}]
        """
    )
    urgent = "podTemplate: {spec: {priorityClassName: urgent}}"
    empty.workload("half", spec(HALF.format(priority="", at="0s", duration="180s")))
    empty.workload("whole", spec(f"{urgent}\nrehearsal: {{submitAt: 60s, duration: 10s}}"))
    allow(empty, "TPU103", "half of a slice")
    record = play(bed, empty, speed=10)
    half, whole = run(record, "half"), run(record, "whole")
    (piece,) = whole["slices"]

    assert ("passed", "finished", ["starting", "running"]) == (
        record["verdict"],
        whole["outcome"],
        states(whole),
    )
    assert half["ended"] - 30 <= whole["started"] <= whole["ended"] - 10
    assert (2, False, ["tpus-0"]) == (piece["pods"], piece["exclusive"], piece["nodePools"])
    assert {"REH010"} == {problem["id"] for problem in record["problems"]}


@pytest.mark.ci
def test_run_whose_pods_never_run_at_once_never_starts(bed: Bed, empty: Repo) -> None:
    """Its programs do not begin on the nodes that there are; the verdict names the pod that found none."""
    more = "{{op: replace, path: /spec/replicatedJobs/0/template/spec/{}, value: 3}}"
    patches = ", ".join(more.format(field) for field in ("parallelism", "completions"))
    empty.cluster(spec="pools: [{name: tpus, tpu: v5litepod-8, slices: 1}]")
    empty.workload(
        "large",
        spec(f"rehearsal: {{duration: 10s}}\npatches: [{{target: {{kind: JobSet}}, ops: [{patches}]}}]"),
    )
    allow(empty, "TPU103", "more hosts than a slice has")
    record = play(bed, empty, speed=10)
    large = run(record, "large")
    (problem,) = record["problems"]

    assert ("failed", "waiting", None, ["starting"]) == (
        record["verdict"],
        large["outcome"],
        large["started"],
        states(large),
    )
    assert "REH011" == problem["id"]
    told = "default/large never started: at most 2 of its 3 TPU pods ran at the same time, and large-slice-0-"
    assert problem["message"].startswith(told)
    assert problem["message"].endswith(" found no node")
    assert problem["hint"].startswith("remove the cause: FailedScheduling: 0/")


def grown(record: dict[str, Any]) -> list[str]:
    """Return how the pools changed."""
    return [event["kind"] for event in record["events"] if event["kind"].startswith("pool")]
