"""A JobSet with auxiliary jobs, or a Job with its Service (bases: jobset, cpu, job, indexed-job)."""

from typing import Any

from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, NODE_POOL
from slicewright.kubernetes.types import Object
from slicewright.rendering.build import pod
from slicewright.rendering.build.pod import Steps
from slicewright.rendering.plan.plan import Auxiliary, Plan
from slicewright.rendering.plan.run_pattern import PATTERNS
from slicewright.rendering.plan.validate_workload import EXIT_CODES

POD: Steps = ("template", "spec", "template")
"""From a replicatedJob to its pod template."""
IN_JOBSET: tuple[Steps, ...] = (
    ("spec", "successPolicy"),
    ("spec", "failurePolicy"),
    *pod.claimed(("spec", "replicatedJobs", ("slice",), *POD)),
)
IN_CPU_JOBSET: tuple[Steps, ...] = (
    ("spec", "successPolicy"),
    ("spec", "failurePolicy"),
    ("spec", "replicatedJobs", ("worker",), *POD, "spec", "nodeSelector"),
)
IN_JOB = pod.claimed(("spec", "template"))
IN_SERVICE: tuple[Steps, ...] = (("spec",),)
"""The mappings of a base that are filled in."""
_IN_PLACE_BACKOFF = 2_147_483_647
"""What JobSet's webhook asks of every replicatedJob under restartStrategy InPlaceRestart."""


def fill_jobset(jobset: Object, plan: Plan) -> None:
    """Make the base's JobSet the plan's, in place."""
    spec = jobset["spec"]
    name = PATTERNS[plan.pattern].job
    slices = replicated_job(jobset, name)
    slices["replicas"] = plan.slices
    job = slices["template"]["spec"]
    job["backoffLimit"] = plan.backoff_limit
    job["completions"] = job["parallelism"] = plan.hosts
    if not plan.exclusive_topology:
        drop_exclusive_topology(slices)
    pod.fill_pod(job["template"], plan)
    for auxiliary in plan.auxiliaries:
        _add_auxiliary(spec["replicatedJobs"], auxiliary, plan)
    if plan.auxiliaries:
        spec["replicatedJobs"] = _in_turn(spec["replicatedJobs"], name, plan)
        last = [auxiliary.name for auxiliary in plan.auxiliaries if auxiliary.runs == "After"]
        spec["successPolicy"]["targetReplicatedJobs"] = [name, *last]
    fill_failure_policy(spec, plan)
    fail_on_exit_codes(jobset, name, plan)


def _in_turn(jobs: list[dict[str, Any]], main: str, plan: Plan) -> list[dict[str, Any]]:
    """Return the replicatedJobs in the order in which they start; each step waits for the one before it.

    JobSet lets `dependsOn` name only jobs above. The steps are those before the slices in their written
    order, the slices, and those after them; what runs beside the slices waits for what they wait for.
    """
    runs = {auxiliary.name: auxiliary.runs for auxiliary in plan.auxiliaries}
    before, after = ([job for job in jobs if runs.get(job["name"]) == when] for when in ("Before", "After"))
    beside = [job for job in jobs if job not in before and job not in after]
    step = ""
    for job in (*before, *beside, *after):
        if step:
            job["dependsOn"] = [{"name": step, "status": "Complete"}]
        if job in before or job in after:
            step = job["name"]
        elif job is beside[-1] and after:
            step = main
    return [*before, *beside, *after]


def replicated_job(jobset: Object, name: str) -> dict[str, Any]:
    """Return the replicatedJob of a name. Raises KeyError where there is none."""
    jobs: dict[str, Object] = {job["name"]: job for job in jobset["spec"]["replicatedJobs"]}
    return jobs[name]


def drop_exclusive_topology(job: dict[str, Any]) -> None:
    """Let the slices of a replicatedJob share node pools."""
    annotations = job["template"].get("metadata", {}).get("annotations", {})
    annotations.pop(EXCLUSIVE_TOPOLOGY, None)
    if not annotations:
        job["template"].pop("metadata", None)


def fill_failure_policy(spec: dict[str, Any], plan: Plan) -> None:
    """Write the plan's failure policy; a rule of the host-maintenance component stays first."""
    asked, policy = plan.failure_policy, spec["failurePolicy"]
    policy["maxRestarts"] = asked.max_restarts
    policy["restartStrategy"] = asked.restart_strategy
    rules = policy.get("rules", [])
    for index, rule in enumerate(asked.rules, start=len(rules)):
        rules.append({"name": f"failurePolicyRule{index}", **rule})
    if asked.on_host_maintenance == "Fail":
        rules[0]["action"] = "FailJobSet"
    if rules:
        policy["rules"] = rules
    if asked.restart_strategy == "InPlaceRestart":
        for job in spec["replicatedJobs"]:
            job["template"]["spec"]["backoffLimit"] = _IN_PLACE_BACKOFF
            job["template"]["spec"]["podReplacementPolicy"] = "Failed"


def fail_on_exit_codes(jobset: Object, name: str, plan: Plan) -> None:
    """Let the whole fail at once where the program of a replicatedJob ends with a code that does not restart.

    A Job says in its message by which of its rules it failed: that tells the program's end from the end of
    a host, where both are rules of one Job (kubernetes v1.36: pkg/controller/job/pod_failure_policy.go).
    """
    if not plan.failure_policy.restart_on_exit_codes:
        return
    job = replicated_job(jobset, name)["template"]["spec"]
    rule: dict[str, Any] = {
        "name": EXIT_CODES,
        "action": "FailJobSet",
        "onJobFailureReasons": ["PodFailurePolicy"],
        "targetReplicatedJobs": [name],
    }
    if "podFailurePolicy" in job:
        rule["onJobFailureMessagePatterns"] = ["failed with exit code"]
    pod.fail_on_exit_codes(job, plan)
    policy = jobset["spec"]["failurePolicy"]
    policy["rules"] = [rule, *policy.get("rules", [])]


def _add_auxiliary(jobs: list[dict[str, Any]], auxiliary: Auxiliary, plan: Plan) -> None:
    """Add a replicatedJob on a CPU node pool, or fill in the one that a component has added."""
    job = next((job for job in jobs if job["name"] == auxiliary.name), None)
    if job is None:
        job = {
            "name": auxiliary.name,
            "groupName": "default",
            "replicas": 1,
            "template": {
                "spec": {
                    "backoffLimit": 0,
                    "completionMode": "Indexed",
                    "completions": 1,
                    "parallelism": 1,
                    "template": {"spec": {"restartPolicy": "OnFailure", "containers": []}},
                }
            },
        }
        jobs.append(job)
    spec = job["template"]["spec"]
    if auxiliary.backoff_limit is not None:
        spec["backoffLimit"] = auxiliary.backoff_limit
    template = spec["template"]
    pod.merge_template(template, auxiliary.pod_template, auxiliary.topology_request)
    pod.tell_run(template["spec"], plan)
    template["spec"].setdefault("nodeSelector", {})[NODE_POOL] = auxiliary.node_pool


def fill_job(job: Object, plan: Plan) -> None:
    """Make the base's Job the plan's, in place."""
    spec = job["spec"]
    spec["backoffLimit"] = plan.backoff_limit
    if plan.shape.multi_host:
        spec["completions"] = spec["parallelism"] = plan.hosts
        spec["template"]["spec"]["subdomain"] = plan.name
    pod.fill_pod(spec["template"], plan)
    if plan.failure_policy.on_host_maintenance == "Fail":
        spec["podFailurePolicy"]["rules"][0]["action"] = "FailJob"
    if plan.failure_policy.restart_on_exit_codes:
        pod.fail_on_exit_codes(spec, plan)


def fill_service(service: Object, plan: Plan) -> None:
    """Point the headless Service at the Job's pods, in place."""
    service["spec"]["selector"] = {"job-name": plan.name}
