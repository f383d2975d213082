"""Teams without a queue, conflicts of teams in a namespace, and workloads in missing namespaces."""

from collections.abc import Iterable, Iterator, Mapping

from slicewright.intent.tpucluster import Team
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import Path, Problem, did_you_mean
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform.teams import exists_everywhere, namespace_names


def validate_teams(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of teams."""
    queues = {queue.namespace for queue in site.cluster.local_queues}
    names: set[str] = set()
    for team in site.cluster.teams:
        source, path = site.source, _path(team)
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
            hint = "add serviceAccountName: the Kubernetes service account that may use it"
            yield source.problem("TEAM004", (*path, "googleServiceAccount"), message, hint, key=True)
        yield from _existing(site, team)
    yield from _together(site)


def _path(team: Team) -> Path:
    return ("spec", "teams", team.index)


def _existing(site: ResolvedCluster, team: Team) -> Iterator[Problem]:
    """Refuse fields of a namespace that slicewright does not create."""
    if not exists_everywhere(team.namespace):
        return
    for field in ("labels", "podSecurity"):
        if field in site.cluster.spec["teams"][team.index]:
            message = f"namespace '{team.namespace}' exists in every cluster and cannot get {field}"
            hint = "give the team its own namespace"
            yield site.source.problem("TEAM005", (*_path(team), field), message, hint, key=True)


def _together(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield a problem where two teams of one namespace differ in what the namespace has once."""
    source = site.source
    levels: dict[str, Team] = {}
    labels: dict[tuple[str, str], tuple[Team, str]] = {}
    accounts: dict[tuple[str, str], Team] = {}
    for team in site.cluster.teams:
        hint = "write the same value for both, or give each team its own namespace"
        if team.pod_security:
            other = levels.setdefault(team.namespace, team)
            if other.pod_security != team.pod_security:
                message = _differ(other, team, "podSecurity")
                yield source.problem("TEAM003", (*_path(team), "podSecurity"), message, hint)
        for key, value in team.labels.items():
            first, its_value = labels.setdefault((team.namespace, key), (team, value))
            if its_value != value:
                message = _differ(first, team, f"label '{key}'")
                yield source.problem("TEAM003", (*_path(team), "labels", key), message, hint)
        name = team.service_account_name
        if name and accounts.setdefault((team.namespace, name), team) is not team:
            message = f"team '{accounts[team.namespace, name].name}' also has the service account '{name}'"
            hint = "write it for one of the teams: all teams of the namespace can use it"
            yield source.problem("TEAM003", (*_path(team), "serviceAccountName"), message, hint)


def _differ(first: Team, second: Team, field: str) -> str:
    names = f"teams '{first.name}' and '{second.name}'"
    return f"{names} set different values of {field} in namespace '{second.namespace}'"


def problems_of_workloads(
    sites: Mapping[str, ResolvedCluster], workloads: Iterable[Workload]
) -> Iterator[Problem]:
    """Yield names in workloads that a platform of slicewright does not have."""
    ours = {name: site for name, site in sites.items() if site.cluster.managed}
    names = {name: namespace_names(site) for name, site in ours.items()}
    for workload in workloads:
        for cluster in workload.clusters:
            if cluster in ours:
                yield from _namespace(workload, ours[cluster], names[cluster])
                yield from _compute_class(workload, ours[cluster])


def _namespace(workload: Workload, site: ResolvedCluster, names: list[str]) -> Iterator[Problem]:
    """Warn of a namespace that no file creates: somebody else may."""
    if exists_everywhere(workload.namespace) or workload.namespace in names:
        return
    message = f"nothing creates namespace '{workload.namespace}' on cluster '{site.cluster.name}'"
    hint = did_you_mean(workload.namespace, names) or f"add a team to {site.source.file.path}"
    yield workload.source.problem("TEAM006", ("metadata", "namespace"), message, hint, warning=True)


def _compute_class(workload: Workload, site: ResolvedCluster) -> Iterator[Problem]:
    """Refuse a ComputeClass that is not among those of the file; where it has none, any is taken on trust."""
    known = [compute_class.name for compute_class in site.cluster.compute_classes]
    name, place = workload.provisioning.name, ("spec", "provisioning", "name")
    if known and workload.provisioning.type == "ComputeClass" and name not in known:
        message = f"cluster '{site.cluster.name}' has no ComputeClass '{name}'"
        yield workload.source.problem("POOL017", place, message, did_you_mean(name, known))
