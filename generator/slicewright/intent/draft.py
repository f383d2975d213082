"""The first draft of a TPUWorkload, from the options of `slicewright new`."""

from collections.abc import Mapping
from typing import Any

from slicewright.kubernetes.kinds import SLICEWRIGHT_VERSION
from slicewright.kubernetes.types import Object


def document(name: str, namespace: str, spec: Object) -> Object:
    """Return a TPUWorkload with a spec."""
    metadata = {"name": name} if namespace == "default" else {"name": name, "namespace": namespace}
    return {"apiVersion": SLICEWRIGHT_VERSION, "kind": "TPUWorkload", "metadata": metadata, "spec": spec}


def spec(options: Mapping[str, Any]) -> Object:
    """Return the spec that some options ask for, in the order of the reference; what is empty is left out."""
    pathways, account = options["pathways"], options["service_account"]
    template = {"spec": {"serviceAccountName": account}} if account else {}
    head = {"pool": options["head_pool"], "podTemplate": template}
    runtime = {
        "pathwaysDir": pathways,
        "pathwaysVersion": options["pathways_version"],
        "head": {key: value for key, value in head.items() if value},
    }
    cpu = {"pool": options["cpu"], "nodes": options["nodes"]} if options["cpu"] else {}
    fields = {
        "clusters": options["clusters"],
        "tpu": options["tpu"],
        "cpu": {key: value for key, value in cpu.items() if value},
        "slices": options["slices"] or (None if cpu else 1),
        "provisioning": options["provisioning"],
        "queueName": options["queue"],
        "workloadPriorityClassName": options["priority"],
        "matrix": options["matrix"],
        "container": _container(options),
        "podTemplate": template,
        "gcsFuse": [
            {"bucket": bucket.removeprefix("gs://"), "mountPath": path} for bucket, path in options["buckets"]
        ],
        "files": [{"path": file, "mountPath": path} for file, path in options["files"]],
        "pathways": {key: value for key, value in runtime.items() if value} if pathways else {},
    }
    return {key: value for key, value in fields.items() if value}


def _container(options: Mapping[str, Any]) -> Object:
    fields = {
        "image": options["image"],
        "command": list(options["command"]),
        "script": options["script"] or "",
        "env": [{"name": name, "value": value} for name, value in options["env"]],
        "resources": {"requests": dict(options["requests"])} if options["requests"] else {},
    }
    return {key: value for key, value in fields.items() if value}
