"""The files of a cluster's platform: overlays/<cluster>/_platform, with the ComputeClasses of GKE."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from slicewright.catalogue.shape import Shape
from slicewright.document.write import write_documents
from slicewright.intent.tpucluster import Rung
from slicewright.intent.tpuworkload import Provisioning
from slicewright.kubernetes.types import Object
from slicewright.rendering.compose.kustomization import FILE_NAME
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform import queues
from slicewright.rendering.platform.flavor import flavors
from slicewright.rendering.platform.kueue_configuration import kueue_configuration
from slicewright.rendering.platform.teams import namespaces, team
from slicewright.rendering.run.folder import platform_folder
from slicewright.rendering.run.header import listing


def files(site: ResolvedCluster, untainted: Collection[str] = ()) -> dict[str, str]:
    """Return the files of a cluster's platform by path; none if the platform is not ours to make.

    `untainted` are flavors whose taint waits until no run is left that does not tolerate it.
    """
    if not site.cluster.managed:
        return {}
    parts = {name: list(objects) for name, objects in _parts(site, untainted)}
    contents = {name: site.live(write_documents(objects)) for name, objects in parts.items() if objects}
    if contents:
        contents[FILE_NAME] = listing("the platform in this folder", contents)
    return {f"{platform_folder(site.cluster.name)}/{name}": text for name, text in contents.items()}


def objects(site: ResolvedCluster, untainted: Collection[str] = ()) -> list[Object]:
    """Return the objects of a cluster's platform, also of one that is not ours to make."""
    return [item for _, items in _parts(site, untainted) for item in items]


def kueue_objects(site: ResolvedCluster) -> list[Object]:
    """Return the queues of a cluster's platform, with their flavors and cohorts."""
    return [item for _, items in _kueue_parts(site, ()) for item in items]


def _kueue_parts(site: ResolvedCluster, untainted: Collection[str]) -> Iterator[tuple[str, Iterable[Object]]]:
    yield "topologies.yaml", queues.topologies(site)
    yield "flavors.yaml", flavors(site, untainted)
    yield "checks.yaml", queues.checks(site)
    yield "queues.yaml", (*queues.cohorts(site), *queues.cluster_queues(site))
    yield "local-queues.yaml", queues.local_queues(site)


def _parts(site: ResolvedCluster, untainted: Collection[str]) -> Iterator[tuple[str, Iterable[Object]]]:
    """Yield each file's name and its objects, in order of the list."""
    yield "namespaces.yaml", namespaces(site)
    yield "priority-classes.yaml", queues.priority_classes(site)
    yield from _kueue_parts(site, untainted)
    yield "compute-classes.yaml", compute_classes(site)
    for entry in site.cluster.teams:
        yield f"team-{entry.name}.yaml", team(entry)
    yield "kueue-manager-config.yaml", kueue_configuration(site)


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
