"""The type of a Kubernetes object, and the JSON form of a Struct: its fields in camelCase, in their order."""

from typing import Any

from msgspec import Struct

Object = dict[str, Any]
"""A Kubernetes object or a part of one, as its YAML or JSON reads."""


def record(item: Struct) -> dict[str, Any]:
    """Return the fields of a Struct in camelCase; `plain` converts their values."""
    return {camel(name): plain(getattr(item, name)) for name in item.__struct_fields__}


def camel(name: str) -> str:
    """Return `mostChips` for `most_chips`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def plain(value: Any) -> Any:
    """Return a value as JSON has it; a Struct with a method `record` is converted by that."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if not isinstance(value, Struct):
        return value
    return value.record() if hasattr(value, "record") else record(value)
