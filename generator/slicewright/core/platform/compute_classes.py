"""ComputeClasses of GKE: ladders of ways to obtain a slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.cluster import Rung
    from slicewright.core.intent.workload import Provisioning
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster


def compute_classes(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the ComputeClasses; without a rung that has capacity pods wait, and no other machine comes."""
    for item, rungs in site.compute_classes:
        yield {
            "apiVersion": "cloud.google.com/v1",
            "kind": "ComputeClass",
            "metadata": {"name": item.name},
            "spec": {
                "activeMigration": {"optimizeRulePriority": item.optimize_rule_priority},
                "nodePoolAutoCreation": {"enabled": item.node_pool_auto_creation},
                "priorities": [_priority(rung, shape) for rung, shape in rungs],
                "whenUnsatisfiable": "DoNotScaleUp",
            },
        }


def _priority(rung: Rung, shape: Shape) -> dict[str, Any]:
    """Return a rung; `count` is the chips of one node."""
    tpu = {"type": shape.accelerator, "count": shape.chips_per_host, "topology": shape.topology}
    found: dict[str, Any] = {"tpu": tpu, **_obtained(rung.provisioning)}
    if rung.max_run_duration_seconds is not None:
        found["maxRunDurationSeconds"] = rung.max_run_duration_seconds
    if rung.placement_policy_name:
        found["placement"] = {"policyName": rung.placement_policy_name}
    return found


def _obtained(wanted: Provisioning) -> dict[str, Any]:
    if wanted.type == "Spot":
        return {"spot": True}
    if wanted.type == "FlexStart":
        return {"flexStart": {"enabled": True}}
    if wanted.type != "Reservation":
        return {}
    one: dict[str, Any] = {"name": wanted.name}
    if wanted.project:
        one["project"] = wanted.project
    if wanted.block:
        sub_block = {"reservationSubBlock": {"name": wanted.sub_block}} if wanted.sub_block else {}
        one["reservationBlock"] = {"name": wanted.block, **sub_block}
    return {"reservations": {"affinity": "Specific", "specific": [one]}}
