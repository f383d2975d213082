"""Checked documents to values. The schema has passed, so nothing here asks for types again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from slicewright.core.intent.workload import (
    AuxiliaryJob,
    FailurePolicy,
    GcsFuse,
    Pathways,
    PathwaysHead,
    PathwaysWorker,
    Provisioning,
    Workload,
)

if TYPE_CHECKING:
    from slicewright.core.intent.source import Source

DEFAULT_PRIORITY_CLASSES = {"very-low": 100, "low": 250, "medium": 500, "high": 750, "very-high": 1000}
"""The classes that every cluster has beside its own, or in place of which it declares its own (as in xpk)."""


def workload(source: Source) -> Workload:
    """Return the TPUWorkload of a document that its schema accepts."""
    metadata, spec = source.data["metadata"], source.data["spec"]
    return Workload(
        source=source,
        name=metadata["name"],
        namespace=metadata.get("namespace", "default"),
        clusters=tuple(spec["clusters"]),
        tpu=tpu_request(spec["tpu"]),
        spec=spec,
        labels=metadata.get("labels", {}),
        annotations=metadata.get("annotations", {}),
        slices=spec.get("slices", 1),
        provisioning=provisioning(spec.get("provisioning", "OnDemand")),
        alternative_provisioning=tuple(
            provisioning(item) for item in spec.get("alternativeProvisioning", [])
        ),
        max_run_duration_seconds=spec.get("maxRunDurationSeconds"),
        api=spec.get("api", "JobSet"),
        naming=spec.get("naming", "Hashed"),
        run=spec.get("run", 1),
        on_change=spec.get("onChange", "Replace"),
        queue_name=spec.get("queueName", ""),
        workload_priority_class_name=spec.get("workloadPriorityClassName", ""),
        container=spec.get("container", {}),
        pod_template=spec.get("podTemplate", {}),
        containers_per_host=spec.get("containersPerHost", 1),
        host_network=spec.get("hostNetwork", False),
        privileged=spec.get("privileged", False),
        gcs_fuse=tuple(_gcs_fuse(item) for item in spec.get("gcsFuse", [])),
        backoff_limit=spec.get("backoffLimit"),
        failure_policy=_failure_policy(spec.get("failurePolicy", {})),
        max_execution_time_seconds=spec.get("maxExecutionTimeSeconds"),
        auxiliary_jobs=tuple(_auxiliary_job(item) for item in spec.get("auxiliaryJobs", [])),
        pathways=_pathways(spec["pathways"]) if "pathways" in spec else None,
        components=tuple(spec.get("components", [])),
        patches=tuple(spec.get("patches", [])),
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
        tpu_pools=tuple(_tpu_pool(index, item) for index, item in pools if "tpu" in item),
        cpu_pools=tuple(_cpu_pool(index, item) for index, item in pools if "tpu" not in item),
        local_queues=tuple(
            _local_queue(item, queue["name"]) for queue in queues for item in queue.get("localQueues", [])
        ),
        has_queues=managed or "clusterQueues" in spec,
        priority_classes=(*DEFAULT_PRIORITY_CLASSES, *(item["name"] for item in declared)),
        priorities=_priorities(declared),
        cohorts=tuple(_cohort(item) for item in spec.get("cohorts", [])),
        cluster_queues=tuple(_cluster_queue(item) for item in queues),
        compute_classes=tuple(
            _compute_class(index, item) for index, item in enumerate(spec.get("computeClasses", []))
        ),
        teams=tuple(_team(index, item) for index, item in enumerate(spec.get("teams", []))),
        existing=tuple(
            Existing(item["kind"], item["namespace"], item["name"]) for item in spec.get("existing", [])
        ),
        gitops=_gitops(spec.get("gitops", {})),
    )


def tpu_request(value: str | dict[str, Any]) -> TpuRequest:
    """Return what a `tpu:` field asks of the catalogue, whether a name or the parts of a shape."""
    if isinstance(value, str):
        return TpuRequest(name=value)
    return TpuRequest(
        accelerator=value["accelerator"],
        topology=value.get("topology", ""),
        machine_type=value.get("machineType", ""),
        allow_unlisted=value.get("allowUnlisted", False),
    )


def provisioning(value: str | dict[str, Any]) -> Provisioning:
    """Return a `provisioning:` field, whether a word or an object."""
    if isinstance(value, str):
        return Provisioning(value)  # type: ignore[arg-type]  # the schema's enum is the Literal
    parts = (value.get(key, "") for key in ("name", "project", "block", "subBlock"))
    return Provisioning(value["type"], *parts)


def _gcs_fuse(value: dict[str, Any]) -> GcsFuse:
    return GcsFuse(
        value["bucket"], value["mountPath"], value.get("options", ""), value.get("readOnly", False)
    )


def _failure_policy(value: dict[str, Any]) -> FailurePolicy:
    return FailurePolicy(
        max_restarts=value.get("maxRestarts", 0),
        restart_strategy=value.get("restartStrategy", "Recreate"),
        rules=tuple(value.get("rules", [])),
        on_host_maintenance=value.get("onHostMaintenance"),
        restart_on_exit_codes=_exit_codes(value.get("restartOnExitCodes", [])),
    )


def _exit_codes(entries: list[int | str]) -> tuple[int, ...]:
    """Return the exit codes of a list of codes and ranges (`128-255`), in order and each once."""
    found: set[int] = set()
    for entry in entries:
        first, _, last = str(entry).partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


def _auxiliary_job(value: dict[str, Any]) -> AuxiliaryJob:
    return AuxiliaryJob(value["name"], value["pool"], value.get("podTemplate", {}), value.get("backoffLimit"))


def _pathways(value: dict[str, Any]) -> Pathways:
    head, worker = value.get("head", {}), value.get("worker", {})
    return Pathways(
        pathways_dir=value["pathwaysDir"],
        pathways_version=value.get("pathwaysVersion", ""),
        elastic_slices=value.get("elasticSlices", 0),
        max_slice_restarts=value.get("maxSliceRestarts"),
        deployment_mode=value.get("deploymentMode", "default"),
        headless=value.get("headless", False),
        colocated_python=value.get("colocatedPython", {}).get("image", ""),
        enable_metrics_collection=value.get("enableMetricsCollection", False),
        main_container_name=value.get("mainContainerName", "main"),
        head=PathwaysHead(head.get("pool", ""), head.get("podTemplate", {})),
        worker=PathwaysWorker(
            worker.get("terminationGracePeriodSeconds"),
            worker.get("priorityClassName", ""),
            worker.get("nodeSelector", {}),
        ),
        custom_components=tuple(value.get("customComponents", [])),
    )


def _tpu_pool(index: int, value: dict[str, Any]) -> TpuPool:
    return TpuPool(
        index=index,
        name=value["name"],
        tpu=tpu_request(value["tpu"]),
        slices=value.get("slices", 1),
        provisioning=provisioning(value.get("provisioning", "OnDemand")),
        max_run_duration_seconds=value.get("maxRunDurationSeconds"),
        node_pool_names=tuple(value.get("nodePoolNames", ())),
        flavor_taint=value.get("flavorTaint", True),
    )


def _cpu_pool(index: int, value: dict[str, Any]) -> CpuPool:
    return CpuPool(
        index=index,
        name=value["name"],
        machine_type=value.get("machineType", ""),
        nodes=value.get("nodes", 1),
        node_pool_names=tuple(value.get("nodePoolNames", (value["name"],))),
    )


def _local_queue(value: dict[str, Any], cluster_queue: str) -> LocalQueue:
    return LocalQueue(
        value["name"],
        value.get("namespace", "default"),
        cluster_queue,
        _weight(value),
        value.get("stopPolicy", "None"),
    )


def _cohort(value: dict[str, Any]) -> Cohort:
    return Cohort(value["name"], value.get("parentName", ""), _quotas(value), _weight(value))


def _cluster_queue(value: dict[str, Any]) -> ClusterQueue:
    return ClusterQueue(value["name"], value.get("cohortName", ""), _quotas(value), _weight(value), value)


def _weight(value: dict[str, Any]) -> str | int | float | None:
    """Return the weight of fair sharing; a block that says nothing of it means 1."""
    weight: str | int | float | None = (
        value["fairSharing"].get("weight", 1) if "fairSharing" in value else None
    )
    return weight


def _quotas(value: dict[str, Any]) -> tuple[Quota, ...]:
    return tuple(
        Quota(
            pool=item["pool"],
            nominal_slices=item.get("nominalSlices"),
            nominal_chips=item.get("nominalChips"),
            nominal_nodes=item.get("nominalNodes"),
            nominal_quota=item.get("nominalQuota"),
            cpu_and_memory=item.get("cpuAndMemory"),
            borrowing_limit=item.get("borrowingLimit"),
            lending_limit=item.get("lendingLimit"),
        )
        for item in value.get("quota", [])
    )


def _priorities(declared: list[dict[str, Any]]) -> tuple[PriorityClass, ...]:
    classes = {name: PriorityClass(name, value) for name, value in DEFAULT_PRIORITY_CLASSES.items()}
    for item in declared:
        pods = item.get("podPriorityClass", False)
        classes[item["name"]] = PriorityClass(item["name"], item["value"], item.get("description", ""), pods)
    return tuple(sorted(classes.values(), key=lambda entry: (entry.value, entry.name)))


def _compute_class(index: int, value: dict[str, Any]) -> ComputeClass:
    return ComputeClass(
        index,
        value["name"],
        tuple(
            Rung(
                tpu_request(rung["tpu"]),
                provisioning(rung.get("provisioning", "OnDemand")),
                rung.get("maxRunDurationSeconds"),
                rung.get("placementPolicyName", ""),
            )
            for rung in value["priorities"]
        ),
        value.get("nodePoolAutoCreation", True),
        value.get("optimizeRulePriority", False),
    )


def _team(index: int, value: dict[str, Any]) -> Team:
    return Team(
        index=index,
        name=value["name"],
        namespace=value["namespace"],
        labels=value.get("labels", {}),
        service_account_name=value.get("serviceAccountName", ""),
        google_service_account=value.get("googleServiceAccount", ""),
        admins=tuple(_account(item) for item in value.get("admins", [])),
        viewers=tuple(_account(item) for item in value.get("viewers", [])),
        pod_security=value.get("podSecurity", ""),
        resource_quota=value.get("resourceQuota", {}),
    )


def _gitops(value: dict[str, Any]) -> GitOps:
    return GitOps(
        _argocd(value["argocd"]) if "argocd" in value else None,
        _flux(value["flux"]) if "flux" in value else None,
    )


def _argocd(value: dict[str, Any]) -> ArgoCD:
    return ArgoCD(
        repo_url=value["repoURL"],
        target_revision=value.get("targetRevision", "main"),
        path=value.get("path", "."),
        namespace=value.get("namespace", "argocd"),
        project=value.get("project", ""),
        application_per=value.get("applicationPer", "Namespace"),
        destination=value.get("destination") or {"server": "https://kubernetes.default.svc"},
    )


def _flux(value: dict[str, Any]) -> Flux:
    return Flux(
        source_ref={"kind": "GitRepository", **value["sourceRef"]},
        path=value.get("path", "."),
        namespace=value.get("namespace", "flux-system"),
        kustomization_per=value.get("kustomizationPer", "Namespace"),
        interval=value.get("interval", "10m"),
        retry_interval=value.get("retryInterval", ""),
        timeout=value.get("timeout", "5m"),
        service_account_name=value.get("serviceAccountName", ""),
    )


def _account(value: str) -> Account:
    """Return an account as RBAC knows it: to GKE a Google service account is a user."""
    kind, colon, name = value.rpartition(":")
    if kind == "group":
        return Account("Group", name)
    if kind == "serviceAccount" and "@" not in name:
        return Account("ServiceAccount", name)
    return Account("User", name if colon else value)
