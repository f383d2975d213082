"""What the scheduler compares before pods go to a node: labels with selectors, taints with tolerations.

Kueue compares flavors in the same way. Both do it as k8s.io/component-helpers v0.36 does, in the packages
scheduling/corev1 and scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.read import at, entries, text, texts, words

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_BARRING = ("NoSchedule", "NoExecute")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression of node affinity."""

    key: str
    operator: str
    values: tuple[str, ...]

    def accepts(self, value: str | None) -> bool:
        """Tell whether a node will do whose label has this value; None where it has no such label."""
        if self.operator == "In":
            return value in self.values
        if self.operator == "NotIn":
            return value not in self.values
        if self.operator in ("Exists", "DoesNotExist"):
            return (value is not None) == (self.operator == "Exists")
        return len(self.values) == 1 and _compares(self.operator, value or "", self.values[0])


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """The nodes on which pods insist: by labels, and by one of some terms where there are any."""

    labels: dict[str, str]
    terms: tuple[tuple[Requirement, ...], ...] = ()

    def suits(self, labels: Mapping[str, str], keys: Container[str] = ()) -> bool:
        """Tell whether nodes with some labels may do, whatever labels they have of other keys.

        `keys` are more of which all is known: where they are not among the labels, nodes do not have them.
        What is said of other keys is left out; a term that says nothing of these accepts every node.
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
        """Tell whether a node will do, all of whose labels are known; its fields are not looked at."""
        return self.suits(node, {*self.labels, *(entry.key for term in self.terms for entry in term)})

    def fixed(self) -> dict[str, str]:
        """Return the labels of which every such node has the one value that is given."""
        only = self.terms[0] if len(self.terms) == 1 else ()
        ones = {
            entry.key: entry.values[0] for entry in only if entry.operator == "In" and len(entry.values) == 1
        }
        return {**ones, **self.labels}


def node_selector(spec: Mapping[str, Any]) -> NodeSelector:
    """Return the nodes on which a pod insists, by its spec."""
    found = [
        tuple(requirement(expression) for _, expression in entries(term.get("matchExpressions")))
        for _, term in entries(at(spec.get("affinity"), "nodeAffinity", _REQUIRED, "nodeSelectorTerms"))
    ]
    return NodeSelector(texts(spec.get("nodeSelector")), tuple(found))


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
    operator, value, there = entry.get("operator"), text(entry.get("value")), text(taint.get("value"))
    if operator in ("Gt", "Lt"):
        return _compares(operator, there, value)
    return operator == "Exists" or (operator in (None, "", "Equal") and value == there)


def _compares(operator: str, left: str, right: str) -> bool:
    """Tell whether one number is greater (or less) than another; what is not a number is neither."""
    numbers = [int(side) for side in (left, right) if _WHOLE.fullmatch(side)]
    if any(value not in _INT64 for value in numbers) or len(numbers) != len((left, right)):
        return False
    return numbers[0] > numbers[1] if operator == "Gt" else operator == "Lt" and numbers[0] < numbers[1]
