"""Kueue counts, suspends and passes by what our reading of its Configuration says."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from slicewright.kubernetes.quantity import amount
from slicewright.kubernetes.scheduler import NodeSelector
from slicewright.kueue.assignment import asked
from slicewright.kueue.quota import PodSet, Quotas
from slicewright.kueue.quota_read import transformations
from slicewright.testbed.bed import Bed
from slicewright.testbed.bed_cluster import Cluster

pytestmark = pytest.mark.ci  # a cluster of its own

TRANSFORMATIONS = [
    {"input": "google.com/tpu", "strategy": "Replace", "outputs": {"example.com/credits": "1500m"}},
    {
        "input": "cpu",
        "strategy": "Retain",
        "outputs": {"example.com/credits": "-1", "example.com/cores": "2"},
    },
    {"input": "example.com/gpu", "multiplyBy": "example.com/hours", "outputs": {"example.com/credits": "3"}},
    {"input": "example.com/free", "strategy": "Replace"},
]
SETTINGS: dict[str, Any] = {
    "resources": {"transformations": TRANSFORMATIONS, "excludeResourcePrefixes": ["ephemeral-"]},
    "integrations": {"frameworks": ["batch/job"]},
    "manageJobsWithoutQueueName": True,
}
REQUESTS: list[dict[str, str]] = [
    {"google.com/tpu": "4"},
    {"google.com/tpu": "3", "cpu": "1500m"},
    {"cpu": "9", "ephemeral-storage": "1Gi"},
    {"example.com/gpu": "2", "example.com/hours": "5"},
    {"example.com/gpu": "2"},
    {"example.com/free": "7", "cpu": "1"},
    {"example.com/credits": "2", "google.com/tpu": "1"},
]
COVERED = [
    "cpu", "google.com/tpu", "pods",
    *(f"example.com/{name}" for name in ("credits", "cores", "gpu", "hours", "free")),
]  # fmt: skip


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """Hold a cluster whose Kueue has the settings, and a queue with quota of everything."""
    with Cluster(kueue_settings=SETTINGS) as cluster:
        quota = [{"name": name, "nominalQuota": "1000"} for name in COVERED]
        group = {"coveredResources": COVERED, "flavors": [{"name": "any", "resources": quota}]}
        queue = {"clusterQueue": "all"}
        for item in (
            _kueue("ResourceFlavor", "any"),
            _kueue("ClusterQueue", "all", {"namespaceSelector": {}, "resourceGroups": [group]}),
            _kueue("LocalQueue", "all", queue, namespace="default"),
        ):
            cluster.api.apply(item)
        yield cluster


def _kueue(kind: str, name: str, spec: dict[str, Any] | None = None, **metadata: str) -> dict[str, Any]:
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name, **metadata}}
    return {**head, "spec": spec or {}}


def _job(name: str, requests: dict[str, str], queue: str = "all") -> dict[str, Any]:
    resources = {
        "requests": requests,
        "limits": {key: value for key, value in requests.items() if "/" in key},
    }
    pod = {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "example.com/a:1", "resources": resources}],
    }
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"parallelism": 2, "completions": 2, "template": {"spec": pod}},
    }


def _usage(bed: Bed, job: str) -> dict[str, Fraction] | None:
    """Return what Kueue counts for a Job; None while it is not admitted."""
    for workload in bed.api.list("kueue.x-k8s.io/v1beta2", "Workload"):
        (owner,) = workload["metadata"]["ownerReferences"]
        if owner["name"] == job and "admission" in workload.get("status", {}):
            (pods,) = workload["status"]["admission"]["podSetAssignments"]
            return {name: amount(value) or Fraction(0) for name, value in pods["resourceUsage"].items()}
    return None


def test_transformed_requests_are_those_that_kueue_counts(bed: Bed) -> None:
    """Replaced, retained, multiplied, negative, excluded, and under a name that pods request."""
    known = Quotas(excluded=("ephemeral-",), transformations=transformations(SETTINGS["resources"]))
    for index, requests in enumerate(REQUESTS):
        bed.api.apply(_job(f"job-{index}", requests))
        whole = {name: (amount(value) or Fraction(0)) * 2 for name, value in requests.items()}
        pods = PodSet("main", 2, {**whole, "pods": Fraction(2)}, NodeSelector({}))
        expected = {name: value for name, value in asked(known, pods).items() if "ephemeral" not in name}
        usage = bed.until(f"job-{index} is admitted", partial(_usage, bed, f"job-{index}"), seconds=60)

        assert expected == usage, requests


def test_job_without_a_queue_is_suspended_and_a_kind_without_integration_is_passed_by(bed: Bed) -> None:
    """KQ186: the label on a JobSet has no effect; REF165: a Job without a label never starts."""
    bed.api.apply(_job("alone", {"cpu": "1"}, queue=""))
    job = _job("free", {"cpu": "1"})
    template = {"spec": job["spec"]}
    bed.api.apply(
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": job["metadata"],
            "spec": {"replicatedJobs": [{"name": "a", "template": template}]},
        }
    )

    assert bed.api.get("batch/v1", "Job", "alone", "default")["spec"]["suspend"] is True
    assert not bed.api.get("jobset.x-k8s.io/v1alpha2", "JobSet", "free", "default")["spec"].get("suspend")
