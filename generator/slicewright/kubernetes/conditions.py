"""The conditions that controllers write into the status of an object."""

from collections.abc import Mapping
from typing import NamedTuple

from slicewright.kubernetes.types import Object


class Condition(NamedTuple):
    """The condition that a controller wrote into an object's status."""

    status: str = ""
    """`True`, `False` or `Unknown`; empty if nothing is said."""
    reason: str = ""
    message: str = ""
    since: str = ""
    """The time of the last change, as RFC 3339."""


NOTHING = Condition()
COMPLETED = ("Completed", "Complete")
"""Conditions of runs that succeeded; a failed run has `Failed`."""
_OPTIONAL = ("reason", "message", "lastTransitionTime")
Conditions = dict[str, Condition]


def conditions(status: Object) -> Conditions:
    """Return the conditions of a status by their type."""
    return {
        entry["type"]: Condition(entry["status"], *(entry.get(key, "") for key in _OPTIONAL))
        for entry in status.get("conditions") or ()
    }


def is_true(conditions: Mapping[str, Condition], kind: str) -> bool:
    """Tell whether a condition is true."""
    return conditions.get(kind, NOTHING).status == "True"
