"""Patches: apply JSON 6902 or merge fields, and compute the guarded JSON 6902 patch between two objects."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from slicewright.document.document import same
from slicewright.document.read import MAX_DEPTH, MAX_VALUES
from slicewright.kubernetes.merge import copied
from slicewright.kubernetes.problem import escape_key

_BAD_ESCAPE = re.compile(r"~(?![01])")

Keys = tuple[str, ...]
Operation = dict[str, Any]
_INDEX = re.compile("0|[1-9][0-9]{0,17}")
_WITH_VALUE = frozenset({"add", "replace", "test"})
_LEVELS = MAX_DEPTH - 4
"""Levels of nesting that a patch may reach: what it makes is written into files that we must read again,
and a generated patch wraps a value into two levels more."""
_CHARACTERS_A_VALUE = 64
"""Characters of text that count as one value."""


def parse_pointer(pointer: str) -> Keys:
    """Return the tokens of a pointer.

    Raises ValueError for one that does not begin with '/', or has a '~' that is not a valid escape.
    """
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"'{pointer}' is not a JSON pointer: it must begin with '/'")
    if _BAD_ESCAPE.search(pointer):
        raise ValueError(f"'{pointer}' is not a JSON pointer: '~' is written ~0 and '/' in a key ~1")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


class PatchError(ValueError):
    """A patch that does not fit the object that it is applied to."""


def apply(operations: list[Operation], document: Any) -> Any:
    """Apply a patch in place and return the result (RFC 6902).

    Raises PatchError where an operation is malformed, leads nowhere, or its test fails, and where copies
    make the document larger or deeper than one that is read may be; the document is then half changed and
    must be thrown away. Kustomize is laxer: it lets `replace` add what is missing,
    `test` find null in a missing value, and indexes count from the end.
    """
    holder = {"": document}
    for operation in operations:
        step = f"{_read(operation, 'op')} {_read(operation, 'path')}"
        try:
            _apply(operation, holder)
        except PatchError as error:
            raise PatchError(f"{step}: {error}") from error
        except (KeyError, IndexError, TypeError) as error:
            raise PatchError(f"{step}: nothing is at this path") from error
    return holder[""]


def merge(fields: dict[str, Any], item: dict[str, Any]) -> None:
    """Set fields of an object in place, as a strategic merge does if neither has a list or a null.

    Raises PatchError if a mapping would be merged with another value; discard the object then.
    """
    for key, value in fields.items():
        present = item.get(key)
        if isinstance(value, dict) and isinstance(present, dict):
            merge(value, present)
        elif key in item and isinstance(value, dict) != isinstance(present, dict):
            raise PatchError(f"{_short(value)} cannot be merged into '{key}', which is {_short(present)}")
        else:
            item[key] = copied(value)


def _read(operation: Any, member: str) -> str:
    value = operation.get(member) if isinstance(operation, dict) else None
    if not isinstance(value, str):
        raise PatchError(f"an operation needs '{member}', a string; this is {_short(operation)}")
    return value


def _short(value: Any) -> str:
    return textwrap.shorten(repr(value), 120)


def _apply(operation: Operation, holder: dict[str, Any]) -> None:
    verb, keys = operation["op"], _keys(operation["path"])
    if verb in _WITH_VALUE and "value" not in operation:
        raise PatchError("'value' is missing")
    if verb == "test":
        value = _get(holder, keys)
        if not same(value, operation["value"]):
            raise PatchError(f"expected {_short(operation['value'])}, found {_short(value)}")
    elif verb == "add":
        _add(holder, keys, _fitting(operation["value"], keys))
    elif verb == "replace":
        _get(holder, keys)
        parent, last = _get(holder, keys[:-1]), keys[-1]
        value = _fitting(operation["value"], keys)
        parent[_index(last) if isinstance(parent, list) else last] = value
    elif verb == "remove":
        _remove(holder, keys)
    elif verb in ("move", "copy"):
        source = _keys(_read(operation, "from"))
        value = _fitting(_get(holder, source), keys)
        if verb == "copy" and _weight(holder) + _weight(value) > MAX_VALUES:
            raise PatchError(f"the object would have more than {MAX_VALUES:,} values")
        if verb == "move":
            if len(source) < len(keys) and keys[: len(source)] == source:
                raise PatchError("a value cannot be moved into itself")
            _remove(holder, source)
        _add(holder, keys, value)
    else:
        raise PatchError(f"'{verb}' is not a JSON 6902 operation")


def _keys(text: str) -> Keys:
    """Return the path to a value in the holder, in which the document is the value of an empty key."""
    try:
        return ("", *parse_pointer(text))
    except ValueError as error:
        raise PatchError(str(error)) from error


def _fitting(value: Any, keys: Keys) -> Any:
    """Return a copy of a value for a place, unless it would reach too deep there."""
    if len(keys) - 1 + _height(value) > _LEVELS:
        raise PatchError(f"the object would have more than {_LEVELS} levels of nesting")
    return copied(value)


def _height(value: Any) -> int:
    """Return the levels of nesting of a value: 0 for a scalar."""
    if isinstance(value, dict):
        return 1 + max(map(_height, value.values()), default=0)
    return 1 + max(map(_height, value), default=0) if isinstance(value, list) else 0


def _weight(value: Any) -> int:
    """Return how many values there are in one, long texts counted by their length."""
    if isinstance(value, dict):
        return 1 + sum(len(key) // _CHARACTERS_A_VALUE + _weight(item) for key, item in value.items())
    if isinstance(value, list):
        return 1 + sum(map(_weight, value))
    return 1 + (len(value) // _CHARACTERS_A_VALUE if isinstance(value, str) else 0)


def _get(holder: Any, keys: Keys) -> Any:
    for key in keys:
        holder = holder[_index(key)] if isinstance(holder, list) else holder[key]
    return holder


def _index(key: str) -> int:
    if not _INDEX.fullmatch(key):
        raise PatchError(f"'{key}' is not a valid index of a list")
    return int(key)


def _add(holder: Any, keys: Keys, value: Any) -> None:
    parent, last = _get(holder, keys[:-1]), keys[-1]
    if not isinstance(parent, list):
        parent[last] = value
    elif last == "-":
        parent.append(value)
    else:
        index = _index(last)
        if index > len(parent):
            raise PatchError(f"index {index} is beyond the end of a list of {len(parent)}")
        parent.insert(index, value)


def _remove(holder: Any, keys: Keys) -> None:
    if len(keys) == 1:
        raise PatchError("the whole document cannot be removed")
    parent, last = _get(holder, keys[:-1]), keys[-1]
    del parent[_index(last) if isinstance(parent, list) else last]


def difference(before: Any, after: Any) -> list[Operation]:
    """Return the patch that turns one object into the other, guarded against a base that changed.

    Every operation below a list element follows a `test` of that element: of its `name` if it has one,
    else of the old value. So a changed base fails the build, and is not patched in the wrong place. Elements
    are matched by position; new ones are appended, a list that lost some is replaced.
    """
    return list(_differ(before, after, ""))


def _differ(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _differ_mapping(before, after, path)
    elif isinstance(before, list) and isinstance(after, list) and 0 < len(before) <= len(after):
        yield from _differ_list(before, after, path)
    elif before != after or type(before) is not type(after):
        yield {"op": "replace", "path": path, "value": after}


def _differ_mapping(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[Operation]:
    for key in before:
        if key not in after:
            yield {"op": "remove", "path": f"{path}/{escape_key(key)}"}
    for key, value in after.items():
        below = f"{path}/{escape_key(key)}"
        if key in before:
            yield from _differ(before[key], value, below)
        else:
            yield {"op": "add", "path": below, "value": value}


def _differ_list(before: list[Any], after: list[Any], path: str) -> Iterator[Operation]:
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        below = f"{path}/{index}"
        changes = list(_differ(old, new, below))
        if changes and isinstance(old, dict) and "name" in old:
            yield {"op": "test", "path": f"{below}/name", "value": old["name"]}
        elif changes:
            yield {"op": "test", "path": below, "value": old}
        yield from changes
    for value in after[len(before) :]:
        yield {"op": "add", "path": f"{path}/-", "value": value}
