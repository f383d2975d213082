"""Pathways as a JobSet of its own: head and workers (bases: pathways, pathways-headless)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.build import container as containers
from slicewright.core.build import pod
from slicewright.core.build.jobset import fill_failure_policy, replicated_job
from slicewright.core.build.merge import merge
from slicewright.core.plan import placement
from slicewright.core.plan.plan import MARKER, PathwaysPlan, Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

KubernetesObject = dict[str, Any]
Container = dict[str, Any]

_CONTAINER_OF = {
    "pathways_server": "pathways-rm",
    "proxy_server": "pathways-proxy",
    "worker": "pathways-worker",
    "colocated_python_sidecar": "colocated-python-sidecar",
}
"""Which container a `componentType` of PathwaysJob's API means."""
_METERED = ("pathways-rm", "pathways-proxy", "pathways-worker")


def fill(jobset: KubernetesObject, plan: Plan, runtime: PathwaysPlan) -> None:
    """Make the base's JobSet the plan's, in place."""
    spec = jobset["spec"]
    spec["network"]["subdomain"] = runtime.subdomain
    head = replicated_job(jobset, "pathways-head")["template"]["spec"]["template"]
    workers = replicated_job(jobset, "worker")
    workers["replicas"] = plan.slices
    job = workers["template"]["spec"]
    job["completions"] = job["parallelism"] = plan.hosts
    job["backoffLimit"] = runtime.worker_backoff_limit
    _fill_head(head, plan, runtime)
    _fill_worker(job["template"], plan)
    everyone = {item["name"]: item for item in (*_containers(head), *_containers(job["template"]))}
    _fill_runtime(everyone, plan, runtime)
    fill_failure_policy(spec, plan)


def _containers(template: dict[str, Any]) -> Iterator[Container]:
    yield from template["spec"].get("initContainers", [])
    yield from template["spec"]["containers"]


def _fill_head(head: dict[str, Any], plan: Plan, runtime: PathwaysPlan) -> None:
    spec = head["spec"]
    if not runtime.headless:
        main = containers.named(spec["containers"], "main")
        containers.fill(main, plan)
    pod.merge_template(head, runtime.head_template)
    if not runtime.headless:
        containers.tell_run(main, plan)
        containers.mount(spec, main, plan.gcs_fuse)
    theirs = {key: value for key, value in spec["nodeSelector"].items() if value != MARKER}
    if runtime.colocate_head:
        theirs.update(plan.node_selector)
    elif runtime.head_node_pool:
        theirs[placement.NODE_POOL] = runtime.head_node_pool
    spec["nodeSelector"] = theirs
    if not theirs:
        del spec["nodeSelector"]


def _fill_worker(template: dict[str, Any], plan: Plan) -> None:
    worker = containers.named(template["spec"]["containers"], "pathways-worker")
    pod.merge_template(template, plan.pod_template)
    containers.tell_run(worker, plan)
    pod.claim(template["spec"], worker, plan)


def _fill_runtime(everyone: dict[str, Container], plan: Plan, runtime: PathwaysPlan) -> None:
    """Give the containers of the Pathways runtime their flags and images."""
    values = {
        "--gcs_scratch_location": runtime.directory,
        "--instance_count": str(plan.slices),
        "--instance_type": runtime.instance_type,
    }
    for name in _METERED:
        container = everyone[name]
        container["image"] = container["image"].replace(MARKER, runtime.image_tag)
        container["args"] = [_flag(item, values) for item in container["args"]]
        if runtime.metrics:
            container["args"].append("--enable_metrics_collection=true")
    if runtime.colocated_python:
        everyone["colocated-python-sidecar"]["image"] = runtime.colocated_python
    for component in runtime.custom_components:
        _customize(everyone[_CONTAINER_OF[component["componentType"]]], component)
    if runtime.elastic_slices:
        everyone["pathways-proxy"]["args"].append(f"--num_elastic_slices={runtime.elastic_slices}")


def _flag(item: str, values: dict[str, str]) -> str:
    flag, found, value = item.partition("=")
    return f"{flag}={values[flag]}" if found and value == MARKER else item


def _customize(container: Container, component: dict[str, Any]) -> None:
    if "image" in component:
        container["image"] = component["image"]
    if "customFlags" in component:
        container.setdefault("args", []).extend(component["customFlags"])
    if "customEnv" in component:
        merge(container, {"env": component["customEnv"]})
