"""Which flavors a workload may take, and whether a choice of them is enough."""

from fractions import Fraction
from typing import Any

import pytest
from tests.check.rules.kit import findings, object_set
from tests.check.rules.queues import V5E, job, kueue, pods, queue, resources

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.scheduler import NodeSelector
from slicewright.kueue.assignment import Choice, assign, choices
from slicewright.kueue.quota import Node, PodSet, Quotas
from slicewright.kueue.quota_read import quotas

ANY = NodeSelector({})


def fits(known: Quotas, queue: Node, wanted: list[Choice]) -> bool:
    """Tell whether there is a flavor for each choice."""
    return assign(known, queue, wanted) is not None


def _group(flavors: list[dict[str, Any]]) -> dict[str, Any]:
    return {"coveredResources": [TPU], "flavors": flavors}


def test_later_pod_sets_make_room() -> None:
    """Where a later pod set finds no room, Kueue tries the next flavor for the one before."""
    flavors = [
        {"name": "any", "resources": [{"name": TPU, "nominalQuota": "16"}]},
        {"name": "more", "resources": [{"name": TPU, "nominalQuota": "16"}]},
    ]
    known = quotas(
        object_set(
            kueue("ClusterQueue", "a", {"resourceGroups": [{"coveredResources": [TPU], "flavors": flavors}]})
        )
    )
    first = Choice((PodSet("f", 1, {}, ANY),), {TPU: Fraction(16)}, ("any", "more"), ("any", "more"))
    second = Choice((PodSet("s", 1, {}, ANY),), {TPU: Fraction(16)}, ("any",), ("any", "more"))

    assert fits(known, known.queues["a"], [first, second])


def _flavor(name: str, topology: str = "") -> dict[str, Any]:
    return kueue(
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
    template = {"metadata": {"annotations": {REQUIRED: "rack"} if asks else {}}, **pods({TPU: "4"})}
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
        kueue("ClusterQueue", "a", {"resourceGroups": groups}),
        LOCAL,
        job(template=template),
    ]

    assert fitting == (findings("FIT102", *objects) == [])


def test_thousands_of_pod_sets_are_placed_one_after_the_other() -> None:
    """A workload of more pod sets than Python calls functions in each other is judged all the same."""
    known = quotas(object_set(queue("q", 1400)))
    sets = [PodSet(f"s{at}", 1, {TPU: Fraction(1)}, ANY) for at in range(1401)]
    wanted = choices(known, known.queues["q"], sets)

    assert [True, False] == [fits(known, known.queues["q"], some) for some in (wanted[:1400], wanted)]
