"""Decide the Pathways part of a plan; the numbers are those of the PathwaysJob controller v0.1.4."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.plan import names
from slicewright.core.plan.plan import PathwaysPlan

if TYPE_CHECKING:
    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.workload import Pathways, Workload

_DEFAULT_TAG = "latest"
_RETRIES_A_HOST = 4
"""How often each worker host may fail before its slice does, without elastic slices."""
SIDECAR_FLAG = "--sidecar_name"
"""What the proxy has to be told to use the sidecar beside each worker (apple/axlearn@34aed43c:
axlearn/cloud/gcp/pathways_utils.py#L632, AI-Hypercomputer/pathways-utils@8950a34: isc_pathways.py#L147)."""
_DEFAULT_SLICE_RESTARTS = 1
"""What the CRD of PathwaysJob fills in for `workers[].maxSliceRestarts`."""


def plan(
    workload: Workload, shape: Shape, name: str, head_node_pool: str, head_topology_request: dict[str, str]
) -> PathwaysPlan | None:
    """Return the Pathways part of a workload's plan, None for a workload without Pathways."""
    wanted = workload.pathways
    if wanted is None:
        return None
    restarts = _DEFAULT_SLICE_RESTARTS if wanted.max_slice_restarts is None else wanted.max_slice_restarts
    elastic = wanted.elastic_slices > 0 and restarts > 0
    return PathwaysPlan(
        instance_type=shape.pathways_instance_type or "",
        directory=wanted.pathways_dir,
        image_tag=wanted.pathways_version or _DEFAULT_TAG,
        version=wanted.pathways_version,
        subdomain=names.subdomain(workload.namespace, name),
        elastic_slices=wanted.elastic_slices,
        max_slice_restarts=restarts,
        worker_backoff_limit=shape.hosts * (restarts if elastic else _RETRIES_A_HOST),
        metrics=wanted.enable_metrics_collection,
        headless=wanted.headless,
        colocate_head=wanted.deployment_mode == "colocate_head_with_workers",
        colocated_python=wanted.colocated_python,
        sidecar_flag=_sidecar_flag(wanted),
        main_container=wanted.main_container_name,
        head_node_pool=head_node_pool,
        head_template=wanted.head.pod_template,
        head_topology_request=head_topology_request,
        custom_components=wanted.custom_components,
        worker_node_selector=wanted.worker.node_selector,
        worker_priority_class=wanted.worker.priority_class_name,
        worker_grace_period_seconds=wanted.worker.termination_grace_period_seconds,
    )


def _sidecar_flag(wanted: Pathways) -> str:
    """Return the flag that makes the proxy use the colocated Python sidecars, unless the user wrote one."""
    components = {item["componentType"]: item for item in wanted.custom_components}
    flags = components.get("proxy_server", {}).get("customFlags", [])
    has_sidecar = bool(wanted.colocated_python or "image" in components.get("colocated_python_sidecar", {}))
    written = any(flag.partition("=")[0] == SIDECAR_FLAG for flag in flags)
    return f"{SIDECAR_FLAG}=external" if has_sidecar and not written else ""
