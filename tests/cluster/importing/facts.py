"""What a JobSet that another tool made, or that we rendered in its place, asks for: facts in a few words."""

import re
from typing import Any

import yaml

from slicewright.kubernetes.fields import at
from slicewright.kubernetes.labels import ACCELERATOR, ACCELERATOR_COUNT, TOPOLOGY, TPU
from slicewright.kubernetes.pods import Pods, pods_of
from slicewright.kubernetes.types import Object

_POD = ("hostNetwork", "priorityClassName", "serviceAccountName", "imagePullSecrets", "schedulerName")
_OF_SLICE = (ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT)
_WRAPPED = re.compile(r".*\n\s*\(\s*(?P<script>.*?)\s*\) & PID=\$!;?\n.*", re.DOTALL)
"""The script that xpk, and gcluster under Pathways, put around a command."""
_COMPUTED = ("--server_port", "--resource_manager_address", "--node_type")


def facts(jobset: Object) -> Object:
    """Return what a JobSet asks for; what it does not say is left out."""
    pods = pods_of(jobset, "JobSet")
    (workers,) = (group for group in pods if group.chips)
    head = next((group for group in pods if not group.chips), None)
    limits = (at(container, "resources", "limits", TPU) for _, container in workers.containers)
    programs = [entry for _, entry in (head or workers).containers if "command" in entry]
    components = [
        entry
        for group in pods
        for _, entry in (*group.init_containers, *group.containers)
        if str(entry["name"]).startswith("pathways-")
    ]
    asked: Object = {
        "name": jobset["metadata"]["name"],
        "queue": at(jobset, "metadata", "labels", "kueue.x-k8s.io/queue-name"),
        "accelerator": workers.selector.get(ACCELERATOR),
        "topology": workers.selector.get(TOPOLOGY),
        "slices": workers.replicas,
        "hosts": workers.parallelism,
        "chips": [int(limit) for limit in limits if limit],
        "maxRestarts": at(jobset, "spec", "failurePolicy", "maxRestarts"),
        "backoffLimit": workers.job.get("backoffLimit"),
        "pods": _pods(workers),
        "head": _pods(head) if head else None,
        "program": _program(programs[0], head or workers) if programs else None,
        "components": {entry["name"]: _component(entry) for entry in components},
    }
    return _written(asked)


def _written(fields: Object) -> Object:
    return {key: value for key, value in fields.items() if value not in (None, {}, [])}


def _pods(pods: Pods) -> Object:
    """Return the fields of pods that flags write."""
    spec = pods.spec
    codes = [
        rule["onExitCodes"]["values"]
        for rule in at(pods.job, "podFailurePolicy", "rules") or ()
        if rule["action"] == "FailJob"
    ]
    required = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = at(spec, *required, "nodeSelectorTerms") or ()
    asked: Object = {
        **{key: spec.get(key) for key in _POD},
        "graceSeconds": spec.get("terminationGracePeriodSeconds", 30),
        "nodeSelector": {
            key: value for key, value in spec.get("nodeSelector", {}).items() if key not in _OF_SLICE
        },
        "affinity": {
            expression["key"]: expression["values"]
            for term in terms
            for expression in term["matchExpressions"]
            if expression["operator"] == "In"
        },
        "tolerations": sorted(entry["key"] for entry in spec.get("tolerations", ()) if entry["key"] != TPU),
        "exitCodes": _ranges(codes[0]) if codes else None,
    }
    return _written(asked)


def _ranges(codes: list[int]) -> list[int | str]:
    """Return exit codes with ranges in their place, as failurePolicy.restartOnExitCodes has them."""
    ranges: list[int | str] = []
    for code in sorted(codes):
        first, _, last = str(ranges[-1]).partition("-") if ranges else ("", "", "")
        if first and int(last or first) + 1 == code:
            ranges[-1] = f"{first}-{code}"
        else:
            ranges.append(code)
    return ranges


def _program(container: Object, pods: Pods) -> Object:
    """Return image, script, variables and mounts of a program."""
    script = container["command"][-1]
    wrapped = _WRAPPED.fullmatch(script)
    volumes = {volume["name"]: _source(volume) for volume in pods.spec.get("volumes") or ()}
    mounts = [
        [mount["mountPath"], volumes[mount["name"]], "ro" if mount.get("readOnly") else "rw"]
        for mount in container.get("volumeMounts", ())
    ]
    program = {
        "image": container["image"],
        "script": wrapped["script"] if wrapped else script,
        "env": _env(container),
        "mounts": mounts,
    }
    return {key: value for key, value in program.items() if value}


def _source(volume: Object) -> str:
    match volume:
        case {"csi": {"volumeAttributes": attributes, "readOnly": read_only}}:
            options = attributes.get("mountOptions", "")
            return f"gs://{attributes['bucketName']}{options and f' {options}'}{' read-only' * read_only}"
        case {"csi": {"volumeAttributes": attributes}}:
            return f"gs://{attributes['bucketName']}"
        case {"persistentVolumeClaim": {"claimName": name}}:
            return str(name)
        case {"hostPath": {"path": path}}:
            return str(path)
        case {"csi": {"driver": driver}}:
            return str(driver)
        case {"emptyDir": {"medium": medium}}:
            return str(medium)
        case {"name": _, **rest} if not rest:
            return "emptyDir"
    raise ValueError(volume)


def _env(container: Object) -> dict[str, str]:
    return {
        variable["name"]: variable["value"]
        for variable in container.get("env", ())
        if "value" in variable and not variable["name"].startswith("SLICEWRIGHT_")
    }


def _component(container: Object) -> Object:
    """Return the image, the flags and the variables of a component of Pathways."""
    args = [str(word) for word in container["args"]]
    component = {
        "image": container["image"],
        "args": sorted(word for word in args if word.partition("=")[0] not in _COMPUTED),
        "env": _env(container),
    }
    return {key: value for key, value in component.items() if value}


def flat(asked: Any, way: str = "") -> dict[str, Any]:
    """Return facts by the ways to them."""
    if not isinstance(asked, dict):
        return {way: asked}
    return {
        key: value for name, below in asked.items() for key, value in flat(below, f"{way}/{name}").items()
    }


def changes(asked: Object, base: Object) -> dict[str, Any]:
    """Return the facts that differ from those of other arguments, None for one that is no longer there."""
    new, old = flat(asked), flat(base)
    return {key: new.get(key) for key in sorted({*new, *old}) if new.get(key) != old.get(key)}


def flow(value: Any) -> str:
    """Return data as YAML in one line."""
    text: str = yaml.safe_dump(value, default_flow_style=True, width=1_000_000, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")
