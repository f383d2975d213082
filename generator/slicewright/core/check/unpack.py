"""Documents -> objects: what is no Kubernetes object is a problem, and a List is what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.item import Item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.source import Source
    from slicewright.core.problem import Path, Problem

_LISTS = 4
"""Lists inside of Lists that are opened; nobody writes two."""


def unpack(data: Any, file: str, source: Source | None = None, at: Path = ()) -> Iterator[Item | Problem]:
    """Yield the objects in a document, or what keeps it from being one."""
    item = Item(data if isinstance(data, dict) else {}, file, source, at)
    if not isinstance(data, dict):
        message = "a document must be a mapping with apiVersion and kind"
        yield item.problem(
            "SCHEMA002", (), message, "move what is no Kubernetes object elsewhere, or --exclude it"
        )
        return
    for key in ("apiVersion", "kind"):
        if not isinstance(data.get(key), str) or not data[key]:
            yield _without(item, key)
            return
    if not item.kind.endswith("List") or not isinstance(data.get("items"), list) or len(at) >= 2 * _LISTS:
        yield item
        return
    for index, element in enumerate(data["items"]):
        yield from unpack(element, file, source, (*at, "items", index))


def _without(item: Item, key: str) -> Problem:
    if key in item.data:
        message, hint = f"'{key}' must be a string", f"write for example {key}: {_EXAMPLES[key]}"
    else:
        message, hint = f"'{key}' is missing", "every Kubernetes object has an apiVersion and a kind"
    return item.problem("SCHEMA002", (key,), message, hint)


_EXAMPLES = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
