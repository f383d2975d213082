"""A container and a pod template, as `container` and `podTemplate` say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.kubernetes.labels import TPU
from slicewright.core.kubernetes.merge import copied
from slicewright.core.kubernetes.read import at, entries, mapping, text, texts

if TYPE_CHECKING:
    from slicewright.core.kubernetes.pods import Pods
    from slicewright.core.kubernetes.types import Object

_CONTAINER = frozenset(["image", "command", "args", "workingDir", "imagePullPolicy", "env", "ports"])
"""Fields of a container that `container` has; `podTemplate` takes the others."""


def program_of(container: Object) -> tuple[Object, Object]:
    """Return a container as `container` says it, and the fields that it does not have."""
    given = copied(container)
    if given.get("env"):
        own = (entry for _, entry in entries(given["env"]))
        given["env"] = [entry for entry in own if not text(entry.get("name")).startswith("SLICEWRIGHT_")]
    resources = given.pop("resources", None) or {}
    program: Object = {key: given.pop(key) for key in ("name", *_CONTAINER) if given.get(key) is not None}
    match program.get("command"):
        case ["bash", "-c", str(script)] if script and "args" not in program:
            del program["command"]
            program["script"] = script
    asked = {
        key: others
        for key in ("requests", "limits")
        if (others := {name: value for name, value in mapping(resources.get(key)).items() if name != TPU})
    }
    if asked:
        program["resources"] = asked
    return program, {key: value for key, value in given.items() if value is not None}


def template_of(pods: Pods, spec: Object) -> Object:
    """Return a pod template with a spec, and with the labels and annotations of some pods."""
    metadata = {
        key: dict(value)
        for key in ("labels", "annotations")
        if (value := texts(at(pods.template, "metadata", key)))
    }
    return {**({"metadata": metadata} if metadata else {}), **({"spec": spec} if spec else {})}
