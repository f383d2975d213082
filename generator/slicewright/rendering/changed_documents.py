"""Applies changes of `--what-if` to the documents of a repository."""

import copy
from collections.abc import Iterable
from typing import Any

from slicewright.intent.changed_value import Change, ChangeError
from slicewright.intent.source import Source
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import did_you_mean
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.repository import SCHEMA_OF, Documents, Repository

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
    """Return sentences about changed pools of which queues have quota for a part only.

    Kueue admits by quota: the other slices change nothing.
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
