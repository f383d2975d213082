"""Rules of PathwaysJob: what its controller needs and its CRD does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Check, Finding, Rule
from slicewright.core.kubernetes.read import at, entries, mapping, number, text
from slicewright.core.plan.names import room_in_pathwaysjob

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.problem import Path, Severity

_CONTROLLER = "google/pathways-job v0.1.4: internal/controller/pathwaysjob_controller.go"
_LIST = "pathways-job"
"""What the catalogue calls the list of topologies in PathwaysJob's controller."""


def _workers(resource: Resource) -> Iterator[tuple[int, dict[str, Any]]]:
    yield from entries(at(resource.data, "spec", "workers"))


def _name(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    room = room_in_pathwaysjob()
    if len(resource.name) > room.length:
        length = len(resource.name)
        message = f"name '{resource.name}' has {length} characters, {room.length} at most: {room.because}"
        yield Finding(("metadata", "name"), message)


def _topology(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    for index, worker in _workers(resource):
        machine, topology = text(worker.get("type")), text(worker.get("topology"))
        path: Path = ("spec", "workers", index, "topology")
        listed = [
            row.topology
            for row in objects.catalogue.rows()
            if row.machine_type == machine and _LIST in row.listed_by
        ]
        if listed and topology not in listed:
            yield Finding(path, f"the controller accepts no {topology or 'empty topology'} on {machine}")


def _none(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    if at(resource.data, "spec", "workers") == []:
        yield Finding(("spec", "workers"), "there are no workers")
    for index, worker in _workers(resource):
        slices = number(worker.get("numSlices"))
        if slices is not None and slices < 1:
            yield Finding(("spec", "workers", index, "numSlices"), f"numSlices is {slices}")


def _main(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    template = mapping(at(resource.data, "spec", "controller", "template"))
    names = [text(container.get("name")) for _, container in entries(at(template, "spec", "containers"))]
    main = at(resource.data, "spec", "controller", "mainContainerName") or "main"
    if names and main not in names:
        path: Path = ("spec", "controller", "template", "spec", "containers")
        message = f"no container is called '{main}': none of them learns where Pathways is"
        yield Finding(path, message)


def _dropped(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    metadata = at(resource.data, "spec", "controller", "template", "metadata")
    if mapping(metadata).get("labels") or mapping(metadata).get("annotations"):
        path: Path = ("spec", "controller", "template", "metadata")
        yield Finding(path, "the controller drops labels and annotations of the template")


def _head(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    controller = mapping(at(resource.data, "spec", "controller"))
    selector = at(controller, "template", "spec", "nodeSelector")
    mode = controller.get("deploymentMode")
    path: Path = ("spec", "controller", "template", "spec")
    if mode == "colocate_head_with_workers" and selector:
        yield Finding((*path, "nodeSelector"), "the node selector of a head beside the workers is replaced")
    elif mode == "default" and "template" in controller and not selector:
        message = "the head selects no nodes, and lands on any without TPUs"
        yield Finding(path, message, "write nodeSelector: {cloud.google.com/gke-nodepool: <CPU pool>}")


def _elastic(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    elastic = number(at(resource.data, "spec", "controller", "elasticSlices"), 0) or 0
    slices = sum(number(worker.get("numSlices"), 0) or 0 for _, worker in _workers(resource))
    if slices and elastic >= slices:
        path: Path = ("spec", "controller", "elasticSlices")
        yield Finding(path, f"{elastic} elastic slices of {slices} would leave none")


def _sidecar(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for index, component in entries(at(resource.data, "spec", "customComponents")):
        if component.get("componentType") == "colocated_python_sidecar":
            for key in ("customFlags", "customEnv"):
                if component.get(key):
                    path: Path = ("spec", "customComponents", index, key)
                    yield Finding(path, f"the controller ignores {key} of the sidecar")


def _rule(ident: str, severity: Severity, title: str, why: str, hint: str, check: Check) -> Rule:
    return Rule(ident, severity, title, why, hint, frozenset({"PathwaysJob"}), check, (_CONTROLLER,))


RULES = (
    _rule(
        "PW121",
        "error",
        "A PathwaysJob's name is too long for the coordinator's address",
        "Its controller makes a JobSet of that name, which the JobSet webhook refuses; nothing starts.",
        "shorten the name, or write a JobSet with a short subdomain",
        _name,
    ),
    _rule(
        "PW122",
        "error",
        "The controller does not know the topology",
        "The CRD takes any text; the controller sets terminalState: Failed for what its table does not have.",
        "run `slicewright catalog`, or write a JobSet",
        _topology,
    ),
    _rule(
        "PW123",
        "error",
        "A PathwaysJob has no worker with slices",
        "The CRD accepts an empty list and numbers below 1; the controller crashes or makes nothing.",
        "write one worker with numSlices of 1 or more",
        _none,
    ),
    _rule(
        "PW124",
        "warning",
        "mainContainerName does not name the container of the program",
        "Only that container gets PATHWAYS_HEAD and JAX_BACKEND_TARGET; any other runs without TPUs.",
        "call it main, or write controller.mainContainerName",
        _main,
    ),
    _rule(
        "PW125",
        "warning",
        "Labels or annotations of the head are not on the PathwaysJob",
        "The controller copies the spec of the template and drops its metadata, such as gke-gcsfuse/volumes.",
        "move them to metadata of the PathwaysJob, which reach the pods",
        _dropped,
    ),
    _rule(
        "PW126",
        "warning",
        "The head selects its nodes where that has no effect",
        "In default mode nothing but the template's nodeSelector places the head; beside the workers the "
        "controller replaces it.",
        "write a nodeSelector in default mode, and none with colocate_head_with_workers",
        _head,
    ),
    _rule(
        "PW127",
        "error",
        "Every slice is elastic, so none must stay",
        "With as many elastic slices as there are slices the proxy has nothing that must be there.",
        "write a number below numSlices",
        _elastic,
    ),
    _rule(
        "PW128",
        "warning",
        "The colocated sidecar has more than an image",
        "The controller reads neither flags nor environment for it.",
        "write a JobSet where the sidecar needs them",
        _sidecar,
    ),
)
