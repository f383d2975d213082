"""Rules of several hosts and several slices: multislice, exclusive placement, names of the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.model import Finding, Rule
from slicewright.core.check.rules.shapes import asks_for_tpu, exclusive, is_pathways, is_tpu, shape
from slicewright.core.kubernetes.labels import EXCLUSIVE_TOPOLOGY, JOB_NAME, NODE_POOL, PODSET, SLICE_TOPOLOGY
from slicewright.core.kubernetes.read import at, entries, number, text, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.kubernetes.pods import Pods

_MULTISLICE = "GKE documentation, page TPU multislice"
_INJECTION = "GKE documentation, page Run TPU workloads (TPU_WORKER_ID and TPU_WORKER_HOSTNAMES)"
_NUM_SLICES = "MEGASCALE_NUM_SLICES"
_SLICES = frozenset({"JobSet"})


def _blanked(pods: Pods) -> bool:
    """Tell whether the pods blank MEGASCALE_NUM_SLICES, as independent replicas do."""
    return any(
        entry.get("name") == _NUM_SLICES and not text(entry.get("value")) and "valueFrom" not in entry
        for _, container in pods.containers
        for _, entry in entries(container.get("env"))
    )


def _several(resource: Resource) -> Iterator[Pods]:
    """Yield the replicatedJobs that GKE takes for a multislice."""
    if not is_pathways(resource):
        yield from (
            pods for pods in resource.pods if pods.replicas > 1 and is_tpu(pods) and not _blanked(pods)
        )


def _replicas_path(pods: Pods) -> tuple[str | int, ...]:
    return (*pods.path[:3], "replicas")


def _unjoined(resource: Resource, objects: ObjectSet, *, multislice: bool) -> Iterator[tuple[Pods, Shape]]:
    """Yield the pods whose slices GKE does not document as joined, by whether it joins their generation."""
    for pods in _several(resource):
        row = shape(pods, objects)
        if row is None or row.multislice or not (row.multi_host or exclusive(resource, pods)):
            continue
        if objects.catalogue.generations[row.generation].multislice == multislice:
            yield pods, row


def _multislice(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    for pods, row in _unjoined(resource, objects, multislice=False):
        message = f"{pods.replicas} slices of {row.topology} on {row.machine_type}: {row.generation} has none"
        yield Finding(_replicas_path(pods), message)


def _single_hosts(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    for pods, row in _unjoined(resource, objects, multislice=True):
        message = f"{pods.replicas} slices of {row.topology} on {row.machine_type}, which is one host"
        yield Finding(_replicas_path(pods), message)


def _independent(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    for pods in _several(resource):
        row = shape(pods, objects)
        alone = row is not None and not row.multi_host and not exclusive(resource, pods)
        if alone or at(resource.data, "spec", "successPolicy", "operator") == "Any":
            message = f"{pods.replicas} replicas that look independent are told that they are one multislice"
            yield Finding(_replicas_path(pods), message)


def _exclusive_missing(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    for pods in _several(resource):
        row = shape(pods, objects)
        placed = exclusive(resource, pods) or SLICE_TOPOLOGY in pods.annotations
        placed = placed or any(key.startswith(PODSET) for key in pods.annotations)
        if row is not None and row.multislice and not placed:
            message = f"nothing keeps the {pods.replicas} slices on node pools of their own"
            yield Finding(pods.path[:3], message)


def _exclusive_in_parts(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for pods in resource.pods:
        if SLICE_TOPOLOGY not in pods.annotations or exclusive(resource, pods) != NODE_POOL:
            continue
        holder: tuple[tuple[str | int, ...], dict[str, str]] = (("metadata",), resource.annotations)
        if EXCLUSIVE_TOPOLOGY in pods.job_annotations:
            holder = ((*pods.job_path[:-1], "metadata"), pods.job_annotations)
        elif EXCLUSIVE_TOPOLOGY in pods.annotations:
            holder = ((*pods.path, "metadata"), pods.annotations)
        path = (*holder[0], "annotations", EXCLUSIVE_TOPOLOGY)
        message = f"the slices are parts of {NODE_POOL}, or several, and each wants a whole one for itself"
        yield Finding(path, message)


def _exclusive_everywhere(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    key = EXCLUSIVE_TOPOLOGY
    if key not in resource.annotations or not any(is_tpu(pods) for pods in resource.pods):
        return
    for pods in resource.pods:
        if not is_tpu(pods) and key not in pods.job_annotations:
            message = f"replicatedJob '{pods.name}' has no TPU and would take a node pool for itself"
            yield Finding(("metadata", "annotations", key), message)


def _worker_names(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    for pods in resource.pods:
        row = shape(pods, objects)
        if row is None or not row.multi_host or not asks_for_tpu(pods):
            continue
        job = pods.job
        if text(job.get("completionMode")) != "Indexed":
            message = f"the pods of a slice of {row.hosts} hosts have no index"
            yield Finding(pods.job_path, message, "write completionMode: Indexed")
        if not text(pods.spec.get("subdomain")):
            message = f"the pods of a slice of {row.hosts} hosts have no DNS names"
            hint = "write subdomain with the name of a headless Service, or use a JobSet"
            yield Finding(pods.spec_path, message, hint)


def _service(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    for pods in resource.pods:
        row, name = shape(pods, objects), text(pods.spec.get("subdomain"))
        if row is None or not row.multi_host or not name:
            continue
        path = (*pods.spec_path, "subdomain")
        service = objects.find("Service", name, resource.namespace)
        if service is None:
            if objects.of_kind("Service"):
                yield Finding(path, f"there is no Service '{name}' among the objects")
        elif at(service.data, "spec", "clusterIP") != "None":
            yield Finding(path, f"Service '{name}' is not headless", "write clusterIP: None in the Service")
        elif not _selects(texts(at(service.data, "spec", "selector")), resource, pods):
            hint = f"write selector: {{job-name: {resource.name}}} in the Service"
            yield Finding(path, f"Service '{name}' does not select the pods of this Job", hint)


def _selects(selector: dict[str, str], resource: Resource, pods: Pods) -> bool:
    labels = {"job-name": resource.name, JOB_NAME: resource.name, **pods.labels}
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _other_mode(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    for pods in resource.pods:
        row = shape(pods, objects)
        mode = text(pods.job.get("completionMode"))
        if row is not None and row.multi_host and mode not in ("", "Indexed"):
            message = f"the pods of a slice of {row.hosts} hosts have no index"
            yield Finding((*pods.job_path, "completionMode"), message)
        network = at(resource.data, "spec", "network", "enableDNSHostnames")
        if row is not None and row.multi_host and network is False:
            message = f"the pods of a slice of {row.hosts} hosts have no DNS names"
            hint = "write enableDNSHostnames: true"
            yield Finding(("spec", "network", "enableDNSHostnames"), message, hint)


def _restarts(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    for pods in resource.pods:
        row = shape(pods, objects)
        limit = number(pods.job.get("backoffLimit"), 6)
        if row is None or not row.multi_host or is_pathways(resource) or limit == 0:
            continue
        message = f"a failed host of {row.hosts} is replaced alone, up to {limit} times, and the others hang"
        path = (*pods.job_path, "backoffLimit") if "backoffLimit" in pods.job else pods.job_path
        yield Finding(path, message)


RULES = (
    Rule(
        id="TPU111",
        severity="error",
        title="Multislice of a generation that does not support it",
        why="GKE has no multislice on v3: the coordinator waits for slices that never report.",
        hint="write replicas: 1, or blank MEGASCALE_NUM_SLICES for replicas that are independent",
        kinds=_SLICES,
        check=_multislice,
        sources=(_MULTISLICE,),
    ),
    Rule(
        id="TPU150",
        severity="warning",
        title="GKE does not document multislice of single-host slices",
        why="GKE's page says that multislice supports node pools of multi-host slices only. Google's nightly "
        "tests run multislice on single hosts of v4-8 and v5p-8 all the same.",
        hint="take a topology of several hosts, or blank MEGASCALE_NUM_SLICES for independent replicas",
        kinds=_SLICES,
        check=_single_hosts,
        sources=(
            _MULTISLICE,
            "GoogleCloudPlatform/ml-auto-solutions@7eda193b: dags/multipod/mxla_maxtext_nightly_gke.py",
            "GoogleCloudPlatform/ml-auto-solutions@7eda193b: dags/multipod/jax_functional_tests.py",
        ),
    ),
    Rule(
        id="TPU151",
        severity="warning",
        title="Slices that GKE makes of partitions claim a node pool",
        why="With cloud.google.com/gke-tpu-slice-topology a slice is part of a node pool or joins several. "
        "Exclusive placement by node pool then keeps half of the pods pending.",
        hint="leave the annotation out",
        kinds=_SLICES,
        check=_exclusive_in_parts,
        sources=("AI-Hypercomputer/xpk@367c8382: src/xpk/commands/workload.py#L638-L642",),
    ),
    Rule(
        id="TPU112",
        severity="warning",
        title="Independent replicas are configured as one multislice",
        why="GKE hands MEGASCALE_* to the pods of a replicatedJob with several replicas; independent servers "
        "then wait for each other.",
        hint='add the env MEGASCALE_NUM_SLICES with value "", or write one JobSet each',
        kinds=_SLICES,
        check=_independent,
        sources=("GoogleCloudPlatform/kubernetes-engine-samples@2b503651: sax-model-server-set.yaml",),
    ),
    Rule(
        id="TPU113",
        severity="warning",
        title="Slices of a multislice may share a node pool",
        why="All slices have the same labels. Without exclusive placement the scheduler mixes their pods "
        "over "
        "the node pools, and no slice is whole.",
        hint="annotate the replicatedJob's template with alpha.jobset.sigs.k8s.io/exclusive-topology: "
        "cloud.google.com/gke-nodepool",
        kinds=_SLICES,
        check=_exclusive_missing,
        sources=(_MULTISLICE, "kubernetes-sigs/jobset v0.12.0: pkg/webhooks/pod_webhook.go"),
    ),
    Rule(
        id="TPU114",
        severity="warning",
        title="Exclusive placement applies to CPU jobs",
        why="On the JobSet the annotation holds for every replicatedJob: a CPU job wants a node pool for "
        "itself, and two such JobSets keep each other out.",
        hint="move the annotation to spec.replicatedJobs[].template.metadata.annotations of the TPU job",
        kinds=_SLICES,
        check=_exclusive_everywhere,
        sources=("kubernetes-sigs/jobset v0.12.0: pkg/controllers/jobset_controller.go",),
    ),
    Rule(
        id="TPU115",
        severity="error",
        title="A multi-host Job is not Indexed or has no subdomain",
        why="GKE hands TPU_WORKER_ID and TPU_WORKER_HOSTNAMES only to Indexed Jobs with a subdomain; without "
        "them each host believes that it is alone.",
        hint="write completionMode: Indexed and a subdomain, or use a JobSet",
        kinds=frozenset({"Job", "CronJob"}),
        check=_worker_names,
        sources=(_INJECTION,),
    ),
    Rule(
        id="TPU116",
        severity="error",
        title="No headless Service selects the pods of a multi-host Job",
        why="The names of the workers resolve only through a headless Service of the name of the subdomain.",
        hint="add a Service of that name with clusterIP: None and selector job-name",
        kinds=frozenset({"Job"}),
        check=_service,
        sources=(_INJECTION, "Kubernetes documentation, page DNS for Services and Pods"),
    ),
    Rule(
        id="TPU117",
        severity="error",
        title="A multi-host JobSet has no indexes or no DNS names",
        why="JobSet gives both by default; NonIndexed, or enableDNSHostnames: false, takes away what GKE "
        "makes "
        "TPU_WORKER_ID and TPU_WORKER_HOSTNAMES from.",
        hint="write completionMode: Indexed",
        kinds=_SLICES,
        check=_other_mode,
        sources=(_INJECTION,),
    ),
    Rule(
        id="TPU118",
        severity="warning",
        title="Only a part of a slice restarts",
        why="Above 0 the Job replaces one failed pod while the others of the slice wait for a process that "
        "is "
        "gone; nothing but a restart of all of them helps. Unwritten it is 6.",
        hint="write backoffLimit: 0, and failurePolicy.maxRestarts on the JobSet",
        kinds=frozenset({"JobSet", "Job"}),
        check=_restarts,
        sources=("https://jobset.sigs.k8s.io/docs/concepts/", "AI-Hypercomputer/xpk@367c8382"),
    ),
)
