"""Rules of how TPU nodes are obtained: flex-start, Spot, reservations, node labels that GKE does not have."""

import math
import re
from collections.abc import Iterator
from typing import Any

from slicewright.catalogue.shape import Generation, is_below
from slicewright.check.rules.fit import asked
from slicewright.check.rules.tpu_shape import is_pathways, shape, shapes
from slicewright.document import edit as edits
from slicewright.kubernetes.fields import at, digits, entries, mapping, number, text, texts
from slicewright.kubernetes.kinds import POD_KINDS, RUN_KINDS, TEMPLATE_KINDS
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    COMPUTE_CLASS,
    FLEX_START,
    GKE_PROVISIONING,
    MAX_EXECUTION_TIME,
    MAX_RUN_DURATION,
    NODE_POOL,
    PREEMPTIBLE,
    PROVISIONING_REQUEST_DURATION,
    QUEUE,
    QUEUED,
    QUEUED_CLASS,
    RESERVATION,
    RESERVATION_AFFINITY,
    SPOT,
    TOPOLOGY,
    TPU,
)
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Fix, Path
from slicewright.kubernetes.scheduler import PURCHASE, node_selector, tolerates
from slicewright.kueue.quota import Flavor
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.placement import FLEX_START_SECONDS, provisioning_selector, shape_selector
from slicewright.rendering.plan.resolved_cluster import node_life
from slicewright.rendering.plan.validate_workload_pools import has_no_other_nodes

_RUN_SECONDS = (30, 10_368_000)
"""Shortest and longest maxRunDuration of other nodes: 30 seconds to 120 days (GKE cluster autoscaler)."""

NO_LABELS = {
    "cloud.google.com/gke-reservation-name": "write cloud.google.com/reservation-name",
    RESERVATION_AFFINITY: "write cloud.google.com/reservation-name",
    "cloud.google.com/gke-reservation": "write cloud.google.com/reservation-name",
    "cloud.google.com/gke-tpu-type": "write cloud.google.com/gke-tpu-accelerator",
    "cloud.google.com/gke-tpu-count": "write cloud.google.com/gke-accelerator-count",
    "cloud.google.com/tpu-topology": "write cloud.google.com/gke-tpu-topology",
    "cloud.google.com/gke-compute-class": "write cloud.google.com/compute-class",
    "cloud.google.com/gke-node-pool": "write cloud.google.com/gke-nodepool",
}
_NODE_LABELS = frozenset({ACCELERATOR, ACCELERATOR_COUNT, COMPUTE_CLASS, NODE_POOL, TOPOLOGY})
"""Labels that a misspelt one can be renamed to: their values are the same."""
_NO_LABELS_OF_POOLS = {
    QUEUED: "it is the key of a taint; select cloud.google.com/gke-flex-start, or label the node pools"
}
"""Labels that cluster-toolkit puts on its node pools: unknown only where the pools are known."""


@rule("TPU121", TEMPLATE_KINDS)
def _unknown_labels(resource: Resource, objects: ObjectSet) -> Findings:
    own = objects.widest.once("labels of nodes", own_labels)
    unknown = NO_LABELS | (_NO_LABELS_OF_POOLS if objects.site else {})
    for pods in resource.pods:
        for key in mapping(pods.spec.get("nodeSelector")):
            if key in unknown and key not in own:
                path = (*pods.spec_path, "nodeSelector", key)
                right = unknown[key].removeprefix("write ")
                is_same = right in _NODE_LABELS and right not in pods.selector
                fix = edits.rename(path, right) if is_same else None
                message = f"GKE puts no label '{key}' on nodes"
                yield Finding(path, message, unknown[key], fix, objects.is_cluster)


def own_labels(objects: ObjectSet) -> frozenset[str]:
    """Return the labels that people put on nodes, as far as flavors and the cluster's file tell."""
    own = [at(flavor.data, "spec", "nodeLabels") for flavor in objects.of_kind("ResourceFlavor")]
    pools = entries(objects.site and objects.site.cluster.spec.get("pools"))
    return frozenset().union(*map(texts, (*own, *(pool.get("labels") for _, pool in pools))))


def _is_flex(pods: Pods) -> bool:
    return pods.selector.get(FLEX_START) == "true" or pods.selector.get(GKE_PROVISIONING) == "flex-start"


@rule("TPU122", TEMPLATE_KINDS)
def _flex_conflicts(resource: Resource, _objects: ObjectSet) -> Findings:
    queued = PROVISIONING_REQUEST_DURATION in resource.annotations
    for pods in resource.pods:
        if not (_is_flex(pods) or (queued and pods.is_tpu)):
            continue
        for key in pods.selector:
            is_conflict = key in (SPOT, PREEMPTIBLE) and pods.selector[key] == "true"
            if is_conflict or key.startswith(RESERVATION):
                yield Finding(pods.selector_path(key), f"the pods select flex-start and '{key}'")


@rule("TPU123", TEMPLATE_KINDS)
def _flex_generation(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        machines = objects.catalogue.accelerators.get(pods.selector.get(ACCELERATOR, ""), ())
        if machines and _is_flex(pods) and not any(machine.flex_start for machine in machines):
            path = pods.selector_path(FLEX_START if FLEX_START in pods.selector else GKE_PROVISIONING)
            yield Finding(path, f"flex-start does not support {machines[0].accelerator}")


@rule("TPU124", TEMPLATE_KINDS | {"ComputeClass", "ProvisioningRequest"})
def _run_time(resource: Resource, _objects: ObjectSet) -> Findings:
    path: Path = ("metadata", "annotations", PROVISIONING_REQUEST_DURATION)
    duration = resource.annotations.get(PROVISIONING_REQUEST_DURATION)
    yield from _lifetime(duration, path, "a queued run must last", FLEX_START_SECONDS)
    if at(resource.data, "spec", "provisioningClassName") == QUEUED_CLASS:
        path = ("spec", "parameters", "maxRunDurationSeconds")
        yield from _lifetime(at(resource.data, *path), path, "a queued run must last", FLEX_START_SECONDS)
    for pods in resource.pods:
        duration, path = pods.selector.get(MAX_RUN_DURATION), pods.selector_path(MAX_RUN_DURATION)
        yield from _lifetime(duration, path, *_nodes(is_flex=_is_flex(pods)))
    for index, rung in entries(at(resource.data, "spec", "priorities")):
        path = ("spec", "priorities", index, "maxRunDurationSeconds")
        is_flex = at(rung, "flexStart", "enabled") is True
        yield from _lifetime(rung.get("maxRunDurationSeconds"), path, *_nodes(is_flex=is_flex))


def _nodes(*, is_flex: bool) -> tuple[str, tuple[int, int]]:
    return (
        ("a flex-start node must live", FLEX_START_SECONDS) if is_flex else ("a node must live", _RUN_SECONDS)
    )


def _lifetime(seconds: object, path: Path, lives: str, bounds: tuple[int, int]) -> Findings:
    low, high = bounds
    is_number = re.fullmatch("[0-9]{1,9}", str(seconds)) is not None
    if seconds is not None and not (is_number and low <= int(str(seconds)) <= high):
        yield Finding(path, f"{lives} {low} to {high} seconds, not '{seconds}'")


@rule("TPU147", POD_KINDS, "warning")
def _deadline(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        life = _life(resource, pods, objects)
        deadlines: dict[Path, int | None] = {
            (*pods.job_path, "activeDeadlineSeconds"): number(pods.job.get("activeDeadlineSeconds")),
            (*pods.spec_path, "activeDeadlineSeconds"): number(pods.spec.get("activeDeadlineSeconds")),
        }
        # A run that restarts goes on when new nodes come; a queued one does not.
        restarts = at(resource.data, "spec", "failurePolicy", "maxRestarts") or at(
            resource.data, "spec", "maxRestarts"
        )
        if PROVISIONING_REQUEST_DURATION in resource.annotations or not restarts:
            label = resource.labels.get(MAX_EXECUTION_TIME, "")
            deadlines["metadata", "labels", MAX_EXECUTION_TIME] = digits(label)
        for path, deadline in deadlines.items():
            if deadline is not None and deadline > life:
                message = f"the deadline is {deadline} s, but the nodes live {life:.0f} s"
                yield Finding(path, message, f"write at most {life:.0f}, and allow time for the start")


def _life(resource: Resource, pods: Pods, objects: ObjectSet) -> float:
    """Return how many seconds the nodes of pods exist at most; infinity if that is not known."""
    site = objects.site if pods.is_tpu else None
    spans = [pods.selector.get(MAX_RUN_DURATION), resource.annotations.get(PROVISIONING_REQUEST_DURATION)]
    lives: list[float] = [life for span in spans if (life := digits(span or "")) is not None]
    classes = objects.candidates("ComputeClass", pods.selector.get(COMPUTE_CLASS, ""), near=resource.file)
    priorities = [entries(at(candidate.data, "spec", "priorities")) for candidate in classes]
    rungs = [_of_rung(rung) for of_class in priorities for _, rung in of_class]
    if rungs and all(rungs):
        lives.append(max(rungs))
    if _is_flex(pods) or PROVISIONING_REQUEST_DURATION in resource.annotations:
        lives.append(FLEX_START_SECONDS[1])
    if site and PROVISIONING_REQUEST_DURATION not in resource.annotations and has_no_other_nodes(site):
        nodes = node_selector(pods.spec)
        of_pools = [
            node_life(site, pool)
            for pool, has in site.pools
            if nodes.suits(shape_selector(has) | provisioning_selector(pool.provisioning), PURCHASE)
        ]
        lives.append(max(of_pools, default=math.inf))
    return min(lives, default=math.inf)


def _of_rung(rung: dict[str, Any]) -> int:
    """Return how many seconds the nodes of a priority of a ComputeClass exist at most; 0 without a limit."""
    flex = FLEX_START_SECONDS[1] if at(rung, "flexStart", "enabled") is True else 0
    return number(rung.get("maxRunDurationSeconds")) or flex


def _tolerates(pods: Pods, key: str) -> bool:
    taint = {"key": key, "value": "true", "effect": "NoSchedule"}
    return tolerates(pods.tolerations, taint)


def _tolerated(resource: Resource, pods: Pods, key: str) -> Fix | None:
    toleration = {"key": key, "operator": "Exists", "effect": "NoSchedule"}
    return edits.append(resource.data, (*pods.spec_path, "tolerations"), toleration)


@rule("TPU125", POD_KINDS)
def _toleration_alone(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        if pods.is_tpu and not _is_flex(pods):
            for index, entry in entries(pods.spec.get("tolerations")):
                if entry.get("key") == FLEX_START:
                    path = (*pods.spec_path, "tolerations", index)
                    message = "the pods tolerate flex-start nodes but do not select them"
                    yield Finding(path, message, is_certain=objects.is_cluster)


@rule("TPU126", POD_KINDS, "warning")
def _spot(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        if pods.is_tpu and pods.selector.get(SPOT) == "true" and not _tolerates(pods, SPOT):
            message = "the pods select Spot nodes but do not tolerate them"
            yield Finding(pods.selector_path(SPOT), message, fix=_tolerated(resource, pods, SPOT))
    # The operator gives its workers no tolerations; those of a flavor reach the JobSet that it makes.
    for index, worker in entries(at(resource.data, "spec", "workers")):
        if at(worker, "nodeSelector", SPOT) == "true" and QUEUE not in resource.labels:
            path = ("spec", "workers", index, "nodeSelector", SPOT)
            hint = "add a queue whose flavor tolerates the taint, or write a JobSet"
            yield Finding(path, "the workers select Spot nodes but cannot tolerate their taint", hint)


@rule("TPU157", RUN_KINDS, "warning")
def _way_of_queue(resource: Resource, objects: ObjectSet) -> Findings:
    # Where the pools are known, FIT120 compares them with the selector.
    ask = None if objects.site else asked(resource, objects)
    if ask is None or not all(name in ask.known.flavors for choice in ask.choices for name in choice.group):
        return
    members = {
        member.name: choice for choice in ask.choices if TPU in choice.requests for member in choice.pods
    }
    # Flavors that never say how nodes are bought may hold several kinds.
    says = any(way in flavor.labels for flavor in ask.known.flavors.values() for way in PURCHASE)
    if says:
        for pods in resource.pods:
            choice = members.get(pods.name or "main")
            flavors = [ask.known.flavors[name] for name in choice.group] if choice else []
            if flavors:
                for key in (SPOT, FLEX_START):
                    is_selected = pods.selector.get(key) == "true"
                    if is_selected and not any(_is_of(flavor, key) for flavor in flavors):
                        message = f"the pods select {key}=true, but no flavor of "
                        message += f"ClusterQueue '{ask.queue.name}' has it"
                        yield Finding(pods.selector_path(key), message)


def _is_of(flavor: Flavor, key: str) -> bool:
    return key in flavor.labels or any(taint.get("key") == key for taint in flavor.taints)


@rule("TPU127", {"JobSet", "Job"})
def _queued(resource: Resource, objects: ObjectSet) -> Findings:
    if PROVISIONING_REQUEST_DURATION in resource.annotations:
        for pods in resource.pods:
            if pods.is_tpu and not _tolerates(pods, QUEUED):
                message = "queued nodes have a taint, but the pods do not tolerate it"
                fix = _tolerated(resource, pods, QUEUED)
                # The flavor of their queue may tolerate it.
                yield Finding(pods.spec_path, message, fix=fix, is_certain=objects.is_cluster)


@rule("TPU128", {"ComputeClass"}, says=("Flex Start provisioning model is incompatible with Spot",))
def _classes(resource: Resource, objects: ObjectSet) -> Findings:
    for index, rung in entries(at(resource.data, "spec", "priorities")):
        if at(rung, "flexStart", "enabled") is not True:
            continue
        path = ("spec", "priorities", index, "flexStart")
        accelerator = text(at(rung, "tpu", "type"))
        machines = objects.catalogue.accelerators.get(accelerator, ())
        if machines and not any(machine.flex_start for machine in machines):
            yield Finding(path, f"flex-start does not support {accelerator}")
        for key in ("spot", "reservations"):
            if rung.get(key):
                yield Finding(
                    path,
                    f"one priority requests both flex-start and {key}",
                    "write one priority for each of the two",
                )


@rule("TPU129", {"JobSet", "Job"})
def _machine_of_queue(resource: Resource, objects: ObjectSet) -> Findings:
    if PROVISIONING_REQUEST_DURATION in resource.annotations:
        for pods in resource.pods:
            rows = shapes(pods, objects)
            if rows and all(row.machine.queued is False for row in rows):
                path = ("metadata", "annotations", PROVISIONING_REQUEST_DURATION)
                yield Finding(path, f"queued provisioning does not support {rows[0].accelerator}")


def _features(
    resource: Resource, pods: Pods, objects: ObjectSet, generation: Generation
) -> Iterator[tuple[str, str]]:
    """Yield (name in the catalogue, what people call it) of the features that pods use."""
    autopilot = objects.site is not None and objects.site.cluster.mode == "Autopilot"
    yield ("autopilot" if autopilot else "standard"), generation.name
    if pods.selector.get(FLEX_START) == "true":
        yield "flexStart", "flex-start"
    row = shape(pods, objects) if resource.kind == "JobSet" and pods.replicas > 1 else None
    if row and row.multislice and not is_pathways(resource):
        yield ("multisliceAutopilot" if autopilot else "multislice"), "multislice"


@rule("TPU141", POD_KINDS)
def minimum_version(resource: Resource, objects: ObjectSet) -> Findings:
    """Find TPU features that need a later version of GKE than the cluster has."""
    version = text(at(objects.site.cluster.spec, "gke", "version")) if objects.site else ""
    if version:
        for pods in resource.pods:
            machines = objects.catalogue.accelerators.get(pods.selector.get(ACCELERATOR, ""))
            if not machines:
                continue
            generation = objects.catalogue.generations[machines[0].generation]
            for feature, name in _features(resource, pods, objects, generation):
                minimum = generation.minimum_gke.get(feature, ())
                if minimum and is_below(version, minimum):
                    message = f"{name} needs GKE {' or '.join(minimum)}, but the cluster has {version}"
                    yield Finding(pods.selector_path(ACCELERATOR), message)
