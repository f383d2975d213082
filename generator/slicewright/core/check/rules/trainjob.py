"""Rules of TrainJobs, their runtimes, and the jobs of the training operator before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.catalogue.geometry import joined
from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.tpu_shape import asks_for_tpu, is_placed_otherwise, shape, shapes
from slicewright.core.kubernetes.kinds import TRAINER_GROUP
from slicewright.core.kubernetes.labels import ACCELERATOR, TOPOLOGY, TPU
from slicewright.core.kubernetes.pods import Pods
from slicewright.core.kubernetes.quantity import amount
from slicewright.core.kubernetes.read import at, count, entries, mapping, number, text, texts
from slicewright.core.problem import counted, did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.problem import Path

_JOB = frozenset({"TrainJob"})
_RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")
_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_CONTAINER = {
    "trainer": "node",
    "dataset-initializer": "dataset-initializer",
    "model-initializer": "model-initializer",
}
"""The container that Trainer looks for, by the step of a replicatedJob."""
_SHIPPED = ("torch", "jax", "deepspeed", "mlx", "xgboost", "mpi", "flux")
"""What the names of the runtimes that Trainer installs begin with (manifests/base/runtimes)."""


@dataclass(frozen=True, slots=True)
class _Step:
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


def _steps(runtime: Resource) -> Iterator[_Step]:
    way = ("spec", "template", "spec", "replicatedJobs")
    for index, job in entries(at(runtime.data, *way)):
        labels = texts(at(job, "template", "metadata", "labels"))
        spec = mapping(at(job, "template", "spec", "template", "spec"))
        yield _Step(
            (*way, index), text(job.get("name")), labels.get(_ANCESTOR, ""), job.get("replicas"), spec
        )


def _reference(job: Resource) -> tuple[str, str]:
    reference = mapping(at(job.data, "spec", "runtimeRef"))
    return text(reference.get("kind")) or _RUNTIMES[0], text(reference.get("name"))


def _runtimes(job: Resource, objects: ObjectSet) -> list[Resource]:
    """Return the runtimes that a TrainJob may mean."""
    kind, name = _reference(job)
    namespace = "" if kind == _RUNTIMES[0] else job.namespace
    return list(objects.candidates(kind, name, namespace, job.file))


@rule("TRAIN101", _JOB)
def _runtime(resource: Resource, objects: ObjectSet) -> Findings:
    kind, name = _reference(resource)
    group = at(resource.data, "spec", "runtimeRef", "apiGroup")
    if kind not in _RUNTIMES:
        yield Finding(
            ("spec", "runtimeRef", "kind"),
            f"Trainer has no runtime of kind '{kind}'",
            did_you_mean(kind, _RUNTIMES),
        )
    elif group not in (None, TRAINER_GROUP):
        message = f"Trainer has no runtime of API group '{group}'"
        yield Finding(("spec", "runtimeRef", "apiGroup"), message, f"write {TRAINER_GROUP}")
    elif name and not _runtimes(resource, objects) and not name.startswith(_SHIPPED):
        known = {one.name: one.namespace for one in objects.of_kind(kind)}
        if known and (objects.is_cluster or not objects.has(kind, name, resource.namespace)):
            elsewhere = f"it is in namespace {known[name]}" if known.get(name) else ""
            message = f"{kind} '{name}' is not defined"
            yield Finding(("spec", "runtimeRef", "name"), message, elsewhere or did_you_mean(name, known))


def _overrides(job: Resource) -> Iterator[tuple[Path, str, dict[str, Any]]]:
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


@rule("TRAIN102", _JOB)
def _targets(resource: Resource, objects: ObjectSet) -> Findings:
    runtimes = [
        {step.name: step.containers() for step in _steps(one)} for one in _runtimes(resource, objects)
    ]
    for path, name, spec in _overrides(resource) if runtimes else ():
        if not any(name in steps for steps in runtimes):
            hint = did_you_mean(name, runtimes[0])
            yield Finding(path, f"the runtime has no replicatedJob '{name}'", hint)
            continue
        for key in ("containers", "initContainers"):
            for _, container in entries(spec.get(key)):
                held = text(container.get("name"))
                if not any(held in steps.get(name, ()) for steps in runtimes):
                    message = f"replicatedJob '{name}' of the runtime has no container '{held}'"
                    yield Finding(path, message, "name a container of the runtime")


def _nodes(job: Resource, runtime: Resource | None) -> Iterator[tuple[Pods, int]]:
    """Yield the pods that train, as the runtime and the TrainJob make them, and how many there are."""
    trainer = mapping(at(job.data, "spec", "trainer"))
    steps = [step for step in _steps(runtime) if step.ancestor == "trainer"] if runtime else []
    base = steps[0].spec if steps else {}
    if runtime is not None and not steps:
        return
    selector = texts(base.get("nodeSelector"))
    for _, name, spec in _overrides(job):
        if name == (steps[0].name if steps else "node"):
            selector |= texts(spec.get("nodeSelector"))
    containers = [entry for _, entry in entries(base.get("containers"))]
    own = trainer.get("resourcesPerNode")
    if isinstance(own, dict) and own:
        containers = [entry for entry in containers if entry.get("name") != "node"]
        containers.append({"name": "node", "resources": own})
    written = number(trainer.get("numNodes"))
    if written is None and runtime is not None:
        written = count(at(runtime.data, "spec", "mlPolicy", "numNodes"))
    if written is not None:
        spec = {**base, "nodeSelector": selector, "containers": containers}
        yield Pods((), {"spec": spec}, {}, (), {}), written


def _rows(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Pods, int, list[Shape]]]:
    """Yield pods and rows for each runtime that a TrainJob may mean; nothing where one asks for no slice."""
    runtimes: list[Resource | None] = [*_runtimes(resource, objects)]
    for runtime in runtimes or [None]:
        for pods, nodes in _nodes(resource, runtime):
            yield pods, nodes, shapes(pods, objects) if asks_for_tpu(pods) else []


@rule("TRAIN103", _JOB)
def _hosts(resource: Resource, objects: ObjectSet) -> Findings:
    found = list(_rows(resource, objects))
    picked = [(nodes, shape(pods, objects)) for pods, nodes, rows in found if rows]
    wrong = [(nodes, row) for nodes, row in picked if row and row.multi_host and nodes != row.hosts]
    if wrong and len(wrong) == len(found):
        nodes, row = wrong[0]
        trainer = mapping(at(resource.data, "spec", "trainer"))
        path = ("spec", "trainer", "numNodes") if "numNodes" in trainer else ("spec",)
        message = f"numNodes is {nodes}, and {row.topology} on {row.machine_type} has {row.hosts} hosts"
        yield Finding(path, message, f"write trainer.numNodes: {row.hosts}")


@rule("TRAIN104", _JOB)
def _chips(resource: Resource, objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "trainer", "resourcesPerNode") is None:
        return  # What the runtime says of its own is TPU105.
    found = list(_rows(resource, objects))
    wrong = [
        (pods, rows)
        for pods, _, rows in found
        if rows and pods.chips not in {row.chips_per_host for row in rows}
    ]
    if wrong and len(wrong) == len(found):
        pods, rows = wrong[0]
        each = f"a host of {rows[0].topology} on {rows[0].machine_type} has {rows[0].chips_per_host}"
        path = ("spec", "trainer", "resourcesPerNode")
        yield Finding(path, f"a node asks for {counted(pods.chips, 'chip')}, and {each}")


@rule("TRAIN105", _JOB)
def _limits(resource: Resource, _objects: ObjectSet) -> Findings:
    resources = mapping(at(resource.data, "spec", "trainer", "resourcesPerNode"))
    requests, limits = (at(resources, key, TPU) for key in ("requests", "limits"))
    if requests is not None and limits is not None and amount(requests) != amount(limits):
        path = ("spec", "trainer", "resourcesPerNode", "requests", TPU)
        yield Finding(path, f"a node requests {requests} of {TPU} with a limit of {limits}")


@rule("TRAIN106", _RUNTIMES)
def _ancestors(resource: Resource, _objects: ObjectSet) -> Findings:
    for step in _steps(resource):
        wanted = _CONTAINER.get(step.ancestor)
        if wanted is None:
            if nearest(step.ancestor, _CONTAINER):
                path = (*step.path, "template", "metadata", "labels", _ANCESTOR)
                message = f"Trainer has no step '{step.ancestor}'"
                yield Finding(path, message, did_you_mean(step.ancestor, _CONTAINER))
            continue
        if step.replicas not in (None, 1):
            message = f"replicatedJob '{step.name}' has {step.replicas} replicas, and Trainer takes 1"
            yield Finding((*step.path, "replicas"), message, "write replicas: 1, and mlPolicy.numNodes")
        if wanted not in [text(entry.get("name")) for _, entry in entries(step.spec.get("containers"))]:
            path = (*step.path, "template", "spec", "template", "spec")
            yield Finding(
                path, f"the {step.ancestor} has no container '{wanted}'", f"call a container '{wanted}'"
            )


@rule("TRAIN107", _JOB)
def _initializers(resource: Resource, objects: ObjectSet) -> Findings:
    runtimes = [{step.name for step in _steps(one)} for one in _runtimes(resource, objects)]
    for key in ("dataset", "model"):
        name = f"{key}-initializer"
        wanted = at(resource.data, "spec", "initializer", key) is not None
        if wanted and runtimes and not any(name in steps for steps in runtimes):
            message = f"the runtime has no replicatedJob '{name}'"
            yield Finding(("spec", "initializer", key), message, "name a runtime that has one")


_OPERATOR = {
    "JAXJob": ("jax", ("Worker",)),
    "PaddleJob": ("paddle", ("Master", "Worker")),
    "PyTorchJob": ("pytorch", ("Master", "Worker")),
    "TFJob": ("tensorflow", ("Chief", "Evaluator", "Master", "PS", "Worker")),
    "XGBoostJob": ("xgboost", ("Master", "Worker")),
}
"""By kind: the container that the training operator looks for, and the types of replicas."""


@rule("TRAIN108", _OPERATOR)
def _replica_types(resource: Resource, _objects: ObjectSet) -> Findings:
    wanted, types = _OPERATOR[resource.kind]
    for pods in resource.pods:
        kind = str(pods.path[-2])
        if kind not in types:
            yield Finding(
                pods.path[:-1], f"{resource.kind} has no replicas of type '{kind}'", did_you_mean(kind, types)
            )
        policy = at(resource.data, *map(str, pods.path[:-1]), "restartPolicy")
        if isinstance(policy, str) and policy not in _RESTARTS:
            message = f"'{policy}' is not a restartPolicy of replicas"
            yield Finding((*pods.path[:-1], "restartPolicy"), message, did_you_mean(policy, _RESTARTS))
        if wanted not in [text(container.get("name")) for _, container in pods.containers]:
            path = (*pods.spec_path, "containers") if pods.containers else pods.spec_path
            yield Finding(path, f"{kind} has no container '{wanted}'", f"call the container '{wanted}'")
        if kind == "Master" and resource.kind in ("PyTorchJob", "XGBoostJob") and pods.replicas != 1:
            yield Finding(pods.replicas_path, f"{pods.replicas} replicas of Master", "write replicas: 1")


@rule("TRAIN110", _JOB, "warning")
def _selectors(resource: Resource, objects: ObjectSet) -> Findings:
    for runtime in _runtimes(resource, objects):
        for pods, _ in _nodes(resource, runtime):
            missing = [key for key in (ACCELERATOR, TOPOLOGY) if key not in pods.selector]
            if asks_for_tpu(pods) and missing and not is_placed_otherwise(pods):
                yield Finding(("spec", "runtimeRef"), f"TPU nodes of the job select no {joined(missing)}")


_RESTARTS = ("Always", "ExitCode", "Never", "OnFailure")


@rule("TRAIN109", {*_OPERATOR, "MPIJob"})
def _replicas(resource: Resource, objects: ObjectSet) -> Findings:
    found: dict[tuple[str, str], tuple[Shape, list[Pods]]] = {}
    for pods in resource.pods:
        row = shape(pods, objects)
        if row is not None and row.multi_host and asks_for_tpu(pods):
            found.setdefault((row.machine_type, row.topology), (row, []))[1].append(pods)
    for row, together in found.values():
        replicas = sum(pods.count for pods in together)
        if replicas % row.hosts or not replicas:
            said = f"{row.topology} on {row.machine_type} has {row.hosts} hosts"
            path = together[-1].replicas_path
            where = path if path[-1] in mapping(at(resource.data, *map(str, path[:-1]))) else path[:-1]
            yield Finding(where, f"{counted(replicas, 'replica')} on TPUs, and {said}")
