"""Makes the Jobs and pods of a run survive what is not a failure of its program: `spec.resilience`."""

from typing import Any

from slicewright.kubernetes.labels import SAFE_TO_EVICT
from slicewright.kubernetes.merge import merge
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.plan import Plan
from slicewright.rendering.plan.resilience import UNCOUNTED, survives_host_loss


def give_time(template: Object, plan: Plan) -> None:
    """Give the pods of a template the time for a last checkpoint, in place."""
    if plan.resilience is not None:
        template["spec"]["terminationGracePeriodSeconds"] = plan.resilience.grace_period_seconds


def keep_node(template: Object, plan: Plan) -> None:
    """Keep the autoscaler from removing the CPU node of a pod that the run depends on, in place."""
    if plan.resilience is not None:
        merge(template, {"metadata": {"annotations": {SAFE_TO_EVICT: "false"}}})


def survive_in_jobset(policy: dict[str, Any], name: str, job: dict[str, Any], plan: Plan) -> None:
    """Restart a JobSet without counting it if its Job fails because of a lost host, in place.

    `policy` is the failure policy of the JobSet, and `job` the spec of the Jobs of its replicatedJob `name`.
    """
    rules = _pod_rules(plan, "FailJob")
    if rules:
        job["podFailurePolicy"] = {"rules": rules}
        restart = {
            "name": UNCOUNTED,
            "action": "RestartJobSetAndIgnoreMaxRestarts",
            "onJobFailureReasons": ["PodFailurePolicy"],
            "targetReplicatedJobs": [name],
        }
        policy["rules"] = [restart, *policy.get("rules", [])]
    if not survives_host_loss(plan.resilience):
        return
    if plan.pathways is None:
        _count_per_host(job, plan)
    else:
        job["backoffLimit"] = plan.retries


def survive_in_job(job: dict[str, Any], plan: Plan) -> None:
    """Replace the pods of lost hosts without counting them, in place; nothing restarts a Job as a whole."""
    rules = _pod_rules(plan, "Ignore")
    if rules:
        job["podFailurePolicy"] = {"rules": rules}
    if not survives_host_loss(plan.resilience) or plan.backoff_limit:
        return
    if plan.shape.multi_host:
        _count_per_host(job, plan)
    else:
        job["backoffLimit"] = plan.retries


def _count_per_host(job: dict[str, Any], plan: Plan) -> None:
    """Count the failures of each host on its own: the Job has failed when every host has."""
    del job["backoffLimit"]
    job["backoffLimitPerIndex"] = plan.retries


def _pod_rules(plan: Plan, action: str) -> list[dict[str, Any]]:
    """Return the rules of a podFailurePolicy: for lost hosts, and for programs that have not begun."""
    rules: list[dict[str, Any]] = []
    if survives_host_loss(plan.resilience):
        lost = {"type": "DisruptionTarget", "status": "True"}
        rules.append({"action": action, "onPodConditions": [lost]})
    if plan.resilience is not None and plan.resilience.exit_codes:
        for name in plan.program_containers:
            ends = {"containerName": name, "operator": "In", "values": plan.resilience.exit_codes}
            rules.append({"action": action, "onExitCodes": ends})
    return rules
