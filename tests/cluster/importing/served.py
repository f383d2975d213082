"""What the API server of a cluster answers that `slicewright import cluster` reads."""

from typing import Any

KINDS = {
    "Node": ("/api/v1", "nodes"),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "ResourceFlavor": ("", "resourceflavors"),
    "ClusterQueue": ("", "clusterqueues"),
    "Cohort": ("", "cohorts"),
    "LocalQueue": ("", "localqueues"),
    "WorkloadPriorityClass": ("", "workloadpriorityclasses"),
    "Topology": ("", "topologies"),
    "AdmissionCheck": ("", "admissionchecks"),
    "ProvisioningRequestConfig": ("", "provisioningrequestconfigs"),
}
"""The path of the API, empty for Kueue's, and the name of the resource."""
GROUP = "/apis/kueue.x-k8s.io"


def answers(found: dict[str, Any], *versions: str, version: str = "v1beta2") -> dict[str, Any]:
    """Return what is answered at each path: by kind a list of objects, or any other answer.

    Kueue's kinds are in one version of those that the cluster has; without versions there is no Kueue.
    """
    served: dict[str, Any] = {GROUP: {"versions": [{"version": one} for one in versions]}} if versions else {}
    for kind, (root, plural) in KINDS.items():
        path = root or f"{GROUP}/{version}"
        resources = served.setdefault(path, {"resources": []})["resources"]
        resources.append({"name": plural, "kind": kind, "namespaced": kind in ("LocalQueue", "Deployment")})
        answer = found.get(kind, [])
        served[f"{path}/{plural}"] = {"items": answer, "metadata": {}} if isinstance(answer, list) else answer
    return served
