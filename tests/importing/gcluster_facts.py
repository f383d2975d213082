"""What a JobSet that gcluster made, or that we rendered in its place, asks for: facts in a few words.

`python -m tests.importing.gcluster_facts GCLUSTER` writes `gcluster.yaml` again: it runs each row of it by
that program, with `POOLS` set to the machine types of the node pools that the cluster must have.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from slicewright.core.kubernetes.labels import ACCELERATOR, ACCELERATOR_COUNT, TOPOLOGY, TPU
from slicewright.core.kubernetes.pods import pods_of
from slicewright.core.kubernetes.read import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.kubernetes.pods import Pods
    from slicewright.core.kubernetes.types import Object

FILE = Path(__file__).with_name("gcluster.yaml")
ALWAYS = ("--name=x", "--cluster=c", "--location=us-east5-b", "--project=p")
BASE = "--command 'python train.py' --image python:3.12"
SLICE = "--compute-type v6e-16"
PATHWAYS = "--pathways --pathways-gcs-location gs://b/t"
_POD = ("hostNetwork", "priorityClassName", "serviceAccountName", "imagePullSecrets", "schedulerName")
_OF_SLICE = (ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT)
_WRAPPED = re.compile(r".*\(\n\s*(?P<script>.*?)\n\s*\) & PID=\$!\n.*", re.DOTALL)
"""The script that gcluster puts around a command under Pathways."""
_COMPUTED = ("--server_port", "--resource_manager_address", "--node_type")


def facts(jobset: Object) -> Object:
    """Return what a JobSet asks for; what it does not say is left out."""
    pods = pods_of(jobset, "JobSet")
    (workers,) = (one for one in pods if one.chips)
    head = next((one for one in pods if not one.chips), None)
    chips = [one for _, container in workers.containers if (one := at(container, "resources", "limits", TPU))]
    programs = [
        entry for _, entry in (head or workers).containers if not str(entry["name"]).startswith("pathways-")
    ]
    components = [
        entry
        for one in pods
        for _, entry in (*one.init_containers, *one.containers)
        if str(entry["name"]).startswith("pathways-")
    ]
    found: Object = {
        "name": jobset["metadata"]["name"],
        "queue": at(jobset, "metadata", "labels", "kueue.x-k8s.io/queue-name"),
        "accelerator": workers.selector.get(ACCELERATOR),
        "topology": workers.selector.get(TOPOLOGY),
        "slices": workers.replicas,
        "hosts": workers.parallelism,
        "chips": [int(one) for one in chips],
        "maxRestarts": at(jobset, "spec", "failurePolicy", "maxRestarts"),
        "backoffLimit": workers.job.get("backoffLimit"),
        "pods": _pods(workers),
        "head": _pods(head) if head else None,
        "program": _program(programs[0], head or workers) if programs else None,
        "components": {entry["name"]: _component(entry) for entry in components},
    }
    return {key: value for key, value in found.items() if value not in (None, {}, [])}


def _pods(pods: Pods) -> Object:
    """Return the fields of pods that flags write."""
    spec = pods.spec
    codes = [
        rule["onExitCodes"]["values"]
        for rule in at(pods.job, "podFailurePolicy", "rules") or ()
        if rule["action"] == "FailJob"
    ]
    terms = (
        at(
            spec,
            "affinity",
            "nodeAffinity",
            "requiredDuringSchedulingIgnoredDuringExecution",
            "nodeSelectorTerms",
        )
        or ()
    )
    found: Object = {
        **{key: spec.get(key) for key in _POD},
        "graceSeconds": spec.get("terminationGracePeriodSeconds", 30),
        "nodeSelector": {
            key: value for key, value in spec.get("nodeSelector", {}).items() if key not in _OF_SLICE
        },
        "affinity": {
            one["key"]: one["values"]
            for term in terms
            for one in term["matchExpressions"]
            if one["operator"] == "In"
        },
        "tolerations": sorted(one["key"] for one in spec.get("tolerations", ()) if one["key"] != TPU),
        "exitCodes": codes[0] if codes else None,
    }
    return {key: value for key, value in found.items() if value not in (None, {}, [])}


def _program(container: Object, pods: Pods) -> Object:
    """Return image, script, variables and mounts of a program."""
    script = container["command"][-1]
    wrapped = _WRAPPED.fullmatch(script)
    volumes = {one["name"]: _source(one) for one in pods.spec.get("volumes") or ()}
    mounts = [
        [
            one["mountPath"],
            volumes[one["name"]],
            "ro" if one.get("readOnly") else "rw",
        ]
        for one in container.get("volumeMounts", ())
    ]
    found = {
        "image": container["image"],
        "script": wrapped["script"] if wrapped else script,
        "env": _env(container),
        "mounts": mounts,
    }
    return {key: value for key, value in found.items() if value}


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
    raise ValueError(volume)


def _env(container: Object) -> dict[str, str]:
    return {
        one["name"]: one["value"]
        for one in container.get("env", ())
        if "value" in one and not one["name"].startswith("SLICEWRIGHT_")
    }


def _component(container: Object) -> Object:
    """Return the image, the flags and the variables of a component of Pathways."""
    args = [str(word) for word in container["args"]]
    found = {
        "image": container["image"],
        "args": sorted(word for word in args if word.partition("=")[0] not in _COMPUTED),
        "env": _env(container),
    }
    return {key: value for key, value in found.items() if value}


def run(program: str, args: str, pools: str) -> Object | None:
    """Return the JobSet that gcluster writes for arguments, None where it refuses them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "out.yaml")
        command = [program, "job", "submit", *ALWAYS, f"--dry-run-out={file}", *shlex.split(args)]
        environ = {**os.environ, "POOLS": pools}
        subprocess.run(command, env=environ, check=False, capture_output=True)
        if not file.exists():
            return None
        objects: list[Object] = list(yaml.safe_load_all(file.read_text()))
        return next(one for one in objects if one["kind"] == "JobSet")


def flat(found: Any, way: str = "") -> dict[str, Any]:
    """Return facts by the ways to them."""
    if not isinstance(found, dict):
        return {way: found}
    return {
        key: value for name, below in found.items() for key, value in flat(below, f"{way}/{name}").items()
    }


def changes(found: Object, base: Object) -> dict[str, Any]:
    """Return the facts that differ from those of other arguments, None for one that is no longer there."""
    new, old = flat(found), flat(base)
    return {key: new.get(key) for key in sorted({*new, *old}) if new.get(key) != old.get(key)}


def _lines(data: Object, program: str) -> Iterator[str]:
    """Yield the lines of the file, without its head."""
    bases = {}
    for name, args in {"plain": "", "pathways": PATHWAYS}.items():
        bases[name] = facts(run(program, f"{BASE} {SLICE} {args}", "ct6e-standard-4t") or {})
    yield yaml.safe_dump({"bases": bases}, sort_keys=False, width=120).rstrip("\n")
    yield "slices:"
    for row in data["slices"]:
        jobset = run(program, f"{BASE} {row['args']}", row["pools"])
        found = facts(jobset) if jobset else {}
        keys = ("accelerator", "topology", "hosts", "chips")
        means = {key: found[key] for key in keys} if found else {"refused": True}
        yield f"- {_flow({key: row[key] for key in ('args', 'pools')} | means)}"
    yield "flags:"
    for row in data["flags"]:
        slice_args = row.get("slice", SLICE)
        jobset = run(program, f"{BASE} {slice_args} {row['args']}", row.get("pools", "ct6e-standard-4t"))
        means = {"refused": True}
        if jobset is not None:
            found = facts(jobset)
            means = {"facts": changes(found, bases["pathways" if "head" in found else "plain"])}
        yield f"- {_flow({key: row[key] for key in ('args', 'slice', 'pools') if key in row} | means)}"


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def main(program: str) -> None:
    """Write the file again."""
    text = FILE.read_text(encoding="utf-8")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    data = yaml.safe_load(text)
    about = f"gcluster: {_flow(data['gcluster'])}\n"
    FILE.write_text(f"{head}{about}" + "\n".join(_lines(data, program)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
