"""The last touch: canonical quantities, written-out defaults, fields in reading order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.build.container import in_order
from slicewright.core.quantity import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

KubernetesObject = dict[str, Any]


def finish(item: KubernetesObject) -> None:
    """Bring an object into the form that the API server keeps, so that a later diff is empty.

    Custom resources get the defaults that their webhooks and schemas fill in only at creation
    (`protocol: TCP` in every port); built-in kinds none, for every client knows theirs.
    """
    custom = "." in item["apiVersion"].partition("/")[0]
    for template in pod_templates(item):
        spec = template.get("spec", {})
        for field in ("initContainers", "containers"):
            if field in spec:
                spec[field] = [_finish_container(entry, custom=custom) for entry in spec[field]]


def pod_templates(item: KubernetesObject) -> Iterator[dict[str, Any]]:
    """Yield the pod templates of a JobSet, Job or PathwaysJob."""
    spec = item.get("spec", {})
    kind = item["kind"]
    if kind == "JobSet":
        for job in spec["replicatedJobs"]:
            yield job["template"]["spec"]["template"]
    elif kind == "Job":
        yield spec["template"]
    elif kind == "PathwaysJob" and "template" in spec["controller"]:
        yield spec["controller"]["template"]


def _finish_container(container: dict[str, Any], *, custom: bool) -> dict[str, Any]:
    resources = container.get("resources", {})
    for field in ("limits", "requests"):
        if field in resources:
            resources[field] = {name: canonical(value) for name, value in resources[field].items()}
    if custom:
        for port in container.get("ports", []):
            port.setdefault("protocol", "TCP")
    return in_order(container)
