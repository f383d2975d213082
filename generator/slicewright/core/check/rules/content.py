"""Rules of what stands in any object: images, quantities, scripts, nulls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Rule
from slicewright.core.check.rules.kueue_queues import groups, quotas
from slicewright.core.kubernetes.kinds import POD_KINDS
from slicewright.core.kubernetes.quantity import amount, canonical
from slicewright.core.kubernetes.read import at, mapping, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.problem import Path

_VERSIONED = re.compile(r".*[0-9]+\.[0-9]+\.[0-9]+.*|.*[0-9a-f]{7,}.*|.*20[0-9]{2}-?[0-9]{2}-?[0-9]{2}.*")
_RUNTIME = "/cloud-tpu-v2-images/pathways/"
"""The folder of the images of Pathways: one version is written for all of them."""
_ONE_VERSION = "write pathways.pathwaysVersion, with the full version: it is the tag of all Pathways images"
_QUANTITY_KEYS = ("requests", "limits")


def _pinned(image: str) -> bool:
    """Tell whether an image is named by digest, or by a tag with a full version, a commit or a date."""
    if "@sha" in image:
        return True
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return bool(colon) and _VERSIONED.fullmatch(tag) is not None


def _moves(image: str) -> str:
    tag = image.rpartition("/")[2].partition(":")[2] or "latest"
    return f"image '{image}': tag '{tag}' is mutable: it does not name one fixed image"


def _images(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    told = False
    for pods in resource.pods:
        for path, container in (*pods.containers, *pods.init_containers):
            image = container.get("image")
            if not isinstance(image, str) or not image or _pinned(image):
                continue
            is_runtime = _RUNTIME in image
            if not (is_runtime and told):
                yield Finding((*path, "image"), _moves(image), _ONE_VERSION if is_runtime else "")
            told = told or is_runtime


def _quantity(value: Any, path: Path) -> Iterator[Finding]:
    if amount(value) is None or isinstance(value, float):
        return
    canon = canonical(value)
    if canon != str(value):
        yield Finding(path, f"quantity {value} is kept as {canon}", f'write "{canon}"')


def _quantities(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    if resource.kind in ("ClusterQueue", "Cohort"):
        for base, group in groups(resource):
            for where, _, quota in quotas(group, base):
                for key in ("nominalQuota", "borrowingLimit", "lendingLimit"):
                    yield from _quantity(quota.get(key), (*where, key))
    for pods in resource.pods:
        for path, container in (*pods.containers, *pods.init_containers):
            for key in _QUANTITY_KEYS:
                for quantity, value in mapping(at(container, "resources", key)).items():
                    yield from _quantity(value, (*path, "resources", key, quantity))


def _scripts(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for pods in resource.pods:
        for path, container in (*pods.containers, *pods.init_containers):
            for key in ("command", "args"):
                for index, word in words(container.get(key)):
                    lines = word.split("\n")
                    if len(lines) > 1 and ("\t" in word or any(line != line.rstrip() for line in lines)):
                        message = "a script with tabs or trailing blanks is one long line in every diff"
                        yield Finding((*path, key, index), message)


def _nulls(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    # Hardly any object has one, and no walk in Python sees that as fast as the interpreter prints the object.
    for path in _null_paths(resource.data, ()) if "None" in repr(resource.data) else ():
        yield Finding(path, "null is kept by some tools and dropped by others")


def _null_paths(value: Any, path: Path) -> Iterator[Path]:
    stack: list[tuple[Any, Path]] = [(value, path)]
    while stack:
        found, where = stack.pop()
        pairs = list(found.items()) if isinstance(found, dict) else list(enumerate(found))
        for key, below in pairs:
            if below is None and key != "creationTimestamp":
                yield (*where, key)
            elif isinstance(below, (dict, list)):
                stack.append((below, (*where, key)))


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


def _twice(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
    first, line = objects.once("first of a name", _first_of_name).get(_identity(resource), (resource, 0))
    if first is not resource:
        of = f" in namespace '{resource.namespace}'" if resource.namespace else ""
        message = (
            f"{resource.kind} '{resource.name}'{of} is already in this file, in the document at line {line}"
        )
        yield Finding(("metadata", "name"), message)


RULES = (
    Rule(
        id="GIT120",
        severity="warning",
        title="An image is not pinned",
        why="A tag such as latest or 3.12 moves. A run that restarts, or a slice that joins later, gets "
        "other code than the rest; and a frozen run is no longer what was frozen.",
        hint="name a digest (image@sha256:...), or a tag with the full version",
        kinds=POD_KINDS,
        check=_images,
        sources=("Kubernetes documentation, page Images",),
    ),
    Rule(
        id="GIT121",
        severity="warning",
        title="A quantity is not canonical",
        why="G19: the API server keeps 1000m as 1; a GitOps tool sees a difference forever.",
        hint="write the canonical form",
        kinds=POD_KINDS | {"ClusterQueue", "Cohort"},
        check=_quantities,
        sources=("Argo CD documentation, page FAQ",),
    ),
    Rule(
        id="GIT122",
        severity="warning",
        title="A script has tabs or trailing blanks",
        why="G16: YAML cannot write such a text as a block; kustomize folds it into one quoted line that "
        "nobody "
        "can review.",
        hint="indent with blanks, and end lines without any",
        kinds=POD_KINDS,
        check=_scripts,
        sources=("tried with kustomize 5.8.1",),
    ),
    Rule(
        id="GIT123",
        severity="warning",
        title="A value is null",
        why="G16: kustomize keeps a null or makes an empty text of it, the API server drops it and fills in "
        "defaults, and a merge patch deletes the field.",
        hint="leave the key out",
        kinds=frozenset(),
        check=_nulls,
        sources=("tried with kustomize 5.8.1",),
    ),
    Rule(
        id="GIT124",
        severity="warning",
        title="An object is in a file twice",
        why="kubectl apply writes one over the other, and kubectl create fails at the second. Objects of one "
        "name in several files may be of several environments; in a kustomization kustomize refuses them.",
        hint="remove one of the two, or rename it",
        kinds=frozenset(),
        check=_twice,
        sources=("Kubernetes documentation, page Declarative Management of Kubernetes Objects",),
    ),
)
