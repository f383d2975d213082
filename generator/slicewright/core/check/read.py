"""Careful readers of objects that nobody has checked yet: what has the wrong type reads as empty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.kinds import (
    ARGOCD_GROUP,
    JOBSET_GROUP,
    KUEUE_GROUP,
    PATHWAYS_GROUP,
    SCHEDULING_GROUP,
)
from slicewright.core.kubernetes.labels import TPU
from slicewright.core.kubernetes.quantity import amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.problem import Path

GROUP_OF = {
    "AdmissionCheck": KUEUE_GROUP,
    "Application": ARGOCD_GROUP,
    "ApplicationSet": ARGOCD_GROUP,
    "ClusterQueue": KUEUE_GROUP,
    "Cohort": KUEUE_GROUP,
    "ComputeClass": "cloud.google.com",
    "Component": "kustomize.config.k8s.io",
    "ConfigMap": "",
    "CronJob": "batch",
    "DaemonSet": "apps",
    "Deployment": "apps",
    "Job": "batch",
    "JobSet": JOBSET_GROUP,
    "Kustomization": "kustomize.config.k8s.io",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io",
    "LocalQueue": KUEUE_GROUP,
    "MultiKueueCluster": KUEUE_GROUP,
    "MultiKueueConfig": KUEUE_GROUP,
    "Namespace": "",
    "PathwaysJob": PATHWAYS_GROUP,
    "Pod": "",
    "PodTemplate": "",
    "PriorityClass": SCHEDULING_GROUP,
    "ProvisioningRequestConfig": KUEUE_GROUP,
    "RayCluster": "ray.io",
    "ReplicaSet": "apps",
    "ResourceFlavor": KUEUE_GROUP,
    "Service": "",
    "StatefulSet": "apps",
    "Topology": KUEUE_GROUP,
    "WorkloadPriorityClass": KUEUE_GROUP,
}
"""The API group of the kinds that rules look at, so that a stranger of the same name is left alone."""

_TEMPLATES: dict[str, tuple[tuple[str, ...], ...]] = {
    "DaemonSet": (("spec", "template"),),
    "Deployment": (("spec", "template"),),
    "LeaderWorkerSet": (
        ("spec", "leaderWorkerTemplate", "leaderTemplate"),
        ("spec", "leaderWorkerTemplate", "workerTemplate"),
    ),
    "PathwaysJob": (("spec", "controller", "template"),),
    "Pod": ((),),
    "PodTemplate": (("template",),),
    "RayCluster": (("spec", "headGroupSpec", "template"),),
    "ReplicaSet": (("spec", "template"),),
    "StatefulSet": (("spec", "template"),),
}
"""Where the pod templates of a kind stand, beside those of Jobs and of lists."""


def mapping(value: Any) -> dict[str, Any]:
    """Return a mapping as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return a list as it is, anything else as an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a string as it is, anything else as an empty one."""
    return value if isinstance(value, str) else ""


def number(value: Any, default: int | None = None) -> int | None:
    """Return an integer as it is, anything else (true and false too) as the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def count(value: Any) -> int:
    """Return a number of replicas or pods: an integer as it is, anything else as 1, the API's default."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 1


def at(value: Any, *keys: str) -> Any:
    """Return what stands below some keys, None where the way breaks off."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def entries(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the mappings of a list with their index."""
    for index, entry in enumerate(sequence(value)):
        if isinstance(entry, dict):
            yield index, entry


def texts(value: Any) -> dict[str, str]:
    """Return the entries of a mapping that are strings."""
    return {key: entry for key, entry in mapping(value).items() if isinstance(entry, str)}


def words(value: Any) -> Iterator[tuple[int, str]]:
    """Yield the strings of a list with their index."""
    for index, entry in enumerate(sequence(value)):
        if isinstance(entry, str):
            yield index, entry


@dataclass(frozen=True)
class Pods:
    """The pods that one template makes, and the Job around it."""

    path: Path
    """The way to the template, below which `metadata` and `spec` stand."""
    template: dict[str, Any]
    job: dict[str, Any]
    """The Job's spec; empty for pods of no Job."""
    job_path: Path
    job_metadata: dict[str, Any]
    name: str = ""
    """The name of the replicatedJob."""
    replicas: int = 1
    """How many such Jobs there are."""

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The pod's spec."""
        return mapping(self.template.get("spec"))

    @property
    def spec_path(self) -> Path:
        """The way to the pod's spec."""
        return (*self.path, "spec")

    @cached_property
    def annotations(self) -> dict[str, str]:
        """The pod's annotations."""
        return texts(at(self.template, "metadata", "annotations"))

    @cached_property
    def labels(self) -> dict[str, str]:
        """The pod's labels."""
        return texts(at(self.template, "metadata", "labels"))

    @cached_property
    def job_annotations(self) -> dict[str, str]:
        """The annotations of the Job around the template."""
        return texts(self.job_metadata.get("annotations"))

    @cached_property
    def containers(self) -> tuple[tuple[Path, dict[str, Any]], ...]:
        """The containers that run side by side, with their paths."""
        return self._listed("containers")

    @cached_property
    def init_containers(self) -> tuple[tuple[Path, dict[str, Any]], ...]:
        """The init containers, sidecars among them, with their paths."""
        return self._listed("initContainers")

    def _listed(self, key: str) -> tuple[tuple[Path, dict[str, Any]], ...]:
        return tuple(((*self.spec_path, key, index), entry) for index, entry in entries(self.spec.get(key)))

    @cached_property
    def selector(self) -> dict[str, str]:
        """The node labels that the pods insist on: nodeSelector, and node affinity to a single value."""
        terms = sequence(
            at(
                self.spec,
                "affinity",
                "nodeAffinity",
                "requiredDuringSchedulingIgnoredDuringExecution",
                "nodeSelectorTerms",
            )
        )
        found: dict[str, str] = {}
        if len(terms) == 1:
            for _, expression in entries(at(terms[0], "matchExpressions")):
                values = sequence(expression.get("values"))
                if expression.get("operator") == "In" and len(values) == 1 and isinstance(values[0], str):
                    found[text(expression.get("key"))] = values[0]
        found.update(texts(self.spec.get("nodeSelector")))
        return found

    def selector_path(self, key: str) -> Path:
        """Return the way to a label of the node selector, else to the pod's spec."""
        if key in mapping(self.spec.get("nodeSelector")):
            return (*self.spec_path, "nodeSelector", key)
        return self.spec_path

    @cached_property
    def chips(self) -> int:
        """Chips that one pod asks for: the sum over its containers, or more where an init container does."""
        running = sum(_chips(container) for _, container in self.containers)
        return max([running, *(_chips(container) for _, container in self.init_containers)])

    @cached_property
    def asks_for_tpu(self) -> bool:
        """Whether a container requests chips, or limits them."""
        return any(
            TPU in mapping(resources.get("requests")) or TPU in mapping(resources.get("limits"))
            for _, container in (*self.containers, *self.init_containers)
            if isinstance(resources := container.get("resources"), dict)
        )

    @cached_property
    def parallelism(self) -> int:
        """Pods of one Job that run side by side; 1 where nothing is written, as the Job API has it."""
        return count(self.job.get("parallelism"))

    @cached_property
    def pods_per_job(self) -> int:
        """Pods of one Job that count for Kueue: parallelism, or completions where they are fewer."""
        completions = number(self.job.get("completions"))
        return self.parallelism if completions is None else min(self.parallelism, completions)


def _chips(container: dict[str, Any]) -> int:
    for key in ("requests", "limits"):
        found = amount(at(container, "resources", key, TPU))
        if found is not None:
            return int(found)
    return 0


def pods_of(data: dict[str, Any], kind: str) -> tuple[Pods, ...]:
    """Return the pod templates of an object of any kind."""
    if kind == "JobSet":
        return tuple(_replicated(data))
    if kind == "Job":
        job = mapping(data.get("spec"))
        path: Path = ("spec", "template")
        return (Pods(path, mapping(job.get("template")), job, ("spec",), mapping(data.get("metadata"))),)
    if kind == "CronJob":
        outer = mapping(at(data, "spec", "jobTemplate"))
        job = mapping(outer.get("spec"))
        path = ("spec", "jobTemplate", "spec", "template")
        return (Pods(path, mapping(job.get("template")), job, path[:-1], mapping(outer.get("metadata"))),)
    found = []
    for way in _TEMPLATES.get(kind, ()):
        template = at(data, *way)
        if isinstance(template, dict):
            found.append(Pods(way, template, {}, (), {}))
    if kind == "RayCluster":
        for index, group in entries(at(data, "spec", "workerGroupSpecs")):
            path = ("spec", "workerGroupSpecs", index, "template")
            found.append(Pods(path, mapping(group.get("template")), {}, (), {}))
    return tuple(found)


def _replicated(data: dict[str, Any]) -> Iterator[Pods]:
    for index, entry in entries(at(data, "spec", "replicatedJobs")):
        outer = mapping(entry.get("template"))
        job = mapping(outer.get("spec"))
        path: Path = ("spec", "replicatedJobs", index, "template", "spec")
        yield Pods(
            path=(*path, "template"),
            template=mapping(job.get("template")),
            job=job,
            job_path=path,
            job_metadata=mapping(outer.get("metadata")),
            name=text(entry.get("name")),
            replicas=count(entry.get("replicas")),
        )
