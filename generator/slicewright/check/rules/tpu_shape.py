"""Rules of one slice: its labels, its hosts and their chips, by what the catalogue knows of its TPU."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.resolve import Refusal, TpuRequest, resolve
from slicewright.catalogue.shape import Shape, is_topology, joined
from slicewright.check.rules.limits import unlike_limits
from slicewright.document import edit as edits
from slicewright.kubernetes.fields import at, entries, mapping, number, sequence, text, texts
from slicewright.kubernetes.kinds import JOB_KINDS, POD_KINDS, TEMPLATE_KINDS
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    COMPUTE_CLASS,
    EXCLUSIVE_TOPOLOGY,
    NODE_POOL,
    QUEUE,
    SLICE_TOPOLOGY,
    TOPOLOGY,
    TPU,
    meant_key,
)
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Fix, Path, did_you_mean, nearest
from slicewright.kubernetes.scheduler import tolerates
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.plan import MARKER
from slicewright.rendering.plan.ways import TPU_TAINT

MANAGER = "--node_type=resource_manager"
"""The argument by which a server of Pathways is the resource manager."""
_PATHWAYS_IMAGE = re.compile(r"pathways[^:@]*(server|proxy)")
WORKER_ID = "TPU_WORKER_ID"


_BOUNDS = ("TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS")
"""Variables of libtpu by which pods say that each is a slice of its own."""
_PLACES = (WORKER_ID, "TPU_WORKER_HOSTNAMES")
"""Variables of libtpu by which pods say which part of a slice they are."""


def is_alone(pods: Pods) -> bool:
    """Tell whether the pods tell libtpu that each is a slice of its own."""
    return (_PLACES[1], "localhost") in pods.variables or _names(pods, _BOUNDS)


def is_set_up(pods: Pods) -> bool:
    """Tell whether the pods give libtpu its place in the slice, in a variable or in their script.

    A number that several pods share does not count.
    """
    return is_alone(pods) or _names(pods, _PLACES)


def _names(pods: Pods, variables: tuple[str, ...]) -> bool:
    """Tell whether pods set some variables, or name them in their script."""
    names = [name for name, value in pods.variables if not is_same(pods, name, value)]
    return any(word in line for word in variables for line in (*names, pods.script))


def is_same(pods: Pods, name: str, value: Any) -> bool:
    """Tell whether a variable gives the same number to several pods; a Pod has its own."""
    return name == WORKER_ID and pods.path != () and text(value).isdecimal()


def of_labels(catalogue: Catalogue, accelerator: str, topology: str, chips_per_host: str = "") -> list[Shape]:
    """Return the shapes whose hosts have these labels: several if several machine types have the topology."""
    if not is_topology(topology):
        return []
    rows = []
    for machine in catalogue.accelerators.get(accelerator, ()):
        key = (machine.machine_type, topology)
        row = catalogue.on_machine.get(key) or catalogue.rule_on_machine.get(key)
        if row is not None and chips_per_host in ("", str(row.chips_per_host)):
            rows.append(row)
    return rows


def shapes(pods: Pods, objects: ObjectSet) -> list[Shape]:
    """Return the shapes that pods may mean: none if a label is missing or wrong.

    The topology is that of the part of a slice where pods ask for a part. Pods that select only a compute
    class have its shape.
    """
    selector = pods.selector
    if COMPUTE_CLASS in selector and not {ACCELERATOR, TOPOLOGY} & selector.keys():
        selector = _of_class(selector[COMPUTE_CLASS], objects)
    topology = pods.annotations.get(SLICE_TOPOLOGY) or selector.get(TOPOLOGY, "")
    return _rows(objects, selector.get(ACCELERATOR, ""), topology, selector.get(ACCELERATOR_COUNT, ""))


def _of_class(name: str, objects: ObjectSet) -> dict[str, str]:
    """Return the labels of the nodes of a compute class, where all of its priorities have one TPU shape."""
    shapes = {
        tuple(str(at(rung, "tpu", key)) for key in ("type", "topology", "count"))
        for candidate in objects.candidates("ComputeClass", name)
        for _, rung in entries(at(candidate.data, "spec", "priorities"))
    }
    keys = (ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT)
    return dict(zip(keys, shapes.pop(), strict=True)) if len(shapes) == 1 else {}


def _rows(objects: ObjectSet, *labels: str) -> list[Shape]:
    seen: dict[tuple[str, ...], list[Shape]] = objects.widest.once("rows by labels", lambda _: {})
    if labels not in seen:
        seen[labels] = of_labels(objects.catalogue, *labels)
    return seen[labels]


def shape(pods: Pods, objects: ObjectSet) -> Shape | None:
    """Return the shape that pods select; if several have its labels, the chips of the pods decide."""
    rows = shapes(pods, objects)
    if len(rows) > 1:
        rows = [row for row in rows if row.chips_per_host == pods.chips] or rows
    return rows[0] if rows else None


def multi_host(pods: Pods, objects: ObjectSet) -> Shape | None:
    """Return the row of pods that are hosts of one slice, unless they tell libtpu that they are alone."""
    row = shape(pods, objects) if pods.asks_for_tpu else None
    return row if row is not None and row.multi_host and not is_alone(pods) else None


def slices(resource: Resource, objects: ObjectSet) -> Iterable[tuple[Shape, list[Pods]]]:
    """Return the multi-host slice shapes that an object uses, each with the pods that are its hosts."""
    by_shape: dict[tuple[str, str], tuple[Shape, list[Pods]]] = {}
    for pods in resource.pods:
        if row := multi_host(pods, objects):
            by_shape.setdefault((row.machine_type, row.topology), (row, []))[1].append(pods)
    return by_shape.values()


def no_topology(
    catalogue: Catalogue, accelerator: str, topology: str, path: Path, message: str = ""
) -> Finding:
    """Return the finding that an accelerator lacks a topology, with `message` if the reason is unknown."""
    answer = resolve(catalogue, TpuRequest(accelerator=accelerator, topology=topology, allow_unlisted=True))
    refused = answer if isinstance(answer, Refusal) else None
    unknown = message or f"{accelerator} has no topology '{topology}'"
    return Finding(path, refused.message if refused else unknown, refused.hint if refused else "")


def is_placed_otherwise(pods: Pods) -> bool:
    """Tell whether a node pool or a compute class decides where pods go; TPU labels may then be missing."""
    return NODE_POOL in pods.selector or COMPUTE_CLASS in pods.selector


def is_pathways(resource: Resource) -> bool:
    """Tell whether a JobSet runs Pathways: its workers form no multislice of their own."""
    return any(
        _PATHWAYS_IMAGE.search(text(container.get("image"))) or MANAGER in sequence(container.get("args"))
        for _, container in resource.containers
    )


def is_colocated(resource: Resource) -> bool:
    """Tell whether the operator puts the head of a PathwaysJob on a host of the workers."""
    mode = at(resource.data, "spec", "controller", "deploymentMode")
    return resource.kind == "PathwaysJob" and mode == "colocate_head_with_workers"


def exclusive(resource: Resource, pods: Pods) -> str:
    """Return the node label of exclusive placement for a replicatedJob; empty if there is none."""
    holders = (pods.job_annotations, resource.annotations, pods.annotations)
    return next((own[EXCLUSIVE_TOPOLOGY] for own in holders if EXCLUSIVE_TOPOLOGY in own), "")


def _labels(resource: Resource) -> Iterator[tuple[dict[str, str], Callable[[str], Path]]]:
    """Yield the node labels that pods select or a flavor gives, and a function from a key to its path."""
    yield from ((pods.selector, pods.selector_path) for pods in resource.pods)
    if resource.kind == "ResourceFlavor":
        yield texts(at(resource.data, "spec", "nodeLabels")), lambda key: ("spec", "nodeLabels", key)


@rule("TPU101", TEMPLATE_KINDS | {"ResourceFlavor"})
def _accelerator(resource: Resource, objects: ObjectSet) -> Findings:
    catalogue = objects.catalogue
    for labels, path_of in _labels(resource):
        label = labels.get(ACCELERATOR)
        if label in (None, MARKER) or label in catalogue.accelerators or label in catalogue.not_offered:
            continue
        right, path = catalogue.misnomers.get(label, ""), path_of(ACCELERATOR)
        is_known = right in catalogue.accelerators
        hint = f"write {right}" if is_known else did_you_mean(label, catalogue.accelerators)
        fix = edits.write(resource.data, {path: right}) if is_known and path[-1] == ACCELERATOR else None
        message = f"GKE has no TPU accelerator '{label}'"
        if not right and catalogue.may_be_newer(label):
            message = f"the catalogue has no TPU accelerator '{label}'"
            hint = f"if GKE has it, describe it in catalog/{'; if not, ' * bool(hint)}{hint}"
            yield Finding(path, message, hint, is_certain=False)
        else:
            is_certain = right != "" or nearest(label, catalogue.accelerators) != []
            yield Finding(path, message, hint, fix, is_certain=is_certain)


@rule("TPU102", TEMPLATE_KINDS | {"ResourceFlavor"})
def _topology(resource: Resource, objects: ObjectSet) -> Findings:
    for labels, path_of in _labels(resource):
        label, topology = labels.get(ACCELERATOR, ""), labels.get(TOPOLOGY)
        if topology in (None, MARKER) or label not in objects.catalogue.accelerators:
            continue
        if not _rows(objects, label, topology):
            yield no_topology(objects.catalogue, label, topology, path_of(TOPOLOGY))


@rule("TPU103", JOB_KINDS)
def _hosts(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        row = multi_host(pods, objects)
        if row is None:
            continue
        completions = number(pods.job.get("completions"))
        for key, value in (("parallelism", pods.parallelism), ("completions", completions)):
            if value in (row.hosts, None):
                continue
            message = f"{key} is {value}, but {row.topology} on {row.machine_type} has {row.hosts} hosts"
            hint = f"write completions: {row.hosts} and parallelism: {row.hosts}"
            path = (*pods.job_path, key) if key in pods.job else pods.job_path
            counts = {(*pods.job_path, name): row.hosts for name in ("completions", "parallelism")}
            # Hosts that are written as replicas are other slices, and more of them.
            fix = edits.write(resource.data, counts, safe=pods.replicas == 1 or pods.pods_per_job > 1)
            yield Finding(path, message, hint, fix)


@rule("TPU104", TEMPLATE_KINDS)
def _requests_are_limits(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, container in resource.containers:
        resources = mapping(container.get("resources"))
        limit = dict(unlike_limits(resources)).get(TPU)
        if limit is None:
            continue
        requests = resources["requests"][TPU]
        message = f"the container requests {requests} of {TPU}, {limit}"
        values = {(*path, "resources", "limits", TPU): requests}
        fix = edits.write(resource.data, values, safe=TPU not in mapping(resources.get("limits")))
        yield Finding((*path, "resources", "requests", TPU), message, fix=fix)


@rule("TPU105", TEMPLATE_KINDS)
def _chips(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        rows = shapes(pods, objects)
        is_of_class = ACCELERATOR not in pods.selector  # CC109 compares chips with a compute class
        if (
            not rows
            or not pods.asks_for_tpu
            or pods.chips in {row.chips_per_host for row in rows}
            or is_of_class
        ):
            continue
        hosts = [f"on {row.machine_type} has {row.chips_per_host}" for row in rows]
        topology = rows[0].topology
        message = f"a pod requests {pods.chips} chips, but a host of {topology} {joined(hosts, 'or')}"
        path = (*pods.containers[0][0], "resources") if pods.containers else pods.spec_path
        yield Finding(path, message, fix=_chips_written(resource, pods, rows))


def _chips_written(resource: Resource, pods: Pods, rows: list[Shape]) -> Fix | None:
    """Return the fix that writes the chips of a host, where one container asks and the host is known."""
    asking = [
        (*path, "resources", key, TPU)
        for path, container in pods.containers
        for key in ("requests", "limits")
        if at(container, "resources", key, TPU) is not None
    ]
    if len(rows) > 1 or len({path[:-2] for path in asking}) != 1:
        return None
    counts = dict.fromkeys(asking, rows[0].chips_per_host)
    return edits.write(resource.data, counts, safe=rows[0].multi_host)


@rule("TPU106", POD_KINDS, "warning")
def _ambiguous(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        # Pods that ask for more chips than a host has do not go there.
        rows = [row for row in shapes(pods, objects) if row.chips_per_host >= pods.chips]
        if len(rows) < 2 or is_placed_otherwise(pods) or SLICE_TOPOLOGY in pods.annotations:  # noqa: PLR2004
            continue
        machines = joined([row.machine_type for row in rows])
        message = f"{rows[0].topology} of {rows[0].accelerator} is a topology of {machines}"
        chips = pods.chips if pods.chips in {row.chips_per_host for row in rows} else rows[0].chips_per_host
        hint = f'add the node selector {ACCELERATOR_COUNT}: "{chips}"'
        selector = {(*pods.spec_path, "nodeSelector", ACCELERATOR_COUNT): str(chips)}
        fix = edits.write(resource.data, selector, safe=chips == pods.chips)
        yield Finding(pods.selector_path(TOPOLOGY), message, hint, fix)


@rule("TPU107", POD_KINDS, "warning")
def _selectors(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        if not pods.asks_for_tpu or is_placed_otherwise(pods):
            continue
        is_formed = SLICE_TOPOLOGY in pods.annotations
        is_queued = not {QUEUE}.isdisjoint([*resource.labels, *mapping(pods.job_metadata.get("labels"))])
        needed = (ACCELERATOR,) if is_formed and is_queued else (ACCELERATOR, TOPOLOGY)
        misspelt = {meant_key(key) for key in pods.selector}  # which TPU142 reports
        missing = [key for key in needed if key not in pods.selector and key not in misspelt]
        if missing:
            message = f"TPU pods select no {joined(missing)}"
            hint = "add both node selectors"
            if is_formed and not is_queued:
                hint = f"add the label {QUEUE}, without which nothing reads {SLICE_TOPOLOGY}, or {hint}"
            if QUEUE in resource.labels:
                hint += "; the labels of a Kueue flavor reach the pods only at admission"
            yield Finding(pods.spec_path, message, hint, _selected(resource, pods, objects.catalogue))


def _selected(resource: Resource, pods: Pods, catalogue: Catalogue) -> Fix | None:
    """Return the fix that selects the only shape that suits the label, the hosts and the chips of pods."""
    own = {key: pods.selector[key] for key in (ACCELERATOR, TOPOLOGY) if key in pods.selector}
    suiting = {
        ((ACCELERATOR, row.accelerator), (TOPOLOGY, row.topology))
        for row in (*catalogue.on_machine.values(), *catalogue.rule_on_machine.values())
        if (row.hosts, row.chips_per_host) == (pods.pods_per_job, pods.chips)
        and {ACCELERATOR: row.accelerator, TOPOLOGY: row.topology}.items() >= own.items()
    }
    if len(suiting) != 1 or not own:
        return None
    missing = {
        (*pods.spec_path, "nodeSelector", key): label for key, label in suiting.pop() if key not in own
    }
    # The labels of a queue's flavor may be meant, or a queue that forms slices.
    is_safe = QUEUE not in resource.labels and SLICE_TOPOLOGY not in pods.annotations
    return edits.write(resource.data, missing, safe=is_safe)


@rule("TPU108", POD_KINDS, "warning")
def _no_chips(resource: Resource, _objects: ObjectSet) -> Findings:
    # A head beside the workers selects their nodes, and has no chips of its own. Nor has what tunes hosts.
    is_beside = is_pathways(resource) or resource.kind in ("DaemonSet", "PathwaysJob")
    for pods in resource.pods:
        if not pods.is_tpu or pods.asks_for_tpu or not pods.containers:
            continue
        if not is_beside:
            path = (*pods.containers[0][0], "resources")
            yield Finding(path, f"pods select TPU nodes, but no container requests {TPU}")
        elif QUEUE not in resource.labels and not tolerates(pods.tolerations, TPU_TAINT):
            message = f"pods without chips select TPU nodes, but do not tolerate their taint {TPU}"
            hint = f"write tolerations: [{{key: {TPU}, operator: Exists}}]"
            yield Finding((*pods.spec_path, "tolerations"), message, hint)
