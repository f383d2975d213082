"""Rules of Pathways: head and workers of a JobSet, their flags and ports, and what PathwaysJob needs."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from slicewright.check.rules.failure_policies import is_of_disruptions
from slicewright.check.rules.jobset_names import domain_of
from slicewright.check.rules.multislice import stranger
from slicewright.check.rules.pods_ready import elastic_slices
from slicewright.check.rules.tpu_shape import MANAGER, is_colocated, is_pathways, shape, shapes
from slicewright.kubernetes.fields import at, entries, mapping, number, sequence, text, words
from slicewright.kubernetes.kinds import POD_KINDS
from slicewright.kubernetes.labels import COORDINATOR
from slicewright.kubernetes.name_room import room_in_pathwaysjob
from slicewright.kubernetes.pods import Pods, flags
from slicewright.kubernetes.problem import Path
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.pathways_plan import SIDECAR_FLAG

_JOBSET = frozenset({"JobSet"})
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_SERVER_PORT = "--server_port"
_MANAGER_ADDRESS = "--resource_manager_address"
_TARGET = "JAX_BACKEND_TARGET"
_INSTANCE_TYPE = "--instance_type"
_INSTANCE_COUNT = "--instance_count"
_CLIENT = frozenset({"JAX_PLATFORMS", _TARGET})
"""Variables by which JAX finds the proxy."""
_SIDECAR_ADDRESS = "GRPC_SERVER_ADDRESS"
"""Variable by which a colocated Python sidecar knows where to listen."""
RUNTIME = "/cloud-tpu-v2-images/pathways/"
"""The folder of the images of Pathways: one version is written for all of them."""
_RELEASE = re.compile(r"v?([0-9]+(?:\.[0-9]+)+)")
_UNUSED = f"nothing uses the colocated Python sidecar: proxy_server has no flag {SIDECAR_FLAG}"


def _all(pods: Pods) -> tuple[tuple[Path, dict[str, Any]], ...]:
    return pods.init_containers + pods.containers


def _managers(resource: Resource) -> Iterator[tuple[Pods, Path, dict[str, Any]]]:
    for pods in resource.pods:
        for path, container in _all(pods):
            if MANAGER in sequence(container.get("args")):
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


def _addresses(resource: Resource) -> Iterator[tuple[Pods, str, Path, str]]:
    """Yield (pods, flag or variable, its place, address) where parts of Pathways connect to others."""
    for pods in resource.pods:
        for path, container in _all(pods):
            index, address = flags(container).get(_MANAGER_ADDRESS, (0, ""))
            if address:
                yield pods, _MANAGER_ADDRESS, (*path, "args", index), address
            for index, entry in entries(container.get("env")):
                if entry.get("name") == _TARGET:
                    yield pods, _TARGET, (*path, "env", index, "value"), text(entry.get("value"))


@rule("PW103", _JOBSET)
def _ports(resource: Resource, _objects: ObjectSet) -> Findings:
    managers = (flags(container) for _, _, container in _managers(resource))
    served = {manager[_SERVER_PORT][1] for manager in managers if _SERVER_PORT in manager}
    if len(served) != 1:
        return
    for _, name, path, address in _addresses(resource):
        if name == _MANAGER_ADDRESS and address.rpartition(":")[2] not in served:
            message = f"{_MANAGER_ADDRESS} is {address}, but the manager serves port {min(served)}"
            yield Finding(path, message)


@rule("PW104", _JOBSET)
def _backend(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods, name, path, address in _addresses(resource):
        served = {proxy[_SERVER_PORT][1] for proxy in _proxies(_all(pods)) if _SERVER_PORT in proxy}
        if name == _TARGET and served and address.rpartition(":")[2] not in served:
            message = f"JAX_BACKEND_TARGET is {address}, but the proxy serves port {min(served)}"
            yield Finding(path, message)


@rule("PW151", _JOBSET)
def _elsewhere(resource: Resource, objects: ObjectSet) -> Findings:
    """Find addresses that name another pod than the one that serves the port."""
    if not any(_managers(resource)):
        return
    serving: dict[str, list[Pods]] = defaultdict(list)
    for pods in resource.pods:
        for _, container in _all(pods):
            serving[flags(container).get(_SERVER_PORT, (0, ""))[1]].append(pods)
    for pods, _, path, value in _addresses(resource):
        address = value.removeprefix("grpc://")
        name, _, port = address.rpartition(":")
        others, reason = serving[port] or [pods], ""
        if name not in ("localhost", "127.0.0.1"):
            reason = stranger(address, resource, objects, by_hand=False)
        elif not any(other is pods for other in others):
            reason = f"pods '{others[0].name}' serve the port"
        if reason:
            right = f"{resource.server_name}-{others[0].name}-0-0.{domain_of(resource)}"
            yield Finding(
                path, f"the address is {address}, but {reason}", f"write {right} in place of {name}"
            )


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
    slices = sum(pods.replicas for pods in _workers(resource))
    for _, path, container in _managers(resource):
        index, value = flags(container).get(_INSTANCE_COUNT, (0, ""))
        if slices and value.isascii() and value.isdigit() and value.lstrip("0") != str(slices):
            message = f"instance count is {value}, but the number of slices is {slices}"
            yield Finding((*path, "args", index), message, f"write {_INSTANCE_COUNT}={slices}")


@rule("PW108", _JOBSET)
def _coordinator(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "coordinator") is not None:
        return
    for pods in resource.pods:
        if COORDINATOR not in pods.labels | pods.annotations:
            for path, container in _all(pods):
                for index, entry in entries(container.get("env")):
                    if COORDINATOR in text(at(entry, "valueFrom", "fieldRef", "fieldPath")):
                        message = f"the label {COORDINATOR} is empty: the JobSet has no coordinator"
                        yield Finding((*path, "env", index), message)
                        return


@rule("PW109", _JOBSET)
def _never_ends(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods, _, manager in _managers(resource):
        has_program = any(
            _SERVER_PORT not in flags(container) and container is not manager
            for _, container in pods.containers
        )
        if has_program:
            for path, container in pods.containers:
                if _SERVER_PORT in flags(container):
                    message = f"container '{container.get('name')}' never exits, "
                    yield Finding((*path, "name"), f"{message}but the program in the same pod does")
        for path, container in pods.init_containers:
            if _SERVER_PORT in flags(container) and container.get("restartPolicy") != "Always":
                message = f"init container '{container.get('name')}' never exits, so nothing after it starts"
                hint = "write restartPolicy: Always, which makes it a sidecar"
                yield Finding(path, message, hint)


@rule("PW110", _JOBSET)
def _success(resource: Resource, _objects: ObjectSet) -> Findings:
    heads = [
        pods.name
        for pods, _, manager in _managers(resource)
        if any(_SERVER_PORT not in flags(container) for _, container in pods.containers)
    ]
    if not heads or not is_pathways(resource):
        return
    targets = sequence(at(resource.data, "spec", "successPolicy", "targetReplicatedJobs"))
    if targets != heads:
        path = ("spec", "successPolicy") if at(resource.data, "spec", "successPolicy") else ("spec",)
        hint = f"write successPolicy: {{operator: All, targetReplicatedJobs: [{heads[0]}]}}"
        yield Finding(path, "the JobSet waits for workers, which never exit", hint)


@rule("PW111", _JOBSET)
def _scratch(resource: Resource, _objects: ObjectSet) -> Findings:
    first = name = ""
    for path, container in (place for pods in resource.pods for place in _all(pods)):
        index, value = flags(container).get("--gcs_scratch_location", (0, ""))
        if first and value not in ("", first):
            message = f"--gcs_scratch_location is {value} here, but {first} in container '{name}'"
            yield Finding((*path, "args", index), message)
        elif value:
            first, name = value, text(container.get("name"))


def _proxies(containers: Iterable[tuple[Path, dict[str, Any]]]) -> Iterator[dict[str, tuple[int, str]]]:
    """Yield the flags of the proxies."""
    for _, container in containers:
        own = flags(container) if "proxy" in text(container.get("image")) else {}
        if _MANAGER_ADDRESS in own:
            yield own


@rule("PW132", _JOBSET | {"PathwaysJob"}, "warning")
def _unused_sidecar(resource: Resource, _objects: ObjectSet) -> Findings:
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
    proxies = list(_proxies(resource.containers))
    if proxies and not any(SIDECAR_FLAG in proxy for proxy in proxies):
        for path, container in resource.containers:
            if any(entry.get("name") == _SIDECAR_ADDRESS for _, entry in entries(container.get("env"))):
                yield Finding(path, _UNUSED)


@rule("PW133", _JOBSET, "warning")
def _elastic_slices_end(resource: Resource, _objects: ObjectSet) -> Findings:
    if elastic_slices(resource):
        for pods in _workers(resource):
            for index, policy in entries(at(pods.job, "podFailurePolicy", "rules")):
                if policy.get("action") == "FailJob" and is_of_disruptions(policy):
                    message = "a lost host fails its slice immediately, although the slice is elastic"
                    yield Finding((*pods.job_path, "podFailurePolicy", "rules", index), message)


@rule("PW135", POD_KINDS)
def image_tags(resource: Resource, _objects: ObjectSet) -> Findings:
    """Find tags that are a bare number: Google names the images after a version of JAX, `jax-0.9.2`."""
    tags: dict[str, Path] = {}
    images = [((*path, "image"), container.get("image")) for path, container in resource.containers]
    if resource.kind == "PathwaysJob":
        tags[text(at(resource.data, "spec", "pathwaysVersion"))] = ("spec", "pathwaysVersion")
        for index, entry in entries(at(resource.data, "spec", "customComponents")):
            images.append((("spec", "customComponents", index, "image"), entry.get("image")))
    for path, image in images:
        if RUNTIME in text(image):
            tags.setdefault(text(image).rpartition("/")[2].partition(":")[2], path)
    for tag, path in tags.items():
        if release := _RELEASE.fullmatch(tag):
            yield Finding(path, f"the images of Pathways have no tag '{tag}'", f"write jax-{release[1]}")


_LIST = "pathways-job"
"""What the catalogue calls the list of topologies in PathwaysJob's controller."""


@rule("PW121", {"PathwaysJob"})
def _name(resource: Resource, _objects: ObjectSet) -> Findings:
    room = room_in_pathwaysjob()
    if len(resource.name) > room.length:
        message = f"name '{resource.name}' has {len(resource.name)} characters; the limit is {room.length}"
        yield Finding(("metadata", "name"), f"{message}: {room.because}")


@rule("PW122", {"PathwaysJob"})
def _pathwaysjob_topology(resource: Resource, objects: ObjectSet) -> Findings:
    for index, worker in entries(at(resource.data, "spec", "workers")):
        machine, topology = text(worker.get("type")), text(worker.get("topology"))
        path = ("spec", "workers", index, "topology")
        rows = [row for row in objects.catalogue.rows() if row.machine_type == machine]
        listed = [row.topology for row in rows if _LIST in row.listed_by]
        if listed and topology not in listed:
            yield Finding(path, f"the controller does not accept {topology or 'empty topology'} on {machine}")


@rule("PW123", {"PathwaysJob"})
def _none(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "workers") == []:
        yield Finding(("spec", "workers"), "the list of workers is empty")
    for index, worker in entries(at(resource.data, "spec", "workers")):
        slices = number(worker.get("numSlices"))
        if slices is not None and slices < 1:
            yield Finding(
                ("spec", "workers", index, "numSlices"), f"numSlices is {slices}, but must be 1 or more"
            )


@rule("PW124", {"PathwaysJob"}, "warning")
def _main(resource: Resource, _objects: ObjectSet) -> Findings:
    template = mapping(at(resource.data, "spec", "controller", "template"))
    containers = [container for _, container in entries(at(template, "spec", "containers"))]
    names = [text(container.get("name")) for container in containers]
    main = at(resource.data, "spec", "controller", "mainContainerName") or "main"
    given = [{entry.get("name") for _, entry in entries(container.get("env"))} for container in containers]
    if names and main not in names and not any(own >= _CLIENT for own in given):
        path = ("spec", "controller", "template", "spec", "containers")
        yield Finding(path, f"no container is named '{main}', so none gets the address of Pathways")


@rule("PW125", {"PathwaysJob"}, "warning")
def _dropped(resource: Resource, _objects: ObjectSet) -> Findings:
    path = ("spec", "controller", "template", "metadata")
    if at(resource.data, *path, "labels") or at(resource.data, *path, "annotations"):
        yield Finding(path, "the controller drops labels and annotations of the template")


@rule("PW126", {"PathwaysJob"}, "warning")
def _head(resource: Resource, _objects: ObjectSet) -> Findings:
    path = ("spec", "controller", "template", "spec", "nodeSelector")
    if is_colocated(resource) and at(resource.data, *path):
        yield Finding(path, "the controller replaces the node selector of a head that runs with the workers")


@rule("PW127", {"PathwaysJob"})
def _elastic(resource: Resource, _objects: ObjectSet) -> Findings:
    elastic = number(at(resource.data, "spec", "controller", "elasticSlices"), 0) or 0
    workers = entries(at(resource.data, "spec", "workers"))
    slices = sum(number(worker.get("numSlices")) or 0 for _, worker in workers)
    path = ("spec", "controller", "elasticSlices")
    if elastic < 0:
        yield Finding(path, f"elasticSlices is {elastic}, but must be 0 or more", "write 0 or more")
    if slices and elastic > slices:
        yield Finding(path, f"elasticSlices is {elastic}, but must be at most numSlices ({slices})")


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
