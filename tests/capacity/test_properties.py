"""Random valid clusters: what capacity says is consistent with pools, quotas and cohorts."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from tests.rendering.platform.kit import repository
from tests.rendering.platform.test_properties import PROFILE, chips_of, clusters, nominal_chips, roots

from slicewright.kubernetes.types import record
from slicewright.kueue.quota import most
from slicewright.kueue.quota_read import quotas
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue
from slicewright.rendering.platform.platform_files import objects
from slicewright.rendering.platform.queues import cluster_queues
from slicewright.testbed.nodes import simulated_nodes

from .kit import report

pytestmark = pytest.mark.slow


@pytest.mark.ci
@PROFILE
@given(clusters())
def test_sums_are_consistent(document: dict[str, Any]) -> None:
    """Chips and hosts are those of the nodes, quota is what the file gives, and no queue gets more."""
    found = report(json.dumps(document)).clusters[0]
    site = repository(json.dumps(document)).sites["c1"]
    nodes = simulated_nodes(site)

    assert [(pool["name"], pool["slices"]) for pool in document["spec"]["pools"]] == [
        (pool.name, pool.slices) for pool in found.pools
    ]
    assert sum(pool.hosts for pool in found.pools) == len(nodes)
    assert sum(pool.chips for pool in found.pools) == sum(
        int(node["status"]["capacity"]["google.com/tpu"]) for node in nodes
    )
    for pool, written in zip(found.pools, document["spec"]["pools"], strict=True):
        assert pool.chips == pool.slices * chips_of(written["tpu"])

    holders = {
        holder["name"]: holder
        for holder in (*document["spec"]["cohorts"], *document["spec"]["clusterQueues"])
    }
    given_chips = {
        holder.name: sum((share.nominal for share in holder.quota), Fraction(0))
        for holder in (*found.cohorts, *found.queues)
    }
    assert given_chips == {name: nominal_chips(document, holder) for name, holder in holders.items()}

    known = quotas(ObjectSet([Resource(item, "") for item in objects(site)], catalogue(), site))
    tree = roots(known)
    nominal: dict[tuple[str, str], Fraction] = {}
    for holder in (*found.cohorts, *found.queues):
        for share in holder.quota:
            key = tree[holder.name], share.flavor
            nominal[key] = nominal.get(key, Fraction(0)) + share.nominal
            assert Fraction(0) <= share.lendable <= (share.nominal if holder.cohort else 0)
    for queue in found.queues:
        for share in queue.quota:
            assert share.total is not None
            assert share.borrowable is not None
            assert share.nominal + share.borrowable == share.total <= nominal[tree[queue.name], share.flavor]
            if share.borrowing_limit is not None:
                assert share.borrowable <= share.borrowing_limit
            node = known.queues[queue.name]
            assert share.total == most(known, node, (share.flavor, share.resource)).total


@PROFILE
@given(clusters())
def test_numbers_are_those_of_the_rendered_queues(document: dict[str, Any]) -> None:
    """Whoever makes the platform: what is managed says what is only described, and what Kueue is given."""
    managed = report(json.dumps(document))
    document["spec"]["managed"] = False
    described = report(json.dumps(document))

    assert [one.queues for one in managed.clusters] == [one.queues for one in described.clusters]
    assert [one.cohorts for one in managed.clusters] == [one.cohorts for one in described.clusters]
    site = repository(json.dumps(document)).sites["c1"]
    rendered = {
        item["metadata"]["name"]: {
            (flavor["name"], quota["name"]): (
                quota["nominalQuota"],
                quota.get("borrowingLimit"),
                quota.get("lendingLimit"),
            )
            for group in item["spec"].get("resourceGroups", [])
            for flavor in group["flavors"]
            for quota in flavor["resources"]
        }
        for item in cluster_queues(site)
    }
    assert rendered == {
        queue["name"]: {
            (share["flavor"], share["resource"]): (
                share["nominal"],
                share["borrowingLimit"],
                share["lendingLimit"],
            )
            for share in queue["quota"]
        }
        for queue in record(managed)["clusters"][0]["queues"]
    }
