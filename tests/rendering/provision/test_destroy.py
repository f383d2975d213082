"""`destroy.sh`, run by a real bash against stubs of gcloud and kubectl."""

from pathlib import Path

import pytest

from .kit import NODE_POOLS, PLACE, Machine, machine, site

CRD = "customresourcedefinition.apiextensions.k8s.io/clusterqueues.kueue.x-k8s.io"


def up(host: Machine) -> None:
    """Make everything that a cluster of RICH is."""
    host.has("clusters", "c1")
    host.has("node-pools", *NODE_POOLS, "default-pool")
    host.has("policies", "c1-big", "made-elsewhere")
    host.has("crd", CRD)
    host.has("queues", "clusterqueue.kueue.x-k8s.io/q1", "clusterqueue.kueue.x-k8s.io/q10")
    folder = host.root / "overlays" / "c1" / "_platform"
    folder.mkdir(parents=True)
    for name in ("queues", "local-queues", "flavors", "topologies", "namespaces"):
        (folder / f"{name}.yaml").write_text("", encoding="utf-8")


@pytest.mark.slow
def test_destroy(rich: Machine) -> None:
    """Queues are drained, then Kueue's objects go in order, node pools, our policies and the cluster."""
    up(rich)
    done = rich.run("destroy.sh", "--yes")
    folder = rich.root / "overlays" / "c1" / "_platform"
    place = "--location=us-central1"
    drain = '{"spec":{"stopPolicy":"HoldAndDrain"}}'
    delete = "--ignore-not-found --wait --timeout=15m"

    assert (0, "") == (done.code, done.err)
    assert done.changes == [
        f"gcloud container clusters get-credentials c1 {place} --project=my-project",
        f"kubectl patch clusterqueues.kueue.x-k8s.io q1 --type=merge -p {drain}",
        *(f"kubectl delete -f {folder}/{name}.yaml {delete}" for name in ("local-queues", "queues")),
        *(f"kubectl delete -f {folder}/{name}.yaml {delete}" for name in ("flavors", "topologies")),
        *(
            f"gcloud container node-pools delete {name} {place} --cluster=c1 --project=my-project --quiet"
            for name in NODE_POOLS
        ),
        "gcloud compute resource-policies delete c1-big --region=us-central1 --project=my-project --quiet",
        f"gcloud container clusters delete c1 {place} --project=my-project --quiet",
    ]
    assert (rich.names("node-pools"), rich.names("policies")) == (["default-pool"], ["made-elsewhere"])


@pytest.mark.slow
def test_destroy_twice(rich: Machine) -> None:
    """Where the cluster is gone, nothing is deleted any more, and policies that were left are."""
    up(rich)
    rich.has("fails", "delete c1-big")
    first = rich.run("destroy.sh", "--yes")
    rich.has("fails", "no such call")
    second = rich.run("destroy.sh", "--yes")
    third = rich.run("destroy.sh", "--yes")

    assert (1, 0, 0) == (first.code, second.code, third.code)
    assert rich.names("clusters") == []
    assert third.changes == []
    next_step = "# next: if you removed c1 from clusters/, delete provision/c1"
    assert third.out == f"# cluster c1 does not exist\n{next_step}\n"


def test_destroy_without_kueue(rich: Machine) -> None:
    """Where Kueue is gone already, node pools and cluster still go."""
    up(rich)
    rich.has("crd")
    done = rich.run("destroy.sh", "--yes")

    assert done.code == 0
    assert [call for call in done.changes if call.startswith("kubectl")] == []
    assert rich.names("clusters") == []


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["", "yes\n", "c1x\n"])
def test_destroy_asks(rich: Machine, answer: str) -> None:
    """Without --yes nothing goes unless the name of the cluster is typed."""
    up(rich)
    refused = rich.run("destroy.sh", answer=answer)
    accepted = rich.run("destroy.sh", answer="c1\n")

    assert (1, []) == (refused.code, refused.calls)
    assert refused.err.endswith("nothing was deleted\n")
    assert accepted.code == 0
    assert rich.names("clusters") == []


def test_destroy_beside_terraform(tmp_path: Path) -> None:
    """Where Terraform made the cluster, the script deletes Kueue's objects, and prints the next steps.

    Terraform refuses to destroy a protected cluster, and reads the protection from its state.
    """
    spec = f"{PLACE}environment: {{}}\npools: [{{name: a, tpu: v5e-4}}]"
    host = machine(tmp_path, site(spec))
    up(host)
    done = host.run("destroy.sh", "--yes")

    assert done.out.splitlines()[-3:] == [
        "# next: terraform -chdir=provision/c1 apply -var=deletion_protection=false",
        "# then: terraform -chdir=provision/c1 destroy, which deletes node pools, cluster and the rest",
        "# then: if you removed c1 from clusters/, delete provision/c1",
    ]
    assert (host.names("clusters"), host.names("node-pools")[0]) == (["c1"], "big-0")
