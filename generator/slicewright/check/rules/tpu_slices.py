"""Rules of several hosts and several slices: multislice, placement, topologies, names of the workers."""

from collections.abc import Iterator

from slicewright.catalogue.shape import Shape
from slicewright.check.rules import tpu_shape
from slicewright.check.rules.failure_policies import is_of_disruptions
from slicewright.check.rules.fit import asked
from slicewright.check.rules.fit_node_pools import pinned_pools
from slicewright.check.rules.kustomize_build import name_references, names_of, unchanged_names
from slicewright.document import edit as edits
from slicewright.document.document import may_be
from slicewright.kubernetes.fields import at, entries, number, text, texts
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import (
    EXCLUSIVE_TOPOLOGY,
    JOB_NAME,
    NODE_POOL,
    PODSET,
    SLICE_TOPOLOGY,
    SPOT,
    TOPOLOGY,
    TPU,
)
from slicewright.kubernetes.pods import REQUIRED, Pods
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.scheduler import node_selector, tolerates
from slicewright.kueue import quota_read
from slicewright.kueue.quota import Flavor, PodSet
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.ways import SLICE_LEVEL, TPU_TAINT

_NUM_SLICES = "MEGASCALE_NUM_SLICES"
_SHOWN = 3
"""How many node pools a message names."""
_SLICES = frozenset({"JobSet"})


def blanked(pods: Pods) -> bool:
    """Tell whether the pods blank MEGASCALE_NUM_SLICES, as independent replicas do."""
    return any(
        entry.get("name") == _NUM_SLICES and not text(entry.get("value")) and not entry.get("valueFrom")
        for _, container in pods.containers
        for _, entry in entries(container.get("env"))
    )


def _several(resource: Resource) -> Iterator[Pods]:
    """Yield the replicatedJobs that GKE takes for a multislice."""
    for pods in () if tpu_shape.is_pathways(resource) else resource.pods:
        if pods.replicas > 1 and pods.is_tpu and not blanked(pods):
            yield pods


def _unjoined(resource: Resource, objects: ObjectSet, *, multislice: bool) -> Iterator[tuple[Pods, Shape]]:
    """Yield the pods whose slices GKE does not document as joined, by whether it joins their generation."""
    for pods in _several(resource):
        row = tpu_shape.shape(pods, objects)
        if row is None or row.multislice or not (row.multi_host or tpu_shape.exclusive(resource, pods)):
            continue
        if objects.catalogue.generations[row.generation].multislice == multislice:
            yield pods, row


@rule("TPU111", _SLICES)
def _multislice(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, row in _unjoined(resource, objects, multislice=False):
        slices = f"the run has {pods.replicas} slices of {row.topology} on {row.machine_type}"
        yield Finding(pods.replicas_path, f"{slices}, but {row.generation} has no multislice")


@rule("TPU150", _SLICES, "warning")
def _single_hosts(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, row in _unjoined(resource, objects, multislice=True):
        slices = f"the run has {pods.replicas} slices of {row.topology} on {row.machine_type}"
        message = f"{slices}, but each is only one host"
        yield Finding(pods.replicas_path, message)


@rule("TPU112", _SLICES, "warning")
def _independent(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in _several(resource):
        row = tpu_shape.shape(pods, objects)
        alone = row is not None and not row.multi_host and not tpu_shape.exclusive(resource, pods)
        if alone or at(resource.data, "spec", "successPolicy", "operator") == "Any":
            message = f"{pods.replicas} replicas look like independent slices, "
            message += "but GKE configures them as one multislice"
            yield Finding(pods.replicas_path, message)


@rule("TPU113", {"JobSet", "Job"}, "warning")
def _exclusive_missing(resource: Resource, objects: ObjectSet) -> Findings:
    makes_pools = objects.site is not None and objects.site.cluster.mode == "Autopilot"
    for pods in resource.pods:
        row = tpu_shape.shape(pods, objects)
        placed = tpu_shape.exclusive(resource, pods) or SLICE_TOPOLOGY in pods.annotations
        placed = placed or any(key.startswith(PODSET) for key in pods.annotations)
        # Where a replica is not a whole slice, the number of slices is wrong, which TPU103 reports.
        if row is None or placed or pods.pods_per_job != row.hosts or tpu_shape.is_pathways(resource):
            continue
        if pods.replicas > 1 and row.multislice and not blanked(pods):
            message = f"{pods.replicas} slices have no exclusive placement and can share a node pool"
        elif pods.replicas == 1 and row.multi_host and (pools := _node_pools(pods, objects)):
            message = "the pods have no exclusive placement and can be on hosts of several slices"
            if not makes_pools:
                message += f": {', '.join(pools[:_SHOWN])}{', ...' if pools[_SHOWN:] else ''}"
        else:
            continue
        if resource.kind == "Job":
            hint = "write a JobSet with exclusive placement"
            if not makes_pools:
                hint = f"select one node pool ({NODE_POOL}), or write a JobSet"
            yield Finding(pods.spec_path, message, hint)
            continue
        place = (*pods.job_path[:-1], "metadata", "annotations", EXCLUSIVE_TOPOLOGY)
        yield Finding(pods.path[:3], message, fix=edits.write(resource.data, {place: NODE_POOL}))


def _node_pools(pods: Pods, objects: ObjectSet) -> tuple[str, ...]:
    """Return the node pools over which pods may spread: those that they name, or all of one pool."""
    together = entries(at(pods.spec, "affinity", "podAffinity", REQUIRED))
    pinned = pinned_pools(node_selector(pods.spec))
    if len(pinned) == 1 or any(term.get("topologyKey") == NODE_POOL for _, term in together):
        return ()
    if pinned:
        return tuple(sorted(pinned))
    for _, labels in quota_read.pools_of(objects):
        fits = all(value in labels.get(key, ()) for key, value in pods.selector.items())
        if fits and labels[NODE_POOL][1:] and (SPOT in pods.selector or SPOT not in labels):
            return labels[NODE_POOL]
    return ()


def exclusive_path(resource: Resource, pods: Pods) -> Path:
    """Return the path to the annotation that `exclusive` reads."""
    holder: Path = ("metadata",)
    if EXCLUSIVE_TOPOLOGY in pods.job_annotations:
        holder = (*pods.job_path[:-1], "metadata")
    elif EXCLUSIVE_TOPOLOGY not in resource.annotations:
        holder = (*pods.path, "metadata")
    return (*holder, "annotations", EXCLUSIVE_TOPOLOGY)


@rule("TPU151", _SLICES, "warning")
def _exclusive_in_parts(resource: Resource, _objects: ObjectSet) -> Findings:
    """Find slices of partitions with exclusive placement; a slice of the whole topology is not meant."""
    for pods in resource.pods:
        slice_topology = pods.annotations.get(SLICE_TOPOLOGY)
        is_whole = slice_topology in (None, pods.selector.get(TOPOLOGY))
        if is_whole or tpu_shape.exclusive(resource, pods) != NODE_POOL:
            continue
        message = f"with {SLICE_TOPOLOGY} a slice is not one node pool, but exclusive placement needs one"
        yield Finding(exclusive_path(resource, pods), message)


@rule("TPU114", _SLICES, "warning")
def _exclusive_everywhere(resource: Resource, _objects: ObjectSet) -> Findings:
    key = EXCLUSIVE_TOPOLOGY
    if key not in resource.annotations or not any(pods.is_tpu for pods in resource.pods):
        return
    for pods in resource.pods:
        if not pods.is_tpu and key not in pods.job_annotations:
            message = f"replicatedJob '{pods.name}' has no TPU but would occupy a whole node pool"
            yield Finding(("metadata", "annotations", key), message)


@rule("TPU115", {"Job", "CronJob"})
def _worker_names(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        row = tpu_shape.multi_host(pods, objects)
        if row is None or tpu_shape.is_set_up(pods):
            continue
        if text(pods.job.get("completionMode")) != "Indexed":
            message = f"the pods of a slice of {row.hosts} hosts have no index"
            fix = edits.write(resource.data, {(*pods.job_path, "completionMode"): "Indexed"})
            yield Finding(pods.job_path, message, "write completionMode: Indexed", fix)
        if not text(pods.spec.get("subdomain")):
            message = f"the pods of a slice of {row.hosts} hosts have no DNS names"
            hint = "add a headless Service and write its name as subdomain, or use a JobSet"
            yield Finding(pods.spec_path, message, hint)


@rule("TPU116", {"Job"})
def _service(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        row, name = tpu_shape.shape(pods, objects), text(pods.spec.get("subdomain"))
        if row is None or not row.multi_host or not name or tpu_shape.is_set_up(pods):
            continue
        path = (*pods.spec_path, "subdomain")
        services = objects.candidates("Service", name, resource.namespace, resource.file)
        unfit = [why for service in services if (why := _unfit(service, resource, pods, path, objects))]
        if services:
            if len(unfit) == len(services):
                yield unfit[0]
        elif (objects.is_cluster or objects.of_kind("Service")) and not objects.has(
            "Service", name, resource.namespace
        ):
            is_certain = bool(objects.of_kind("Service")) and objects.misses("Service", name, resource)
            message, hint = f"Service '{name}' is not among the objects", ""
            for service in objects.of_kind("Service"):
                if service.file == resource.file and name in names_of(service, objects.widest):
                    message += f": a kustomization renames it to '{service.name}', but not subdomain"
                    old = [(resource, path, service), *_old_names(service, resource, objects)]
                    hint = name_references(old, objects)
            yield Finding(path, message, hint, is_certain=is_certain)


def _old_names(
    service: Resource, resource: Resource, objects: ObjectSet
) -> list[tuple[Resource, Path, Resource]]:
    """Return the fields of a Service that have the name of a run before a prefix or suffix."""
    earlier = names_of(resource, objects.widest) - {resource.name}
    return [(service, path, resource) for path, name in unchanged_names(service) if name in earlier]


def _unfit(
    service: Resource, resource: Resource, pods: Pods, path: Path, objects: ObjectSet
) -> Finding | None:
    """Return why a Service gives the pods of a Job no DNS names; None if it does."""
    name = service.name
    if at(service.data, "spec", "clusterIP") != "None":
        return Finding(path, f"Service '{name}' is not headless", "write clusterIP: None in the Service")
    selector = texts(at(service.data, "spec", "selector"))
    labels = {"job-name": resource.name, JOB_NAME: resource.name, **pods.labels}
    if not selector or not all(may_be(labels.get(key, ""), value) for key, value in selector.items()):
        hint = f"write selector: {{job-name: {resource.name}}} in the Service"
        if old := _old_names(service, resource, objects):
            hint = name_references(old, objects)
        return Finding(path, f"Service '{name}' does not select the pods of this Job", hint)
    return None


@rule("TPU117", _SLICES)
def _other_mode(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        row = tpu_shape.shape(pods, objects)
        if row is None or not row.multi_host or tpu_shape.is_set_up(pods):
            continue
        if text(pods.job.get("completionMode")) not in ("", "Indexed"):
            message = f"the pods of a slice of {row.hosts} hosts have no index"
            path: Path = (*pods.job_path, "completionMode")
            yield Finding(path, message, fix=edits.write(resource.data, {path: "Indexed"}))
        path = ("spec", "network", "enableDNSHostnames")
        if at(resource.data, *path) is False:
            message = f"the pods of a slice of {row.hosts} hosts have no DNS names"
            fix = edits.write(resource.data, {path: True})
            yield Finding(path, message, "write enableDNSHostnames: true", fix)


@rule("TPU118", {"JobSet", "Job"}, "warning")
def _restarts(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        row = tpu_shape.shape(pods, objects)
        field = "backoffLimitPerIndex" if "backoffLimitPerIndex" in pods.job else "backoffLimit"
        limit = number(pods.job.get(field), 6)
        if row is None or not row.multi_host or tpu_shape.is_pathways(resource) or limit == 0:
            continue
        if at(resource.data, "spec", "failurePolicy", "restartStrategy") == "InPlaceRestart":
            continue  # JobSet restarts the containers of all pods together
        if field == "backoffLimitPerIndex" and _notices_lost_hosts(pods):
            continue  # every host starts again on its own, until one is known to be lost
        part = "the Job replaces only its pod"
        if pods.spec.get("restartPolicy", "OnFailure") == "OnFailure":
            part = "the node restarts only its container"
        message = f"if one of {row.hosts} hosts fails, {part}, up to {limit} times, and the others hang"
        path = (*pods.job_path, field) if field in pods.job else pods.job_path
        # Without restarts of the JobSet, this ends the run at its first failure.
        fix = edits.write(resource.data, {(*pods.job_path, field): 0}, safe=False)
        yield Finding(path, message, fix=fix)


def _notices_lost_hosts(pods: Pods) -> bool:
    """Tell whether a Job does not count the pods of lost hosts, or fails because of them."""
    rules = entries(at(pods.job, "podFailurePolicy", "rules"))
    return any(is_of_disruptions(entry) for _, entry in rules)


def _placed(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Pods, PodSet, str, Flavor]]:
    """Yield the TPU pods that can get only flavors with a Topology: name and facts of the first of these."""
    ask = asked(resource, objects)
    if ask is None:
        return
    for choice in ask.choices:
        flavors = [ask.known.flavors[name] for name in choice.flavors if name in ask.known.flavors]
        if TPU not in choice.requests or not flavors or not all(flavor.has_topology for flavor in flavors):
            continue
        members = {member.name: member for member in choice.pods}
        pairs = ((pods, members.get(pods.name or "main")) for pods in resource.pods)
        yield from ((pods, member, choice.flavors[0], flavors[0]) for pods, member in pairs if member)


@rule("TPU154", RUN_KINDS)
def _tainted(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, member, name, flavor in _placed(resource, objects):
        if not tolerates((*member.tolerations, *flavor.tolerations), TPU_TAINT):
            message = f"the pods do not tolerate the taint {TPU}, which all nodes of flavor '{name}' have"
            toleration = {"key": TPU, "operator": "Exists", "effect": "NoSchedule"}
            fix = edits.append(resource.data, (*pods.spec_path, "tolerations"), toleration)
            yield Finding(pods.spec_path, message, fix=fix)


@rule("TPU155", {"JobSet"}, "warning")
def _exclusive(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, _, name, _ in _placed(resource, objects):
        if tpu_shape.exclusive(resource, pods) != NODE_POOL or SLICE_LEVEL in pods.annotations:
            continue
        message = f"two mechanisms choose the nodes: the Topology of flavor '{name}' and {EXCLUSIVE_TOPOLOGY}"
        yield Finding(pods.spec_path, message)
