"""What a rehearsal says would have admitted a run does so on the real Kueue, asked by `--what-if`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.conftest import Repo

from .command import rehearsed
from .kit import play, run, spec

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object
    from slicewright.testbed.bed import Bed

pytestmark = pytest.mark.ci  # plays on test beds of their own

CLUSTER = """
pools:
- {name: own, tpu: v5litepod-8, slices: 2}
- {name: lent, tpu: v4-16, slices: 2}
- {name: flex, tpu: v5litepod-16, slices: 1, provisioning: FlexStart}
priorityClasses: [{name: middle, value: 500}, {name: high, value: 1000}]
cohorts: [{name: shared}]
clusterQueues:
- name: own
  quota: [{pool: own, nominalSlices: 1}, {pool: flex, nominalSlices: 1}]
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
"""
RUNS = {
    "first": (
        "v5litepod-8",
        "queueName: own\nworkloadPriorityClassName: middle\nrehearsal: {duration: 20m}",
    ),
    "second": ("v5litepod-8", "queueName: own\nrehearsal: {duration: 5m, submitAt: 3m}"),
    "guest": ("v4-16", "queueName: guest\nslices: 2\nrehearsal: {duration: 20m}"),
    "owner": ("v4-16", "queueName: owner\nrehearsal: {duration: 5m, submitAt: 3m}"),
    "flex": ("v5litepod-16", "queueName: own\nrehearsal: {duration: 5m}"),
}
PRIORITY = "workloads.second.workloadPriorityClassName=high"
QUOTA = "clusterQueues.own.quota.own.nominalSlices=+1"
RECLAIM = "clusterQueues.owner.preemption.reclaimWithinCohort=Any"
SPEED = 20.0
AT_ONCE = 5 * SPEED
"""Five seconds of the controllers; without the change each of these runs waits for 17 minutes."""


def repository(repo: Repo) -> Repo:
    """Write the scene."""
    repo.cluster("c1", CLUSTER)
    for name, (tpu, lines) in RUNS.items():
        repo.workload(name, spec(lines, tpu=tpu))
    return repo


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, bed: Bed) -> Object:
    """The scene as it is."""
    repo = repository(Repo(tmp_path_factory.mktemp("waits")))
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
    second, owner = longest(record, "second"), longest(record, "owner")
    holders = [[entry["run"] for entry in wait["lacks"][0]["holders"]] for wait in (second, owner)]

    assert [["default/first"], ["default/guest"]] == holders
    assert [("Priority", 0, 500), ("NominalQuota", 8, None)] == remedies(second)
    assert [("Reclaim", 8, None), ("NominalQuota", 8, None)] == remedies(owner)


def test_wait_for_nodes_is_not_about_quota(record: Object) -> None:
    """A run that has quota and waits for flex-start nodes is told about nodes alone."""
    flex = longest(record, "flex")

    assert ("NoNodes", [], True) == (flex["reason"], flex["lacks"], "nodes are available" in flex["said"])


def test_remedies_admit_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each of the changes, made by --what-if, lets Kueue admit the run when it is submitted."""
    repo = repository(Repo(tmp_path_factory.mktemp("remedies")))
    asked = [word for change in (PRIORITY, QUOTA, RECLAIM) for word in ("--what-if", change)]
    code, out, said = rehearsed(repo, "c1", *asked, "--speed", str(SPEED), "--delay", "8m", "-o", "json")
    assert 0 == code, said
    variants = {variant["name"]: variant for variant in json.loads(out)["variants"]}
    waited = {
        name: {entry["run"].partition("/")[2]: entry["wait"] for entry in variant["workloads"]}
        for name, variant in variants.items()
    }

    assert waited[PRIORITY]["second"] < AT_ONCE
    assert waited[QUOTA]["second"] < AT_ONCE
    assert waited[RECLAIM]["owner"] < AT_ONCE
    assert min(waited["base"][name] for name in ("second", "owner")) > 10 * 60
