"""Rules of TrainJobs and their runtimes."""

import re
from collections.abc import Iterator
from itertools import chain

from slicewright.catalogue.shape import joined
from slicewright.check.rules.dns import against_dns1035
from slicewright.check.rules.limits import unlike_limits
from slicewright.check.rules.tpu_shape import is_placed_otherwise, multi_host, shapes
from slicewright.document import edit as edits
from slicewright.kubernetes.fields import at, entries, mapping, number, text
from slicewright.kubernetes.kinds import TRAINER_GROUP
from slicewright.kubernetes.labels import ACCELERATOR, TOPOLOGY
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import counted, did_you_mean, nearest, only_near
from slicewright.kueue import training
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

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
    kind, name = training.reference_of(resource)
    group = at(resource.data, "spec", "runtimeRef", "apiGroup")
    if kind not in training.RUNTIMES:
        message = f"Trainer has no runtime of kind '{kind}'"
        yield Finding(("spec", "runtimeRef", "kind"), message, did_you_mean(kind, training.RUNTIMES))
    elif group not in (None, TRAINER_GROUP):
        message = f"Trainer has no runtime of API group '{group}'"
        yield Finding(("spec", "runtimeRef", "apiGroup"), message, f"write {TRAINER_GROUP}")
    elif name and kind == "ClusterTrainingRuntime" and (meant := _meant_runtime(name, objects)):
        message = f"Trainer has no runtime '{name}', and {kind} '{name}' is not defined"
        yield Finding(("spec", "runtimeRef", "name"), message, f"did you mean '{meant}'?")
    elif name and not training.runtimes_of(resource, objects) and not _LIKE_SHIPPED.fullmatch(name):
        known = {runtime.name: runtime.namespace for runtime in objects.of_kind(kind)}
        if known and (objects.is_cluster or not objects.has(kind, name, resource.namespace)):
            message = f"{kind} '{name}' is not defined"
            hint = (
                f"name a runtime of this namespace: this one is in {known[name]}"
                if known.get(name)
                else did_you_mean(name, known)
            )
            is_certain = objects.misses(kind, name, resource)
            yield Finding(("spec", "runtimeRef", "name"), message, hint, is_certain=is_certain)


def _meant_runtime(name: str, objects: ObjectSet) -> str:
    """Return the runtime of Trainer that a misspelt name means, empty for other names."""
    meant, is_sure = only_near(name, _SHIPPED)
    is_own = name in _SHIPPED or objects.has("ClusterTrainingRuntime", name) or re.search("[0-9]", name)
    return meant if is_sure and not is_own else ""


@rule("TRAIN102", _JOB)
def _targets(resource: Resource, objects: ObjectSet) -> Findings:
    steps = [list(training.steps_of(runtime)) for runtime in training.runtimes_of(resource, objects)]
    runtimes = [{step.name: step.containers() for step in of_runtime} for of_runtime in steps]
    if runtimes:
        for path, name, spec in training.overrides_of(resource):
            if not any(name in runtime for runtime in runtimes):
                hint = did_you_mean(name, runtimes[0])
                yield Finding(path, f"the runtime has no replicatedJob '{name}'", hint)
                continue
            for _, container in chain(entries(spec.get("containers")), entries(spec.get("initContainers"))):
                own = text(container.get("name"))
                if not any(own in runtime.get(name, ()) for runtime in runtimes):
                    message = f"replicatedJob '{name}' of the runtime has no container '{own}'"
                    yield Finding(path, message, "name a container of the runtime")


def _nodes(resource: Resource, objects: ObjectSet) -> Iterator[Pods]:
    """Yield the pods that train by each runtime that a TrainJob may mean."""
    runtimes: list[Resource | None] = [*training.runtimes_of(resource, objects)]
    return (pods for runtime in runtimes or [None] for pods in training.nodes_of(resource, runtime))


@rule("TRAIN103", _JOB)
def _hosts(resource: Resource, objects: ObjectSet) -> Findings:
    nodes = list(_nodes(resource, objects))
    rows = [(pods.replicas, multi_host(pods, objects)) for pods in nodes]
    wrong = [(replicas, row) for replicas, row in rows if row and replicas != row.hosts]
    if wrong and len(wrong) == len(nodes):
        replicas, row = wrong[0]
        path = ("spec", "trainer", "numNodes")
        place = path if "numNodes" in mapping(at(resource.data, "spec", "trainer")) else ("spec",)
        message = f"numNodes is {replicas}, but {row.topology} on {row.machine_type} has {row.hosts} hosts"
        fix = edits.write(resource.data, {path: row.hosts})
        yield Finding(place, message, f"write trainer.numNodes: {row.hosts}", fix)


@rule("TRAIN104", _JOB)
def _chips(resource: Resource, objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "trainer", "resourcesPerNode") is None:
        return  # What the runtime says of its own is TPU105.
    nodes = list(_nodes(resource, objects))
    shapes_of = [(pods, shapes(pods, objects) if pods.asks_for_tpu else []) for pods in nodes]
    wrong = [
        (pods, rows[0])
        for pods, rows in shapes_of
        if rows and pods.chips not in {row.chips_per_host for row in rows}
    ]
    if wrong and len(wrong) == len(nodes):
        pods, row = wrong[0]
        host = f"a host of {row.topology} on {row.machine_type} has {row.chips_per_host}"
        path = ("spec", "trainer", "resourcesPerNode")
        yield Finding(path, f"a node requests {counted(pods.chips, 'chip')}, but {host}")


@rule("TRAIN105", _JOB)
def _limits(resource: Resource, _objects: ObjectSet) -> Findings:
    path = ("spec", "trainer", "resourcesPerNode")
    resources = mapping(at(resource.data, *path))
    for name, limit in unlike_limits(resources):
        request = resources["requests"][name]
        fix = edits.write(resource.data, {(*path, "limits", name): request}, safe=False)
        yield Finding((*path, "requests", name), f"a node requests {request} of {name}, {limit}", fix=fix)


@rule("TRAIN111", (*_JOB, *training.RUNTIMES))
def _numbers(resource: Resource, _objects: ObjectSet) -> Findings:
    path = ("spec", "trainer" if resource.kind in _JOB else "mlPolicy", "numNodes")
    nodes = number(at(resource.data, *path))
    if nodes is not None and nodes < 1:
        yield Finding(path, f"numNodes is {nodes}, but must be 1 or more")


@rule("TRAIN112", training.RUNTIMES)
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


@rule("TRAIN114", training.RUNTIMES)
def _job_names(resource: Resource, _objects: ObjectSet) -> Findings:
    for step in training.steps_of(resource):
        # JobSet puts its own name before it, so it may begin with a digit.
        if step.name and (refusal := against_dns1035(f"a-{step.name}-0")):
            yield Finding((*step.path, "name"), f"the name '{step.name}' of a replicatedJob {refusal}")


@rule("TRAIN106", training.RUNTIMES)
def _ancestors(resource: Resource, _objects: ObjectSet) -> Findings:
    for step in training.steps_of(resource):
        container = _CONTAINER.get(step.ancestor)
        if container is None:
            if nearest(step.ancestor, _CONTAINER):
                path = (*step.path, "template", "metadata", "labels", training.ANCESTOR)
                message = f"Trainer has no step '{step.ancestor}'"
                yield Finding(path, message, did_you_mean(step.ancestor, _CONTAINER))
            continue
        if step.replicas not in (None, 1):
            message = f"replicatedJob '{step.name}' has {step.replicas} replicas, but Trainer allows 1"
            yield Finding(
                (*step.path, "replicas"),
                message,
                "write replicas: 1; mlPolicy.numNodes is the number of nodes",
            )
        if container not in [text(entry.get("name")) for _, entry in entries(step.spec.get("containers"))]:
            path = (*step.path, "template", "spec", "template", "spec")
            message = f"the {step.ancestor} has no container '{container}'"
            yield Finding(path, message, f"call a container '{container}'")


@rule("TRAIN107", _JOB)
def _initializers(resource: Resource, objects: ObjectSet) -> Findings:
    runtimes = [
        {step.name for step in training.steps_of(runtime)}
        for runtime in training.runtimes_of(resource, objects)
    ]
    if runtimes:
        for key in ("dataset", "model"):
            path, name = ("spec", "initializer", key), f"{key}-initializer"
            if at(resource.data, *path) is not None and not any(name in steps for steps in runtimes):
                yield Finding(
                    path, f"the runtime has no replicatedJob '{name}'", "name a runtime that has one"
                )


@rule("TRAIN110", _JOB, "warning")
def _selectors(resource: Resource, objects: ObjectSet) -> Findings:
    if training.runtimes_of(resource, objects):
        for pods in _nodes(resource, objects):
            missing = [key for key in (ACCELERATOR, TOPOLOGY) if key not in pods.selector]
            if pods.asks_for_tpu and missing and not is_placed_otherwise(pods):
                yield Finding(("spec", "runtimeRef"), f"TPU nodes of the job select no {joined(missing)}")
