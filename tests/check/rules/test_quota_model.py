"""Quota against a model of Kueue's cache that counts chip by chip, on trees of cohorts drawn at random."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties import share

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.quantity import amount
from slicewright.kubernetes.scheduler import NodeSelector
from slicewright.kueue.assignment import Choice, assign
from slicewright.kueue.quota import Cell, Node, PodSet, Quotas, most

pytestmark = pytest.mark.slow

KEY = ("v5e", TPU)


@dataclass
class Cohort:
    """A node of the model: what it has, what it lends and borrows, what is used of it now."""

    quota: int
    borrowing: int | None
    lending: int | None
    parent: Cohort | None = None
    children: list[Cohort] = field(default_factory=list)
    used: int = 0

    def has(self) -> int:
        """Return its quota and what its children lend."""
        return self.quota + sum(child.has() - child.keeps() for child in self.children)

    def keeps(self) -> int:
        """Return what it does not lend to its parent."""
        return 0 if self.lending is None else max(0, self.has() - self.lending)

    def takes_one(self) -> bool:
        """Use one chip more, here or from the parent, if that is allowed."""
        if self.parent is None:
            allowed = self.used < self.has()
        elif self.used < self.keeps():
            allowed = True
        else:
            limit = None if self.borrowing is None else self.has() + self.borrowing
            allowed = (limit is None or self.used < limit) and self.parent.takes_one()
        self.used += allowed
        return allowed


LIMITS = st.one_of(st.none(), st.integers(0, 6))


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int, int | None, int | None, int | None]]:
    """Draw (quota, borrowing limit, lending limit, number of the parent) of some cohorts, the root first."""
    count = draw(st.integers(1, 6))
    return [
        (
            draw(st.integers(0, 6)),
            draw(LIMITS) if index else None,
            draw(LIMITS) if index else None,
            draw(st.integers(0, index - 1)) if index else None,
        )
        for index in range(count)
    ]


@settings(max_examples=share(300))
@given(trees(), st.data())
def test_most_is_what_can_be_taken_chip_by_chip(
    tree: list[tuple[int, int | None, int | None, int | None]], data: st.DataObject
) -> None:
    """A queue of any tree gets as many chips as taking one after another gives it, and not one more."""
    model: list[Cohort] = []
    for quota, borrowing, lending, parent in tree:
        above = model[parent] if parent is not None else None
        model.append(Cohort(quota, borrowing, lending, above))
        if above is not None:
            above.children.append(model[-1])
    leaf = data.draw(st.sampled_from([node for node in model if not node.children]))
    names = {id(node): f"n{index}" for index, node in enumerate(model)}
    nodes = {names[id(node)]: _node(names, node) for node in model}
    queues = {names[id(node)] for node in model if not node.children and node.parent is not None}
    queues.add(names[id(leaf)])
    known = Quotas(
        {name: node for name, node in nodes.items() if name in queues},
        {name: node for name, node in nodes.items() if name not in queues},
    )
    queue = known.queues[names[id(leaf)]]

    found = most(known, queue, KEY).total
    taken = 0
    while leaf.takes_one():
        taken += 1

    assert taken == found
    for chips, verdict in ((taken, True), (taken + 1, False)):
        asked = amount(chips)
        assert asked is not None
        choice = Choice((PodSet("main", 1, {}, NodeSelector({})),), {TPU: asked}, ("v5e",), ("v5e",))
        assert verdict == (assign(known, queue, [choice]) is not None)


def _node(names: dict[int, str], node: Cohort) -> Node:
    quota, borrowing, lending = amount(node.quota), amount(node.borrowing), amount(node.lending)
    assert quota is not None
    parent = names[id(node.parent)] if node.parent is not None else ""
    return Node(names[id(node)], parent, {KEY: Cell(quota, borrowing, lending)})
