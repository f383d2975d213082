"""What a queue would count on the wrong flavor, said at the line of the TPUWorkload."""

import pytest
from tests.conftest import Repo

HEAD = "apiVersion: slicewright.dev/v1alpha1\nkind: TPUCluster\nmetadata: {name: c1}\nspec:\n"
CLUSTER = """
  project: my-project
  location: us-west4-a
  MODE
  kueue: {}
  pools:
  - {name: standing, tpu: v5litepod-16}
  - {name: spot, tpu: v5litepod-16, provisioning: Spot}
  - {name: cpu, machineType: n2-standard-64}
  clusterQueues:
  - {name: both, quota: [{pool: standing}, {pool: spot}], localQueues: [{name: both}]}
  - {name: one, quota: [{pool: standing}], localQueues: [{name: one}]}
  - {name: cpus, quota: [{pool: standing}, {pool: cpu}], localQueues: [{name: cpus}]}
  - {name: some, quota: [{pool: standing}, {pool: cpu, nominalQuota: {cpu: 8}}], localQueues: [{name: some}]}
  - name: hosts
    quota: [{pool: standing, cpuAndMemory: true}, {pool: spot}, {pool: cpu}]
    localQueues: [{name: hosts}]
"""
CPU = "resources: {requests: {cpu: 4}, limits: {memory: 8Gi}}"


def said(repo: Repo, more: str, *, mode: str = "mode: Standard", code: int = 0) -> list[str]:
    """Return what a render says of a workload's flavors."""
    repo.write("clusters/c1.yaml", HEAD + CLUSTER.lstrip("\n").replace("MODE", mode))
    more = more if "container:" in more else f"container: {{image: python:3.12}}\n{more}"
    repo.workload("a", f"clusters: [c1]\ntpu: v5litepod-16\n{more}\n")
    done = repo.run("render", "-o", "json", code=code)
    return [
        f"{one['line']}:{one['column']} {one['severity']} {one['message']}"
        for one in done.json["problems"]
        if one["id"] in ("REF150", "REF151")
    ]


@pytest.mark.parametrize("queue", ["both", "hosts"])
def test_queue_with_the_way_is_right(empty: Repo, queue: str) -> None:
    """Nothing is said where the queue has quota of it."""
    assert [] == said(empty, f"queueName: {queue}\nprovisioning: Spot")


def test_queue_with_other_ways_only(empty: Repo) -> None:
    """A run that is there may be counted so: a warning, with the error that a new one is never admitted."""
    assert [
        "9:17 warning ClusterQueue 'one' has 4x4 on ct5lp-hightpu-4t only as OnDemand, not as Spot"
    ] == said(empty, "queueName: one\nprovisioning: Spot", code=1)


@pytest.mark.parametrize(("mode", "severity"), [("mode: Standard", "error"), ("managed: false", "warning")])
def test_alternative_that_the_queue_has_not(empty: Repo, mode: str, severity: str) -> None:
    """An alternative that can never be taken is a mistake, unless somebody else makes the platform."""
    more = "queueName: one\nalternativeProvisioning: [Spot]"
    assert [
        f"9:29 {severity} ClusterQueue 'one' has 4x4 on ct5lp-hightpu-4t only as OnDemand, not as Spot"
    ] == said(empty, more, mode=mode, code=1 if severity == "error" else 0)


def test_requests_that_only_a_cpu_pool_has(empty: Repo) -> None:
    """Each request of a pod on TPU hosts is named, with the field that says it; limits are requests too."""
    more = (
        f"queueName: cpus\npodTemplate: {{spec: {{initContainers: [{{name: x, image: x, {CPU}}}], {CPU}}}}}"
    )
    why = "Kueue would send the pods on TPU hosts to the CPU nodes, so they would never run"

    found = said(empty, more, code=1)

    wanted = [f"error ClusterQueue 'cpus' has {name} on CPU pools only: {why}" for name in ("cpu", "memory")]
    assert [*wanted, *wanted] == [one.partition(" ")[2] for one in found]
    assert {"9"} == {one.partition(":")[0] for one in found}


@pytest.mark.parametrize(
    ("queue", "more", "count"),
    [
        ("cpus", "", 2),
        ("some", "", 1),
        ("hosts", "provisioning: Spot\n", 2),
        ("hosts", "", 0),
        ("both", "", 0),
        ("cpus", "pathways: {pathwaysDir: gs://b}\n", 0),
    ],
)
def test_requests_of_the_container(empty: Repo, queue: str, more: str, count: int) -> None:
    """Right are quota on the hosts of the run's own way, no quota of it at all, and heads of Pathways.

    The configuration that `kueue: {}` renders ignores what the queue does not cover.
    """
    more += f"container: {{image: x, {CPU}}}\nqueueName: {queue}"

    assert count == len(said(empty, more, code=1 if count else 0))


def test_head_that_shares_the_hosts_asks_for_their_cpu(empty: Repo) -> None:
    """Kueue would give it the flavor of the CPU pool; quota on the hosts is what it needs."""
    more = "pathways: {pathwaysDir: gs://b, deploymentMode: colocate_head_with_workers}\n"

    (found,) = said(empty, f"{more}queueName: cpus", code=1)
    right = said(empty, f"{more}queueName: hosts")

    assert found.startswith(
        "8:51 error ClusterQueue 'cpus' has cpu and memory on CPU pools only: Kueue would send"
    )
    assert [] == right


def test_flavor_without_labels_sends_pods_nowhere(empty: Repo) -> None:
    """On Autopilot the flavor of a CPU pool selects no nodes."""
    assert [] == said(empty, f"container: {{image: x, {CPU}}}\nqueueName: cpus", mode="mode: Autopilot")
