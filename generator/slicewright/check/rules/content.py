"""Rules for values of any object: images, quantities, scripts, nulls."""

import re
from typing import Any

from slicewright.check.rules.kueue_queues import quotas
from slicewright.check.rules.pathways import RUNTIME
from slicewright.document import edit as edits
from slicewright.document.document import values_in
from slicewright.kubernetes.fields import at, mapping, text, words
from slicewright.kubernetes.kinds import POD_KINDS
from slicewright.kubernetes.problem import Edit, Fix, Path
from slicewright.kubernetes.quantity import amount, canonical
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_VERSIONED = re.compile(r".*[0-9]+\.[0-9]+\.[0-9]+.*|.*[0-9a-f]{7,}.*|.*20[0-9]{2}-?[0-9]{2}-?[0-9]{2}.*")
_ONE_VERSION = "write pathways.pathwaysVersion, with the full version: it is the tag of all Pathways images"


def _pinned(image: str) -> bool:
    """Tell whether an image is named by digest, or by a tag with a full version, a commit or a date."""
    if "@sha" in image:
        return True
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return bool(colon) and _VERSIONED.fullmatch(tag) is not None


@rule("GIT120", POD_KINDS, "warning")
def _images(resource: Resource, _objects: ObjectSet) -> Findings:
    has_runtime = False
    for path, container in resource.containers:
        image = text(container.get("image"))
        is_runtime = RUNTIME in image
        if not image or _pinned(image) or (is_runtime and has_runtime):
            continue
        tag = image.rpartition("/")[2].partition(":")[2] or "latest"
        message = f"image '{image}': tag '{tag}' is mutable: it can name another image later"
        yield Finding((*path, "image"), message, _ONE_VERSION if is_runtime else "")
        has_runtime = has_runtime or is_runtime


def _quantity(value: Any, path: Path) -> Findings:
    if amount(value) is None or isinstance(value, float):
        return
    if (kept := canonical(value)) != str(value):
        fix = Fix(f'Write "{kept}"', (Edit("replace", path, kept),))
        message = f"the API server stores quantity {value} as {kept}, so git and the cluster always differ"
        yield Finding(path, message, f'write "{kept}"', fix)


@rule("GIT121", POD_KINDS | {"ClusterQueue", "Cohort"}, "warning")
def _quantities(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.kind in ("ClusterQueue", "Cohort"):
        for where, _, quota in quotas(resource):
            for key in ("nominalQuota", "borrowingLimit", "lendingLimit"):
                yield from _quantity(quota.get(key), (*where, key))
    for path, container in resource.containers:
        for key in ("requests", "limits"):
            for quantity, value in mapping(at(container, "resources", key)).items():
                yield from _quantity(value, (*path, "resources", key, quantity))


@rule("GIT122", POD_KINDS, "warning")
def _scripts(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, container in resource.containers:
        for key in ("command", "args"):
            for index, word in words(container.get(key)):
                lines = word.split("\n")
                if len(lines) > 1 and ("\t" in word or any(line != line.rstrip() for line in lines)):
                    message = "a script with tabs or trailing spaces is one long line in every diff"
                    yield Finding((*path, key, index), message)


@rule("GIT123", (), "warning")
def _nulls(resource: Resource, _objects: ObjectSet) -> Findings:
    # Hardly any object has one, and no walk in Python sees that as fast as the interpreter prints the object.
    if "None" in repr(resource.data):
        for path, value in values_in(resource.data):
            if value is None and path[-1] != "creationTimestamp":
                fix = edits.remove(path) if isinstance(path[-1], str) else None
                yield Finding(
                    path, "the key has no value: some tools keep the null, others drop the key", fix=fix
                )


_Identity = tuple[str, str, str, str, str]


def _identity(resource: Resource) -> _Identity:
    return resource.file, resource.group, resource.kind, resource.namespace, resource.name


def _first_of_name(objects: ObjectSet) -> dict[_Identity, tuple[Resource, int]]:
    """Return the first object of each identity in each file, with the line of its document."""
    return {
        _identity(resource): (resource, resource.source.document.line)
        for resource in reversed(objects.all)
        if resource.name and resource.source
    }


@rule("GIT124", (), "warning")
def _repeated(resource: Resource, objects: ObjectSet) -> Findings:
    first, line = objects.once("first of a name", _first_of_name).get(_identity(resource), (resource, 0))
    if first is not resource:
        of = f" in namespace '{resource.namespace}'" if resource.namespace else ""
        message = f"{resource.kind} '{resource.name}'{of} is already in this file"
        yield Finding(("metadata", "name"), f"{message}, in the document at line {line}")
