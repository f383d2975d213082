"""Which container runs the user's program, and whether there is one to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slicewright.core.intent.workload import Workload

DEFAULT_CONTAINER = "main"


def main_container(workload: Workload) -> str:
    """Return the name of the container that runs the user's program.

    It is `container.name`; else `pathways.mainContainerName` where it is written; else, without a
    `container`, the only container of the pod template that the program lives in; else `main`.
    """
    if "name" in workload.container:
        return str(workload.container["name"])
    if "mainContainerName" in workload.spec.get("pathways", {}):
        return str(workload.spec["pathways"]["mainContainerName"])
    own = own_containers(workload)
    return str(own[0]["name"]) if len(own) == 1 and not workload.container else DEFAULT_CONTAINER


def own_containers(workload: Workload) -> list[dict[str, Any]]:
    """Return the containers that the user adds to the pod of the program: on TPU hosts, or Pathways' head."""
    template = workload.pod_template
    if workload.pathways is not None:
        template = workload.pathways.head.pod_template
    found: list[dict[str, Any]] = template.get("spec", {}).get("containers", [])
    return found


def has_image(workload: Workload) -> bool:
    """Tell whether the container of the program has an image: the bases bring none along."""
    main = main_container(workload)
    return "image" in workload.container or any(
        "image" in item for item in own_containers(workload) if item["name"] == main
    )
