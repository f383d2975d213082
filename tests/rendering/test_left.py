"""Runs that end in the tree while nobody is left to end them in the cluster."""

import pytest
from tests.conftest import CLUSTER, Repo

JOB = "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}"
ARGOCD = "argocd: {repoURL: 'https://example.test/t.git', path: deep/tree"
FLUX = "flux: {sourceRef: {name: t}"
APART = [f"{ARGOCD}, applicationPer: Workload}}", f"{FLUX}, kustomizationPer: Workload}}"]
TOGETHER = [f"{ARGOCD}}}", f"{FLUX}}}"]
TOOLS = [*APART, *TOGETHER]
GONE = "the workload is gone"
GOES_ON = f"{GONE}; it goes on in the cluster, because nothing prunes it: delete it with kubectl"


def synced(repo: Repo, tool: str) -> str:
    """Render a cluster that is synced with two workloads, and return the run of one."""
    repo.cluster("c1", f"{CLUSTER.rstrip()}\n    gitops: {{{tool}}}\n")
    repo.workload("a", JOB)
    repo.workload("b", JOB)
    repo.run("render")
    return repo.runs()[0].removesuffix(".yaml")


@pytest.mark.parametrize("tool", TOOLS)
def test_runs_of_a_cluster_that_is_deleted_go_on(repo: Repo, tool: str) -> None:
    """What syncs it leaves with them, and prunes nothing. It is said, and is an end in the tree still."""
    synced(repo, tool)
    for path in ("clusters/c1.yaml", "workloads/a.yaml", "workloads/b.yaml"):
        (repo.root / path).unlink()

    assert [GOES_ON, GOES_ON] == [effect.partition(": ")[2] for effect in repo.effects()]


@pytest.mark.parametrize("tool", TOOLS)
def test_run_that_leaves_a_cluster_which_is_synced_no_more(repo: Repo, tool: str) -> None:
    """What syncs a namespace prunes it while another workload is there; what synced it alone does not."""
    run = synced(repo, tool)
    repo.cluster()
    (repo.root / "workloads/a.yaml").unlink()

    assert [f"ends c1/default/{run}: {GOES_ON if tool in APART else GONE}"] == repo.effects()


@pytest.mark.parametrize("tool", TOOLS)
def test_run_that_leaves_a_cluster_which_is_synced_is_pruned(repo: Repo, tool: str) -> None:
    """Also the last one of its namespace, in which an anchor stays."""
    run = synced(repo, tool)
    (repo.root / "workloads/a.yaml").unlink()
    (repo.root / "workloads/b.yaml").unlink()

    assert [f"ends c1/default/{run}: {GONE}", GONE] == [
        effect if run in effect else effect.partition(": ")[2] for effect in repo.effects()
    ]
