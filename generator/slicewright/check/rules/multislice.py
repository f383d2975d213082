"""Rules of MEGASCALE_* and JAX_* that are written by hand, against the slices and names of a run."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from slicewright.check.rules import tpu_shape
from slicewright.check.rules.jobset_names import domain_of
from slicewright.check.rules.tpu_slices import blanked
from slicewright.document.document import is_unfinished
from slicewright.kubernetes.fields import at, digits, entries, mapping, number, text, words
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_NUM_SLICES, _SLICE_ID = "MEGASCALE_NUM_SLICES", "MEGASCALE_SLICE_ID"
_NUM_PROCESSES, _PROCESS_ID = "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
_COORDINATORS = {"MEGASCALE_COORDINATOR_ADDRESS": _SLICE_ID, "JAX_COORDINATOR_ADDRESS": _PROCESS_ID}
"""The addresses of the first host, each with the variable by which a run of several objects counts itself."""
_LIBTPU = ("8431", "8471")
"""Ports of each host: of the metrics, and of the hosts of a slice."""
_ASSIGNED = re.compile(
    r"(?:^|[\s;&])(?:export\s+)?((?:MEGASCALE|JAX)_[A-Z_]+)=[\"']?([\w.:-]+)(?![\w.:$({-])", re.MULTILINE
)
_POD = re.compile(r".+-[0-9]+")
_KINDS = frozenset({"JobSet", "Job"})
_BY_GKE = "leave it out: GKE sets what libtpu and JAX need"
_FROM_LABEL = "write valueFrom: {{fieldRef: {{fieldPath: \"metadata.labels['jobset.sigs.k8s.io/{}']\"}}}}"


class _Written(Struct, frozen=True):
    """What one container says of its place in a run."""

    literals: dict[str, tuple[Path, str]]
    """Variables with a value that is written out, in env or in a script, with their places."""
    names: frozenset[str]
    """All variables that are set."""

    def of(self, name: str) -> tuple[Path, str]:
        """Return place and value of a variable; empty where it is not written out."""
        return self.literals.get(name, ((), ""))


def _written(path: Path, container: dict[str, Any]) -> _Written:
    literals: dict[str, tuple[Path, str]] = {}
    for key in ("command", "args"):
        for index, word in words(container.get(key)):
            literals |= {name: ((*path, key, index), value) for name, value in _ASSIGNED.findall(word)}
    listed = entries(container.get("env"))
    env = [(index, text(entry.get("name")), text(entry.get("value"))) for index, entry in listed]
    for index, name, value in env:
        if value and not is_unfinished(value):
            literals.setdefault(name, ((*path, "env", index, "value"), value))
    return _Written(literals, frozenset(literals).union(name for _, name, _ in env))


def _of_slices(resource: Resource) -> Iterator[tuple[Pods, _Written]]:
    """Yield the containers of the pods that ask for chips, with the pods."""
    for pods in resource.pods:
        if pods.asks_for_tpu:
            for path, container in pods.containers:
                yield pods, _written(path, container)


def _hint(resource: Resource, label: str) -> str:
    """Return what to write in place of a value: GKE sets it, but not for the workers of Pathways."""
    return _FROM_LABEL.format(label) if tpu_shape.is_pathways(resource) else _BY_GKE


@rule("TPU168", _KINDS | {"RayCluster", "RayJob", "RayService"})
def _number_of_slices(resource: Resource, _objects: ObjectSet) -> Findings:
    counts = {id(pods): _slices(resource, pods) for pods in resource.pods if pods.asks_for_tpu}
    total = sum(counts.values())
    for pods, own in _of_slices(resource):
        (path, value), slices = own.of(_NUM_SLICES), counts[id(pods)]
        # An object of one slice that says which one it is may be a part of a larger run.
        is_part = slices == 1 and _SLICE_ID in own.names
        is_alone = value == "1" and own.of(_SLICE_ID)[1] == "0"
        if not path or digits(value) in (slices, total) or is_part or is_alone or 0 in (slices, total):
            continue
        message = f"{_NUM_SLICES} is {value}, but the run has {total} slice{'s' * (total != 1)}"
        hint = f'write "{total}"'
        if resource.kind == "JobSet" and slices == total:
            hint = _hint(resource, "replicatedjob-replicas")
        elif resource.kind == "Job":
            hint = "leave it out: a Job is one slice; write a JobSet with a replica for each slice"
        yield Finding(path, message, hint)


def _slices(resource: Resource, pods: Pods) -> int:
    """Return how many slices the pods of a template are; those of a Ray group are hosts."""
    if resource.kind in _KINDS:
        return pods.replicas
    group = mapping(at(resource.data, *pods.path[:-1]))
    replicas = number(group.get("replicas"), 0) or 0
    return replicas if number(group.get("maxReplicas"), replicas) == replicas else 0  # else it is scaled


@rule("TPU169", _KINDS)
def _slice_id(resource: Resource, _objects: ObjectSet) -> Findings:
    seen: dict[str, str] = {}
    for pods, own in _of_slices(resource):
        path, value = own.of(_SLICE_ID)
        slice_id, limit = digits(value), digits(own.of(_NUM_SLICES)[1])
        if slice_id is None or limit == 1:
            continue
        hint = _hint(resource, "job-index")
        if pods.replicas > 1:
            yield Finding(path, f"all {pods.replicas} slices have {_SLICE_ID} {value}", hint)
        elif limit is not None and slice_id >= limit:
            message = f"{_SLICE_ID} is {value}, but {limit} slices have the numbers 0 to {limit - 1}"
            yield Finding(path, message, f"write 0 to {limit - 1}, another number for each slice")
        elif seen.setdefault(value, pods.name) != pods.name:
            message = f"replicatedJobs '{seen[value]}' and '{pods.name}' both have {_SLICE_ID} {value}"
            yield Finding(path, message, "write another number for each slice, from 0")


@rule("TPU170", _KINDS)
def _coordinator(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, own in _of_slices(resource):
        if _hosts(resource, pods, own) > 1:
            for name, counts in _COORDINATORS.items():
                path, value = own.of(name)
                reason = _stranger(value, resource, objects, by_hand=counts in own.names) if path else ""
                if reason:
                    yield Finding(path, f"{name} is {value}: {reason}", _hint(resource, "coordinator"))


def _hosts(resource: Resource, pods: Pods, own: _Written) -> int:
    """Return how many hosts run one program with some pods."""
    if own.of(_NUM_PROCESSES)[1] == "1":
        return 1
    if blanked(pods):
        return pods.pods_per_job
    return sum(pods.replicas * pods.pods_per_job for pods in resource.pods if pods.asks_for_tpu)


def _stranger(address: str, resource: Resource, objects: ObjectSet, *, by_hand: bool) -> str:
    """Return why an address is not that of the first host of a run; '' where it is, or nobody knows."""
    name, subdomain, namespace = [*address.partition(":")[0].split("."), "", ""][:3]
    if name in ("localhost", "127") and not (name == "localhost" and subdomain):
        return "each host takes itself for the first one"
    place = _place(name, resource)
    if place is None:
        others = (other for kind in sorted(_KINDS) for other in objects.widest.of_kind(kind))
        is_known = any(True for _ in objects.widest.named("Service", name, ""))
        is_known |= by_hand and any(_place(name, other) for other in others)
        return (
            "no pod of the run has this name" if _POD.fullmatch(name) and subdomain and not is_known else ""
        )
    domain, is_first = place
    if subdomain != domain:
        return (
            f"the pods of the run have the subdomain '{domain}'" if domain else "its pods have no subdomain"
        )
    if resource.namespace and namespace not in ("", resource.namespace):
        return f"the run is in namespace '{resource.namespace}'"
    return "" if is_first or by_hand else "it must be the first host of the first slice"


def _place(name: str, resource: Resource) -> tuple[str, bool] | None:
    """Return the subdomain of a pod of a run, and whether it is the first of the first Job; else None."""
    for pods in resource.pods:
        start, domain = f"{resource.server_name}-", text(pods.spec.get("subdomain"))
        if resource.kind == "JobSet":
            start, domain = f"{start}{pods.name}-", domain_of(resource)
        numbers = [digits(part) for part in name.removeprefix(start).split("-")]
        most = [pods.replicas, pods.pods_per_job][-len(numbers) :]
        is_whole = name.startswith(start) and len(numbers) == 1 + (resource.kind == "JobSet")
        if is_whole and all(
            one is not None and one < limit for one, limit in zip(numbers, most, strict=True)
        ):
            return domain, not any(numbers)
    return None


@rule("TPU171", _KINDS, "warning")
def _processes(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods, own in _of_slices(resource):
        hosts, same = _hosts(resource, pods, own), pods.replicas * pods.pods_per_job
        path, value = own.of(_NUM_PROCESSES)
        if path and digits(value) not in (hosts, hosts * len(pods.containers), pods.pods_per_job, None):
            yield Finding(path, f"{_NUM_PROCESSES} is {value}, but the run has {hosts} hosts")
        path, value = own.of(_PROCESS_ID)
        if path and min(hosts, same) > 1:
            yield Finding(path, f"all {same} hosts have {_PROCESS_ID} {value}")
        path, value = own.of("JAX_COORDINATOR_ADDRESS")
        if value.endswith(tuple(f":{port}" for port in _LIBTPU)):
            yield Finding(path, f"libtpu uses the port of {value}", "write port 8476, the default of JAX")


@rule("TPU172", {"JobSet"})
def _order(resource: Resource, _objects: ObjectSet) -> Findings:
    for index, job in entries(at(resource.data, "spec", "replicatedJobs")):
        for place, entry in entries(job.get("dependsOn")):
            if entry.get("status") != "Complete":
                continue
            pod = re.compile(rf"{re.escape(resource.name)}-{re.escape(text(job.get('name')))}-\d+-\d+\..*")
            for pods, own in _of_slices(resource):
                if pods.name == entry.get("name"):
                    for name in _COORDINATORS:
                        if pod.fullmatch(own.of(name)[1]):
                            message = (
                                f"'{pods.name}' needs '{job.get('name')}', which starts when it is complete"
                            )
                            yield Finding(("spec", "replicatedJobs", index, "dependsOn", place), message)
