"""Plans -> the tree: every file under overlays/ that should exist, and what it holds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.build.objects import build, patched
from slicewright.core.build.overlay import KUSTOMIZATION, overlay
from slicewright.core.compose.kustomization import FILE_NAME, Stopped, compose_with, identity
from slicewright.core.document.write import write_document, write_documents
from slicewright.core.plan.plan import MARKER
from slicewright.core.problem import Problem
from slicewright.core.run import header
from slicewright.core.run.identity import digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.plan.plan import Pattern, Plan
    from slicewright.core.render.plans import Planned
    from slicewright.core.render.repository import ReadText

KubernetesObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Base:
    """A base after its components, with a digest of what it holds."""

    objects: list[KubernetesObject]
    digest: str


class Bases:
    """The bases of a tree, each combination with components evaluated once."""

    def __init__(self, read_text: ReadText) -> None:
        """Take the way to read files of the tree."""
        self._read_text = read_text
        self._made: dict[tuple[str, tuple[str, ...]], Base | Problem] = {}

    def get(self, plan: Plan) -> Base | Problem:
        """Return the base of a plan after its components, or why it cannot be evaluated."""
        key = (plan.base, plan.components)
        if key not in self._made:
            self._made[key] = self._make(plan)
        return self._made[key]

    def _make(self, plan: Plan) -> Base | Problem:
        try:
            objects = compose_with(plan.base, plan.components, self._read_text)
        except Stopped as stopped:
            if stopped.problem is not None:
                return stopped.problem
            file, _, feature = stopped.outside.partition(": ")
            message = f"{feature} is outside of what slicewright evaluates itself"
            hint = "write resources, components and JSON 6902 patches with a target"
            return Problem("KUS007", message, hint, file=file)
        return _unlike(plan, objects) or Base(objects, digest(objects))


@dataclass(frozen=True, slots=True)
class Made:
    """The objects of a run and what they came from."""

    planned: Planned
    base: Base
    objects: list[KubernetesObject]
    inputs: str
    """What the header of the run's files says."""


def make(planned: Planned, bases: Bases) -> tuple[Made | None, tuple[Problem, ...]]:
    """Build the objects of a plan."""
    plan, source = planned.plan, planned.workload.source
    base = bases.get(plan)
    if isinstance(base, Problem):
        return None, (_at_component(planned, base),)
    try:
        objects = build(plan, base.objects)
    except (LookupError, TypeError, AttributeError) as error:
        message = f"{plan.base} and its components lack what {plan.pattern} workloads need: {error!r}"
        return None, (_unfit(plan, message),)
    named = [identity(item) for item in objects]
    objects, problems = patched(plan, objects, source)
    if problems:
        return None, problems
    if named != [identity(item) for item in objects]:
        message = "a patch renames an object, or makes it another one"
        hint = "names, namespaces and kinds follow from metadata, naming and api"
        return None, (source.problem("PATCH003", ("spec", "patches"), message, hint, key=True),)
    return Made(planned, base, objects, _inputs(planned, base)), ()


_JOBSET, _JOB = ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("batch/v1", "Job")
_OBJECTS: dict[Pattern, list[tuple[str, str]]] = {
    "jobset": [_JOBSET],
    "job": [_JOB],
    "indexed-job": [_JOB, ("v1", "Service")],
    "pathways": [_JOBSET],
    "pathways-headless": [_JOBSET],
    "pathwaysjob": [("pathways-job.pathways.domain/v1", "PathwaysJob")],
}
"""What each base must hold under the marker's name: with less, a run would silently be empty."""


def _unlike(plan: Plan, objects: list[KubernetesObject]) -> Problem | None:
    """Return the problem of a base whose objects are not those of its pattern."""
    ours = [item for item in objects if item["metadata"]["name"] == MARKER]
    found = sorted((item["apiVersion"], item["kind"]) for item in ours if item["kind"] in _KINDS)
    if found == sorted(_OBJECTS[plan.pattern]):
        return None
    wanted = ", ".join(f"{kind} {version}" for version, kind in _OBJECTS[plan.pattern])
    has = ", ".join(f"{kind} {version}" for version, kind in found) or "nothing"
    return _unfit(plan, f"{plan.base} must hold {wanted} called {MARKER}; it holds {has}")


def _unfit(plan: Plan, message: str) -> Problem:
    hint = "compare it with the base that slicewright brings along"
    return Problem("BASE001", message, hint, file=f"{plan.base}/{FILE_NAME}")


_KINDS = frozenset(kind for objects in _OBJECTS.values() for _, kind in objects)


def _at_component(planned: Planned, problem: Problem) -> Problem:
    """Point at the workload that names a component, where a component of the user is what is wrong."""
    source = planned.workload.source
    for index, component in enumerate(planned.workload.components):
        if problem.file.startswith(f"{component}/"):
            file = "" if problem.file in problem.message else f" ({problem.file})"
            message = f"{problem.message}{file}"
            return source.problem(problem.id, ("spec", "components", index), message, problem.hint)
    return problem


_ELSEWHERE = frozenset({"clusters", "rehearsal", "onChange"})
"""Fields of a TPUWorkload that say nothing of what one of its runs holds."""


def _inputs(planned: Planned, base: Base) -> str:
    """Name what a run's files were resolved from, with one digest over its parsed content."""
    plan, shape, source = planned.plan, planned.plan.shape, planned.workload.source
    tpu = f"catalog {shape.generation} {shape.topology} on {shape.machine_type}"
    facts = json.dumps(
        [
            source.data["metadata"],
            {key: value for key, value in planned.workload.spec.items() if key not in _ELSEWHERE},
            plan.cluster,
            plan.node_selector,
            plan.left_out,
            [auxiliary.node_pool for auxiliary in plan.auxiliaries],
            plan.pathways.head_node_pool if plan.pathways else "",
            base.digest,
        ],
        sort_keys=True,
    )
    value = hashlib.sha256(facts.encode()).hexdigest()[:16]
    return f"{source.file.path}, cluster {plan.cluster}, {plan.base}, {tpu}; sha256:{value}"


def frozen_file(plan: Plan) -> str:
    """Return the path of a hashed run's file."""
    return f"{plan.folder}/{plan.name}.yaml"


def frozen_body(made: Made) -> str:
    """Return what a hashed run's file holds below its header."""
    return write_documents(made.objects)


def live_files(made: Made) -> dict[str, str]:
    """Return the files of a Fixed workload's overlay by path."""
    plan = made.planned.plan
    documents = overlay(plan, made.base.objects, made.objects)
    return {
        f"{plan.folder}/{name}": header.live(made.inputs, write_document(document))
        for name, document in documents.items()
    }


def run_list(folder: str, files: Iterable[str]) -> dict[str, str]:
    """Return the kustomization that lists the live runs of a workload; it refers to no base."""
    return _list(folder, "the live runs in this folder", sorted(files))


def workload_list(folder: str, workloads: Iterable[str]) -> dict[str, str]:
    """Return the kustomization that lists the workloads of a namespace, one a line."""
    return _list(folder, "the workloads in this folder", sorted(workloads))


def _list(folder: str, of: str, entries: list[str]) -> dict[str, str]:
    """Lists carry no digest, so that two changes side by side merge line by line."""
    document = {**KUSTOMIZATION, "resources": entries}
    return {f"{folder}/{FILE_NAME}": header.live(of, write_document(document))}
