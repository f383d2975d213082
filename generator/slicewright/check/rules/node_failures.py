"""Rules of runs that end with the first host that fails, or before GKE has repaired it."""

from itertools import count

from slicewright.check.rules.failure_policies import restarts
from slicewright.check.rules.jobset_names import JOBSET
from slicewright.check.rules.tpu_shape import is_pathways, shape
from slicewright.kubernetes.fields import at, entries, mapping, number, text
from slicewright.kubernetes.kinds import JOB_KINDS
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_FIRST_DELAY, _LONGEST_DELAY = 10, 600
"""Seconds before the first retry of a Job, and most before a later one (job_controller.go of Kubernetes)."""
_REPAIR = 600
"""Seconds for which a node is not ready before GKE repairs it."""
_MANY_HOSTS = 16


def _lasting(retries: int) -> int:
    """Return after how many seconds a Job has used its retries, if each pod fails at once."""
    return sum(min(_FIRST_DELAY * 2**number, _LONGEST_DELAY) for number in range(retries))


_ENOUGH = next(retries for retries in count() if _lasting(retries) >= _REPAIR)


@rule("JS160", JOB_KINDS, "note")
def _few_retries(resource: Resource, objects: ObjectSet) -> Findings:
    """Find retries of one host; those of several are another rule's, and Pathways has its own number."""
    for pods in () if is_pathways(resource) else resource.pods:
        retries, row = number(pods.job.get("backoffLimit"), 0) or 0, shape(pods, objects)
        is_alone = row is not None and not row.multi_host and not pods.job.get("podFailurePolicy")
        if is_alone and 0 < retries < _ENOUGH and not restarts(resource, (pods.name, "BackoffLimitExceeded")):
            message = (
                f"the Job gives up {_lasting(retries)} s after its first failure, before GKE repairs a node"
            )
            hint = f"write backoffLimit: {_ENOUGH}, whose retries last {_lasting(_ENOUGH)} s"
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
