"""Rules of MEGASCALE_* and JAX_* that are written by hand, against the slices and names of a run."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, islice

from msgspec import Struct

from slicewright.check.rules import ray, tpu_shape
from slicewright.check.rules.jobset_names import domain_of
from slicewright.check.rules.tpu_environment import variables
from slicewright.check.rules.tpu_slices import blanked
from slicewright.document.document import is_unfinished
from slicewright.kubernetes.fields import at, digits, entries, mapping, number, text
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path
from slicewright.objects import Finding, Findings, ObjectSet, Resource, once, rule

_NUM_SLICES, _SLICE_ID = "MEGASCALE_NUM_SLICES", "MEGASCALE_SLICE_ID"
_NUM_PROCESSES, _PROCESS_ID = "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
_ADDRESS = "MEGASCALE_COORDINATOR_ADDRESS"
_COORDINATORS = {_ADDRESS: _SLICE_ID, "JAX_COORDINATOR_ADDRESS": _PROCESS_ID}
"""The addresses of the first host, each with the variable by which a run of several objects counts itself."""
_HOSTNAMES = "TPU_WORKER_HOSTNAMES"
_LIBTPU = ("8431", "8471")
"""Ports of each host: of the metrics, and of the hosts of a slice."""
_FIELD = re.compile(r"metadata\.(?:labels|annotations)\['jobset\.sigs\.k8s\.io/([a-z-]+)'\]")
_POD = re.compile(r".+-[0-9]+")
_KINDS = frozenset({"JobSet", "Job"})
_BY_GKE = "leave it out: GKE sets what libtpu and JAX need"
_FROM_LABEL = "write valueFrom: {{fieldRef: {{fieldPath: \"metadata.labels['jobset.sigs.k8s.io/{}']\"}}}}"


class _Written(Struct, frozen=True):
    """What one container says of its place in a run."""

    known: dict[str, tuple[Path, str, Sequence[int]]]
    """Variables with their places and values: a text, and a number of all Jobs, or of each by a label."""
    names: frozenset[str]
    """All variables that are set."""

    def of(self, name: str) -> tuple[Path, str, Sequence[int]]:
        """Return place and value of a variable; empty if it is not known."""
        return self.known.get(name, ((), "", ()))


def _labels(resource: Resource, pods: Pods) -> dict[str, Sequence[int]]:
    """Return labels of JobSet that number its Jobs, also those without chips, with the numbers of some."""
    first = sum(other.replicas for other in resource.pods[: resource.pods.index(pods)])
    return {
        "global-replicas": (sum(other.replicas for other in resource.pods),),
        "replicatedjob-replicas": (pods.replicas,),
        "job-index": range(pods.replicas),
        "job-global-index": range(first, first + pods.replicas),
    }


@once
def _read(_objects: ObjectSet) -> dict[int, list[tuple[Pods, _Written]]]:
    """Return what the rules have read so far, by the identity of the object."""
    return {}


def _of_slices(resource: Resource, objects: ObjectSet) -> list[tuple[Pods, _Written]]:
    """Return the containers of the pods that ask for chips, with the pods; five rules ask."""
    read = _read(objects)
    if id(resource) not in read:
        read[id(resource)] = list(_containers(resource, objects))
    return read[id(resource)]


def _containers(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Pods, _Written]]:
    for pods in (pods for pods in resource.pods if pods.asks_for_tpu):
        for place, container in pods.containers:
            known: dict[str, tuple[Path, str, Sequence[int]]] = {}
            for one in variables(resource, place, container, objects):
                if one.value and not is_unfinished(one.value):
                    path, number = (*one.path, "value") if one.is_written else one.path, digits(one.value)
                    known.setdefault(one.name, (path, one.value, () if number is None else (number,)))
            env = list(entries(container.get("env")))
            for index, entry in env:
                field = _FIELD.fullmatch(text(at(entry, "valueFrom", "fieldRef", "fieldPath")))
                if field and (numbers := _labels(resource, pods).get(field[1])):
                    known[text(entry.get("name"))] = (*place, "env", index, "valueFrom"), "", numbers
            yield pods, _Written(known, frozenset(known).union(text(entry.get("name")) for _, entry in env))


def _hint(resource: Resource, label: str) -> str:
    """Return what to write in place of a value: GKE sets it, but not for the workers of Pathways."""
    return _FROM_LABEL.format(label) if tpu_shape.is_pathways(resource) else _BY_GKE


@rule("TPU168", _KINDS | {"ClusterTrainingRuntime", "TrainingRuntime"} | ray.KINDS)
def _number_of_slices(resource: Resource, objects: ObjectSet) -> Findings:
    counts = {id(pods): _slices(resource, pods) for pods in resource.pods if pods.asks_for_tpu}
    total = sum(counts.values())
    for pods, own in _of_slices(resource, objects):
        (path, literal, numbers), slices = own.of(_NUM_SLICES), counts[id(pods)]
        value = next(iter(numbers), 0)
        # An object of one slice that says which one it is may be a part of a larger run.
        is_part = slices == 1 and _SLICE_ID in own.names and literal != ""
        is_alone = value == 1 and own.of(_SLICE_ID)[1] == "0"
        if not path or value in (slices, total) or is_part or is_alone or 0 in (slices, total):
            continue
        message = f"{_NUM_SLICES} is {value}, but the run has {total} slice{'s' * (total != 1)}"
        hint = f'write "{total}"'
        if resource.kind == "JobSet" and slices == total:
            hint = _hint(resource, "replicatedjob-replicas")
        elif resource.kind == "Job":
            hint = "leave it out: a Job is one slice; write a JobSet with a replica for each slice"
        yield Finding(path, message, hint)


def _slices(resource: Resource, pods: Pods) -> int:
    """Return the number of slices of a pod template: Jobs, or the hosts of a Ray group; 0 if it is scaled."""
    if pods.job_path:
        return pods.replicas
    group = mapping(at(resource.data, *pods.path[:-1]))
    replicas = number(group.get("replicas"), 0) or 0
    return replicas if number(group.get("maxReplicas"), replicas) == replicas else 0  # else it is scaled


@rule("TPU169", _KINDS)
def _slice_id(resource: Resource, objects: ObjectSet) -> Findings:
    seen: list[tuple[str, Sequence[int]]] = []
    total = sum(pods.replicas for pods in resource.pods if pods.asks_for_tpu)
    for pods, own in _of_slices(resource, objects):
        path, literal, numbers = own.of(_SLICE_ID)
        limit, is_written = next(iter(own.of(_NUM_SLICES)[2]), None), literal != ""
        if not numbers or limit == 1:
            continue
        most = limit if is_written or limit else total
        value = f"{numbers[0]}" if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"
        hint = _hint(resource, "job-index")
        each = "write another number for each slice, from 0" if is_written else hint
        near = (name for name, some in seen if some[0] <= numbers[-1] and numbers[0] <= some[-1])
        others = [name for name in near if name != pods.name]
        seen.append((pods.name, numbers))
        of_run = resource.namespace, own.of(_ADDRESS)[1], literal
        first = _first_slices(objects).get(of_run, resource)
        if is_written and pods.replicas > 1:
            yield Finding(path, f"all {pods.replicas} slices have {_SLICE_ID} {value}", hint)
        elif most is not None and numbers[-1] >= most:
            message = f"{_SLICE_ID} is {value}, but {most} slices have the numbers 0 to {most - 1}"
            yield Finding(path, message, each)
        elif others and (is_written or (limit or 0) > pods.replicas):
            message = f"replicatedJobs '{others[0]}' and '{pods.name}' both have {_SLICE_ID} {value}"
            yield Finding(path, message, each)
        elif first is not resource:
            message = f"{first.subject} has {_SLICE_ID} {value} and the same coordinator"
            yield Finding(path, message, each)


@once
def _first_slices(objects: ObjectSet) -> dict[tuple[str, str, str], Resource]:
    """Return the first object with a slice of a run, by namespace, coordinator, and number of the slice."""
    first: dict[tuple[str, str, str], Resource] = {}
    for resource in (one for kind in sorted(_KINDS) for one in objects.of_kind(kind)):
        for _, own in _of_slices(resource, objects):
            key = resource.namespace, own.of(_ADDRESS)[1], own.of(_SLICE_ID)[1]
            if all(key[1:]):
                first.setdefault(key, resource)
    return first


@rule("TPU170", _KINDS | {"LeaderWorkerSet"})
def _coordinator(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, own in _of_slices(resource, objects):
        if _hosts(resource, pods, own) > 1:
            for name, counts in _COORDINATORS.items():
                path, value, _ = own.of(name)
                reason = stranger(value, resource, objects, by_hand=counts in own.names)
                has_chips = (_place(value.partition(".")[0], resource) or ("", True, True))[2]
                # The head of Pathways is a coordinator without chips; that of JAX may be any process.
                if not has_chips and counts == _SLICE_ID and not tpu_shape.is_pathways(resource):
                    reason = "its pods have no chips, so no libtpu listens there"
                if reason:
                    yield Finding(path, f"{name} is {value}: {reason}", _hint(resource, "coordinator"))
            path, value, _ = own.of(_HOSTNAMES)
            addresses = value.split(",") if value else []
            reasons = {one: stranger(one, resource, objects, by_hand=True) for one in addresses}
            for address, reason in islice(filter(all, reasons.items()), 1):
                if value != "localhost":
                    yield Finding(path, f"{_HOSTNAMES} has {address}: {reason}", _BY_GKE)


def _hosts(resource: Resource, pods: Pods, own: _Written) -> int:
    """Return how many hosts run one program with some pods."""
    if own.of(_NUM_PROCESSES)[1] == "1":
        return 1
    if blanked(pods):
        return pods.pods_per_job
    return sum(pods.replicas * pods.pods_per_job for pods in resource.pods if pods.asks_for_tpu)


def stranger(address: str, resource: Resource, objects: ObjectSet, *, by_hand: bool) -> str:
    """Return why an address is not that of the first host of a run; '' if it is, or if that is unknown."""
    name, subdomain, namespace = [*address.partition(":")[0].split("."), "", ""][:3]
    if name in ("localhost", "127") and not (name == "localhost" and subdomain):
        return "each host treats itself as the first one"
    place = _place(name, resource)
    if resource.kind == "LeaderWorkerSet" and name.startswith(f"{resource.name}-"):
        return ""
    if place is None:
        if not subdomain or not _POD.fullmatch(name) or any(objects.widest.named("Service", name, "")):
            return ""
        starts = accumulate(name.split("-"), "{}-{}".format)  # the name of a pod begins with that of its run
        others = (objects.widest.named(kind, start, "") for start in starts for kind in _KINDS)
        is_known = by_hand and any(_place(name, other) for other in chain.from_iterable(others))
        return "" if is_known else "no pod of the run has this name"
    domain, is_first, _ = place
    if subdomain != domain:
        return (
            f"the pods of the run have the subdomain '{domain}'" if domain else "its pods have no subdomain"
        )
    if resource.namespace and namespace not in ("", resource.namespace):
        return f"the run is in namespace '{resource.namespace}'"
    return "" if is_first or by_hand else "it must be the first host of the first slice"


def _place(name: str, resource: Resource) -> tuple[str, bool, bool] | None:
    """Return a pod's subdomain, whether it is the first of the first Job, and whether it requests chips."""
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
            return domain, not any(numbers), pods.asks_for_tpu
    return None


@rule("TPU171", _KINDS, "warning")
def _processes(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, own in _of_slices(resource, objects):
        hosts, same = _hosts(resource, pods, own), pods.replicas * pods.pods_per_job
        path, value, _ = own.of(_NUM_PROCESSES)
        if path and digits(value) not in (hosts, hosts * len(pods.containers), pods.pods_per_job, None):
            yield Finding(path, f"{_NUM_PROCESSES} is {value}, but the run has {hosts} hosts")
        path, value, _ = own.of(_PROCESS_ID)
        if path and min(hosts, same) > 1:
            yield Finding(path, f"all {same} hosts have {_PROCESS_ID} {value}")
        path, value, _ = own.of("JAX_COORDINATOR_ADDRESS")
        if value.endswith(tuple(f":{port}" for port in _LIBTPU)):
            yield Finding(path, f"libtpu uses the port of {value}", "write port 8476, the default of JAX")


@rule("TPU172", {"JobSet"})
def _order(resource: Resource, objects: ObjectSet) -> Findings:
    for index, job in entries(at(resource.data, "spec", "replicatedJobs")):
        for place, entry in entries(job.get("dependsOn")):
            if entry.get("status") != "Complete":
                continue
            pod = re.compile(rf"{re.escape(resource.name)}-{re.escape(text(job.get('name')))}-\d+-\d+\..*")
            for pods, own in _of_slices(resource, objects):
                if pods.name == entry.get("name"):
                    for name in _COORDINATORS:
                        if pod.fullmatch(own.of(name)[1]):
                            message = (
                                f"'{pods.name}' needs '{job.get('name')}', which starts when it is complete"
                            )
                            yield Finding(("spec", "replicatedJobs", index, "dependsOn", place), message)
