"""Validate TPUDefaults: each scope once, and somebody whom it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.kubernetes.labels import ACKNOWLEDGED
from slicewright.core.problem import Path, Problem, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from slicewright.core.intent.cluster import Cluster
    from slicewright.core.intent.defaults import Defaults
    from slicewright.core.intent.workload import Workload

_SCOPE: Path = ("spec", "appliesTo")


def problems(
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
    for one in documents:
        for key, path in ((one.scope, _SCOPE), ((one.name,), ("metadata", "name"))):
            other = first.setdefault(key, one)
            if other is not one:
                line, _ = other.source.place(path)
                message = f"{other.source.subject} applies to the same workloads"
                if key == (one.name,):
                    message = f"{one.source.subject} is declared twice"
                hint = f"the first one is at {other.source.file.path}:{line}; merge them"
                yield one.source.problem("DEF001", path, message, hint)
        yield from _whom(one, clusters, refused, used)
        for key in one.layer.data["metadata"].get("annotations", {}):
            if key.startswith(ACKNOWLEDGED):
                hint = "write it into the workload, or into the settings of validate"
                path = ("spec", "annotations", key)
                yield one.source.problem("POD001", path, f"'{key}' cannot be set here", hint, key=True)


def _whom(
    one: Defaults, clusters: Collection[Cluster], refused: Collection[str], namespaces: Collection[str]
) -> Iterator[Problem]:
    names = [cluster.name for cluster in clusters]
    if one.cluster in refused:
        return
    if one.cluster and one.cluster not in names:
        message = f"TPUCluster '{one.cluster}' is not defined"
        hint = did_you_mean(one.cluster, names) or "declare it in clusters/, or delete these defaults"
        yield one.source.problem("DEF002", (*_SCOPE, "cluster"), message, hint)
        return
    teams = [team.name for cluster in clusters if one.cluster in ("", cluster.name) for team in cluster.teams]
    if one.team and one.team not in teams and not refused:
        where = f"TPUCluster '{one.cluster}'" if one.cluster else "a TPUCluster"
        message = f"no team '{one.team}' in spec.teams of {where}"
        hint = did_you_mean(one.team, teams) or "write a team of the cluster, or namespace: NAME"
        yield one.source.problem("DEF002", (*_SCOPE, "team"), message, hint)
    if one.namespace and one.namespace not in namespaces:
        message = f"no workload, team or queue is in namespace '{one.namespace}'"
        hint = did_you_mean(one.namespace, sorted(namespaces)) or "correct the name, or delete these defaults"
        yield one.source.problem("DEF003", (*_SCOPE, "namespace"), message, hint, warning=True)
