"""Rules of runs that end with the first host that fails, or before GKE has repaired it."""

from slicewright.check.rules.failure_policies import restarts
from slicewright.check.rules.jobset_names import JOBSET
from slicewright.check.rules.tpu_shape import is_pathways, shape
from slicewright.kubernetes.fields import at, entries, mapping, number, text
from slicewright.kubernetes.kinds import JOB_KINDS
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.resilience import lasting, retries

_REPAIR = 600
"""Seconds for which a node is not ready before GKE repairs it."""
_ENOUGH = retries(_REPAIR)
_MANY_HOSTS = 16


@rule("JS160", JOB_KINDS, "note")
def _few_retries(resource: Resource, objects: ObjectSet) -> Findings:
    """Find retries of one host; those of several are another rule's, and Pathways has its own number."""
    for pods in () if is_pathways(resource) else resource.pods:
        most, row = number(pods.job.get("backoffLimit"), 0) or 0, shape(pods, objects)
        is_alone = row is not None and not row.multi_host and not pods.job.get("podFailurePolicy")
        if is_alone and 0 < most < _ENOUGH and not restarts(resource, (pods.name, "BackoffLimitExceeded")):
            message = f"the Job gives up {lasting(most)} s after its first failure, before GKE repairs a node"
            hint = f"write backoffLimit: {_ENOUGH}, whose retries last {lasting(_ENOUGH)} s"
            yield Finding((*pods.job_path, "backoffLimit"), message, hint)


@rule("JS161", JOBSET, "note")
def _no_restarts(resource: Resource, _objects: ObjectSet) -> Findings:
    policy = mapping(at(resource.data, "spec", "failurePolicy"))
    restarting = (
        text(entry.get("action")).startswith("Restart") for _, entry in entries(policy.get("rules"))
    )
    if number(policy.get("maxRestarts"), 0) or any(restarting) or is_pathways(resource):
        return
    together = [pods for pods in resource.pods if pods.asks_for_tpu and pods.job.get("backoffLimit") == 0]
    hosts = sum(pods.count for pods in together)
    if hosts > _MANY_HOSTS:
        message = f"the run ends when the first of its {hosts} hosts fails: the JobSet never restarts"
        yield Finding(("spec", "failurePolicy") if policy else ("spec",), message)
