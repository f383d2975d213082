"""What stands against the containers of a pod: two of one name, and mounts that hide each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.plan import program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.workload import Workload
    from slicewright.core.problem import Path, Problem

_RUNTIME = ("pathways-rm", "pathways-proxy")
"""Sidecars in the head of Pathways, brought by the base or by the PathwaysJob controller."""
FUSE_VOLUME = "gcs-fuse-"
"""What the volumes of `gcsFuse` are called, with a number behind."""


def fields(workload: Workload) -> Iterator[Problem]:
    """Yield a problem for each name that comes twice in a pod, and for each mount that hides another."""
    main = program.main_container(workload)
    for path, template, containers, sidecars in _pods(workload, main):
        yield from _names(workload, path, template, containers, sidecars)
    yield from _mounts(workload, main)


def _pods(
    workload: Workload, main: str
) -> Iterator[tuple[Path, dict[str, Any], tuple[str, ...], tuple[str, ...]]]:
    """Yield each pod template with the containers and the sidecars that stand in it anyway."""
    head = workload.pathways.head.pod_template if workload.pathways else {}
    program_here = () if workload.pathways else (main,)
    yield ("spec", "podTemplate"), workload.pod_template, program_here, ()
    if workload.pathways is not None and not workload.pathways.headless:
        yield ("spec", "pathways", "head", "podTemplate"), head, (main,), _RUNTIME
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
