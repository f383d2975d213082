"""Kueue's part: preemption, cohorts, quota that never suffices or is given back, and queued provisioning."""

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from .kit import allow, play, run, spec, states

POOLS = """\
- {name: pushed, tpu: v5litepod-8, slices: 2}
- {name: lent, tpu: v5litepod-16, slices: 2}
- {name: staged, tpu: v4-16, slices: 2}
"""
QUEUES = """\
priorityClasses: [{name: high, value: 1000}]
cohorts: [{name: research}]
clusterQueues:
- name: pushed
  preemption: {withinClusterQueue: LowerPriority}
  quota: [{pool: pushed, nominalSlices: 2}]
  localQueues: [{name: pushed, namespace: default}]
- name: team-a
  cohortName: research
  quota: [{pool: lent, nominalSlices: 1}]
  preemption: {reclaimWithinCohort: Any}
  localQueues: [{name: a, namespace: default}]
- name: team-b
  cohortName: research
  quota: [{pool: lent, nominalSlices: 1}]
  localQueues: [{name: b, namespace: default}]
- name: staged
  quota: [{pool: staged, nominalSlices: 2}]
  localQueues: [{name: staged, namespace: default}]
"""
"""Queues with pools of their own shapes: only the two teams have to do with each other."""
CLUSTER = f"""
pools:
{POOLS}- {{name: queued, tpu: V6E, slices: 1, provisioning: FlexStartQueued}}
{QUEUES}- name: queued
  quota: [{{pool: queued, nominalSlices: 1}}]
  localQueues: [{{name: queued, namespace: default}}]
"""
V6E = "{accelerator: v6e, topology: 2x4, machineType: ct6e-standard-4t}"
PUSHED = """slices: 2
queueName: pushed
rehearsal:
  duration: 40s
  faults: [{kind: HigherPriorityArrival, at: 10s, duration: 20s, workloadPriorityClassName: high}]
"""
STAGED = """queueName: staged
rehearsal: {duration: 20s}
patches:
- target: {kind: JobSet}
  ops:
  - {op: copy, from: /spec/replicatedJobs/0, path: /spec/replicatedJobs/1}
  - {op: replace, path: /spec/replicatedJobs/1/name, value: second}
  - {op: add, path: /spec/replicatedJobs/1/dependsOn, value: [{name: slice, status: Complete}]}
"""
"""A JobSet with two slices, the second of which begins when the first has succeeded."""


@pytest.fixture(scope="module")
def record(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Object:
    """Play all queues at once, which takes no longer than one of them, and return what happened."""
    repo = Repo(tmp_path_factory.mktemp("queues"))
    repo.cluster(spec=CLUSTER.replace("V6E", V6E))
    for name, tpu, lines in (
        ("low", "v5litepod-8", PUSHED),
        ("borrows", "v5litepod-16", "slices: 2\nqueueName: b\nrehearsal: {duration: 40s}"),
        ("owner", "v5litepod-16", "queueName: a\nrehearsal: {submitAt: 25s, duration: 20s}"),
        ("staged", "v4-16", STAGED),
        ("waits", "v4-16", "queueName: staged\nrehearsal: {submitAt: 10s, duration: 40s}"),
        ("queued", V6E, "provisioning: FlexStartQueued\nmaxRunDurationSeconds: 600\nqueueName: queued"),
    ):
        repo.workload(name, spec(lines, tpu=tpu))
    return play(bed, repo, speed=8, delay=20)


def queue(record: Object, name: str) -> Object:
    """Return the record of a ClusterQueue."""
    (found,) = [entry for entry in record["queues"] if entry["name"] == name]
    return dict(found)


def test_all_runs_come_to_their_end(record: Object) -> None:
    """Whoever waited or was pushed aside finishes too."""
    assert ([], 6) == (record["problems"], record["summary"]["finished"])


def test_arrival_of_a_higher_class_pushes_a_run_aside_until_it_is_over(record: Object) -> None:
    """Kueue says Preempted; the run is admitted again."""
    low = run(record, "low")

    assert ["Preempted"] == [eviction["reason"] for eviction in low["evictions"]]
    assert 2 == states(low).count("running")
    assert 16 == queue(record, "pushed")["peakChips"]


def test_teams_borrow_from_each_other_and_take_back(record: Object) -> None:
    """A lends its idle slice to B, and reclaims it when A itself has work."""
    assert (16, 0) == tuple(queue(record, f"team-{name}")["borrowedChips"] for name in "ba")
    assert ["Preempted"] == [eviction["reason"] for eviction in run(record, "borrows")["evictions"]]


def test_quota_of_slices_that_are_done_is_not_counted_twice(record: Object) -> None:
    """Kueue gives it to a run that waits while the rest still runs: the queue is full, and not more."""
    staged, waits = run(record, "staged"), run(record, "waits")
    used = queue(record, "staged")

    assert staged["admitted"] < waits["admitted"] < staged["ended"] < waits["ended"]
    assert (16, 0) == (used["peakChips"], used["borrowedChips"])
    assert [0, 16, 8, 16] == [chips for _, chips in used["used"][:4]]


def test_queued_flex_start_waits_for_its_provisioning_request(record: Object) -> None:
    """Kueue asks for nodes, they come all at once, and only then the run is admitted."""
    queued = run(record, "queued")
    (grew,) = [event for event in record["events"] if event["kind"] == "poolGrew"]

    assert ["queued", "reserved", "starting", "running"] == states(queued)
    assert grew["at"] <= queued["admitted"]
    assert 8 == grew["chips"]


def test_workload_that_never_fits_is_told_with_both_reasons(bed: Bed, empty: Repo) -> None:
    """Kueue does not admit it, as the offline quota check has said."""
    empty.cluster(
        spec="""
        pools: [{name: tpus, tpu: v5litepod-8, slices: 2}]
        clusterQueues:
        - name: cq
          quota: [{pool: tpus, nominalSlices: 1}]
          localQueues: [{name: q, namespace: default}]
        """
    )
    empty.workload("large", spec("slices: 2\nqueueName: q"))
    allow(empty, "FIT101", "Kueue is to say so too")
    record = play(bed, empty, speed=10, deadline=60)
    large = run(record, "large")
    (problem,) = record["problems"]

    assert ("failed", "waiting", None) == (record["verdict"], large["outcome"], large["admitted"])
    assert large["why"].startswith("Kueue: couldn't assign flavors")
    assert large["quotaCheck"].startswith("FIT1")
    cause = f"it waits because of this: {large['waits'][-1]['message']}"
    assert ("REH001", cause) == (problem["id"], problem["hint"])
    assert "16 chips of v5e-2x4-4t: the quota is 8 chips" in cause
    assert large["quotaCheck"] in problem["message"]


@pytest.mark.ci
def test_queued_run_of_several_slices_gets_no_nodes(bed: Bed, empty: Repo) -> None:
    """Two free node pools are of no use to a ProvisioningRequest, as on GKE; the quota check has said so."""
    empty.cluster(
        spec=f"""
        pools: [{{name: queued, tpu: {V6E}, slices: 2, provisioning: FlexStartQueued}}]
        clusterQueues:
        - name: cq
          quota: [{{pool: queued}}]
          localQueues: [{{name: q, namespace: default}}]
        """
    )
    empty.workload("several", spec("provisioning: FlexStartQueued\nslices: 2\nqueueName: q", tpu=V6E))
    allow(empty, "KQ164", "the autoscaler is to say so too")
    record = play(bed, empty, speed=60, delay=20)
    several = run(record, "several")

    assert ("failed", None) == (record["verdict"], several["admitted"])
    assert several["quotaCheck"].startswith("KQ164")
    assert "poolGrew" not in {event["kind"] for event in record["events"]}
