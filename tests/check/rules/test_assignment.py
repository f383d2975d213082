"""Which flavors Kueue gives, case by case; tests/e2e_rules/test_flavors.py holds it equal to Kueue."""

from fractions import Fraction
from typing import Any

import pytest
from tests.check.rules.kit import findings, object_set
from tests.check.rules.queues import kueue

from slicewright.check.rules.every import RULES
from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.scheduler import NodeSelector
from slicewright.kueue.assignment import PODS, admit
from slicewright.kueue.quota import Cell, Flavor, Node, PodSet, Quotas, distance
from slicewright.kueue.quota_workload import pod_sets

ANY = NodeSelector({})


def _pods(name: str = "s", count: int = 1, nodes: NodeSelector = ANY, **more: Any) -> PodSet:
    return PodSet(name, count, {TPU: Fraction(4) * count, PODS: Fraction(count)}, nodes, **more)


def _queue(*chips: int, parent: str = "", avoids: bool = False) -> Node:
    """Return a queue with one flavor for each number of chips: `a`, `b` and so on."""
    names = tuple("abcdef"[: len(chips)])
    cells = {(name, TPU): Cell(Fraction(value)) for name, value in zip(names, chips, strict=True)}
    return Node("q", parent, cells, (((TPU,), names),), avoids)


def _given(known: Quotas, queue: Node, *sets: PodSet) -> list[dict[str, str]] | None:
    found = admit(known, queue, sets)
    return None if found is None else [given.flavors for given in found]


def _known(**more: Any) -> Quotas:
    return Quotas(flavors={name: Flavor({}) for name in "abcdef"}, **more)


def test_flavor_that_need_not_borrow_is_better_where_the_queue_says_so() -> None:
    """With whenCanBorrow TryNextFlavor the nearest quota wins, the first of those that are equally near."""
    parent = Node("near", "top", {("b", TPU): Cell(Fraction(4))})
    top = Node("top", "", {("a", TPU): Cell(Fraction(4)), ("c", TPU): Cell(Fraction(4))})
    plain, avoids = (_queue(0, 0, 0, 0, parent="near", avoids=avoids) for avoids in (False, True))
    known = _known(queues={"q": plain}, cohorts={"near": parent, "top": top})

    assert [{TPU: "a"}] == _given(known, plain, _pods())
    assert [{TPU: "b"}] == _given(known, avoids, _pods())
    assert _given(known, _queue(0, parent="near"), _pods(count=2)) is None


def test_what_no_cohort_holds_is_as_far_as_the_root() -> None:
    """Kueue asks how far something is before it finds that nobody has it."""
    queue = _queue(1, parent="near")
    known = _known(queues={"q": queue}, cohorts={"near": Node("near", "top", {}), "top": Node("top", "", {})})

    assert [0, 2] == [distance(known, queue, ("a", TPU), Fraction(chips)) for chips in (1, 100)]


def test_queues_of_a_cluster_file_say_nothing_of_cpu() -> None:
    """What a TPUCluster declares is about chips: other resources count where a pool covers them."""
    pods = PodSet("s", 1, {"cpu": Fraction(1), TPU: Fraction(4), PODS: Fraction(1)}, ANY)

    assert [{TPU: "a"}] == _given(_known(declared=True), _queue(4), pods)
    assert _given(_known(declared=True), Node("q", "", {}), pods) is None


def test_pod_sets_before_one_that_finds_nothing_go_on() -> None:
    """Kueue tries again with their next flavors, as long as one of them has any."""
    known = Quotas(flavors={"a": Flavor({}), "b": Flavor({"kind": "b"})})
    only_a = _pods("late", nodes=NodeSelector({"kind": "a"}))

    assert [{TPU: "b"}, {TPU: "a"}] == _given(known, _queue(4, 4), _pods(), only_a)
    assert _given(known, _queue(4, 0), _pods(), only_a) is None
    assert _given(known, _queue(4, 4), _pods(), _pods("more"), only_a) is None


def test_as_many_pods_as_fit_are_admitted_where_fewer_will_do() -> None:
    """Partial admission takes the most, no fewer than asked for."""
    found = admit(_known(), _queue(12), [_pods(count=5, least=2)])

    assert found is not None
    assert [3] == [given.pods.count for given in found]
    assert admit(_known(), _queue(4), [_pods(count=5, least=2)]) is None


def _racks(*names: str) -> Quotas:
    return Quotas(flavors={name: Flavor({}, (), (), name in names, ("rack",)) for name in "ab"})


@pytest.mark.parametrize(
    ("racks", "levels", "expected"),
    [
        ("a", None, "b"),
        ("a", ("rack",), "a"),
        ("ab", None, "a"),
        ("ab", ("block",), ""),
        ("", ("rack",), ""),
        ("b", (), "b"),
    ],
)
def test_flavor_with_a_topology_is_for_those_who_ask_for_it(
    racks: str, levels: tuple[str, ...] | None, expected: str
) -> None:
    """A queue of nothing else gives all its pods a place; a level that is not there is never given."""
    assert ([{TPU: expected}] if expected else None) == _given(
        _racks(*racks), _queue(4, 4), _pods(levels=levels)
    )


def test_pods_get_a_place_in_one_topology_and_no_more() -> None:
    """With two such flavors, or asking for nothing, they are never admitted; a pod set without pods is."""
    cells = {("a", TPU): Cell(Fraction(4)), ("b", "cpu"): Cell(Fraction(4))}
    queue = Node("q", "", cells, (((TPU,), ("a",)), (("cpu",), ("b",))))
    pods = PodSet("s", 1, {TPU: Fraction(4), "cpu": Fraction(1), PODS: Fraction(1)}, ANY)
    counting = Node("q", "", {("a", PODS): Cell(Fraction(4))}, (((PODS,), ("a",)),))
    idle = PodSet("s", 1, {PODS: Fraction(1)}, ANY)

    assert _given(_racks("a", "b"), queue, pods) is None
    assert [{TPU: "a"}] == _given(_racks("a", "b"), queue, _pods())
    assert _given(_racks("a", "b"), counting, idle) is None
    assert [{PODS: "a"}] == _given(_racks(), counting, idle)
    assert [{PODS: "a"}] == _given(_racks("a"), counting, PodSet("s", 0, {PODS: Fraction(0)}, ANY))


def test_topology_group_takes_one_flavor() -> None:
    """What its pod sets ask for counts together; one that asks for nothing gets no place in it either."""
    leader = PodSet("leader", 1, {PODS: Fraction(1)}, ANY, levels=("rack",), topology_group="g")
    workers = [_pods(name, levels=("rack",), topology_group="g") for name in ("one", "two")]

    assert [{TPU: "b"}] * 2 == _given(_racks("a", "b"), _queue(4, 8), *workers)
    assert [{TPU: "b"}] == _given(_racks("b"), _queue(4, 8), workers[0])
    assert _given(_racks("a", "b"), _queue(8, 8), leader, workers[0]) is None


def test_quantities_are_rounded_up_as_kueue_counts_them() -> None:
    """Cpu in thousandths, everything else in whole numbers, for each pod."""
    requests = {"cpu": "1500u", "memory": "1500m"}
    template = {"spec": {"containers": [{"resources": {"requests": requests}}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": 2, "template": template}}
    (pods,) = pod_sets(object_set(job).all[0], object_set())

    assert {"cpu": Fraction("0.004"), "memory": Fraction(4), PODS: Fraction(2)} == pods.requests


REQUIRED = "kueue.x-k8s.io/podset-required-topology"
ASKS = {TPU: "4"}


def _group(name: str, resource: str) -> dict[str, Any]:
    flavor = {"name": name, "resources": [{"name": resource, "nominalQuota": "8"}]}
    return {"coveredResources": [resource], "flavors": [flavor]}


def _platform(**flavors: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a queue with a group for chips, of flavor `a`, and one for cpu, of flavor `f`."""
    return [
        kueue("Topology", "t", {"levels": [{"nodeLabel": "rack"}]}),
        *(kueue("ResourceFlavor", name, spec) for name, spec in flavors.items()),
        kueue("ClusterQueue", "cq", {"resourceGroups": [_group("a", TPU), _group("f", "cpu")]}),
        kueue("LocalQueue", "q", {"clusterQueue": "cq"}),
    ]


def _jobset(*requests: dict[str, str], **annotations: str) -> dict[str, Any]:
    """Return a JobSet with a pod set for each of some requests."""
    jobs = [
        {
            "name": f"s{index}",
            "template": {
                "spec": {
                    "template": {
                        "metadata": {"annotations": annotations},
                        "spec": {"containers": [{"resources": {"requests": wanted}}]},
                    }
                }
            },
        }
        for index, wanted in enumerate(requests)
    ]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "j", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"replicatedJobs": jobs},
    }


TAINTED = {"nodeTaints": [{"key": "team", "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    ("flavor", "annotations", "expected"),
    [
        ({"topologyName": "t"}, {}, ["flavor a has a topologyName"]),
        ({"topologyName": "t"}, {REQUIRED: "x"}, ["name a level of the Topology of flavor a: rack"]),
        ({}, {REQUIRED: "rack"}, ["flavor a has no topologyName"]),
        ({"topologyName": "t"}, {REQUIRED: "rack"}, []),
        (TAINTED, {}, [""]),
    ],
)
def test_hint_names_the_topology_that_is_between_pods_and_flavor(
    flavor: dict[str, Any], annotations: dict[str, str], expected: list[str]
) -> None:
    """A missing request, another level and a flavor without a topology are three things to write."""
    found = object_set(*_platform(a=flavor, f={}), _jobset(ASKS, **annotations))
    (rule,) = [rule for rule in RULES if rule.id == "FIT102"]
    said = [finding.hint for finding in rule.check(found.all[-1], found)]

    assert expected == [hint[: len(start)] for hint, start in zip(said, expected, strict=True)]


def test_pods_with_flavors_of_two_topologies_are_reported() -> None:
    """The message names both."""
    both = _platform(a={"topologyName": "t"}, f={"topologyName": "t"})
    said = "pods 's0' need a place in one topology, but get "

    assert [f"{said}a and f"] == findings("FIT102", *both, _jobset({**ASKS, "cpu": "1"}))
    assert [f"{said}no flavor"] == findings("FIT102", *both, _jobset({}))
    assert [] == findings("FIT102", *both, _jobset(ASKS))


def test_pods_that_bar_those_after_them_are_reported() -> None:
    """Zero of what no group covers is not counted, and Kueue stops there."""
    flat = _platform(a={}, f={})
    said = "pods 's0' request example.com/link, but ClusterQueue 'cq' does not cover it"
    said += ", so Kueue never admits the run"

    assert [said] == findings("FIT102", *flat, _jobset({"example.com/link": "0"}, ASKS))
    assert [] == findings("FIT102", *flat, _jobset(ASKS, {"example.com/link": "0"}))


def test_flavors_of_which_one_is_not_known_are_not_judged() -> None:
    """Its labels might be anything."""
    bound = {"nodeLabels": {"cloud.google.com/machine-family": "n2"}}
    greedy = _jobset({**ASKS, "cpu": "1"})

    assert 1 == len(findings("FIT120", *_platform(a={}, f=bound), greedy))
    assert [] == findings("FIT120", *_platform(f=bound), greedy)
    assert [] == findings("FIT120", *_platform(a={}, f=bound), _jobset({"cpu": "1"}))


def test_thousands_of_pod_sets_are_placed_one_after_the_other() -> None:
    """A workload of more pod sets than Python calls functions in each other is judged all the same."""
    queue = _queue(1400)
    sets = [PodSet(f"s{at}", 1, {TPU: Fraction(1)}, ANY) for at in range(1401)]

    assert admit(_known(), queue, sets[:1400]) is not None
    assert admit(_known(), queue, sets) is None
