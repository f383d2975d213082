"""A Job on one host, or an indexed Job with its headless Service on several (bases: job, indexed-job)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.build import pod

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.plan import Plan


def fill(job: Object, plan: Plan) -> None:
    """Make the base's Job the plan's, in place."""
    spec = job["spec"]
    spec["backoffLimit"] = plan.backoff_limit
    if plan.shape.multi_host:
        spec["completions"] = spec["parallelism"] = plan.hosts
        spec["template"]["spec"]["subdomain"] = plan.name
    pod.fill(spec["template"], plan)
    if plan.failure_policy.on_host_maintenance == "Fail":
        spec["podFailurePolicy"]["rules"][0]["action"] = "FailJob"
    if plan.failure_policy.restart_on_exit_codes:
        pod.fail_on_exit_codes(spec, plan)


def fill_service(service: Object, plan: Plan) -> None:
    """Point the headless Service at the Job's pods, in place."""
    service["spec"]["selector"] = {"job-name": plan.name}
