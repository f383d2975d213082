"""A shape that is had in several ways: each run is counted on its own flavor, and runs on its own nodes."""

import copy
import json
from typing import Any

import pytest
import yaml

from slicewright.intent.source import SourceFile
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import package
from slicewright.rendering.overlays import Bases, make
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.plans import plan_all
from slicewright.rendering.platform.flavor import capacities, kept_apart
from slicewright.rendering.platform.platform_files import objects
from slicewright.rendering.repository import Settings, read_repository
from slicewright.testbed.bed import Bed

from . import kit
from .test_platform import platform_bed, put_up  # noqa: F401 - a fixture

REQUEST = ("autoscaling.x-k8s.io/v1", "ProvisioningRequest")
WAYS: dict[str, Any] = {
    "standing": "OnDemand",
    "spot": "Spot",
    "flex": "FlexStart",
    "queued": "FlexStartQueued",
    "kept": {"type": "Reservation", "name": "r1", "project": "my-project"},
    "class": {"type": "ComputeClass", "name": "ladder"},
}
"""Every way of provisioning, by the name of its pool."""
COMMON = {
    "clusters": ["c1"],
    "naming": "Fixed",
    "tpu": "v5litepod-4",
    "api": "Job",
    "container": {"image": "python:3.12"},
}
NODES = 12
"""Slices of each pool, of one host each."""
Mixture = tuple[str, ...]
"""The pools of a queue, in the order of its quota."""


def cluster(queues: dict[Mixture, list[Object]]) -> Object:
    """Return a TPUCluster with all ways to have one shape, and a queue for each mixture of them."""
    pools: list[Object] = [
        {"name": name, "tpu": "v5litepod-4", "slices": NODES, "provisioning": way}
        for name, way in WAYS.items()
    ]
    return {
        "apiVersion": "slicewright.dev/v1alpha1",
        "kind": "TPUCluster",
        "metadata": {"name": "c1"},
        "spec": {
            "project": "my-project",
            "location": "us-west4-a",
            "pools": [*pools, {"name": "cpu", "machineType": "n2-standard-16", "nodes": 4}],
            "clusterQueues": [
                {"name": queue_name(mixture), "quota": quota, "localQueues": [{"name": queue_name(mixture)}]}
                for mixture, quota in queues.items()
            ],
        },
    }


def queue_name(mixture: Mixture) -> str:
    """Return the name of the queue of a mixture."""
    return "-".join(mixture)


def rendered(site: Object, specs: dict[str, Object]) -> tuple[ResolvedCluster, dict[str, Object]]:
    """Return the site of a cluster, and the run object of each of some workloads, as they are rendered."""
    files = [SourceFile("clusters/c1.yaml", json.dumps(site))]
    for name, spec in specs.items():
        document = {
            "apiVersion": "slicewright.dev/v1alpha1",
            "kind": "TPUWorkload",
            "metadata": {"name": name},
            "spec": {**COMMON, **spec},
        }
        files.append(SourceFile(f"workloads/{name}.yaml", json.dumps(document)))
    repository = read_repository(files, Settings(), package(), read_text)
    planned, problems = plan_all(repository)
    assert [problem.text() for problem in problems if problem.severity == "error"] == []
    found = {}
    for entry in planned:
        made, against = make(entry, Bases(read_text, repository.package.schemas))
        assert made is not None, against
        found[entry.plan.workload] = made.objects[0]
    return repository.sites["c1"], found


def read_text(path: str) -> str | None:
    """Read a base of this repository."""
    target = kit.ROOT / path
    return target.read_text(encoding="utf-8") if target.is_file() else None


def called(item: Object, name: str, queue: str) -> Object:
    """Return a run under another name in another queue, whose pods end after a moment."""
    found = kit.simulated(copy.deepcopy(item), seconds=0.5)
    found["metadata"]["name"] = name
    found["metadata"]["labels"][kit.QUEUE] = queue
    return found


def play(bed: Bed, items: list[Object]) -> dict[str, tuple[str, str]]:
    """Run Jobs to their end; return the flavor and the pool on whose node each has run, by its name."""
    names = {item["metadata"]["name"] for item in items}
    bed.api.each(bed.api.create, items)

    def over() -> bool:
        for request in bed.api.list(*REQUEST):
            if not kit.condition(request, "Provisioned"):
                provision(bed, request)
        done = kit.conditions(bed, *kit.JOB)
        return all("Complete" in done.get(name, ()) for name in names)

    bed.until("all runs to complete", over, seconds=900)
    return ran(bed)


def provision(bed: Bed, request: Object) -> None:
    """Answer a ProvisioningRequest as GKE does when the nodes are there."""
    conditions = [
        {
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": "there are nodes",
            "lastTransitionTime": request["metadata"]["creationTimestamp"],
        }
        for kind in ("Accepted", "Provisioned")
    ]
    bed.api.patch(request, {"status": {"conditions": conditions}}, subresource="status")


def ran(bed: Bed) -> dict[str, tuple[str, str]]:
    """Return the TPU flavor and the pool of each Job's pod by the name of the Job."""
    flavors = {}
    for item in bed.api.list(*kit.WORKLOAD):
        (assigned,) = item["status"]["admission"]["podSetAssignments"]
        flavors[item["metadata"]["ownerReferences"][0]["name"]] = assigned["flavors"]["google.com/tpu"]
    pods = bed.api.list(*kit.POD, namespace="default")
    pools = kit.node_pools(bed, pods)
    found = {}
    for pod, pool in zip(pods, pools, strict=True):
        job = pod["metadata"]["labels"]["job-name"]
        found[job] = (flavors[job], pool.rpartition("-")[0])
    return found


def flavor_names(site: ResolvedCluster) -> dict[str, str]:
    """Return the name of the flavor of each pool."""
    return {name: one.flavor.name for name, one in capacities(site).items()}


@pytest.mark.untraced
def test_each_run_takes_the_first_of_its_ways_that_is_free(platform_bed: Bed) -> None:  # noqa: F811
    """Each way is first and second in a queue: runs of two ways and of one get their flavors and nodes."""
    bed = platform_bed
    quotas: dict[Mixture, list[Object]] = {}
    specs = {}
    expected: dict[tuple[str, Mixture], str] = {}
    ways = list(WAYS)
    for first, second in zip(ways, [*ways[1:], ways[0]], strict=True):
        both = [{"pool": first, "nominalSlices": 1}, {"pool": second, "nominalSlices": 1}]
        quotas[first, second] = both
        quotas[first, second, "only"] = [{**both[0], "nominalSlices": 0}, both[1]]
        one_way = {"provisioning": WAYS[second], "queueName": queue_name((first, second))}
        specs[second] = one_way
        specs[f"{second}-{first}"] = {**one_way, "alternativeProvisioning": [WAYS[first]]}
        expected |= {
            (f"{second}-{first}", (first, second)): first,
            (second, (first, second)): second,
            (f"{second}-{first}", (first, second, "only")): second,
        }
    site, runs = rendered(cluster(quotas), specs)
    bed.add_nodes(site)
    put_up(bed, objects(site))

    found = play(
        bed,
        [called(runs[spec], f"{queue_name(queue)}.{spec}", queue_name(queue)) for spec, queue in expected],
    )

    own = flavor_names(site)
    assert found == {
        f"{queue_name(queue)}.{spec}": (own[pool], pool) for (spec, queue), pool in expected.items()
    }


def taints_that_bar(bed: Bed, name: str) -> list[str]:
    """Return why Kueue does not admit a run, once it has said so of taints."""
    return [
        condition["message"]
        for item in bed.api.list(*kit.WORKLOAD)
        if item["metadata"]["ownerReferences"][0]["name"] == name
        for condition in item.get("status", {}).get("conditions", ())
        if (condition["type"], condition["status"]) == ("QuotaReserved", "False")
        and "untolerated taint" in condition["message"]
    ]


AGED = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c1}
spec:
  project: my-project
  location: us-west4-a
  pools: [{name: tpus, tpu: v5litepod-4, slices: 1}MORE]
  clusterQueues: [{name: q, quota: [{pool: tpus}QUOTA], localQueues: [{name: q}]}]
"""


def test_run_that_does_not_tolerate_the_taint_comes_back_while_the_taint_waits(platform_bed: Bed) -> None:  # noqa: F811
    """Evicted, it is admitted again without the taint; with it, Kueue would never admit it."""
    bed = platform_bed
    one_way = yaml.safe_load(AGED.replace("MORE", "").replace("QUOTA", ""))
    spot = ", {name: spot, tpu: v5litepod-4, provisioning: Spot}"
    two_ways = yaml.safe_load(AGED.replace("MORE", spot).replace("QUOTA", ", {pool: spot}"))
    site, runs = rendered(one_way, {"old": {"api": "JobSet", "queueName": "q"}})
    bed.add_nodes(site)
    put_up(bed, objects(site))
    bed.api.apply(runs["old"])
    bed.until("it to run", lambda: kit.pods_of(bed, "old", phase="Running"))
    site, _ = rendered(two_ways, {})

    put_up(bed, objects(site, kept_apart(site)))
    evict(bed)
    bed.until("it to come back", lambda: kit.pods_of(bed, "old", phase="Running"))

    put_up(bed, objects(site))
    assert kit.pods_of(bed, "old", phase="Running")
    evict(bed)
    (waits,) = bed.until("it to wait", lambda: taints_that_bar(bed, "old"))
    assert "untolerated taint {slicewright.dev/provisioning OnDemand NoSchedule <nil>}" in waits


def evict(bed: Bed) -> None:
    """Take the only run out of its queue and put it in again, as whoever stops a workload does."""
    # One of an earlier test may still be on its way out.
    (workload,) = (
        item
        for item in bed.api.list(*kit.WORKLOAD)
        if item["metadata"]["ownerReferences"][0]["name"] == "old"
    )
    bed.api.patch(workload, {"spec": {"active": False}})
    bed.until("its pods to go", lambda: not kit.pods_of(bed, "old"))
    bed.api.patch(workload, {"spec": {"active": True}})
