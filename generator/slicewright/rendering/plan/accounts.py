"""The service accounts of a run's pods: those that are written, else that of the namespace's team."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from slicewright.intent.tpucluster import Cluster
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import Path, Problem

_FIELD = "podTemplate.spec.serviceAccountName"


def with_account(workload: Workload, cluster: Cluster) -> Workload:
    """Return a workload whose pod templates name the service account of the namespace's team.

    A template that names one, `default` included, keeps it. The controller of PathwaysJob makes the workers'
    pods, and the head's too where it is headless: there is nothing to write an account into.
    """
    names = _team_accounts(workload, cluster)
    if len(names) != 1:
        return workload
    runtime, by_controller = workload.pathways, workload.api == "PathwaysJob"
    if runtime is not None and not (by_controller and runtime.headless):
        head = replace(runtime.head, pod_template=_with(runtime.head.pod_template, names[0]))
        runtime = replace(runtime, head=head)
    template = workload.pod_template if by_controller else _with(workload.pod_template, names[0])
    auxiliary = workload.auxiliary_jobs
    jobs = tuple(replace(job, pod_template=_with(job.pod_template, names[0])) for job in auxiliary)
    return replace(workload, pod_template=template, pathways=runtime, auxiliary_jobs=jobs)


def problems(workload: Workload, cluster: Cluster) -> Iterator[Problem]:
    """Yield warnings for pods that use a bucket, or that two accounts could be meant for, and name none.

    The workload has the account of its team.
    """
    source, names, runtime = workload.source, _team_accounts(workload, cluster), workload.pathways
    path: Path = ("spec", "podTemplate")
    template, fields = workload.pod_template, _FIELD
    if runtime is not None:
        path, template = ("spec", "pathways", "head", "podTemplate"), runtime.head.pod_template
        fields = f"{_FIELD} and " * (workload.api == "JobSet") + f"pathways.head.{_FIELD}"
    if _account(template):
        return
    if len(names) > 1:
        message = f"namespace '{workload.namespace}' has the service accounts {' and '.join(names)}, "
        message += "but the pods name none: they get 'default'"
        yield source.problem("TEAM011", path, message, f"write {fields}", warning=True)
        return
    buckets: list[tuple[Path, str]] = [
        (("spec", "gcsFuse", index, "bucket"), item.bucket) for index, item in enumerate(workload.gcs_fuse)
    ]
    if runtime is not None and workload.api == "JobSet" and not workload.host_network:
        buckets.append((("spec", "pathways", "pathwaysDir"), runtime.pathways_dir))
    for place, bucket in buckets:
        message = f"the pods have no service account, so they access '{bucket}' as service account 'default'"
        hint = f"write {fields}, or serviceAccountName of the namespace's team in {cluster.source.file.path}"
        hint += "; write 'default' if that account has the rights"
        yield source.problem("TEAM010", place, message, hint, warning=True)


def _team_accounts(workload: Workload, cluster: Cluster) -> list[str]:
    """Return the service accounts that teams of a workload's namespace have."""
    teams = (team for team in cluster.teams if team.namespace == workload.namespace)
    return list(dict.fromkeys(team.service_account_name for team in teams if team.service_account_name))


def _account(template: dict[str, Any]) -> str:
    spec = template.get("spec", {})
    return str(spec.get("serviceAccountName", spec.get("serviceAccount", "")))


def _with(template: dict[str, Any], account: str) -> dict[str, Any]:
    """Return a pod template with a service account, unless it names one."""
    if _account(template):
        return template
    return {**template, "spec": {**template.get("spec", {}), "serviceAccountName": account}}
