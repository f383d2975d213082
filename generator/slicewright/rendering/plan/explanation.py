"""Explains where each number of a plan comes from."""

import json
from collections.abc import Iterator

from msgspec import Struct

from slicewright.catalogue.resolve import TpuRequest
from slicewright.catalogue.shape import Shape
from slicewright.document.document import values_in
from slicewright.intent.source import Source
from slicewright.intent.tpuworkload import Workload, lacks
from slicewright.kubernetes.labels import NODE_POOL, TPU
from slicewright.kubernetes.problem import Path, dotted
from slicewright.rendering.plan.plan import PATTERNS, Plan
from slicewright.rendering.plan.resilience import survives_host_loss
from slicewright.rendering.plan.validate_workload import DEV_SHM


class Fact(Struct, frozen=True):
    """One decided value and its reason."""

    what: str
    value: str
    because: str


def explain(plan: Plan, workload: Workload, same_count: tuple[Shape, ...]) -> tuple[Fact, ...]:
    """Return the facts of a plan; `same_count` are the other shapes that its count name fits."""
    tpu = workload.tpu
    size = _nodes(plan, workload) if tpu is None else _shape(plan, tpu, workload, same_count)
    return (*size, *_objects(plan, workload), *_defaults(workload.source))


def _defaults(source: Source) -> Iterator[Fact]:
    """Yield the values that TPUDefaults give, elements of lists as a whole, and where they are written."""
    if not source.layers:
        return
    explained: Path = ()
    for path, value in values_in(source.data):
        is_element = bool(path) and isinstance(path[-1], int)
        is_inside = bool(explained) and path[: len(explained)] == explained
        if is_inside or (isinstance(value, dict | list) and value and not is_element):
            continue
        layer, way = source.origin(path)
        if layer is not source.written:
            explained, (line, _) = path, layer.place(way)
            shown = value if isinstance(value, str) else json.dumps(value)
            yield Fact(dotted(path), shown, f"{layer.subject}, {layer.file.path}:{line}")


def _nodes(plan: Plan, workload: Workload) -> Iterator[Fact]:
    pool = workload.cpu.pool if workload.cpu else ""
    yield Fact("pool", pool, "spec.cpu.pool")
    yield Fact("machine type", plan.shape.machine_type or "not known", f"pool {pool} of {plan.cluster}")
    yield Fact("nodes", str(plan.hosts), "spec.cpu.nodes" if "nodes" in workload.spec["cpu"] else "default")


def _shape(plan: Plan, tpu: TpuRequest, workload: Workload, same_count: tuple[Shape, ...]) -> Iterator[Fact]:
    shape = plan.shape
    request = tpu.name or " ".join(part for part in (tpu.accelerator, tpu.topology, tpu.machine_type) if part)
    yield Fact("tpu", request, f"spec.tpu; catalogue {shape.generation}, tier {shape.tier}")
    yield Fact("machine type", shape.machine_type, f"the {shape.chips_per_host}-chip host of this shape")
    yield Fact("topology", shape.topology, _choice(shape, same_count))
    yield Fact("chips per slice", str(shape.chips), shape.topology.replace("x", " x "))
    per_host = f"{shape.chips} chips / {shape.chips_per_host} chips per host"
    yield Fact("hosts per slice", str(shape.hosts), per_host)
    yield Fact("slices", str(plan.slices), "spec.slices" if "slices" in workload.resolved_spec else "default")
    meaning = "without what patches change: see slicewright capacity" if plan.patches else "what Kueue counts"
    chips = f"{plan.slices} x {shape.chips} chips: {meaning}"
    yield Fact("chips in all", str(plan.slices * shape.chips), chips)
    yield Fact("TensorCores per slice", str(shape.tensor_cores), "chips x cores per chip of the generation")
    if shape.exceeds_documented_max:
        yield Fact("warning", shape.topology, "larger than the largest slice that Google documents")


def _choice(shape: Shape, same_count: tuple[Shape, ...]) -> str:
    if not same_count:
        return f"the only shape called {shape.count_name}"
    others = ", ".join(f"{other.topology} on {other.machine_type} ({other.tier})" for other in same_count)
    return f"{shape.count_name} also fits {others}"


def _objects(plan: Plan, workload: Workload) -> Iterator[Fact]:
    base = PATTERNS[plan.pattern]
    run = "a hash of the spec as written" if plan.run else "naming: Fixed"
    yield Fact("object", plan.name, f"{plan.base}; {run}")
    for counted, number in ((base.slices, plan.slices), (base.hosts, plan.hosts)):
        if counted is not None:
            yield Fact(counted[0], str(number), counted[1])
    if base.hosts is not None and plan.shape.chips:
        why = "requests = limits = chips of a host, one pod takes them all"
        if plan.containers_per_host > 1:
            copies = plan.containers_per_host
            yield Fact("containers per host", str(copies), "spec.containersPerHost")
            why = f"of each container: {plan.shape.chips_per_host} chips of a host / {copies} containers"
        yield Fact(TPU, str(plan.chips_per_container), why)
    why = "shape and provisioning" if workload.tpu else "spec.cpu.pool"
    for key, value in plan.node_selector.items():
        yield Fact(f"nodeSelector {key}", value, why)
    if base.hosts:
        for toleration in plan.apart.tolerations:
            taint = toleration["key"]
            if "value" in toleration:
                taint += f"={toleration['value']}"
            because = "the cluster has this shape with several kinds of provisioning: "
            because += "their flavors have such taints"
            yield Fact("toleration", taint, because)
        for entry in plan.apart.required:
            rule = " ".join([entry["operator"], *entry.get("values", ())])
            because = "keeps the pods off nodes that are had in another way"
            yield Fact(f"node affinity {entry['key']}", rule, because)
    if plan.exclusive_topology and base.is_exclusive:
        yield Fact("exclusive-topology", NODE_POOL, "one slice is one node pool")
    yield from _account(plan, workload)
    for key, value in plan.topology_request.items():
        yield Fact(key, value, "the flavor of the pool has a Topology: Kueue places the slices")
    yield from _runtime(plan)
    for component in plan.components:
        yield Fact("component", component, _reason(component, workload))
    for field in plan.left_out:
        yield Fact(field, "left out", f"the Autopilot cluster {plan.cluster} refuses it")
    yield from _resilience(plan)
    is_decided = survives_host_loss(plan.resilience) and not plan.backoff_limit
    if not is_decided and not any("backoffLimit" in fields for _, fields in lacks(workload.resolved_spec)):
        why = "a slice is whole or lost" if workload.tpu else "the failure policy restarts the run"
        because = f"default: {why}" if workload.backoff_limit is None else "spec.backoffLimit"
        yield Fact("backoffLimit", str(plan.backoff_limit), because)


def _resilience(plan: Plan) -> Iterator[Fact]:
    """Yield what a run survives, how often its program may fail, and what its pods get for that."""
    if plan.shared_memory:
        yield Fact(DEV_SHM, plan.shared_memory, "spec.sharedMemory; counts as memory of the container")
    resilience = plan.resilience
    if resilience is None:
        return
    grace = f"{resilience.grace_period_seconds} s"
    yield Fact("terminationGracePeriodSeconds", grace, "resilience.gracePeriodSeconds: for a last checkpoint")
    is_jobset = plan.pattern not in ("job", "indexed-job")
    uncounted = "restarts the run, not counted" if is_jobset else "its pod is replaced, not counted"
    if resilience.exit_codes:
        codes = ", ".join(map(str, resilience.retry_exit_codes))
        yield Fact(f"exit code {codes}", uncounted, "resilience.retryExitCodes: the program has not begun")
    if not survives_host_loss(resilience):
        yield Fact("lost host", "counts as a failure", "resilience.hostLoss: Count")
        return
    because = "resilience.hostLoss: maintenance, preemption or eviction of its pod, or a node that is gone"
    if plan.pathways is not None:
        yield Fact("lost worker", "its pod is replaced", because)
    yield Fact("lost head" if plan.pathways is not None else "lost host", uncounted, because)
    if not plan.backoff_limit:
        yield from _failures(plan, resilience.repair_seconds)
    if is_jobset:
        counted = str(plan.failure_policy.max_restarts)
        yield Fact("maxRestarts", counted, "failurePolicy.maxRestarts: failures of the program")


def _failures(plan: Plan, repair: int) -> Iterator[Fact]:
    """Yield how often the pods of a program fail before their Job does."""
    field, because = "backoffLimitPerIndex", "the Job has failed when the program of every host has ended: "
    because += "before that it learns of a lost host"
    if plan.retries:
        because = f"retries of each pod, whose delays outlast resilience.repairSeconds, {repair} s: "
        because += "programs end before their Job learns of a lost host elsewhere"
    if plan.pattern == "job" or plan.pathways is not None:
        field = "backoffLimit" if plan.pathways is None else "head's backoffLimit"
    yield Fact(field, str(plan.retries), because)


_FIELDS = {
    "host-network": "spec.hostNetwork",
    "privileged": "spec.privileged",
    "priority": "spec.workloadPriorityClassName",
    "gcs-fuse": "spec.gcsFuse",
    "host-maintenance": "spec.failurePolicy.onHostMaintenance",
    "colocated-python": "spec.pathways.colocatedPython",
    "colocate-head": "spec.pathways.deploymentMode",
}
"""The fields that select the folders below bases/components/; spec.provisioning selects the others."""


def _reason(component: str, workload: Workload) -> str:
    """Return the field of the workload that selects a component."""
    if component in workload.components:
        return "spec.components"
    return _FIELDS.get(component.split("/")[2], "spec.provisioning")


def _account(plan: Plan, workload: Workload) -> Iterator[Fact]:
    """Yield the service account that the pods of the program have and the workload does not write."""
    pods, own = plan.pod_template, workload.pod_template
    if plan.pathways is not None and workload.pathways is not None:
        pods, own = plan.pathways.written.head.pod_template, workload.pathways.head.pod_template
    if pods != own:
        account = pods["spec"]["serviceAccountName"]
        yield Fact("serviceAccountName", account, f"spec.teams of {plan.cluster}, namespace {plan.namespace}")


def _runtime(plan: Plan) -> Iterator[Fact]:
    runtime = plan.pathways
    if runtime is None:
        return
    if runtime.head_node_pool:
        yield Fact("head's node pool", runtime.head_node_pool, "pathways.head.pool, or the only CPU pool")
    yield Fact("instance type", runtime.instance_type, "Pathways' word for the machine type: topology")
    if plan.pattern == "pathwaysjob":
        return
    each = runtime.worker_backoff_limit // plan.hosts
    yield Fact("workers' backoffLimit", str(runtime.worker_backoff_limit), f"{plan.hosts} hosts x {each}")
    because = "short and its own: the coordinator's address is a label value"
    yield Fact("subdomain", runtime.subdomain, because)
