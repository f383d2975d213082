"""Teams without a queue, and teams that want different things of one namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.platform.teams import is_given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.cluster import Team
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Path, Problem


def validate_teams(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of teams."""
    queues = {queue.namespace for queue in site.cluster.local_queues}
    names: set[str] = set()
    for team in site.cluster.teams:
        source, path = site.cluster.source, _path(team)
        if team.name in names:
            hint = "give each team its own name"
            yield source.problem("TEAM001", (*path, "name"), f"duplicate team '{team.name}'", hint)
        names.add(team.name)
        if site.cluster.cluster_queues and team.namespace not in queues:
            message = f"team '{team.name}' has no queue in its namespace '{team.namespace}'"
            hint = f"add localQueues: [{{name: ..., namespace: {team.namespace}}}] to one of clusterQueues"
            yield source.problem("TEAM002", (*path, "namespace"), message, hint)
        if team.google_service_account and not team.service_account_name:
            message = "googleServiceAccount has no effect without serviceAccountName"
            hint = "add serviceAccountName: the Kubernetes service account that may act as it"
            yield source.problem("TEAM004", (*path, "googleServiceAccount"), message, hint, key=True)
        yield from _given(site, team)
    yield from _together(site)


def _path(team: Team) -> Path:
    return ("spec", "teams", team.index)


def _given(site: ResolvedCluster, team: Team) -> Iterator[Problem]:
    """Refuse what would have to be written into a namespace that is not ours to make."""
    written = site.cluster.spec["teams"][team.index]
    for field in ("labels", "podSecurity"):
        if is_given(team.namespace) and field in written:
            message = f"namespace '{team.namespace}' exists in every cluster and cannot get {field}"
            hint = "give the team a namespace of its own"
            place = (*_path(team), field)
            yield site.cluster.source.problem("TEAM005", place, message, hint, key=True)


def _together(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield a problem where two teams of one namespace differ in what the namespace has once."""
    source = site.cluster.source
    levels: dict[str, Team] = {}
    labels: dict[tuple[str, str], tuple[Team, str]] = {}
    accounts: dict[tuple[str, str], Team] = {}
    for team in site.cluster.teams:
        hint = "teams of one namespace agree on it, or have namespaces of their own"
        if team.pod_security:
            other = levels.setdefault(team.namespace, team)
            if other.pod_security != team.pod_security:
                message = f"team '{other.name}' has podSecurity {other.pod_security} in the same namespace"
                yield source.problem("TEAM003", (*_path(team), "podSecurity"), message, hint)
        for key, value in team.labels.items():
            first, wanted = labels.setdefault((team.namespace, key), (team, value))
            if wanted != value:
                message = f"team '{first.name}' has {key}: {wanted} in the same namespace"
                yield source.problem("TEAM003", (*_path(team), "labels", key), message, hint)
        name = team.service_account_name
        if name and accounts.setdefault((team.namespace, name), team) is not team:
            message = f"team '{accounts[team.namespace, name].name}' has the service account '{name}' too"
            hint = "write it for one of the teams: those of a namespace may use it anyway"
            yield source.problem("TEAM003", (*_path(team), "serviceAccountName"), message, hint)
