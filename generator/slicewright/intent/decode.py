"""Checked documents to values. The schema has passed, so nothing here asks for types again."""

from typing import TypeVar

from msgspec import convert

from slicewright.catalogue.resolve import TpuRequest
from slicewright.intent.source import Source
from slicewright.intent.tpucluster import Account, Cluster, PriorityClass, Rung, TpuPool
from slicewright.intent.tpuworkload import Provisioning, Workload
from slicewright.kubernetes.types import Object

IN_CLUSTER = {"server": "https://kubernetes.default.svc"}
"""How Argo CD knows the cluster that it runs in."""
_Value = TypeVar("_Value")

DEFAULT_PRIORITY_CLASSES = {"very-low": 100, "low": 250, "medium": 500, "high": 750, "very-high": 1000}
"""The classes that every cluster has beside its own, or in place of which it declares its own (as in xpk)."""


def workload(source: Source) -> Workload:
    """Return the TPUWorkload of a document that its schema accepts, or of one with defaults."""
    spec = source.data["spec"]
    others = [provisioning(way) for way in spec.get("alternativeProvisioning", ())]
    return _sliced(
        Workload,
        {
            **source.data["metadata"],
            **spec,
            "alternativeProvisioning": others,
            "source": source,
            "spec": source.written.data["spec"],
        },
    )


def cluster(source: Source) -> Cluster:
    """Return the TPUCluster of a document that its schema accepts."""
    spec = source.data["spec"]
    pools = [{**item, "index": index} for index, item in enumerate(spec["pools"])]
    queues = spec.get("clusterQueues", [])
    managed = spec.get("managed", True)
    declared = spec.get("priorityClasses", [])
    values = {
        **spec,
        "source": source,
        "name": source.data["metadata"]["name"],
        "spec": spec,
        "installs": managed and spec.get("controllers", {}).get("managed", True),
        "tpuPools": [_sliced(TpuPool, item) for item in pools if "tpu" in item],
        "cpuPools": [{"nodePoolNames": [item["name"]], **item} for item in pools if "tpu" not in item],
        "localQueues": [
            {**item, "clusterQueue": queue["name"]}
            for queue in queues
            for item in queue.get("localQueues", [])
        ],
        "hasQueues": managed or "clusterQueues" in spec,
        "priorityClasses": [*DEFAULT_PRIORITY_CLASSES, *(item["name"] for item in declared)],
        "priorities": _priorities(declared),
        "clusterQueues": [{**item, "written": item} for item in queues],
        "computeClasses": [
            {**item, "index": index, "priorities": [_sliced(Rung, rung) for rung in item["priorities"]]}
            for index, item in enumerate(spec.get("computeClasses", []))
        ],
        "teams": [_team(index, item) for index, item in enumerate(spec.get("teams", []))],
        "gitops": _gitops(spec.get("gitops", {})),
    }
    return convert(values, Cluster)


def tpu_request(value: str | Object) -> TpuRequest:
    """Return what a `tpu:` field asks of the catalogue, whether a name or the parts of a shape."""
    return TpuRequest(name=value) if isinstance(value, str) else convert(value, TpuRequest)


def provisioning(value: str | Object) -> Provisioning:
    """Return a `provisioning:` field, whether a word or an object."""
    return convert({"type": value} if isinstance(value, str) else value, Provisioning)


def _sliced(kind: type[_Value], data: Object) -> _Value:
    """Return what has slices: a workload, a pool, or a rung of a ComputeClass."""
    values = {**data, "provisioning": provisioning(data.get("provisioning", "OnDemand"))}
    if "tpu" in data:
        values["tpu"] = tpu_request(data["tpu"])
    return convert(values, kind)


def _priorities(declared: list[Object]) -> list[PriorityClass]:
    classes = {name: PriorityClass(name, value) for name, value in DEFAULT_PRIORITY_CLASSES.items()}
    classes |= {item["name"]: convert(item, PriorityClass) for item in declared}
    return sorted(classes.values(), key=lambda entry: (entry.value, entry.name))


def _team(index: int, value: Object) -> Object:
    accounts = {name: list(map(_account, value.get(name, ()))) for name in ("admins", "viewers")}
    return {**value, "index": index, **accounts}


def _gitops(value: Object) -> Object:
    """Return the field with Argo CD's own cluster and Flux's usual kind of source where none is written."""
    values = dict(value)
    if argocd := value.get("argocd"):
        values["argocd"] = {**argocd, "destination": argocd.get("destination") or IN_CLUSTER}
    if flux := value.get("flux"):
        values["flux"] = {**flux, "sourceRef": {"kind": "GitRepository", **flux["sourceRef"]}}
    return values


def _account(value: str) -> Account:
    """Return an account as RBAC knows it: to GKE a Google service account is a user."""
    kind, colon, name = value.rpartition(":")
    if kind == "group":
        return Account("Group", name)
    if kind == "serviceAccount" and "@" not in name:
        return Account("ServiceAccount", name)
    return Account("User", name if colon else value)
