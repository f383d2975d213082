"""A workload of every pattern for every listed row of the catalogue, rendered in process."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.files import read_text

from slicewright.catalogue.shape import Shape
from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import errors
from slicewright.kubernetes.types import Object
from slicewright.rendering.changes import render
from slicewright.rendering.io.package_data import package
from slicewright.rendering.kustomization import ReadText
from slicewright.rendering.repository import Settings, read_repository

API = "slicewright.dev/v1alpha1"
CLUSTER: dict[str, Any] = {
    "apiVersion": API,
    "kind": "TPUCluster",
    "metadata": {"name": "c"},
    "spec": {"managed": False, "pools": [{"name": "cpu", "machineType": "n2-standard-64"}]},
}
_PATHWAYS = {"pathwaysDir": "gs://b/d", "head": {"pool": "cpu"}}
_PROGRAM = {"container": {"image": "i:1"}}


@dataclass(frozen=True, slots=True)
class Case:
    """One workload: a row of the catalogue under one pattern."""

    name: str
    pattern: str
    shape: Shape
    slices: int


def accepted_by_operator(shape: Shape) -> bool:
    """Tell whether the list of the PathwaysJob operator has a shape: it lacks two of v4."""
    return bool(shape.pathways_instance_type) and "pathways-job" in shape.listed_by


def _cases() -> Iterator[tuple[Case, dict[str, Any]]]:
    for index, shape in enumerate(package().catalogue.rows()):
        patterns: list[tuple[str, int, dict[str, Any]]] = [
            ("jobset", 1, _PROGRAM),
            ("job", 1, {**_PROGRAM, "api": "Job"}),
        ]
        if shape.multislice:
            patterns.append(("jobset", 2, _PROGRAM))
        if shape.pathways_instance_type:
            headless = {"pathways": {**_PATHWAYS, "headless": True}}
            patterns += [
                ("pathways", 2, {**_PROGRAM, "pathways": _PATHWAYS}),
                ("pathways-headless", 1, headless),
            ]
        if accepted_by_operator(shape):
            operated = {**_PROGRAM, "api": "PathwaysJob", "pathways": _PATHWAYS}
            patterns.append(("pathwaysjob", 2, operated))
        for pattern, slices, spec in patterns:
            yield Case(f"{pattern}-{slices}-{index}", pattern, shape, slices), spec


@cache
def cases() -> tuple[Case, ...]:
    """Return every row of the listed tier under every pattern that fits it."""
    return tuple(case for case, _ in _cases())


def _workload(case: Case, spec: dict[str, Any]) -> dict[str, Any]:
    shape = case.shape
    tpu = {"accelerator": shape.generation, "topology": shape.topology, "machineType": shape.machine_type}
    written = {"clusters": ["c"], "tpu": tpu, "slices": case.slices, "naming": "Fixed", **spec}
    return {"apiVersion": API, "kind": "TPUWorkload", "metadata": {"name": case.name}, "spec": written}


def files_of(documents: list[dict[str, Any]], read: ReadText = read_text) -> dict[str, str]:
    """Return the files that some documents are rendered to, by path."""
    text = "\n---\n".join(json.dumps(document) for document in documents)
    source = [SourceFile("workloads/all.yaml", text)]
    made = render(read_repository(source, Settings(), package(), read), {})
    assert [problem.text() for problem in errors(made.problems)] == []
    return made.writes


@cache
def rendered() -> dict[str, str]:
    """Return the files of the tree that all cases make, by path."""
    return files_of([CLUSTER, *(_workload(case, spec) for case, spec in _cases())])


def read_row(path: str) -> str | None:
    """Return a file of that tree, or of the bases."""
    return rendered().get(path) or read_text(path)


def pods(item: Object) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the pod specs of an object that claim chips, each with how many pods one slice has of it."""
    jobs = [item] if item["kind"] == "Job" else [job["template"] for job in item["spec"]["replicatedJobs"]]
    for job in jobs:
        spec = job["spec"]["template"]["spec"]
        if any(
            "google.com/tpu" in container.get("resources", {}).get("limits", {})
            for container in spec["containers"]
        ):
            assert job["spec"].get("completions") == job["spec"].get("parallelism")
            yield job["spec"].get("completions", 1), spec
