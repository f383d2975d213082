"""Who may sync what, and how Applications come and go with namespaces and workloads."""

import pytest
import yaml
from tests.e2e import kit as clusters
from tests.e2e_argocd import kit, ours
from tests.e2e_argocd.ours import without_checks  # noqa: F401 - a fixture
from tests.e2e_argocd.repository import Tree

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

QUEUES = "[{name: team, namespace: default}"
VISION = "sample.vision"
CLUSTER_QUEUE = {
    "apiVersion": clusters.KUEUE,
    "kind": "ClusterQueue",
    "metadata": {"name": "greedy"},
    "spec": {"namespaceSelector": {}, "resourceGroups": []},
}
"""A team's own quota."""
PROJECT = {
    "apiVersion": kit.PROJECT[0],
    "kind": kit.PROJECT[1],
    "metadata": {"name": "greedy", "namespace": "argocd"},
    "spec": {"sourceRepos": ["*"], "destinations": [{"namespace": "*", "server": "*"}]},
}
"""A team's own rights."""
CLAIM = ("v1", "PersistentVolumeClaim")
SHARED = """apiVersion: v1
kind: ConfigMap
metadata: {name: team}
data: {lr: "0.1"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: dataset}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
"""
POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any"}]}
ELSEWHERE = {
    "apiVersion": clusters.JOBSET[0],
    "kind": clusters.JOBSET[1],
    "metadata": {"name": "greedy", "namespace": "kube-public"},
    "spec": {"replicatedJobs": [{"name": "worker", "template": {"spec": {"template": {"spec": POD}}}}]},
}
"""A run in somebody else's namespace."""


def test_a_new_namespace_gets_an_application(bed: Bed, tree: Tree) -> None:
    """The root Application brings what a commit adds: a namespace, its queue, and its run, which runs."""
    ours.begin(bed, tree)
    first = ours.until_running(bed, "hello")

    tree.cluster(QUEUES, f"{QUEUES}, {{name: team, namespace: vision}}")
    tree.cluster("  gitops:", "  teams: [{name: vision, namespace: vision}]\n  gitops:")
    tree.workload("see", namespace="vision")
    ours.push(bed, tree, "another team")

    assert ours.applications(bed) == [ours.ROOT, ours.PLATFORM, ours.RUNS, VISION]
    ours.until_running(bed, "see", "vision")
    assert ours.until_running(bed, "hello") == first


def test_the_namespace_of_a_team_that_leaves_stays(bed: Bed, tree: Tree) -> None:
    """It is not pruned, nor what runs in it; and the platform's Application agrees with git afterwards."""
    team, queue = "  teams: [{name: vision, namespace: vision}]\n", ", {name: team, namespace: vision}"
    tree.cluster(QUEUES, QUEUES + queue)
    tree.cluster("  gitops:", f"{team}  gitops:")
    ours.begin(bed, tree)
    before = bed.api.get(*kit.NAMESPACES, "vision")["metadata"]["uid"]

    tree.cluster(team, "")
    tree.cluster(queue, "")
    ours.push(bed, tree, "a team less")

    assert bed.api.get(*kit.NAMESPACES, "vision")["metadata"]["uid"] == before


@pytest.mark.parametrize("item", [CLUSTER_QUEUE, PROJECT, ELSEWHERE], ids=lambda item: item["kind"])
def test_a_teams_folder_reaches_no_further_than_its_namespace(bed: Bed, tree: Tree, item: Object) -> None:
    """What somebody puts into a namespace's folder by hand is refused, unless it is a run of it."""
    ours.begin(bed, tree)
    folder = "overlays/sample/default"
    listed = yaml.safe_load(tree.read(f"{folder}/kustomization.yaml"))
    listed["resources"].append("greedy.yaml")
    tree.write(f"{folder}/kustomization.yaml", yaml.safe_dump(listed))
    tree.write(f"{folder}/greedy.yaml", yaml.safe_dump(item))
    tree.commit("more than runs")

    kit.until_looked(
        bed,
        ours.RUNS,
        "Argo CD to refuse it",
        lambda: "not permitted in project" in kit.sync_message(kit.application(bed, ours.RUNS)),
    )
    found = bed.api.find(item["apiVersion"], item["kind"], "greedy", item["metadata"].get("namespace", ""))
    assert found is None


def test_an_application_of_each_workload_ends_with_it(bed: Bed, tree: Tree) -> None:
    """With applicationPer Workload a deleted TPUWorkload deletes its Application, and that ends its run."""
    tree.cluster("gitops: {argocd: {", "gitops: {argocd: {applicationPer: Workload, ")
    tree.workload("other")
    ours.begin(bed, tree)
    first, (old, _) = ours.until_running(bed, "hello"), ours.until_running(bed, "other")
    mine, others = f"{ours.RUNS}.hello", f"{ours.RUNS}.other"
    assert ours.applications(bed) == [ours.ROOT, ours.PLATFORM, mine, others]

    (tree.root / "workloads" / "other.yaml").unlink()
    ours.push(bed, tree, "one workload less")

    ours.until_gone(bed, old)
    bed.until("its Application to go", lambda: bed.api.find(*kit.APPLICATION, others, "argocd") is None)
    assert ours.until_running(bed, "hello") == first


@pytest.mark.parametrize("per", ["Namespace", "Workload"])
def test_shared_objects_are_synced_and_all_but_claims_are_pruned(bed: Bed, tree: Tree, per: str) -> None:
    """A change updates them; when they leave the tree the claim stays, and so does the run."""
    tree.cluster("  gitops: {argocd: {", f"  gitops: {{argocd: {{applicationPer: {per}, ")
    tree.write("shared/sample/default/data.yaml", SHARED)
    ours.begin(bed, tree)
    run = ours.until_running(bed, "hello")
    claim = bed.api.get(*CLAIM, "dataset", "default")["metadata"]["uid"]

    tree.write("shared/sample/default/data.yaml", SHARED.replace("0.1", "0.2"))
    ours.push(bed, tree, "another value")
    assert {"lr": "0.2"} == bed.api.get(*kit.CONFIGMAP, "team", "default")["data"]

    (tree.root / "shared/sample/default/data.yaml").unlink()
    ours.push(bed, tree, "nothing is shared")

    def names() -> list[str]:
        return [item["metadata"]["name"] for item in bed.api.list(*kit.CONFIGMAP, "default")]

    bed.until("the ConfigMap to go", lambda: "team" not in names())
    assert claim == bed.api.get(*CLAIM, "dataset", "default")["metadata"]["uid"]
    assert run == ours.until_running(bed, "hello")
