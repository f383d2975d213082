"""What runs that are synced ask for beyond the rights of their namespace, and what makes these wider."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from slicewright.core.build.scope import is_namespaced
from slicewright.core.gitops.tree import owner
from slicewright.core.kubernetes.kinds import ARGOCD_GROUP, KUEUE_GROUP, RBAC_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.core.intent.source import Source
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Path, Problem


class Brought(NamedTuple):
    """Something that a run holds."""

    group: str
    kind: str
    namespace: str
    """As written; '' is that of the run."""


_WIDER = frozenset(
    {
        *(("", "Secret"), ("", "ServiceAccount"), (RBAC_GROUP, "Role"), (RBAC_GROUP, "RoleBinding")),
        *(("", "ResourceQuota"), ("", "LimitRange"), (KUEUE_GROUP, "LocalQueue")),
        ("networking.k8s.io", "NetworkPolicy"),
    }
)
"""Kinds that give rights, that others may not read, or that say what a namespace may use or reach."""
_APART = "declare them in custom/, and apply them as the platform is"
_BEYOND = (
    ("that stand in no namespace", _APART),
    ("of other namespaces", f"leave their namespace out, so that it is that of the run; or {_APART}"),
    ("that say what is synced", "leave them out: who syncs a cluster is written in clusters/"),
)


def is_granted(one: Brought, namespace: str) -> bool:
    """Tell whether the rights of a namespace may hold what a run there brings."""
    return _reason(one, namespace) is None


def _reason(one: Brought, namespace: str) -> int | None:
    """Return why the rights of a namespace do not hold something, as an index of the reasons."""
    if one.group == ARGOCD_GROUP or one.group.endswith(".fluxcd.io"):
        return 2
    if not is_namespaced(one.group, one.kind):
        return 0
    return 1 if one.namespace not in ("", namespace) else None


def against_objects(source: Source, namespace: str, made: Iterable[Brought]) -> Iterator[Problem]:
    """Yield what a workload's runs hold that the rights of their namespace do not, or should not, give."""
    place: Path = ("spec", "components") if "components" in source.data["spec"] else ("spec",)
    items = sorted(made)
    for index, (what, hint) in enumerate(_BEYOND):
        found = [_named(one, namespace) for one in items if _reason(one, namespace) == index]
        if found:
            message = (
                f"the run brings objects {what} ({', '.join(found)}): "
                f"with them nothing of namespace '{namespace}' is synced"
            )
            yield source.problem("GITOPS002", place, message, hint, key=True)
    wider = [one.kind for one in items if is_granted(one, namespace) and one[:2] in _WIDER]
    if wider:
        kinds = ", ".join(dict.fromkeys(wider))
        message = f"the run brings {kinds}: any commit to namespace '{namespace}' may bring such objects then"
        hint = f"if a commit there should not give rights or quota: {_APART}"
        yield source.problem("GITOPS004", place, message, hint, key=True, warning=True)


def _named(one: Brought, namespace: str) -> str:
    return f"{one.kind} in {one.namespace}" if one.namespace not in ("", namespace) else one.kind


def against_namespaces(site: ResolvedCluster, sources: Mapping[str, Source]) -> Iterator[Problem]:
    """Yield a problem for each team, queue and workload in a namespace of whoever syncs the cluster.

    `sources` are TPUWorkloads by their folder, those of other clusters too.
    """
    cluster = site.cluster
    for team in cluster.teams:
        yield from _owned(site, team.namespace, cluster.source, ("spec", "teams", team.index, "namespace"))
    for at, queue in enumerate(cluster.spec.get("clusterQueues", ())):
        for index, local in enumerate(queue.get("localQueues", ())):
            place = ("spec", "clusterQueues", at, "localQueues", index, "namespace")
            yield from _owned(site, local.get("namespace", "default"), cluster.source, place)
    for folder, source in sources.items():
        _, name, namespace, _ = folder.split("/")
        if name == cluster.name:
            yield from _owned(site, namespace, source, ("metadata", "namespace"))


def _owned(site: ResolvedCluster, namespace: str, source: Source, place: Path) -> Iterator[Problem]:
    whose = owner(site, namespace)
    if whose:
        message = f"namespace '{namespace}' is {whose}'s own: whoever has runs synced there rules the cluster"
        yield source.problem("GITOPS003", place, message, "give runs a namespace of their own")
