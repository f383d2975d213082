"""Pathways as a JobSet of its own or as a PathwaysJob (bases: pathways, pathways-headless, pathwaysjob)."""

from typing import Any, cast

from slicewright.intent.tpuworkload import PathwaysWorker
from slicewright.kubernetes.labels import ACCELERATOR, NODE_POOL, TOPOLOGY
from slicewright.kubernetes.merge import copied, merge
from slicewright.kubernetes.types import Object
from slicewright.rendering.build.jobset import (
    POD,
    Steps,
    claim,
    claimed,
    containers_of,
    drop_exclusive_topology,
    fail_on_exit_codes,
    fill_failure_policy,
    fill_program,
    keep_apart,
    merge_template,
    mount,
    replicated_job,
    tell_run,
)
from slicewright.rendering.build.survival import give_time, keep_node, survive_in_jobset
from slicewright.rendering.plan.plan import MARKER, PathwaysPlan, Plan

_HEAD: Steps = ("spec", "replicatedJobs", ("pathways-head",), *POD)
IN_PATHWAYS: tuple[Steps, ...] = (
    ("spec", "network"),
    ("spec", "failurePolicy"),
    (*_HEAD, "spec", "containers", 0),
    (*_HEAD, "spec", "nodeSelector"),
    *claimed(("spec", "replicatedJobs", ("worker",), *POD)),
)
IN_PATHWAYSJOB: tuple[Steps, ...] = (
    ("spec", "workers", 0),
    ("spec", "controller", "template", "spec", "containers", 0),
)
"""The mappings of a base that are filled in."""
_CONTAINER_OF = {
    "pathways_server": "pathways-rm",
    "proxy_server": "pathways-proxy",
    "worker": "pathways-worker",
    "colocated_python_sidecar": "colocated-python-sidecar",
}
"""Which container a `componentType` of PathwaysJob's API means."""
METERED = ("pathways-rm", "pathways-proxy", "pathways-worker")
_SET_BY_CONTROLLER = frozenset({ACCELERATOR, TOPOLOGY})


def _runtime(plan: Plan) -> PathwaysPlan:
    """Return the runtime of a plan, which every plan of these patterns has."""
    return cast("PathwaysPlan", plan.pathways)


def fill_pathways(jobset: Object, plan: Plan) -> None:
    """Fill the base's JobSet with the values of the plan, in place."""
    spec, runtime = jobset["spec"], _runtime(plan)
    spec["network"]["subdomain"] = runtime.subdomain
    head = replicated_job(jobset, "pathways-head")["template"]["spec"]["template"]
    workers = replicated_job(jobset, "worker")
    workers["replicas"] = plan.slices
    job = workers["template"]["spec"]
    job["completions"] = job["parallelism"] = plan.hosts
    job["backoffLimit"] = runtime.worker_backoff_limit
    if not plan.exclusive_topology:
        drop_exclusive_topology(workers)
    _fill_head(head, plan, runtime)
    _fill_worker(job["template"], plan, runtime)
    pods = (head["spec"], job["template"]["spec"])
    containers = {item["name"]: item for pod_spec in pods for item in containers_of(pod_spec)}
    _fill_runtime(containers, plan, runtime)
    fill_failure_policy(spec, plan)
    fail_on_exit_codes(jobset, "pathways-head", plan)
    head_job = replicated_job(jobset, "pathways-head")["template"]["spec"]
    survive_in_jobset(spec["failurePolicy"], "pathways-head", head_job, plan)


def _fill_head(head: dict[str, Any], plan: Plan, runtime: PathwaysPlan) -> None:
    spec = head["spec"]
    main = spec["containers"][0]
    if not runtime.written.headless:
        fill_program(main, plan)
    give_time(head, plan)
    keep_node(head, plan)
    merge_template(head, runtime.written.head.pod_template, runtime.head_topology_request)
    if not runtime.written.headless:
        mount(spec, main, plan)
    tell_run(spec, plan)
    theirs = {key: value for key, value in spec["nodeSelector"].items() if value != MARKER}
    if runtime.colocate_head:
        theirs.update(plan.node_selector)
        keep_apart(spec, plan.apart.of_head)
    elif runtime.head_node_pool:
        theirs[NODE_POOL] = runtime.head_node_pool
    spec["nodeSelector"] = theirs
    if not theirs:
        del spec["nodeSelector"]


def _fill_worker(template: dict[str, Any], plan: Plan, runtime: PathwaysPlan) -> None:
    spec, worker = template["spec"], runtime.written.worker
    container = spec["containers"][0]
    spec["nodeSelector"].update(worker.node_selector)
    give_time(template, plan)
    _fill_worker_fields(spec, worker)
    merge_template(template, plan.pod_template, plan.topology_request)
    tell_run(spec, plan)
    claim(spec, container, plan)


def _fill_worker_fields(spec: dict[str, Any], worker: PathwaysWorker) -> None:
    """Write what people set for workers, which has the same names in a pod and in a PathwaysJob."""
    if worker.priority_class_name:
        spec["priorityClassName"] = worker.priority_class_name
    if worker.termination_grace_period_seconds is not None:
        spec["terminationGracePeriodSeconds"] = worker.termination_grace_period_seconds


def _fill_runtime(containers: dict[str, Object], plan: Plan, runtime: PathwaysPlan) -> None:
    """Give the containers of the Pathways runtime their flags and images."""
    values = {
        "--gcs_scratch_location": runtime.written.pathways_dir,
        "--instance_count": str(plan.slices),
        "--instance_type": runtime.instance_type,
    }
    replaced = {f"{flag}={MARKER}": f"{flag}={value}" for flag, value in values.items()}
    for name in METERED:
        container = containers[name]
        container["image"] = container["image"].replace(MARKER, runtime.image_tag)
        container["args"] = [replaced.get(argument, argument) for argument in container["args"]]
        if runtime.written.enable_metrics_collection:
            container["args"].append("--enable_metrics_collection=true")
    if runtime.written.colocated_python:
        containers["colocated-python-sidecar"]["image"] = runtime.written.colocated_python.image
    proxy = containers["pathways-proxy"]
    if runtime.sidecar_flag:
        proxy["args"].append(runtime.sidecar_flag)
    for component in runtime.written.custom_components:
        _customize(containers[_CONTAINER_OF[component["componentType"]]], component)
    if runtime.written.elastic_slices:
        proxy["args"].append(f"--num_elastic_slices={runtime.written.elastic_slices}")


def _customize(container: Object, component: dict[str, Any]) -> None:
    if "image" in component:
        container["image"] = component["image"]
    if "customFlags" in component:
        container.setdefault("args", []).extend(component["customFlags"])
    if "customEnv" in component:
        merge(container, {"env": component["customEnv"]})


def fill_pathwaysjob(pathwaysjob: Object, plan: Plan) -> None:
    """Fill the base's PathwaysJob with the values of the plan, in place."""
    spec, runtime = pathwaysjob["spec"], _runtime(plan)
    spec["maxRestarts"] = plan.failure_policy.max_restarts
    spec["pathwaysDir"] = runtime.written.pathways_dir
    spec["pathwaysVersion"] = runtime.written.pathways_version
    if not runtime.written.pathways_version:
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
    custom: list[dict[str, Any]] = [copied(component) for component in runtime.written.custom_components]
    if runtime.written.colocated_python:
        sidecar = _component(custom, "colocated_python_sidecar")
        sidecar.setdefault("image", runtime.written.colocated_python.image)
    if runtime.sidecar_flag:
        _component(custom, "proxy_server").setdefault("customFlags", []).append(runtime.sidecar_flag)
    return custom


def _component(custom: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return the custom component of a kind, which is added if there is none."""
    component = next((item for item in custom if item["componentType"] == kind), None)
    if component is None:
        component = {"componentType": kind}
        custom.append(component)
    return component


def _fill_workers(workers: dict[str, Any], plan: Plan, runtime: PathwaysPlan) -> None:
    workers["type"] = plan.shape.machine_type
    workers["topology"] = plan.shape.topology
    workers["numSlices"] = plan.slices
    workers["maxSliceRestarts"] = runtime.max_slice_restarts
    ours = {key: value for key, value in plan.node_selector.items() if key not in _SET_BY_CONTROLLER}
    selector = {**workers.get("nodeSelector", {}), **runtime.written.worker.node_selector, **ours}
    if selector:
        workers["nodeSelector"] = selector
    _fill_worker_fields(workers, runtime.written.worker)


def _fill_controller(controller: dict[str, Any], plan: Plan, runtime: PathwaysPlan) -> None:
    controller["deploymentMode"] = "colocate_head_with_workers" if runtime.colocate_head else "default"
    controller["mainContainerName"] = plan.main_container
    if runtime.written.elastic_slices:
        controller["elasticSlices"] = runtime.written.elastic_slices
    if runtime.written.enable_metrics_collection:
        controller["enableMetricsCollection"] = True
    if runtime.written.headless:
        del controller["template"]
        return
    spec = controller["template"]["spec"]
    main = spec["containers"][0]
    fill_program(main, plan)
    merge_template(controller["template"], runtime.written.head.pod_template, {})
    mount(spec, main, plan)
    tell_run(spec, plan)
    if runtime.head_node_pool:
        spec.setdefault("nodeSelector", {})[NODE_POOL] = runtime.head_node_pool
