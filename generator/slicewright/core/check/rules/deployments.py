"""Rules of pods that serve: slices that Deployments never form, selectors, ports of probes and Services."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from msgspec.structs import replace

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.tpu_shape import multi_host
from slicewright.core.check.scheduler import requirement
from slicewright.core.kubernetes.kinds import POD_KINDS
from slicewright.core.kubernetes.pods import Pods
from slicewright.core.kubernetes.quantity import amount
from slicewright.core.kubernetes.read import at, entries, mapping, number, text, texts
from slicewright.core.problem import Path, did_you_mean

_SELECTING = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")


def _alone(resource: Resource, objects: ObjectSet) -> Findings:
    """Yield the pods that select nodes of a multi-host slice and cannot know of each other."""
    for pods in resource.pods:
        row = multi_host(pods, objects)
        if row is None:
            continue
        who = "a bare Pod" if resource.kind == "Pod" else f"pods of a {resource.kind}"
        message = f"{row.topology} on {row.machine_type} is a slice of {row.hosts} hosts, but"
        yield Finding(pods.spec_path, f"{message} {who} cannot form it")


_workloads_alone = rule("TPU136", {"Deployment", "ReplicaSet", "StatefulSet"})(_alone)
_pod_alone = rule("TPU137", {"Pod"}, "warning")(_alone)


@rule("REF111", _SELECTING)
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


def _ports(container: dict[str, Any]) -> Iterator[str | int]:
    for _, port in entries(container.get("ports")):
        yield from (value for value in (port.get("name"), number(port.get("containerPort"))) if value)


@rule("REF112", POD_KINDS)
def _probes(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, container in resource.containers:
        known = [port for port in _ports(container) if isinstance(port, str)]
        for probe in filter(container.get, _PROBES):
            for way in ("httpGet", "tcpSocket"):
                name = at(container, probe, way, "port")
                if isinstance(name, str) and not name.isdigit() and name not in known:
                    message = f"the container has no port '{name}'"
                    yield Finding((*path, probe, way, "port"), message, did_you_mean(name, known))


_ByLabel = dict[tuple[str, str], list[tuple[Resource, Pods]]]


def _by_label(objects: ObjectSet) -> _ByLabel:
    """Return all pods by each label that they have."""
    by_label: _ByLabel = defaultdict(list)
    for resource in objects.all:
        for pods in resource.pods:
            for label in pods.labels.items():
                by_label[label].append((resource, pods))
    return by_label


def _selected(service: Resource, objects: ObjectSet) -> list[tuple[Resource, Pods]]:
    """Return the pods that a Service selects, in any namespace; none where it has no selector."""
    selector = texts(at(service.data, "spec", "selector"))
    first = next(iter(selector.items()), ("", ""))
    candidates = objects.once("pods by label", _by_label).get(first, ())
    return [(maker, pods) for maker, pods in candidates if selector.items() <= pods.labels.items()]


@rule("REF113", {"Service"}, "warning")
def _service(resource: Resource, objects: ObjectSet) -> Findings:
    known = [
        {port for _, container in (*pods.containers, *pods.init_containers) for port in _ports(container)}
        for maker, pods in _selected(resource, objects)
        if (maker.namespace or "default") == (resource.namespace or "default")
    ]
    if not known or not all(known):
        return  # Ports of containers are documentation: what lists none may serve any.
    listed = set().union(*known)
    for index, port in entries(at(resource.data, "spec", "ports")):
        target = port.get("targetPort", port.get("port"))
        if isinstance(target, str | int) and str(target) not in map(str, listed):
            path = ("spec", "ports", index, "targetPort" if "targetPort" in port else "port")
            hint = f"write a port that the pods list: {', '.join(sorted(map(str, listed)))}"
            yield Finding(path, f"no pod of the Service lists port '{target}'", hint)


_NEAR = 0.9
"""How alike two labels are that are meant to be one: a letter differs."""


@rule("REF114", {"Service"}, "warning")
def _nothing(resource: Resource, objects: ObjectSet) -> Findings:
    pairs = {f"{key}: {value}" for key, value in texts(at(resource.data, "spec", "selector")).items()}
    if not pairs or _selected(resource, objects.widest):
        return
    for pods in objects.once("pods by file", _by_file)[resource.file]:
        labels = {f"{key}: {value}" for key, value in pods.labels.items()}
        missing = pairs - labels
        near = get_close_matches(min(missing), labels, n=1, cutoff=_NEAR) if len(missing) == 1 else []
        if near:
            path = ("spec", "selector", min(missing).partition(": ")[0])
            yield Finding(path, f"no pod has the label {min(missing)}", f"did you mean '{near[0]}'?")
            return


def _by_file(objects: ObjectSet) -> dict[str, list[Pods]]:
    by_file: dict[str, list[Pods]] = defaultdict(list)
    for resource in objects.all:
        by_file[resource.file] += resource.pods
    return by_file


_MOST = 65_535
_PORTS = {"containers": ("containerPort", "hostPort"), "Service": ("port", "nodePort", "targetPort")}
_UNSET = ("hostPort", "nodePort", "targetPort")
"""Where 0 is no port of its own, and the API server chooses one."""


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
        yield from _out_of_range(at(resource.data, "spec", "ports"), _PORTS["Service"], ("spec", "ports"))
    for path, container in resource.containers:
        yield from _out_of_range(container.get("ports"), _PORTS["containers"], (*path, "ports"))
        for probe in filter(container.get, _PROBES):
            for way in ("httpGet", "tcpSocket", "grpc"):
                for finding in _out_of_range([at(container, probe, way)], ("port",), ()):
                    yield replace(finding, path=(*path, probe, way, "port"))
        for key in ("requests", "limits"):
            for name, value in mapping(at(container, "resources", key)).items():
                if str(value)[:1] == "-" and (amount(value) or 0) < 0:
                    message = f"{key} of {name} is {value}, but must be 0 or more"
                    yield Finding((*path, "resources", key, name), message, "write 0 or more")
    rollout = mapping(at(resource.data, "spec", "strategy", "rollingUpdate"))
    if all(rollout.get(key) in (0, "0%") for key in ("maxSurge", "maxUnavailable")):
        path = ("spec", "strategy", "rollingUpdate", "maxUnavailable")
        hint = "write maxSurge: 1, or maxUnavailable: 1"
        yield Finding(path, "maxUnavailable and maxSurge are both 0", hint)
    replicas = number(at(resource.data, "spec", "replicas"))
    if replicas is not None and replicas < 0:
        message = f"replicas is {replicas}, but must be 0 or more"
        yield Finding(("spec", "replicas"), message, "write 0 or more")
