"""Node pools and flavors to the pools of a TPUCluster."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from msgspec import Struct, field

from slicewright.catalogue.catalogue import Catalogue, CpuMachine
from slicewright.catalogue.shape import Shape
from slicewright.cluster.importing.node_pools import (
    Flavor,
    Inventory,
    NodePool,
    flavor_of,
    is_ours,
    labels_for,
    labels_of,
    node_pools,
    provisioning_of,
    quotas_of,
    shape_of,
    tpu_field,
)
from slicewright.intent.tpuworkload import provisioning
from slicewright.kubernetes.fields import digits
from slicewright.kubernetes.labels import GPU, INSTANCE_TYPE, MAX_RUN_DURATION, NODE_POOL, TOPOLOGY, TPU
from slicewright.kubernetes.problem import counted
from slicewright.kubernetes.quantity import amount
from slicewright.rendering.plan.placement import flavor_name, tolerations

_POOL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


def pool_name(node_pools: Sequence[str], otherwise: str, taken: Collection[str]) -> str:
    """Return a name that is not taken for some node pools: `np` for `np-0` and `np-1`, else ours."""
    columns = takewhile(lambda letters: len(set(letters)) == 1, zip(*node_pools, strict=False))
    stem = "".join(letters[0] for letters in columns)
    if len(node_pools) > 1 or default_names(stem.removesuffix("-0"), 1) == list(node_pools):
        stem = stem.rstrip("0123456789-")
    return unused(stem if _POOL.fullmatch(stem) else otherwise, taken)


def unused(name: str, taken: Collection[str]) -> str:
    """Return a name, with a number if it is taken."""
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def default_names(pool: str, slices: int) -> list[str]:
    """Return the names of a TPU pool's node pools where its file gives none."""
    return [f"{pool}-{index}" for index in range(slices)]


class Pool(Struct, frozen=True):
    """An entry of `pools` in the TPUCluster, and more facts about its nodes."""

    entry: dict[str, Any]
    flavor: Flavor | None
    zones: frozenset[str] = frozenset()
    shape: Shape | None = None
    """The slice of a TPU pool."""
    machine: CpuMachine | None = None
    """A node of a CPU pool, where its machine type is known."""
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return its name."""
        name: str = self.entry["name"]
        return name

    @property
    def chips(self) -> int:
        """Return the chips of a slice; 0 of a CPU pool."""
        return self.shape.chips if self.shape is not None else 0


class Pools(Struct):
    """The pools of an imported cluster, and notes about nodes and flavors that became no pool."""

    pools: list[Pool] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        """Return the names that are taken."""
        return {pool.name for pool in self.pools}

    def of_flavor(self, name: str, *, tpu: bool) -> Pool | None:
        """Return the first TPU pool, or CPU pool, of a flavor."""
        pools = (pool for pool in self.pools if pool.flavor is not None and pool.flavor.name == name)
        return next((pool for pool in pools if (pool.shape is not None) == tpu), None)


def pools_of(
    inventory: Inventory, known: Sequence[Flavor], catalogue: Catalogue, *, autopilot: bool
) -> Pools:
    """Return the pools of a cluster: TPU pools, those whose nodes are gone, then CPU pools."""
    seen = node_pools(inventory.nodes)
    tpu = Pools()
    cpu = Pools()
    _add_cpu_pools(cpu, [pool for pool in seen if not pool.is_tpu], known, catalogue, autopilot=autopilot)
    _add_tpu_pools(tpu, [pool for pool in seen if pool.is_tpu], known, catalogue, cpu.names)
    _add_empty_pools(tpu, inventory, known, catalogue, cpu.names)
    strays = sum(NODE_POOL not in labels_of(node) for node in inventory.nodes)
    if strays:
        tpu.notes.append(f"{counted(strays, 'node')} of no GKE node pool: left out")
    return Pools([*tpu.pools, *cpu.pools], [*tpu.notes, *cpu.notes])


def _add_tpu_pools(
    pools: Pools, seen: Iterable[NodePool], known: Sequence[Flavor], catalogue: Catalogue, taken: set[str]
) -> None:
    """Add a pool for all node pools that are alike."""
    shapes = {pool.name: (pool, shape_of(pool.labels, catalogue)) for pool in seen}
    ways = {
        name: (shape, provisioning(provisioning_of(pool.labels, pool.taints)))
        for name, (pool, shape) in shapes.items()
        if shape is not None
    }
    taken_up = {flavor.name for flavor in known for way in ways.values() if is_ours(flavor, *way)}
    groups: dict[str, tuple[dict[str, Any], Shape, Flavor | None, list[NodePool]]] = {}
    for pool, shape in shapes.values():
        if shape is None:
            machine = pool.labels.get(INSTANCE_TYPE, "no machine")
            tpu = f"{pool.labels.get(TOPOLOGY, 'no topology')} on {machine}"
            pools.notes.append(f"node pool '{pool.name}' is left out: the catalogue has no slice of {tpu}")
            continue
        # A flavor that is just right for some nodes does not mean others that carry its labels too.
        way = ways[pool.name]
        free = [flavor for flavor in known if flavor.name not in taken_up or is_ours(flavor, *way)]
        flavor, best = flavor_of(pool, free), flavor_of(pool, known)
        if best is not None and best is not flavor:
            pools.notes.append(f"flavor '{best.name}' selects nodes of node pool '{pool.name}' too")
        facts = {**_tpu_facts(shape, pool.labels, pool.taints, flavor), "labels": pool.own_labels}
        key = json.dumps([shape.machine_type, facts, flavor.name if flavor else ""], sort_keys=True)
        groups.setdefault(key, (facts, shape, flavor, []))[-1].append(pool)
    for group in groups.values():
        pools.pools.append(_tpu_pool(*group, taken | pools.names))


def _tpu_facts(
    shape: Shape, labels: Mapping[str, str], taints: frozenset[str], flavor: Flavor | None
) -> dict[str, Any]:
    """Return what a file writes of nodes, but for names and numbers."""
    way = provisioning_of(labels, taints)
    seconds = labels.get(MAX_RUN_DURATION, "")
    facts: dict[str, Any] = {"tpu": tpu_field(shape), "provisioning": way}
    if (number := digits(seconds)) is not None:
        facts["maxRunDurationSeconds"] = number
    if flavor is not None and flavor.name != flavor_name(shape, provisioning(way)):
        facts["flavor"] = flavor.name
    if flavor is not None and flavor.topology_name:
        facts["topologyName"] = flavor.topology_name
    return facts


def _tpu_pool(
    facts: dict[str, Any], shape: Shape, flavor: Flavor | None, group: list[NodePool], taken: set[str]
) -> Pool:
    names = [pool.name for pool in group]
    each = [-(-pool.nodes // shape.hosts) for pool in group]
    name = pool_name(names, flavor_name(shape, provisioning(facts["provisioning"])), taken)
    entry = _in_order(
        {
            **facts,
            "name": name,
            "slices": sum(each),
            "nodePoolNames": names if names != default_names(name, len(names)) else [],
        }
    )
    notes = list(_flavor_notes(flavor, shape, facts["provisioning"]))
    for pool, slices in zip(group, each, strict=True):
        if pool.nodes != slices * shape.hosts:
            nodes = f"{pool.nodes} of the {slices * shape.hosts} nodes"
            notes.append(f"node pool '{pool.name}' has {nodes} of its {counted(slices, 'slice')} now")
    if sum(each) != len(group):
        entry.pop("nodePoolNames", None)
        held = ", ".join(f"{pool.name} ({slices})" for pool, slices in zip(group, each, strict=True))
        notes.append(f"a slice has its own node pool in this file; the cluster has {held}")
    zones = frozenset[str]().union(*(pool.zones for pool in group))
    return Pool(entry, flavor, zones, shape, notes=tuple(notes))


_ORDER = (
    *("name", "tpu", "slices", "provisioning", "maxRunDurationSeconds", "machineType", "nodes"),
    *("nodePoolNames", "nodeLocations", "flavor", "labels", "topologyName"),
)


def _in_order(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pool with its fields in the usual order, without defaults."""
    ordered = {key: facts[key] for key in _ORDER if facts.get(key)}
    return {key: value for key, value in ordered.items() if (key, value) != ("provisioning", "OnDemand")}


def _flavor_notes(flavor: Flavor | None, shape: Shape, way: str | dict[str, Any]) -> Iterator[str]:
    """Return notes on the differences between a flavor and the one that slicewright renders."""
    if flavor is None:
        return
    yield from _label_notes(flavor, labels_for(shape, provisioning(way)))
    if flavor.tolerations != tolerations(provisioning(way)):
        yield f"flavor '{flavor.name}' tolerates other taints than one of a managed platform"


def _label_notes(flavor: Flavor, labels: Mapping[str, str]) -> Iterator[str]:
    if flavor.labels != labels:
        theirs, ours = (_selection(each) for each in (flavor.labels, labels))
        yield f"flavor '{flavor.name}' selects nodes by {theirs}; a managed platform selects by {ours}"
    if flavor.taints:
        yield f"flavor '{flavor.name}' has nodeTaints, which this file cannot say"


def _selection(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={labels[key]}" for key in sorted(labels)) or "nothing"


def _add_empty_pools(
    pools: Pools, inventory: Inventory, known: Sequence[Flavor], catalogue: Catalogue, taken: set[str]
) -> None:
    """Add a pool for each flavor with quota of chips that has no nodes now."""
    for flavor in known:
        if TPU not in flavor.resources or pools.of_flavor(flavor.name, tpu=True) is not None:
            continue
        shape = shape_of(flavor.labels, catalogue)
        if shape is None:
            why = "no node is of it, and its labels name no slice of the catalogue"
            pools.notes.append(f"flavor '{flavor.name}' is left out with its quota: {why}")
            continue
        facts = _tpu_facts(shape, flavor.labels, flavor.tolerated, flavor)
        default = flavor_name(shape, provisioning(facts["provisioning"]))
        name = unused(flavor.name if _POOL.fullmatch(flavor.name) else default, taken | pools.names)
        slices = max(1, -(-_chips(inventory, flavor.name) // shape.chips))
        note = f"no node of flavor '{flavor.name}' exists now: `slices` is the sum of its quotas"
        entry = _in_order({**facts, "name": name, "slices": slices})
        notes = (note, *_flavor_notes(flavor, shape, facts["provisioning"]))
        pools.pools.append(Pool(entry, flavor, shape=shape, notes=notes))


def _chips(inventory: Inventory, flavor: str) -> int:
    """Return the chips that all quotas of a flavor add up to."""
    return sum(
        int(amount(quota.get("nominalQuota")) or 0)
        for holder in (*inventory.cohorts, *inventory.cluster_queues)
        for name, quotas in quotas_of(holder)
        for quota in quotas
        if (name, quota.get("name")) == (flavor, TPU)
    )


def _add_cpu_pools(
    pools: Pools, seen: Iterable[NodePool], known: Sequence[Flavor], catalogue: Catalogue, *, autopilot: bool
) -> None:
    """Add a pool for each node pool without TPUs; on Autopilot, which makes its own, for each flavor."""
    for pool in seen:
        machine_type = pool.labels.get(INSTANCE_TYPE, "")
        flavor = flavor_of(pool, known)
        shared = flavor is not None and pools.of_flavor(flavor.name, tpu=False) is not None
        if autopilot and (flavor is None or shared):
            continue
        if GPU in pool.labels or not machine_type:
            why = "it has GPUs" if machine_type else "its nodes do not tell their machine type"
            pools.notes.append(f"node pool '{pool.name}' is left out: {why}")
            continue
        notes = []
        if flavor is not None and shared:
            notes.append(
                f"flavor '{flavor.name}' covers these nodes too; a flavor here has only one CPU pool"
            )
            flavor = None
        if flavor is not None:
            notes += _label_notes(flavor, {} if autopilot else {NODE_POOL: pool.name})
        facts = {
            "name": pool.name,
            "machineType": machine_type,
            "nodes": pool.nodes,
            "flavor": flavor.name if flavor is not None and flavor.name != pool.name else "",
            "labels": pool.own_labels,
            "topologyName": flavor.topology_name if flavor is not None else "",
        }
        machine = catalogue.cpu_machines.find(machine_type)
        pools.pools.append(Pool(_in_order(facts), flavor, pool.zones, machine=machine, notes=tuple(notes)))
