"""Objects of Kueue with quota of chips, in few words."""

from typing import Any

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.quantity import plain
from slicewright.kueue.quota import Most

V5E = {
    "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
    "cloud.google.com/gke-tpu-topology": "4x4",
}


def resources(nominal: int, **limits: int) -> list[dict[str, Any]]:
    """Return resource groups with one quota of chips."""
    quota = {"name": TPU, "nominalQuota": str(nominal), **{key: str(value) for key, value in limits.items()}}
    return [{"coveredResources": [TPU], "flavors": [{"name": "v5e", "resources": [quota]}]}]


def queue(name: str, nominal: int, cohort: str = "", **limits: int) -> dict[str, Any]:
    """Return a ClusterQueue."""
    spec = {"resourceGroups": resources(nominal, **limits), **({"cohortName": cohort} if cohort else {})}
    return kueue("ClusterQueue", name, spec)


def cohort(name: str, nominal: int | None = None, parent: str = "", **limits: int) -> dict[str, Any]:
    """Return a Cohort."""
    spec: dict[str, Any] = {"parentName": parent} if parent else {}
    if nominal is not None:
        spec["resourceGroups"] = resources(nominal, **limits)
    return kueue("Cohort", name, spec)


def kueue(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return an object of Kueue's API."""
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


def said(found: Most) -> str:
    """Return what a message says of it."""
    borrowing = plain(found.total - found.nominal)
    return f"{plain(found.total)} (nominal {plain(found.nominal)}, borrowing {borrowing})"


def job(**spec: Any) -> dict[str, Any]:
    """Return a Job in the queue `q`."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "a", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": spec,
    }


def pods(*requests: dict[str, str], init: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """Return a pod template for v5e, with a container for each of some requests."""
    containers = [
        {"name": str(index), "resources": {"requests": wanted}} for index, wanted in enumerate(requests)
    ]
    return {"spec": {"containers": containers, "initContainers": list(init), "nodeSelector": V5E}}
