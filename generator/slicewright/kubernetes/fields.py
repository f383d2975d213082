"""Reads fields and conditions of unchecked objects: a value of the wrong type counts as empty."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from slicewright.kubernetes.types import Object

_MOST_DIGITS = 20
"""Of a number of 64 bits."""


def mapping(value: Any) -> dict[str, Any]:
    """Return a mapping as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return a list as it is, anything else as an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a string as it is, anything else as an empty one."""
    return value if isinstance(value, str) else ""


def number(value: Any, default: int | None = None) -> int | None:
    """Return an integer as it is, anything else (true and false too) as the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def digits(text: str) -> int | None:
    """Return the number that decimal digits write, None for another text and for one of more than 64 bits."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def count(value: Any) -> int:
    """Return a number of replicas or pods: an integer as it is, anything else as 1, the API's default."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 1


def without_nulls(value: Any) -> Any:
    """Return data without keys that have no value, as the API server reads it."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def at(value: Any, *keys: str | int) -> Any:
    """Return the value below some keys and indexes; None if one of them is missing."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
            value = value[key]
        else:
            return None
    return value


def entries(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the mappings of a list with their index."""
    for index, entry in enumerate(sequence(value)):
        if isinstance(entry, dict):
            yield index, entry


def texts(value: Any) -> dict[str, str]:
    """Return the entries of a mapping that are strings."""
    return {key: entry for key, entry in mapping(value).items() if isinstance(entry, str)}


def words(value: Any) -> Iterator[tuple[int, str]]:
    """Yield the strings of a list with their index."""
    for index, entry in enumerate(sequence(value)):
        if isinstance(entry, str):
            yield index, entry


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
