"""Where TPU pods go: node selectors, components and policies for a shape and a way of provisioning (GKE)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from slicewright.intent.tpuworkload import DIRECT_JOBSET
from slicewright.kubernetes import labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.catalogue.shape import Shape
    from slicewright.intent.tpucluster import Cluster, TpuPool
    from slicewright.intent.tpuworkload import Provisioning, Workload
    from slicewright.kubernetes.problem import Path, Problem

FLEX_START_SECONDS = (600, 604_800)
"""Shortest and longest run on flex-start capacity: 10 minutes to 7 days (GKE cluster autoscaler)."""

NOT_SERVED = (
    "write OnDemand, Spot or a Reservation; `slicewright catalog` shows the machine types with flex-start"
)

_COMPONENT = {
    "OnDemand": "",
    "Spot": "spot",
    "FlexStart": "flex-start",
    "FlexStartQueued": "flex-start-queued",
    "Reservation": "reservation",
    "ComputeClass": "compute-class",
}


class Placement(Struct, frozen=True):
    """Components and policies of a kind of provisioning."""

    node_selector: dict[str, str]
    annotations: dict[str, str]
    component: str
    """Name of the component below bases/components, or nothing."""


def shape_selector(shape: Shape) -> dict[str, str]:
    """Return the node labels that select the hosts of a shape, and no other hosts."""
    selector = {labels.ACCELERATOR: shape.accelerator, labels.TOPOLOGY: shape.topology}
    if shape.needs_accelerator_count:
        selector[labels.ACCELERATOR_COUNT] = str(shape.chips_per_host)
    return selector


def provisioning_selector(way: Provisioning) -> dict[str, str]:
    """Return the labels by which pods, and the flavors of queues, choose nodes of a way of provisioning.

    Nodes on demand have none. Queued flex-start nodes have the label of flex-start, as their node pools are
    made with both flags: what tells them apart is their taint.
    """
    if way.type == "Spot":
        return {labels.SPOT: "true"}
    if way.type == "FlexStart":
        return {labels.FLEX_START: "true"}
    if way.type == "Reservation":
        return _reservation(way)
    return {labels.COMPUTE_CLASS: way.name} if way.type == "ComputeClass" else {}


def flavor_name(shape: Shape, way: Provisioning) -> str:
    """Return the default name of the ResourceFlavor of a shape and a kind of provisioning."""
    machine = f"{shape.chips_per_host}t" if shape.needs_accelerator_count else ""
    parts = (shape.generation, shape.topology, machine, _COMPONENT[way.type], way.name)
    return "-".join(filter(None, (*parts, way.block, way.sub_block)))


def is_served(shape: Shape, way: Provisioning) -> bool:
    """Tell whether GKE offers a shape with a kind of provisioning, as far as the catalogue knows."""
    if not way.is_flex_start:
        return True
    return shape.flex_start and (way.type == "FlexStart" or shape.machine.queued is not False)


def lifetime_problem(subject: str, seconds: int | None) -> tuple[str, str] | None:
    """Return message and hint if `subject` needs flex-start capacity for longer than it lasts."""
    low, high = FLEX_START_SECONDS
    if seconds is None or low <= seconds <= high:
        return None
    message = f"flex-start {subject} {low} to {high} seconds, not {seconds}"
    return message, f"write a number from {low} (10 minutes) to {high} (7 days)"


def life_of(way: Provisioning, seconds: int | None) -> float:
    """Return how long nodes live whose file says `seconds`; infinity if nothing limits it."""
    return seconds or (FLEX_START_SECONDS[1] if way.is_flex_start else math.inf)


def tolerated_taints(way: Provisioning) -> tuple[str, ...]:
    """Return the keys of the taints (`true`, NoSchedule) that GKE puts on nodes of a way of provisioning."""
    return {"Spot": (labels.SPOT,), "FlexStartQueued": (labels.QUEUED,)}.get(way.type, ())


def tolerations(way: Provisioning) -> tuple[dict[str, str], ...]:
    """Return the tolerations of the taints that GKE puts on nodes of a way of provisioning."""
    taint = {"operator": "Equal", "value": "true", "effect": "NoSchedule"}
    return tuple({"key": key, **taint} for key in tolerated_taints(way))


def place(workload: Workload, shape: Shape, *, autopilot: bool) -> Placement:
    """Return selectors, annotations and the component for a workload's provisioning.

    The run duration is a label of the nodes that GKE's autoscaler makes for the pods that select it. It puts
    the label on node pools of its own, so nodes of a pool that people make do not have it (see
    `systemLabelsAddedByClusterAutoscaler` in pkg/cloudprovider/gke/labels/system_labels.go and
    `MaxRunDurationGenerator` in pkg/autoprovisioning/injection.go of GoogleCloudPlatform/cluster-autoscaler).
    """
    way = workload.provisioning
    selector, annotations = shape_selector(shape), {}
    seconds = workload.max_run_duration_seconds
    if any(each.type == "FlexStartQueued" for each in workload.ways):
        annotations[labels.PROVISIONING_REQUEST_DURATION] = str(seconds or FLEX_START_SECONDS[1])
    if workload.alternative_provisioning:
        # Kueue adds the labels and the tolerations of the flavor to which it admits the run.
        return Placement(selector, annotations, "")
    selector |= provisioning_selector(way)
    if autopilot and seconds is not None and way.type != "FlexStartQueued":
        selector[labels.MAX_RUN_DURATION] = str(seconds)
    return Placement(selector, annotations, _COMPONENT[way.type])


def _reservation(way: Provisioning) -> dict[str, str]:
    """Return the labels of nodes of a reservation, one for each part that is written.

    GKE makes them from the reservation affinity of a node pool, also of one that people create: GKE's
    autoscaler sends none of them when it creates a node pool (`filterOutExternalSystemLabels` in
    GoogleCloudPlatform/cluster-autoscaler at 7d250507). Nodes of a pool that gcloud made in a sub-block have
    `subblocks` (gpu/a4x-max/11-gke-setup, 07-megatron-training of yangwhale/gpu-tpu-pedia at 3fa9ce1). Pods
    of axlearn select `name` and `project` on pools that tpu-provisioner creates without these labels.
    """
    parts = {"name": way.name, "project": way.project, "blocks": way.block, "subblocks": way.sub_block}
    return {labels.RESERVATION + key: value for key, value in parts.items() if value}


def refusals(workload: Workload, shape: Shape | None) -> Iterator[Problem]:
    """Yield errors of GKE or Kueue about a workload's provisioning; None is an unknown shape."""
    seconds, source = workload.max_run_duration_seconds, workload.source
    path: Path = ("spec", "maxRunDurationSeconds")
    flex = any(way.is_flex_start for way in workload.ways)
    queued = any(way.type == "FlexStartQueued" for way in workload.ways)
    for index, way in enumerate(workload.ways):
        if shape and not is_served(shape, way):
            place = ("spec", "alternativeProvisioning", index - 1) if index else ("spec", "provisioning")
            message = f"{shape.machine_type} is not available as {way.type}"
            yield source.problem("TPU011", place, message, NOT_SERVED)
    if seconds is not None and workload.alternative_provisioning and not queued:
        message = "the run may use several kinds of provisioning, "
        message += "but these have no common maxRunDurationSeconds"
        hint = "leave it out: with several kinds of provisioning it limits only FlexStartQueued"
        yield source.problem("TPU012", path, message, hint, key=True)
    elif seconds is not None and workload.provisioning.type == "ComputeClass":
        hint = "leave it out, and write maxRunDurationSeconds in the priorities of the ComputeClass"
        yield source.problem("TPU012", path, "the ComputeClass sets how long its nodes live", hint, key=True)
    if flex and (wrong := lifetime_problem("runs must last", seconds)):
        yield source.problem("TPU012", path, *wrong)
    if queued and not workload.queue_name:
        message = "FlexStartQueued needs a queue: Kueue creates the ProvisioningRequest"
        hint = "add spec.queueName, or write provisioning: FlexStart"
        yield source.problem("TPU013", ("spec", "provisioning"), message, hint)
    if queued and workload.api == "PathwaysJob":
        message = "FlexStartQueued pods need a toleration that a PathwaysJob cannot have"
        yield source.problem("TPU013", ("spec", "provisioning"), message, DIRECT_JOBSET)


def placed_by_policy(shape: Shape) -> bool:
    """Tell whether a workload policy, and not the topology of the node pool, places the slice."""
    return shape.multi_host and shape.machine.placement == "HIGH_THROUGHPUT"


def policy_name(cluster: Cluster, pool: TpuPool) -> str:
    """Return the name of the workload policy of a pool whose slices need one."""
    policy: str = cluster.written(pool).get("placementPolicyName", "")
    return policy or f"{cluster.name}-{pool.name}"
