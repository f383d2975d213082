"""Validate TPUDefaults: each scope once, and somebody whom it is for."""

from collections.abc import Collection, Iterable, Iterator

from slicewright.intent.tpucluster import Cluster
from slicewright.intent.tpudefaults import Defaults
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.labels import ACKNOWLEDGED
from slicewright.kubernetes.problem import Path, Problem, did_you_mean

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
