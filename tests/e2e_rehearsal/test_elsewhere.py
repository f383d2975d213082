"""The command on a cluster that runs already: marked, claimed, and left as it was."""

import json
from pathlib import Path

import pytest
import yaml
from tests.conftest import Repo
from tests.resolved import resolve_text

from slicewright.cluster.api import kubeconfig
from slicewright.rehearse.existing_cluster import LEASE, NAMESPACE
from slicewright.rehearse.existing_cluster import MARK as TEST_CLUSTER
from slicewright.testbed.bed import Bed

from . import kit
from .command import CLUSTER, rehearsed, rehearsing
from .conftest import SYSTEM

KUEUE = "kueue.x-k8s.io/v1beta2"
KINDS = (
    *(("v1", kind) for kind in ("Namespace", "Node", "Pod", "Service", "ServiceAccount", "ConfigMap")),
    *(("batch/v1", "Job"), ("jobset.x-k8s.io/v1alpha2", "JobSet")),
    *((KUEUE, kind) for kind in ("Workload", "LocalQueue", "ClusterQueue", "ResourceFlavor", "Cohort")),
    *((KUEUE, "WorkloadPriorityClass"), ("scheduling.k8s.io/v1", "PriorityClass")),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
)


THEIRS = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: theirs}
spec:
  managed: false
  project: PROJECT_ID
  location: us-west4
  pools: [{name: theirs, tpu: v5litepod-8, slices: 2}]
"""
HEAD = "pools: [{name: cpu, machineType: n2-standard-64}, {name: others, tpu: v5litepod-16, slices: 1}, "
HEADLESS = """
clusters: [c1]
tpu: v5litepod-16
naming: Fixed
pathways: {pathwaysDir: gs://b/t, headless: true, head: {pool: cpu}}
"""


def context(bed: Bed) -> list[str]:
    """Return the options that name a cluster."""
    name = yaml.safe_load(bed.kubeconfig.read_text(encoding="utf-8"))["current-context"]
    return ["--kubeconfig", str(bed.kubeconfig), "--context", name]


def with_plugin(bed: Bed, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the options for a kubeconfig of the cluster as those of GKE: a program gives the credential.

    The program needs a variable of the user's environment, as gcloud may, and so do those that KWOK starts.
    """
    access = kubeconfig.read(bed.kubeconfig)
    status = {"clientCertificateData": access.certificate, "clientKeyData": access.key}
    version = "client.authentication.k8s.io/v1beta1"
    credential = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    (folder / "credential").write_text(json.dumps(credential))
    monkeypatch.setenv("FOLDER_OF_CREDENTIALS", str(folder))
    (folder / "plugin").write_text('#!/bin/sh\ncat "$FOLDER_OF_CREDENTIALS/credential"\n')
    (folder / "plugin").chmod(0o755)
    section = {"apiVersion": version, "command": "./plugin", "interactiveMode": "IfAvailable"}
    document = yaml.safe_load(bed.kubeconfig.read_text(encoding="utf-8"))
    document["users"][0]["user"] = {"exec": {**section, "provideClusterInfo": True}}
    (folder / "config").write_text(yaml.safe_dump(document))
    return ["--kubeconfig", str(folder / "config"), "--context", document["current-context"]]


def everything(bed: Bed) -> set[str]:
    """Return all objects of a cluster, when all namespaces have what controllers make in each."""
    bed.until("the namespaces to be complete", lambda: has_complete_namespaces(bed))
    found = {
        f"{kind} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
        for api_version, kind in KINDS
        for item in bed.api.list(api_version, kind)
    }
    claims = bed.api.list(*LEASE, NAMESPACE)
    return found | {
        f"Lease {item['metadata']['name']}"
        for item in claims
        if item["metadata"]["name"].startswith("slicewright")
    }


def has_complete_namespaces(bed: Bed) -> bool:
    """Tell whether every namespace has its service account and the certificate of the cluster."""
    made = {"ServiceAccount": "default", "ConfigMap": "kube-root-ca.crt"}
    named = {
        kind: [
            item["metadata"]["namespace"] for item in bed.api.list("v1", kind, fields=f"metadata.name={name}")
        ]
        for kind, name in made.items()
    }
    wanted = [item["metadata"]["name"] for item in bed.api.list("v1", "Namespace")]
    return all(sorted(wanted) == sorted(there) for there in named.values())


def marked(bed: Bed) -> Bed:
    """Return the cluster with the mark of a test cluster, as --mark sets it."""
    bed.api.patch(SYSTEM, {"metadata": {"labels": {TEST_CLUSTER: "true"}}})
    return bed


def test_cluster_without_the_mark_is_refused_and_left_alone(other_bed: Bed, repo: Repo) -> None:
    """Nobody rehearses on a cluster that works for a living by mistake."""
    before = everything(other_bed)
    code, out, err = rehearsed(repo, *context(other_bed))

    assert (1, "") == (code, out)
    assert "REH008" in err
    assert "--mark" in err
    assert before == everything(other_bed)


@pytest.mark.ci
def test_marked_cluster_is_played_on_and_left_as_it_was(
    other_bed: Bed, repo: Repo, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --mark it is marked; what was there stays, what was made goes, also pods that run forever.

    The kubeconfig names a credential plugin, for the rehearsal and for the programs beside the cluster.
    """
    options = with_plugin(other_bed, tmp_path_factory.mktemp("plugin"), monkeypatch)
    repo.cluster(spec=CLUSTER.replace("pools: [", HEAD))
    repo.workload("served", HEADLESS)
    repo.run("render")
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "default"}}
    other_bed.api.create(mine)
    before = everything(other_bed)
    code, out, _ = rehearsed(repo, *options, "--mark", "--speed", "10", "-o", "json")
    output = json.loads(out)
    after = everything(other_bed)
    other_bed.api.delete(mine)

    assert [[]] == [record["problems"] for record in output["rehearsals"]]
    assert (0, []) == (code, kit.wrong(output))
    assert ["passed"] == [record["verdict"] for record in output["rehearsals"]]
    assert before == after


@pytest.mark.workflow
def test_nodes_of_others_are_neither_used_nor_lost(other_bed: Bed, repo: Repo) -> None:
    """They are of the same shape and would take the pods; a fault takes the slice of the rehearsal alone."""
    other_bed.add_nodes(resolve_text(THEIRS))
    theirs = other_bed.api.list("v1", "Node")
    fault = "rehearsal: {duration: 40s, faults: [{kind: SliceLoss, at: 10s, duration: 5s}]}"
    lines = f"queueName: q\nfailurePolicy: {{maxRestarts: 2}}\n{fault}"
    repo.workload("a", kit.spec(lines), metadata=", namespace: team")
    repo.run("render")
    before = everything(other_bed)
    _, out, _ = rehearsed(repo, *context(other_bed), "--mark", "--speed", "4", "-o", "json")
    (record,) = json.loads(out)["rehearsals"]
    after = everything(other_bed)
    other_bed.api.each(other_bed.api.delete, theirs)
    pieces = [piece for entry in record["workloads"] for piece in entry["slices"]]

    assert ([], "passed") == (record["problems"], record["verdict"])
    assert ([["tpus-0"], ["tpus-0"]], 4) == ([piece["nodePools"] for piece in pieces], len(theirs))
    assert before == after


@pytest.mark.ci
def test_second_rehearsal_on_a_cluster_is_refused(other_bed: Bed, repo: Repo) -> None:
    """The second says who plays there, and changes nothing; the first does not notice."""
    options = context(marked(other_bed))
    before = everything(other_bed)
    with rehearsing(repo, *options, "--speed", "1", "-o", "junit") as first:
        first.until("team/a running")
        code, out, err = rehearsed(repo, *options)
        done = first.end()

    assert (3, "") == (code, out)
    assert "REH009 another rehearsal is using https://127.0.0.1:" in err
    assert f": process {first.process.pid} on" in err
    assert (0, True) == (done[0], 'name="TPUWorkload team/a"' in done[1])
    assert before == everything(other_bed)


@pytest.mark.workflow
def test_next_rehearsal_removes_what_was_left(other_bed: Bed, repo: Repo) -> None:
    """After a second Ctrl-C something is left, which is told; the next rehearsal removes that and plays."""
    options = context(marked(other_bed))
    before = everything(other_bed)
    with rehearsing(repo, *options, "--speed", "1") as torn:
        torn.until("team/a running")
        torn.interrupt()
        torn.until("removing what was made")
        torn.interrupt()
        code, out, err = torn.end()
    left = everything(other_bed) - before
    again = rehearsed(repo, *options, "--speed", "10")

    assert (130, "c1: interrupted, 1 error; 1 still ran; simulated") == (code, out[:48])
    assert "REH009 not all objects of the rehearsal are removed: it was interrupted" in err
    assert "Node /tpus-0-0" in left
    assert (0, True) == (again[0], "removing what an earlier rehearsal has left" in again[2])
    assert before == everything(other_bed)


def test_object_that_is_there_already_is_told(other_bed: Bed, repo: Repo) -> None:
    """It stays as it is, what was made beside it goes, and the reason is a problem, not a traceback."""
    options = context(marked(other_bed))
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "tpus-0-0"}}
    other_bed.api.create(node)
    before = everything(other_bed)
    code, out, err = rehearsed(repo, *options)
    after = everything(other_bed)
    other_bed.api.delete(node)

    assert (1, "c1: failed, 1 error; 1 not submitted; simulated 0.0s") == (code, out[:52])
    assert "clusters/c1.yaml:6:10: REH006 Node tpus-0-0 already exists" in err
    assert before == after


def test_context_that_is_not_there_is_said(other_bed: Bed, repo: Repo) -> None:
    """The file is right, the name is not."""
    code, _, err = rehearsed(repo, "--kubeconfig", str(other_bed.kubeconfig), "--context", "nobody")

    assert (3, True) == (code, "BED004" in err)
