"""Validate the containers of a pod: two of one name, and mounts that hide each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.plan import program
from slicewright.core.plan.names import MAX_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.workload import Workload
    from slicewright.core.problem import Path, Problem

RUNTIME = ("pathways-rm", "pathways-proxy")
"""Sidecars in the head of Pathways, brought by the base or by the PathwaysJob controller."""
FUSE_VOLUME = "gcs-fuse-"
"""What the volumes of `gcsFuse` are called, with a number behind."""


def fields(workload: Workload) -> Iterator[Problem]:
    """Yield a problem for each name that comes twice in a pod, and for each mount that hides another."""
    main = program.main_container(workload)
    for path, template, containers, sidecars in _pods(workload, main):
        yield from _names(workload, path, template, containers, sidecars)
    yield from _mounts(workload, main)
    yield from _copies(workload, main)


def share_of_chips(workload: Workload, shape: Shape) -> Iterator[Problem]:
    """Yield why the containers of a host cannot share its chips, or why they had better not."""
    count = workload.containers_per_host
    if count == 1:
        return
    path: Path = ("spec", "containersPerHost")
    chips, nodes = shape.chips_per_host, shape.machine.numa_nodes
    if chips % count:
        message = f"{count} containers cannot share the {chips} chips of a {shape.machine_type} evenly"
        hint = f"write a divisor of {chips}, or leave it out"
        yield workload.source.problem("POD003", path, message, hint)
    elif count != nodes:
        has = f"{nodes or 'an unknown number of'} NUMA nodes"
        message = f"{count} containers share a host of {shape.machine_type} with {has}"
        hint = "leave it out; GKE binds containers to NUMA nodes on tpu7x-standard-4t, which has two"
        yield workload.source.problem("POD004", path, message, hint, warning=True)


def _copies(workload: Workload, main: str) -> Iterator[Problem]:
    """Yield what keeps the program's container from being there several times in a pod."""
    count, path = workload.containers_per_host, ("spec", "containersPerHost")
    if count == 1:
        return
    taken = {item["name"] for item in program.own_containers(workload)}
    for name in (f"{main}-{copy + 1}" for copy in range(count)):
        if name in taken:
            message = f"the pod would have two containers '{name}'"
            yield workload.source.problem("FIELD001", path, message, "give yours another name", key=True)
    if workload.pathways is not None:
        message = "a Pathways worker is one container"
        yield workload.source.problem("FIELD001", path, message, "leave containersPerHost out", key=True)
    if len(f"{main}-{count}") > MAX_LABEL:
        message = f"container '{main}-{count}' would have a name of more than {MAX_LABEL} characters"
        yield workload.source.problem("FIELD001", path, message, f"shorten the name '{main}'", key=True)
    own = (item for item in program.own_containers(workload) if item["name"] == main)
    ports = [port for item in (workload.container, *own) for port in item.get("ports", [])]
    if any(workload.host_network or port.get("hostPort") for port in ports):
        message = f"{count} containers cannot list the same ports of their host"
        hint = "leave hostPort out"
        if workload.host_network:
            hint = "leave the ports out: on the network of the host they need no entry"
        yield workload.source.problem("FIELD001", path, message, hint, key=True)


def _pods(
    workload: Workload, main: str
) -> Iterator[tuple[Path, dict[str, Any], tuple[str, ...], tuple[str, ...]]]:
    """Yield each pod template with the containers and the sidecars that stand in it anyway."""
    head = workload.pathways.head.pod_template if workload.pathways else {}
    copies = [f"{main}-{copy + 1}" for copy in range(workload.containers_per_host)]
    program_here = () if workload.pathways else (main, *copies) if len(copies) > 1 else (main,)
    yield ("spec", "podTemplate"), workload.pod_template, program_here, ()
    if workload.pathways is not None and not workload.pathways.headless:
        yield ("spec", "pathways", "head", "podTemplate"), head, (main,), RUNTIME
    for index, job in enumerate(workload.auxiliary_jobs):
        yield ("spec", "auxiliaryJobs", index, "podTemplate"), job.pod_template, (), ()


def _names(
    workload: Workload,
    path: Path,
    template: dict[str, Any],
    containers: tuple[str, ...],
    sidecars: tuple[str, ...],
) -> Iterator[Problem]:
    spec = template.get("spec", {})
    taken = {*containers, *(item["name"] for item in spec.get("containers", []))}
    first = {*sidecars, *(item["name"] for item in spec.get("initContainers", []))}
    for name in sorted(taken & first):
        place = path if spec else ("spec", "container")
        message = f"the pod would have two containers '{name}'"
        yield workload.source.problem("FIELD001", place, message, "give one of them another name")


def _mounts(workload: Workload, main: str) -> Iterator[Problem]:
    template = workload.pathways.head.pod_template if workload.pathways else workload.pod_template
    spec = template.get("spec", {})
    containers = [workload.container, *(c for c in spec.get("containers", []) if c["name"] == main)]
    taken = {item["mountPath"] for container in containers for item in container.get("volumeMounts", [])}
    for index, bucket in enumerate(workload.gcs_fuse):
        if bucket.mount_path in taken:
            place: Path = ("spec", "gcsFuse", index, "mountPath")
            message = f"something else is mounted at '{bucket.mount_path}'"
            yield workload.source.problem("FIELD001", place, message, "give each mount its own path")
        taken.add(bucket.mount_path)
    ours = {f"{FUSE_VOLUME}{index}" for index in range(len(workload.gcs_fuse))}
    for volume in spec.get("volumes", []):
        if volume["name"] in ours:
            message = f"volume '{volume['name']}' is the name of a bucket's volume"
            hint = "give your volume another name"
            yield workload.source.problem("FIELD001", ("spec", "gcsFuse"), message, hint, key=True)
