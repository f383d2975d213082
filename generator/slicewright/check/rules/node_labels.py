"""Rules of node labels: selectors that no node can have together, and labels of exclusive placement."""

from collections.abc import Callable

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import joined
from slicewright.check.rules.network_policies import labels_of, selects
from slicewright.check.rules.tpu_shape import exclusive, multi_host, of_labels
from slicewright.check.rules.tpu_slices import exclusive_path
from slicewright.kubernetes.fields import at, entries, mapping, text, texts
from slicewright.kubernetes.kinds import JOB_KINDS, TEMPLATE_KINDS
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    COMPUTE_CLASS,
    FLEX_START,
    GKE_PROVISIONING,
    GPU,
    HOSTNAME,
    INSTANCE_TYPE,
    MACHINE_FAMILY,
    NODE_POOL,
    PREEMPTIBLE,
    REGION,
    SLICE_TOPOLOGY,
    SPOT,
    TOPOLOGY,
    ZONE,
    meant_key,
)
from slicewright.kubernetes.pods import REQUIRED, Pods
from slicewright.kubernetes.problem import Path, did_you_mean, nearest
from slicewright.kubernetes.scheduler import node_selector
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.plan import MARKER

_SHARED = frozenset(
    {
        *(ACCELERATOR, ACCELERATOR_COUNT, COMPUTE_CLASS, FLEX_START, GKE_PROVISIONING, INSTANCE_TYPE),
        *(MACHINE_FAMILY, REGION, SPOT, TOPOLOGY, ZONE, "kubernetes.io/arch", "kubernetes.io/os"),
    }
)
"""Labels that have the same value for all slices of one replicatedJob."""
_PLACES = (REGION, ZONE)
"""Labels that may have several values in one cluster."""
_BESIDE = (ACCELERATOR_COUNT, INSTANCE_TYPE, MACHINE_FAMILY, GPU)
"""Labels that an accelerator and a topology decide on."""
_ONLY_TRUE = (FLEX_START, PREEMPTIBLE, SPOT)
_PROVISIONING = ("flex-start", "preemptible", "spot", "standard")


@rule("TPU144", {"JobSet"})
def _exclusive(resource: Resource, objects: ObjectSet) -> Findings:
    reported: set[Path] = set()
    for pods in resource.pods:
        key, path = exclusive(resource, pods), exclusive_path(resource, pods)
        if key and path not in reported and (refusal := _of_exclusive(key, pods)):
            reported.add(path)
            yield Finding(path, *refusal, is_certain=key not in _PLACES or objects.is_cluster)


def _of_exclusive(key: str, pods: Pods) -> tuple[str, str] | None:
    """Return (why no node label of this key keeps slices apart, what to write), None if one may."""
    if right := meant_key(key):
        return f"no node has the label '{key}'", f"did you mean '{right}'?"
    if key == HOSTNAME and pods.is_tpu and pods.pods_per_job > 1:
        message = f"exclusive placement puts all {pods.pods_per_job} TPU pods of a Job on one host"
        return f"{message}, but a host has room for one", ""
    if key in _SHARED and pods.is_tpu and pods.replicas > 1:
        message = f"exclusive placement reserves the whole {key} for one of {pods.replicas} slices"
        return f"{message}, so the others find no nodes", ""
    return None


@rule("TPU145", TEMPLATE_KINDS | {"ResourceFlavor"})
def _contradictions(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        if "affinity" in pods.spec:
            yield from _affinity(pods)
        selector = pods.selector
        if SLICE_TOPOLOGY in pods.annotations:  # the topology is that of a part, or of several together
            selector = {key: value for key, value in selector.items() if key != TOPOLOGY}
        yield from _against_shape(selector, pods.selector_path, objects.catalogue)
    if resource.kind == "ResourceFlavor":
        labels = texts(at(resource.data, "spec", "nodeLabels"))
        yield from _against_shape(labels, lambda key: ("spec", "nodeLabels", key), objects.catalogue)


def _affinity(pods: Pods) -> Findings:
    """Yield each label of the nodeSelector that all terms of the node affinity exclude."""
    labels, terms = texts(pods.spec.get("nodeSelector")), node_selector(pods.spec).terms
    for key, value in labels.items():
        of_key = [[entry for entry in term if entry.key == key] for term in terms]
        if of_key and all(any(not entry.accepts(value) for entry in term) for term in of_key):
            message = f"the node affinity accepts no node with {key}={value}"
            hint = "remove this node selector, or accept its value in the node affinity"
            yield Finding(pods.selector_path(key), message, hint)


def _against_shape(
    selector: dict[str, str], path_of: Callable[[str], Path], catalogue: Catalogue
) -> Findings:
    """Yield the labels that no node has together with the TPU labels beside them."""
    accelerator, topology = selector.get(ACCELERATOR, ""), selector.get(TOPOLOGY, "")
    machines = catalogue.accelerators.get(accelerator, ())
    if not machines or selector.keys().isdisjoint(_BESIDE):
        return
    rows = of_labels(catalogue, accelerator, topology)
    if rows:
        machines = tuple(row.machine for row in rows)
    slices = f"{accelerator} with topology {topology}" if rows else accelerator
    for key, values in (
        (ACCELERATOR_COUNT, {str(machine.chips_per_host) for machine in machines}),
        (INSTANCE_TYPE, {machine.machine_type for machine in machines}),
        (MACHINE_FAMILY, {machine.machine_type.partition("-")[0] for machine in machines}),
    ):
        value = selector.get(key)
        if value not in (None, MARKER, *values) and value not in catalogue.not_offered:
            hint = f"write {joined(sorted(values), 'or')}"
            yield Finding(path_of(key), f"no node has {key}={value} and {slices}", hint)
    if GPU in selector:
        message = f"no node has both GPUs ({GPU}={selector[GPU]}) and TPUs ({slices})"
        yield Finding(path_of(GPU), message, "remove one of the two selectors")


@rule("TPU146", TEMPLATE_KINDS)
def _values(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        for key in _ONLY_TRUE:
            if pods.selector.get(key, "true") != "true":
                message = f"GKE gives the label {key} only the value true, not '{pods.selector[key]}'"
                yield Finding(pods.selector_path(key), message, 'write "true", or remove the selector')
        value = pods.selector.get(GKE_PROVISIONING)
        if value not in (None, *_PROVISIONING):
            message = f"'{value}' is not a value of {GKE_PROVISIONING}"
            path, hint = pods.selector_path(GKE_PROVISIONING), did_you_mean(value, _PROVISIONING)
            yield Finding(path, message, hint, is_certain=bool(nearest(value, _PROVISIONING)))


@rule("TPU181", JOB_KINDS)
def _hosts_apart(resource: Resource, objects: ObjectSet) -> Findings:
    """Find hosts of a slice that must be on one node, and hosts that must not be in one node pool."""
    ways = (("podAffinity", {HOSTNAME}, NODE_POOL), ("podAntiAffinity", {NODE_POOL, *_SHARED}, HOSTNAME))
    for pods in resource.pods:
        row, own = multi_host(pods, objects), labels_of(resource, pods)
        if row is None or pods.pods_per_job == 1:
            continue
        if "nodeName" in pods.spec or HOSTNAME in node_selector(pods.spec).fixed():
            message = f"the slice has {row.hosts} hosts, but its pods may be only on one node"
            yield Finding(pods.selector_path(HOSTNAME), message)
        for key, wrong, right in ways:
            for index, term in entries(at(pods.spec, "affinity", key, REQUIRED)):
                label, selector = text(term.get("topologyKey")), mapping(term.get("labelSelector"))
                keys = {text(one.get("key")) for _, one in entries(selector.get("matchExpressions"))}
                keys.update(mapping(selector.get("matchLabels")))
                # matchLabelKeys and mismatchLabelKeys may leave only the pods of other runs.
                is_own = keys and keys <= own.keys() and "LabelKeys" not in str([*term])
                if label in wrong and is_own and selects(selector, own):
                    message = f"{key} with {label} lets only one of the {row.hosts} hosts of the slice run"
                    hint = f"remove the term, or write topologyKey: {right}"
                    yield Finding((*pods.spec_path, "affinity", key, REQUIRED, index), message, hint)
