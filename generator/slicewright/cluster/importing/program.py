"""A container and a pod template, as `container` and `podTemplate` say them."""

from slicewright.cluster.importing.flags import filled
from slicewright.kubernetes.fields import entries, mapping, text
from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.merge import copied
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.types import Object

_CONTAINER = frozenset(["image", "command", "args", "workingDir", "imagePullPolicy", "env", "ports"])
"""Fields of a container that `container` has; `podTemplate` takes the others."""


def program_of(container: Object) -> tuple[Object, Object]:
    """Return a container as `container` says it, and the fields that it does not have."""
    rest = copied(container)
    if rest.get("env"):
        own = (entry for _, entry in entries(rest["env"]))
        rest["env"] = [entry for entry in own if not text(entry.get("name")).startswith("SLICEWRIGHT_")]
    resources = mapping(rest.pop("resources", None))
    program: Object = {key: rest.pop(key) for key in ("name", *_CONTAINER) if rest.get(key) is not None}
    match program.get("command"):
        case ["bash", "-c", str(script)] if script and "args" not in program:
            del program["command"]
            program["script"] = script
    amounts = {key: mapping(resources.get(key)) for key in ("requests", "limits")}
    for by_resource in amounts.values():
        by_resource.pop(TPU, None)
    program |= filled(resources=filled(**amounts))
    return program, {key: value for key, value in rest.items() if value is not None}


def template_of(pods: Pods, spec: Object) -> Object:
    """Return a pod template with a spec, and with the labels and annotations of some pods."""
    return filled(metadata=filled(labels=dict(pods.labels), annotations=dict(pods.annotations)), spec=spec)
