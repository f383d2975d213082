"""Documents -> objects: what is no Kubernetes object is a problem, and a List is what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Resource
from slicewright.core.kubernetes.kinds import JOBSET_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.source import Source
    from slicewright.core.problem import Path, Problem

_LISTS = 4
"""Lists inside of Lists that are opened; nobody writes two."""


def unpack(data: Any, file: str, source: Source | None = None, at: Path = ()) -> Iterator[Resource | Problem]:
    """Yield the objects in a document, or what keeps it from being one."""
    resource = Resource(data if isinstance(data, dict) else {}, file, source, at)
    if not isinstance(data, dict):
        what = "an element of a List" if at else "a document"
        message = f"{what} must be a mapping with apiVersion and kind"
        hint = "remove it" if at else "move other documents to another folder, or --exclude it"
        yield resource.problem("SCHEMA002", (), message, hint)
        return
    for key in ("apiVersion", "kind"):
        if not isinstance(data.get(key), str) or not data[key]:
            yield _without(resource, key)
            return
    if not resource.kind.endswith("List") or len(at) >= 2 * _LISTS:
        yield resource
        return
    items = data.get("items")
    if isinstance(items, list):
        for index, element in enumerate(items):
            yield from unpack(_typed(element, data), file, source, (*at, "items", index))
    elif resource.kind == "List" and resource.group == "":
        message = "'items' must be a list" if "items" in data else "'items' is missing"
        yield resource.problem("SCHEMA002", ("items",), message, "write the objects of the List below items:")
    else:
        yield resource


def _typed(element: Any, of: dict[str, Any]) -> Any:
    """Return an element of a list of one kind, whose objects need not repeat it, as kubectl reads it."""
    kind = of["kind"].removesuffix("List")
    if not kind or not isinstance(element, dict) or "kind" in element or "apiVersion" in element:
        return element
    return {"apiVersion": of["apiVersion"], "kind": kind, **element}


def _without(resource: Resource, key: str) -> Problem:
    if key in resource.data:
        message, hint = f"'{key}' must be a string", f"write for example {key}: {_EXAMPLES[key]}"
    else:
        message, hint = f"'{key}' is missing", "every Kubernetes object has an apiVersion and a kind"
    return resource.problem("SCHEMA002", (key,), message, hint)


_EXAMPLES = {"apiVersion": JOBSET_VERSION, "kind": "JobSet"}
