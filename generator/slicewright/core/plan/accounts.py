"""The service accounts of a run's pods: those that are written, else that of the namespace's team."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.cluster import Cluster
    from slicewright.core.intent.workload import Workload
    from slicewright.core.problem import Path, Problem

_FIELD = "podTemplate.spec.serviceAccountName"


def with_account(workload: Workload, cluster: Cluster) -> Workload:
    """Return a workload whose pod templates name the service account of the namespace's team.

    A template that names one, `default` included, keeps it. The controller of PathwaysJob makes the workers'
    pods, and the head's too where it is headless: there is nothing to write an account into.
    """
    names = _of_teams(workload, cluster)
    if len(names) != 1:
        return workload
    runtime, by_controller = workload.pathways, workload.api == "PathwaysJob"
    if runtime is not None and not (by_controller and runtime.headless):
        head = replace(runtime.head, pod_template=_given(runtime.head.pod_template, names[0]))
        runtime = replace(runtime, head=head)
    template = workload.pod_template if by_controller else _given(workload.pod_template, names[0])
    jobs = tuple(
        replace(job, pod_template=_given(job.pod_template, names[0])) for job in workload.auxiliary_jobs
    )
    return replace(workload, pod_template=template, pathways=runtime, auxiliary_jobs=jobs)


def problems(given: Workload, cluster: Cluster) -> Iterator[Problem]:
    """Yield warnings for pods that use a bucket, or that two accounts could be meant for, and name none.

    `given` is a workload with the account of its team.
    """
    source, names = given.source, _of_teams(given, cluster)
    runtime = given.pathways
    path: Path = ("spec", "podTemplate")
    template, fields = given.pod_template, _FIELD
    if runtime is not None:
        path, template = ("spec", "pathways", "head", "podTemplate"), runtime.head.pod_template
        fields = f"{_FIELD} and " * (given.api == "JobSet") + f"pathways.head.{_FIELD}"
    if _account(template):
        return
    if len(names) > 1:
        message = f"namespace '{given.namespace}' has the service accounts {' and '.join(names)}, "
        message += "and the pods name none: they get 'default'"
        hint = f"write {fields}"
        yield source.problem("TEAM011", path, message, hint, warning=True)
        return
    buckets: list[tuple[Path, str]] = [
        (("spec", "gcsFuse", index, "bucket"), item.bucket) for index, item in enumerate(given.gcs_fuse)
    ]
    if runtime is not None and given.api == "JobSet" and not given.host_network:
        buckets.append((("spec", "pathways", "pathwaysDir"), runtime.pathways_dir))
    for place, bucket in buckets:
        message = f"the pods have no service account, and ask for '{bucket}' as 'default' of their namespace"
        hint = f"write {fields}, or serviceAccountName of the namespace's team in {cluster.source.file.path}"
        hint += "; 'default' if it has the rights"
        yield source.problem("TEAM010", place, message, hint, warning=True)


def _of_teams(workload: Workload, cluster: Cluster) -> list[str]:
    """Return the service accounts that teams of a workload's namespace have."""
    teams = (team for team in cluster.teams if team.namespace == workload.namespace)
    return list(dict.fromkeys(team.service_account_name for team in teams if team.service_account_name))


def _account(template: dict[str, Any]) -> str:
    spec: dict[str, Any] = template.get("spec", {})
    name: str = spec.get("serviceAccountName", spec.get("serviceAccount", ""))
    return name


def _given(template: dict[str, Any], account: str) -> dict[str, Any]:
    """Return a pod template with a service account, unless it names one."""
    if _account(template):
        return template
    return {**template, "spec": {**template.get("spec", {}), "serviceAccountName": account}}
