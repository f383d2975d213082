"""Rules of PathwaysJob: what its controller needs and its CRD does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.kubernetes.read import at, entries, mapping, number, text
from slicewright.core.plan.names import room_in_pathwaysjob

if TYPE_CHECKING:
    from collections.abc import Iterator


_LIST = "pathways-job"
"""What the catalogue calls the list of topologies in PathwaysJob's controller."""


def _workers(resource: Resource) -> Iterator[tuple[int, dict[str, Any]]]:
    yield from entries(at(resource.data, "spec", "workers"))


@rule("PW121", {"PathwaysJob"})
def _name(resource: Resource, _objects: ObjectSet) -> Findings:
    room = room_in_pathwaysjob()
    if len(resource.name) > room.length:
        length = len(resource.name)
        message = f"name '{resource.name}' has {length} characters, {room.length} at most: {room.because}"
        yield Finding(("metadata", "name"), message)


@rule("PW122", {"PathwaysJob"})
def _topology(resource: Resource, objects: ObjectSet) -> Findings:
    for index, worker in _workers(resource):
        machine, topology = text(worker.get("type")), text(worker.get("topology"))
        path = ("spec", "workers", index, "topology")
        listed = [
            row.topology
            for row in objects.catalogue.rows()
            if row.machine_type == machine and _LIST in row.listed_by
        ]
        if listed and topology not in listed:
            yield Finding(path, f"the controller accepts no {topology or 'empty topology'} on {machine}")


@rule("PW123", {"PathwaysJob"})
def _none(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "workers") == []:
        yield Finding(("spec", "workers"), "there are no workers")
    for index, worker in _workers(resource):
        slices = number(worker.get("numSlices"))
        if slices is not None and slices < 1:
            yield Finding(("spec", "workers", index, "numSlices"), f"numSlices is {slices}")


@rule("PW124", {"PathwaysJob"}, "warning")
def _main(resource: Resource, _objects: ObjectSet) -> Findings:
    template = mapping(at(resource.data, "spec", "controller", "template"))
    names = [text(container.get("name")) for _, container in entries(at(template, "spec", "containers"))]
    main = at(resource.data, "spec", "controller", "mainContainerName") or "main"
    if names and main not in names:
        path = ("spec", "controller", "template", "spec", "containers")
        message = f"no container is called '{main}', so none gets the address of Pathways"
        yield Finding(path, message)


@rule("PW125", {"PathwaysJob"}, "warning")
def _dropped(resource: Resource, _objects: ObjectSet) -> Findings:
    metadata = at(resource.data, "spec", "controller", "template", "metadata")
    if mapping(metadata).get("labels") or mapping(metadata).get("annotations"):
        path = ("spec", "controller", "template", "metadata")
        yield Finding(path, "the controller drops labels and annotations of the template")


@rule("PW126", {"PathwaysJob"}, "warning")
def _head(resource: Resource, _objects: ObjectSet) -> Findings:
    controller = mapping(at(resource.data, "spec", "controller"))
    selector = at(controller, "template", "spec", "nodeSelector")
    mode = controller.get("deploymentMode")
    path = ("spec", "controller", "template", "spec")
    if mode == "colocate_head_with_workers" and selector:
        yield Finding((*path, "nodeSelector"), "the node selector of a head beside the workers is replaced")
    elif mode == "default" and "template" in controller and not selector:
        message = "the head has no node selector, so it runs on any node without TPUs"
        yield Finding(path, message, "write nodeSelector: {cloud.google.com/gke-nodepool: <CPU pool>}")


@rule("PW127", {"PathwaysJob"})
def _elastic(resource: Resource, _objects: ObjectSet) -> Findings:
    elastic = number(at(resource.data, "spec", "controller", "elasticSlices"), 0) or 0
    slices = sum(number(worker.get("numSlices"), 0) or 0 for _, worker in _workers(resource))
    if slices and elastic >= slices:
        path = ("spec", "controller", "elasticSlices")
        yield Finding(path, f"{elastic} elastic slices of {slices} leave no required slice")


@rule("PW128", {"PathwaysJob"}, "warning")
def _sidecar(resource: Resource, _objects: ObjectSet) -> Findings:
    for index, component in entries(at(resource.data, "spec", "customComponents")):
        if component.get("componentType") == "colocated_python_sidecar":
            for key in ("customFlags", "customEnv"):
                if component.get(key):
                    path = ("spec", "customComponents", index, key)
                    yield Finding(path, f"the controller ignores {key} of the sidecar")
