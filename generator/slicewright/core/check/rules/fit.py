"""Rules of quota: whether a workload can ever be admitted, and whether a queue's quota is real."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from slicewright.core.catalogue.geometry import joined
from slicewright.core.check import assignment, quota, quota_read, quota_workload
from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.placeholder import is_unfinished
from slicewright.core.check.rules.kueue_queues import quotas
from slicewright.core.check.rules.tpu_shape import of_labels
from slicewright.core.kubernetes.kinds import QUEUED_KINDS
from slicewright.core.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    NODE_POOL,
    QUEUE,
    RUN,
    TOPOLOGY,
    TPU,
    WORKLOAD,
)
from slicewright.core.kubernetes.name_room import PATHWAYS_HEAD
from slicewright.core.kubernetes.quantity import amount, plain
from slicewright.core.kubernetes.read import mapping
from slicewright.core.platform.flavor import TpuCapacity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.cpu_machine import CpuMachine
    from slicewright.core.intent.cluster import CpuPool
    from slicewright.core.problem import Path

_MEBI = Fraction(2**20)


def needs(names: list[str]) -> str:
    """Return how a message begins that says what some pod sets ask for."""
    if names == [PATHWAYS_HEAD]:
        return "the Pathways head needs"
    listed = joined([f"'{name}'" for name in names])
    return f"pods {listed} need"


def beyond(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Finding, str, str]]:
    """Yield what a pod asks for beyond a node of its pool, with the names of its pod set and the resource."""
    for pods, asked in zip(resource.pods, quota_workload.pod_sets(resource, objects), strict=False):
        pool, sizes = objects.once("node pools", _pools).get(pods.selector.get(NODE_POOL, ""), (None, {}))
        if pool is None or not asked.count:
            continue
        for name, most in sizes.items():
            wanted = asked.requests.get(name, Fraction(0)) / asked.count
            if wanted > most:
                each = " each" if asked.count > 1 else ""
                has = _shown(name, most).removesuffix(f" {name}")
                message = f"{needs([asked.name])} {_shown(name, wanted)}{each}; "
                message += f"pool {pool.name} has {has} per node"
                hint = f"write a larger machineType than {pool.machine_type} for the pool, or ask for less"
                yield Finding(pods.spec_path, message, hint), asked.name, name


def _pools(objects: ObjectSet) -> dict[str, tuple[CpuPool, dict[str, Fraction]]]:
    """Return the CPU pools whose machines are known, with the size of a node, by names of node pools."""
    site = objects.site
    if site is None:
        return {}
    return {
        name: (pool, _sizes(site.machines[pool.name]))
        for pool in site.cluster.cpu_pools
        for name in pool.node_pool_names
        if pool.name in site.machines
    }


def _sizes(machine: CpuMachine) -> dict[str, Fraction]:
    millicpus, mebibytes = machine.allocatable_millicpus, machine.allocatable_mib
    return {"cpu": Fraction(millicpus) / 1000, "memory": Fraction(mebibytes) * _MEBI}


def _shown(resource: str, value: Fraction) -> str:
    return f"{plain(value)} cpu" if resource == "cpu" else f"{plain(round(value / 2**30, 1))}Gi memory"


@rule("FIT130", QUEUED_KINDS)
def _too_large(resource: Resource, objects: ObjectSet) -> Findings:
    for finding, _, _ in beyond(resource, objects):
        yield finding


_LABEL: Path = ("metadata", "labels", QUEUE)
_GIBI = Fraction(2**30)
_ASK = (
    "flavor {0} has a topologyName and takes only pods that ask for a place in its Topology: annotate the "
    "pod template with kueue.x-k8s.io/podset-required-topology and a level ({1})"
)
_AGAIN = "start the run again, and it asks for what the flavors have now: slicewright rerun {0}/{1}"
_OTHER_LEVEL = "name a level of the Topology of flavor {0}: {1}"
_NO_TOPOLOGY = (
    "flavor {0} has no topologyName and takes no pods that ask for a place in a Topology: drop their "
    "annotation kueue.x-k8s.io/podset-...-topology, or give the flavor a topologyName"
)
_MORE_NODES = (
    "raise the quota (in a TPUCluster nominalNodes, or the nodes of the pool), the borrowing limit or the "
    "cohort, or ask for less"
)
_COUNTED = (TPU, "nvidia.com/gpu")
"""Resources of devices that Kueue's configuration hardly ever transforms or maps, where it is not known."""
_LAST = "cover one of their resources in the queue, or put them last"
_ONE_TOPOLOGY = "cover all resources of the pods with one resource group, whose flavors have a topologyName"


def queue_of(resource: Resource, objects: ObjectSet) -> quota.Node | None:
    """Return the ClusterQueue that a workload waits in, as far as it is known."""
    return next((queue for _, queue in quota_read.queues_of(resource, objects)), None)


class Asked(Struct, frozen=True):
    """What workloads ask their queue for; those with the same pod sets share it."""

    known: quota.Quotas
    queue: quota.Node
    sets: list[quota.PodSet]
    choices: list[assignment.Choice]
    wanted: list[assignment.Choice]
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
    sets: list[quota.PodSet] = []
    found = []
    for known, queue in quota_read.queues_of(resource, objects):
        sets = sets or quota_workload.pod_sets(resource, objects)
        key = id(queue), id(sets)
        if key not in seen:
            is_known = objects.is_cluster or not is_unfinished(sets)
            seen[key] = _asked(resource, known, queue, sets, objects) if is_known else None
        if (ask := seen[key]) is None:
            return []
        found.append(ask)
    fitting = [
        ask for ask in found[1:] and found if assignment.admit(ask.known, ask.queue, ask.sets, ask.choices)
    ]
    return fitting or found[:1]


def _asked(
    resource: Resource,
    known: quota.Quotas,
    queue: quota.Node,
    sets: list[quota.PodSet],
    objects: ObjectSet,
) -> Asked:
    choices = found = assignment.choices(known, queue, sets)
    if any(pods.least is not None for pods in sets):
        least = [pods if pods.least is None else pods.of(pods.least) for pods in sets]
        found = assignment.choices(known, queue, least)
    # What no node can hold is said once, by FIT130.
    small = {name for _, name, _ in beyond(resource, objects)}
    wanted = [
        choice
        for choice in found
        if choice.flavors and (TPU in choice.requests or choice.pods[0].name not in small)
    ]
    fits = assignment.assign(known, queue, wanted) is not None
    return Asked(known, queue, sets, choices, wanted, fits)


@rule(
    "FIT101", QUEUED_KINDS, hint="ask for fewer slices, or raise the quota, the borrowing limit or the cohort"
)
def _never_fits(resource: Resource, objects: ObjectSet) -> Findings:
    ask = asked(resource, objects)
    if ask is None or ask.fits:
        return
    known, queue, wanted = ask.known, ask.queue, ask.wanted
    alone = [choice for choice in wanted if assignment.assign(known, queue, [choice]) is None]
    for choice in alone:
        for name, value in choice.requests.items():
            have = {flavor: quota.most(known, queue, (flavor, name)) for flavor in choice.flavors}
            if all(value > found.total for found in have.values()):
                path, names = _asking(resource, choice.pods[0].name), [pods.name for pods in choice.pods]
                if name == TPU:
                    yield Finding(path, _shortage(queue.name, name, value, have))
                else:
                    message = (
                        f"{needs(names)} {_amount(name, value)} in all; {_gives(queue.name, name, have)}"
                    )
                    yield Finding(path, message, _MORE_NODES)
                return
    yield Finding(_LABEL, _together(known, queue, wanted))


def _asking(resource: Resource, name: str) -> Path:
    """Return the field that multiplies what a pod set asks for, else the label of the queue."""
    for pods in resource.pods:
        if pods.name == name and name and pods.replicas_path:
            return pods.replicas_path
    if resource.kind == "PathwaysJob" and name == "worker":
        return "spec", "workers", 0, "numSlices"
    return ("spec", "parallelism") if "parallelism" in mapping(resource.data.get("spec")) else _LABEL


def _unit(resource: str) -> str:
    return "chips" if resource == TPU else resource


def _shortage(queue: str, resource: str, value: Fraction, have: dict[str, quota.Most]) -> str:
    return f"the run asks for {_amount(resource, value)}; {_gives(queue, resource, have)}"


def _gives(queue: str, resource: str, have: dict[str, quota.Most]) -> str:
    most = " or ".join(f"{_most(resource, found)} of '{flavor}'" for flavor, found in have.items())
    return f"ClusterQueue '{queue}' can give {most}"


def _amount(resource: str, value: Fraction) -> str:
    """Return `32 chips`, `8 cpu` or `64Gi memory`."""
    return f"{_number(resource, value)} {_unit(resource)}"


def _number(resource: str, value: Fraction) -> str:
    return f"{plain(round(value / _GIBI, 1))}Gi" if resource == "memory" else plain(value)


def _most(resource: str, found: quota.Most) -> str:
    """Return `24`, with borrowing `24 (nominal 16, borrowing 8)`."""
    total, nominal, borrowing = (
        _number(resource, value) for value in (found.total, found.nominal, found.total - found.nominal)
    )
    return f"{total} (nominal {nominal}, borrowing {borrowing})" if found.total != found.nominal else total


def _together(known: quota.Quotas, queue: quota.Node, wanted: list[assignment.Choice]) -> str:
    """Say what all pod sets ask for, where each alone would fit."""
    parts: dict[str, Fraction] = {}
    flavors: dict[str, dict[str, quota.Most]] = {}
    for choice in wanted:
        for resource, value in choice.requests.items():
            parts[resource] = parts.get(resource, Fraction(0)) + value
            have = flavors.setdefault(resource, {})
            have.update({name: quota.most(known, queue, (name, resource)) for name in choice.flavors})
    for resource, value in parts.items():
        if value > sum(found.total for found in flavors[resource].values()):
            return _shortage(queue.name, resource, value, flavors[resource])
    if len(wanted) == 1:
        asked = joined([f"{_amount(resource, value)}" for resource, value in parts.items()])
        return f"the run asks for {asked}; no flavor of ClusterQueue '{queue.name}' has enough of each"
    return f"no choice of flavors in ClusterQueue '{queue.name}' holds all {len(wanted)} pod sets at once"


@rule("FIT102", QUEUED_KINDS, hint="use the queue of this TPU, or correct the node selector")
def _no_flavor(resource: Resource, objects: ObjectSet) -> Findings:
    ask = asked(resource, objects)
    if ask is None:
        return
    known, queue, sets = ask.known, ask.queue, ask.sets
    for choice in ask.choices:
        if not choice.flavors and all(name in known.flavors for name in choice.group):
            wanted = next(iter(choice.requests))
            names = joined([f"'{pods.name}'" for pods in choice.pods])
            message = (
                f"pods {names} ask for {_unit(wanted)}, but no flavor of ClusterQueue '{queue.name}' "
                f"fits them: {', '.join(choice.group)}"
            )
            yield Finding(_LABEL, message, _hint(known, choice, resource))
    if (after := assignment.stuck(known, queue, sets)) is not None:
        message = (
            f"Kueue counts nothing of what pods '{after.name}' ask for, and never admits those after them"
        )
        yield Finding(_LABEL, message, _LAST)
    has_topologies = any(flavor.has_topology for flavor in known.flavors.values())
    for given in (has_topologies and assignment.give(known, queue, sets, ask.choices)) or ():
        if assignment.misplaced(known, queue, given):
            names = joined(list(dict.fromkeys(given.flavors.values())) or ["no flavor"])
            message = f"pods '{given.pods.name}' need a place in one topology, and are given {names}"
            yield Finding(_LABEL, message, _ONE_TOPOLOGY)


def _hint(known: quota.Quotas, choice: assignment.Choice, resource: Resource) -> str:
    """Say what to write where only a topology is between pods and a flavor; nothing where it is more.

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
    hint="drop the request and the limit, cover the resource, or set resources.excludeResourcePrefixes "
    "in "
    "Kueue's configuration",
)
def _uncovered(resource: Resource, objects: ObjectSet) -> Findings:
    ask = asked(resource, objects)
    if ask is None:
        return
    first: dict[str, str] = {}
    for pods in ask.sets:
        for wanted in assignment.uncovered(ask.known, ask.queue, pods):
            if objects.is_cluster or "/" not in wanted or wanted in _COUNTED:
                first.setdefault(wanted, pods.name)
    for wanted, name in first.items():
        message = f"pods '{name}' ask for {wanted}, but ClusterQueue '{ask.queue.name}' does not cover it"
        yield Finding(_LABEL, message)


def _chips_of(flavor: str, objects: ObjectSet) -> tuple[int, int] | None:
    """Return (chips of a slice, chips of all pools) of a flavor; 0 pools' chips where no cluster is known."""
    found = quota_read.quotas(objects).flavors.get(flavor)
    labels = found.labels if found else {}
    rows = of_labels(
        objects.catalogue,
        labels.get(ACCELERATOR, ""),
        labels.get(TOPOLOGY, ""),
        labels.get(ACCELERATOR_COUNT, ""),
    )
    total = 0
    for capacity, _ in quota_read.pools_of(objects.site):
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
        chips = _chips_of(flavor, objects)
        if chips is not None and chips[1] and value > chips[1]:
            message = f"quota of {plain(value)} chips of {flavor}, but its pools have {chips[1]}"
            yield Finding(path, message)


@rule("FIT105", {"ClusterQueue", "Cohort"}, "warning")
def _part_of_slice(resource: Resource, objects: ObjectSet) -> Findings:
    for path, flavor, value in _nominal(resource):
        chips = _chips_of(flavor, objects)
        if chips is not None and value % chips[0]:
            message = (
                f"quota of {plain(value)} chips of {flavor} is not a multiple of a slice, {chips[0]} chips"
            )
            yield Finding(path, message)


@rule("FIT106", QUEUED_KINDS)
def _removed(resource: Resource, objects: ObjectSet) -> Findings:
    name = resource.labels.get(QUEUE)
    known = quota_read.quotas(objects)
    namespace = resource.namespace or "default"
    if name is None or RUN not in resource.labels or not known.has_queues or (namespace, name) in known.local:
        return
    message = f"queue '{name}' is gone from namespace '{namespace}', but frozen run '{resource.name}' uses it"
    yield Finding(_LABEL, message)
