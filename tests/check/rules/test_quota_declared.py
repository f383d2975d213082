"""Quota that a TPUCluster declares, where there are no objects of Kueue."""

import pytest
from tests.check.rules.kit import findings, object_set
from tests.check.rules.queues import job, pods, said

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.quantity import UNLIMITED
from slicewright.kueue.quota import most
from slicewright.kueue.quota_read import pools_of, quotas


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
    known = quotas(object_set(site=site))

    assert said(most(known, known.queues["a"], ("small", "cpu"))) == "4 (nominal 4, borrowing 0)"
    assert UNLIMITED == most(known, known.queues["a"], ("cpu-np", "cpu")).total
    assert findings("FIT101", job(template=pods({"cpu": "100"})), site=site) == []


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
    known = quotas(object_set(site=site))

    assert said(most(known, known.queues["a"], ("v5e-4x4", TPU))) == "24 (nominal 16, borrowing 8)"
    assert said(most(known, known.queues["b"], ("v5e-4x4", TPU))) == "64 (nominal 48, borrowing 16)"


def test_quota_of_a_pool_that_is_not_there_gives_nothing() -> None:
    """QUOTA002 reports it; what the queue may use is what its other pools give."""
    site = {
        "metadata": {"name": "west"},
        "spec": {
            "pools": [{"name": "tpus", "tpu": "v5litepod-16", "slices": 4}],
            "clusterQueues": [
                {"name": "a", "quota": [{"pool": "gone"}, {"pool": "tpus", "nominalSlices": 1}]}
            ],
        },
    }
    known = quotas(object_set(site=site))

    assert {("v5e-4x4", TPU)} == known.queues["a"].cells.keys()


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
    known = quotas(object_set(site=site))

    assert said(most(known, known.queues["q"], ("v5e-4x4", TPU))) == expected


@pytest.mark.parametrize("written", ["FlexStartQueued", {"type": "FlexStartQueued"}])
def test_queued_nodes_have_their_label_however_the_pool_is_written(written: str | dict[str, str]) -> None:
    """A way of provisioning is a word or an object."""
    spec = {"pools": [{"name": "a", "tpu": "v5litepod-16", "provisioning": written}]}
    ((_, labels),) = pools_of(object_set(site={"metadata": {"name": "west"}, "spec": spec}))

    assert ("true",) == labels["cloud.google.com/gke-flex-start"]
