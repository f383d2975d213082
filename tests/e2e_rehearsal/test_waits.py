"""What a rehearsal says would have admitted a run does so on the real Kueue, asked by `--what-if`."""

import json

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from .command import rehearsed
from .kit import play, run, spec

pytestmark = pytest.mark.workflow  # plays on test beds of their own

CLUSTER = """
pools:
- {name: own, tpu: v5litepod-8, slices: 2}
- {name: lent, tpu: v4-16, slices: 2}
- {name: borrowed, tpu: v5litepod-32, slices: 3}
FLEX
priorityClasses: [{name: middle, value: 500}, {name: high, value: 1000}]
cohorts: [{name: shared}, {name: three}]
clusterQueues:
- name: own
  quota: [{pool: own, nominalSlices: 1}QUOTA]
  preemption: {withinClusterQueue: LowerPriority}
  localQueues: [{name: own}]
- name: owner
  cohortName: shared
  quota: [{pool: lent, nominalSlices: 1}]
  localQueues: [{name: owner}]
- name: guest
  cohortName: shared
  quota: [{pool: lent, nominalSlices: 1}]
  localQueues: [{name: guest}]
- name: asks
  cohortName: three
  quota: [{pool: borrowed, nominalSlices: 1}]
  localQueues: [{name: asks}]
- name: has
  cohortName: three
  quota: [{pool: borrowed, nominalSlices: 1}]
  localQueues: [{name: has}]
- name: idle
  cohortName: three
  quota: [{pool: borrowed, nominalSlices: 1}]
"""
RUNS = {
    "first": ("v5litepod-8", "queueName: own\nworkloadPriorityClassName: middle\nrehearsal: {duration: 20m}"),
    "second": ("v5litepod-8", "queueName: own\nrehearsal: {duration: 5m, submitAt: 3m}"),
    "guest": ("v4-16", "queueName: guest\nslices: 2\nrehearsal: {duration: 20m}"),
    "owner": ("v4-16", "queueName: owner\nrehearsal: {duration: 5m, submitAt: 3m}"),
    "has": ("v5litepod-32", "queueName: has\nslices: 2\nrehearsal: {duration: 20m}"),
    "asks": ("v5litepod-32", "queueName: asks\nslices: 2\nrehearsal: {duration: 5m, submitAt: 3m}"),
    "flex": ("v5litepod-16", "queueName: own\nrehearsal: {duration: 5m}"),
}
PRIORITY = "workloads.second.workloadPriorityClassName=high"
QUOTA = "clusterQueues.own.quota.own.nominalSlices=+1"
RECLAIM = "clusterQueues.owner.preemption.reclaimWithinCohort=Any"
OF_ASKS = "clusterQueues.asks.preemption."
BORROW = (
    f"{OF_ASKS}reclaimWithinCohort=LowerPriority,{OF_ASKS}borrowWithinCohort.policy=LowerPriority,"
    "workloads.asks.workloadPriorityClassName=high"
)
NODES = "pools.lent.slices=+1,clusterQueues.owner.quota.lent.nominalSlices=+1"
SPEED = 20.0
AT_ONCE = 5 * SPEED
"""Five seconds of the controllers; without the change each of these runs waits for 17 minutes."""


def repository(repo: Repo, *, has_flex: bool) -> Repo:
    """Write the scene; flex-start nodes need pods, which wait for them."""
    pool = "- {name: flex, tpu: v5litepod-16, slices: 1, provisioning: FlexStart}" if has_flex else ""
    quota = ", {pool: flex, nominalSlices: 1}" if has_flex else ""
    repo.cluster("c1", CLUSTER.replace("FLEX", pool).replace("QUOTA", quota))
    for name, (tpu, lines) in RUNS.items():
        if name == "flex" and not has_flex:
            continue
        repo.workload(name, spec(lines, tpu=tpu))
    return repo


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, bed: Bed) -> Object:
    """The scene as it is."""
    repo = repository(Repo(tmp_path_factory.mktemp("waits")), has_flex=True)
    return play(bed, repo, speed=SPEED, deadline=3600.0, delay=480.0, idle=180.0)


def longest(record: Object, name: str) -> Object:
    """Return the longest wait of a run."""
    wait: Object = max(run(record, name)["waits"], key=lambda wait: wait["end"] - wait["start"])
    return wait


def remedies(wait: Object) -> list[tuple[str, int, int | None]]:
    """Return the changes that are said to admit the run."""
    (lack,) = wait["lacks"]
    return [(entry["kind"], entry["chips"], entry["priorityAbove"]) for entry in lack["remedies"]]


def test_waits_name_holders_and_remedies(record: Object) -> None:
    """A run that waits for quota says who holds it, and what Kueue's policies ask for."""
    second, owner, asks = (longest(record, name) for name in ("second", "owner", "asks"))
    holders = [[entry["run"] for entry in wait["lacks"][0]["holders"]] for wait in (second, owner, asks)]

    assert [["default/first"], ["default/guest"], ["default/has"]] == holders
    assert [("Reclaim", 32, 0), ("Nodes", 32, None)] == remedies(asks)
    assert [("Priority", 0, 500), ("NominalQuota", 8, None)] == remedies(second)
    assert [("Reclaim", 8, None), ("Nodes", 8, None)] == remedies(owner)


def test_wait_for_nodes_is_not_about_quota(record: Object) -> None:
    """A run that has quota and waits for flex-start nodes is told about nodes alone."""
    flex = longest(record, "flex")

    assert ("NoNodes", [], True) == (flex["reason"], flex["lacks"], "nodes are available" in flex["said"])


def test_remedies_admit_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each of the changes, made by --what-if, lets Kueue admit the run when it is submitted."""
    repo = repository(Repo(tmp_path_factory.mktemp("remedies")), has_flex=False)
    asked = [word for change in (PRIORITY, QUOTA, RECLAIM, BORROW, NODES) for word in ("--what-if", change)]
    code, out, said = rehearsed(repo, "c1", *asked, "--speed", str(SPEED), "--no-pods", "-o", "json")
    assert 0 == code, said
    variants = {variant["name"]: variant for variant in json.loads(out)["variants"]}
    waited = {
        name: {entry["run"].partition("/")[2]: entry["wait"] for entry in variant["workloads"]}
        for name, variant in variants.items()
    }

    assert waited[PRIORITY]["second"] < AT_ONCE
    assert waited[QUOTA]["second"] < AT_ONCE
    assert waited[RECLAIM]["owner"] < AT_ONCE
    assert waited[BORROW]["asks"] < AT_ONCE
    assert waited[NODES]["owner"] < AT_ONCE
    assert min(waited["base"][name] for name in ("second", "owner", "asks")) > 10 * 60


CPU = """
pools:
- {name: v6e, tpu: v6e-16, slices: 2}
- {name: cpu, machineType: n2-standard-16, nodes: 2}
cohorts: [{name: org}]
clusterQueues:
- name: research
  cohortName: org
  quota: [{pool: v6e, nominalSlices: 1}, {pool: cpu, nominalQuota: {cpu: "0", memory: "0"}}]
  preemption: {reclaimWithinCohort: Any}
  localQueues: [{name: research}]
- name: product
  cohortName: org
  quota: [{pool: v6e, nominalSlices: 1}, {pool: cpu, nominalNodes: 2}]
  localQueues: [{name: product}]
"""
BOARD = """
auxiliaryJobs:
- name: board
  pool: cpu
  podTemplate:
    spec:
      containers:
      - name: board
        image: "python:3.12.11"
        command: [sleep]
        resources: {requests: {cpu: "1", memory: 1Gi}}
"""


def test_run_that_borrows_cpu_takes_back_its_chips_with_quota_of_cpu(empty: Repo) -> None:
    """Its queue owns the chips, but a run that borrows anything may not preempt."""
    empty.cluster("c1", CPU)
    times = "rehearsal: {duration: 20m}"
    empty.workload("big", spec(f"queueName: product\nslices: 2\n{times}", tpu="v6e-16"))
    times = "rehearsal: {duration: 5m, submitAt: 3m}"
    empty.workload("ours", spec(f"queueName: research\n{times}{BOARD}", tpu="v6e-16"))
    change = 'clusterQueues.research.quota.cpu.nominalQuota={"cpu":"1","memory":"1Gi"}'
    code, out, said = rehearsed(
        empty, "c1", "--what-if", change, "--speed", str(SPEED), "--no-pods", "-o", "json"
    )
    assert 0 == code, said
    base, variant = json.loads(out)["variants"]
    waited = {
        name: entry["wait"]
        for name, variant in (("base", base), ("variant", variant))
        for entry in variant["workloads"]
        if "ours" in entry["run"]
    }

    assert waited["variant"] < AT_ONCE < 10 * 60 < waited["base"]
