"""What the scheduler compares before pods go to a node: labels with selectors, taints with tolerations.

Kueue compares flavors in the same way. Both do it as k8s.io/component-helpers v0.36 does, in the packages
scheduling/corev1 and scheduling/corev1/nodeaffinity.
"""

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.fields import at, entries, text, texts, words
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    COMPUTE_CLASS,
    FLEX_START,
    NODE_POOL,
    RESERVATION,
    SPOT,
    TOPOLOGY,
)
from slicewright.kubernetes.pods import NODE_TERMS, Pods

_BARRING = ("NoSchedule", "NoExecute")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_INT64 = range(-(2**63), 2**63)


class Requirement(Struct, frozen=True):
    """One expression of node affinity."""

    key: str
    operator: str
    values: tuple[str, ...]

    def accepts(self, value: str | None) -> bool:
        """Tell whether a node suits whose label has this value; None if it has no such label."""
        if self.operator == "In":
            return value in self.values
        if self.operator == "NotIn":
            return value not in self.values
        if self.operator in ("Exists", "DoesNotExist"):
            return (value is not None) == (self.operator == "Exists")
        return len(self.values) == 1 and _compares(self.operator, value or "", self.values[0])


class NodeSelector(Struct, frozen=True):
    """The nodes on which pods insist: by labels, and by one of some terms if there are any."""

    labels: dict[str, str]
    terms: tuple[tuple[Requirement, ...], ...] = ()

    def suits(self, labels: Mapping[str, str], keys: Container[str] = ()) -> bool:
        """Tell whether nodes with these labels, and any labels with other keys, may suit the pods.

        If a label with a key in `keys` is missing, the nodes do not have it. Requirements on other keys are
        not checked; a term with only such requirements accepts every node.
        """
        if any(
            labels.get(key) != value for key, value in self.labels.items() if key in labels or key in keys
        ):
            return False
        if not self.terms:
            return True
        terms = [[entry for entry in term if entry.key in labels or entry.key in keys] for term in self.terms]
        return not all(terms) or any(
            all(entry.accepts(labels.get(entry.key)) for entry in term) for term in terms
        )

    def accepts(self, node: Mapping[str, str]) -> bool:
        """Tell whether a node with these labels, and no others, suits the pods; its fields are ignored."""
        return self.suits(node, {*self.labels, *(entry.key for term in self.terms for entry in term)})

    def fixed(self) -> dict[str, str]:
        """Return the labels that every suitable node has, with the only value that is accepted."""
        if len(self.terms) != 1:
            return dict(self.labels)
        ones = {
            entry.key: entry.values[0]
            for entry in self.terms[0]
            if entry.operator == "In" and len(entry.values) == 1
        }
        return {**ones, **self.labels}


def node_selector(spec: Mapping[str, Any]) -> NodeSelector:
    """Return the nodes on which a pod insists, by its spec."""
    terms = tuple(
        tuple(requirement(expression) for _, expression in entries(term.get("matchExpressions")))
        for _, term in entries(at(spec, *NODE_TERMS))
    )
    return NodeSelector(texts(spec.get("nodeSelector")), terms)


def requirement(expression: Mapping[str, Any]) -> Requirement:
    """Return an expression of a selector of labels."""
    return Requirement(
        text(expression.get("key")),
        text(expression.get("operator")),
        tuple(value for _, value in words(expression.get("values"))),
    )


def tolerates(tolerations: Iterable[Mapping[str, Any]], *taints: Mapping[str, Any]) -> bool:
    """Tell whether pods with some tolerations may go where some taints are."""
    accepted = tuple(tolerations)
    return all(
        any(_tolerates(entry, taint) for entry in accepted)
        for taint in taints
        if taint.get("effect") in _BARRING
    )


def _tolerates(entry: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if entry.get("effect") not in (None, "", taint["effect"]):
        return False
    if entry.get("key") not in (None, "", taint.get("key")):
        return False
    operator, value, tainted = entry.get("operator"), text(entry.get("value")), text(taint.get("value"))
    if operator in ("Gt", "Lt"):
        return _compares(operator, tainted, value)
    return operator == "Exists" or (operator in (None, "", "Equal") and value == tainted)


def _compares(operator: str, left: str, right: str) -> bool:
    """Tell whether one number is greater (or less) than another; what is not a number is neither."""
    numbers = [int(side) for side in (left, right) if _WHOLE.fullmatch(side)]
    if any(value not in _INT64 for value in numbers) or len(numbers) != len((left, right)):
        return False
    return numbers[0] > numbers[1] if operator == "Gt" else operator == "Lt" and numbers[0] < numbers[1]


Labels = frozenset[tuple[str, frozenset[str]]]
"""Keys of node labels, each with the accepted values."""
Nodes = tuple[Labels, ...]
"""What pods insist on; several where their node affinity has several terms, of which one is enough."""

_ABSENT = frozenset({"(no such label)"})
"""In place of values: the node may not have the label. No label's value has such signs."""
_TAINTED = (SPOT, COMPUTE_CLASS)
"""Labels of nodes that have a taint of the same key, which keeps off pods that do not request them."""
PURCHASE = (SPOT, FLEX_START, f"{RESERVATION}name")
"""Labels of which a node has at most one: it has one kind of provisioning."""
_EFFECT = {"effect": "NoSchedule"}
_SHAPE = frozenset({ACCELERATOR, TOPOLOGY})


def nodes_of(pods: Pods) -> Nodes:
    """Return the labels of nodes on which pods may land.

    That is nodeSelector, the operator In of required node affinity, and what the labels imply about taints
    of Spot and compute classes and about ways to buy a machine. Not considered: other operators, matchFields,
    other taints, and what Kueue adds from flavors; all of them can only keep more pods apart.
    """
    selector = node_selector(pods.spec)
    terms = (_with_implied(_labels(selector, term), pods) for term in selector.terms or ((),))
    return tuple(dict.fromkeys(frozenset(labels.items()) for labels in terms))


def can_meet(some: Nodes, others: Nodes) -> bool:
    """Tell whether a node may have what both insist on, as far as both say of what kind their nodes are."""
    return any(_agree(dict(left), dict(right)) for left in some for right in others)


def _agree(left: dict[str, frozenset[str]], right: dict[str, frozenset[str]]) -> bool:
    shared = left.keys() & right.keys()
    # A node pool by name, and a shape by its labels, have no key in common and may have nothing else either.
    is_comparable = NODE_POOL in shared or shared >= _SHAPE or left == right
    return is_comparable and all(left[key] & right[key] for key in shared)


def _labels(selector: NodeSelector, term: Iterable[Requirement]) -> dict[str, frozenset[str]]:
    labels = {key: frozenset({value}) for key, value in selector.labels.items()}
    for entry in term:
        values = frozenset(entry.values)
        if entry.operator == "In" and values:
            labels[entry.key] = labels.get(entry.key, values) & values
    return labels


def _with_implied(labels: dict[str, frozenset[str]], pods: Pods) -> dict[str, frozenset[str]]:
    absent = {key for key in _TAINTED if not _admits(pods, key)}
    if any(key in labels for key in PURCHASE):
        absent.update(PURCHASE)
    return {**dict.fromkeys(absent, _ABSENT), **labels}


def _admits(pods: Pods, key: str) -> bool:
    # A ComputeClass's taint has its name as the value, so each toleration is asked for a class that it means.
    return any(
        tolerates([entry], {"key": key, "value": "true" if key == SPOT else entry.get("value"), **_EFFECT})
        for _, entry in entries(pods.spec.get("tolerations"))
    )
