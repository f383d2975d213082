"""A value of a rendered object -> the field of the TPUWorkload or TPUCluster that a person changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from slicewright.document.json_patch import parse_pointer
from slicewright.kubernetes.fields import at as value_at
from slicewright.kubernetes.labels import MAX_EXECUTION_TIME, PRIORITY_CLASS, QUEUE, RUN
from slicewright.rendering.compose import identity
from slicewright.rendering.folder import ROOT, run_id, shared_path
from slicewright.rendering.platform.flavor import capacities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.intent.source import Source
    from slicewright.intent.tpuworkload import Workload
    from slicewright.kubernetes.problem import Path, Problem
    from slicewright.objects import Resource
    from slicewright.rendering.folder import NamespaceFolder
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

_NAME: Path = ("metadata", "name")
_OF_CLUSTER = {
    "AdmissionCheck": "admissionChecks",
    "AppProject": "gitops",
    "Application": "gitops",
    "ClusterQueue": "clusterQueues",
    "Cohort": "cohorts",
    "ComputeClass": "computeClasses",
    "ConfigMap": "kueue",
    "GitRepository": "gitops",
    "Kustomization": "gitops",
    "LocalQueue": "clusterQueues",
    "Namespace": "teams",
    "Node": "pools",
    "PriorityClass": "priorityClasses",
    "ProvisioningRequestConfig": "provisioningRequestConfigs",
    "ResourceFlavor": "pools",
    "ResourceQuota": "teams",
    "Role": "teams",
    "RoleBinding": "teams",
    "ServiceAccount": "teams",
    "Topology": "topologies",
    "WorkloadPriorityClass": "priorityClasses",
}
"""The field of a TPUCluster's spec that asks for an object, by its kind."""
_LABELS = {
    QUEUE: "queueName",
    PRIORITY_CLASS: "workloadPriorityClassName",
    MAX_EXECUTION_TIME: "maxExecutionTimeSeconds",
}
"""The field of a TPUWorkload's spec that a label says."""
_COUNTS = frozenset({"replicas", "parallelism", "completions", "numSlices"})
"""Fields of an object that follow from `slices` and `tpu`."""
_CHECKS: Path = ("spec", "admissionChecksStrategy")
_CONTAINERS = (("containers",), ("initContainers",))
_PLACEMENT: tuple[Path, ...] = (("spec", "provisioning"), ("spec", "tpu"))


_OF_INPUT = {"FIT120": "REF151", "FIT102": "REF152", "FIT150": "REF006"}
"""A rule of runs, and the problem of a TPUWorkload that names the field behind it."""


def of_inputs(problems: Iterable[Problem]) -> dict[tuple[str, str], Problem]:
    """Return the problems of TPUWorkloads that name the mistake behind a finding of a rule."""
    own = (problem for problem in problems if problem.id in _OF_INPUT.values())
    return {(problem.id, problem.object): problem for problem in own}


def said_of_input(problem: Problem, inputs: Mapping[tuple[str, str], Problem]) -> Problem | None:
    """Return the problem of the TPUWorkload that names the mistake behind a finding of its run, if any."""
    workload = "/".join(problem.folder.split("/")[2:])
    return inputs.get((_OF_INPUT.get(problem.id, ""), f"TPUWorkload {workload}"))


class Origins:
    """The documents that the objects of a tree follow from."""

    def __init__(
        self,
        workloads: Iterable[Workload],
        sites: Mapping[str, ResolvedCluster],
        shared: Mapping[NamespaceFolder, Iterable[Source]] | None = None,
    ) -> None:
        """Take the workloads, the clusters by their names, and what the runs of namespaces share."""
        self._sites = sites
        self._shared = {
            (shared_path(folder), *identity(source.data)[:2], identity(source.data)[3]): source
            for folder, sources in (shared or {}).items()
            for source in sources
        }
        workloads = tuple(workloads)
        self.sources = [
            *(workload.source for workload in workloads),
            *(site.cluster.source for site in sites.values()),
            *self._shared.values(),
        ]
        self._workloads = {
            f"{cluster}/{workload.key}": workload for workload in workloads for cluster in workload.clusters
        }

    def placed(self, problem: Problem, resource: Resource | None) -> Problem:
        """Return a problem of an object at the line that a person wrote; as it is if there is none."""
        root, _, folder = problem.file.partition("/")
        if resource is None or resource.source is not None or root != ROOT:
            return problem
        common = self._shared.get((problem.file, resource.group, resource.kind, resource.name))
        if common is not None:
            return _at(problem, common, problem.path)
        cluster, _, below = folder.partition("/")
        site, workload = self._sites.get(cluster), self._workloads.get(folder)
        if workload is not None:
            return _at(problem, workload.source, of_workload(workload, resource, problem.path))
        if site is not None and below.startswith("_"):
            return _at(problem, site.cluster.source, of_cluster(site, resource.data, problem.path))
        return problem


def _at(problem: Problem, source: Source, path: Path) -> Problem:
    line, column = source.place(path)
    placed = problem.at(source.file.path, line, column)
    return replace(placed, folder=problem.file, input_path=path, sweep=source.sweep_key)


def of_workload(workload: Workload, resource: Resource, path: Path) -> Path:
    """Return the field of a TPUWorkload to change for a value of one of its objects.

    A value of a run that is frozen with an earlier intent is no longer in the file: the path of the name is
    returned.
    """
    run = run_id(workload.spec) if workload.naming == "Hashed" else ""
    if resource.labels.get(RUN, run) != run:
        return _NAME
    is_run = resource.name in (workload.name, f"{workload.name}-{run}")
    ways: list[Path] = [("spec", "components")]
    if is_run:
        ways = [*_ways(workload, resource, path), *ways]
    return next((way for way in ways if value_at(workload.source.data, *way) is not None), _NAME)


def _ways(workload: Workload, resource: Resource, path: Path) -> Iterator[Path]:
    """Yield the fields of a TPUWorkload that may set a value, the most specific first."""
    for index, change in enumerate(workload.patches):
        if change["target"]["kind"] == resource.kind:
            for entry in change["ops"]:
                tokens = parse_pointer(entry["path"])
                if tokens == tuple(map(str, path[: len(tokens)])):
                    yield "spec", "patches", index
    match path:
        case ("metadata", "labels", str(key)) if key in _LABELS:
            yield "spec", _LABELS[key]
        case ("metadata", *_):
            yield path
    job = next((pods for pods in resource.pods if _below(path, pods.path[:3])), None)
    role = job.name if job else ""
    auxiliary = next((at for at, job in enumerate(workload.auxiliary_jobs) if job.name == role), None)
    holder: Path = () if auxiliary is None else ("spec", "auxiliaryJobs", auxiliary)
    if role == "pathways-head" or path[:2] == ("spec", "controller"):
        holder = ("spec", "pathways", "head")
    if job is not None and _below(path, job.path):
        yield from _in_pods(workload, resource, (job.path, path), holder)
    if "dependsOn" in path:
        yield "spec", "auxiliaryJobs"
    if holder:
        yield holder[: 2 if holder[1] == "pathways" else 3]
    if path and path[-1] in _COUNTS:
        yield from (("spec", "slices"), ("spec", "tpu"), ("spec", "cpu"))
    if path[:1] == ("spec",):
        for start in (("spec",), ("spec", "pathways")):
            way = _along(workload.source.data, start, resource.data, path, 1)
            if len(way) > len(start):
                yield way


def _below(path: Path, start: Path) -> bool:
    return path[: len(start)] == start


def _in_pods(workload: Workload, resource: Resource, way: tuple[Path, Path], holder: Path) -> Iterator[Path]:
    """Yield the fields of a TPUWorkload that may set a value in the pods of a template."""
    template, path = way
    within = path[len(template) :]
    container = path[: len(template) + 3]
    is_main = _name(value_at(resource.data, *container)) == workload.main_container
    if within[1:2] in _CONTAINERS and is_main:
        field = _along(workload.source.data, ("spec", "container"), resource.data, path, len(container))
        if len(field) > len(("spec", "container")) or path == container:
            yield field
    start: Path = (*(holder or ("spec",)), "podTemplate")
    field = _along(workload.source.data, start, resource.data, path, len(template))
    if len(field) - len(start) >= min(3 if within[1:2] in _CONTAINERS else 2, len(within)):
        yield field
    if within[:2] == ("spec", "nodeSelector") and not holder:
        yield from _PLACEMENT
    if within[-1:] in (("hostNetwork",), ("dnsPolicy",)):
        yield "spec", "hostNetwork"
    if within[-2:] == ("securityContext", "privileged"):
        yield "spec", "privileged"
    tag = str(value_at(resource.data, *path)).rpartition(":")[2]
    if within[-1:] == ("image",) and workload.pathways and tag == workload.pathways.pathways_version:
        yield "spec", "pathways", "pathwaysVersion"
    if within[1:2] in _CONTAINERS:
        yield "spec", "container" if is_main or workload.pathways is None else "pathways"


def _along(document: Any, start: Path, built: Any, path: Path, steps: int) -> Path:
    """Return the path in a document that corresponds to `path` in an object, as far as the document has it.

    Elements of lists correspond by their name, or by equal values.
    """
    way, value = start, value_at(document, *start)
    for at in range(steps, len(path)):
        part = path[at]
        if isinstance(value, list):
            part = _index(value, value_at(built, *path[: at + 1]))
        value = value_at(value, part)
        if value is None:
            break
        way = (*way, part)
    return way


def _index(entries: list[Any], entry: Any) -> int:
    """Return the index of the entry of the same name, or of an equal one that has no name; -1 without one."""
    name = _name(entry)
    key, keys = (name, list(map(_name, entries))) if name else (entry, entries)
    return keys.index(key) if key in keys else -1


def _name(entry: Any) -> str:
    return str(entry.get("name", "")) if isinstance(entry, dict) else ""


def of_cluster(site: ResolvedCluster, resource: dict[str, Any], path: Path = ()) -> Path:
    """Return the field of a TPUCluster to change for a value of an object of its platform."""
    spec = site.cluster.spec
    field = _OF_CLUSTER.get(resource["kind"], "")
    if field not in spec:
        return _NAME
    start: Path = ("spec", field)
    name, namespace = resource["metadata"]["name"], resource["metadata"].get("namespace", "default")
    if resource["kind"] == "ResourceFlavor":
        return (*start, *_pools_of(site, name)[:1])
    if resource["kind"] == "LocalQueue":
        for at, queue in enumerate(spec[field]):
            for index, local in enumerate(queue.get("localQueues", ())):
                if (local["name"], local.get("namespace", "default")) == (name, namespace):
                    return (*start, at, "localQueues", index)
    if field == "teams":
        own = name if resource["kind"] == "Namespace" else namespace
        return (*start, *[at for at, team in enumerate(spec[field]) if team["namespace"] == own][:1])
    if not isinstance(spec[field], list):
        return start
    for at, entry in enumerate(spec[field]):
        if entry.get("name") == name:
            if path[:2] == _CHECKS:  # the file has these checks one level higher
                resource, path = resource["spec"], path[1:]
            return _quota(site, resource, path, (*start, at)) or _along(
                site.cluster.source.data, (*start, at), resource, path, 1
            )
    return start


def _pools_of(site: ResolvedCluster, flavor: str) -> list[int]:
    return [own.pool.index for own in capacities(site).values() if own.flavor.name == flavor]


def _quota(site: ResolvedCluster, resource: dict[str, Any], path: Path, entry: Path) -> Path:
    """Return the quota of a queue or a cohort behind a value of its resource groups; () for other values."""
    if path[:2] != ("spec", "resourceGroups"):
        return ()
    quotas = value_at(site.cluster.spec, *entry[1:], "quota")
    flavor = value_at(resource, *path[:5])
    if not quotas or not isinstance(flavor, dict):
        return entry
    pools = {site.cluster.spec["pools"][index]["name"] for index in _pools_of(site, flavor.get("name", ""))}
    own = [(at, quota) for at, quota in enumerate(quotas) if quota["pool"] in pools]
    limits = ((at, path[-1]) for at, quota in own if path[-1] in quota)
    return (*entry, "quota", *next(limits, [at for at, _ in own][:1]))
