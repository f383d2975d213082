"""What MultiKueue refuses or never dispatches: kubeconfigs, checks of queues, runs that it manages."""

from __future__ import annotations

from posixpath import normpath
from typing import TYPE_CHECKING

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.kubernetes.kinds import KUEUE_GROUP, RUN_KINDS
from slicewright.core.kubernetes.labels import MULTIKUEUE_CONTROLLER, PROVISIONING_CONTROLLER, QUEUE
from slicewright.core.kubernetes.read import at, entries, mapping, sequence, text, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.problem import Path

_NAMESPACE = "kueue-system"
_FOLDER = "/etc/multikueue/kubeconfigs/"
_KEY = "kubeconfig"
"""The key of the Secret that holds the kubeconfig."""


def _kubeconfig(resource: Resource) -> tuple[Path, dict[str, object]]:
    way = ("spec", "kubeConfig") if resource.version == "v1beta1" else ("spec", "clusterSource", "kubeConfig")
    return way, mapping(at(resource.data, *way))


@rule("MK101", {"MultiKueueCluster"}, "warning")
def _path(resource: Resource, _objects: ObjectSet) -> Findings:
    way, config = _kubeconfig(resource)
    location = text(config.get("location"))
    if config.get("locationType") == "Path" and not normpath(location).startswith(_FOLDER):
        yield Finding((*way, "location"), f"path '{location}' is not below {_FOLDER}")


@rule("MK102", {"MultiKueueCluster"})
def _secret(resource: Resource, objects: ObjectSet) -> Findings:
    way, config = _kubeconfig(resource)
    name = text(config.get("location"))
    if config.get("locationType") == "Path" or not name:
        return
    path = (*way, "location")
    if "/" in name:
        hint = "write locationType: Path, or the name of a Secret"
        yield Finding(path, f"'{name}' is a path, and locationType is Secret", hint)
    secrets = [one for one in objects.of_kind("Secret") if one.name == name]
    if secrets and not any(_holds_kubeconfig(one) for one in secrets):
        yield Finding(path, f"Secret '{name}' has no key '{_KEY}'")


def _holds_kubeconfig(secret: Resource) -> bool:
    """Tell whether a Secret has the key, or leaves its data to somebody else."""
    held = {**mapping(secret.data.get("data")), **mapping(secret.data.get("stringData"))}
    return _KEY in held or not held


@rule("MK103", {"MultiKueueCluster"}, "warning")
def _namespace(resource: Resource, objects: ObjectSet) -> Findings:
    way, config = _kubeconfig(resource)
    found = [one.namespace for one in objects.of_kind("Secret") if one.name == config.get("location")]
    if found and all(found) and _NAMESPACE not in found and config.get("locationType") != "Path":
        message = f"Secret '{config['location']}' is in namespace '{found[0]}', not in {_NAMESPACE}"
        yield Finding((*way, "location"), message)


@rule("MK105", {"AdmissionCheck"})
def _parameters(resource: Resource, _objects: ObjectSet) -> Findings:
    parameters = at(resource.data, "spec", "parameters")
    controller = at(resource.data, "spec", "controllerName")
    if controller != MULTIKUEUE_CONTROLLER:
        if at(parameters, "kind") == "MultiKueueConfig":
            message = f"a MultiKueueConfig is not read by controller '{controller}'"
            hint = f"write controllerName: {MULTIKUEUE_CONTROLLER}"
            yield Finding(("spec", "controllerName"), message, hint)
        return
    if at(parameters, "kind") != "MultiKueueConfig" or at(parameters, "apiGroup") != KUEUE_GROUP:
        path = ("spec", "parameters") if parameters is not None else ("spec",)
        yield Finding(path, "the MultiKueue check has no MultiKueueConfig as parameters")


def _checks(queue: Resource) -> Iterator[tuple[Path, str, list[object]]]:
    """Yield path, name and flavors (none: all) of the admission checks of a ClusterQueue."""
    for index, name in words(at(queue.data, "spec", "admissionChecks")):
        yield ("spec", "admissionChecks", index), name, []
    way = ("spec", "admissionChecksStrategy", "admissionChecks")
    for index, check in entries(at(queue.data, *way)):
        yield (*way, index), text(check.get("name")), sequence(check.get("onFlavors"))


def _controllers(objects: ObjectSet) -> dict[str, set[str]]:
    """Return the controllers of all checks of a name."""
    found: dict[str, set[str]] = {}
    for check in objects.of_kind("AdmissionCheck"):
        found.setdefault(check.name, set()).add(text(at(check.data, "spec", "controllerName")))
    return found


@rule("MK106", {"ClusterQueue"})
def _queue(resource: Resource, objects: ObjectSet) -> Findings:
    controllers = objects.once("controllers of admission checks", _controllers)
    of_queue = [(path, name, flavors, controllers.get(name)) for path, name, flavors in _checks(resource)]
    remote = [entry for entry in of_queue if entry[3] == {MULTIKUEUE_CONTROLLER}]
    own = {
        text(flavor.get("name"))
        for _, group in entries(at(resource.data, "spec", "resourceGroups"))
        for _, flavor in entries(group.get("flavors"))
    }
    for path, name, flavors, _ in remote:
        if flavors and set(map(str, flavors)) < own:
            message = f"MultiKueue check '{name}' is for some flavors of the queue only"
            yield Finding((*path, "onFlavors"), message, "leave onFlavors out")
    for path, name, _, _ in remote[1:]:
        yield Finding(
            path, f"'{name}' is a second MultiKueue check of the queue", "name all clusters in one check"
        )
    if remote:
        for path, name, _, named in of_queue:
            if named == {PROVISIONING_CONTROLLER}:
                hint = "give the check to the queues of the worker clusters"
                yield Finding(path, f"provisioning check '{name}' is beside a MultiKueue check", hint)


@rule("MK107", RUN_KINDS)
def _managed(resource: Resource, objects: ObjectSet) -> Findings:
    queue = resource.labels.get(QUEUE)
    if at(resource.data, "spec", "managedBy") != MULTIKUEUE_CONTROLLER or queue is None:
        return
    controllers = objects.once("controllers of admission checks", _controllers)
    places = [
        (local.file, text(at(local.data, "spec", "clusterQueue")))
        for local in objects.candidates("LocalQueue", queue, resource.namespace, resource.file)
    ]
    queues = [one for file, name in places for one in objects.candidates("ClusterQueue", name, near=file)]
    if queues and not any(
        MULTIKUEUE_CONTROLLER in controllers.get(check, {MULTIKUEUE_CONTROLLER})
        for one in queues
        for _, check, _ in _checks(one)
    ):
        lacks = f"ClusterQueue '{queues[0].name}' has no MultiKueue check"
        message = f"managedBy is {MULTIKUEUE_CONTROLLER}, and {lacks}"
        yield Finding(("spec", "managedBy"), message)
