"""ComputeClasses of GKE: ladders of ways to obtain a slice."""

from collections.abc import Iterator
from typing import Any

from slicewright.catalogue.shape import Shape
from slicewright.intent.tpucluster import Rung
from slicewright.intent.tpuworkload import Provisioning
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster


def compute_classes(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the ComputeClasses; without a rung that has capacity pods wait, and no other machine comes."""
    for compute_class, rungs in site.compute_classes:
        yield {
            "apiVersion": "cloud.google.com/v1",
            "kind": "ComputeClass",
            "metadata": {"name": compute_class.name},
            "spec": {
                "activeMigration": {"optimizeRulePriority": compute_class.optimize_rule_priority},
                "nodePoolAutoCreation": {"enabled": compute_class.node_pool_auto_creation},
                "priorities": [_priority(rung, shape) for rung, shape in rungs],
                "whenUnsatisfiable": "DoNotScaleUp",
            },
        }


def _priority(rung: Rung, shape: Shape) -> dict[str, Any]:
    """Return a rung; `count` is the chips of one node."""
    tpu = {"type": shape.accelerator, "count": shape.chips_per_host, "topology": shape.topology}
    priority: dict[str, Any] = {"tpu": tpu, **_obtained(rung.provisioning)}
    if rung.max_run_duration_seconds is not None:
        priority["maxRunDurationSeconds"] = rung.max_run_duration_seconds
    if rung.placement_policy_name:
        priority["placement"] = {"policyName": rung.placement_policy_name}
    return priority


def _obtained(way: Provisioning) -> dict[str, Any]:
    if way.type == "Spot":
        return {"spot": True}
    if way.type == "FlexStart":
        return {"flexStart": {"enabled": True}}
    if way.type != "Reservation":
        return {}
    reservation: dict[str, Any] = {"name": way.name}
    if way.project:
        reservation["project"] = way.project
    if way.block:
        sub_block = {"reservationSubBlock": {"name": way.sub_block}} if way.sub_block else {}
        reservation["reservationBlock"] = {"name": way.block, **sub_block}
    return {"reservations": {"affinity": "Specific", "specific": [reservation]}}
