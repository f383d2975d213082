"""Rules of TrainJobs, their runtimes, and the jobs of the training operator before them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slicewright.core.catalogue.geometry import joined
from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.dns import against_dns1035
from slicewright.core.check.rules.limits import against, needed, number_from, table, unlike_limits
from slicewright.core.check.rules.tpu_shape import is_placed_otherwise, is_set_up, shape, shapes, slices
from slicewright.core.check.training import (
    ANCESTOR,
    RUNTIMES,
    nodes_of,
    overrides_of,
    reference_of,
    runtimes_of,
    steps_of,
)
from slicewright.core.kubernetes.kinds import TRAINER_GROUP
from slicewright.core.kubernetes.labels import ACCELERATOR, TOPOLOGY
from slicewright.core.kubernetes.read import at, entries, mapping, number, text
from slicewright.core.mend import edits
from slicewright.core.problem import counted, did_you_mean, nearest, only_near

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.kubernetes.pods import Pods

_JOB = frozenset({"TrainJob"})
_CONTAINER = {
    "trainer": "node",
    "dataset-initializer": "dataset-initializer",
    "model-initializer": "model-initializer",
}
"""The container that Trainer looks for, by the step of a replicatedJob."""
_SHIPPED = (
    *("deepspeed-distributed", "jax-distributed", "mlx-distributed", "torch-distributed"),
    *("torch-distributed-with-cache", "xgboost-distributed"),
)
"""The names of the runtimes that Trainer installs (manifests/base/runtimes), but those of models."""
_LIKE_SHIPPED = re.compile(r"[a-z]+-distributed(-with-cache)?|torchtune-.+")
"""Names that a release of Trainer may install."""


@rule("TRAIN101", _JOB)
def _runtime(resource: Resource, objects: ObjectSet) -> Findings:
    kind, name = reference_of(resource)
    group = at(resource.data, "spec", "runtimeRef", "apiGroup")
    if kind not in RUNTIMES:
        yield Finding(
            ("spec", "runtimeRef", "kind"),
            f"Trainer has no runtime of kind '{kind}'",
            did_you_mean(kind, RUNTIMES),
        )
    elif group not in (None, TRAINER_GROUP):
        message = f"Trainer has no runtime of API group '{group}'"
        yield Finding(("spec", "runtimeRef", "apiGroup"), message, f"write {TRAINER_GROUP}")
    elif name and kind == "ClusterTrainingRuntime" and (meant := _meant_runtime(name, objects)):
        message = f"Trainer has no runtime '{name}', and {kind} '{name}' is not defined"
        yield Finding(("spec", "runtimeRef", "name"), message, f"did you mean '{meant}'?")
    elif name and not runtimes_of(resource, objects) and not _LIKE_SHIPPED.fullmatch(name):
        known = {one.name: one.namespace for one in objects.of_kind(kind)}
        is_lost = objects.lost(kind, name, resource.namespace)
        if is_lost or (known and (objects.is_cluster or not objects.has(kind, name, resource.namespace))):
            elsewhere = f"it is in namespace {known[name]}" if known.get(name) else ""
            message = f"{kind} '{name}' is not defined"
            hint = elsewhere or did_you_mean(name, known)
            is_certain = objects.misses(kind, name, resource)
            yield Finding(("spec", "runtimeRef", "name"), message, hint, is_certain=is_certain)


def _meant_runtime(name: str, objects: ObjectSet) -> str:
    """Return the runtime of Trainer that a misspelt name means, empty for other names."""
    meant, is_sure = only_near(name, _SHIPPED)
    is_own = name in _SHIPPED or objects.has("ClusterTrainingRuntime", name) or re.search("[0-9]", name)
    return meant if is_sure and not is_own else ""


@rule("TRAIN102", _JOB)
def _targets(resource: Resource, objects: ObjectSet) -> Findings:
    runtimes = [
        {step.name: step.containers() for step in steps_of(one)} for one in runtimes_of(resource, objects)
    ]
    for path, name, spec in overrides_of(resource) if runtimes else ():
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


def _rows(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Pods, int, list[Shape]]]:
    """Yield pods and rows for each runtime that a TrainJob may mean; nothing where one asks for no slice."""
    runtimes: list[Resource | None] = [*runtimes_of(resource, objects)]
    for runtime in runtimes or [None]:
        for pods in nodes_of(resource, runtime):
            yield pods, pods.replicas, shapes(pods, objects) if pods.asks_for_tpu else []


@rule("TRAIN103", _JOB)
def _hosts(resource: Resource, objects: ObjectSet) -> Findings:
    found = list(_rows(resource, objects))
    picked = [(nodes, shape(pods, objects)) for pods, nodes, rows in found if rows]
    wrong = [(nodes, row) for nodes, row in picked if row and row.multi_host and nodes != row.hosts]
    wrong = [] if any(is_set_up(pods) for pods, _, _ in found) else wrong
    if wrong and len(wrong) == len(found):
        nodes, row = wrong[0]
        trainer = mapping(at(resource.data, "spec", "trainer"))
        path = ("spec", "trainer", "numNodes") if "numNodes" in trainer else ("spec",)
        message = f"numNodes is {nodes}, and {row.topology} on {row.machine_type} has {row.hosts} hosts"
        fix = edits.write(resource.data, {("spec", "trainer", "numNodes"): row.hosts})
        yield Finding(path, message, f"write trainer.numNodes: {row.hosts}", fix)


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
    for name, limit in unlike_limits(resources):
        way, written = ("spec", "trainer", "resourcesPerNode"), resources["requests"][name]
        message = f"a node requests {written} of {name} with {limit}"
        fix = edits.write(resource.data, {(*way, "limits", name): written}, safe=False)
        yield Finding((*way, "requests", name), message, fix=fix)


@rule("TRAIN111", (*_JOB, *RUNTIMES))
def _numbers(resource: Resource, _objects: ObjectSet) -> Findings:
    path = ("spec", "trainer" if resource.kind in _JOB else "mlPolicy", "numNodes")
    nodes = number(at(resource.data, *path))
    if nodes is not None and nodes < 1:
        yield Finding(path, f"numNodes is {nodes}, and must be 1 or more")


@rule("TRAIN112", RUNTIMES)
def _order(resource: Resource, _objects: ObjectSet) -> Findings:
    earlier: list[str] = []
    way = ("spec", "template", "spec", "replicatedJobs")
    for index, job in entries(at(resource.data, *way)):
        for place, entry in entries(job.get("dependsOn")):
            name = text(entry.get("name"))
            if name not in earlier:
                message = f"no earlier replicatedJob has the name '{name}'"
                yield Finding((*way, index, "dependsOn", place, "name"), message, did_you_mean(name, earlier))
        earlier.append(text(job.get("name")))


@rule("TRAIN114", RUNTIMES)
def _job_names(resource: Resource, _objects: ObjectSet) -> Findings:
    for step in steps_of(resource):
        # JobSet puts its own name before it, so it may begin with a digit.
        if step.name and (said := against_dns1035(f"a-{step.name}-0")):
            yield Finding((*step.path, "name"), f"the name '{step.name}' of a replicatedJob {said}")


@rule("TRAIN106", RUNTIMES)
def _ancestors(resource: Resource, _objects: ObjectSet) -> Findings:
    for step in steps_of(resource):
        wanted = _CONTAINER.get(step.ancestor)
        if wanted is None:
            if nearest(step.ancestor, _CONTAINER):
                path = (*step.path, "template", "metadata", "labels", ANCESTOR)
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
    runtimes = [{step.name for step in steps_of(one)} for one in runtimes_of(resource, objects)]
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
    # The webhook of TFJobs alone leaves the types to the operator, which takes them in any case.
    takes = {name.lower() for name in types} if resource.kind == "TFJob" else set(types)
    for pods in resource.pods:
        kind = str(pods.path[-2])
        if (kind.lower() if resource.kind == "TFJob" else kind) not in takes:
            yield Finding(
                pods.path[:-1], f"{resource.kind} has no replicas of type '{kind}'", did_you_mean(kind, types)
            )
        policy = at(resource.data, *pods.path[:-1], "restartPolicy")
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
    for runtime in runtimes_of(resource, objects):
        for pods in nodes_of(resource, runtime):
            missing = [key for key in (ACCELERATOR, TOPOLOGY) if key not in pods.selector]
            if pods.asks_for_tpu and missing and not is_placed_otherwise(pods):
                yield Finding(("spec", "runtimeRef"), f"TPU nodes of the job select no {joined(missing)}")


_RESTARTS = ("Always", "ExitCode", "Never", "OnFailure")


@rule("TRAIN109", {*_OPERATOR, "MPIJob"})
def _replicas(resource: Resource, objects: ObjectSet) -> Findings:
    for row, hosts in slices(resource, objects):
        replicas = sum(pods.count for pods in hosts)
        if replicas % row.hosts or not replicas:
            message = f"{counted(replicas, 'replica')} on TPUs, and {row.topology} on {row.machine_type} has"
            path = hosts[-1].replicas_path
            where = path if path[-1] in mapping(at(resource.data, *path[:-1])) else path[:-1]
            yield Finding(where, f"{message} {row.hosts} hosts")


_MPI_TYPES, _MPI_RESTARTS = ("Launcher", "Worker"), ("Never", "OnFailure")
_MPI = table(
    {
        "spec.mpiReplicaSpecs.Launcher": needed,
        "spec.mpiReplicaSpecs.Launcher.replicas": number_from(1, 1),
        "spec.mpiReplicaSpecs.Worker.replicas": number_from(1),
        "spec.mpiReplicaSpecs.Launcher|Worker.restartPolicy": lambda value, _: (
            f"is '{value}', and must be {joined(_MPI_RESTARTS, 'or')}"
            if value and value not in _MPI_RESTARTS
            else ""
        ),
        "spec.slotsPerWorker": number_from(0),
        "spec.runPolicy.activeDeadlineSeconds|backoffLimit|ttlSecondsAfterFinished": number_from(0),
    }
)


@rule("TRAIN113", {"MPIJob"})
def _mpi(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.data["apiVersion"] != "kubeflow.org/v2beta1":
        return
    yield from against(_MPI, resource.data, ())
    specs = mapping(at(resource.data, "spec", "mpiReplicaSpecs"))
    for kind in specs.keys() - _MPI_TYPES:
        message = f"an MPIJob has no replicas of type '{kind}'"
        yield Finding(("spec", "mpiReplicaSpecs", kind), message, did_you_mean(kind, _MPI_TYPES))
    workers = number(at(specs, "Worker", "replicas"), 1) or 1
    if resource.name and (against_name := against_dns1035(f"{resource.name}-worker-{workers - 1}")):
        yield Finding(("metadata", "name"), f"the name of worker {workers - 1} {against_name}")
