"""TrainJobs and their runtimes: which pods they make together."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.fields import at, count, entries, mapping, number, text, texts
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path
from slicewright.objects import ObjectSet, Resource

RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"


class Step(Struct, frozen=True):
    """A replicatedJob of a runtime."""

    path: Path
    name: str
    ancestor: str
    replicas: Any
    spec: dict[str, Any]
    """The spec of its pods."""

    def containers(self) -> list[str]:
        """Return the names of its containers, init containers too."""
        keys = ("containers", "initContainers")
        return [text(entry.get("name")) for key in keys for _, entry in entries(self.spec.get(key))]


def steps_of(runtime: Resource) -> Iterator[Step]:
    """Yield the replicatedJobs of a runtime."""
    way = ("spec", "template", "spec", "replicatedJobs")
    for index, job in entries(at(runtime.data, *way)):
        labels = texts(at(job, "template", "metadata", "labels"))
        spec = mapping(at(job, "template", "spec", "template", "spec"))
        yield Step((*way, index), text(job.get("name")), labels.get(ANCESTOR, ""), job.get("replicas"), spec)


def reference_of(job: Resource) -> tuple[str, str]:
    """Return kind and name of the runtime that a TrainJob names."""
    reference = mapping(at(job.data, "spec", "runtimeRef"))
    return text(reference.get("kind")) or RUNTIMES[0], text(reference.get("name"))


def runtimes_of(job: Resource, objects: ObjectSet) -> list[Resource]:
    """Return the runtimes that a TrainJob may mean."""
    kind, name = reference_of(job)
    namespace = "" if kind == RUNTIMES[0] else job.namespace
    return list(objects.candidates(kind, name, namespace, job.file))


def overrides_of(job: Resource) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Yield what a TrainJob changes of a runtime: path, name of the replicatedJob, spec of its pods."""
    for index, entry in entries(at(job.data, "spec", "podTemplateOverrides")):
        base: Path = ("spec", "podTemplateOverrides", index)
        for number_, target in entries(entry.get("targetJobs")):
            path = (*base, "targetJobs", number_, "name")
            yield path, text(target.get("name")), mapping(entry.get("spec"))
    way = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
    for index, entry in entries(at(job.data, "spec", "runtimePatches")):
        for number_, target in entries(at(entry, *way)):
            path = ("spec", "runtimePatches", index, *way, number_, "name")
            yield path, text(target.get("name")), mapping(at(target, "template", "spec", "template", "spec"))


def nodes_of(job: Resource, runtime: Resource | None) -> Iterator[Pods]:
    """Yield the pods that train, as the runtime and the TrainJob make them."""
    trainer = mapping(at(job.data, "spec", "trainer"))
    steps = [step for step in steps_of(runtime) if step.ancestor == "trainer"] if runtime else []
    base = steps[0].spec if steps else {}
    if runtime is not None and not steps:
        return
    selector = texts(base.get("nodeSelector"))
    tolerations = [entry for _, entry in entries(base.get("tolerations"))]
    own_name = steps[0].name if steps else "node"
    for _, name, spec in overrides_of(job):
        if name == own_name:
            selector |= texts(spec.get("nodeSelector"))
            tolerations += (entry for _, entry in entries(spec.get("tolerations")))
    containers = [entry for _, entry in entries(base.get("containers"))]
    own = trainer.get("resourcesPerNode")
    if isinstance(own, dict) and own:
        containers = [entry for entry in containers if entry.get("name") != "node"]
        containers.append({"name": "node", "resources": own})
    nodes = number(trainer.get("numNodes"))
    if nodes is None and runtime is not None:
        nodes = count(at(runtime.data, "spec", "mlPolicy", "numNodes"))
    if nodes is not None:
        spec = {**base, "nodeSelector": selector, "tolerations": tolerations, "containers": containers}
        yield Pods((), {"spec": spec}, {}, (), {}, own_name, nodes)
