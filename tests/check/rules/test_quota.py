"""The most that a queue can ever get, as Kueue computes it (resource_node.go, potentialAvailable)."""

from fractions import Fraction
from typing import Any

import pytest
from tests.check.rules.kit import findings, object_set
from tests.check.rules.queues import cohort, queue, said

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.quantity import amount
from slicewright.kueue.quota import Cell, Node, Quotas, most
from slicewright.kueue.quota_read import quotas


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([queue("a", 8, "all", lendingLimit=0), queue("b", 16, "all")], "24 (nominal 8, borrowing 16)"),
        ([queue("a", 8, "x"), cohort("x", 4, "y"), cohort("y", 4, "x")], "16 (nominal 8, borrowing 8)"),
    ],
    ids=["lending limit of its own", "cycle"],
)
def test_most_that_a_queue_can_get(objects: list[dict[str, Any]], expected: str) -> None:
    """What others lend is added to its own quota; test_quota_model.py has trees with all limits."""
    known = quotas(object_set(*objects))

    assert expected == said(most(known, known.queues["a"], ("v5e", TPU)))


def test_queue_may_have_the_name_of_a_cohort() -> None:
    """Queues and cohorts are named apart: a cohort above that is called like the queue is not a cycle."""
    known = quotas(object_set(queue("a", 8, "team"), cohort("team", parent="a"), cohort("a", 16)))

    assert said(most(known, known.queues["a"], ("v5e", TPU))) == "24 (nominal 8, borrowing 16)"


NESTED = 3000
"""Cohorts in each other: more than Python calls functions in each other."""


def test_cohorts_may_be_nested_as_deeply_as_anybody_likes() -> None:
    """The quota at the root reaches a queue through thousands of cohorts, and its limits on the way count."""
    chips = amount(8)
    assert chips is not None
    key = ("v5e", TPU)
    cohorts = {f"c{at}": Node(f"c{at}", f"c{at + 1}", {}) for at in range(NESTED)}
    cohorts["c100"] = Node("c100", "c101", {key: Cell(Fraction(0), borrowing=Fraction(5))})
    cohorts[f"c{NESTED}"] = Node(f"c{NESTED}", "", {key: Cell(chips)})
    near, far = Node("near", "c0", {}), Node("far", "c200", {})

    known = Quotas({"near": near, "far": far}, cohorts)

    assert [5, 8] == [int(most(known, one, key).total) for one in (near, far)]


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ({"a": "b", "b": "c", "c": ""}, []),
        ({"a": "a"}, ["a: a -> a"]),
        (
            {"x": "a", "a": "b", "b": "c", "c": "a"},
            ["a: a -> b -> c -> a", "b: b -> c -> a -> b", "c: c -> a -> b -> c"],
        ),
        ({f"c{at}": f"c{at + 1}" for at in range(NESTED)}, []),
    ],
)
def test_each_cohort_of_a_cycle_is_named_with_its_way(parents: dict[str, str], expected: list[str]) -> None:
    """A cohort that only leads into a cycle is not part of it, and a long chain is none."""
    found = findings("FIT107", *(cohort(name, parent=above) for name, above in parents.items()))

    assert [f"the cohorts form a cycle: {way.partition(': ')[2]}" for way in expected] == found
