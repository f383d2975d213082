"""Reads the objects of a cluster that a TPUCluster describes, for `slicewright import cluster`."""

import http
from collections.abc import Iterable

from slicewright.cluster.api.api_error import AccessError, ApiError
from slicewright.cluster.api.read_only import ReadOnly, kueue_versions
from slicewright.cluster.importing.node_pools import Inventory, flaw
from slicewright.kubernetes.kinds import KUEUE_GROUP, KUEUE_VERSIONS, SCHEDULING_VERSION
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object

_KINDS = {"nodes": ("v1", "Node")}
_KINDS_OF_USE = {
    "priority_classes": (SCHEDULING_VERSION, "PriorityClass"),
    "deployments": ("apps/v1", "Deployment"),
}
"""Kinds without which the file is right, but says less."""
_KUEUE_KINDS = {
    "flavors": "ResourceFlavor",
    "cluster_queues": "ClusterQueue",
    "cohorts": "Cohort",
    "local_queues": "LocalQueue",
    "workload_priority_classes": "WorkloadPriorityClass",
    "topologies": "Topology",
    "admission_checks": "AdmissionCheck",
    "provisioning_request_configs": "ProvisioningRequestConfig",
}
_SHOWN = 400
"""Characters of a reason that a message quotes."""


def read_cluster(api: ReadOnly) -> tuple[Inventory, tuple[Problem, ...]]:
    """Return the objects of a cluster, and which kinds may not be listed.

    Raises ApiError, OSError, and AccessError if an answer does not come from an API server.
    """
    objects: dict[str, tuple[Object, ...]] = {}
    problems: list[Problem] = []
    versions = kueue_versions(api)
    # A new version may lack a kind that is still only in an older one.
    ordered = dict.fromkeys((*KUEUE_VERSIONS, *versions))
    kueue = [f"{KUEUE_GROUP}/{version}" for version in ordered if version in versions]
    wanted = {field: ([version], kind) for field, (version, kind) in (_KINDS | _KINDS_OF_USE).items()}
    wanted |= {field: (kueue, kind) for field, kind in _KUEUE_KINDS.items()}
    for field, (api_versions, kind) in wanted.items():
        try:
            objects[field] = _list(api, api_versions, kind)
        except ApiError as error:
            if error.code != http.HTTPStatus.FORBIDDEN:
                raise
            if field not in _KINDS_OF_USE:
                hint = "ask for a role with get and list on it; on GKE roles/container.viewer has them"
                problems.append(Problem("IMP003", f"you may not list {kind}: {error.message[:_SHOWN]}", hint))
    if not versions:
        hint = "install Kueue, or add clusterQueues by hand later"
        message = "the cluster has no Kueue, so the file has no queues, quotas and priority classes"
        problems.append(Problem("IMP004", message, hint, severity="warning"))
    return Inventory(**objects, kueue_versions=versions), tuple(problems)


def _list(api: ReadOnly, api_versions: Iterable[str], kind: str) -> tuple[Object, ...]:
    """Return the objects of a kind, in the first version that has it; none if no version has it."""
    for api_version in api_versions:
        try:
            items = api.list(api_version, kind)
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
            continue
        if why := flaw({"items": items}):
            hint = "look at the objects with kubectl get -o json: an API server does not write them like this"
            message = f"the answer about {kind} is not a list of objects: {why[:_SHOWN]}"
            raise AccessError(Problem("IMP010", message, hint))
        return tuple(items)
    return ()
