"""Validate a Pathways workload, as a JobSet of its own or as a PathwaysJob."""

from collections.abc import Iterator

from slicewright.intent.tpuworkload import Pathways, Workload
from slicewright.kubernetes.problem import Path, Problem

RUNTIME = ("pathways-rm", "pathways-proxy")
"""Sidecars in the head of Pathways, brought by the base or by the PathwaysJob controller."""
_COLOCATED = "colocated_python_sidecar"
_PATHWAYS: Path = ("spec", "pathways")


def fields(workload: Workload, runtime: Pathways) -> Iterator[Problem]:
    """Yield a problem for each field that has no meaning under Pathways, or none beside the others."""
    source, spec = workload.source, workload.resolved_spec
    yield from _head(workload, runtime)
    if runtime.elastic_slices > workload.slices:
        message = f"elasticSlices is {runtime.elastic_slices}, but must be at most slices ({workload.slices})"
        hint = f"write at most {workload.slices}"
        yield source.problem("FIELD001", (*_PATHWAYS, "elasticSlices"), message, hint)
    yield from _custom_components(workload, runtime)
    if runtime.headless and workload.failure_policy.restart_on_exit_codes:
        message = "a headless Pathways run has no program that ends with an exit code"
        path: Path = ("spec", "failurePolicy", "restartOnExitCodes")
        yield source.problem("FIELD001", path, message, "leave it out", key=True)
    if runtime.elastic_slices and workload.failure_policy.on_host_maintenance == "Fail":
        message = (
            "onHostMaintenance: Fail ends the run after one lost slice, but with elastic slices it "
            "could continue"
        )
        path = ("spec", "failurePolicy", "onHostMaintenance")
        hint = "write Restart, which restarts only the lost slice, or leave elasticSlices out"
        yield source.problem("PW130", path, message, hint, warning=True)
    if workload.api == "PathwaysJob":
        yield from _pathwaysjob(workload, runtime)
    elif "maxSliceRestarts" in spec["pathways"] and not runtime.elastic_slices:
        message = "maxSliceRestarts has an effect only with elastic slices"
        hint = "add pathways.elasticSlices, or use failurePolicy.maxRestarts for the whole run"
        yield source.problem("FIELD001", (*_PATHWAYS, "maxSliceRestarts"), message, hint, key=True)


def _head(workload: Workload, runtime: Pathways) -> Iterator[Problem]:
    source = workload.source
    containers = workload.own_containers
    brought = [item["name"] for item in containers if item["name"] in RUNTIME]
    if runtime.headless and brought:
        message = f"container '{brought[0]}' belongs to Pathways and cannot be changed in head.podTemplate"
        hint = "write its image, flags and variables in pathways.customComponents; "
        hint += "its resources in patches (api: JobSet)"
        yield source.problem(
            "FIELD001", (*_PATHWAYS, "head", "podTemplate", "spec", "containers"), message, hint
        )
    elif runtime.headless and (workload.container or containers):
        message = "a headless Pathways run cannot have its own container: users connect from outside"
        hint = "leave the container out, or headless"
        yield source.problem("FIELD001", (*_PATHWAYS, "headless"), message, hint)
    if runtime.headless and workload.gcs_fuse:
        message = "a headless Pathways run has no container to mount a bucket into"
        yield source.problem("FIELD001", ("spec", "gcsFuse"), message, "leave gcsFuse out", key=True)
    if not runtime.headless and not workload.has_image:
        message = f"nothing to run: the head has no container '{workload.main_container}' with an image"
        hint = "add spec.container.image, or write pathways.headless: true"
        yield source.problem("FIELD001", ("spec",), message, hint)
    if runtime.deployment_mode != "default" and runtime.head.pool:
        message = "a head that runs with the workers cannot have its own pool"
        hint = "leave head.pool out, or write deploymentMode: default"
        yield source.problem("FIELD001", (*_PATHWAYS, "head", "pool"), message, hint)
    name, other = workload.container.get("name"), runtime.main_container_name
    if "mainContainerName" in workload.resolved_spec["pathways"] and name not in (None, other):
        message = f"mainContainerName is '{other}', but the name in container is '{name}'"
        hint = "write the name in only one of the two fields"
        yield source.problem("FIELD001", (*_PATHWAYS, "mainContainerName"), message, hint)


def _custom_components(workload: Workload, runtime: Pathways) -> Iterator[Problem]:
    source = workload.source
    taken: set[str] = set()
    for index, component in enumerate(runtime.custom_components):
        path: Path = (*_PATHWAYS, "customComponents", index)
        kind = component["componentType"]
        if kind in taken:
            message = f"duplicate component '{kind}'"
            yield source.problem("FIELD001", (*path, "componentType"), message, "write one entry for each")
        taken.add(kind)
        if kind != _COLOCATED:
            continue
        if runtime.colocated_python and "image" in component:
            message = "the image of the colocated-python sidecar has two values"
            hint = "write it here or in pathways.colocatedPython, not in both"
            yield source.problem("FIELD001", (*path, "image"), message, hint, key=True)
        elif workload.api != "PathwaysJob" and not runtime.colocated_python:
            message = "the run has no colocated-python sidecar"
            hint = "add pathways.colocatedPython.image"
            yield source.problem("FIELD001", (*path, "componentType"), message, hint)


def _pathwaysjob(workload: Workload, runtime: Pathways) -> Iterator[Problem]:
    """A PathwaysJob's controller makes the pods: what its CRD cannot carry, or it drops, is refused."""
    spec, source = workload.resolved_spec, workload.source
    if "metadata" in runtime.head.pod_template:
        message = "the controller of PathwaysJob drops the metadata of the head's pod"
        hint = "use metadata.annotations and metadata.labels of the workload, or api: JobSet"
        yield source.problem(
            "FIELD001", (*_PATHWAYS, "head", "podTemplate", "metadata"), message, hint, key=True
        )
    for field in ("pool", "podTemplate"):
        if runtime.headless and field in spec["pathways"].get("head", {}):
            message = f"a headless PathwaysJob has no template for its head, so head.{field} would be dropped"
            path = (*_PATHWAYS, "head", field)
            yield source.problem("FIELD001", path, message, "leave it out, or write api: JobSet", key=True)
    if runtime.deployment_mode != "default" and "nodeSelector" in runtime.head.pod_template.get("spec", {}):
        message = (
            "the controller of PathwaysJob replaces the node selector of a head that runs with the workers"
        )
        path = (*_PATHWAYS, "head", "podTemplate", "spec", "nodeSelector")
        yield source.problem("FIELD001", path, message, "leave it out", key=True)
