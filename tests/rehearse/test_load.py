"""Arrivals are runs of their own, rendered as the TPUWorkload that is their template."""

import json

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.project.repository_reader import read_checkout
from slicewright.rehearse.model.clock import clock_settings
from slicewright.rehearse.model.metrics import Arriving
from slicewright.rehearse.model.scenario_part import ScenarioPart
from slicewright.rehearse.rehearsal import not_run
from slicewright.rehearse.report.terminal import text
from slicewright.rehearse.scenario import Scenario, scenarios

CLUSTER = """
pools: [{{name: tpus, tpu: v5litepod-8, slices: 3}}]
clusterQueues:
- name: cq
  quota: [{{pool: tpus, nominalSlices: 2}}]
  localQueues: [{{name: q, namespace: default}}]
rehearsal:
  arrivals:
  - {{name: evening, interval: 1h, {end}, mix: [{{workload: {workload}, duration: 90m}}]}}
"""
RUN = "clusters: [c1]\ntpu: v5litepod-8\nqueueName: q\ncontainer: {image: python:3.12}\n"
LONG = "a-name-of-thirty-four-characters-x"
FAULTS = "faults: [{kind: HostFailure, at: 1s}], expect: [{waitBelow: 1m}]"


def scenario(
    repo: Repo, name: str, *, workload: str = "", end: str = "count: 3", spec: str = RUN
) -> Scenario:
    """Return the scenario of a cluster where work of one workload arrives."""
    repo.cluster(spec=CLUSTER.format(workload=workload or name, end=end))
    repo.workload(name, spec)
    repo.run("render")
    (found,), against = scenarios(read_checkout(repo.root), ["c1"])
    assert () == against
    return found


def coming(found: Scenario) -> list[ScenarioPart]:
    """Return what arrives."""
    return [part for part in found.parts if part.profile]


def renamed(part: ScenarioPart) -> Object:
    """Return the run of a part under the name of its template."""
    made: Object = json.loads(json.dumps(part.runs[0]).replace(part.workload.name, "train"))
    return made


def test_each_arrival_is_a_run_of_its_own(empty: Repo) -> None:
    """What a render makes of the template under another name, without its faults and expectations."""
    times = f"rehearsal: {{duration: 2h, submitAt: 3m, {FAULTS}}}"
    own, *others = scenario(empty, "train", spec=RUN + times).parts

    assert (180.0, 7200.0, 1) == (own.submit_at, own.duration, len(own.faults))
    assert [(0.0, 5400.0), (3600.0, 5400.0), (7200.0, 5400.0)] == [
        (part.submit_at, part.duration) for part in others
    ]
    assert ["default/train-1", "default/train-2", "default/train-3"] == [part.key for part in others]
    assert [((), ())] * 3 == [(part.faults, part.expect) for part in others]
    assert [own.current.replace("train-", f"train-{number}-") for number in (1, 2, 3)] == [
        part.current for part in others
    ]
    assert [own.runs[0]] * 3 == [renamed(part) for part in others]


def test_long_name_is_cut_so_that_controllers_can_take_it(empty: Repo) -> None:
    """The name of the template has no room for a number behind it."""
    found = scenario(empty, LONG)

    assert [f"default/{LONG[:32]}-{number}" for number in (1, 2, 3)] == [part.key for part in coming(found)]
    assert 1 == len({len(part.current) for part in found.parts})


def test_number_of_another_workload_is_passed_over(empty: Repo) -> None:
    """Nothing that arrives has the name of a workload of the tree."""
    empty.workload("train-2", RUN)

    assert ["default/train-1", "default/train-3", "default/train-4"] == [
        part.key for part in coming(scenario(empty, "train"))
    ]


@pytest.mark.parametrize("name", ["lr/a", "lr-a", "default/lr-a"])
def test_entry_of_a_sweep_is_a_template(name: str, empty: Repo) -> None:
    """By each of its names; what arrives is no entry of the sweep."""
    spec = RUN + "matrix: {include: [{name: a, env: {LR: '1'}}]}"

    assert ["default/lr-a-1", "default/lr-a-2", "default/lr-a-3"] == [
        part.key for part in coming(scenario(empty, "lr", workload=name, spec=spec))
    ]


def test_each_repetition_has_a_seed_of_its_own(empty: Repo) -> None:
    """The first one that of the file; runs of the tree are the same in each."""
    found = scenario(empty, "train", end="endAt: 2h")
    again = found.repeated(2)

    assert found is found.repeated(0)
    assert found.parts[0] is again.parts[0]
    assert 3 == len(again.parts)
    assert found.load is not None
    assert [(Arriving("evening", 1, "cq"),), (Arriving("evening", 3, "cq"),)] == [
        found.load.arriving(one.repetition, one.platform) for one in (found, again)
    ]


def test_profile_that_brings_nothing_is_a_warning(empty: Repo) -> None:
    """The rehearsal is played without it."""
    found = scenario(empty, "train", end="startAt: 1h, endAt: 30m")

    assert ["REH023"] == [note.id for note in found.notes]
    assert [] == coming(found)


def test_unknown_workload_of_a_mix_is_refused(empty: Repo) -> None:
    """Before anything is played, at its place in the TPUCluster."""
    empty.cluster(spec=CLUSTER.format(workload="trian", end="count: 1"))
    empty.workload("train", RUN)
    empty.run("render")
    done = empty.run("rehearse", "c1", code=1)

    assert "REH023 'trian' is not a workload of this cluster" in done.err


def test_arrivals_change_nothing_that_is_rendered(empty: Repo) -> None:
    """A cluster without the block has the same tree."""
    scenario(empty, "train")
    empty.cluster(spec=CLUSTER.format(workload="train", end="count: 3").partition("rehearsal:")[0])

    assert 0 == empty.run("render", "--check").code


def test_rehearsal_that_does_not_begin_has_no_rows_of_arrivals(empty: Repo) -> None:
    """An interruption at the start does not list what would have arrived."""
    found = scenario(empty, "train")
    told = text(not_run(found, clock_settings(found.parts), None))

    assert found.parts[0].current in told
    assert "train-1" not in told
