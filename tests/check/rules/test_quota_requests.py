"""What a workload asks for, as Kueue counts it."""

from fractions import Fraction

import pytest
from tests.check.rules.kit import object_set
from tests.check.rules.queues import job, pods

from slicewright.kubernetes.labels import TPU
from slicewright.kueue.quota_workload import pod_sets


def test_requests_add_up_over_containers_and_pods() -> None:
    """Containers run side by side; a Job counts its parallelism, or its completions where they are fewer."""
    made = job(parallelism=4, completions=2, template=pods({"cpu": "500m"}, {"cpu": "1", TPU: "4"}))

    (found,) = pod_sets(object_set(made).all[0], object_set())

    assert found.count == 2
    assert {"cpu": Fraction(3), TPU: Fraction(8), "pods": Fraction(2)} == found.requests


def test_init_containers_count_where_they_take_more() -> None:
    """An init container runs alone, beside the sidecars that began before it."""
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    heavy = {"name": "i", "resources": {"limits": {"cpu": "8"}}}
    made = job(template=pods({"cpu": "2"}, init=(sidecar, heavy)))

    (found,) = pod_sets(object_set(made).all[0], object_set())

    assert Fraction(9) == found.requests["cpu"]


def test_pathwaysjob_asks_for_its_head_and_its_workers() -> None:
    """The operator adds manager and proxy to the head; workers are slices times hosts."""
    spec = {
        "controller": {"deploymentMode": "default"},
        "workers": [{"type": "ct5lp-hightpu-4t", "topology": "4x4", "numSlices": 2}, {"type": "unknown"}],
    }
    item = {"apiVersion": "pathways-job.pathways.domain/v1", "kind": "PathwaysJob", "spec": spec}

    head, worker = pod_sets(object_set(item).all[0], object_set())

    assert ("pathways-head", Fraction(24), Fraction(132_000_000_000)) == (
        head.name,
        head.requests["cpu"],
        head.requests["memory"],
    )
    assert (8, Fraction(32)) == (worker.count, worker.requests[TPU])


@pytest.mark.parametrize(
    ("written", "expected"), [("2", 2), ("4", 4), ("0", 4), ("word", 4), (None, 4)], ids=str
)
def test_job_is_admitted_with_the_fewest_pods_that_it_takes(written: str | None, expected: int) -> None:
    """Partial admission asks for fewer pods than parallelism; an invalid number asks for all."""
    made = job(parallelism=4, completions=4, template=pods({TPU: "4"}))
    if written is not None:
        made["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": written}

    (found,) = pod_sets(object_set(made).all[0], object_set())

    assert (4, expected) == (found.count, found.count if found.least is None else found.least)
