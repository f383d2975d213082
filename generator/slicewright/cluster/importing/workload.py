"""A run object becomes a TPUWorkload that renders it: the render itself says what the fields cannot."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from slicewright.check.filling import names_in
from slicewright.cluster.importing.api_defaults import is_default, without_defaults
from slicewright.cluster.importing.compute_classes import select_slice
from slicewright.cluster.importing.guess import guess, sort_sidecars
from slicewright.document import json_patch as patch
from slicewright.document.document import is_unfinished, values_in
from slicewright.intent.source import SourceFile
from slicewright.kubernetes import labels
from slicewright.kubernetes.fields import at, entries, mapping, texts, without_nulls
from slicewright.kubernetes.merge import copied
from slicewright.kubernetes.problem import Path, Problem, errors, escape_key, pointer
from slicewright.kubernetes.quantity import amount
from slicewright.kubernetes.types import Object
from slicewright.rendering.overlays import Bases, make
from slicewright.rendering.plans import beside
from slicewright.rendering.repository import Repository

_OF_KUEUE = ("workload", "podset", "cluster-queue-name", "local-queue-name", "tas")
_SERVER = frozenset(
    [labels.JOB_NAME, labels.JOB_UID, "controller-uid", "job-name", "batch.kubernetes.io/job-tracking"]
    + [labels.KUEUE + name for name in _OF_KUEUE]
)
_HELM = ("meta.helm.sh/", "helm.sh/")
_GENERATORS = (labels.OURS, "xpk.google.com/", "gcluster.google.com/", "kubectl.kubernetes.io/", *_HELM)
"""Labels and annotations by which other tools find what they wrote."""
_OF_HELM = (labels.MANAGED_BY, "heritage")
"""Labels by which Helm says that an object is of a chart."""
_HELM_NAMES = ("Helm", "Tiller")
_RELEASE = (*_OF_HELM, labels.INSTANCE, "release", "chart")
"""Labels that charts give their objects beside; those of pods stay, for a Service may select them."""
_OF_HEAD = "/spec/controller/template"
_DROPPED = {
    "/spec/ttlSecondsAfterFinished": "a finished run that is deleted would be started again by the next sync",
    "/spec/suspend": "Kueue suspends and resumes a run",
    f"{_OF_HEAD}/metadata": "the controller of PathwaysJob drops it",
    f"{_OF_HEAD}/spec/hostNetwork": "the controller of PathwaysJob always sets it",
    f"{_OF_HEAD}/spec/dnsPolicy": "the controller of PathwaysJob always sets it",
}
"""Fields that are not imported, and why."""
FILLED_IN = "the API server writes the same where it is missing"
_KEPT = ("name", "namespace", "labels", "annotations")
_SERVERS = frozenset(
    ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "finalizers"]
)
"""Fields of metadata that the API server and controllers write."""
_NEEDED = re.compile(
    r"/metadata/(name|namespace)|/metadata/labels/kueue\.x-k8s\.io~1.*|/spec/workers/0/\w+"
    r"|/spec/(.*/)?(replicas|completions|parallelism|backoffLimit|maxRestarts)"
    r"|/spec/.*/(cloud\.google\.com~1gke-tpu-(accelerator|topology)|google\.com~1tpu)"
    r"|/spec/replicatedJobs/\d+/name|/spec/.*/(initC|c)ontainers/\d+/(name|image)"
)
"""Fields that hold no placeholder: those of a TPUWorkload are read from them, or the pods cannot start."""
_APART = "keeps the run on nodes with its kind of provisioning"
_ADDED = {"tolerations": _APART, "affinity": _APART, "ports": "declares the ports of the TPU runtime"}
"""Why the render adds something to fields of these names; the order of their entries means nothing."""
_PLACEMENT = ("template", "metadata", "annotations", labels.EXCLUSIVE_TOPOLOGY)
"""The path to the exclusive placement of a replicatedJob."""
_MAPS = ("labels", "annotations", "metadata")
"""Mappings that mean nothing if they are empty; the inner ones first."""


class Difference(Struct, frozen=True):
    """A value that the render writes differently, on purpose."""

    path: str
    given: Any
    rendered: Any
    why: str


class ImportedRun(Struct, frozen=True):
    """A TPUWorkload that renders a given object."""

    document: Object
    rendered: Object
    """What the document renders."""
    differences: tuple[Difference, ...]
    patched: tuple[str, ...]
    """JSON pointers of the fields that `patches` writes."""


def imported_run(
    item: Object, cluster: str, known: Repository, classes: Sequence[Object] = ()
) -> ImportedRun | tuple[Problem, ...]:
    """Return the TPUWorkload that renders an object on a cluster of the repository, or why there is none.

    The object is given as people wrote it, or as the API server keeps it, with the ComputeClasses beside it.
    """
    source, dropped = _stripped(item)
    if unfinished := tuple(_unfinished(source)):
        return unfinished
    site = known.sites.get(cluster)
    added = select_slice(source, classes, site, known.package.catalogue) if site else {}
    if isinstance(added, Problem):
        return (added,)
    why = "the nodes of the ComputeClass have this label"
    dropped += (Difference(pointer(path), None, value, why) for path, value in added.items())
    guesses = guess(source, cluster, known.package.catalogue)
    if isinstance(guesses, str):
        hint = "import runs on TPU slices that slicewright catalog lists"
        return (Problem("IMP020", f"{_name(source)} cannot be imported: {guesses}", hint),)
    refused: tuple[Problem, ...] = ()
    for document in guesses:
        keep_failures(document, known)
        built, problems = rendered(document, source["kind"], known)
        refused = refused or problems
        if built is None:
            continue
        meant, placed = _with_exclusive_placement(source, built)
        placed += _with_own_service(meant, built)
        settled = _settled(built, meant, (), source["kind"])
        operations = patch.difference(built, settled)
        if operations:
            document["spec"]["patches"] = [{"target": {"kind": source["kind"]}, "ops": operations}]
        again, problems = rendered(document, source["kind"], known)
        if again is not None and again == settled:
            changed = (step["path"] for step in operations if step["op"] != "test")
            differences = (*dropped, *placed, *_differences(meant, again, (), source["kind"]))
            return ImportedRun(document, again, differences, tuple(changed))
        refused = refused or problems
    return refused


def _unfinished(source: Object) -> Iterator[Problem]:
    """Yield the problem of an object with placeholders where a TPUWorkload needs a finished value."""
    fields: list[str] = []
    names: dict[str, None] = {}
    for path, holder in _mappings(source):
        for key, value in holder.items():
            place = f"{path}/{escape_key(key)}"
            if isinstance(value, str) and _NEEDED.fullmatch(place) and is_unfinished(value):
                fields.append(f"{place} is the placeholder '{value}'")
                names |= dict.fromkeys(names_in(value))
    if fields:
        hint = "replace the placeholders with values in the file"
        if names:
            hint = f"give the values: {' '.join(f'--set {name}=VALUE' for name in names)}"
        yield Problem("IMP022", f"{_name(source)} cannot be imported: {', '.join(fields)}", hint)


def _name(item: Object) -> str:
    return f"{item['kind']} {item['metadata'].get('name', '')}".strip()


def rendered(document: Object, kind: str, known: Repository) -> tuple[Object | None, tuple[Problem, ...]]:
    """Return the run object of a TPUWorkload on its own, or its problems."""
    path = f"workloads/{document['metadata'].get('name')}.yaml"
    file = SourceFile(path, json.dumps(document))
    planned, problems = beside(known, file).plan()
    if errors(problems) or not planned:
        return None, errors(problems)
    overlay, problems = make(planned[0], Bases(known.read_text, known.package.schemas))
    objects = overlay.objects if overlay else []
    return next((item for item in objects if item["kind"] == kind), None), problems


def keep_failures(document: Object, known: Repository) -> None:
    """Keep what an imported run does about failures if TPUDefaults give `resilience` to all runs."""
    if any("resilience" in defaults.source.data["spec"] for defaults in known.levels.documents):
        document["spec"].setdefault("resilience", None)


def _stripped(item: Object) -> tuple[Object, list[Difference]]:
    """Return an object without fields of servers and tools, and the fields that are dropped on purpose."""
    source: Object = without_nulls({key: value for key, value in item.items() if key != "status"})
    metadata = mapping(source.get("metadata"))
    is_stored = "uid" in metadata
    source["metadata"] = {key: metadata[key] for key in _KEPT if key in metadata}
    source["metadata"].setdefault("namespace", "default")
    dropped = [
        Difference(f"/metadata/{key}", value, None, "it belongs to one object in one cluster")
        for key, value in metadata.items()
        if key not in _KEPT and key not in _SERVERS
    ]
    if is_stored:
        source = without_defaults(source, source["kind"])
        if source["kind"] == "Job" and at(source, "spec", "manualSelector") is None:
            mapping(source.get("spec")).pop("selector", None)
    for path, holder in _mappings(source):
        if holder.get("imagePullSecrets") == [{"name": "None"}]:
            why = "xpk writes it where no Secret is named"
            dropped.append(Difference(f"{path}/imagePullSecrets", holder.pop("imagePullSecrets"), None, why))
        in_chart = path == "/metadata/labels" and any(holder.get(key) in _HELM_NAMES for key in _OF_HELM)
        generated = _SERVER.union(_RELEASE) if in_chart else _SERVER
        for key in tuple(holder):
            if path.endswith(("/labels", "/annotations")) and (
                key in generated or key.startswith(_GENERATORS)
            ):
                why = "another tool or a controller wrote it to find the object"
            elif (place := f"{path}/{escape_key(key)}") in _DROPPED:
                why = _DROPPED[place]
            else:
                continue
            dropped.append(Difference(f"{path}/{escape_key(key)}", holder.pop(key), None, why))
    dropped += _moved(source)
    why = "both are sidecars, and the program starts after them"
    dropped += (Difference(place, "proxy, manager", "manager, proxy", why) for place in sort_sidecars(source))
    for _, holder in _mappings(source):
        for key in _MAPS:
            if holder.get(key) == {}:
                del holder[key]
    return source, dropped


def _moved(source: Object) -> Iterator[Difference]:
    """Move the annotation exclusive-topology of a JobSet to its replicatedJobs."""
    value = mapping(source["metadata"].get("annotations")).pop(labels.EXCLUSIVE_TOPOLOGY, None)
    if value is None:
        return
    for _, job in entries(at(source, "spec", "replicatedJobs")):
        metadata = job.setdefault("template", {}).setdefault("metadata", {})
        metadata.setdefault("annotations", {}).setdefault(labels.EXCLUSIVE_TOPOLOGY, value)
    why = "the annotation is on each replicatedJob, where the JobSet controller reads it as well"
    yield Difference(f"/metadata/annotations/{escape_key(labels.EXCLUSIVE_TOPOLOGY)}", value, None, why)


def _with_exclusive_placement(source: Object, built: Object) -> tuple[Object, list[Difference]]:
    """Return a JobSet whose slices have the exclusive placement that a render writes.

    JobSets that Kueue or dynamic slicing places keep their placement.
    """
    meant, differences = copied(source), []
    pairs = (entries(at(jobset, "spec", "replicatedJobs")) for jobset in (meant, built))
    for (index, job), (_, new) in zip(*pairs, strict=False):
        value = at(new, *_PLACEMENT)
        of_pods = texts(at(job, "template", "spec", "template", "metadata", "annotations"))
        is_placed = labels.SLICE_TOPOLOGY in of_pods or any(key.startswith(labels.PODSET) for key in of_pods)
        if value is None or is_placed or at(new, "template", "spec", "completions") == 1:
            continue
        annotations = job["template"].setdefault("metadata", {}).setdefault("annotations", {})
        if labels.EXCLUSIVE_TOPOLOGY not in annotations:
            annotations[labels.EXCLUSIVE_TOPOLOGY] = value
            path = pointer(("spec", "replicatedJobs", index, *_PLACEMENT))
            why = "without it the pods of a slice can be on several node pools"
            differences.append(Difference(path, None, value, why))
    return meant, differences


def _with_own_service(meant: Object, built: Object) -> Iterator[Difference]:
    """Give the pods of a Job the headless Service that is rendered for them."""
    pods, new = at(meant, "spec", "template", "spec"), at(built, "spec", "template", "spec", "subdomain")
    old = mapping(pods).get("subdomain")
    if meant["kind"] == "Job" and new and old and new != old:
        pods["subdomain"] = new
        why = "the render gives a Job of several hosts a headless Service of its name"
        yield Difference("/spec/template/spec/subdomain", old, new, why)


def _mappings(value: Object) -> list[tuple[str, Object]]:
    """Return the mappings in an object, the outer ones first, with their JSON pointers."""
    return [(pointer(path), holder) for path, holder in values_in(value) if isinstance(holder, dict)]


def _settled(built: Any, source: Any, path: tuple[str, ...], kind: str) -> Any:
    """Return the given object, with the built form of each value that means the same.

    Values mean the same if the API server would fill in the one that is missing, or if quantities are equal.
    """
    if isinstance(built, dict) and isinstance(source, dict):
        merged: dict[str, Any] = {}
        for key, value in built.items():
            below = (*path, key)
            if key in source:
                merged[key] = _settled(value, source[key], below, kind)
            elif key in _MAPS:
                merged |= {key: kept} if (kept := _settled(value, {}, below, kind)) else {}
            elif (
                key == labels.ACCELERATOR_COUNT or _why_added(below) or is_default(value, below, built, kind)
            ):
                merged[key] = copied(value)
        for key, value in source.items():
            is_left_out = key == labels.ACCELERATOR_COUNT or is_default(value, (*path, key), source, kind)
            if key not in built and not is_left_out:
                merged[key] = copied(value)
        return merged
    if isinstance(built, list) and isinstance(source, list) and _why_added(path):
        pairs = _paired(built, source, path, kind)
        kept = [new for _, new in pairs if new is not None]
        return [*copied(built), *copied([entry for entry in source if entry not in kept])]
    if isinstance(built, list) and isinstance(source, list):
        head = [_settled(old, new, path, kind) for old, new in zip(built, source, strict=False)]
        return [*head, *copied(source[len(built) :])]
    same = path[-2:-1] in (("limits",), ("requests",)) and amount(built) == amount(source) is not None
    return built if same else copied(source)


def _paired(built: list[Any], source: list[Any], path: tuple[str, ...], kind: str) -> list[tuple[Any, Any]]:
    """Return each built entry with the given one that means the same, or None; the order does not matter."""
    left = list(source)
    pairs = []
    for entry in built:
        meant = next((other for other in left if _settled(entry, other, path, kind) == entry), None)
        if meant is not None:
            left.remove(meant)
        pairs.append((entry, meant))
    return pairs


def _why_added(path: Sequence[str]) -> str:
    """Return why the render may add a value at a path; '' if it may not."""
    if path[-1].startswith(labels.OURS):
        return "slicewright finds its runs by it"
    return next((why for name, why in _ADDED.items() if name in path), "")


def _differences(source: Any, rendered: Any, path: Path, kind: str) -> Iterator[Difference]:
    """Yield the values that only one of them has, or that are written in other words."""
    names = tuple(part for part in path if isinstance(part, str))
    if isinstance(rendered, dict):
        for key in sorted(source.keys() | rendered.keys()):
            below = (*path, key)
            old, new = source.get(key), rendered.get(key)
            if new is not None and (old is not None or key in _MAPS):
                yield from _differences({} if old is None else old, new, below, kind)
            elif key == labels.ACCELERATOR_COUNT:
                yield Difference(pointer(below), old, new, "the field tpu selects the same nodes")
            elif is_default(
                new if old is None else old, (*names, key), source if new is None else rendered, kind
            ):
                yield Difference(pointer(below), old, new, FILLED_IN)
            else:
                yield Difference(pointer(below), old, new, _why_added((*names, key)))
    elif isinstance(rendered, list):
        is_set = names and _why_added(names)
        pairs = _paired(rendered, source, names, kind) if is_set else zip(rendered, source, strict=True)
        for index, (new, old) in enumerate(pairs):
            if old is None:
                yield Difference(pointer((*path, index)), None, new, _why_added(names))
            else:
                yield from _differences(old, new, (*path, index), kind)
    elif source != rendered:
        yield Difference(pointer(path), source, rendered, "the quantity is the same")
