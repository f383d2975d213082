"""Objects as an API server shows them, in few words, and what is said of them."""

from collections.abc import Iterable
from typing import Any

from slicewright.cluster.status.inventory import Inventory
from slicewright.cluster.status.run_status import Run, Status, status
from slicewright.diff.tree_version import Folder, Objects, TreeObject
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import package

SHAPE = {"cloud.google.com/gke-tpu-topology": "2x4"}
LABELS = {"kueue.x-k8s.io/queue-name": "team", "slicewright.dev/workload": "a"}
VERSIONS = {"JobSet": "jobset.x-k8s.io/v1alpha2", "Job": "batch/v1", "Pod": "v1", "Node": "v1", "Event": "v1"}


def item(kind: str, name: str, spec: Object | None = None, owner: str = "", **more: Any) -> Object:
    """Return an object; its uid is `kind/name`. `conditions` are (type, status, reason, message)."""
    said = [
        {
            **dict(zip(("type", "status", "reason", "message"), entry, strict=False)),
            "lastTransitionTime": "T1",
        }
        for entry in more.pop("conditions", ())
    ]
    metadata: Object = {"name": name, "uid": f"{kind}/{name}", "creationTimestamp": "T0"}
    if kind not in ("Node", "ClusterQueue", "Cohort", "ResourceFlavor"):
        metadata["namespace"] = "default"
    if owner:
        metadata["ownerReferences"] = [{"uid": owner, "controller": True}]
    metadata |= more.pop("metadata", {})
    made = {"apiVersion": VERSIONS.get(kind, "kueue.x-k8s.io/v1beta2"), "kind": kind, "metadata": metadata}
    return {**made, "spec": spec or {}, "status": {"conditions": said, **more.pop("status", {})}, **more}


def jobset(name: str = "a", chips: int = 4, replicas: int = 1, **more: Any) -> Object:
    """Return a JobSet in the queue `team`: slices of two hosts."""
    pod = {
        "nodeSelector": SHAPE,
        "containers": [{"name": "main", "image": "x:1", "resources": {"limits": {"google.com/tpu": chips}}}],
    }
    job = {"spec": {"parallelism": 2, "completions": 2, "template": {"spec": pod}}}
    entry = {"name": "slice", "replicas": replicas, "template": job, **more.pop("entry", {})}
    spec = {"replicatedJobs": [entry], **more.pop("spec", {})}
    return item("JobSet", name, spec, metadata={"labels": more.pop("labels", LABELS)}, **more)


def workload(name: str = "a", *, admitted: int = 0, queue: str = "cq", **more: Any) -> Object:
    """Return the Workload of a JobSet, which waits, or has chips of the flavor `v5e`."""
    status: Object = more.pop("status", {})
    if admitted:
        assignment = {
            "name": "slice",
            "flavors": {"google.com/tpu": "v5e"},
            "resourceUsage": {"google.com/tpu": admitted},
        }
        status |= {"admission": {"clusterQueue": queue, "podSetAssignments": [assignment]}}
        reserved = [("QuotaReserved", "True", "QuotaReserved"), ("Admitted", "True", "Admitted")]
        more.setdefault("conditions", reserved)
    more.setdefault("conditions", [("QuotaReserved", "False", "Pending", "8 more needed")])
    spec = {"podSets": [{"name": "slice", "count": 2}], "queueName": "team", **more.pop("spec", {})}
    return item("Workload", f"jobset-{name}", spec, f"JobSet/{name}", status=status, **more)


def pod(name: str = "p0", run: str = "a", *, ready: bool = False, **more: Any) -> Object:
    """Return a pod of a run's Job `JOB`."""
    status: Object = {"phase": "Running" if ready else "Pending", **more.pop("status", {})}
    spec = {"nodeSelector": SHAPE, "containers": [{"name": "main", "image": "x:1"}], **more.pop("spec", {})}
    more.setdefault("conditions", [("Ready", "True" if ready else "False")])
    return item("Pod", name, spec, f"Job/{run}-0", status=status, **more)


def job(run: str = "a", **more: Any) -> Object:
    """Return the Job that a JobSet makes for its first slice."""
    return item(
        "Job",
        f"{run}-0",
        {"parallelism": 2, "completions": 2, **more.pop("spec", {})},
        f"JobSet/{run}",
        **more,
    )


def queue(
    chips: int = 16, *, stop: str = "None", name: str = "cq", local: str = "team", **spec: Any
) -> list[Object]:
    """Return a flavor, a ClusterQueue with quota of it, and a LocalQueue."""
    flavor = {"name": "v5e", "resources": [{"name": "google.com/tpu", "nominalQuota": str(chips)}]}
    group = {"coveredResources": ["google.com/tpu"], "flavors": [flavor]}
    return [
        item("ResourceFlavor", "v5e", {"nodeLabels": SHAPE}),
        item("ClusterQueue", name, {"resourceGroups": [group], "stopPolicy": stop, **spec}),
        item("LocalQueue", local, {"clusterQueue": name}),
    ]


def node(name: str = "n0", labels: Object | None = None, **spec: Any) -> Object:
    """Return a node."""
    return item("Node", name, spec, metadata={"labels": SHAPE if labels is None else labels})


def warning(about: str, reason: str, message: str, when: str = "T1") -> Object:
    """Return an event about the object of a uid."""
    more: Any = {
        "involvedObject": {"uid": about},
        "reason": reason,
        "message": message,
        "lastTimestamp": when,
    }
    return item("Event", f"{reason}-{when}", **more)


def inventory(*items: Object, **more: Any) -> Inventory:
    """Return what a cluster holds."""
    by_kind: dict[str, tuple[Object, ...]] = {}
    for item in items:
        by_kind[item["kind"]] = (*by_kind.get(item["kind"], ()), item)
    return Inventory(by_kind, **more)


def tree(*items: Object) -> Objects:
    """Return a tree that has some runs."""
    return {
        (
            "c1",
            one["apiVersion"].rpartition("/")[0],
            one["kind"],
            "default",
            one["metadata"]["name"],
        ): TreeObject(Folder("overlays/c1/default/a", "c1", "default", "a"), one)
        for one in items
    }


def read(*items: Object, wanted: Iterable[Object] = (), **more: Any) -> Status:
    """Return the status of a cluster that holds some objects."""
    return status("c1", "ctx", tree(*wanted), inventory(*items, **more), package().catalogue)


def run(*items: Object, **more: Any) -> Run:
    """Return the first of its runs."""
    return read(*items, **more).runs[0]


def why(*items: Object, **more: Any) -> list[tuple[str, str]]:
    """Return reason and message of the causes of the first run."""
    return [(cause.reason, cause.message) for cause in run(*items, **more).causes]
