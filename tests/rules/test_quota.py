"""The most that a queue can ever get, as Kueue computes it (resource_node.go, potentialAvailable)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.rules.kit import findings, world

from slicewright.core.check.quota import Choice, Most, PodSet, choices, fits, most
from slicewright.core.check.quota_read import quotas
from slicewright.core.check.quota_workload import pod_sets
from slicewright.core.check.read import TPU, amount, plain

V5E = {
    "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
    "cloud.google.com/gke-tpu-topology": "4x4",
}


def resources(nominal: int, **limits: int) -> list[dict[str, Any]]:
    """Return resource groups with one quota of chips."""
    quota = {"name": TPU, "nominalQuota": str(nominal), **{key: str(value) for key, value in limits.items()}}
    return [{"coveredResources": [TPU], "flavors": [{"name": "v5e", "resources": [quota]}]}]


def queue(name: str, nominal: int, cohort: str = "", **limits: int) -> dict[str, Any]:
    """Return a ClusterQueue."""
    spec = {"resourceGroups": resources(nominal, **limits), **({"cohortName": cohort} if cohort else {})}
    return _kueue("ClusterQueue", name, spec)


def cohort(name: str, nominal: int | None = None, parent: str = "", **limits: int) -> dict[str, Any]:
    """Return a Cohort."""
    spec: dict[str, Any] = {"parentName": parent} if parent else {}
    if nominal is not None:
        spec["resourceGroups"] = resources(nominal, **limits)
    return _kueue("Cohort", name, spec)


def _kueue(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([queue("a", 8)], "8 (nominal 8, borrowing 0)"),
        ([queue("a", 8, "all"), queue("b", 16, "all")], "24 (nominal 8, borrowing 16)"),
        ([queue("a", 8, "all", borrowingLimit=4), queue("b", 16, "all")], "12 (nominal 8, borrowing 4)"),
        ([queue("a", 8, "all", borrowingLimit=0), queue("b", 16, "all")], "8 (nominal 8, borrowing 0)"),
        ([queue("a", 8, "all"), queue("b", 16, "all", lendingLimit=4)], "12 (nominal 8, borrowing 4)"),
        ([queue("a", 8, "all", lendingLimit=0), queue("b", 16, "all")], "24 (nominal 8, borrowing 16)"),
        ([queue("a", 0, "all"), cohort("all", 16)], "16 (nominal 0, borrowing 16)"),
        (
            [
                queue("a", 8, "team"),
                cohort("team", parent="all"),
                cohort("all"),
                queue("b", 16, "other"),
                cohort("other", parent="all"),
            ],
            "24 (nominal 8, borrowing 16)",
        ),
        (
            [
                queue("a", 8, "team"),
                cohort("team", 0, "all", borrowingLimit=4),
                cohort("all", 32),
            ],
            "12 (nominal 8, borrowing 4)",
        ),
        (
            [
                queue("a", 8, "team"),
                cohort("team", parent="all"),
                cohort("all"),
                queue("b", 16, "other"),
                cohort("other", 8, "all", lendingLimit=8),
            ],
            "16 (nominal 8, borrowing 8)",
        ),
        ([queue("a", 8, "x"), cohort("x", 4, "y"), cohort("y", 4, "x")], "16 (nominal 8, borrowing 8)"),
    ],
    ids=[
        "alone",
        "cohort without an object",
        "borrowing limit",
        "borrowing nothing",
        "lending limit of another",
        "lending limit of its own",
        "quota of the cohort",
        "tree",
        "borrowing limit of a cohort",
        "lending limit of a cohort",
        "cycle",
    ],
)
def test_most_that_a_queue_can_get(objects: list[dict[str, Any]], expected: str) -> None:
    """Nominal quota, what others lend up to their limit, and no more than may be borrowed at every level."""
    known = quotas(world(*objects))

    assert expected == said(most(known, known.queues["a"], ("v5e", TPU)))


def said(found: Most) -> str:
    """Return what a message says of it."""
    borrowing = plain(found.total - found.nominal)
    return f"{plain(found.total)} (nominal {plain(found.nominal)}, borrowing {borrowing})"


def _job(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "a", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": spec,
    }


def _pods(*requests: dict[str, str], init: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    containers = [
        {"name": str(index), "resources": {"requests": wanted}} for index, wanted in enumerate(requests)
    ]
    return {"spec": {"containers": containers, "initContainers": list(init), "nodeSelector": V5E}}


def test_requests_add_up_over_containers_and_pods() -> None:
    """Containers run side by side; a Job counts its parallelism, or its completions where they are fewer."""
    job = _job(parallelism=4, completions=2, template=_pods({"cpu": "500m"}, {"cpu": "1", TPU: "4"}))

    (found,) = pod_sets(world(job).items[0], world())

    assert found.count == 2
    assert {"cpu": Decimal(3), TPU: Decimal(8), "pods": Decimal(2)} == found.requests


def test_init_containers_count_where_they_take_more() -> None:
    """An init container runs alone, beside the sidecars that began before it."""
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    heavy = {"name": "i", "resources": {"limits": {"cpu": "8"}}}
    job = _job(template=_pods({"cpu": "2"}, init=(sidecar, heavy)))

    (found,) = pod_sets(world(job).items[0], world())

    assert Decimal(9) == found.requests["cpu"]


def test_pathwaysjob_asks_for_its_head_and_its_workers() -> None:
    """The operator adds manager and proxy to the head; workers are slices times hosts."""
    spec = {
        "controller": {"deploymentMode": "default"},
        "workers": [{"type": "ct5lp-hightpu-4t", "topology": "4x4", "numSlices": 2}, {"type": "unknown"}],
    }
    item = {"apiVersion": "pathways-job.pathways.domain/v1", "kind": "PathwaysJob", "spec": spec}

    head, worker = pod_sets(world(item).items[0], world())

    assert ("pathways-head", Decimal(24), Decimal(132_000_000_000)) == (
        head.name,
        head.requests["cpu"],
        head.requests["memory"],
    )
    assert (8, Decimal(32)) == (worker.count, worker.requests[TPU])


def test_one_flavor_serves_one_pod_set() -> None:
    """A pod set is not divided over flavors, but pod sets may take different ones."""
    flavors = [
        {"name": name, "resources": [{"name": TPU, "nominalQuota": "16"}]} for name in ("reserved", "spot")
    ]
    group = {"coveredResources": [TPU], "flavors": flavors}
    known = quotas(world(_kueue("ClusterQueue", "a", {"resourceGroups": [group]})))
    half = PodSet("half", 4, {TPU: Decimal(16)}, {})
    whole = PodSet("whole", 8, {TPU: Decimal(32)}, {})

    assert fits(known, known.queues["a"], choices(known, known.queues["a"], [half, half]))
    assert not fits(known, known.queues["a"], choices(known, known.queues["a"], [whole]))
    assert not fits(known, known.queues["a"], choices(known, known.queues["a"], [half, half, half]))


def _group(flavors: list[dict[str, Any]]) -> dict[str, Any]:
    return {"coveredResources": [TPU], "flavors": flavors}


def test_later_pod_sets_make_room() -> None:
    """A choice that leaves no room for a later pod set is taken back."""
    flavors = [
        {"name": "any", "resources": [{"name": TPU, "nominalQuota": "16"}]},
        {"name": "more", "resources": [{"name": TPU, "nominalQuota": "16"}]},
    ]
    known = quotas(
        world(
            _kueue("ClusterQueue", "a", {"resourceGroups": [{"coveredResources": [TPU], "flavors": flavors}]})
        )
    )
    first = Choice(PodSet("f", 1, {}, {}), {TPU: Decimal(16)}, ("any", "more"), ("any", "more"))
    second = Choice(PodSet("s", 1, {}, {}), {TPU: Decimal(16)}, ("any",), ("any", "more"))

    assert fits(known, known.queues["a"], [first, second])


def test_too_many_choices_are_taken_to_fit() -> None:
    """What cannot be decided in a moment is not called an error."""
    names = tuple(f"f{index}" for index in range(8))
    flavors = [{"name": name, "resources": [{"name": TPU, "nominalQuota": "2"}]} for name in names]
    group = {"coveredResources": [TPU], "flavors": flavors}
    known = quotas(world(_kueue("ClusterQueue", "a", {"resourceGroups": [group]})))
    pods = [PodSet(str(index), 1, {TPU: Decimal(1)}, {}) for index in range(17)]

    assert fits(known, known.queues["a"], choices(known, known.queues["a"], pods))


def test_quota_of_a_declared_cpu_pool_has_no_limit() -> None:
    """A TPUCluster gives CPU pools in nodes, whose cpu nothing here knows; `nominalQuota` gives numbers."""
    site = {
        "metadata": {"name": "west"},
        "spec": {
            "pools": [
                {"name": "cpu-np", "machineType": "n2-standard-64", "nodes": 1},
                {"name": "small", "machineType": "n2-standard-4", "nodes": 1},
            ],
            "clusterQueues": [
                {
                    "name": "a",
                    "quota": [{"pool": "cpu-np"}, {"pool": "small", "nominalQuota": {"cpu": "4"}}],
                    "localQueues": [{"name": "q"}],
                }
            ],
        },
    }
    known = quotas(world(site=site))

    assert said(most(known, known.queues["a"], ("small", "cpu"))) == "4 (nominal 4, borrowing 0)"
    assert Decimal("Infinity") == most(known, known.queues["a"], ("cpu-np", "cpu")).total
    assert findings("FIT101", _job(template=_pods({"cpu": "100"})), site=site) == []


def test_declared_limits_are_in_the_unit_of_the_quota() -> None:
    """Borrowing and lending limits of a TPUCluster count slices, or chips beside nominalChips."""
    site = {
        "metadata": {"name": "west"},
        "spec": {
            "pools": [{"name": "tpus", "tpu": "v5litepod-16", "slices": 4}],
            "cohorts": [{"name": "all"}],
            "clusterQueues": [
                {
                    "name": "a",
                    "cohortName": "all",
                    "quota": [{"pool": "tpus", "nominalSlices": 1, "borrowingLimit": 1}],
                    "localQueues": [{"name": "q"}],
                },
                {
                    "name": "b",
                    "cohortName": "all",
                    "quota": [{"pool": "tpus", "nominalChips": 48, "lendingLimit": 8}],
                },
            ],
        },
    }
    known = quotas(world(site=site))

    assert said(most(known, known.queues["a"], ("v5e-4x4", TPU))) == "24 (nominal 16, borrowing 8)"
    assert said(most(known, known.queues["b"], ("v5e-4x4", TPU))) == "64 (nominal 48, borrowing 16)"


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ([{"borrowingLimit": 2}, {"borrowingLimit": 1}], "80 (nominal 32, borrowing 48)"),
        ([{"borrowingLimit": 0}, {}], "160 (nominal 32, borrowing 128)"),
        ([{"lendingLimit": 1}, {"lendingLimit": 0}], "160 (nominal 32, borrowing 128)"),
    ],
)
def test_declared_pools_of_one_flavor_add_up(limits: list[dict[str, int]], expected: str) -> None:
    """Two pools of one shape are one flavor: nominal quota and limits are sums, and no limit is none."""
    quota = [
        {"pool": pool, "nominalSlices": 1, **limit} for pool, limit in zip(("a", "b"), limits, strict=True)
    ]
    site = {
        "metadata": {"name": "west"},
        "spec": {
            "pools": [{"name": name, "tpu": "v5litepod-16", "slices": 8} for name in ("a", "b")],
            "cohorts": [{"name": "all", "quota": [{"pool": "a", "nominalSlices": 8}]}],
            "clusterQueues": [
                {"name": "q", "cohortName": "all", "quota": quota, "localQueues": [{"name": "q"}]}
            ],
        },
    }
    known = quotas(world(site=site))

    assert said(most(known, known.queues["q"], ("v5e-4x4", TPU))) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1", "1"),
        ("500m", "0.5"),
        ("1n", "0.000000001"),
        ("3Gi", "3221225472"),
        ("1.5Ki", "1536"),
        ("2e3", "2000"),
        ("1E", "1000000000000000000"),
        (".5", "0.5"),
        (4, "4"),
        (0.25, "0.25"),
    ],
)
def test_quantities_are_numbers(written: str | float, expected: str) -> None:
    """A quantity has the value that Kubernetes gives it."""
    found = amount(written)

    assert found is not None
    assert expected == plain(found)


@pytest.mark.parametrize("written", ["", "16GB", "a", None, True, [], "1e999", "1" * 50, "0x10"])
def test_what_is_no_quantity_has_no_amount(written: object) -> None:
    """Anything else is left to the schemas."""
    assert amount(written) is None


def test_queue_may_have_the_name_of_a_cohort() -> None:
    """Queues and cohorts are named apart: a cohort above that is called like the queue is no cycle."""
    known = quotas(world(queue("a", 8, "team"), cohort("team", parent="a"), cohort("a", 16)))

    assert said(most(known, known.queues["a"], ("v5e", TPU))) == "24 (nominal 8, borrowing 16)"


@pytest.mark.parametrize(
    ("written", "expected"), [("2", 2), ("4", 4), ("0", 4), ("word", 4), (None, 4)], ids=str
)
def test_job_is_admitted_with_the_fewest_pods_that_it_takes(written: str | None, expected: int) -> None:
    """Partial admission asks for fewer pods than parallelism; what is no number of them asks for all."""
    job = _job(parallelism=4, completions=4, template=_pods({TPU: "4"}))
    if written is not None:
        job["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": written}

    (found,) = pod_sets(world(job).items[0], world())

    assert expected == found.count


def test_pod_level_resources_stand_for_those_of_the_containers() -> None:
    """What a pod asks for as a whole replaces the sum of its containers; chips are theirs alone."""
    template = _pods({"cpu": "6", "memory": "1Gi", TPU: "4"}, {"cpu": "6"})
    template["spec"]["resources"] = {"requests": {"cpu": "4"}, "limits": {"cpu": "5", "memory": "2Gi"}}

    (found,) = pod_sets(world(_job(template=template)).items[0], world())

    assert {"cpu": Decimal(4), "memory": Decimal(2 * 2**30), TPU: Decimal(4), "pods": Decimal(1)} == (
        found.requests
    )


def _flavor(name: str, topology: str = "") -> dict[str, Any]:
    return _kueue(
        "ResourceFlavor", name, {"nodeLabels": V5E, **({"topologyName": topology} if topology else {})}
    )


LOCAL = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "q", "namespace": "default"},
    "spec": {"clusterQueue": "a"},
}
REQUIRED = "kueue.x-k8s.io/podset-required-topology"


@pytest.mark.parametrize(
    ("topology", "second", "asks", "fitting"),
    [
        ("", "", False, True),
        ("", "", True, False),
        ("racks", "racks", False, True),
        ("racks", "racks", True, True),
        ("racks", "", False, False),
        ("racks", "", True, True),
    ],
)
def test_flavor_with_a_topology_is_for_pods_that_ask_for_it(
    topology: str, second: str, asks: bool, fitting: bool
) -> None:
    """Kueue gives such a flavor to pods with a topology annotation, or to all if the queue has no other."""
    template = {"metadata": {"annotations": {REQUIRED: "rack"} if asks else {}}, **_pods({TPU: "4"})}
    groups = [
        *resources(16),
        {
            "coveredResources": ["cpu"],
            "flavors": [{"name": "cpu", "resources": [{"name": "cpu", "nominalQuota": "8"}]}],
        },
    ]
    objects = [
        _flavor("v5e", topology),
        _flavor("cpu", second),
        _kueue("ClusterQueue", "a", {"resourceGroups": groups}),
        LOCAL,
        _job(template=template),
    ]

    assert fitting == (findings("FIT102", *objects) == [])
