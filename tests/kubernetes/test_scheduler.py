"""What the scheduler compares: labels with node selectors and affinity, taints with tolerations."""

from typing import Any

import pytest

from slicewright.kubernetes.scheduler import Requirement, node_selector, tolerates


def _spec(*terms: Any, **labels: str) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"nodeSelector": labels, "affinity": affinity}


@pytest.mark.parametrize(
    ("operator", "values", "accepted"),
    [
        ("In", ["5", "7"], ["5", "7"]),
        ("NotIn", ["5"], ["7", None, "x"]),
        ("Exists", [], ["5", "7", "x"]),
        ("DoesNotExist", [], [None]),
        ("Gt", ["5"], ["7"]),
        ("Lt", ["7"], ["5"]),
        ("Gt", ["x"], []),
        ("Gt", ["5", "6"], []),
        ("Lt", ["9223372036854775808"], []),
        ("Lt", ["9223372036854775807"], ["5", "7"]),
        ("Other", ["7"], []),
    ],
)
def test_operators_accept_what_the_scheduler_accepts(
    operator: str, values: list[str], accepted: list[str | None]
) -> None:
    """Numbers are compared as numbers of 64 bits; what is not a number is neither more nor less."""
    wanted = Requirement("key", operator, tuple(values))

    assert accepted == [value for value in ("5", "7", None, "x") if wanted.accepts(value)]


def test_node_is_asked_for_every_label() -> None:
    """Where all labels are known nothing is left out; of some keys it may be known that a node lacks them."""
    wanted = node_selector(_spec([{"key": "a", "operator": "DoesNotExist"}], zone="x"))

    assert [True, False, False] == [
        wanted.accepts(node) for node in ({"zone": "x"}, {}, {"zone": "x", "a": ""})
    ]
    assert [True, True, False] == [wanted.suits({}, keys) for keys in ((), ("a",), ("zone",))]


def test_labels_of_every_node_are_those_of_the_selector_and_of_a_lone_term() -> None:
    """Several terms, and several values, fix nothing."""
    one = {"key": "a", "operator": "In", "values": ["1"]}
    many = {"key": "b", "operator": "In", "values": ["1", "2"]}

    assert {"a": "1", "zone": "x"} == node_selector(_spec([one, many], zone="x")).fixed()
    assert {"zone": "x"} == node_selector(_spec([one], [many], zone="x")).fixed()


TAINT = {"key": "team", "value": "5", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "team", "operator": "Exists"}, True),
        ({"key": "team", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "team", "value": "5"}, True),
        ({"key": "team", "value": "5", "operator": "Equal", "effect": "NoSchedule"}, True),
        ({"key": "team", "value": "6"}, False),
        ({"key": "team", "value": "6", "operator": "Lt"}, True),
        ({"key": "team", "value": "6", "operator": "Gt"}, False),
        ({"key": "team", "value": "5", "operator": "Other"}, False),
    ],
)
def test_toleration_is_compared_as_the_scheduler_compares_it(entry: dict[str, Any], expected: bool) -> None:
    """Key, value, operator and effect count; what is left out matches everything."""
    assert expected == tolerates([entry], TAINT)
