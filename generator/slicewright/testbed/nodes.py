"""Simulated nodes: what GKE would show for the node pools of a TPUCluster file."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    COMPUTE_CLASS,
    FLEX_START,
    HOSTNAME,
    INSTANCE_TYPE,
    MAX_RUN_DURATION,
    NODE_POOL,
    QUEUED,
    REGION,
    RESERVATION,
    SPOT,
    TOPOLOGY,
    TPU,
    ZONE,
)
from slicewright.core.plan import placement
from slicewright.core.plan.scaling import slice_names
from slicewright.core.provision.node_pool import creates_itself
from slicewright.testbed import kwok, machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.cpu_machine import CpuMachine
    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.cluster import CpuPool, TpuPool
    from slicewright.core.intent.workload import Provisioning
    from slicewright.core.plan.resolve import ResolvedCluster

TPU_TAINT = {"key": TPU, "value": "present", "effect": "NoSchedule"}
SIMULATED = "slicewright.dev/simulated"
"""Label of every simulated node; real pods of a mixed cluster can keep away from it."""

_SYSTEM = {
    f"{prefix}kubernetes.io/{key}": value
    for prefix in ("", "beta.")
    for key, value in (("os", "linux"), ("arch", "amd64"))
}
"""The old names too, as on GKE: where they are missing, a controller reads each node again and adds them."""

_MAX_PODS = 110
_EPHEMERAL_STORAGE = "100Gi"
_CONDITIONS = (
    ("Ready", "True", "KubeletReady"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasNoPIDPressure"),
)


def simulated_nodes(site: ResolvedCluster, *, played: str = kwok.KWOK_NODES) -> list[dict[str, Any]]:
    """Return the nodes of all pools of a cluster: one node pool a slice, one node a TPU VM.

    `played` is the value of the annotation by which a KWOK knows its nodes.
    """
    addresses = (f"10.{128 + n // 65536}.{n // 256 % 256}.{n % 256}" for n in count(1))
    found = [*_tpu_nodes(site), *_cpu_nodes(site)]
    for node, address in zip(found, addresses, strict=False):
        node["metadata"]["annotations"] = {kwok.NODE_ANNOTATION: played}
        node["status"]["addresses"].insert(0, {"type": "InternalIP", "address": address})
    return found


def _tpu_nodes(site: ResolvedCluster) -> Iterator[dict[str, Any]]:
    for pool, shape in site.pools:
        labels = {
            **_place(site, pool),
            **_labels_of(site, pool),
            **_provisioning_labels(site, pool),
            **_shape_labels(shape),
        }
        taints = [TPU_TAINT, *_provisioning_taints(pool.provisioning)]
        size = machine.machine_of_size(shape.machine.vcpus, shape.machine.memory_gb * 1024)
        for node_pool in slice_names(pool, pool.slices):
            for index in range(shape.hosts):
                yield _node(
                    f"{node_pool}-{index}",
                    labels={**labels, NODE_POOL: node_pool},
                    taints=taints,
                    size=size,
                    chips=shape.chips_per_host,
                )


def _cpu_nodes(site: ResolvedCluster) -> Iterator[dict[str, Any]]:
    for pool in site.cluster.cpu_pools:
        labels = {
            **_place(site, pool),
            **_labels_of(site, pool),
            INSTANCE_TYPE: pool.machine_type,
        }
        size = machine.machine_of_type(pool.machine_type)
        for index in range(pool.nodes):
            node_pool = pool.node_pool_names[index % len(pool.node_pool_names)]
            yield _node(
                f"{node_pool}-{index // len(pool.node_pool_names)}",
                labels={**labels, NODE_POOL: node_pool},
                taints=[],
                size=size,
                chips=0,
            )


def _shape_labels(shape: Shape) -> dict[str, str]:
    return {
        INSTANCE_TYPE: shape.machine_type,
        ACCELERATOR: shape.accelerator,
        TOPOLOGY: shape.topology,
        ACCELERATOR_COUNT: str(shape.chips_per_host),
    }


def _labels_of(site: ResolvedCluster, pool: TpuPool | CpuPool) -> dict[str, str]:
    labels: dict[str, str] = site.cluster.spec["pools"][pool.index].get("labels", {})
    return labels


def _place(site: ResolvedCluster, pool: TpuPool | CpuPool) -> dict[str, str]:
    spec = site.cluster.spec
    zones = spec["pools"][pool.index].get("nodeLocations") or spec.get("nodeLocations")
    labels = {REGION: spec.get("location", ""), ZONE: ""}
    if zones:
        labels[ZONE] = zones[0]
    return {key: value for key, value in labels.items() if value}


def _provisioning_labels(site: ResolvedCluster, pool: TpuPool) -> dict[str, str]:
    wanted = pool.provisioning
    seconds = site.cluster.spec["pools"][pool.index].get("maxRunDurationSeconds")
    labels: dict[str, str] = {}
    if wanted.type == "Spot":
        labels[SPOT] = "true"
    elif wanted.type in ("FlexStart", "FlexStartQueued"):
        labels[FLEX_START] = "true"
    elif wanted.type == "Reservation":
        parts = {**placement.reservation_parts(wanted), "affinity": "specific"}
        labels = {f"{RESERVATION}{key}": value for key, value in parts.items()}
    elif wanted.type == "ComputeClass":
        labels[COMPUTE_CLASS] = wanted.name
    if seconds is not None and (site.cluster.mode == "Autopilot" or creates_itself(site, pool)):
        labels[MAX_RUN_DURATION] = str(seconds)
    return labels


def _provisioning_taints(wanted: Provisioning) -> list[dict[str, str]]:
    keys = {"Spot": SPOT, "FlexStartQueued": QUEUED}
    if wanted.type not in keys:
        return []
    return [{"key": keys[wanted.type], "value": "true", "effect": "NoSchedule"}]


def _node(
    name: str, *, labels: dict[str, str], taints: list[dict[str, str]], size: CpuMachine, chips: int
) -> dict[str, Any]:
    shared = {"pods": str(_MAX_PODS), "ephemeral-storage": _EPHEMERAL_STORAGE}
    if chips:
        shared[TPU] = str(chips)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                HOSTNAME: name,
                **_SYSTEM,
                SIMULATED: "true",
                **labels,
            },
        },
        "spec": {"taints": taints} if taints else {},
        "status": {
            "capacity": {**shared, "cpu": str(size.vcpus), "memory": f"{size.memory_mib}Mi"},
            "allocatable": {
                **shared,
                "cpu": f"{size.allocatable_millicpus}m",
                "memory": f"{size.allocatable_mib}Mi",
            },
            "conditions": [
                {"type": kind, "status": status, "reason": reason} for kind, status, reason in _CONDITIONS
            ],
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "kernelVersion": "simulated",
                "osImage": "simulated",
                "containerRuntimeVersion": "simulated",
                "kubeletVersion": "simulated",
                "kubeProxyVersion": "",
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
            },
        },
    }
