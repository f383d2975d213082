"""Whether pods of two kinds can land on one node, and which slices of two priorities the rule compares."""

from typing import Any

import pytest
from tests.check.rules.kit import findings
from tests.check.rules.queues import V5E

from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, TPU
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.scheduler import can_meet, nodes_of

COUNT = "cloud.google.com/gke-accelerator-count"
POOL = "cloud.google.com/gke-nodepool"
SPOT = "cloud.google.com/gke-spot"
FLEX_START = "cloud.google.com/gke-flex-start"
RESERVATION = "cloud.google.com/reservation-name"
CLASS = "cloud.google.com/compute-class"

SHARED = (
    "pods of priority class 'low' and of JobSet 'b' (no class) can share a node pool: "
    "JobSet keeps only pods of the same priority apart"
)


def selecting(**labels: str) -> dict[str, Any]:
    """Return a pod that selects v5e, and nodes with some labels, by the names of the keys above."""
    return {"nodeSelector": {**V5E, **{globals()[key]: value for key, value in labels.items()}}}


def preferring(*terms: list[tuple[str, str, list[Any]]], **pod: Any) -> dict[str, Any]:
    """Return a pod with terms of required node affinity, each of (key, operator, values)."""
    written = [
        {
            "matchExpressions": [
                {"key": key, "operator": operator, "values": values} for key, operator, values in term
            ]
        }
        for term in terms
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": written}}
    return {**selecting(), "affinity": {"nodeAffinity": required}, **pod}


def tolerating(pod: dict[str, Any], *tolerations: dict[str, str]) -> dict[str, Any]:
    """Return a pod with tolerations."""
    return {**pod, "tolerations": list(tolerations)}


def meet(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two pods can land on one node, asked from either side."""
    some, others = (nodes_of(Pods((), {"spec": spec}, {}, (), {})) for spec in (one, other))
    assert can_meet(some, others) == can_meet(others, some)
    return can_meet(some, others)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"nodeSelector": {POOL: "a"}}, selecting()),
        ({"nodeSelector": {POOL: "a", "team": "blue"}}, {"nodeSelector": {**V5E, "team": "blue"}}),
        ({"nodeSelector": {"team": "blue"}}, {"nodeSelector": {"team": "blue", "day": "monday"}}),
    ],
)
def test_pods_that_say_nothing_of_one_place_are_not_compared(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    """A node pool by its name and a shape may be two things: nobody can tell that they are one."""
    assert not meet(one, other)


@pytest.mark.parametrize(("key", "value"), [("SPOT", "true"), ("CLASS", "a")])
def test_taint_keeps_off_who_does_not_tolerate_it(key: str, value: str) -> None:
    """Nodes of Spot and of a compute class have a taint: only pods that tolerate it can be there."""
    wanted = selecting(**{key: value})
    equal = {"key": globals()[key], "operator": "Equal", "value": value, "effect": "NoSchedule"}

    assert meet(wanted, wanted)
    assert not meet(wanted, selecting())
    assert not meet(wanted, tolerating(selecting(), {"key": TPU, "operator": "Exists"}))
    assert meet(wanted, tolerating(selecting(), equal))
    assert meet(wanted, tolerating(selecting(), {"operator": "Exists"}))


@pytest.mark.parametrize("other", [{"value": "false"}, {"value": ""}, {"effect": "NoExecute"}], ids=str)
def test_toleration_counts_where_the_scheduler_takes_it(other: dict[str, str]) -> None:
    """A toleration of the right key does not help where its value or its effect is another one."""
    equal = {"key": SPOT, "operator": "Equal", "value": "true", "effect": "NoSchedule"}

    assert meet(selecting(SPOT="true"), tolerating(selecting(), equal))
    assert not meet(selecting(SPOT="true"), tolerating(selecting(), {**equal, **other}))


def test_node_is_bought_in_one_way() -> None:
    """Spot, flex-start and a reservation exclude each other, whatever the pods tolerate."""
    everywhere = {"operator": "Exists"}
    bought = [selecting(SPOT="true"), selecting(FLEX_START="true"), selecting(RESERVATION="june")]
    ways = [tolerating(pod, everywhere) for pod in bought]

    assert [[meet(one, other) for other in ways] for one in ways] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]


def test_expressions_of_a_term_hold_together() -> None:
    """Two expressions of one key, or one and the selector, leave the values that are in both."""
    narrowed = preferring([(POOL, "In", ["a", "b"]), (POOL, "In", ["b", "c"])])
    selected = preferring([(POOL, "In", ["a", "b"])], **selecting(POOL="b"))

    assert [[meet(pod, selecting(POOL=pool)) for pool in "abc"] for pod in (narrowed, selected)] == [
        [False, True, False],
        [False, True, False],
    ]


def test_one_term_of_several_is_enough() -> None:
    """Terms of required node affinity are alternatives."""
    either = preferring([(POOL, "In", ["a"])], [(POOL, "In", ["b"])])

    assert [meet(either, selecting(POOL=pool)) for pool in "abc"] == [True, True, False]


@pytest.mark.parametrize("operator", ["NotIn", "Exists", "DoesNotExist", "Gt"])
def test_other_operators_are_not_considered(operator: str) -> None:
    """What is not In may keep pods apart, and nobody looks."""
    assert meet(preferring([(POOL, operator, ["a"])]), selecting(POOL="a"))


@pytest.mark.parametrize("values", [[], [1], "a", None])
def test_values_that_are_none_say_nothing(values: Any) -> None:
    """An expression that the API server refuses is read as if it were not there."""
    assert meet(preferring([(POOL, "In", values)]), selecting(POOL="a"))


def jobset(name: str, pod: dict[str, Any], *, chips: int = 4, hosts: int = 4) -> dict[str, Any]:
    """Return a JobSet of one slice, which takes a node pool for itself."""
    container = {"name": "main", "resources": {"limits": {TPU: chips}} if chips else {}}
    spec = {
        "completions": hosts,
        "parallelism": hosts,
        "template": {"spec": {**pod, "containers": [container]}},
    }
    outer = {"metadata": {"annotations": {EXCLUSIVE_TOPOLOGY: POOL}}, "spec": spec}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": [{"name": "slice", "template": outer}]},
    }


def in_pool(name: str, priority: str, **size: int) -> dict[str, Any]:
    """Return a JobSet that names a node pool and nothing else."""
    return jobset(name, {"nodeSelector": {POOL: "a"}, "priorityClassName": priority}, **size)


def test_slices_in_one_node_pool_are_compared_by_its_name() -> None:
    """Pods that ask for chips of a node pool by its name claim it, although nobody knows its shape."""
    other = in_pool("b", "")

    assert findings("TPU119", in_pool("a", "low"), other) == [SHARED]
    assert findings("TPU119", in_pool("a", "low", hosts=1), other) == []
    assert findings("TPU119", in_pool("a", "low", chips=0), other) == []


def of_class(name: str, priority: str) -> dict[str, Any]:
    """Return a JobSet whose pods have a class."""
    return jobset(name, {**selecting(), "priorityClassName": priority})


@pytest.mark.parametrize(
    ("value", "default", "messages"), [(0, None, []), (5, None, [SHARED]), (5, 5, []), (0, 5, [SHARED])]
)
def test_pods_without_a_class_have_the_default(value: int, default: int | None, messages: list[str]) -> None:
    """Without a class the priority is that of the global default, else 0."""
    classes = [{"metadata": {"name": "low"}, "value": value}]
    if default is not None:
        classes.append({"metadata": {"name": "usual"}, "value": default, "globalDefault": True})
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}

    found = findings("TPU119", of_class("a", "low"), of_class("b", ""), *({**head, **one} for one in classes))

    assert found == messages


@pytest.mark.parametrize(
    ("slices", "provisioning", "change", "expected"),
    [
        (2, "OnDemand", {}, ["tpus-0, tpus-1"]),
        (5, "OnDemand", {}, ["tpus-0, tpus-1, tpus-2, ..."]),
        (1, "OnDemand", {}, []),
        (2, "Spot", {}, []),
        (2, "Spot", {SPOT: "true"}, ["tpus-0, tpus-1"]),
        (2, "OnDemand", {POOL: "tpus-1"}, []),
    ],
)
def test_hosts_of_one_slice_where_a_pool_has_several(
    slices: int, provisioning: str, change: dict[str, str], expected: list[str]
) -> None:
    """Without exclusive placement the pods can be on hosts of several slices; one slice is safe."""
    pool = {"name": "tpus", "tpu": "v5litepod-16", "slices": slices, "provisioning": provisioning}
    site = {"metadata": {"name": "west"}, "spec": {"pools": [pool]}}
    item = jobset("a", {"nodeSelector": {**V5E, **change}})
    placed = findings("TPU113", item, site=site)
    del item["spec"]["replicatedJobs"][0]["template"]["metadata"]

    found = findings("TPU113", item, site=site)

    head = "the pods have no exclusive placement and can be on hosts of several slices: "
    assert ([], [head + names for names in expected]) == (placed, found)
    spec = item["spec"]["replicatedJobs"][0]["template"]["spec"]
    alone = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec}
    assert found == findings("TPU113", alone, site=site), "a Job has no exclusive placement"
    autopilot = {"metadata": {"name": "west"}, "spec": {"pools": [pool], "mode": "Autopilot"}}
    unnamed = [head.removesuffix(": ")] * len(found)
    assert unnamed == findings("TPU113", alone, site=autopilot), "GKE makes and names the node pools"
    term = {"topologyKey": POOL, "labelSelector": {"matchLabels": {"app": "a"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec["template"]["spec"]["affinity"] = affinity
    assert [] == findings("TPU113", alone, site=site)
