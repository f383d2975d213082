"""Rules of Pathways: head and workers of a JobSet, their flags and ports, and what PathwaysJob needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.tpu_shape import is_pathways, shape, shapes
from slicewright.core.kubernetes.labels import COORDINATOR
from slicewright.core.kubernetes.name_room import room_in_pathwaysjob
from slicewright.core.kubernetes.read import at, entries, mapping, number, sequence, text, words
from slicewright.core.plan.decide import SIDECAR_FLAG

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.kubernetes.pods import Pods
    from slicewright.core.problem import Path

_JOBSET = frozenset({"JobSet"})
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_SERVER_PORT = "--server_port"
_MANAGER_ADDRESS = "--resource_manager_address"
_MANAGER = "--node_type=resource_manager"
_INSTANCE_TYPE = "--instance_type"
_INSTANCE_COUNT = "--instance_count"
_SIDECAR_ADDRESS = "GRPC_SERVER_ADDRESS"
"""Variable by which a colocated Python sidecar knows where to listen."""
_UNUSED = f"nothing uses the colocated Python sidecar: proxy_server has no flag {SIDECAR_FLAG}"


def flags(container: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Return the flags of a container: name to (index in args, value)."""
    by_name: dict[str, tuple[int, str]] = {}
    for index, word in words(container.get("args")):
        if word.startswith("--"):
            name, _, value = word.partition("=")
            by_name.setdefault(name, (index, value))
    return by_name


def _all(pods: Pods) -> tuple[tuple[Path, dict[str, Any]], ...]:
    return pods.init_containers + pods.containers


def _managers(resource: Resource) -> Iterator[tuple[Pods, Path, dict[str, Any]]]:
    for pods in resource.pods:
        for path, container in _all(pods):
            if _MANAGER in sequence(container.get("args")):
                yield pods, path, container


def _workers(resource: Resource) -> list[Pods]:
    return [pods for pods in resource.pods if pods.asks_for_tpu]


@rule("PW101", _JOBSET)
def _one_chip(resource: Resource, objects: ObjectSet) -> Findings:
    if not is_pathways(resource):
        return
    for pods in _workers(resource):
        row = shape(pods, objects)
        if row is not None and all(known.pathways_instance_type is None for known in shapes(pods, objects)):
            message = f"Pathways does not run on {row.topology} of {row.machine_type}"
            yield Finding(pods.spec_path, message, objects.catalogue.pathways_hint)


@rule("PW102", {"JobSet", "Job", "Pod"})
def _env_order(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, container in resource.containers:
        own = [text(entry.get("name")) for _, entry in entries(container.get("env"))]
        for place, (index, entry) in enumerate(entries(container.get("env"))):
            for name in _REFERENCE.findall(text(entry.get("value"))):
                if name in own[place:] and name not in own[:place]:
                    message = f"$({name}) is used before env '{name}' is defined, so it is not expanded"
                    yield Finding((*path, "env", index, "value"), message)
        for key in ("command", "args"):
            for index, word in words(container.get(key)):
                for name in _REFERENCE.findall(word):
                    if name == "PATHWAYS_HEAD" and name not in own and not container.get("envFrom"):
                        message = f"env '{name}' is not defined, so $({name}) is not expanded"
                        yield Finding((*path, key, index), message)


@rule("PW103", _JOBSET)
def _ports(resource: Resource, _objects: ObjectSet) -> Findings:
    managers = (flags(container) for _, _, container in _managers(resource))
    served = {manager[_SERVER_PORT][1] for manager in managers if _SERVER_PORT in manager}
    for path, container in resource.containers if len(served) == 1 else ():
        index, address = flags(container).get(_MANAGER_ADDRESS, (0, ""))
        if address and address.rpartition(":")[2] not in served:
            message = f"{_MANAGER_ADDRESS} is {address}, but the manager serves port {min(served)}"
            yield Finding((*path, "args", index), message)


@rule("PW104", _JOBSET)
def _backend(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        served = {proxy[_SERVER_PORT][1] for proxy in _proxies(_all(pods)) if _SERVER_PORT in proxy}
        for path, container in _all(pods) if served else ():
            for index, entry in entries(container.get("env")):
                value = text(entry.get("value"))
                if entry.get("name") == "JAX_BACKEND_TARGET" and value.rpartition(":")[2] not in served:
                    message = f"JAX_BACKEND_TARGET is {value}, but the proxy serves port {min(served)}"
                    yield Finding((*path, "env", index, "value"), message)


@rule("PW105", _JOBSET)
def _same_port(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        taken: dict[str, str] = {}
        for path, container in _all(pods):
            index, port = flags(container).get(_SERVER_PORT, (0, ""))
            name = text(container.get("name"))
            if port and port in taken:
                message = f"containers '{taken[port]}' and '{name}' both serve port {port}"
                yield Finding((*path, "args", index), message)
            taken.setdefault(port, name)


@rule("PW106", _JOBSET)
def _instance_type(resource: Resource, objects: ObjectSet) -> Findings:
    rows = [shape(pods, objects) for pods in _workers(resource)]
    types = {row.pathways_instance_type for row in rows if row is not None and row.pathways_instance_type}
    for _, path, container in _managers(resource):
        index, value = flags(container).get(_INSTANCE_TYPE, (0, ""))
        if types and value and value.removesuffix("_untwisted") not in types:
            message = f"instance type is {value}, but the workers are {min(types)}"
            yield Finding((*path, "args", index), message, f"write {_INSTANCE_TYPE}={min(types)}")


@rule("PW107", _JOBSET)
def _instance_count(resource: Resource, _objects: ObjectSet) -> Findings:
    workers = entries(at(resource.data, "spec", "workers"))
    slices = sum(number(worker.get("numSlices")) or 0 for _, worker in workers)
    path = ("spec", "controller", "elasticSlices")
    if elastic < 0:
        yield Finding(path, f"{elastic} elastic slices", "write 0 or more")
    if slices and elastic >= slices:
        yield Finding(path, f"{elastic} elastic slices of {slices} leave no required slice")


@rule("PW128", {"PathwaysJob"}, "warning")
def _sidecar(resource: Resource, _objects: ObjectSet) -> Findings:
    for index, component in entries(at(resource.data, "spec", "customComponents")):
        if component.get("componentType") == "colocated_python_sidecar":
            for key in ("customFlags", "customEnv"):
                if component.get(key):
                    path = ("spec", "customComponents", index, key)
                    yield Finding(path, f"the controller ignores {key} of the sidecar")


@rule("PW134", {"PathwaysJob"})
def _directory(resource: Resource, _objects: ObjectSet) -> Findings:
    folder = at(resource.data, "spec", "pathwaysDir")
    if isinstance(folder, str) and not re.fullmatch(r"gs://[^/\s]+(/.*)?", folder):
        yield Finding(("spec", "pathwaysDir"), f"'{folder}' is not a folder of Cloud Storage")
