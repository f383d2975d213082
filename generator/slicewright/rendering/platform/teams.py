"""Teams: namespaces, service accounts, roles with the least rights, and quota of the namespace."""

from collections.abc import Iterator
from typing import Any

from slicewright.intent.tpucluster import Account, Team
from slicewright.kubernetes.kinds import KUEUE_GROUP, RBAC_GROUP, RUNS
from slicewright.kubernetes.labels import GOOGLE_ACCOUNT, KEPT, POD_SECURITY
from slicewright.kubernetes.quantity import canonical
from slicewright.kubernetes.role import role, rule
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

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
        account = _object(entry, "v1", "ServiceAccount", entry.service_account_name)
        if entry.google_service_account:
            account["metadata"]["annotations"] = {GOOGLE_ACCOUNT: entry.google_service_account}
        yield account
    yield from _role(entry, "admins", entry.admins, _admin_rules())
    yield from _role(entry, "viewers", entry.viewers, _viewer_rules())
    if entry.resource_quota:
        hard = {name: canonical(value) for name, value in entry.resource_quota.items()}
        yield {**_object(entry, "v1", "ResourceQuota", entry.name), "spec": {"hard": hard}}


def _object(entry: Team, version: str, kind: str, name: str) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": entry.namespace}}


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
