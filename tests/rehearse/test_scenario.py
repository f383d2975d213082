"""What is played is what stands in overlays/: the platform as the runs."""

import shutil
from typing import Any

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.problem import Problem
from slicewright.project.repository_reader import read_checkout
from slicewright.rehearse.scenario import Scenario, scenarios

CLUSTER = """
    managed: true
    project: my-project
    location: us-west4
    nodeLocations: [us-west4-a]
    pools: [{{name: tpus, tpu: v5litepod-8, slices: 3}}]
    priorityClasses: [{{name: {priority}, value: 1000}}]
    clusterQueues:
    - name: cq
      quota: [{{pool: tpus, nominalSlices: {slices}}}]
      localQueues: [{{name: q, namespace: default}}]
    {more}
"""
RUN = "clusters: [c1]\ntpu: v5litepod-8\nnaming: Fixed\nqueueName: q\ncontainer: {image: python:3.12}"
FOLDER = "overlays/c1/_platform"
UNTOLD = "differences between the two are not rehearsed"


def write(repo: Repo, *, slices: int = 2, priority: str = "high", more: str = "") -> None:
    """Write a cluster whose platform is ours to make."""
    text = CLUSTER.format(slices=slices, priority=priority, more=more)
    path = repo.root / repo.cluster(spec=text)
    path.write_text(path.read_text(encoding="utf-8").replace("  managed: false\n", ""), encoding="utf-8")


@pytest.fixture
def rendered(empty: Repo) -> Repo:
    """Return a repository with a cluster and a workload, rendered."""
    write(empty)
    empty.workload("a", RUN)
    empty.run("render")
    return empty


def scenario(repo: Repo) -> Scenario:
    """Return the scenario of the cluster, against which nothing stands."""
    (found,), against = scenarios(read_checkout(repo.root), ["c1"])
    assert () == against
    return found


def quota(of: Scenario) -> Any:
    """Return the chips that the queue gives."""
    (queue,) = [item for item in of.platform if item["kind"] == "ClusterQueue"]
    return queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"]


def told(problems: tuple[Problem, ...]) -> list[tuple[str, str, str]]:
    """Return id, severity and message of problems."""
    return [(problem.id, problem.severity, problem.message) for problem in problems]


@pytest.mark.slow
def test_platform_is_played_as_it_stands_in_overlays(rendered: Repo) -> None:
    """A quota that nobody has rendered is not on the cluster; the warning says what a render would change."""
    before = scenario(rendered)
    write(rendered, slices=3)
    after = scenario(rendered)

    assert ((), quota(before)) == (before.notes, quota(after))
    files = "queues.yaml"
    message = f"{FOLDER} differs from what a render would write ({files}); the rehearsal uses the overlay"
    assert [("REH007", "warning", message)] == told(after.notes)


@pytest.mark.slow
def test_kueues_own_configuration_is_said_to_be_the_files(rendered: Repo) -> None:
    """Where somebody else installs Kueue; else it stands in _controllers, and is played as it is."""
    write(rendered, more="kueue: {}")
    (note,) = scenario(rendered).notes
    files = "kueue-manager-config.patch.yaml, kueue-restart.patch.yaml, kustomization.yaml"

    assert note.message == (
        f"overlays/c1/_controllers differs from what a render would write ({files}); "
        "the rehearsal uses the overlay"
    )
    write(rendered, more="controllers: {managed: false}\n    kueue: {}")
    (note,) = scenario(rendered).notes
    files = "kueue-manager-config.yaml, kustomization.yaml"
    assert note.message == (
        f"{FOLDER} differs from what a render would write ({files}); the rehearsal uses the overlay, except "
        "Kueue's own configuration: the rehearsal uses that of the TPUCluster file"
    )


@pytest.mark.slow
def test_platform_that_nobody_has_rendered_is_played_from_its_file(rendered: Repo) -> None:
    """And that is said; of a cluster that somebody else makes nothing stands there."""
    before = quota(scenario(rendered))
    shutil.rmtree(rendered.root / FOLDER)
    missing = scenario(rendered)
    rendered.cluster(spec=CLUSTER.format(slices=2, priority="high", more="").replace("managed: true", ""))
    foreign = scenario(rendered)

    assert [
        (
            "REH007",
            "warning",
            f"{FOLDER} does not exist: the platform is rehearsed as a render would write it",
        )
    ] == told(missing.notes)
    assert [before, before] == [quota(missing), quota(foreign)]
    assert () == foreign.notes


@pytest.mark.slow
def test_platform_that_cannot_be_composed_is_an_error(rendered: Repo) -> None:
    """What kustomize would make of it is not known without kustomize."""
    path = rendered.root / FOLDER / "kustomization.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "namePrefix: x-\n", encoding="utf-8")
    _, against = scenarios(read_checkout(rendered.root), ["c1"])

    assert [
        (
            "REH007",
            "error",
            f"{FOLDER} uses {FOLDER}/kustomization.yaml: namePrefix, which a rehearsal does not evaluate",
        )
    ] == told(against)


@pytest.mark.slow
def test_classes_of_faults_are_those_that_are_played(rendered: Repo) -> None:
    """One that stands in the TPUCluster file alone is not there yet."""
    fault = "{kind: HigherPriorityArrival, at: 5s, workloadPriorityClassName: urgent}"
    write(rendered, priority="urgent")
    rendered.workload("a", f"{RUN}\nrehearsal: {{faults: [{fault}]}}")
    _, against = scenarios(read_checkout(rendered.root), ["c1"])

    assert [("REH012", "error", "cluster 'c1' has no WorkloadPriorityClass 'urgent'")] == told(against)


def test_arrival_that_can_never_be_admitted_is_refused_before_the_play(rendered: Repo) -> None:
    """The quota check says so of the run that arrives, by the queues that are played."""
    fault = "{kind: HigherPriorityArrival, at: 5s, workloadPriorityClassName: high, slices: 3}"
    rendered.workload("a", f"{RUN}\nrehearsal: {{faults: [{fault}]}}")
    _, against = scenarios(read_checkout(rendered.root), ["c1"])

    assert [("REH012", True)] == [
        (problem.id, "can never admit the new workload to the queue of default/a: FIT101" in problem.message)
        for problem in against
    ]


@pytest.mark.slow
def test_controllers_are_played_as_the_tree_installs_them(rendered: Repo) -> None:
    """Objects and Kueue's settings are those of _controllers; those of somebody else are the test bed's."""
    write(rendered, more="kueue: {waitForPodsReady: {timeout: 3h}}")
    rendered.run("render")
    ours = scenario(rendered).installation
    write(rendered, more="controllers: {managed: false}\n    kueue: {waitForPodsReady: {timeout: 3h}}")
    rendered.run("render")
    theirs = scenario(rendered).installation

    namespaces = {item["metadata"]["name"] for item in ours.objects if item["kind"] == "Namespace"}
    assert {"jobset-system", "kueue-system"} == namespaces
    assert ["3h", "3h"] == [one.settings["waitForPodsReady"]["timeout"] for one in (ours, theirs)]
    assert () == theirs.objects


def test_another_release_than_the_test_beds_is_said(rendered: Repo) -> None:
    """Its programs are not here: the test bed plays its own release, and the report says so."""
    write(rendered, more="controllers: {managed: false}\n    versions: {kueue: v0.18.1}")
    rendered.run("render")
    found = scenario(rendered)

    assert [
        ("CTRL005", "warning", f"cluster 'c1' has Kueue v0.18.1, but the test cluster has v0.19.2: {UNTOLD}")
    ] == told(found.notes)
    assert () == found.installation.objects
