"""Simulated nodes: what GKE would show for the node pools of a TPUCluster file, and KWOK, their kubelet."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from slicewright.catalogue.catalogue import CpuMachine
from slicewright.intent.tpucluster import CpuPool, TpuPool
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    HOSTNAME,
    INSTANCE_TYPE,
    KUBERNETES,
    MAX_RUN_DURATION,
    NODE_POOL,
    REGION,
    RESERVATION,
    TOPOLOGY,
    TPU,
    ZONE,
)
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plan import placement
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, node_life, size_range, slice_names
from slicewright.rendering.plan.ways import TPU_TAINT, node_labels
from slicewright.rendering.provision.node_pool import creates_itself

_GENEROUS = (256, 1024 * 1024)
"""Assumed vCPUs and MiB of a machine type of an unknown family."""
_GENEROUS_DISK_GB = 65536
"""Assumed boot disk of nodes whose storage is not known."""


STAGES = Path(__file__).with_name("stages.yaml")
HEARTBEATS = Path(__file__).with_name("heartbeats.yaml")
NODE_ANNOTATION = "kwok.x-k8s.io/node"
"""What marks a node as simulated; pods on other nodes are left alone."""
KWOK_NODES = "fake"
"""Its usual value, also for nodes that people add by hand."""


def kwok_command(
    binary: Path, kubeconfig: Path, *, simulates: str = KWOK_NODES, heartbeats: bool = False
) -> list[str]:
    """Return the command line. KWOK serves nothing here, so it listens nowhere.

    It simulates the nodes whose annotation has the value `simulates`. With `heartbeats` the nodes renew their
    status as kubelets do; without, a controller manager that waits for it marks them as not ready.

    There are no node leases. When a node goes and comes back while KWOK renews its lease, its queue of leases
    holds the node twice and stops then (KWOK 0.8.0): no later node would be simulated.
    """
    return [
        str(binary),
        f"--kubeconfig={kubeconfig}",
        f"--config={STAGES}",
        *([f"--config={HEARTBEATS}"] if heartbeats else []),
        f"--manage-nodes-with-annotation-selector={NODE_ANNOTATION}={simulates}",
        "--node-lease-duration-seconds=0",
    ]


SIMULATED = "slicewright.dev/simulated"
"""Label of every simulated node; real pods of a mixed cluster can keep away from it."""

_SYSTEM = {
    f"{prefix}{KUBERNETES}{key}": value
    for prefix in ("", "beta.")
    for key, value in (("os", "linux"), ("arch", "amd64"))
}
"""The old names too, as on GKE: if they are missing, a controller reads each node again and adds them."""

_MAX_PODS = 110
_CONDITIONS = (
    ("Ready", "True", "KubeletReady"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasNoPIDPressure"),
)
_NODE_INFO = {
    "architecture": "amd64",
    "operatingSystem": "linux",
    **dict.fromkeys(("kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion"), "simulated"),
    **dict.fromkeys(("kubeProxyVersion", "machineID", "systemUUID", "bootID"), ""),
}
"""All fields are required."""


def simulated_nodes(site: ResolvedCluster, *, annotated: str = KWOK_NODES) -> list[dict[str, Any]]:
    """Return the nodes of all pools of a cluster: a node pool for each slice, a node for each TPU VM.

    `annotated` is the value of the annotation by which a KWOK knows its nodes.
    """
    addresses = (f"10.{128 + n // 65536}.{n // 256 % 256}.{n % 256}" for n in count(1))
    nodes = [*_tpu_nodes(site), *_cpu_nodes(site)]
    for node, address in zip(nodes, addresses, strict=False):
        node["metadata"]["annotations"] = {NODE_ANNOTATION: annotated}
        node["status"]["addresses"].insert(0, {"type": "InternalIP", "address": address})
    return nodes


def _tpu_nodes(site: ResolvedCluster) -> Iterator[dict[str, Any]]:
    for pool, shape in site.pools:
        labels = {
            **_pool_labels(site, pool),
            **_provisioning_labels(site, pool),
            INSTANCE_TYPE: shape.machine_type,
            ACCELERATOR: shape.accelerator,
            TOPOLOGY: shape.topology,
            ACCELERATOR_COUNT: str(shape.chips_per_host),
        }
        keys = placement.tolerated_taints(pool.provisioning)
        taints = [TPU_TAINT, *({"key": key, "value": "true", "effect": "NoSchedule"} for key in keys)]
        size = site.machines[pool.name]
        for node_pool in slice_names(pool, pool.slices):
            for index in range(shape.hosts):
                yield _node(node_pool, index, labels, taints, size, shape.chips_per_host)


def _cpu_nodes(site: ResolvedCluster) -> Iterator[dict[str, Any]]:
    for pool in site.cluster.cpu_pools:
        labels = {**_pool_labels(site, pool), INSTANCE_TYPE: pool.machine_type}
        size = site.machines.get(pool.name) or package().catalogue.cpu_machines.sized(*_GENEROUS)
        for number in range(pool.nodes):
            index, position = divmod(number, len(pool.node_pool_names))
            yield _node(pool.node_pool_names[position], index, labels, [], size)


def _pool_labels(site: ResolvedCluster, pool: TpuPool | CpuPool) -> dict[str, str]:
    """Return the labels of a pool's nodes: their location, and those in the file."""
    spec = site.cluster.spec
    entry = spec["pools"][pool.index]
    zone, *_ = entry.get("nodeLocations") or spec.get("nodeLocations") or [""]
    labels = {REGION: spec.get("location", ""), ZONE: zone}
    return {**{key: value for key, value in labels.items() if value}, **entry.get("labels", {})}


def _provisioning_labels(site: ResolvedCluster, pool: TpuPool) -> dict[str, str]:
    """Return the labels that GKE gives nodes of a way of provisioning; pods select some of them."""
    labels = node_labels(pool.provisioning)
    if pool.provisioning.type == "Reservation":
        labels[f"{RESERVATION}affinity"] = "specific"
    seconds = site.cluster.spec["pools"][pool.index].get("maxRunDurationSeconds")
    if seconds is not None and (site.cluster.mode == "Autopilot" or creates_itself(site, pool)):
        labels[MAX_RUN_DURATION] = str(seconds)
    return labels


def _node(
    node_pool: str,
    index: int,
    labels: dict[str, str],
    taints: list[dict[str, str]],
    size: CpuMachine,
    chips: int = 0,
) -> dict[str, Any]:
    name = f"{node_pool}-{index}"
    size = replace(size, disk_gb=size.disk_gb or _GENEROUS_DISK_GB)
    shared = {"pods": str(_MAX_PODS)}
    if chips:
        shared[TPU] = str(chips)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {HOSTNAME: name, **_SYSTEM, SIMULATED: "true", **labels, NODE_POOL: node_pool},
        },
        "spec": {"taints": taints} if taints else {},
        "status": {
            "capacity": {
                **shared,
                "cpu": str(size.vcpus),
                "memory": f"{size.memory_mib}Mi",
                "ephemeral-storage": f"{size.disk_gb}Gi",
            },
            "allocatable": {
                **shared,
                "cpu": f"{size.allocatable_millicpus}m",
                "memory": f"{size.allocatable_mib}Mi",
                "ephemeral-storage": f"{size.allocatable_storage_mib}Mi",
            },
            "conditions": [
                {"type": kind, "status": status, "reason": reason} for kind, status, reason in _CONDITIONS
            ],
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": _NODE_INFO,
        },
    }


_CPU_NODES = 100
"""The most nodes of a CPU pool that are simulated only because it can have them."""


class NodePool(Struct, frozen=True):
    """The nodes of one slice, or of one CPU node pool."""

    name: str
    pool: str
    nodes: tuple[Object, ...]
    queued: bool
    """Whether only a ProvisioningRequest can get it."""
    life: float = math.inf
    """How many seconds GKE keeps the nodes."""


class Capacity(Struct, frozen=True):
    """All node pools that a cluster has or can have."""

    fixed: tuple[NodePool, ...]
    growing: tuple[NodePool, ...]

    def chips(self) -> dict[str, int]:
        """Return the chips that each TPU pool can have."""
        return _chips(self.fixed + self.growing)

    def chips_at_start(self) -> dict[str, int]:
        """Return the chips that each growing pool has at the start."""
        fixed = _chips(self.fixed)
        return {pool: fixed.get(pool, 0) for pool in _chips(self.growing)}

    def pools(self) -> dict[str, str]:
        """Return the pool of each node pool."""
        return {node_pool.name: node_pool.pool for node_pool in self.fixed + self.growing}


def chips_of(nodes: Iterable[Object]) -> int:
    """Return the chips of some nodes."""
    return sum(int(node["status"]["capacity"].get(TPU, 0)) for node in nodes)


def room(site: ResolvedCluster) -> int:
    """Return the most chips that a cluster can have."""
    return sum(size_range(site, pool).most * shape.chips for pool, shape in site.pools)


def capacity(site: ResolvedCluster, *, annotated: str = KWOK_NODES) -> Capacity:
    """Return the node pools of a cluster with their simulated nodes, which have the annotation `annotated`.

    Flex-start pools start empty, and a TPU pool with automatic scaling with its least number. On Autopilot,
    and with ComputeClasses that make node pools, what the file declares is what there is. A CPU pool has all
    nodes that it can have: Kueue admits up to their quota, and slices alone come on demand here.
    """
    least = {pool.name: size_range(site, pool).least for pool, _ in site.pools}
    pools = [(replace(pool, slices=size_range(site, pool).most), shape) for pool, shape in site.pools]
    # A large `max` of a CPU pool is a bound, and not what is used.
    cpus = tuple(
        replace(pool, nodes=max(pool.nodes, min(size_range(site, pool).most, _CPU_NODES)))
        for pool in site.cluster.cpu_pools
    )
    grown = replace(site, pools=tuple(pools), cluster=replace(site.cluster, cpu_pools=cpus))
    by_name: dict[str, list[Object]] = {}
    for node in simulated_nodes(grown, annotated=annotated):
        by_name.setdefault(node["metadata"]["labels"][NODE_POOL], []).append(node)
    fixed: list[NodePool] = []
    growing: list[NodePool] = []
    for pool, _ in pools:
        queued = pool.provisioning.type == "FlexStartQueued"
        for index, name in enumerate(slice_names(pool, pool.slices)):
            node_pool = NodePool(name, pool.name, tuple(by_name.pop(name)), queued, node_life(site, pool))
            (fixed if index < least[pool.name] else growing).append(node_pool)
    cpu = {name: pool.name for pool in site.cluster.cpu_pools for name in pool.node_pool_names}
    fixed += [NodePool(name, cpu[name], tuple(nodes), queued=False) for name, nodes in by_name.items()]
    return Capacity(tuple(fixed), tuple(growing))


def _chips(pools: tuple[NodePool, ...]) -> dict[str, int]:
    chips = Counter[str]()
    for node_pool in pools:
        chips[node_pool.pool] += chips_of(node_pool.nodes)
    return +chips
