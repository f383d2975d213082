"""A PathwaysJob: its controller makes the JobSet (base: bases/pathwaysjob)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.build import container as containers
from slicewright.core.build import pod
from slicewright.core.compose.patch import copied
from slicewright.core.kubernetes.labels import ACCELERATOR, NODE_POOL, TOPOLOGY

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.plan import PathwaysPlan, Plan


_COLOCATED = "colocated_python_sidecar"
_PROXY = "proxy_server"
_SET_BY_CONTROLLER = frozenset({ACCELERATOR, TOPOLOGY})


def fill(pathwaysjob: Object, plan: Plan, runtime: PathwaysPlan) -> None:
    """Make the base's PathwaysJob the plan's, in place."""
    spec = pathwaysjob["spec"]
    spec["maxRestarts"] = plan.failure_policy.max_restarts
    spec["pathwaysDir"] = runtime.directory
    spec["pathwaysVersion"] = runtime.version
    if not runtime.version:
        del spec["pathwaysVersion"]
    _fill_workers(spec["workers"][0], plan, runtime)
    _fill_controller(spec["controller"], plan, runtime)
    custom = _custom_components(runtime)
    if custom:
        spec["customComponents"] = custom


def _custom_components(runtime: PathwaysPlan) -> list[dict[str, Any]]:
    """Return the custom components; to the operator the colocated Python sidecar is one of them.

    Its proxy has to be told that there is one, which the operator leaves out.
    """
    custom: list[dict[str, Any]] = [copied(component) for component in runtime.custom_components]
    if runtime.colocated_python:
        sidecar = next((item for item in custom if item["componentType"] == _COLOCATED), None)
        if sidecar is None:
            sidecar = {"componentType": _COLOCATED}
            custom.append(sidecar)
        sidecar.setdefault("image", runtime.colocated_python)
    if runtime.sidecar_flag:
        proxy = next((item for item in custom if item["componentType"] == _PROXY), None)
        if proxy is None:
            proxy = {"componentType": _PROXY}
            custom.append(proxy)
        proxy.setdefault("customFlags", []).append(runtime.sidecar_flag)
    return custom


def _fill_workers(workers: dict[str, Any], plan: Plan, runtime: PathwaysPlan) -> None:
    workers["type"] = plan.shape.machine_type
    workers["topology"] = plan.shape.topology
    workers["numSlices"] = plan.slices
    workers["maxSliceRestarts"] = runtime.max_slice_restarts
    ours = {key: value for key, value in plan.node_selector.items() if key not in _SET_BY_CONTROLLER}
    theirs = {**workers.get("nodeSelector", {}), **runtime.worker_node_selector}
    selector = {**theirs, **ours}
    if selector:
        workers["nodeSelector"] = selector
    if runtime.worker_priority_class:
        workers["priorityClassName"] = runtime.worker_priority_class
    if runtime.worker_grace_period_seconds is not None:
        workers["terminationGracePeriodSeconds"] = runtime.worker_grace_period_seconds


def _fill_controller(controller: dict[str, Any], plan: Plan, runtime: PathwaysPlan) -> None:
    controller["deploymentMode"] = "colocate_head_with_workers" if runtime.colocate_head else "default"
    controller["mainContainerName"] = plan.main_container
    if runtime.elastic_slices:
        controller["elasticSlices"] = runtime.elastic_slices
    if runtime.metrics:
        controller["enableMetricsCollection"] = True
    if runtime.headless:
        del controller["template"]
        return
    spec = controller["template"]["spec"]
    main = spec["containers"][0]
    containers.fill(main, plan)
    pod.merge_template(controller["template"], runtime.head_template, {})
    containers.mount(spec, main, plan.gcs_fuse)
    containers.tell_run(spec, plan)
    if runtime.head_node_pool:
        spec.setdefault("nodeSelector", {})[NODE_POOL] = runtime.head_node_pool
