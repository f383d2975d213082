"""Applications as people write them at first, and the plain objects that they sync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e import kit as clusters
from tests.e2e_argocd import kit
from tests.e2e_argocd.argo import NAMESPACE
from tests.resolved import resolve_text

if TYPE_CHECKING:
    from tests.e2e_argocd.repository import Git

    from slicewright.kubernetes.types import Object
    from slicewright.testbed.bed import Bed


SITE = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: naive}
spec:
  managed: false
  pools: [{name: cpu, machineType: n2-standard-64}]
"""
QUEUE = "queue"
FOLDER = "runs"
"""Where the objects lie in the repository."""

APPLICATION = "naive"


def prepare(bed: Bed, runs: int, **flavor: Any) -> None:
    """Give the cluster a project that allows everything, a node, and a queue for some runs at a time."""
    bed.add_nodes(resolve_text(SITE))
    everything = [{"group": "*", "kind": "*"}]
    spec: Object = {
        "sourceRepos": ["*"],
        "destinations": [{"namespace": "*", "server": "*"}],
        "clusterResourceWhitelist": everything,
    }
    api_version, kind = kit.PROJECT
    metadata = {"name": "default", "namespace": NAMESPACE}
    bed.api.create({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})
    resources = [{"name": "cpu", "nominalQuota": str(runs)}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": resources}]}
    queues: tuple[tuple[str, str, Object], ...] = (
        ("ResourceFlavor", "any", flavor),
        ("ClusterQueue", "all", {"namespaceSelector": {}, "resourceGroups": [group]}),
        ("LocalQueue", QUEUE, {"clusterQueue": "all"}),
    )
    for kind, name, spec in queues:
        metadata = {"name": name, "namespace": "default"} if kind == "LocalQueue" else {"name": name}
        bed.api.create({"apiVersion": clusters.KUEUE, "kind": kind, "metadata": metadata, "spec": spec})


def application(repository: Git, *options: str, **automated: Any) -> Object:
    """Return an Application that syncs the folder, with prune on."""
    api_version, kind = kit.APPLICATION
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": APPLICATION, "namespace": NAMESPACE},
        "spec": {
            "project": "default",
            "source": {"repoURL": repository.url, "path": FOLDER, "targetRevision": "main"},
            "destination": {"server": kit.HERE, "namespace": "default"},
            "syncPolicy": {
                "automated": {"prune": True, **automated},
                "syncOptions": list(options),
                "retry": {"limit": 1, "backoff": {"duration": "1s", "maxDuration": "1s"}},
            },
        },
    }


def note(text: str) -> Object:
    """Return an object that changes from commit to commit."""
    metadata = {"name": "note", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}


def job(name: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    """Return a queued Job of one pod, which runs until somebody ends it."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(name, annotations),
        "spec": {"backoffLimit": 0, "template": _template(), **spec},
    }


def jobset(name: str, *, tolerations: tuple[Object, ...] = (), **spec: Any) -> Object:
    """Return a queued JobSet of one pod, with what the webhook would default in its list written out."""
    job_spec = {"parallelism": 1, "completions": 1, "completionMode": "Indexed", "backoffLimit": 0}
    template = {"spec": {**job_spec, "template": _template(*tolerations)}}
    replicated = {"name": "worker", "groupName": "default", "replicas": 1, "template": template}
    api_version, kind = clusters.JOBSET
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": _metadata(name, None),
        "spec": {"replicatedJobs": [replicated], **spec},
    }


def _metadata(name: str, annotations: dict[str, str] | None) -> Object:
    metadata: Object = {"name": name, "namespace": "default", "labels": {clusters.QUEUE: QUEUE}}
    return {**metadata, "annotations": annotations} if annotations else metadata


def _template(*tolerations: Object) -> Object:
    container = {"name": "main", "image": "any", "resources": {"requests": {"cpu": "1"}}}
    spec: Object = {"restartPolicy": "Never", "containers": [container]}
    return {"spec": {**spec, "tolerations": list(tolerations)} if tolerations else spec}
