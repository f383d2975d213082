"""Whether pods of two kinds can land on one node, by the labels on which they insist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.scheduler import tolerates
from slicewright.core.kubernetes.labels import (
    ACCELERATOR,
    COMPUTE_CLASS,
    FLEX_START,
    NODE_POOL,
    RESERVATION,
    SPOT,
    TOPOLOGY,
)
from slicewright.core.kubernetes.read import at, entries, mapping, sequence, text, texts, words

if TYPE_CHECKING:
    from typing import Any

    from slicewright.core.kubernetes.pods import Pods

Labels = frozenset[tuple[str, frozenset[str]]]
"""Keys of node labels, each with the values that will do."""
Nodes = tuple[Labels, ...]
"""What pods insist on; several where their node affinity has several terms, of which one is enough."""

_ABSENT = frozenset({"(no such label)"})
"""In place of values: the node may not have the label. No label's value has such signs."""
_TAINTED = (SPOT, COMPUTE_CLASS)
"""Labels of nodes that have a taint of the same key, which keeps off whoever does not ask for them."""
PURCHASE = (SPOT, FLEX_START, f"{RESERVATION}name")
"""Labels of which a node has at most one: its machine was bought in one way."""
_EFFECT = {"effect": "NoSchedule"}
_SHAPE = frozenset({ACCELERATOR, TOPOLOGY})


def nodes_of(pods: Pods) -> Nodes:
    """Return the labels of nodes on which pods may land.

    That is nodeSelector, the operator In of required node affinity, and what the labels imply about taints
    of Spot and compute classes and about ways to buy a machine. Not considered: other operators, matchFields,
    other taints, and what Kueue adds from flavors; all of them can only keep more pods apart.
    """
    terms = [_of_term(mapping(term)) for term in _terms(pods)] or [{}]
    selector = {key: frozenset({value}) for key, value in texts(pods.spec.get("nodeSelector")).items()}
    every = (_with_implied(_both(selector, term), pods) for term in terms)
    return tuple(dict.fromkeys(frozenset(labels.items()) for labels in every))


def can_meet(some: Nodes, others: Nodes) -> bool:
    """Tell whether a node may have what both insist on, as far as both say of what kind their nodes are."""
    return any(_agree(dict(one), dict(other)) for one in some for other in others)


def _agree(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    shared = one.keys() & other.keys()
    # A node pool by name, and a shape by its labels, have no key in common and may have nothing else either.
    is_comparable = NODE_POOL in shared or shared >= _SHAPE or one == other
    return is_comparable and all(one[key] & other[key] for key in shared)


def _terms(pods: Pods) -> list[Any]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return sequence(at(pods.spec, "affinity", "nodeAffinity", required, "nodeSelectorTerms"))


def _of_term(term: dict[str, Any]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for _, expression in entries(term.get("matchExpressions")):
        values = frozenset(value for _, value in words(expression.get("values")))
        if expression.get("operator") == "In" and values:
            found = _both(found, {text(expression.get("key")): values})
    return found


def _both(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    return {**one, **{key: one.get(key, values) & values for key, values in other.items()}}


def _with_implied(labels: dict[str, frozenset[str]], pods: Pods) -> dict[str, frozenset[str]]:
    absent = {key for key in _TAINTED if not _tolerates(pods, key)}
    if any(key in labels for key in PURCHASE):
        absent.update(PURCHASE)
    return {**dict.fromkeys(absent, _ABSENT), **labels}


def _tolerates(pods: Pods, key: str) -> bool:
    # A ComputeClass's taint has its name as the value, so each toleration is asked for a class that it means.
    return any(
        tolerates([entry], {"key": key, "value": "true" if key == SPOT else entry.get("value"), **_EFFECT})
        for _, entry in entries(pods.spec.get("tolerations"))
    )
