"""Checks the finished objects of runs against the limits of TPUDefaults, so that patches cannot evade them.

The limits of all levels apply. A frozen run above a limit is reported, and continues.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from slicewright.document.document import values_in
from slicewright.document.read import read_documents
from slicewright.intent.tpudefaults import Defaults, Levels
from slicewright.intent.tpuworkload import DIRECT_JOBSET, Workload
from slicewright.kubernetes.fields import at, digits, entries, mapping, number, text
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import MAX_EXECUTION_TIME, PRIORITY_CLASS, QUEUE
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.problem import Path, Problem
from slicewright.kubernetes.types import Object
from slicewright.rendering.plans import Planned

_NO_PODS = frozenset({"ConfigMap", "Secret"})
"""Kinds whose values are free text."""
_SERVICE = "us-docker.pkg.dev/cloud-tpu-v2-images/pathways"
"""Where the controller of PathwaysJob takes its images from."""
_PATHWAYS_JOB = "PathwaysJob"
_NAMES = frozenset({"image", "reference", "path", "privileged", "hostNetwork", "hostPID", "hostIPC"})
"""Keys by which images and rights are found; one walk without paths, for it sees every value of every run."""


class _Finding(Struct, frozen=True):
    """A limit that an object exceeds."""

    id: str
    limit: str
    message: str
    hint: str
    is_written: Callable[[Path, Any], bool]
    """Whether a value of the TPUWorkload is the one to change."""


def problems(entry: Planned, objects: Iterable[Object], levels: Levels) -> Iterator[Problem]:
    """Yield a problem for each limit that the objects of a run exceed, at the line of its workload."""
    source, objects = entry.workload.source, list(objects)
    for defaults in levels.chain(entry.plan.cluster, entry.plan.namespace):
        if not defaults.limits:
            continue
        for finding in _findings(objects, defaults.limits):
            values = ((path, value) for path, value in values_in(source.data) if path[:1] != ("kind",))
            place = next((path for path, value in values if finding.is_written(path, value)), None)
            hint = _hint(finding, defaults)
            yield source.problem(finding.id, place or ("spec",), finding.message, hint, key=place is None)


def of_frozen(
    workload: Workload, cluster: str, file: str, body: str, levels: Levels, *, warning: bool = True
) -> Iterator[Problem]:
    """Yield a problem for each limit that a frozen run exceeds, which a render does not touch."""
    chain = [defaults for defaults in levels.chain(cluster, workload.namespace) if defaults.limits]
    objects = [document.data for document in read_documents(body, file)[0]] if chain else []
    for defaults in chain:
        for finding in _findings(objects, defaults.limits):
            again = f"the run is frozen: slicewright rerun {workload.declared} starts a new one"
            hint = f"{again}, after you correct its TPUWorkload and its defaults; {_hint(finding, defaults)}"
            yield Problem(finding.id, finding.message, hint, "warning" if warning else "error", file)


def _hint(finding: _Finding, defaults: Defaults) -> str:
    line, _ = defaults.source.place(("spec", "limits", finding.limit), key=True)
    return f"{finding.hint}; the limit is at {defaults.source.file.path}:{line}"


def _findings(objects: list[Object], limits: Object) -> Iterator[_Finding]:
    messages: set[str] = set()
    for item in objects:
        kind = text(item.get("kind"))
        if kind in RUN_KINDS:
            yield from _run(item, kind, limits)
        for finding in () if kind in _NO_PODS else _pods(item, kind, limits):
            if finding.message not in messages:
                messages.add(finding.message)
                yield finding


def _run(item: Object, kind: str, limits: Object) -> Iterator[_Finding]:
    """Yield the limits that the run object exceeds."""
    labels = mapping(at(item, "metadata", "labels"))
    allowed = limits.get("workloadPriorityClassNames", [])
    label = text(labels.get(PRIORITY_CLASS))
    # Where the label is missing, Kueue takes the class of the pods.
    classes = [label] if label else (text(pods.spec.get("priorityClassName")) for pods in pods_of(item, kind))
    for priority in dict.fromkeys(filter(None, classes)):
        if allowed and priority not in allowed:
            message = f"priority class '{priority}' is not allowed here"
            hint = f"write one of: {', '.join(allowed)}"
            field = "workloadPriorityClassName" if label else "priorityClassName"
            yield _Finding("LIM002", "workloadPriorityClassNames", message, hint, _last(field))
    if "maxSlices" in limits and (slices := _slices(item, kind)) > limits["maxSlices"]:
        message = f"{slices:,} slices exceed the limit of {limits['maxSlices']:,}"
        hint = f"write slices: {limits['maxSlices']} or less"
        yield _Finding("LIM003", "maxSlices", message, hint, _at("slices"))
    if "maxExecutionTimeSeconds" in limits:
        most, seconds = limits["maxExecutionTimeSeconds"], text(labels.get(MAX_EXECUTION_TIME))
        message = ""
        if not seconds:
            message = f"the run has no maxExecutionTimeSeconds, but the limit is {most} s"
        elif (number := digits(seconds)) is None or number > most:
            message = f"a run duration of {seconds} s exceeds the limit of {most} s"
        elif not labels.get(QUEUE):
            message = f"the run has no queue label, so Kueue does not end it after {seconds} s"
        if message:
            hint = f"write maxExecutionTimeSeconds: {most} or less, and queueName"
            yield _Finding("LIM004", "maxExecutionTimeSeconds", message, hint, _at("maxExecutionTimeSeconds"))
    for label in limits.get("requiredLabels", ()):
        if not labels.get(label):
            hint = f"add {label} to metadata.labels"
            yield _Finding("LIM005", "requiredLabels", f"the run has no label '{label}'", hint, _at("labels"))


def _at(field: str) -> Callable[[Path, Any], bool]:
    return lambda path, _value: path[1:] == (field,)


def _last(field: str) -> Callable[[Path, Any], bool]:
    return lambda path, _value: path[-1:] == (field,)


def _slices(item: Object, kind: str) -> int:
    if kind == _PATHWAYS_JOB:
        workers = entries(at(item, "spec", "workers"))
        return sum(number(worker.get("numSlices"), 1) or 0 for _, worker in workers)
    return sum(pods.slices for pods in pods_of(item, kind) if pods.asks_for_tpu)


def _pods(item: Object, kind: str, limits: Object) -> Iterator[_Finding]:
    """Yield images and rights anywhere in an object: objects of unknown kinds create pods as well."""
    forbidden = limits.get("forbidden", ())
    if kind == _PATHWAYS_JOB:
        yield from _image(_SERVICE, limits)
        if "hostNetwork" in forbidden:
            yield _right(
                "hostNetwork",
                "the controller of PathwaysJob gives its pods hostNetwork, which is not allowed here",
                DIRECT_JOBSET,
            )
    for outer, key, value in _marked_values({**item, "metadata": None}):
        if isinstance(value, str) and (key == "image" or (outer, key) == ("image", "reference")):
            yield from _image(value, limits)
        elif value is True and key in forbidden:
            yield _right(key, f"'{key}: true' is not allowed here")
        elif "hostPath" in forbidden and (outer, key) == ("hostPath", "path"):
            yield _right("hostPath", "a hostPath volume is not allowed here")


def _marked_values(item: Object) -> Iterator[tuple[str, str, Any]]:
    """Yield the values of these keys at any depth, each with the key around it."""
    containers: list[tuple[str, Any]] = [("", item)]
    for outer, value in containers:  # which grows meanwhile
        if isinstance(value, dict):
            for key, inner in value.items():
                if isinstance(inner, dict | list):
                    containers.append((key, inner))
                elif key in _NAMES:
                    yield outer, key, inner
        else:
            containers += [(outer, inner) for inner in value if isinstance(inner, dict | list)]


def _image(image: str, limits: Object) -> Iterator[_Finding]:
    allowed = limits.get("imageRegistries", [])
    if allowed and not any(f"{_full(image)}/".startswith(f"{entry}/") for entry in allowed):
        message = f"image '{image}' is not from an allowed registry"
        hint = f"use an image from {' or '.join(allowed)}"
        yield _Finding("LIM001", "imageRegistries", message, hint, lambda _path, value: value == image)


def _full(image: str) -> str:
    """Return an image's repository with its registry, as containerd completes it, without tag and digest."""
    repository, _, _ = image.partition("@")
    folder, slash, name = repository.rpartition("/")
    repository = folder + slash + name.partition(":")[0]
    first, slash, _ = repository.partition("/")
    if not slash:
        return f"docker.io/library/{repository}"
    return repository if "." in first or ":" in first or first == "localhost" else f"docker.io/{repository}"


def _right(right: str, message: str, hint: str = "leave it out") -> _Finding:
    def is_written(path: Path, value: Any) -> bool:
        return right in path and value is not False

    return _Finding("LIM006", "forbidden", message, hint, is_written)
