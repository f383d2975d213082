"""The overlay of a run: base, components and one guarded JSON 6902 patch for each object.

No object may have markers of the bases, or values that kustomize would change. These values were found by
trying every character, key and number with kustomize 5.2.1 and 5.8.1, in objects and in patches. Its reader
refuses control characters that its own writer lets through, loses a key `<<`, and refuses long keys. When it
reads patches, it rounds integers and breaks some texts. The values of a run come from the text of its
workload or from its base, so these are searched: the first is short, the second is the same for many.
"""

import re
from collections.abc import Iterator
from typing import Any

from slicewright.document import json_patch
from slicewright.document.document import values_in
from slicewright.document.scalar import EXACT, write_quoted
from slicewright.intent.source import Source
from slicewright.kubernetes.problem import Path, Problem, dotted
from slicewright.kubernetes.types import Object
from slicewright.rendering.compose import identity, matching, patched
from slicewright.rendering.header import FILES, KUSTOMIZATION
from slicewright.rendering.kustomization import FILE_NAME, Patch, Stopped
from slicewright.rendering.plan.plan import MARKER, Plan

_LONG = 100
"""Characters of a file name before `.patch.yaml`; file systems take 255 in all."""


def overlay(plan: Plan, base: list[Object], objects: list[Object]) -> dict[str, Any]:
    """Return the documents of an overlay by file name: the kustomization, and a patch for each object.

    `base` holds the objects after the components, `objects` what they must become, in the same order; what
    comes after them is new, and a resource of the overlay.
    """
    documents: dict[str, Any] = {}
    ours: list[dict[str, Any]] = []
    brought: list[dict[str, Any]] = []
    for before, after in zip(base, objects, strict=False):
        operations = json_patch.difference(before, after)
        if operations:
            name = _file_name(before, documents)
            documents[name] = operations
            patches = ours if identity(before)[3] == MARKER else brought
            patches.append({"path": name, "target": _target(before, base)})
    kustomization: dict[str, Any] = {**KUSTOMIZATION, "resources": [_relative(plan, plan.base)]}
    for item in objects[len(base) :]:
        kustomization["resources"].append(FILES)
        documents[FILES] = item
    if plan.components:
        kustomization["components"] = [_relative(plan, component) for component in plan.components]
    # What a component brings comes first: once our objects bear their names, a target may fit both.
    kustomization["patches"] = [*brought, *ours]
    return {FILE_NAME: kustomization, **documents}


def makes(documents: dict[str, Any], base: list[Object], objects: list[Object]) -> bool:
    """Tell whether an overlay, as kustomize evaluates it, makes the objects that it was written for."""
    entries = documents[FILE_NAME]["patches"]
    patches = tuple(Patch(entry["target"], documents[entry["path"]]) for entry in entries)
    try:
        return patched(base, patches) == objects[: len(base)]
    except Stopped:
        return False


def _file_name(item: Object, taken: dict[str, Any]) -> str:
    """Return a name for the patch of an object: its kind, and its name if that is not enough."""
    kind, name = item["kind"].lower()[:_LONG], identity(item)[3]
    choices = [kind, f"{kind}-{name}"[:_LONG], *(f"{kind}-{number}" for number in range(len(taken) + 1))]
    return next(file for choice in choices if (file := f"{choice}.patch.yaml") not in taken)


def _relative(plan: Plan, folder: str) -> str:
    return "../" * (plan.folder.count("/") + 1) + folder


def _target(item: Object, base: list[Object]) -> dict[str, str]:
    group, kind, namespace, name = identity(item)
    version = item.get("apiVersion", "").rpartition("/")[2]
    # Kustomize takes the name for a regular expression.
    target = {"group": group, "version": version, "kind": kind, "name": name.replace(".", "[.]")}
    target = {key: value for key, value in target.items() if value}
    if len(base) > 1 and len(matching(target, base)) > 1:
        # An empty group or namespace would be none at all: it takes a pattern, or the word for it.
        target |= {"group": group or "^$", "namespace": namespace or "default"}
    return target


Loss = tuple[Path, str, str]
"""A place, what is wrong there, and what to do about it."""

_ESCAPE = re.compile(r"\\[tux]")
_KEY = re.compile("'[^']{250,}': |\"[^\"]{250,}\": ")
_DIGITS = re.compile("[0-9]{16}")
_CONTROL = re.compile("[\x7f-\x9f\ufffe\uffff]")
_LONG_KEY = 1000
"""Bytes of a key in double quotes; kustomize reads 1,024."""


def markers(objects: list[Object], source: Source) -> Iterator[Problem]:
    """Yield a problem for each marker of the bases that is left in the objects of a workload."""
    # One look at the text of it all: the walk is for the rare object in which a marker is left.
    if MARKER not in repr(objects):
        return
    for item in objects:
        marked = (path for path, value in values_in(item) if isinstance(value, str) and MARKER in value)
        for at in marked:
            message = f"{identity(item)[1]} '{identity(item)[3]}' has no value at {dotted(at)}"
            hint = (
                "a base or a component needs the value: write it in podTemplate, or leave the component out"
            )
            yield source.problem("BUILD001", ("spec",), message, hint, key=True)


def lost_in_words(source: Source, *, patched: bool) -> Iterator[Problem]:
    """Yield a problem for each value in a workload that kustomize loses, with `patched` in patches too."""
    text = repr(source.data)
    if not (_ESCAPE.search(text) or "<<" in text or _KEY.search(text) or _DIGITS.search(text)):
        return
    lost = list(_lost(source.data))
    if patched:
        lost += _lost_in_patches(source.data)
    for path, message, hint in lost:
        if path != ("spec", "run"):
            yield source.problem("BUILD002", path, message, hint)


def lost_in_base(item: Object) -> Iterator[str]:
    """Yield the values of a base's object that kustomize loses."""
    return (f"{message}: {dotted(path)}" for path, message, _ in _lost(item))


def lost_in_patches(documents: dict[str, Any]) -> Iterator[str]:
    """Yield the values in the patches of an overlay that kustomize changes or refuses."""
    return (message for _, message, _ in _lost_in_patches(documents))


def is_fragile(objects: list[Object]) -> bool:
    """Tell whether kustomize would change or lose a value of a base in a patch."""
    return any(True for _ in _lost_in_patches(objects))


def _lost(data: Any) -> Iterator[Loss]:
    """Yield the values that kustomize loses or refuses anywhere."""
    for path, value in values_in(data):
        if path and isinstance(path[-1], str):
            yield from _lost_key(path[-1], path)
        if isinstance(value, str):
            yield from _control(value, path)
        elif isinstance(value, int) and abs(value) > EXACT:
            message = f"{value} is beyond 2^53: kustomize rounds it in a patch"
            yield path, message, "write it in quotes if it is text, or write a number up to 2^53"


def _lost_key(key: str, path: Path) -> Iterator[Loss]:
    yield from _control(key, path)
    if key == "<<":
        yield path, "kustomize takes the key '<<' for a merge and drops it", "choose another key"
    length = len(write_quoted(key).encode())
    if length > _LONG_KEY:
        message = f"a key of {length:,} bytes is too long for kustomize"
        yield path, message, f"write a key of at most {_LONG_KEY:,} bytes"


def _control(text: str, path: Path) -> Iterator[Loss]:
    if character := _CONTROL.search(text):
        message = f"kustomize cannot write the character U+{ord(character[0]):04X}"
        yield path, message, "leave it out, or write it as an escape that the program itself reads"


def _lost_in_patches(data: Any) -> Iterator[Loss]:
    """Yield the values that kustomize changes or refuses in a patch, but keeps in an object."""
    for path, value in values_in(data):
        if isinstance(value, str) and value.startswith("\t") and "\n" in value:
            message = "kustomize cannot write a patch with a text of several lines that begins with a tab"
            yield path, message, "begin it with an empty line, or write naming: Hashed"
