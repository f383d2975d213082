"""Render one workload on one cluster in process, over our bases, and look at its objects."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.files import read_text

from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import Problem, errors
from slicewright.kubernetes.types import Object
from slicewright.rendering.changes import render
from slicewright.rendering.compose import compose
from slicewright.rendering.io.package_data import package
from slicewright.rendering.rendering import Rendering
from slicewright.rendering.repository import Settings, read_repository

ROOT = Path(__file__).parents[3]
API = "slicewright.dev/v1alpha1"
Pod = dict[str, Any]

POOLS = [{"name": "cpu", "machineType": "n2-standard-64"}, {"name": "more", "machineType": "n2-standard-8"}]
_QUEUE = {"name": "q", "localQueues": [{"name": "lq", "namespace": "ns"}]}
_PROGRAM = {"image": "img:1"}
_PATHWAYS = {"pathwaysDir": "gs://bucket/dir", "head": {"pool": "cpu"}}
PATTERNS: dict[str, dict[str, Any]] = {
    "jobset": {"tpu": "v5litepod-16", "slices": 2, "container": _PROGRAM},
    "job": {"tpu": "v5litepod-4", "api": "Job", "container": _PROGRAM},
    "indexed-job": {"tpu": "v5litepod-16", "api": "Job", "container": _PROGRAM},
    "pathways": {"tpu": "v5litepod-16", "slices": 2, "container": _PROGRAM, "pathways": _PATHWAYS},
    "pathways-headless": {"tpu": "v5litepod-16", "slices": 2, "pathways": {**_PATHWAYS, "headless": True}},
    "pathwaysjob": {
        "tpu": "v5litepod-16",
        "slices": 2,
        "api": "PathwaysJob",
        "container": _PROGRAM,
        "pathways": _PATHWAYS,
    },
}
"""The least that each pattern takes; v5litepod-16 is 4x4 on four hosts, v5litepod-4 is 2x2 on one."""
JOBS = ("job", "indexed-job")
DIRECT = ("pathways", "pathways-headless")
OURS = tuple(pattern for pattern in PATTERNS if pattern != "pathwaysjob")
"""Patterns whose pods we write; the operator writes those of a PathwaysJob."""
PROGRAMS = tuple(pattern for pattern in PATTERNS if pattern != "pathways-headless")
"""Patterns with a container of the user."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one workload was rendered to."""

    objects: tuple[Object, ...]
    files: dict[str, str]
    """The files of the overlay, by name."""

    @property
    def item(self) -> Object:
        """The run object: not the Service beside it, nor what a component brings along."""
        (run,) = [item for item in self.objects if item["kind"] in {"JobSet", "Job", "PathwaysJob"}]
        return run

    def job(self, name: str) -> dict[str, Any]:
        """Return the replicatedJob of a name."""
        (job,) = [job for job in self.item["spec"]["replicatedJobs"] if job["name"] == name]
        return dict(job)

    def template(self, name: str = "") -> Pod:
        """Return the pod template of a replicatedJob; without a name, that of the user's program."""
        if self.item["kind"] == "Job":
            return dict(self.item["spec"]["template"])
        if self.item["kind"] == "PathwaysJob":
            return dict(self.item["spec"]["controller"]["template"])
        names = [job["name"] for job in self.item["spec"]["replicatedJobs"]]
        job = self.job(name or names[0])
        return dict(job["template"]["spec"]["template"])

    def pod(self, name: str = "") -> Pod:
        """Return the pod spec of a replicatedJob; without a name, that of the user's program."""
        return dict(self.template(name)["spec"])

    def container(self, name: str = "main", job: str = "") -> Object:
        """Return a container or init container of a pod."""
        spec = self.pod(job)
        containers = [*spec.get("initContainers", []), *spec["containers"]]
        (container,) = [container for container in containers if container["name"] == name]
        return dict(container)


def _merged(base: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """Return a pattern's spec with some fields; those below `pathways` join its own, None takes one away."""
    spec = {**base, **written}
    if "pathways" in written:
        spec["pathways"] = {**base["pathways"], **written["pathways"]}
    return {key: value for key, value in spec.items() if value is not None}


def rendering(
    pattern: str,
    spec: dict[str, Any],
    *,
    cluster: dict[str, Any] | None = None,
    files: dict[str, str] | None = None,
    **metadata: Any,
) -> Rendering:
    """Return what a render of one workload would do; `files` are the user's components, by path."""
    site = {"managed": False, "pools": POOLS, "clusterQueues": [_QUEUE], **(cluster or {})}
    known = {"name": "w", "namespace": "ns", **metadata}
    written = {"clusters": ["c"], "naming": "Fixed", **_merged(PATTERNS[pattern], spec)}
    documents = [
        {"apiVersion": API, "kind": "TPUCluster", "metadata": {"name": "c"}, "spec": site},
        {"apiVersion": API, "kind": "TPUWorkload", "metadata": known, "spec": written},
    ]
    text = "\n---\n".join(json.dumps(document) for document in documents)

    def read(path: str) -> str | None:
        return (files or {}).get(path) or read_text(path)

    repository = read_repository([SourceFile("workloads/w.yaml", text)], Settings(), package(), read)
    return render(repository, {})


def run(
    pattern: str,
    *,
    cluster: dict[str, Any] | None = None,
    files: dict[str, str] | None = None,
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> Run:
    """Return what a workload of a pattern is rendered to, composed from the files that were written."""
    return composed(rendering(pattern, spec, cluster=cluster, files=files, **(metadata or {})), files)


def composed(rendering: Rendering, files: dict[str, str] | None = None) -> Run:
    """Return the run of a rendering, composed from the files that were written."""
    assert [problem.text() for problem in errors(rendering.problems)] == []
    folder = "overlays/c/ns/w"

    def read(path: str) -> str | None:
        return rendering.writes.get(path) or (files or {}).get(path) or read_text(path)

    overlay = compose(folder, read)
    assert (overlay.problems, overlay.outside) == ((), ())
    writes = rendering.writes.items()
    names = {path.removeprefix(f"{folder}/"): text for path, text in writes if folder in path}
    return Run(overlay.objects, names)


def refused(pattern: str, *, files: dict[str, str] | None = None, **spec: Any) -> list[Problem]:
    """Return the problems for which a workload of a pattern is not rendered."""
    refusal = rendering(pattern, spec, files=files)
    assert refusal.writes == {}
    return list(errors(refusal.problems))
