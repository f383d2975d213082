"""Random valid clusters: quotas, limits and pools are consistent, and what is rendered is accepted."""

import json
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.check.kit import engine
from tests.properties import share

from slicewright.catalogue.resolve import TpuRequest, resolve
from slicewright.catalogue.shape import Shape
from slicewright.kueue.quota import Quotas, most
from slicewright.kueue.quota_read import quotas
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import package
from slicewright.rendering.platform.platform_files import objects

from .kit import repository

pytestmark = pytest.mark.slow

PROFILE = settings(max_examples=share(100), suppress_health_check=list(HealthCheck), derandomize=True)
TPUS = ("v5litepod-8", "v5litepod-16", "v6e-16", "v4-16", "tpu7x-2x2x2")
WAYS: tuple[Any, ...] = (
    "OnDemand",
    "Spot",
    {"type": "Reservation", "name": "r"},
    {"type": "ComputeClass", "name": "c"},
)


@cache
def chips_of(tpu: str) -> int:
    """Return the chips of a slice."""
    shape = resolve(package().catalogue, TpuRequest(name=tpu))
    assert isinstance(shape, Shape)
    return shape.chips


@st.composite
def quotas_of(draw: st.DrawFn, pools: list[dict[str, Any]], *, limits: bool) -> list[dict[str, Any]]:
    """Return quotas of some pools, in slices or in chips; pools of one flavor have limits alike."""
    found = []
    with_limits = limits and draw(st.booleans())
    for pool in draw(st.lists(st.sampled_from(pools), unique_by=lambda pool: str(pool["name"]))):
        unit = draw(st.sampled_from(["slices", "chips"]))
        times = chips_of(pool["tpu"]) if unit == "chips" else 1
        nominal = draw(st.integers(0, pool["slices"]))
        quota: dict[str, Any] = {"pool": pool["name"]}
        if unit == "chips" or draw(st.booleans()):
            quota[f"nominal{unit.title()}"] = nominal * times
        else:
            nominal = pool["slices"]
        if with_limits:
            quota["borrowingLimit"] = draw(st.integers(0, 3)) * times
            quota["lendingLimit"] = draw(st.integers(0, nominal)) * times
        found.append(quota)
    return found


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    """Return a TPUCluster with pools, a tree of cohorts and queues, such that nothing is wrong with it."""
    pools = [
        {"name": f"p{at}", "tpu": tpu, "slices": slices, "provisioning": way}
        for at, (tpu, slices, way) in enumerate(
            draw(
                st.lists(
                    st.tuples(st.sampled_from(TPUS), st.integers(1, 5), st.sampled_from(WAYS)),
                    min_size=1,
                    max_size=4,
                )
            )
        )
    ]
    cohorts: list[dict[str, Any]] = []
    for at in range(draw(st.integers(0, 3))):
        parent = draw(st.sampled_from(["", *(cohort["name"] for cohort in cohorts)]))
        above = {"parentName": parent} if parent else {}
        quota = draw(quotas_of(pools, limits=bool(parent)))
        cohorts.append({"name": f"c{at}", **above, "quota": quota})
    queues = []
    for at in range(draw(st.integers(1, 3))):
        cohort = draw(st.sampled_from(["", *(entry["name"] for entry in cohorts)]))
        above = {"cohortName": cohort} if cohort else {}
        quota = draw(quotas_of(pools, limits=bool(cohort)))
        local = [{"name": "lq", "namespace": f"n{at}"}]
        queues.append({"name": f"q{at}", **above, "quota": quota, "localQueues": local})
    spec = {
        "project": "p",
        "location": "us-west4-a",
        "pools": pools,
        "cohorts": cohorts,
        "clusterQueues": queues,
    }
    return {
        "apiVersion": "slicewright.dev/v1alpha1",
        "kind": "TPUCluster",
        "metadata": {"name": "c1"},
        "spec": spec,
    }


def nominal_chips(document: dict[str, Any], holder: dict[str, Any]) -> int:
    """Add up what the quotas of a queue or a cohort give, by what the file says."""
    pools = {pool["name"]: pool for pool in document["spec"]["pools"]}
    total = 0
    for quota in holder["quota"]:
        pool = pools[quota["pool"]]
        slices = quota.get("nominalSlices", pool["slices"])
        total += quota.get("nominalChips", slices * chips_of(pool["tpu"]))
    return total


def roots(known: Quotas) -> dict[str, str]:
    """Return the root of the tree that each queue and each cohort stands in."""
    found = {}
    for node in (*known.queues.values(), *known.cohorts.values()):
        at = node
        while at.parent:
            at = known.cohorts[at.parent]
        found[node.name] = at.name
    return found


@PROFILE
@given(clusters())
def test_quotas_limits_and_pools_are_consistent(document: dict[str, Any]) -> None:
    """Chips are neither lost nor made up between the file, the objects and what Kueue computes of them."""
    found = repository(json.dumps(document))
    assert [problem.text() for problem in found.problems if problem.severity == "error"] == []
    site, spec = found.sites["c1"], document["spec"]
    rendered = objects(site)
    items = [Resource(item, "file.yaml") for item in rendered]
    read = quotas(ObjectSet(items, package().catalogue, site))
    declared = quotas(ObjectSet((), package().catalogue, site))

    # What is rendered says what the file declares, by queue, cohort and flavor.
    assert {name: node.cells for name, node in declared.queues.items()} == {
        name: node.cells for name, node in read.queues.items()
    }
    assert {name: node.cells for name, node in declared.cohorts.items()} == {
        name: node.cells for name, node in read.cohorts.items()
    }
    assert (declared.local, {name: node.parent for name, node in declared.queues.items()}) == (
        read.local,
        {name: node.parent for name, node in read.queues.items()},
    )
    holders = {holder["name"]: holder for holder in (*spec["cohorts"], *spec["clusterQueues"])}
    nodes = {**read.queues, **read.cohorts}
    for name, holder in holders.items():
        assert nominal_chips(document, holder) == sum(cell.nominal for cell in nodes[name].cells.values())

    # Nobody can get more than his tree of cohorts has, nor less than his own share that he does not lend.
    tree = roots(read)
    for queue in read.queues.values():
        for key, cell in queue.cells.items():
            total = sum(
                (
                    other.cells[key].nominal
                    for other in nodes.values()
                    if key in other.cells and tree[other.name] == tree[queue.name]
                ),
                Fraction(0),
            )
            can = most(read, queue, key)
            assert cell.nominal == can.nominal <= can.total <= total

    # Of each shape and way of which more is given than its pools have there is one warning, and no other.
    assert over_committed(document) == sum(problem.id == "QUOTA008" for problem in found.problems)

    for item in items:
        said = [problem.text() for problem in engine().object_problems(item, engine().verdict(item))]
        assert (item.kind, item.name, []) == (item.kind, item.name, said)


def over_committed(document: dict[str, Any]) -> int:
    """Count the shapes and ways of provisioning of which more chips are given than their pools have."""
    left: dict[str, int] = {}
    pools = {pool["name"]: pool for pool in document["spec"]["pools"]}
    for pool in pools.values():
        alike = f"{pool['tpu']} {pool['provisioning']}"
        left[alike] = left.get(alike, 0) + pool["slices"] * chips_of(pool["tpu"])
    for holder in (*document["spec"]["cohorts"], *document["spec"]["clusterQueues"]):
        for quota in holder["quota"]:
            pool = pools[quota["pool"]]
            alike = f"{pool['tpu']} {pool['provisioning']}"
            left[alike] -= nominal_chips(document, {"quota": [quota]})
    return sum(chips < 0 for chips in left.values())
