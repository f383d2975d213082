"""The user's container: the short form of a TPUWorkload becomes a Kubernetes container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.build.merge import merge
from slicewright.core.compose.patch import copied
from slicewright.core.kubernetes.labels import FUSE_DRIVER
from slicewright.core.plan.validate_containers import FUSE_VOLUME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.workload import GcsFuse
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.plan import Plan


_SHELL = ("bash", "-c")
_ORDER = (
    "name",
    "image",
    "imagePullPolicy",
    "restartPolicy",
    "workingDir",
    "command",
    "args",
    "env",
    "envFrom",
)
"""What people look for first in a container; the rest follows as it comes."""


def fill(container: Object, plan: Plan) -> None:
    """Give a container of a base the user's program: `container:` of the TPUWorkload, in place."""
    written = {key: value for key, value in plan.container.items() if key != "script"}
    merge(container, {**written, "name": plan.main_container})
    if "script" in plan.container:
        container["command"] = [*_SHELL, plan.container["script"]]
        container.pop("args", None)


def tell_run(pod: dict[str, Any], plan: Plan) -> None:
    """Tell every container of a pod its run, before any env of the user, who may write $(SLICEWRIGHT_RUN)."""
    if plan.env:
        ours = [{"name": name, "value": value} for name, value in plan.env.items()]
        for container in every(pod):
            theirs = [item for item in container.get("env", []) if item["name"] not in plan.env]
            container["env"] = [*copied(ours), *theirs]


def mount(pod: dict[str, Any], container: Object, buckets: tuple[GcsFuse, ...]) -> None:
    """Mount Cloud Storage buckets into a container, through the CSI driver of GKE."""
    for index, bucket in enumerate(buckets):
        name = f"{FUSE_VOLUME}{index}"
        attributes = {"bucketName": bucket.bucket}
        if bucket.options:
            attributes["mountOptions"] = bucket.options
        csi: dict[str, Any] = {"driver": FUSE_DRIVER, "volumeAttributes": attributes}
        mounted: dict[str, Any] = {"name": name, "mountPath": bucket.mount_path}
        if bucket.read_only:
            csi["readOnly"] = mounted["readOnly"] = True
        merge(pod, {"volumes": [{"name": name, "csi": csi}]})
        merge(container, {"volumeMounts": [mounted]})


def every(pod: dict[str, Any]) -> Iterator[Object]:
    """Yield the containers of a pod spec, those that start first before the others."""
    yield from pod.get("initContainers", [])
    yield from pod["containers"]


def in_order(container: Object) -> Object:
    """Return a container with its fields in the order in which people read them."""
    first = {key: container[key] for key in _ORDER if key in container}
    return {**first, **container}
