"""Documents -> objects, those in Lists, and the configuration that a ConfigMap holds."""

from collections.abc import Iterator
from typing import Any

from slicewright.check.passed_by import holds_configuration
from slicewright.document.edit import fix_of_key
from slicewright.document.read import read_manifests
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes import kinds
from slicewright.kubernetes.fields import at as below
from slicewright.kubernetes.fields import mapping, text, texts
from slicewright.kubernetes.problem import Path, Problem, dotted
from slicewright.objects import Resource

_LISTS = 4
"""The depth to which Lists inside of Lists are opened."""


def unpack(data: Any, file: str, source: Source | None = None, at: Path = ()) -> Iterator[Resource | Problem]:
    """Yield the objects in a document, also those in a List, and problems of what is not an object.

    The key `sops` of a file that SOPS encrypted is gone when Flux or KSOPS have decrypted it.
    """
    if isinstance(data, dict) and data.get("kind") != "SopsSecret" and "mac" in mapping(data.get("sops")):
        data = {key: value for key, value in data.items() if key != "sops"}
    resource = Resource(data if isinstance(data, dict) else {}, file, source, at)
    if not isinstance(data, dict):
        message = (
            f"{'an element of a List' if at else 'a document'} must be a mapping with apiVersion and kind"
        )
        hint = "remove it" if at else "move other documents to another folder, or --exclude it"
        if isinstance(data, list) and not at:
            hint = "write --- between objects, or put them below 'items' of a List"
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
    # The key may be there, misspelt, in what else looks like an object.
    fix = None
    if resource.metadata:
        fixes = (fix_of_key(name, resource.data, (key,), ()) for name in texts(resource.data))
        fix = next((fix for fix in fixes if fix and fix.safe), None)
    return resource.problem("SCHEMA002", (key,), message, hint, fix=fix)


_EXAMPLES = {"apiVersion": kinds.JOBSET_VERSION, "kind": "JobSet"}


def nested(resource: Resource) -> Iterator[Resource | Problem]:
    """Yield the Configuration that a ConfigMap of Kueue or JobSet holds, or why it cannot be read."""
    if not holds_configuration(resource):
        return
    file = SourceFile(resource.file, text(below(resource.data, "data", kinds.CONFIGURATION_KEY)))
    documents, problems = read_manifests(file.text, file.path)
    for problem in problems:
        yield outside(resource, problem)
    for document in documents:
        for part in unpack(document.data, file.path, Source(file, document)):
            if not isinstance(part, Resource):
                yield outside(resource, part)
            elif part.data["apiVersion"] != kinds.OLD_KUEUE_CONFIGURATION_VERSION:  # it has no schema
                yield part


def outside(resource: Resource, problem: Problem) -> Problem:
    """Return a problem of the text as one of the ConfigMap around it; its line is that in the text."""
    within = f", {dotted(problem.path)}" if problem.path else ""
    message = f"{kinds.CONFIGURATION_KEY} line {problem.line}{within}: {problem.message}"
    return resource.problem(
        problem.id, ("data", kinds.CONFIGURATION_KEY), message, problem.hint, severity=problem.severity
    )
