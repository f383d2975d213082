"""The files of a cluster's platform: overlays/<cluster>/_platform, with its ComputeClasses and its teams.

A team has namespaces, service accounts, roles with the least rights, and quota.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from slicewright.catalogue.shape import Shape
from slicewright.document.write import write_documents
from slicewright.intent.tpucluster import Account, Rung, Team
from slicewright.intent.tpuworkload import Provisioning, Workload
from slicewright.kubernetes.kinds import KUEUE_GROUP, RBAC_GROUP, RUNS
from slicewright.kubernetes.labels import GOOGLE_ACCOUNT, KEPT, POD_SECURITY
from slicewright.kubernetes.problem import Path, Problem, did_you_mean
from slicewright.kubernetes.quantity import canonical
from slicewright.kubernetes.role import role, rule
from slicewright.kubernetes.types import Object
from slicewright.rendering.folder import platform_folder
from slicewright.rendering.header import listing
from slicewright.rendering.kustomization import FILE_NAME
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform import queues
from slicewright.rendering.platform.flavor import flavors
from slicewright.rendering.platform.kueue_configuration import kueue_configuration


def files(site: ResolvedCluster, untainted: Collection[str] = ()) -> dict[str, str]:
    """Return the files of a cluster's platform by path; none if the platform is not ours to make.

    `untainted` are flavors whose taint waits until no run is left that does not tolerate it.
    """
    if not site.cluster.managed:
        return {}
    parts = {name: list(objects) for name, objects in _parts(site, untainted)}
    contents = {name: site.live(write_documents(objects)) for name, objects in parts.items() if objects}
    if contents:
        contents[FILE_NAME] = listing("the platform in this folder", contents)
    return {f"{platform_folder(site.cluster.name)}/{name}": text for name, text in contents.items()}


def objects(site: ResolvedCluster, untainted: Collection[str] = ()) -> list[Object]:
    """Return the objects of a cluster's platform, also with `managed: false`."""
    return [item for _, items in _parts(site, untainted) for item in items]


def kueue_objects(site: ResolvedCluster) -> list[Object]:
    """Return the queues of a cluster's platform, with their flavors and cohorts."""
    return [item for _, items in _kueue_parts(site, ()) for item in items]


def _kueue_parts(site: ResolvedCluster, untainted: Collection[str]) -> Iterator[tuple[str, Iterable[Object]]]:
    yield "topologies.yaml", queues.topologies(site)
    yield "flavors.yaml", flavors(site, untainted)
    yield "checks.yaml", queues.checks(site)
    yield "queues.yaml", (*queues.cohorts(site), *queues.cluster_queues(site))
    yield "local-queues.yaml", queues.local_queues(site)


def _parts(site: ResolvedCluster, untainted: Collection[str]) -> Iterator[tuple[str, Iterable[Object]]]:
    """Yield the name and the objects of each file, in the order of the kustomization."""
    yield "namespaces.yaml", namespaces(site)
    yield "priority-classes.yaml", queues.priority_classes(site)
    yield from _kueue_parts(site, untainted)
    yield "compute-classes.yaml", compute_classes(site)
    for entry in site.cluster.teams:
        yield f"team-{entry.name}.yaml", team(entry)
    yield "kueue-manager-config.yaml", kueue_configuration(site)


def compute_classes(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the ComputeClasses; if no priority has capacity, pods wait, and no other machine is created."""
    for compute_class, rungs in site.compute_classes:
        yield {
            "apiVersion": "cloud.google.com/v1",
            "kind": "ComputeClass",
            "metadata": {"name": compute_class.name},
            "spec": {
                "activeMigration": {"optimizeRulePriority": compute_class.optimize_rule_priority},
                "nodePoolAutoCreation": {"enabled": compute_class.node_pool_auto_creation},
                "priorities": [_priority(rung, shape) for rung, shape in rungs],
                "whenUnsatisfiable": "DoNotScaleUp",
            },
        }


def _priority(rung: Rung, shape: Shape) -> dict[str, Any]:
    """Return a priority; `count` is the chips of one node."""
    tpu = {"type": shape.accelerator, "count": shape.chips_per_host, "topology": shape.topology}
    priority: dict[str, Any] = {"tpu": tpu, **_obtained(rung.provisioning)}
    if rung.max_run_duration_seconds is not None:
        priority["maxRunDurationSeconds"] = rung.max_run_duration_seconds
    if rung.placement_policy_name:
        priority["placement"] = {"policyName": rung.placement_policy_name}
    return priority


def _obtained(way: Provisioning) -> dict[str, Any]:
    if way.type == "Spot":
        return {"spot": True}
    if way.type == "FlexStart":
        return {"flexStart": {"enabled": True}}
    if way.type != "Reservation":
        return {}
    reservation: dict[str, Any] = {"name": way.name}
    if way.project:
        reservation["project"] = way.project
    if way.block:
        sub_block = {"reservationSubBlock": {"name": way.sub_block}} if way.sub_block else {}
        reservation["reservationBlock"] = {"name": way.block, **sub_block}
    return {"reservations": {"affinity": "Specific", "specific": [reservation]}}


_READ = ["get", "list", "watch"]
_WRITE = [*_READ, "create", "update", "patch", "delete"]
_VIEW = (
    ("", ("configmaps", "events", "pods", "pods/log", "serviceaccounts", "services")),
    (KUEUE_GROUP, ("localqueues", "workloads")),
)


def exists_everywhere(namespace: str) -> bool:
    """Tell whether every cluster has a namespace."""
    return namespace == "default" or namespace.startswith("kube-")


def namespace_names(site: ResolvedCluster) -> list[str]:
    """Return the namespaces of teams and of LocalQueues, but those that every cluster has."""
    names = [team.namespace for team in site.cluster.teams]
    names += [queue.namespace for queue in site.cluster.local_queues]
    return [name for name in dict.fromkeys(names) if not exists_everywhere(name)]


def namespaces(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the objects of those namespaces."""
    for name in namespace_names(site):
        labels: dict[str, str] = {}
        for team in site.cluster.teams:
            if team.namespace == name:
                labels |= team.labels
                labels |= {POD_SECURITY: team.pod_security} if team.pod_security else {}
        metadata = {"name": name, **({"labels": labels} if labels else {}), "annotations": dict(KEPT)}
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def team(entry: Team) -> Iterator[Object]:
    """Yield the objects of a team in its namespace."""
    if entry.service_account_name:
        account = _team_object(entry, "ServiceAccount", entry.service_account_name)
        if entry.google_service_account:
            account["metadata"]["annotations"] = {GOOGLE_ACCOUNT: entry.google_service_account}
        yield account
    yield from _role(entry, "admins", entry.admins, _admin_rules())
    yield from _role(entry, "viewers", entry.viewers, _viewer_rules())
    if entry.resource_quota:
        hard = {name: canonical(value) for name, value in entry.resource_quota.items()}
        yield {**_team_object(entry, "ResourceQuota", entry.name), "spec": {"hard": hard}}


def _team_object(entry: Team, kind: str, name: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": entry.namespace}}


def _role(
    entry: Team, suffix: str, accounts: tuple[Account, ...], rules: list[dict[str, Any]]
) -> Iterator[Object]:
    if accounts:
        subjects = [_subject(entry, account) for account in accounts]
        yield from role(f"{entry.name}-{suffix}", entry.namespace, rules, subjects)


def _subject(entry: Team, account: Account) -> dict[str, str]:
    if account.kind == "ServiceAccount":
        return {"kind": account.kind, "name": account.name, "namespace": entry.namespace}
    return {"apiGroup": RBAC_GROUP, "kind": account.kind, "name": account.name}


def _viewer_rules() -> list[dict[str, Any]]:
    """Look at runs, their pods and logs, and at their place in the queue."""
    of_runs = ((run.group, (run.plural,)) for run in RUNS)
    return [rule(group, names, _READ) for group, names in (*of_runs, *_VIEW)]


def _admin_rules() -> list[dict[str, Any]]:
    """Start and end runs with what belongs to them, end pods, and stop a workload in the queue."""
    return [
        *(rule(run.group, (run.plural,), _WRITE) for run in RUNS),
        rule("", ("configmaps", "services"), _WRITE),
        rule("", ("pods",), [*_READ, "delete"]),
        rule("", ("events", "pods/log", "serviceaccounts"), _READ),
        rule(KUEUE_GROUP, ("localqueues",), _READ),
        rule(KUEUE_GROUP, ("workloads",), [*_READ, "update", "patch"]),
    ]


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
    """Yield a problem if two teams of one namespace differ in what the namespace has once."""
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


def workload_problems(
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
    """Warn of a namespace that no file creates; another tool may."""
    if exists_everywhere(workload.namespace) or workload.namespace in names:
        return
    message = f"nothing creates namespace '{workload.namespace}' on cluster '{site.cluster.name}'"
    hint = did_you_mean(workload.namespace, names) or f"add a team to {site.source.file.path}"
    yield workload.source.problem("TEAM006", ("metadata", "namespace"), message, hint, warning=True)


def _compute_class(workload: Workload, site: ResolvedCluster) -> Iterator[Problem]:
    """Refuse a ComputeClass that is not among those of the file; if it has none, any is accepted."""
    known = [compute_class.name for compute_class in site.cluster.compute_classes]
    name, place = workload.provisioning.name, ("spec", "provisioning", "name")
    if known and workload.provisioning.type == "ComputeClass" and name not in known:
        message = f"cluster '{site.cluster.name}' has no ComputeClass '{name}'"
        yield workload.source.problem("POOL017", place, message, did_you_mean(name, known))
