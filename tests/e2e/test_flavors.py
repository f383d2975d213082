"""A shape that is had in several ways: each run is counted on its own flavor, and runs on its own nodes."""

from __future__ import annotations

import copy
import json
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from slicewright.core.intent.source import SourceFile
from slicewright.core.platform.flavor import capacities, kept_apart
from slicewright.core.platform.tree import objects
from slicewright.core.render import tree
from slicewright.core.render.plans import plan_all
from slicewright.core.render.repository import Settings, read_repository
from slicewright.workspace.package import package

from . import kit
from .test_platform import platform_bed, put_up  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.testbed.bed import Bed


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


def cluster(queues: dict[Mixture, list[Object]], cohort: Iterable[Mixture] = ()) -> Object:
    """Return a TPUCluster with all ways to have one shape, and a queue for each mixture of them."""
    pools: list[Object] = [
        {"name": name, "tpu": "v5litepod-4", "slices": NODES, "provisioning": way}
        for name, way in WAYS.items()
    ]
    shared = set(cohort)
    return {
        "apiVersion": "slicewright.dev/v1alpha1",
        "kind": "TPUCluster",
        "metadata": {"name": "c1"},
        "spec": {
            "project": "my-project",
            "location": "us-west4-a",
            "pools": [*pools, {"name": "cpu", "machineType": "n2-standard-16", "nodes": 4}],
            "cohorts": [{"name": "everybody"}],
            "clusterQueues": [
                {
                    "name": queue_name(mixture),
                    "quota": quota,
                    "localQueues": [{"name": queue_name(mixture)}],
                    **({"cohortName": "everybody"} if mixture in shared else {}),
                }
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
        made, against = tree.make(entry, tree.Bases(read_text, repository.package.schemas))
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


@pytest.mark.workflow
@pytest.mark.untraced
def test_each_run_gets_its_own_flavor_and_its_own_nodes(platform_bed: Bed) -> None:  # noqa: F811
    """In every ordered pair and triple of ways in a queue or a cohort, each run has the way it asks for."""
    bed = platform_bed
    mixtures = [*permutations(WAYS, 2), *permutations(WAYS, 3)]
    quotas = {mixture: [{"pool": name, "nominalSlices": 1} for name in mixture] for mixture in mixtures}
    specs = {name: {"provisioning": way, "queueName": queue_name(of(name))} for name, way in WAYS.items()}
    site, runs = rendered(cluster(quotas, [one for one in mixtures if len(one) == 3]), specs)
    bed.add_nodes(site)
    put_up(bed, objects(site))

    items = [
        called(runs[name], f"{queue_name(mixture)}.{name}", queue_name(mixture))
        for mixture in mixtures
        for name in mixture
    ]
    found = play(bed, items)

    own = flavor_names(site)
    expected = {
        f"{queue_name(mixture)}.{name}": (own[name], name) for mixture in mixtures for name in mixture
    }
    assert len(expected) == 30 * 2 + 120 * 3
    assert {name: one for name, one in found.items() if one != expected[name]} == {}
    assert expected.keys() == found.keys()


def of(name: str) -> Mixture:
    """Return a mixture in which a way is."""
    return next(mixture for mixture in permutations(WAYS, 2) if name in mixture)


@pytest.mark.untraced
@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param(list(zip(WAYS, [*list(WAYS)[1:], *WAYS], strict=False)), id="each way first and second"),
        pytest.param(list(permutations(WAYS, 2)), id="all", marks=pytest.mark.workflow),
    ],
)
def test_run_that_may_take_several_ways_takes_the_first_that_is_free(
    pairs: list[Mixture],
    platform_bed: Bed,  # noqa: F811
) -> None:
    """In ordered pairs, a run that may have both gets the first with quota, and runs on its nodes."""
    bed = platform_bed
    quotas: dict[Mixture, list[Object]] = {}
    specs = {}
    for first, second in pairs:
        both = [{"pool": first, "nominalSlices": 1}, {"pool": second, "nominalSlices": 1}]
        quotas[first, second] = both
        quotas[first, second, "only"] = [{**both[0], "nominalSlices": 0}, both[1]]
        specs[f"{second}-{first}"] = {
            "provisioning": WAYS[second],
            "alternativeProvisioning": [WAYS[first]],
            "queueName": queue_name((first, second)),
        }
    site, runs = rendered(cluster(quotas), specs)
    bed.add_nodes(site)
    put_up(bed, objects(site))

    items = [
        called(runs[f"{mixture[1]}-{mixture[0]}"], f"{queue_name(mixture)}.run", queue_name(mixture))
        for mixture in quotas
    ]
    found = play(bed, items)

    own = flavor_names(site)
    wanted = {mixture: mixture[1] if mixture[-1] == "only" else mixture[0] for mixture in quotas}
    expected = {f"{queue_name(mixture)}.run": (own[name], name) for mixture, name in wanted.items()}
    assert expected == found


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
