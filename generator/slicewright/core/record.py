"""The JSON form of a dataclass: its fields under the names that JSON has, in their order."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


def record(item: Any) -> dict[str, Any]:
    """Return the fields of a dataclass in camelCase; what they hold is turned by `plain`."""
    return {camel(field.name): plain(getattr(item, field.name)) for field in fields(item)}


def camel(name: str) -> str:
    """Return `mostChips` for `most_chips`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def plain(value: Any) -> Any:
    """Return a value as JSON has it; a dataclass with a `record` of its own decides itself."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if not is_dataclass(value):
        return value
    return value.record() if hasattr(value, "record") else record(value)
