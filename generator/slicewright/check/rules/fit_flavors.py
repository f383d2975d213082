"""Rules of node pools: whether a cluster has nodes for pods, and for those of a queue in their flavors."""

from collections.abc import Iterator, Sequence

from slicewright.catalogue.shape import joined
from slicewright.check.rules.fit import LABEL, Asked, asks
from slicewright.check.rules.tpu_shape import of_labels
from slicewright.kubernetes.kinds import QUEUED_KINDS
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    COMPUTE_CLASS,
    INSTANCE_TYPE,
    MACHINE_FAMILY,
    NODE_POOL,
    QUEUE,
    TOPOLOGY,
    TPU,
)
from slicewright.kubernetes.scheduler import PURCHASE, NodeSelector
from slicewright.kueue import assignment, quota_read, quota_workload
from slicewright.kueue.quota import Node, PodSet, Quotas, most
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.validate_workload_pools import has_no_other_nodes

_ONE_GROUP = (
    "cover all resources of these pods with one resource group, so that they get one flavor, or remove the "
    "requests and limits that another group covers, or give these pods their own queue"
)
_APART = (
    "add a taint to spec.nodeTaints of each such flavor (the nodes need no taint) and its toleration only to "
    "pods that may use the flavor, or give these pods their own queue"
)


_Judged = tuple[list[Finding], list[Finding]]
"""What is wrong with the flavors that a workload is given first, and with others for it."""


def _judged(resource: Resource, objects: ObjectSet) -> _Judged:
    """Return the judgement on a workload; of several queues of its name, on the first without an error."""
    seen: dict[int, _Judged] = objects.once("flavors", lambda _: {})
    if id(resource) not in seen:
        judged = [_of_queue(ask, resource, objects) for ask in asks(resource, objects)] or [([], [])]
        seen[id(resource)] = next((flavors for flavors in judged if not flavors[0]), judged[0])
    return seen[id(resource)]


def _of_queue(ask: Asked, resource: Resource, objects: ObjectSet) -> _Judged:
    known = ask.known
    first: list[Finding] = []
    others: list[Finding] = []
    # Of a flavor that is not known nobody knows the labels.
    if known.declared or not all(name in known.flavors for _, group in ask.queue.groups for name in group):
        return first, others
    for assigned in assignment.admit(known, ask.queue, ask.sets, ask.choices) or ():
        names = list(dict.fromkeys(assigned.flavors.values()))
        if nowhere := _no_such_label(objects, resource, assigned.pods, names):
            first.append(nowhere)
        elif reason := _contradiction(objects, ask, assigned.pods, names):
            message = f"pods '{assigned.pods.name}' get {_flavors(names)}: {reason[0]}"
            first.append(Finding(LABEL, message, reason[1]))
        else:
            others += _others(objects, ask, assigned, names)
    return first, others


def _no_such_label(
    objects: ObjectSet, resource: Resource, pod_set: PodSet, names: Sequence[str]
) -> Finding | None:
    """Return the finding that pods select a label's value that no node of the cluster has."""
    pools = _pools(objects)
    of_flavors = [pool for name in names for pool in pools.get(name, ())]
    if of_flavors:
        for key, value in pod_set.nodes.fixed().items():
            known = {other for own in pools.values() for pool in own for other in pool.get(key, ())}
            values = list(dict.fromkeys(other for pool in of_flavors for other in pool.get(key, ())))
            if values and value not in known:
                named = (pods for pods in resource.pods if (pods.name or "main") == pod_set.name)
                path = next((pods.selector_path(key) for pods in named), LABEL)
                message = (
                    f"pods '{pod_set.name}' select {key}={value}, but no node of the cluster has this label"
                )
                return Finding(path, message, _left_out(key, of_flavors, names))
    return None


def _left_out(key: str, pools: list[dict[str, tuple[str, ...]]], names: Sequence[str]) -> str:
    """Return the hint to leave a label out of a selector, or to write one that nodes of the flavors have."""
    values = list(dict.fromkeys(value for pool in pools for value in pool.get(key, ())))
    return f"leave {key} out: Kueue adds the labels of {_flavors(names)}; or write {_one_of(values)}"


def _one_of(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"one of: {', '.join(values[:_SHOWN])}"


_SHOWN = 6
"""How many values of a label a hint names."""


def _flavors(names: Sequence[str]) -> str:
    return f"flavor{'s' * (len(names) > 1)} {joined(names)}"


def _others(objects: ObjectSet, ask: Asked, assigned: assignment.Assignment, first: list[str]) -> Findings:
    pods = assigned.pods
    if reason := _elsewhere(objects, ask.known, pods, first):
        yield Finding(LABEL, f"pods '{pods.name}' get {_flavors(first)}: {reason}", _ONE_GROUP)
    for flavor, names in _instead(ask, assigned):
        if contradiction := _contradiction(objects, ask, pods, names):
            full = f"{_flavors(first)} {'is' if len(first) == 1 else 'are'} full"
            message = f"pods '{pods.name}' get flavor {flavor} if {full}: {contradiction[0]}"
            yield Finding(LABEL, message, contradiction[1])


def _instead(ask: Asked, assigned: assignment.Assignment) -> Iterator[tuple[str, list[str]]]:
    """Yield (flavor, all flavors with it) of those that pods can be given in place of their first choice."""
    for choice in ask.choices:
        if assigned.pods.name not in [pods.name for pods in choice.pods]:
            continue
        flavors = {assigned.flavors.get(resource) for resource in choice.requests}
        others = [name for resource, name in assigned.flavors.items() if resource not in choice.requests]
        for name in choice.flavors:
            enough = all(
                value <= most(ask.known, ask.queue, (name, resource)).total
                for resource, value in choice.requests.items()
            )
            if enough and name not in flavors:
                yield name, list(dict.fromkeys([name, *others]))


def _contradiction(
    objects: ObjectSet, ask: Asked, pods: PodSet, names: Sequence[str]
) -> tuple[str, str] | None:
    """Return (why no node suits pods with all these flavors together, what to write); None if one may."""
    known = ask.known
    labels: dict[str, str] = {}
    source: dict[str, str] = {}
    for name in names:
        for key, value in known.flavors[name].labels.items():
            if labels.setdefault(key, value) != value:
                values = f"{labels[key]} (flavor {source[key]}) and {value} (flavor {name})"
                return f"Kueue adds the labels of all of them, but {key} has two values: {values}", _ONE_GROUP
            source.setdefault(key, name)
    if not pods.nodes.suits(labels):
        return "no term of their node affinity accepts the labels of all of them", _ONE_GROUP
    fixed = pods.nodes.fixed()
    return (
        _two_ways({**fixed, **labels}, source)
        or _sibling(known, ask.queue, fixed, names)
        or _no_pool(objects, known, pods, labels, names)
        or _no_chips(objects, known, pods, names)
    )


def _two_ways(labels: dict[str, str], source: dict[str, str]) -> tuple[str, str] | None:
    """Explain that no node has two kinds of provisioning, such as Spot and a reservation."""
    ways = [key for key in PURCHASE if key in labels]
    if len(ways) <= 1:
        return None
    holders = {key: f"flavor {name}" for key, name in source.items()}
    values = joined([f"{key}={labels[key]} (from {holders.get(key, 'the pods')})" for key in ways])
    return f"no node of GKE has all of {values}", _APART


def _sibling(
    known: Quotas, queue: Node, fixed: dict[str, str], names: Sequence[str]
) -> tuple[str, str] | None:
    """Explain that pods run on nodes of one flavor, but Kueue counts them in another one of the group.

    The flavor of the nodes has all labels of the counted one, and further labels that the pods select.
    """
    for _, group in queue.groups:
        for name in names:
            if name in group:
                for other in group:
                    own, more = known.flavors[name].labels, known.flavors[other].labels
                    beside = {key: value for key, value in more.items() if key not in own}
                    selected = [key for key in beside if key in fixed]
                    if selected and own.items() <= more.items() and {**fixed, **beside} == fixed:
                        label = f"{selected[0]}={fixed[selected[0]]}"
                        reason = f"they select {label} and run on nodes of flavor {other}, "
                        reason += "but Kueue counts them in flavor"
                        return f"{reason} {name}", _APART
    return None


def _no_pool(
    objects: ObjectSet, known: Quotas, pods: PodSet, labels: dict[str, str], names: Sequence[str]
) -> tuple[str, str] | None:
    """Explain that no pool of the cluster has nodes for pods with these flavors, if its pools are known."""
    pools = _pools(objects)
    own = {name: pools[name] for name in names if name in pools and known.flavors[name].labels}
    if not own:
        return None
    shared = [pool for pool in next(iter(own.values())) if all(pool in others for others in own.values())]
    if not shared:
        return "Kueue adds the labels of all of them, but no node has all these labels", _ONE_GROUP
    keys = objects.once("label keys of pools", _keys)
    selector = NodeSelector({**pods.nodes.labels, **labels}, pods.nodes.terms)
    if any(selector.suits(node, keys) for pool in shared for node in _nodes(pool)):
        return None
    beside = [
        f"{key}={value}"
        for key, value in pods.nodes.fixed().items()
        if key in keys and not any(value in pool.get(key, ()) for pool in shared)
    ]
    if beside:
        reason = f"they select {beside[0]}, but the nodes of the flavor do not have this label"
        is_pool = beside[0].startswith(f"{NODE_POOL}=")
        return reason, _left_out(NODE_POOL, shared, names) if is_pool else _APART
    return "their node affinity excludes the nodes of the flavor", _APART


def _keys(objects: ObjectSet) -> frozenset[str]:
    """Return the keys of node labels whose values are known for all pools."""
    return frozenset(PURCHASE).union(*(pool for pools in _pools(objects).values() for pool in pools))


def _nodes(pool: dict[str, tuple[str, ...]]) -> Iterator[dict[str, str]]:
    """Yield the labels of a node of each node pool."""
    rest = {key: values[0] for key, values in pool.items()}
    return ({**rest, NODE_POOL: name} for name in pool[NODE_POOL])


def _pools(objects: ObjectSet) -> dict[str, list[dict[str, tuple[str, ...]]]]:
    """Return the labels of the nodes of each pool, by the flavor of the pool."""
    pools: dict[str, list[dict[str, tuple[str, ...]]]] = objects.once("labels of pools", lambda _: {})
    for capacity, labels in () if pools else quota_read.pools_of(objects):
        pools.setdefault(capacity.flavor.name, []).append(labels)
    return pools


def _no_chips(
    objects: ObjectSet, known: Quotas, pods: PodSet, names: Sequence[str]
) -> tuple[str, str] | None:
    """Explain that a flavor sends pods that request chips to machines without TPUs."""
    if not pods.requests.get(TPU):
        return None
    machines, families = objects.widest.once("machines with chips", _machines)
    for name in names:
        labels = known.flavors[name].labels
        for key, chips in ((INSTANCE_TYPE, machines), (MACHINE_FAMILY, families)):
            if key in labels and labels[key] not in chips:
                return (
                    f"Kueue adds {key}={labels[key]} of flavor {name}, but such nodes have no TPU",
                    _ONE_GROUP,
                )
    return None


def _machines(objects: ObjectSet) -> tuple[set[str], set[str]]:
    """Return the machine types that have chips, and their families."""
    machines = {machine for machine, _ in objects.catalogue.on_machine}
    return machines, {machine.partition("-")[0] for machine in machines}


def _elsewhere(objects: ObjectSet, known: Quotas, pods: PodSet, names: Sequence[str]) -> str:
    """Explain that one of the flavors ties the pods to a node pool that may lack their TPUs."""
    bound = [name for name in names if NODE_POOL in known.flavors[name].labels]
    if not pods.requests.get(TPU) or len(bound) in (0, len(names)) or _pools(objects):
        return ""
    pool = f"{NODE_POOL}={known.flavors[bound[0]].labels[NODE_POOL]} of flavor {bound[0]}"
    return f"Kueue adds {pool}, so they run only if that node pool has their TPUs"


_first = rule("FIT120", QUEUED_KINDS, hint=_APART)(lambda resource, objects: _judged(resource, objects)[0])
_later = rule("FIT121", QUEUED_KINDS, "warning")(lambda resource, objects: _judged(resource, objects)[1])


@rule("FIT150", QUEUED_KINDS)
def _nowhere(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare pods of no queue with the nodes of all pools; other rules report unknown shapes."""
    site = objects.site
    if site is None or not site.pools or QUEUE in resource.labels:
        return
    keys = objects.once("label keys of pools", _keys)
    nodes = [node for pools in _pools(objects).values() for pool in pools for node in _nodes(pool)]
    for index, pods in enumerate(quota_workload.pod_sets(resource, objects)):
        selected = {key: value for key, value in pods.nodes.fixed().items() if key in keys}
        shape = (selected.get(ACCELERATOR, ""), selected.get(TOPOLOGY, ""))
        is_wrong = all(shape) and not of_labels(objects.catalogue, *shape)
        by_class = COMPUTE_CLASS in pods.nodes.fixed()
        if not (pods.count and pods.requests.get(TPU) and selected) or is_wrong or by_class:
            continue
        if not any(pods.nodes.suits(node, keys) for node in nodes):
            labels = joined([f"{key}={value}" for key, value in selected.items()])
            message = f"pods '{pods.name}' select nodes with {labels}, "
            message += f"but no pool of cluster '{site.cluster.name}' has them"
            hint = f"change the node selector, or declare such a pool in {site.cluster.source.file.path}"
            beside = {key: value for key, value in pods.nodes.labels.items() if key != NODE_POOL}
            fitting = [node for node in nodes if NodeSelector(beside, pods.nodes.terms).suits(node, keys)]
            if fitting and NODE_POOL in selected:
                hint = f"leave {NODE_POOL} out, or write {_one_of([node[NODE_POOL] for node in fitting])}"
            path = resource.pods[index].spec_path if index < len(resource.pods) else ("spec",)
            yield Finding(path, message, hint, is_certain=has_no_other_nodes(site))
