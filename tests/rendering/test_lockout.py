"""A taint that comes with a second way to have a shape locks no run out that is there already."""

from typing import Any

import pytest
import yaml
from tests.conftest import Repo
from tests.words import places

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

PLATFORM = "overlays/c1/_platform"
CLUSTER = """
    managed: true
    project: my-project
    location: us-west4-a
    kueue: {}
    pools:
    - {name: standing, tpu: v5litepod-16, slices: 3}
    - {name: other, tpu: v5litepod-32}
    - {name: third, tpu: v5litepod-16, flavor: third}
    - {name: cpu, machineType: n2-standard-64, nodes: 2}
"""
QUEUES = """
    clusterQueues:
    - name: one
      quota: [{pool: standing}SPOT, {pool: other}, {pool: cpu, nominalNodes: 1}]
      localQueues: [{name: a}, {name: default, namespace: d}]
    - {name: two, quota: [{pool: third}, {pool: cpu, nominalNodes: 1}], localQueues: [{name: b}]}
"""
WORKLOAD = """
    clusters: [c1]
    tpu: v5litepod-16
    queueName: a
    container: {image: python:3.12}
"""
PATHWAYS = f"{WORKLOAD}    api: PathwaysJob\n    pathways: {{pathwaysDir: gs://b}}\n"


def cluster(repo: Repo, *, spot: bool, more: str = "") -> None:
    """Write the cluster, with its shape in one way or in two."""
    queues = QUEUES.replace("SPOT", ", {pool: spot}" if spot else "")
    pool = f"    - {{name: spot, tpu: v5litepod-16, provisioning: Spot{more}}}\n" if spot else ""
    head = "apiVersion: slicewright.dev/v1alpha1\nkind: TPUCluster\nmetadata: {name: c1}\nspec:\n"
    repo.write("clusters/c1.yaml", f"{head}{CLUSTER.strip(chr(10))}\n{pool}{queues.strip(chr(10))}\n")


def taints(repo: Repo) -> dict[str, Any]:
    """Return the values of the taints of the flavors that are rendered, by the flavor's name."""
    found = yaml.safe_load_all(repo.read(f"{PLATFORM}/flavors.yaml"))
    return {
        item["metadata"]["name"]: item["spec"]["nodeTaints"][0]["value"]
        for item in found
        if "nodeTaints" in item["spec"]
    }


def waiting(repo: Repo, *arguments: str, code: int = 0) -> list[str]:
    """Render, and return what POOL051 says."""
    done = repo.run("render", "-o", "json", *arguments, code=code)
    return [one["message"] for one in done.json["problems"] if one["id"] == "POOL051"]


@pytest.fixture
def aged(empty: Repo) -> Repo:
    """A repository whose run was rendered while its shape was had in one way; now there are two."""
    cluster(empty, spot=False)
    empty.workload("train", WORKLOAD)
    empty.run("render")
    cluster(empty, spot=True)
    return empty


def test_taint_waits_for_frozen_runs(aged: Repo) -> None:
    """Both flavors that the run may be admitted to stay open to it, and a warning names it."""
    (path,) = aged.runs("train")
    before = aged.read(f"overlays/c1/default/train/{path}")

    said = waiting(aged)

    run = path.removesuffix(".yaml")
    assert [
        f"flavor '{flavor}' gets no taint yet: {run} was rendered without the toleration. "
        "Until that run is over, Kueue can count runs with another provisioning in it"
        for flavor in ("v5e-4x4", "v5e-4x4-spot")
    ] == said
    assert {"third": "OnDemand"} == taints(aged)
    assert before == aged.read(f"overlays/c1/default/train/{path}")
    aged.run("render", "--check")


def test_acknowledged_warning_of_a_render_is_no_idle_reason(aged: Repo) -> None:
    """What only a render finds is met, for `validate` too; once it is gone, the reason is idle."""
    written = aged.read("clusters/c1.yaml")
    reason = "{name: c1, annotations: {slicewright.dev/ignore-POOL051: they end tonight}}"
    aged.write("clusters/c1.yaml", written.replace("{name: c1}", reason, 1))

    def idle() -> list[str]:
        return [one["id"] for one in aged.run("validate", "-o", "json").json["problems"]]

    assert [] == waiting(aged)
    assert "IGN102" not in idle()
    aged.run("rerun", "train")
    aged.run("render")
    assert "IGN102" in idle()


def test_lines_of_a_script_are_no_fields(empty: Repo) -> None:
    """A script may hold the very lines that the pods of a run would have."""
    script = "|\n        kueue.x-k8s.io/queue-name: none\n        - key: slicewright.dev/provisioning\n"
    cluster(empty, spot=False)
    container = f"    container:\n      image: x\n      command: [sh, -c]\n      args:\n      - {script}"
    empty.workload("train", WORKLOAD.replace("    container: {image: python:3.12}\n", container))
    empty.run("render")
    cluster(empty, spot=True)

    assert ["v5e-4x4", "v5e-4x4-spot"] == [one.split("'")[1] for one in waiting(empty)]


def test_run_that_waits_is_outdated(aged: Repo) -> None:
    """`outdated` shows what the run lacks."""
    aged.run("render")

    (found,) = aged.run("outdated", "-o", "json").json

    assert "+            - key: slicewright.dev/provisioning" in found["diff"].splitlines()


def test_taint_comes_when_the_run_is_started_again(aged: Repo) -> None:
    """The new run tolerates the taint of its way, and the flavors get theirs."""
    aged.run("render")

    aged.run("rerun", "train")

    assert [] == waiting(aged)
    assert {"third": "OnDemand", "v5e-4x4": "OnDemand", "v5e-4x4-spot": "Spot"} == taints(aged)
    aged.run("render", "--check")


def test_taint_comes_when_the_run_is_gone(aged: Repo) -> None:
    """With the last run that does not tolerate it, the reason to wait is gone."""
    aged.run("render")
    (aged.root / "workloads/train.yaml").unlink()

    aged.run("render")

    assert {"third": "OnDemand", "v5e-4x4": "OnDemand", "v5e-4x4-spot": "Spot"} == taints(aged)


def test_only_runs_that_the_flavor_might_admit_are_waited_for(empty: Repo) -> None:
    """Runs of another shape or of no queue keep nobody waiting, others the flavors of their queue alone."""
    cluster(empty, spot=False)
    empty.workload("shape", WORKLOAD.replace("-16", "-32"))
    empty.workload("queue", WORKLOAD.replace("queueName: a", "queueName: b"))
    empty.workload("none", WORKLOAD.replace("    queueName: a\n", ""))
    empty.run("render")
    cluster(empty, spot=True)

    assert ["third"] == [one.split("'")[1] for one in waiting(empty)]
    assert {"v5e-4x4": "OnDemand", "v5e-4x4-spot": "Spot"} == taints(empty)


def test_default_queue_takes_what_names_none(empty: Repo) -> None:
    """Kueue's webhook gives a run without a queue the LocalQueue `default` of its namespace."""
    cluster(empty, spot=False)
    for name in "abcd":
        empty.workload(name, WORKLOAD.replace("    queueName: a\n", ""), metadata=", namespace: d")
    empty.run("render")
    cluster(empty, spot=True)

    said = waiting(empty)

    assert [True, True] == [" and 1 more were rendered without" in one for one in said]


def test_pool_without_a_taint_waits_for_nobody(aged: Repo) -> None:
    """Where a pool turns the taint off, there is nothing to warn of but that."""
    cluster(aged, spot=True, more=", flavorTaint: false")

    assert ["v5e-4x4"] == [one.split("'")[1] for one in waiting(aged)]


def test_pathwaysjob_that_runs_is_waited_for(empty: Repo) -> None:
    """By the flavor of its own way: the taint of the other keeps it off. A second PathwaysJob is refused."""
    cluster(empty, spot=False)
    empty.workload("pw", PATHWAYS)
    empty.run("render")
    cluster(empty, spot=True)
    assert ["v5e-4x4"] == [one.split("'")[1] for one in waiting(empty)]

    empty.workload("pw2", PATHWAYS)
    done = empty.run("render", code=1)

    assert "workloads/pw2.yaml:9:8: REF152" in places(done.err)
    assert "POOL031" in places(done.err)


def judged(repo: Repo, *arguments: str, code: int = 0) -> list[str]:
    """Return severity and object of each FIT120, of a render or of another command."""
    found = repo.run(*(arguments or ("render",)), "-o", "json", code=code).json["problems"]
    assert {"FIT120"} >= {one["id"] for one in found if one["id"].startswith(("FIT", "REF"))}
    return [f"{one['severity']} {one['object'][:-9]}" for one in found if one["id"] == "FIT120"]


@pytest.fixture
def open_spot(empty: Repo) -> Repo:
    """A repository with a PathwaysJob on Spot, where only the flavor of Spot nodes has no taint."""
    cluster(empty, spot=True, more=", flavorTaint: false")
    empty.workload("pw", f"{PATHWAYS}    provisioning: Spot\n")
    return empty


def test_pathwaysjob_needs_the_flavor_of_its_own_way(open_spot: Repo) -> None:
    """The taint of the other way keeps it off, so that is no reason to refuse it, nor does it wait."""
    assert [] == judged(open_spot)
    assert [] == waiting(open_spot)
    assert {"third": "OnDemand", "v5e-4x4": "OnDemand"} == taints(open_spot)
    assert [] == judged(open_spot, "validate")


def test_taint_that_is_turned_off_is_said_of_each_run_that_needs_it(open_spot: Repo) -> None:
    """Kueue would count runs on the wrong flavor: those that are there are warnings, a new one is refused."""
    open_spot.workload("train", f"{WORKLOAD}    provisioning: Spot\n")
    open_spot.run("render")
    text = open_spot.read("clusters/c1.yaml")
    open_spot.write("clusters/c1.yaml", text.replace("slices: 3}", "slices: 3, flavorTaint: false}"))

    assert ["warning PathwaysJob default/pw", "warning JobSet default/train"] == judged(open_spot)
    open_spot.workload("next", f"{WORKLOAD}    provisioning: Spot\n    slices: 1\n")
    assert ["error JobSet default/next"] == judged(open_spot, code=1)


@pytest.mark.parametrize("command", ["render", "capacity", "validate"])
def test_run_that_a_taint_waits_for_is_judged_without_the_taint(aged: Repo, command: str) -> None:
    """A second way of provisioning changes nothing for a run that is there, whoever is asked."""
    if command == "validate":
        aged.run("render")

    assert [] == judged(aged, command)


def test_platform_of_somebody_else_gets_no_taints_from_us(aged: Repo) -> None:
    """With `managed: false` nothing is rendered and nothing waits; new runs tolerate all the same."""
    text = aged.read("clusters/c1.yaml").replace("managed: true", "managed: false")
    aged.write("clusters/c1.yaml", text)
    aged.workload("next", WORKLOAD)
    aged.workload("pw", PATHWAYS)

    assert [] == waiting(aged)
    (path,) = aged.runs("next")
    assert "key: slicewright.dev/provisioning" in aged.read(f"overlays/c1/default/next/{path}")
