"""Tolerations of runs and of their flavors, in what `render` writes: nothing is left for Kueue to add."""

from typing import Any

import pytest
from tests.conftest import Repo
from tests.rendering.platform.kit import FOLDER, cluster

FLAVORS = f"{FOLDER}/flavors.yaml"
SPEC = """
nodeLocations: [us-west4-a]
pools:
- {name: tpus, tpu: v5litepod-16, slices: 3, provisioning: %s}
- {name: more, tpu: v5litepod-16, slices: 3}
- {name: cpu-np, machineType: n2-standard-64}
clusterQueues:
- name: tpus
  quota: [{pool: tpus, cpuAndMemory: true}, {pool: more}, {pool: cpu-np}]
  localQueues: [{name: queue}]
"""
RUN = """
clusters: [c1]
tpu: v5litepod-16
queueName: queue
provisioning: %s
container: {image: "python:3.12.1", script: python train.py}
%s
"""
RUNS = {
    "jobset": "api: JobSet",
    "job": "api: Job",
    "pathways": "pathways: {pathwaysDir: gs://b/d}",
    "colocated": "pathways: {pathwaysDir: gs://b/d, deploymentMode: colocate_head_with_workers}",
}


@pytest.fixture
def queued(empty: Repo, request: pytest.FixtureRequest) -> Repo:
    """A rendered repository with runs of every form in a queue, all of one way of provisioning."""
    empty.write("clusters/c1.yaml", cluster(SPEC % request.param))
    for name, line in RUNS.items():
        empty.workload(name, RUN % (request.param, line))
    empty.run("render")
    return empty


def found(repo: Repo) -> list[dict[str, Any]]:
    """Return what `validate` says about tolerations."""
    problems = repo.run("validate", "-o", "json").json["problems"]
    return [problem for problem in problems if problem["id"] == "GIT105"]


@pytest.mark.parametrize("queued", ["Spot", "FlexStartQueued"], indirect=True)
def test_rendered_runs_leave_kueue_nothing_to_add(queued: Repo) -> None:
    """Toleration and flavor are rendered in the same words, so Kueue changes no list of a run."""
    tolerations = [text.count("tolerations:") for text in queued.tree("overlays/c1/default").values()]

    assert "tolerations:" in queued.read(FLAVORS)
    assert sum(tolerations) == 5
    assert found(queued) == []


@pytest.mark.parametrize("queued", ["Spot"], indirect=True)
def test_flavor_in_other_words_is_a_drift(queued: Repo) -> None:
    """Kueue adds a toleration of other words, although it means the same."""
    queued.write(
        FLAVORS, queued.read(FLAVORS).replace('operator: Equal\n    value: "true"', "operator: Exists")
    )

    assert {problem["message"] for problem in found(queued)} == {
        (
            "flavor 'v5e-4x4-spot' adds a toleration that is not in the file: "
            "cloud.google.com/gke-spot:NoSchedule"
        )
    }
    assert sorted(problem["object"].partition("/")[2].rpartition("-")[0] for problem in found(queued)) == [
        "colocated",
        "job",
        "jobset",
        "pathways",
    ]


@pytest.mark.parametrize("queued", ["Spot"], indirect=True)
def test_flavor_that_tolerates_more_is_a_drift(queued: Repo) -> None:
    """A toleration beside the one that is there is added, and named; one of everything has no key."""
    more = "  tolerations:\n  - {operator: Exists}\n"
    queued.write(FLAVORS, queued.read(FLAVORS).replace("  tolerations:\n", more))

    assert {problem["message"] for problem in found(queued)} == {
        "flavor 'v5e-4x4-spot' adds a toleration that is not in the file: every taint"
    }


def test_ladder_takes_what_kueue_adds(empty: Repo) -> None:
    """A run that may take several ways carries the tolerations of none: that is not a mistake of its."""
    empty.write("clusters/c1.yaml", cluster(SPEC % "Spot"))
    empty.workload("a", RUN % ("OnDemand", "alternativeProvisioning: [Spot]"))
    empty.run("render")

    assert found(empty) == []
