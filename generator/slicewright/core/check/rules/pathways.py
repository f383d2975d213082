"""Rules of Pathways in a JobSet: head and workers, their flags, ports and environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Rule
from slicewright.core.check.rules.shapes import asks_for_tpu, is_pathways, shape, shapes
from slicewright.core.kubernetes.labels import COORDINATOR, TPU
from slicewright.core.kubernetes.read import at, entries, sequence, text, words
from slicewright.core.plan.decide import SIDECAR_FLAG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.kubernetes.pods import Pods
    from slicewright.core.problem import Path

_SEED = "GKE documentation, page Run Pathways workloads"
_CONTROLLER = "google/pathways-job v0.1.4: internal/controller/pathwaysjob_controller.go"
_JOBSET = frozenset({"JobSet"})
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_SERVER_PORT = "--server_port"
_MANAGER_ADDRESS = "--resource_manager_address"
_MANAGER = "--node_type=resource_manager"
_INSTANCE_TYPE = "--instance_type"
_INSTANCE_COUNT = "--instance_count"
_SIDECAR_ADDRESS = "GRPC_SERVER_ADDRESS"
"""Variable by which a colocated Python sidecar knows where to listen."""
_UNUSED = "nothing uses the colocated Python sidecar: the proxy is not told of it"


def flags(container: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Return the flags of a container: name to (index in args, value)."""
    found: dict[str, tuple[int, str]] = {}
    if "args" not in container:
        return found
    for index, word in words(container["args"]):
        if word.startswith("--"):
            name, _, value = word.partition("=")
            found.setdefault(name, (index, value))
    return found


def _all(pods: Pods) -> Iterator[tuple[Path, dict[str, Any]]]:
    yield from pods.init_containers
    yield from pods.containers


def _managers(resource: Resource) -> Iterator[tuple[Pods, Path, dict[str, Any]]]:
    for pods in resource.pods:
        for path, container in _all(pods):
            if _MANAGER in sequence(container.get("args")):
                yield pods, path, container


def _workers(resource: Resource) -> list[Pods]:
    return [pods for pods in resource.pods if asks_for_tpu(pods)]


def _one_chip(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    if not is_pathways(resource):
        return
    for pods in _workers(resource):
        row = shape(pods, objects)
        if row is not None and all(found.pathways_instance_type is None for found in shapes(pods, objects)):
            message = f"Pathways does not run on {row.topology} of {row.machine_type}"
            yield Finding(pods.spec_path, message)


def _env_order(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for pods in resource.pods:
        for path, container in _all(pods):
            if "$(" not in repr(container):
                continue
            defined: set[str] = set()
            own = {text(entry.get("name")) for _, entry in entries(container.get("env"))}
            for index, entry in entries(container.get("env")):
                for name in _REFERENCE.findall(text(entry.get("value"))):
                    if name in own and name not in defined:
                        message = f"$({name}) is used before {name} is defined, and stays as it is written"
                        yield Finding((*path, "env", index, "value"), message)
                defined.add(text(entry.get("name")))
            for key in ("command", "args"):
                for index, word in words(container.get(key)):
                    for name in _REFERENCE.findall(word):
                        if name == "PATHWAYS_HEAD" and name not in own and not container.get("envFrom"):
                            message = f"$({name}) has no env of that name, and stays as it is written"
                            yield Finding((*path, key, index), message)


def _ports(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    served = {
        flags(container)[_SERVER_PORT][1]
        for _, _, container in _managers(resource)
        if _SERVER_PORT in flags(container)
    }
    if len(served) != 1:
        return
    port = next(iter(served))
    for pods in resource.pods:
        for path, container in _all(pods):
            index, address = flags(container).get(_MANAGER_ADDRESS, (0, ""))
            if address and address.rpartition(":")[2] != port:
                message = f"{_MANAGER_ADDRESS} is {address}, and the manager serves port {port}"
                yield Finding((*path, "args", index), message)


def _backend(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for pods in resource.pods:
        proxies = {
            flags(container)[_SERVER_PORT][1]
            for _, container in _all(pods)
            if {_SERVER_PORT, _MANAGER_ADDRESS} <= set(flags(container))
            and "proxy" in text(container.get("image"))
        }
        for path, container in _all(pods):
            for index, entry in entries(container.get("env")):
                value = text(entry.get("value"))
                if entry.get("name") != "JAX_BACKEND_TARGET" or not proxies:
                    continue
                if value.rpartition(":")[2] not in proxies:
                    message = f"JAX_BACKEND_TARGET is {value}, and the proxy serves port {min(proxies)}"
                    yield Finding((*path, "env", index, "value"), message)


def _same_port(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for pods in resource.pods:
        taken: dict[str, str] = {}
        for path, container in _all(pods):
            index, port = flags(container).get(_SERVER_PORT, (0, ""))
            name = text(container.get("name"))
            if port and port in taken:
                message = f"containers '{taken[port]}' and '{name}' both serve port {port}"
                yield Finding((*path, "args", index), message)
            taken.setdefault(port, name)


def _instance_type(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    rows = [shape(pods, objects) for pods in _workers(resource)]
    wanted = {row.pathways_instance_type for row in rows if row is not None and row.pathways_instance_type}
    for _, path, container in _managers(resource):
        index, value = flags(container).get(_INSTANCE_TYPE, (0, ""))
        if wanted and value and value.removesuffix("_untwisted") not in wanted:
            message = f"instance type is {value}, and the workers are {min(wanted)}"
            yield Finding((*path, "args", index), message, f"write {_INSTANCE_TYPE}={min(wanted)}")


def _instance_count(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    slices = sum(pods.replicas for pods in _workers(resource))
    for _, path, container in _managers(resource):
        index, value = flags(container).get(_INSTANCE_COUNT, (0, ""))
        if slices and value.isascii() and value.isdigit() and value.lstrip("0") != str(slices):
            message = f"instance count is {value}, and the slices are {slices}"
            yield Finding((*path, "args", index), message, f"write {_INSTANCE_COUNT}={slices}")


def _coordinator(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    if at(resource.data, "spec", "coordinator") is not None:
        return
    for pods in resource.pods:
        for path, container in _all(pods):
            for index, entry in entries(container.get("env")):
                if COORDINATOR in text(at(entry, "valueFrom", "fieldRef", "fieldPath")):
                    message = f"the label {COORDINATOR} is empty: the JobSet has no coordinator"
                    yield Finding((*path, "env", index), message)
                    return


def _never_ends(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for pods, _, manager in _managers(resource):
        others = [
            container
            for _, container in pods.containers
            if _SERVER_PORT not in flags(container) and container.get("name") != manager.get("name")
        ]
        for path, container in pods.containers:
            if others and _SERVER_PORT in flags(container):
                message = f"container '{container.get('name')}' never exits, and the program beside it does"
                yield Finding(path, message)
        for path, container in pods.init_containers:
            if _SERVER_PORT in flags(container) and container.get("restartPolicy") != "Always":
                message = f"init container '{container.get('name')}' never exits, and nothing after it starts"
                hint = "write restartPolicy: Always, which makes it a sidecar"
                yield Finding(path, message, hint)


def _success(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    heads = [
        pods.name
        for pods, _, manager in _managers(resource)
        if any(_SERVER_PORT not in flags(container) for _, container in pods.containers)
    ]
    if not heads or not is_pathways(resource):
        return
    targets = sequence(at(resource.data, "spec", "successPolicy", "targetReplicatedJobs"))
    if targets != heads:
        path: Path = ("spec", "successPolicy") if at(resource.data, "spec", "successPolicy") else ("spec",)
        hint = f"write successPolicy: {{operator: All, targetReplicatedJobs: [{heads[0]}]}}"
        yield Finding(path, "the JobSet waits for workers, which never exit", hint)


def _scratch(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for pods in resource.pods:
        for path, container in _all(pods):
            index, value = flags(container).get("--gcs_scratch_location", (0, ""))
            if value and seen and value not in seen:
                message = f"scratch is {value} here and {next(iter(seen))} in '{next(iter(seen.values()))}'"
                yield Finding((*path, "args", index), message)
            elif value:
                seen[value] = text(container.get("name"))


def _proxies(resource: Resource) -> Iterator[tuple[Path, dict[str, tuple[int, str]]]]:
    """Yield the proxies with their flags."""
    for pods in resource.pods:
        for path, container in _all(pods):
            if _MANAGER_ADDRESS in (found := flags(container)) and "proxy" in text(container.get("image")):
                yield path, found


def _unused_sidecar(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    if resource.kind == "PathwaysJob":
        components = {
            text(entry.get("componentType")): (index, entry)
            for index, entry in entries(at(resource.data, "spec", "customComponents"))
        }
        index, sidecar = components.get("colocated_python_sidecar", (0, {}))
        _, proxy = components.get("proxy_server", (0, {}))
        custom = flags({"args": proxy.get("customFlags")})
        if sidecar.get("image") and SIDECAR_FLAG not in custom:
            hint = f"write customFlags: [{SIDECAR_FLAG}=external] for the component proxy_server"
            yield Finding(("spec", "customComponents", index), _UNUSED, hint)
        return
    proxies = [found for _, found in _proxies(resource)]
    if proxies and not any(SIDECAR_FLAG in found for found in proxies):
        for pods in resource.pods:
            for path, container in _all(pods):
                if any(entry.get("name") == _SIDECAR_ADDRESS for _, entry in entries(container.get("env"))):
                    yield Finding(path, _UNUSED)


def _elastic_slices_end(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    elastic = [
        found for _, found in _proxies(resource) if found.get("--num_elastic_slices", (0, "0"))[1] != "0"
    ]
    for pods in _workers(resource) if elastic else ():
        for index, rule in entries(at(pods.job, "podFailurePolicy", "rules")):
            conditions = [entry.get("type") for _, entry in entries(rule.get("onPodConditions"))]
            if rule.get("action") == "FailJob" and "DisruptionTarget" in conditions:
                message = "a lost host fails its slice at once, though the proxy has slices to spare"
                yield Finding((*pods.job_path, "podFailurePolicy", "rules", index), message)


def _rule(ident: str, title: str, why: str, hint: str, check: Any, source: str = _CONTROLLER) -> Rule:
    return Rule(ident, "error", title, why, hint, _JOBSET, check, (source,))


RULES = (
    _rule(
        "PW101",
        "Pathways does not support the machine type",
        "The manager has no instance type for it (one-chip machines, v3): it never assembles the slices.",
        "use a -4t or -8t machine type of v4, v5e, v5p, v6e or tpu7x",
        _one_chip,
    ),
    Rule(
        id="PW102",
        severity="error",
        title="A variable is used before it is defined",
        why="Kubernetes expands $(NAME) only with variables that stand earlier in env, and in args with "
        "those of "
        "the container; otherwise the text stays, and the server connects to nowhere.",
        hint="define the variable first",
        kinds=frozenset({"JobSet", "Job", "Pod"}),
        check=_env_order,
        sources=("Kubernetes documentation, page Define Dependent Environment Variables", _SEED),
    ),
    _rule(
        "PW103",
        "Proxy or workers do not connect to the manager's port",
        "A worker or proxy that dials another port waits forever.",
        "write the same port in --server_port of the manager and in --resource_manager_address",
        _ports,
    ),
    _rule(
        "PW104",
        "The program does not connect to the proxy's port",
        "JAX waits for a backend that does not answer.",
        "write JAX_BACKEND_TARGET=grpc://$(PATHWAYS_HEAD):29000, with the port of the proxy",
        _backend,
    ),
    _rule(
        "PW105",
        "Servers of one pod use the same port",
        "Containers of a pod share its network: the second one cannot bind the port and restarts without "
        "end.",
        "give each server its own --server_port",
        _same_port,
        _SEED,
    ),
    _rule(
        "PW106",
        "The instance type is not that of the workers",
        "The manager waits for slices of another type or topology than the workers are.",
        "write --instance_type=<type>:<topology>; `slicewright catalog -o json` lists them",
        _instance_type,
    ),
    _rule(
        "PW107",
        "The instance count is not the number of slices",
        "The manager waits for slices that never report, or leaves some idle.",
        "write --instance_count as the replicas of the workers",
        _instance_count,
    ),
    _rule(
        "PW108",
        "Pods read the coordinator, and the JobSet has none",
        "JobSet sets the label only with spec.coordinator; without it the pods read an empty address.",
        "write spec.coordinator: {replicatedJob: pathways-head, jobIndex: 0, podIndex: 0}",
        _coordinator,
    ),
    _rule(
        "PW109",
        "A server beside a program is not a sidecar",
        "The head completes when all its containers do, and manager and proxy never exit: the chips stay "
        f"taken ({TPU}).",
        "move manager and proxy to initContainers with restartPolicy: Always",
        _never_ends,
    ),
    _rule(
        "PW110",
        "Success of the run is not that of the head",
        "Workers never exit: a JobSet that waits for them never completes, and holds its quota.",
        "write successPolicy with the head's replicatedJob as target",
        _success,
    ),
    Rule(
        id="PW132",
        severity="warning",
        title="The proxy does not use the colocated Python sidecars",
        why="Without the flag the proxy runs no Python beside the workers: the sidecars wait without work.",
        hint=f"write {SIDECAR_FLAG}=external in the args of the proxy",
        kinds=_JOBSET | {"PathwaysJob"},
        check=_unused_sidecar,
        sources=(
            "apple/axlearn@34aed43c: axlearn/cloud/gcp/pathways_utils.py#L632",
            "AI-Hypercomputer/pathways-utils@8950a34: .../shared_pathways_service/isc_pathways.py#L147",
        ),
    ),
    Rule(
        id="PW133",
        severity="warning",
        title="The loss of one elastic slice ends the others",
        why="A host that is drained or gone marks its pods as DisruptionTarget. FailJob on that condition "
        "fails the Job of the slice, and the JobSet then restarts or fails the head and all slices.",
        hint="write action: Ignore, or leave the rule out: the Job replaces the pods up to its backoffLimit",
        kinds=_JOBSET,
        check=_elastic_slices_end,
        sources=(
            "google/pathways-job v0.1.4: config/samples/elastic_training_example_pathwaysjob.yaml",
            f"{_CONTROLLER}#L712-L714",
        ),
    ),
    _rule(
        "PW111",
        "Manager, proxy and workers do not share the scratch location",
        "They exchange programs through it; with different places the workers do not find them.",
        "write the same --gcs_scratch_location everywhere",
        _scratch,
        _SEED,
    ),
)
