"""Workloads without a queue in a namespace that has one: Kueue does not see them."""

import pytest
from tests.conftest import Repo

CLUSTER = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {{name: c1}}
spec:
  managed: {managed}
  project: p
  location: us-west4
  nodeLocations: [us-west4-a]
  pools: [{{name: v5e, tpu: v5litepod-8, slices: 2}}]
  kueue: {kueue}
  clusterQueues: [{{name: tpu, quota: [{{pool: v5e}}], localQueues: [{queues}]}}]
"""
WORKLOAD = "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}"
ONE = "{name: vision-q, namespace: vision}"
TWO = f"{ONE}, {{name: other-q, namespace: vision}}"


def warned(
    repo: Repo, spec: str = WORKLOAD, namespace: str = "vision", **cluster: str
) -> list[dict[str, str]]:
    """Return what a render of one workload and one cluster says with REF008."""
    filled = {"managed": "true", "kueue": "{}", "queues": ONE} | cluster
    repo.write("clusters/c1.yaml", CLUSTER.format(**filled))
    repo.workload("a", spec, metadata=f", namespace: {namespace}")
    problems = repo.run("render", "-o", "json").json["problems"]
    return [one for one in problems if one["id"] == "REF008"]


def test_workload_that_forgets_its_queue_is_warned_about(empty: Repo) -> None:
    """The warning stands at its spec and has the line to add; the run is rendered all the same."""
    (problem,) = warned(empty)

    assert {
        "id": "REF008",
        "severity": "warning",
        "file": "workloads/a.yaml",
        "line": 4,
        "column": 1,
        "object": "TPUWorkload vision/a",
        "path": "spec",
        "message": "the workload has no queueName, but namespace 'vision' has a LocalQueue on cluster 'c1': "
        "it starts immediately, without Kueue, on nodes that Kueue counts for other runs",
        "hint": "add queueName: vision-q to spec; if the run should have no queue, say so with a "
        "reason in .slicewright-ignore.yaml",
    } == problem
    assert len(empty.runs(namespace="vision")) == 1


def test_several_queues_are_all_named(empty: Repo) -> None:
    """Which of them is meant, nobody knows."""
    (problem,) = warned(empty, queues=TWO)

    assert "namespace 'vision' has 2 LocalQueues" in problem["message"]
    assert problem["hint"].startswith("add queueName: vision-q or queueName: other-q to spec;")


def test_where_kueue_holds_back_what_has_no_queue_it_waits_for_ever(empty: Repo) -> None:
    """`manageJobsWithoutQueueName` suspends the run, and nothing admits it."""
    (problem,) = warned(empty, kueue="{manageJobsWithoutQueueName: true}")

    assert problem["message"].endswith("Kueue's configuration suspends such runs, so it never starts")


@pytest.mark.parametrize(
    "change",
    [
        {"spec": f"{WORKLOAD}\nqueueName: vision-q"},
        {"namespace": "default"},
        {"managed": "false"},
        {"queues": f"{ONE}, {{name: default, namespace: vision}}"},
    ],
    ids=["it names one", "no queue in its namespace", "a platform of others", "a default for its namespace"],
)
def test_others_are_not_warned_about(empty: Repo, change: dict[str, str]) -> None:
    """Kueue takes a LocalQueue called `default` for what names none; of others' platforms we know a part."""
    assert [] == warned(empty, **change)


def test_workload_that_is_wrong_is_not_warned_about_besides(empty: Repo) -> None:
    """FlexStartQueued without a queue is refused; one word about it is enough."""
    empty.write("clusters/c1.yaml", CLUSTER.format(managed="true", kueue="{}", queues=ONE))
    empty.workload("a", f"{WORKLOAD}\nprovisioning: FlexStartQueued", metadata=", namespace: vision")

    said = empty.run("render", code=1).err

    assert [True, False] == ["TPU013" in said, "REF008" in said]
