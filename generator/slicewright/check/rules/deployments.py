"""Rules of pods that serve: slices that Deployments never form, selectors, ports of probes."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from slicewright.check.rules.tpu_shape import is_set_up, multi_host
from slicewright.kubernetes.fields import at, entries, mapping, number, text, texts
from slicewright.kubernetes.kinds import POD_KINDS
from slicewright.kubernetes.problem import Path, did_you_mean
from slicewright.kubernetes.quantity import amount
from slicewright.kubernetes.scheduler import requirement
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule


def _alone(resource: Resource, objects: ObjectSet) -> Findings:
    """Yield the pods that select nodes of a multi-host slice and cannot know of each other."""
    for pods in resource.pods:
        row = multi_host(pods, objects)
        if row is None or is_set_up(pods):
            continue
        who = "a bare Pod" if resource.kind == "Pod" else f"pods of a {resource.kind}"
        message = f"{row.topology} on {row.machine_type} is a slice of {row.hosts} hosts, but"
        yield Finding(pods.spec_path, f"{message} {who} cannot form it")


_workloads_alone = rule("TPU136", {"Deployment", "ReplicaSet", "StatefulSet"})(_alone)
_pod_alone = rule("TPU137", {"Pod"}, "warning")(_alone)


@rule("REF111", {"Deployment", "StatefulSet"})
def _selector(resource: Resource, _objects: ObjectSet) -> Findings:
    selector = mapping(at(resource.data, "spec", "selector"))
    for pods in resource.pods:
        for key, value in texts(selector.get("matchLabels")).items():
            if pods.labels.get(key) != value:
                message = f"the selector requires label {key}: {value}, which the pods do not have"
                yield Finding(("spec", "selector", "matchLabels", key), message)
        for index, expression in entries(selector.get("matchExpressions")):
            if not requirement(expression).accepts(pods.labels.get(text(expression.get("key")))):
                path = ("spec", "selector", "matchExpressions", index)
                yield Finding(
                    path, f"the selector excludes the pods because of their label {expression.get('key')}"
                )


_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


@rule("REF112", POD_KINDS)
def _probes(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, container in resource.containers:
        known = [text(port.get("name")) for _, port in entries(container.get("ports")) if port.get("name")]
        for probe in filter(container.get, _PROBES):
            for way in ("httpGet", "tcpSocket"):
                name = at(container, probe, way, "port")
                if isinstance(name, str) and not name.isdigit() and name not in known:
                    message = f"the container has no port '{name}'"
                    yield Finding((*path, probe, way, "port"), message, did_you_mean(name, known))


_MOST = 65_535
_UNSET = ("hostPort", "targetPort")
"""Fields where 0 means that the API server chooses a port."""


def _out_of_range(ports: Any, keys: Iterable[str], path: Path) -> Findings:
    for index, port in entries(ports):
        for key in keys:
            value = number(port.get(key))
            if value is not None and not 0 < value <= _MOST and (value or key not in _UNSET):
                message = f"{value} is not a port (1 to {_MOST:,})"
                yield Finding((*path, index, key), message, f"write a number from 1 to {_MOST:,}")


@rule("JS141", POD_KINDS | {"Service"})
def _numbers(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.kind == "Service":
        ports = at(resource.data, "spec", "ports")
        yield from _out_of_range(ports, ("port", "targetPort"), ("spec", "ports"))
    for path, container in resource.containers:
        yield from _out_of_range(container.get("ports"), ("containerPort", "hostPort"), (*path, "ports"))
        for probe in filter(container.get, _PROBES):
            for way in ("httpGet", "tcpSocket", "grpc"):
                for finding in _out_of_range([at(container, probe, way)], ("port",), ()):
                    yield replace(finding, path=(*path, probe, way, "port"))
        for key in ("requests", "limits"):
            for name, value in mapping(at(container, "resources", key)).items():
                if str(value)[:1] == "-" and (amount(value) or 0) < 0:
                    message = f"{key} of {name} is {value}, but must be 0 or more"
                    yield Finding((*path, "resources", key, name), message, "write 0 or more")
    replicas = number(at(resource.data, "spec", "replicas"))
    if replicas is not None and replicas < 0:
        message = f"replicas is {replicas}, but must be 0 or more"
        yield Finding(("spec", "replicas"), message, "write 0 or more")
