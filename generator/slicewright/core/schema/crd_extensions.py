"""What JSON Schema cannot say about a kind, kept beside its schema: list-map keys and CEL rules.

Places are JSON pointers in which `*` stands for every element of a list or every value of a map:
`/spec/replicatedJobs/*/dependsOn`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.compose import pointer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KEY = "x-slicewright"
"""The keyword of a schema document that holds it; validators pass over keywords that they do not know."""


def of_crd(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the side table of a structural schema.

    Nothing below `/status` is in it: a kind with the subresource loses its status before it is validated.
    """
    maps: list[dict[str, Any]] = []
    rules: list[dict[str, str]] = []
    for place, found in _walk(node, ()):
        if place[:1] == ("status",):
            continue
        at = written(place)
        if found.get("x-kubernetes-list-type") == "map":
            maps.append(list_map(at, found["x-kubernetes-list-map-keys"], found.get("items", {})))
        for rule in found.get("x-kubernetes-validations", []):
            # Folded scalars of the CRD leave a newline at the end.
            entry = {"path": at, "rule": rule["rule"].strip(), "message": rule.get("message", "").strip()}
            rules.append({key: value for key, value in entry.items() if value or key == "path"})
    return {"listMaps": maps, "cel": rules}


def list_map(at: str, keys: list[str], items: Mapping[str, Any]) -> dict[str, Any]:
    """Return one entry: the keys that tell elements apart, and the defaults of those that may be absent."""
    fields = items.get("properties", {})
    # Built-in kinds give zero values as defaults, which say nothing.
    defaults = {key: fields[key]["default"] for key in keys if fields.get(key, {}).get("default")}
    return {"path": at, "keys": list(keys), **({"defaults": defaults} if defaults else {})}


def written(place: tuple[str, ...]) -> str:
    """Return a place as a pointer."""
    return "".join(f"/{pointer.escape(part)}" for part in place)


def _walk(
    node: Mapping[str, Any], place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    yield place, node
    for name, value in sorted(node.get("properties", {}).items()):
        yield from _walk(value, (*place, name))
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _walk(node[key], (*place, "*"))
