"""TPUDefaults: default values for workloads, and limits on their values.

A document of defaults becomes a layer in the form of a TPUWorkload. The layers that apply to a workload are
merged, the wider first, and the workload last. The rest of slicewright sees ordinary workloads.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.intent.source import Source
from slicewright.intent.tpucluster import Cluster
from slicewright.intent.tpuworkload import Workload, lacks
from slicewright.kubernetes.labels import ACKNOWLEDGED
from slicewright.kubernetes.merge import copied, merge
from slicewright.kubernetes.problem import Path, Problem, did_you_mean
from slicewright.kubernetes.types import Object

_OWN = ("appliesTo", "limits", "labels", "annotations")
"""Fields of the spec of TPUDefaults that are not fields of the spec of a TPUWorkload."""
_METADATA = ("labels", "annotations")
_WHOLE = frozenset({"provisioning", "components"})
"""Fields of a spec that are replaced as a whole: parts of two ways are not a way."""
_NEED_QUEUE = frozenset({"maxExecutionTimeSeconds"})
_NOT_HEADLESS = frozenset({"container", "gcsFuse", "sharedMemory"})
_REQUIRED: dict[Path, str] = {("spec", "container"): "image", ("spec", "pathways"): "pathwaysDir"}
"""Mappings of a TPUWorkload, and the key of each that it or a default must give."""


class Defaults(Struct, frozen=True):
    """One TPUDefaults."""

    source: Source
    """The document as it is written."""
    layer: Source
    """Its values in the form of a TPUWorkload."""
    cluster: str = ""
    namespace: str = ""
    team: str = ""
    limits: Object = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the document."""
        return str(self.source.data["metadata"]["name"])

    @property
    def scope(self) -> tuple[str, str, str]:
        """Cluster, namespace and team that it applies to; empty: any."""
        return self.cluster, self.namespace, self.team

    @property
    def order(self) -> tuple[bool, bool, bool]:
        """Sort key, wide to narrow: repository, cluster, namespace, team; a cluster narrows the last two."""
        return bool(self.namespace or self.team), bool(self.cluster), bool(self.team)


def decode(source: Source) -> Defaults:
    """Return the TPUDefaults of a document that its schema accepts."""
    data = source.data
    spec = data["spec"]
    metadata = {key: spec[key] for key in _METADATA if key in spec}
    values = {key: value for key, value in spec.items() if key not in _OWN}
    layer = {**data, "metadata": {**data["metadata"], **metadata}, "spec": values}
    renamed: dict[Path, Path] = {("metadata", key): ("spec", key) for key in _METADATA}
    return Defaults(
        source,
        replace(source, document=replace(source.document, data=layer), renamed={**renamed, **source.renamed}),
        limits=spec.get("limits", {}),
        **spec.get("appliesTo", {}),
    )


class Levels:
    """The TPUDefaults of a repository: which apply to a workload on a cluster, and what it is with them."""

    def __init__(self, documents: Iterable[Defaults] = (), clusters: Iterable[Cluster] = ()) -> None:
        """Take the documents, and the clusters with their teams."""
        self.documents = tuple(sorted(documents, key=lambda defaults: defaults.order))
        self._teams = {
            (cluster.name, team.name): team.namespace for cluster in clusters for team in cluster.teams
        }
        self._chains: dict[tuple[str, str], tuple[Defaults, ...]] = {}
        self._merged: dict[tuple[str, str], Object] = {}

    def chain(self, cluster: str, namespace: str) -> tuple[Defaults, ...]:
        """Return the documents that apply to workloads of a namespace on a cluster, the narrowest last."""
        key = (cluster, namespace)
        if key not in self._chains:
            self._chains[key] = tuple(filter(partial(self._applies, *key), self.documents))
        return self._chains[key]

    def _applies(self, cluster: str, namespace: str, defaults: Defaults) -> bool:
        of_team = not defaults.team or self._teams.get((cluster, defaults.team)) == namespace
        return defaults.cluster in ("", cluster) and defaults.namespace in ("", namespace) and of_team

    def applied(self, source: Source, cluster: str) -> Source:
        """Return the document of a workload with the defaults that apply to it on a cluster."""
        if not self.documents:
            return source
        metadata = source.data["metadata"]
        key = (cluster, metadata.get("namespace", "default"))
        chain = self.chain(*key)
        if key not in self._merged:
            self._merged[key] = {"metadata": {}, "spec": {}}
            for defaults in chain:
                _overlay(self._merged[key], _values(defaults.layer.data))
        own = _values(source.data)
        values = copied(_fitting(self._merged[key], own["spec"]))
        _overlay(values, own)
        if values == own:
            return source
        data = {**source.data, "metadata": {**metadata, **values["metadata"]}, "spec": values["spec"]}
        layers = (defaults.layer for defaults in reversed(chain))
        used = (layer for layer in layers if any(_values(layer.data).values()))
        return replace(source, document=replace(source.document, data=data), layers=(source, *used))


def _values(data: Object) -> Object:
    metadata = {key: data["metadata"][key] for key in _METADATA if key in data["metadata"]}
    return {"metadata": metadata, "spec": data["spec"]}


def _overlay(base: Object, addition: Object) -> None:
    """Merge the metadata and the spec of an addition into those of a base, in place."""
    for part, values in addition.items():
        merge(base[part], _cleared(base[part], values))


def _cleared(base: Object, addition: Object) -> Object:
    """Remove from a base what an addition replaces or removes, and return the addition without its nulls.

    Null removes a value, and an empty list or map replaces it.
    """
    kept: Object = {}
    for key, value in addition.items():
        if value is None or value in ([], {}) or key in _WHOLE:
            base.pop(key, None)
        if isinstance(value, dict):
            below = base.get(key)
            kept[key] = _cleared(below if isinstance(below, dict) else {}, value)
        elif value is not None:
            kept[key] = value
    return kept


def _fitting(defaults: Object, own: Object) -> Object:
    """Return the defaults that apply to this kind of workload."""
    spec = defaults["spec"]
    pathways = own.get("pathways")
    excluded = [field for _, fields in lacks(own) for field in fields]
    if not isinstance(pathways, dict):
        excluded.append("pathways")
    elif pathways.get("headless"):
        excluded += _NOT_HEADLESS
    if not own.get("queueName", spec.get("queueName")):
        excluded += _NEED_QUEUE
    return {**defaults, "spec": _without(spec, excluded)}


def _without(spec: Object, excluded: Iterable[str]) -> Object:
    """Return a spec without some fields, which are dotted paths; a holder that becomes empty goes as well."""
    for path in excluded:
        outer, _, name = path.rpartition(".")
        holder = spec.get(outer, {}) if outer else spec
        if name in holder:
            left = {key: value for key, value in holder.items() if key != name}
            spec = {key: value for key, value in spec.items() if key != outer} if outer else left
            spec = {**spec, outer: left} if outer and left else spec
    return spec


def checkable(source: Source, layers: Iterable[Object]) -> Source:
    """Return a document as its schema checks it, where other documents give defaults.

    It has no null that removes a default, and a workload has the required keys that a default gives.
    """
    data = source.data
    for layer in layers:
        data = _completed(data, layer)
    return source if data is source.data else replace(source, document=replace(source.document, data=data))


def _completed(data: Any, layer: Any, path: Path = ()) -> Any:
    if not isinstance(data, dict) or not isinstance(layer, dict):
        return data
    changed = {
        key: _completed(data[key], value, (*path, key))
        for key, value in layer.items()
        if key in data and (data[key] is None or isinstance(value, dict))
    }
    required = _REQUIRED.get(path, "")
    if required in layer and required not in data:
        changed[required] = layer[required]
    if all(value is not None and value is data.get(key) for key, value in changed.items()):
        return data
    return {
        key: value for key, value in {**data, **changed}.items() if key not in changed or value is not None
    }


_SCOPE: Path = ("spec", "appliesTo")


def defaults_problems(
    documents: Iterable[Defaults],
    clusters: Collection[Cluster],
    refused: Collection[str],
    workloads: Iterable[Workload],
) -> Iterator[Problem]:
    """Yield the problems of all TPUDefaults; `refused` are clusters whose files are wrong."""
    first: dict[tuple[str, ...], Defaults] = {}
    used = {workload.namespace for workload in workloads}
    used |= {team.namespace for cluster in clusters for team in cluster.teams}
    used |= {queue.namespace for cluster in clusters for queue in cluster.local_queues}
    for defaults in documents:
        for key, path in ((defaults.scope, _SCOPE), ((defaults.name,), ("metadata", "name"))):
            other = first.setdefault(key, defaults)
            if other is not defaults:
                line, _ = other.source.place(path)
                message = f"{other.source.subject} already applies to the same workloads"
                if key == (defaults.name,):
                    message = f"{defaults.source.subject} is declared twice"
                hint = f"the first one is at {other.source.file.path}:{line}; merge them"
                yield defaults.source.problem("DEF001", path, message, hint)
        yield from _scope(defaults, clusters, refused, used)
        for key in defaults.layer.data["metadata"].get("annotations", {}):
            if key.startswith(ACKNOWLEDGED):
                hint = "write it into the workload, or into the settings of validate"
                path = ("spec", "annotations", key)
                yield defaults.source.problem("POD001", path, f"'{key}' cannot be set here", hint, key=True)


def _scope(
    defaults: Defaults, clusters: Collection[Cluster], refused: Collection[str], namespaces: Collection[str]
) -> Iterator[Problem]:
    names = [cluster.name for cluster in clusters]
    if defaults.cluster in refused:
        return
    if defaults.cluster and defaults.cluster not in names:
        message = f"TPUCluster '{defaults.cluster}' is not defined"
        hint = did_you_mean(defaults.cluster, names) or "declare it in clusters/, or delete these defaults"
        yield defaults.source.problem("DEF002", (*_SCOPE, "cluster"), message, hint)
        return
    teams = [
        team.name for cluster in clusters if defaults.cluster in ("", cluster.name) for team in cluster.teams
    ]
    if defaults.team and defaults.team not in teams and not refused:
        scope = f"TPUCluster '{defaults.cluster}' has no" if defaults.cluster else "no TPUCluster has a"
        message = f"{scope} team '{defaults.team}'"
        hint = did_you_mean(defaults.team, teams) or "add the team to spec.teams, or write namespace: NAME"
        yield defaults.source.problem("DEF002", (*_SCOPE, "team"), message, hint)
    if defaults.namespace and defaults.namespace not in namespaces:
        message = f"no workload, team or queue is in namespace '{defaults.namespace}'"
        hint = (
            did_you_mean(defaults.namespace, sorted(namespaces))
            or "correct the name, or delete these defaults"
        )
        yield defaults.source.problem("DEF003", (*_SCOPE, "namespace"), message, hint, warning=True)
