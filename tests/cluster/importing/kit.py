"""Living clusters by hand, or as we would have made them, and what is imported of them."""

from typing import Any

from slicewright.cluster.importing.cluster_document import Imported, imported
from slicewright.cluster.importing.node_pools import Inventory
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import catalogue
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform.platform_files import objects
from slicewright.testbed.nodes import simulated_nodes

KINDS = {
    "ResourceFlavor": "flavors",
    "ClusterQueue": "cluster_queues",
    "Cohort": "cohorts",
    "LocalQueue": "local_queues",
    "WorkloadPriorityClass": "workload_priority_classes",
    "PriorityClass": "priority_classes",
    "Topology": "topologies",
    "AdmissionCheck": "admission_checks",
    "ProvisioningRequestConfig": "provisioning_request_configs",
    "Node": "nodes",
    "Deployment": "deployments",
}
TPU = "google.com/tpu"
GKE = "cloud.google.com/"
V5E = {f"{GKE}gke-tpu-accelerator": "tpu-v5-lite-podslice", f"{GKE}gke-tpu-topology": "2x4"}
"""What selects nodes of v5litepod-8, two hosts of four chips each: no other machine has it as multi-host."""
HOST = {**V5E, f"{GKE}gke-accelerator-count": "4", "node.kubernetes.io/instance-type": "ct5lp-hightpu-4t"}


def inventory(*items: Object, versions: tuple[str, ...] = ("v1beta2",)) -> Inventory:
    """Return an inventory of objects."""
    fields: dict[str, list[Object]] = {}
    for item in items:
        fields.setdefault(KINDS[item["kind"]], []).append(item)
    return Inventory(**{field: tuple(some) for field, some in fields.items()}, kueue_versions=versions)


def living(site: ResolvedCluster) -> Inventory:
    """Return a cluster with the nodes and the platform of a site."""
    return inventory(*simulated_nodes(site), *(item for item in objects(site) if item["kind"] in KINDS))


def of(*items: Object, versions: tuple[str, ...] = ("v1beta2",), context: str = "test") -> Imported:
    """Return what is imported of some objects."""
    return imported(inventory(*items, versions=versions), catalogue(), name="c1", context=context)


def spec(*items: Object, **options: Any) -> Object:
    """Return the spec of what is imported of some objects."""
    body: Object = of(*items, **options).document["spec"]
    return body


def notes(*items: Object, **options: Any) -> list[str]:
    """Return what could not be said, but for what is never read and for the default priority classes."""
    return [
        note.message
        for note in of(*items, **options).notes
        if "are not read" not in note.message and "priority" not in note.message
    ]


def node(name: str, pool: str, *taints: str, **more: str) -> Object:
    """Return a node of a node pool; keys of `more` are labels, `__` for `/`."""
    labels = {key.replace("__", "/"): value for key, value in more.items()}
    return with_labels(name, {f"{GKE}gke-nodepool": pool, **labels}, *taints)


def with_labels(name: str, labels: dict[str, str], *taints: str) -> Object:
    """Return a node with labels and with taints by their keys."""
    listed = [{"key": key, "value": "true", "effect": "NoSchedule"} for key in taints]
    return {"kind": "Node", "metadata": {"name": name, "labels": dict(labels)}, "spec": {"taints": listed}}


def slice_nodes(pool: str, *taints: str, **more: str) -> list[Object]:
    """Return the nodes of a slice of v5litepod-8."""
    labels = {
        **HOST,
        f"{GKE}gke-nodepool": pool,
        **{key.replace("__", "/"): value for key, value in more.items()},
    }
    return [with_labels(f"{pool}-{index}", labels, *taints) for index in range(2)]


def flavor(name: str, labels: dict[str, str] | None = None, **more: Any) -> Object:
    """Return a ResourceFlavor."""
    return kueue("ResourceFlavor", name, {"nodeLabels": labels or {}, **more})


def kueue(kind: str, name: str, of_spec: Object, namespace: str = "") -> Object:
    """Return an object of Kueue."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"kind": kind, "metadata": metadata, "spec": of_spec}


def queue(name: str, *flavors: tuple[str, dict[str, Any]], **more: Any) -> Object:
    """Return a ClusterQueue with a group for each flavor: its name, and nominal quotas by resource."""
    groups = [
        {
            "coveredResources": list(quotas),
            "flavors": [
                {"name": flavor_name, "resources": [_quota(key, value) for key, value in quotas.items()]}
            ],
        }
        for flavor_name, quotas in flavors
    ]
    return kueue("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": groups, **more})


def _quota(resource: str, value: Any) -> Object:
    return {"name": resource, **(value if isinstance(value, dict) else {"nominalQuota": value})}
