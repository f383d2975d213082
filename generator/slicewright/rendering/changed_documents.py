"""The changes of `--what-if`: read from text, and applied to the documents of a repository."""

import copy
import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from slicewright.document.read import read_documents
from slicewright.intent.source import Source
from slicewright.intent.tpuworkload import Workload
from slicewright.intent.validate import SCHEMA_OF
from slicewright.kubernetes.problem import did_you_mean
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.repository import Documents, Repository

_STEP = re.compile(r"(?:^|\.)([^.\[\]'\"\s]+)|\['([^']+)'\]")
_PATH = re.compile(f"(?:{_STEP.pattern})+")
_RELATIVE = re.compile(r"[+-][0-9]{1,9}")
_RANGE = re.compile(r"(?P<sign>[+-]?)(?P<first>[0-9]{1,9})\.\.(?P<second>[+-]?)(?P<last>[0-9]{1,9})")
_OPENING, _CLOSING, _QUOTES = "[{", "]}", "'\""
_RANGE_FORM = "write for example pools.NAME.slices=1..4, or =+0..+4 for more than there are"
MOST_VALUES = 50
"""Limit for the values of one sweep: each is a rehearsal."""


class ChangeError(Exception):
    """A text is not a change, or does not fit the documents."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Change(Struct, frozen=True):
    """What one value is to be."""

    text: str
    """As written: `pools.standing.slices=+2`."""
    way: tuple[str, ...]
    """Keys, and the names of elements of lists: `pools`, `standing`, `slices`."""
    value: Any
    """A YAML value; None removes the present value."""
    is_relative: bool = False
    """Whether the value is added to the number that is in effect."""

    def words(self) -> str:
        """Return the change in words: `2 more slices of standing`; else as it is written."""
        if not self.is_relative or len(self.way) != len(("pools", "standing", "slices")):
            return self.text
        _, name, field = self.way
        noun = field.removesuffix("s") if abs(self.value) == 1 else field
        return f"{abs(self.value)} {'more' if self.value >= 0 else 'fewer'} {noun} of {name}"


def read_changes(text: str) -> tuple[Change, ...]:
    """Return the changes of one variant, which commas separate. Raises ChangeError."""
    return tuple(read_change(part) for part in _parts(text))


def read_lines(text: str) -> tuple[Change, ...]:
    """Return the changes of a file, one a line; comments (#) are lines of their own. Raises ChangeError."""
    lines = (line.strip() for line in text.splitlines())
    changes = tuple(read_change(line) for line in lines if line and not line.startswith("#"))
    if not changes:
        raise ChangeError("the file holds no change", "write one PATH=VALUE a line")
    return changes


def read_change(text: str) -> Change:
    """Return the change that `PATH=VALUE` asks for. Raises ChangeError."""
    path, value = _sides(text)
    way = _way(path, text)
    if _RELATIVE.fullmatch(value):
        return Change(text.strip(), way, int(value), is_relative=True)
    documents, problems = read_documents(value, "")
    if problems or len(documents) > 1:
        raise ChangeError(f"'{value}' is not a YAML value", problems[0].message if problems else "")
    return Change(text.strip(), way, documents[0].data if documents else None)


def read_sweep(text: str) -> tuple[tuple[Change, ...], ...]:
    """Return the changes of each variant of a sweep. Raises ChangeError.

    Commas separate changes; those of the form `PATH=FIRST..LAST` go through their numbers together.
    """
    parts = [_values(part) for part in _parts(text)]
    lengths = {len(changes) for changes in parts if len(changes) > 1}
    if len(lengths) != 1:
        wrong = "has no range of numbers" if not lengths else "has ranges of different lengths"
        raise ChangeError(f"'{text}' {wrong}", _RANGE_FORM)
    (length,) = lengths
    columns = [changes if len(changes) > 1 else changes * length for changes in parts]
    return tuple(zip(*columns, strict=True))


def _values(text: str) -> tuple[Change, ...]:
    """Return a change for each number of a range whose ends both have a sign or both none; else one."""
    path, value = _sides(text)
    limits = _RANGE.fullmatch(value)
    if limits is None:
        return (read_change(text),)
    first, last = int(limits["sign"] + limits["first"]), int(limits["second"] + limits["last"])
    if bool(limits["sign"]) != bool(limits["second"]) or not first < last < first + MOST_VALUES:
        message = f"'{text.strip()}' is not a range of 2 to {MOST_VALUES} numbers, the lowest first"
        raise ChangeError(message, _RANGE_FORM)
    sign = "+" if limits["sign"] else ""
    return tuple(read_change(f"{path}={value:{sign}d}") for value in range(first, last + 1))


def _sides(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals:
        raise ChangeError(f"'{text}' is not a change", "write PATH=VALUE, for example pools.NAME.slices=+2")
    return path.strip(), value.strip()


def _way(path: str, text: str) -> tuple[str, ...]:
    if not _PATH.fullmatch(path):
        message = f"'{path}' is not a path (in '{text.strip()}')"
        raise ChangeError(message, "separate names by dots; write a name that has dots as ['NAME']")
    return tuple(key or quoted for key, quoted in _STEP.findall(path))


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a text between commas, but for those within brackets or quotes."""
    depth, quote, start = 0, "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in _QUOTES:
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth <= 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


_NAMES = ("name", "pool", "workload")
"""Keys by which elements of lists are known: a quota is that of a pool, work in a mix that of a workload."""
_MOST_NAMED = 10_000
"""Most node pools that get names; above it the check of the pool reports an error."""
_NOT_WRITTEN = {"slices": 1, "nodes": 1}
"""Numbers of a pool where its file has none: their schema says so in words, for each kind has but one."""


def changed_documents(repository: Repository, cluster: str, changes: Iterable[Change]) -> Documents:
    """Return the changed documents by file and index.

    Paths begin in the spec of the TPUCluster `cluster`, or with `clusters.NAME` in that of another one, or
    with `workloads.NAME` in that of a TPUWorkload. Raises ChangeError for a name that does not exist and for
    a relative change of what is not a number.
    """
    documents: Documents = {}
    for change in changes:
        source, effective, way = _target(repository, cluster, change)
        key = (source.file.path, source.document.index)
        data = documents.setdefault(key, copy.deepcopy(source.data))
        _set(data["spec"], effective["spec"], way, change, _Default(repository, source.data["kind"]))
        _name_node_pools(data["spec"], way)
    return documents


def without_quota(site: ResolvedCluster, changes: Iterable[Change]) -> list[str]:
    """Return sentences about changed pools whose queues have quota for a part of them only.

    Kueue admits by quota, so the other slices have no effect.
    """
    cluster = site.cluster
    shortfalls = []
    for pool in cluster.tpu_pools:
        slices = [quota.nominal_slices for quota in cluster.quotas if quota.pool == pool.name]
        known = sum(number for number in slices if number is not None)
        is_changed = any(change.way == ("pools", pool.name, "slices") for change in changes)
        if is_changed and slices and None not in slices and known < pool.slices:
            shortfalls.append(f"queues have quota for {known} of the {pool.slices} slices of {pool.name}")
    return shortfalls


def _name_node_pools(spec: Any, way: tuple[str, ...]) -> None:
    """Give each slice of a changed TPU pool a name, as the user has not named the new ones."""
    if len(way) != len(("pools", "NAME", "slices")) or (way[0], way[2]) != ("pools", "slices"):
        return
    pool = next(pool for pool in spec["pools"] if pool["name"] == way[1])
    names, slices = pool.get("nodePoolNames"), pool.get("slices")
    if isinstance(names, list) and isinstance(slices, int) and slices <= _MOST_NAMED:
        more = (f"{way[1]}-{index}" for index in range(len(names), slices))
        pool["nodePoolNames"] = [*names, *more][: max(slices, 1)]


def _target(repository: Repository, cluster: str, change: Change) -> tuple[Source, Any, tuple[str, ...]]:
    """Return the document that a change is about, its values in effect, and the path below its spec."""
    collection, *rest = change.way
    if collection == "workloads":
        workload = _workload(repository, rest, change)
        source = workload.sweep.written if workload.sweep else workload.source.written
        own = cluster if cluster in workload.clusters else workload.clusters[0]
        effective = source if workload.sweep else repository.on(workload, own).source
        return source, effective.data, _below(rest, change)
    name, way = (rest[0] if rest else "", rest) if collection == "clusters" else (cluster, None)
    if name not in repository.sites:
        message = f"there is no cluster '{name}' (in '{change.text}')"
        raise ChangeError(message, did_you_mean(name, repository.sites))
    source = repository.sites[name].cluster.source
    is_field = way is not None or repository.package.schemas.at(SCHEMA_OF["TPUCluster"], ("spec", collection))
    names = {part for workload in repository.workloads for part in workload.declared.split("/")}
    if not is_field and collection in names:
        message = f"'{collection}' is a workload, not a field of a TPUCluster (in '{change.text}')"
        raise ChangeError(message, f"write workloads.{change.text}")
    return source, source.data, change.way if way is None else _below(way, change)


def _below(rest: list[str], change: Change) -> tuple[str, ...]:
    if not rest[1:]:
        message = f"'{change.text}' names no field"
        raise ChangeError(message, f"write for example {'.'.join(change.way)}.FIELD=VALUE")
    return tuple(rest[1:])


def _workload(repository: Repository, rest: list[str], change: Change) -> Workload:
    """Return the workload that is named, of a sweep its first entry."""
    name = rest[0] if rest else ""
    known = {workload.declared: workload for workload in repository.workloads}
    meant = [key for key in known if name in (key, key.partition("/")[2])]
    if len(meant) == 1:
        return known[meant[0]]
    if meant:
        message = f"'{name}' is the name of several workloads (in '{change.text}')"
        raise ChangeError(message, f"write one of: {', '.join(sorted(meant))}")
    message = f"there is no workload '{name}' (in '{change.text}')"
    for workload in repository.workloads:
        if workload.sweep and name in (workload.key, *workload.names):
            hint = f"it is an entry of a sweep: change {workload.declared}, which is written"
            raise ChangeError(message, hint)
    names = known if "/" in name else [key.partition("/")[2] for key in known]
    raise ChangeError(message, did_you_mean(name, names))


class _Default:
    """The defaults in the schema of a kind."""

    def __init__(self, repository: Repository, kind: str) -> None:
        self._schemas, self._name = repository.package.schemas, SCHEMA_OF[kind]

    def value(self, way: tuple[str, ...]) -> Any:
        """Return the default of a field below spec, or None."""
        default = self._schemas.at(self._name, ("spec", *way)).get("default")
        return _NOT_WRITTEN.get(way[-1]) if default is None and way[0] == "pools" else default


def _set(spec: Any, effective: Any, way: tuple[str, ...], change: Change, default: _Default) -> None:
    """Set a value below a spec, in place."""
    holder = spec
    for at, step in enumerate(way[:-1]):
        holder = _held(holder, step, way[:at], change, make=True)
        effective = _held(effective, step, way[:at], change, make=False)
    last = way[-1]
    if isinstance(holder, list):
        index = holder.index(_held(holder, last, way[:-1], change, make=False))
        holder[index : index + 1] = [] if change.value is None else [change.value]
        return
    if not isinstance(holder, dict):
        message = f"'{'.'.join(way[:-1])}' holds no fields (in '{change.text}')"
        raise ChangeError(message, "end the path there")
    value = change.value
    if change.is_relative:
        inherited = effective.get(last) if isinstance(effective, dict) else None
        before = holder.get(last, default.value(way) if inherited is None else inherited)
        if not isinstance(before, int) or isinstance(before, bool):
            message = f"'{'.'.join(way)}' has no number to add to (in '{change.text}')"
            hint = "write the number without a sign; a quota without a number follows its pool"
            raise ChangeError(message, hint if before is None else "")
        value += before
    if value is None:
        holder.pop(last, None)
    else:
        holder[last] = value


def _held(holder: Any, step: str, way: tuple[str, ...], change: Change, *, make: bool) -> Any:
    """Return what a mapping has at a key, or the element of a list with a name. Raises ChangeError."""
    if isinstance(holder, dict):
        return holder.setdefault(step, {}) if make else holder.get(step)
    if not isinstance(holder, list):
        return None
    names = {_name_of(element): element for element in holder}
    if step in names:
        return names[step]
    raise ChangeError(f"'{'.'.join(way)}' has no '{step}' (in '{change.text}')", did_you_mean(step, names))


def _name_of(element: Any) -> str:
    keys = [key for key in _NAMES if isinstance(element, dict) and key in element]
    return str(element[keys[0]]) if keys else str(element)
