"""Rules of quota: whether a workload can ever be admitted, and whether a queue's quota is real."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from slicewright.catalogue.shape import joined
from slicewright.check.rules import fit_nodes as nodes
from slicewright.check.rules.kueue_queues import quotas
from slicewright.check.rules.tpu_shape import of_labels
from slicewright.document.document import is_unfinished
from slicewright.kubernetes.fields import mapping
from slicewright.kubernetes.kinds import QUEUED_KINDS
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    QUEUE,
    RUN,
    TOPOLOGY,
    TPU,
    WORKLOAD,
)
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import amount, plain
from slicewright.kueue import assignment, quota, quota_read, quota_workload
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.platform.flavor import TpuCapacity

LABEL: Path = ("metadata", "labels", QUEUE)
_ASK = (
    "flavor {0} has a topologyName and takes only pods that request a place in its Topology: annotate the "
    "pod template with kueue.x-k8s.io/podset-required-topology and a level ({1})"
)
_AGAIN = "start the run again, with the labels that the flavors have now: slicewright rerun {0}/{1}"
_OTHER_LEVEL = "name a level of the Topology of flavor {0}: {1}"
_NO_TOPOLOGY = (
    "flavor {0} has no topologyName and takes no pods that request a place in a Topology: remove their "
    "annotation kueue.x-k8s.io/podset-...-topology, or give the flavor a topologyName"
)
_MORE_NODES = (
    "request less, or raise the quota (in a TPUCluster: nominalNodes, or the nodes of the pool), the "
    "borrowing limit or the quota of the cohort"
)
_COUNTED = (TPU, "nvidia.com/gpu")
"""Resources of devices that Kueue's configuration hardly ever transforms or maps, if it is not known."""
_LAST = "cover one of their resources in the queue, or put them last"
_ONE_TOPOLOGY = "cover all resources of the pods with one resource group, whose flavors have a topologyName"


class Asked(Struct, frozen=True):
    """What workloads ask their queue for; those with the same pod sets share it."""

    known: quota.Quotas
    queue: quota.Node
    sets: list[quota.PodSet]
    choices: list[assignment.Choice]
    deciding: list[assignment.Choice]
    """The choices that decide on admission, for as few pods as will do."""
    fits: bool


def asked(resource: Resource, objects: ObjectSet) -> Asked | None:
    """Return what a workload asks its queue for, as far as the queue is known.

    Of several queues of its name it is the first that admits the workload, else the first.
    """
    return next(iter(asks(resource, objects)), None)


def asks(resource: Resource, objects: ObjectSet) -> list[Asked]:
    """Return what a workload asks of each queue of its name that admits it, else of the first."""
    known: dict[int, list[Asked]] = objects.once("what each asks for", lambda _: {})
    if id(resource) not in known:
        known[id(resource)] = _asks(resource, objects)
    return known[id(resource)]


def _asks(resource: Resource, objects: ObjectSet) -> list[Asked]:
    seen: dict[tuple[int, int], Asked | None] = objects.once("what is asked for", lambda _: {})
    asks = []
    for known, queue in quota_read.queues_of(resource, objects):
        sets = quota_workload.pod_sets(resource, objects)
        key = id(queue), id(sets)
        if key not in seen:
            is_known = objects.is_cluster or not is_unfinished(sets)
            seen[key] = _asked(resource, known, queue, sets, objects) if is_known else None
        if (ask := seen[key]) is None:
            return []
        asks.append(ask)
    if len(asks) == 1:
        return asks
    return [ask for ask in asks if assignment.admit(ask.known, ask.queue, ask.sets, ask.choices)] or asks[:1]


def _asked(
    resource: Resource,
    known: quota.Quotas,
    queue: quota.Node,
    sets: list[quota.PodSet],
    objects: ObjectSet,
) -> Asked:
    choices = fewest = assignment.choices(known, queue, sets)
    if any(pods.least is not None for pods in sets):
        least = [pods if pods.least is None else pods.resized(pods.least) for pods in sets]
        fewest = assignment.choices(known, queue, least)
    # What no node can hold is said once, by FIT130.
    too_large = {(pods, name) for _, pods, name in nodes.beyond(resource, objects)}
    deciding = []
    for choice in fewest:
        own = {name for pods, name in too_large if pods == choice.pods[0].name}
        requests = {name: value for name, value in choice.requests.items() if name not in own}
        if choice.flavors and requests:
            deciding.append(replace(choice, requests=requests))
    fits = assignment.assign(known, queue, deciding) is not None
    return Asked(known, queue, sets, choices, deciding, fits)


@rule(
    "FIT101",
    QUEUED_KINDS,
    hint="request fewer slices, or raise the quota, the borrowing limit or the quota of the cohort",
)
def _never_fits(resource: Resource, objects: ObjectSet) -> Findings:
    ask = asked(resource, objects)
    if ask is None or ask.fits:
        return
    known, queue = ask.known, ask.queue
    for choice in ask.deciding:
        if assignment.assign(known, queue, [choice]) is not None:
            continue
        for name, value in choice.requests.items():
            most = {flavor: quota.most(known, queue, (flavor, name)) for flavor in choice.flavors}
            if all(value > of_flavor.total for of_flavor in most.values()):
                path, names = place_of(resource, choice.pods[0].name), [pods.name for pods in choice.pods]
                if name == TPU:
                    yield Finding(path, _shortage(queue.name, name, value, most))
                else:
                    asking = f"{nodes.needs(names)} {nodes.amount(name, value)} in total"
                    yield Finding(path, f"{asking}, but {_gives(queue.name, name, most)}", _MORE_NODES)
                return
    yield Finding(LABEL, _together(known, queue, ask.deciding))


def place_of(resource: Resource, name: str) -> Path:
    """Return the field that multiplies what a pod set asks for, else the label of the queue."""
    for pods in resource.pods:
        if pods.name == name and name and pods.replicas_path:
            return pods.replicas_path
    if resource.kind == "PathwaysJob" and name == "worker":
        return "spec", "workers", 0, "numSlices"
    return ("spec", "parallelism") if "parallelism" in mapping(resource.data.get("spec")) else LABEL


def _shortage(queue: str, resource: str, value: Fraction, most: dict[str, quota.Most]) -> str:
    return f"the run requests {nodes.amount(resource, value)}, but {_gives(queue, resource, most)}"


def _gives(queue: str, resource: str, most: dict[str, quota.Most]) -> str:
    amounts = (f"{_most(resource, of_flavor)} of flavor '{flavor}'" for flavor, of_flavor in most.items())
    return f"ClusterQueue '{queue}' can give only {' or '.join(amounts)}"


def _most(resource: str, most: quota.Most) -> str:
    """Return `24`, with borrowing `24 (nominal 16, borrowing 8)`."""
    total, nominal, borrowing = (
        nodes.number(resource, value) for value in (most.total, most.nominal, most.total - most.nominal)
    )
    return f"{total} (nominal {nominal}, borrowing {borrowing})" if most.total != most.nominal else total


def _together(known: quota.Quotas, queue: quota.Node, choices: list[assignment.Choice]) -> str:
    """Return the message that all pod sets together request too much, although each one fits."""
    requests: dict[str, Fraction] = defaultdict(Fraction)
    most: dict[str, dict[str, quota.Most]] = defaultdict(dict)
    for choice in choices:
        for resource, value in choice.requests.items():
            requests[resource] += value
            most[resource] |= {name: quota.most(known, queue, (name, resource)) for name in choice.flavors}
    for resource, value in requests.items():
        if value > sum(of_flavor.total for of_flavor in most[resource].values()):
            return _shortage(queue.name, resource, value, most[resource])
    if len(choices) == 1:
        amounts = joined([nodes.amount(resource, value) for resource, value in requests.items()])
        none = f"no flavor of ClusterQueue '{queue.name}' has enough of all of them"
        return f"the run requests {amounts}, but {none}"
    return (
        f"no choice of flavors in ClusterQueue '{queue.name}' has enough for all {len(choices)} pod sets "
        "at the same time"
    )


@rule("FIT102", QUEUED_KINDS, hint="use the queue of this TPU, or correct the node selector")
def _no_flavor(resource: Resource, objects: ObjectSet) -> Findings:
    ask = asked(resource, objects)
    if ask is None:
        return
    known, queue, sets = ask.known, ask.queue, ask.sets
    for choice in ask.choices:
        if not choice.flavors and all(name in known.flavors for name in choice.group):
            names = joined([f"'{pods.name}'" for pods in choice.pods])
            message = f"pods {names} request {nodes.unit(next(iter(choice.requests)))}, but no flavor of "
            message += f"ClusterQueue '{queue.name}' matches them: {', '.join(choice.group)}"
            add = nodes.quota_hint(queue.name, choice.pods[0], list(choice.requests), objects)
            yield Finding(LABEL, message, _hint(known, choice, resource) or add)
    if (first := assignment.stuck(known, queue, sets)) is not None:
        asked_for = [name for name in first.requests if name != assignment.PODS]
        message = f"{nodes.uncovered(queue.name, first, asked_for)}, so Kueue never admits the run"
        yield Finding(LABEL, message, nodes.quota_hint(queue.name, first, asked_for, objects) or _LAST)
    has_topologies = any(flavor.has_topology for flavor in known.flavors.values())
    for assigned in (has_topologies and assignment.give(known, queue, sets, ask.choices)) or ():
        if assignment.misplaced(known, queue, assigned):
            names = joined(list(dict.fromkeys(assigned.flavors.values())) or ["no flavor"])
            message = f"pods '{assigned.pods.name}' need a place in one topology, but get {names}"
            yield Finding(LABEL, message, _ONE_TOPOLOGY)


def _hint(known: quota.Quotas, choice: assignment.Choice, resource: Resource) -> str:
    """Return the hint if only a topology keeps pods from a flavor; '' if anything else does.

    A frozen run cannot be changed, and a new one asks for whole slices by itself.
    """
    for name in choice.group:
        flavor = known.flavors[name]
        if all(assignment.suits_nodes(pods, flavor) for pods in choice.pods):
            levels = joined(list(flavor.levels or ["see the Topology"]))
            if RUN in resource.labels and (not flavor.has_topology or choice.pods[0].levels is None):
                return _AGAIN.format(resource.namespace or "default", resource.labels.get(WORKLOAD, "NAME"))
            if not flavor.has_topology:
                return _NO_TOPOLOGY.format(name)
            return (_ASK if choice.pods[0].levels is None else _OTHER_LEVEL).format(name, levels)
    return ""


@rule(
    "FIT103",
    QUEUED_KINDS,
    hint="remove the request and the limit, cover the resource, or set resources.excludeResourcePrefixes "
    "in Kueue's configuration",
)
def _uncovered(resource: Resource, objects: ObjectSet) -> Findings:
    ask = asked(resource, objects)
    if ask is None:
        return
    seen: set[str] = set()
    for pods in ask.sets:
        own = [
            request
            for request in assignment.uncovered(ask.known, ask.queue, pods)
            if objects.is_cluster or "/" not in request or request in _COUNTED or request not in pods.requests
        ]
        first = [request for request in own if request not in seen]
        seen.update(first)
        by_default = _defaulted(resource, objects, pods.name)
        given = [request for request in first if request in by_default]
        if made := [request for request in first if request not in pods.requests]:
            listed, them = joined(made), "it" if len(made) == 1 else "them"
            message = (
                f"Kueue's configuration counts requests of pods '{pods.name}' as {listed}, but ClusterQueue "
                f"'{ask.queue.name}' does not cover {them}"
            )
            yield Finding(
                LABEL, message, f"cover {listed} in the queue, or correct resources.transformations"
            )
        if own_requests := [request for request in first if request not in {*given, *made}]:
            message = nodes.uncovered(ask.queue.name, pods, own_requests)
            yield Finding(LABEL, message, nodes.quota_hint(ask.queue.name, pods, own_requests, objects))
        if given:
            named, them = joined(given), "it" if len(given) == 1 else "them"
            message = (
                f"a LimitRange of namespace '{resource.namespace or 'default'}' gives pods '{pods.name}' "
            )
            message += f"a request of {named}, but ClusterQueue '{ask.queue.name}' does not cover {them}"
            leave = f"leave {named} out of the LimitRange (default, defaultRequest, max and min)"
            more = nodes.quota_hint(ask.queue.name, pods, given, objects, leave)
            ranges = {other.namespace or "default" for other in objects.of_kind("LimitRange")}
            is_certain = (resource.namespace or "default") in ranges
            hint = more or f"{leave}, or cover {named} in the queue"
            yield Finding(LABEL, message, hint, is_certain=is_certain)


def _defaulted(resource: Resource, objects: ObjectSet, name: str) -> frozenset[str]:
    """Return the resources that some pods request only by default."""
    defaults = quota_workload.defaults_of(resource, objects).requests
    own = [quota_workload.written(pods) for pods in resource.pods if pods.name == name]
    return frozenset(defaults).difference(*own)


def chips_of(flavor: str, objects: ObjectSet) -> tuple[int, int] | None:
    """Return (chips of a slice, chips of all pools) of a flavor; the second is 0 if no cluster is known."""
    labels = quota_read.quotas(objects).flavors.get(flavor, quota.Flavor({})).labels
    keys = (ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT)
    rows = of_labels(objects.catalogue, *(labels.get(key, "") for key in keys))
    total = 0
    for capacity, _ in quota_read.pools_of(objects):
        if isinstance(capacity, TpuCapacity) and capacity.flavor.name == flavor:
            total += capacity.shape.chips * capacity.most
            rows = rows or [capacity.shape]
    return (rows[0].chips, total) if rows else None


def _nominal(resource: Resource) -> Iterator[tuple[Path, str, Fraction]]:
    """Yield (path, flavor, chips) of every quota of chips in a queue or a cohort."""
    for where, flavor, entry in quotas(resource):
        value = amount(entry.get("nominalQuota"))
        if entry.get("name") == TPU and value is not None:
            yield (*where, "nominalQuota"), flavor, value


@rule("FIT104", {"ClusterQueue"}, "warning")
def _beyond_pools(resource: Resource, objects: ObjectSet) -> Findings:
    if objects.is_platform(resource):
        return  # QUOTA008 adds up all quotas of a TPUCluster, at their lines
    for path, flavor, value in _nominal(resource):
        chips = chips_of(flavor, objects)
        if chips is not None and chips[1] and value > chips[1]:
            message = f"the quota of {flavor} is {plain(value)} chips, but its pools have {chips[1]}"
            yield Finding(path, message)


@rule("FIT105", {"ClusterQueue", "Cohort"}, "warning")
def _part_of_slice(resource: Resource, objects: ObjectSet) -> Findings:
    for path, flavor, value in _nominal(resource):
        chips = chips_of(flavor, objects)
        if chips is not None and value % chips[0]:
            message = f"the quota of {flavor} is {plain(value)} chips, but must be a multiple of a slice"
            yield Finding(path, f"{message} of {chips[0]} chips")


@rule("FIT106", QUEUED_KINDS)
def _removed(resource: Resource, objects: ObjectSet) -> Findings:
    name = resource.labels.get(QUEUE)
    known = quota_read.quotas(objects)
    namespace = resource.namespace or "default"
    if name is None or RUN not in resource.labels or not known.has_queues or (namespace, name) in known.local:
        return
    message = (
        f"queue '{name}' was removed from namespace '{namespace}', but frozen run '{resource.name}' uses it"
    )
    yield Finding(LABEL, message)
