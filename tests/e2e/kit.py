"""What the tests say about a cluster: objects by hand, conditions to wait for, a clean bed between tests."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import slicewright
from slicewright.cluster.api.api_error import ApiError
from slicewright.kubernetes.types import Object
from slicewright.project.repository_reader import Checkout
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.testbed.bed import Bed
from slicewright.testbed.nodes import SIMULATED
from slicewright.testbed.waiting import BedError

ROOT = Path(__file__).parents[2]


JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet")
JOB = ("batch/v1", "Job")
POD = ("v1", "Pod")
NODE = ("v1", "Node")
PATHWAYSJOB = ("pathways-job.pathways.domain/v1", "PathwaysJob")
KUEUE = "kueue.x-k8s.io/v1beta2"
WORKLOAD = (KUEUE, "Workload")

NODE_POOL = "cloud.google.com/gke-nodepool"
SECONDS = "slicewright.dev/simulated-seconds"
EXIT = "slicewright.dev/simulated-exit"
END = "slicewright.dev/simulated-end"
QUEUE = "kueue.x-k8s.io/queue-name"

TESTS_OWN = (
    *(PATHWAYSJOB, JOBSET, JOB, POD, WORKLOAD, ("v1", "Service")),
    *((KUEUE, "LocalQueue"), (KUEUE, "ClusterQueue")),
    *((KUEUE, "ResourceFlavor"), (KUEUE, "WorkloadPriorityClass"), NODE),
    ("scheduling.k8s.io/v1", "PriorityClass"),
)
"""Kinds that tests create, in the order in which they go.

Kueue creates the Workloads: one that stayed for a moment would be counted by the next test.
"""


@cache
def checkout() -> Checkout:
    """Return this repository."""
    return slicewright.load(ROOT)


def overlays() -> list[str]:
    """Return the folders of all committed overlays, one a workload and cluster; platforms begin with '_'."""
    overlays = (ROOT / "overlays").glob("*/[!_]*/*/kustomization.yaml")
    return sorted(str(path.parent.relative_to(ROOT)) for path in overlays)


def composed(folder: str) -> list[Object]:
    """Return the objects of an overlay, for the test to change."""
    made = slicewright.compose(checkout(), folder)
    assert (made.problems, made.outside) == ((), ())
    return copy.deepcopy(list(made.objects))


def site(name: str) -> ResolvedCluster:
    """Return a cluster of this repository."""
    return checkout().repository.sites[name]


# -- objects by hand


def queue_objects(
    queue: str, *, chips: int, labels: dict[str, str], namespace: str = "default", **spec: Any
) -> list[Object]:
    """Return a flavor, a ClusterQueue with chips to give away and with `spec`, and a LocalQueue."""
    resource = {"name": "google.com/tpu", "nominalQuota": str(chips)}
    group = {
        "coveredResources": ["google.com/tpu"],
        "flavors": [{"name": f"{queue}-flavor", "resources": [resource]}],
    }
    return [
        _kueue("ResourceFlavor", f"{queue}-flavor", {"nodeLabels": labels}),
        _kueue("ClusterQueue", f"{queue}-cq", {"namespaceSelector": {}, "resourceGroups": [group], **spec}),
        _kueue("LocalQueue", queue, {"clusterQueue": f"{queue}-cq"}, namespace),
    ]


def priority_classes(**values: int) -> list[Object]:
    """Return classes for pods and for Kueue's workloads; Kueue, and not the scheduler, takes chips away."""
    return [
        entry
        for name, value in values.items()
        for entry in (
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
                "preemptionPolicy": "Never",
            },
            {
                "apiVersion": KUEUE,
                "kind": "WorkloadPriorityClass",
                "metadata": {"name": name},
                "value": value,
                "description": "for the tests",
            },
        )
    ]


CLASSES = {"low-priority": 100, "very-low": 100, "low": 250, "medium": 500, "high": 750, "very-high": 1000}
"""The priority classes of the tutorials (000 has the first, 002 the others)."""


def simulated(item: Object, *, seconds: float, replicated_jobs: Iterable[str] = ("slice",)) -> Object:
    """Return an object whose pods end after a while; of a JobSet only those of some replicated jobs."""
    item = copy.deepcopy(item)
    if item["kind"] == "JobSet":
        jobs = [
            job["template"] for job in item["spec"]["replicatedJobs"] if job["name"] in set(replicated_jobs)
        ]
    else:
        jobs = [item]
    for job in jobs:
        metadata = job["spec"]["template"].setdefault("metadata", {})
        metadata.setdefault("annotations", {})[SECONDS] = str(seconds)
    return item


def _kueue(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, "spec": spec}


# -- what to wait for


def condition(item: Object, kind: str) -> bool:
    """Tell whether a condition of an object is true."""
    entries = item.get("status", {}).get("conditions") or ()
    return any((entry["type"], entry["status"]) == (kind, "True") for entry in entries)


def conditions(bed: Bed, api_version: str, kind: str) -> dict[str, list[str]]:
    """Return the true conditions of all objects of a kind, by name."""
    return {
        item["metadata"]["name"]: [
            entry["type"]
            for entry in item.get("status", {}).get("conditions") or ()
            if entry["status"] == "True"
        ]
        for item in bed.api.list(api_version, kind)
    }


def completed(bed: Bed, *names: str) -> bool:
    """Tell whether JobSets have completed."""
    by_name = conditions(bed, *JOBSET)
    return all("Completed" in by_name.get(name, []) for name in names)


def admitted(bed: Bed) -> set[str]:
    """Return the names of the objects whose Kueue workload is admitted and not over."""
    return {
        item["metadata"]["ownerReferences"][0]["name"]
        for item in bed.api.list(*WORKLOAD)
        if condition(item, "Admitted") and not condition(item, "Finished")
    }


def suspended(bed: Bed) -> set[str]:
    """Return the names of the JobSets, and of the Jobs of no JobSet, that are suspended."""
    items = [*bed.api.list(*JOBSET), *bed.api.list(*JOB)]
    own = [item for item in items if "ownerReferences" not in item["metadata"]]
    return {item["metadata"]["name"] for item in own if item["spec"].get("suspend")}


def pods_of(bed: Bed, jobset: str, replicated_job: str = "", *, phase: str = "") -> list[Object]:
    """Return the pods of a JobSet."""
    labels = f"jobset.sigs.k8s.io/jobset-name={jobset}"
    if replicated_job:
        labels += f",jobset.sigs.k8s.io/replicatedjob-name={replicated_job}"
    pods = bed.api.list(*POD, labels=labels)
    return [pod for pod in pods if phase in ("", pod["status"]["phase"])]


def node_pools(bed: Bed, pods: Iterable[Object]) -> list[str]:
    """Return the node pool of each pod."""
    pools = {node["metadata"]["name"]: node["metadata"]["labels"][NODE_POOL] for node in _simulated(bed)}
    return [pools[pod["spec"]["nodeName"]] for pod in pods]


def slices(bed: Bed, pods: Iterable[Object]) -> list[set[str]]:
    """Return the node pools that each slice (each child Job) of a JobSet stands on."""
    by_job: dict[str, set[str]] = {}
    for pod in pods:
        job = pod["metadata"]["labels"]["jobset.sigs.k8s.io/job-key"]
        by_job.setdefault(job, set()).update(node_pools(bed, [pod]))
    return list(by_job.values())


def end_pod(bed: Bed, pod: Object, code: int = 0) -> None:
    """Let a running pod end with an exit code."""
    bed.api.patch(pod, {"metadata": {"annotations": {END: str(code)}}})


# -- between tests


def clear(bed: Bed, not_ours: frozenset[str]) -> None:
    """Remove what tests made, and wait until it is gone; nodes last, so that pods end as on a cluster."""
    others = [kind for kind in TESTS_OWN if kind != NODE]
    for kinds in (others, [NODE]):
        _remove(bed, not_ours, kinds)


def _remove(bed: Bed, not_ours: frozenset[str], kinds: Sequence[tuple[str, str]]) -> None:
    def left() -> list[Object]:
        return list(_left(bed, not_ours, kinds))

    bed.api.each(bed.api.delete, left())
    try:
        bed.until("the objects of the test before to go", lambda: not left())
    except BedError as error:
        stays = ", ".join(f"{item['kind']} {item['metadata']['name']}" for item in left())
        raise AssertionError(f"{error}; there still: {stays}") from error


def identities(bed: Bed) -> Iterator[str]:
    """Yield the uid of every object of the kinds that tests create."""
    yield from (item["metadata"]["uid"] for kind in TESTS_OWN for item in bed.api.list(*kind))


def _left(bed: Bed, not_ours: frozenset[str], kinds: Iterable[tuple[str, str]]) -> Iterator[Object]:
    for kind in kinds:
        items = _simulated(bed) if kind == NODE else bed.api.list(*kind)
        yield from (item for item in items if item["metadata"]["uid"] not in not_ours and _is_ours(item))


def _simulated(bed: Bed) -> list[Object]:
    return bed.api.list(*NODE, labels=f"{SIMULATED}=true")


def _is_ours(item: Object) -> bool:
    """Tell an object of a test from what the cluster makes anew while tests run."""
    return not item["metadata"].get("namespace", "").endswith("-system")


def ensure_namespace(bed: Bed, name: str, *accounts: str) -> None:
    """Create a namespace with service accounts, and wait for those that it has anyway: pods need them."""
    items = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}]
    items += [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": name}}
        for account in accounts
    ]
    for item in items:
        try:
            bed.api.create(item)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
    bed.until(f"the service account of {name}", lambda: bed.api.find("v1", "ServiceAccount", "default", name))


# -- applying


def refusal(bed: Bed, item: Object) -> str:
    """Return the message with which the API server refuses to create an object; it has to."""
    with pytest.raises(ApiError) as raised:
        bed.api.create(item, dryRun="All", fieldValidation="Strict")
    return raised.value.message


def workload_names(bed: Bed) -> set[str]:
    """Return the names of the objects for which Kueue has made a workload."""
    return {item["metadata"]["ownerReferences"][0]["name"] for item in bed.api.list(*WORKLOAD)}


def assert_apply_changes_nothing(bed: Bed, item: Object) -> None:
    """Apply an object that is there: its version stays what it was.

    Controllers write its status meanwhile, which is another version: then it is tried again.
    """
    where = (item["apiVersion"], item["kind"], item["metadata"]["name"], item["metadata"]["namespace"])
    generation = bed.api.get(*where)["metadata"].get("generation")

    def unchanged() -> bool:
        before = bed.api.get(*where)["metadata"]["resourceVersion"]
        after = bed.api.apply(item)["metadata"]["resourceVersion"]
        return bool(before == after)

    bed.until(f"a second apply of {item['kind']} {where[2]} to change nothing", unchanged)
    assert bed.api.get(*where)["metadata"].get("generation") == generation
