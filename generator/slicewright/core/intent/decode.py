"""Checked documents to values. The schema has passed, so nothing here asks for types again.

A field of a value is written in camelCase; what is not written has the default of the field.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from slicewright.core.catalogue.resolve import TpuRequest
from slicewright.core.intent.cluster import (
    Account,
    ArgoCD,
    Cluster,
    ClusterQueue,
    Cohort,
    ComputeClass,
    CpuPool,
    Existing,
    Flux,
    GitOps,
    LocalQueue,
    PriorityClass,
    Quota,
    Rung,
    Team,
    TpuPool,
)
from slicewright.core.intent.source import Source
from slicewright.core.intent.workload import (
    AuxiliaryJob,
    Cpu,
    FailurePolicy,
    GcsFuse,
    Pathways,
    PathwaysHead,
    PathwaysWorker,
    Provisioning,
    RunFile,
    Workload,
)
from slicewright.core.record import camel

IN_CLUSTER = {"server": "https://kubernetes.default.svc"}
"""How Argo CD knows the cluster that it runs in."""
_Value = TypeVar("_Value")

DEFAULT_PRIORITY_CLASSES = {"very-low": 100, "low": 250, "medium": 500, "high": 750, "very-high": 1000}
"""The classes that every cluster has beside its own, or in place of which it declares its own (as in xpk)."""


def workload(source: Source) -> Workload:
    """Return the TPUWorkload of a document that its schema accepts, or of one with defaults."""
    metadata, spec = source.data["metadata"], source.data["spec"]
    policy = spec.get("failurePolicy", {})
    return _decoded(
        Workload,
        spec,
        source=source,
        name=metadata["name"],
        namespace=metadata.get("namespace", "default"),
        labels=metadata.get("labels", {}),
        annotations=metadata.get("annotations", {}),
        spec=source.written.data["spec"],
        tpu=tpu_request(spec["tpu"]) if "tpu" in spec else None,
        cpu=_decoded(Cpu, spec["cpu"]) if "cpu" in spec else None,
        provisioning=provisioning(spec.get("provisioning", "OnDemand")),
        alternative_provisioning=tuple(map(provisioning, spec.get("alternativeProvisioning", ()))),
        gcs_fuse=tuple(_decoded(GcsFuse, item) for item in spec.get("gcsFuse", ())),
        files=tuple(_decoded(RunFile, item) for item in spec.get("files", ())),
        failure_policy=_decoded(FailurePolicy, policy, restart_on_exit_codes=_exit_codes(policy)),
        auxiliary_jobs=tuple(_decoded(AuxiliaryJob, item) for item in spec.get("auxiliaryJobs", ())),
        pathways=_pathways(spec["pathways"]) if "pathways" in spec else None,
    )


def cluster(source: Source) -> Cluster:
    """Return the TPUCluster of a document that its schema accepts."""
    spec = source.data["spec"]
    pools = list(enumerate(spec["pools"]))
    queues = spec.get("clusterQueues", [])
    managed = spec.get("managed", True)
    declared = spec.get("priorityClasses", [])
    return Cluster(
        source=source,
        name=source.data["metadata"]["name"],
        spec=spec,
        mode=spec.get("mode", "Standard"),
        managed=managed,
        installs=managed and spec.get("controllers", {}).get("managed", True),
        tpu_pools=tuple(_slices(TpuPool, item, index=index) for index, item in pools if "tpu" in item),
        cpu_pools=tuple(_cpu_pool(index, item) for index, item in pools if "tpu" not in item),
        local_queues=tuple(
            _decoded(LocalQueue, item, cluster_queue=queue["name"], weight=_weight(item))
            for queue in queues
            for item in queue.get("localQueues", [])
        ),
        has_queues=managed or "clusterQueues" in spec,
        priority_classes=(*DEFAULT_PRIORITY_CLASSES, *(item["name"] for item in declared)),
        priorities=_priorities(declared),
        cohorts=tuple(
            _decoded(Cohort, item, quota=_quotas(item), weight=_weight(item))
            for item in spec.get("cohorts", [])
        ),
        cluster_queues=tuple(
            _decoded(ClusterQueue, item, quota=_quotas(item), weight=_weight(item), written=item)
            for item in queues
        ),
        compute_classes=tuple(
            _decoded(
                ComputeClass,
                item,
                index=index,
                rungs=tuple(_slices(Rung, rung) for rung in item["priorities"]),
            )
            for index, item in enumerate(spec.get("computeClasses", []))
        ),
        teams=tuple(_team(index, item) for index, item in enumerate(spec.get("teams", []))),
        existing=tuple(_decoded(Existing, item) for item in spec.get("existing", [])),
        gitops=_gitops(spec.get("gitops", {})),
    )


def tpu_request(value: str | dict[str, Any]) -> TpuRequest:
    """Return what a `tpu:` field asks of the catalogue, whether a name or the parts of a shape."""
    return TpuRequest(name=value) if isinstance(value, str) else _decoded(TpuRequest, value)


def provisioning(value: str | dict[str, Any]) -> Provisioning:
    """Return a `provisioning:` field, whether a word or an object."""
    return _decoded(Provisioning, {"type": value} if isinstance(value, str) else value)


@cache
def _keys(kind: Any) -> tuple[tuple[str, str], ...]:
    """Return the fields of a Struct, each with the key that people write."""
    return tuple((name, camel(name)) for name in kind.__struct_fields__)


def _decoded(kind: Callable[..., _Value], data: Mapping[str, Any], /, **decoded: Any) -> _Value:
    """Return a Struct with the fields that are decoded, else those of the data; lists become tuples."""
    values = {name: data[key] for name, key in _keys(kind) if key in data}
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return kind(**{**plain, **decoded})


def _exit_codes(policy: dict[str, Any]) -> tuple[int, ...]:
    """Return the exit codes of a list of codes and ranges (`128-255`), in order and each once."""
    codes: set[int] = set()
    for entry in policy.get("restartOnExitCodes", []):
        first, _, last = str(entry).partition("-")
        codes |= set(range(int(first), int(last or first) + 1))
    return tuple(sorted(codes))


def _pathways(value: dict[str, Any]) -> Pathways:
    return _decoded(
        Pathways,
        value,
        colocated_python=value.get("colocatedPython", {}).get("image", ""),
        head=_decoded(PathwaysHead, value.get("head", {})),
        worker=_decoded(PathwaysWorker, value.get("worker", {})),
    )


def _slices(kind: Callable[..., _Value], value: dict[str, Any], **decoded: Any) -> _Value:
    """Return what has slices of a shape: a pool, or a rung of a ComputeClass."""
    way = provisioning(value.get("provisioning", "OnDemand"))
    return _decoded(kind, value, tpu=tpu_request(value["tpu"]), provisioning=way, **decoded)


def _cpu_pool(index: int, value: dict[str, Any]) -> CpuPool:
    names = tuple(value.get("nodePoolNames", (value["name"],)))
    return _decoded(CpuPool, value, index=index, node_pool_names=names)


def _weight(value: dict[str, Any]) -> str | int | float | None:
    """Return the weight of fair sharing; a block that says nothing of it means 1."""
    weight: str | int | float = value.get("fairSharing", {}).get("weight", 1)
    return weight if "fairSharing" in value else None


def _quotas(value: dict[str, Any]) -> tuple[Quota, ...]:
    return tuple(_decoded(Quota, item) for item in value.get("quota", []))


def _priorities(declared: list[dict[str, Any]]) -> tuple[PriorityClass, ...]:
    classes = {name: PriorityClass(name, value) for name, value in DEFAULT_PRIORITY_CLASSES.items()}
    for item in declared:
        pods = item.get("podPriorityClass", False)
        classes[item["name"]] = _decoded(PriorityClass, item, pods=pods)
    return tuple(sorted(classes.values(), key=lambda entry: (entry.value, entry.name)))


def _team(index: int, value: dict[str, Any]) -> Team:
    accounts = {name: tuple(map(_account, value.get(name, ()))) for name in ("admins", "viewers")}
    return _decoded(Team, value, index=index, **accounts)


def _gitops(value: dict[str, Any]) -> GitOps:
    argocd, flux = value.get("argocd"), value.get("flux")
    source = {"kind": "GitRepository", **flux["sourceRef"]} if flux else {}
    destination = argocd and (argocd.get("destination") or IN_CLUSTER)
    return GitOps(
        argocd and _decoded(ArgoCD, argocd, repo_url=argocd["repoURL"], destination=destination),
        flux and _decoded(Flux, flux, source_ref=source),
    )


def _account(value: str) -> Account:
    """Return an account as RBAC knows it: to GKE a Google service account is a user."""
    kind, colon, name = value.rpartition(":")
    if kind == "group":
        return Account("Group", name)
    if kind == "serviceAccount" and "@" not in name:
        return Account("ServiceAccount", name)
    return Account("User", name if colon else value)
