"""Fills in the pods of a run, and the JobSet or the Job that creates them."""

from collections.abc import Iterator
from typing import Any

from slicewright.kubernetes.labels import (
    EXCLUSIVE_TOPOLOGY,
    FUSE_DRIVER,
    HOSTNAME,
    JOBSET_NAME,
    NODE_POOL,
    REPLICATED_JOB,
    TPU,
)
from slicewright.kubernetes.merge import copied, merge
from slicewright.kubernetes.pods import PREFERRED, REQUIRED
from slicewright.kubernetes.types import Object
from slicewright.rendering.build.survival import give_time, keep_node, survive_in_job, survive_in_jobset
from slicewright.rendering.plan.plan import MARKER, PATTERNS, Auxiliary, Plan
from slicewright.rendering.plan.resilience import retries, survives_host_loss
from slicewright.rendering.plan.validate_workload import (
    DEV_SHM,
    EXIT_CODES,
    FILES_VOLUME,
    FUSE_VOLUME,
    SHARED_MEMORY,
)
from slicewright.rendering.plan.ways import TPU_TOLERATION, Apart

Step = str | int | tuple[str]
"""A key, the index of an element, or the name of one."""
Steps = tuple[Step, ...]

_SHELL = ("bash", "-c")


def fill_program(container: Object, plan: Plan) -> None:
    """Give a container of a base the user's program: `container:` of the TPUWorkload, in place."""
    fields = {key: value for key, value in plan.container.items() if key != "script"}
    merge(container, {**fields, "name": plan.main_container})
    if "script" in plan.container:
        container["command"] = [*_SHELL, plan.container["script"]]
        container.pop("args", None)


def tell_run(pod: dict[str, Any], plan: Plan) -> None:
    """Add the variables of the run to every container, first, so that env can use $(SLICEWRIGHT_RUN)."""
    if plan.env:
        ours = [{"name": name, "value": value} for name, value in plan.env.items()]
        for container in containers_of(pod):
            theirs = [item for item in container.get("env", []) if item["name"] not in plan.env]
            container["env"] = [*copied(ours), *theirs]


def mount(pod: dict[str, Any], container: Object, plan: Plan) -> None:
    """Mount shared memory, the files of a run and its buckets into a container."""
    if plan.shared_memory:
        memory = {"medium": "Memory", "sizeLimit": plan.shared_memory}
        merge(pod, {"volumes": [{"name": SHARED_MEMORY, "emptyDir": memory}]})
        merge(container, {"volumeMounts": [{"name": SHARED_MEMORY, "mountPath": DEV_SHM}]})
    if plan.files:
        merge(pod, {"volumes": [{"name": FILES_VOLUME, "configMap": {"name": files_name(plan)}}]})
    for file in plan.files:
        mounted = {"name": FILES_VOLUME, "mountPath": file.mount_path, "subPath": file.key, "readOnly": True}
        merge(container, {"volumeMounts": [mounted]})
    for index, bucket in enumerate(plan.gcs_fuse):
        name = f"{FUSE_VOLUME}{index}"
        attributes = {"bucketName": bucket.bucket}
        if bucket.options:
            attributes["mountOptions"] = bucket.options
        if plan.fuse_on_host:
            attributes["hostNetworkPodKSA"] = "true"
        csi: dict[str, Any] = {"driver": FUSE_DRIVER, "volumeAttributes": attributes}
        mounted = {"name": name, "mountPath": bucket.mount_path}
        if bucket.read_only:
            csi["readOnly"] = mounted["readOnly"] = True
        merge(pod, {"volumes": [{"name": name, "csi": csi}]})
        merge(container, {"volumeMounts": [mounted]})


def files_name(plan: Plan) -> str:
    """Return the name of the ConfigMap with the files of a run."""
    return f"{plan.name}-files"


def containers_of(pod: dict[str, Any]) -> Iterator[Object]:
    """Yield the containers of a pod spec, those that start first before the others."""
    yield from pod.get("initContainers", [])
    yield from pod["containers"]


def fill_pod(template: Object, plan: Plan) -> None:
    """Fill a base's pod template with the values of the plan, in place."""
    spec = template["spec"]
    main = spec["containers"][0]
    if plan.containers_per_host > 1:
        main.pop("ports", None)  # on the network of the host each port can be listed only once
    fill_program(main, plan)
    give_time(template, plan)
    if not plan.shape.chips:
        keep_node(template, plan)
    merge_template(template, plan.pod_template, plan.topology_request)
    tell_run(spec, plan)
    mount(spec, main, plan)
    claim(spec, main, plan)
    if plan.containers_per_host > 1:
        copies = [{**copied(main), "name": name} for name in plan.program_containers]
        spec["containers"] = [*copies, *spec["containers"][1:]]


def add_exit_code_rule(job: dict[str, Any], plan: Plan) -> None:
    """Fail a Job immediately if its program ends with a code that does not restart it, in place.

    Pods that Kubernetes evicts end with a code too, which says nothing of the program: the rule before
    counts them like any failure, unless the base has another one.
    """
    evicted = {"type": "DisruptionTarget", "status": "True"}
    count = {"action": "Count", "onPodConditions": [evicted]}
    policy = job.setdefault("podFailurePolicy", {"rules": [count]})
    values = plan.failure_policy.exit_codes
    for name in plan.program_containers:
        ends = {"containerName": name, "operator": "NotIn", "values": values}
        policy["rules"].append({"action": "FailJob", "onExitCodes": ends})


def claim(spec: dict[str, Any], container: dict[str, Any], plan: Plan) -> None:
    """Select the hosts of the plan's shape and claim a container's share of the chips of a host."""
    theirs = {key: value for key, value in spec["nodeSelector"].items() if value != MARKER}
    spec["nodeSelector"] = {**theirs, **plan.node_selector}
    if plan.topology_request:
        # GKE adds it when pods are made. Kueue looks for nodes before that, and counts taints where it places
        # by topology.
        merge(spec, {"tolerations": [TPU_TOLERATION]})
    keep_apart(spec, plan.apart)
    if not plan.shape.chips:
        _one_a_node(spec, plan)
        return
    for field in ("requests", "limits"):
        container["resources"][field][TPU] = str(plan.chips_per_container)


def _one_a_node(spec: dict[str, Any], plan: Plan) -> None:
    """Keep the pods of a run on CPU nodes on different nodes: `nodes` says how many it uses."""
    if plan.hosts > 1:
        term = {
            "labelSelector": {"matchLabels": {JOBSET_NAME: plan.name, REPLICATED_JOB: PATTERNS["cpu"].job}},
            "topologyKey": HOSTNAME,
        }
        affinity = spec.setdefault("affinity", {}).setdefault("podAntiAffinity", {})
        affinity.setdefault(REQUIRED, []).append(term)


def claimed(template: Steps) -> tuple[Steps, ...]:
    """Return the mappings below a pod template that `claim` fills in."""
    resources: Steps = (*template, "spec", "containers", 0, "resources")
    return (*template, "spec", "nodeSelector"), (*resources, "requests"), (*resources, "limits")


def keep_apart(spec: dict[str, Any], apart: Apart) -> None:
    """Add the affinity that keeps the pod off nodes of other provisioning, to each term of the user."""
    if apart.tolerations:
        merge(spec, {"tolerations": list(apart.tolerations)})
    if not (apart.required or apart.preferred):
        return
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    if apart.required:
        required = affinity.setdefault(REQUIRED, {"nodeSelectorTerms": [{}]})
        for term in required["nodeSelectorTerms"]:
            term.setdefault("matchExpressions", []).extend(copied(item) for item in apart.required)
    if apart.preferred:
        affinity.setdefault(PREFERRED, []).extend(copied(item) for item in apart.preferred)


def merge_template(template: Object, own: Object, request: dict[str, str]) -> None:
    """Merge a podTemplate of the user into one of a base, with a request for Kueue's topologies."""
    if "metadata" in own or request:
        template.setdefault("metadata", {})
    if request:
        merge(template, {"metadata": {"annotations": request}})
    merge(template, own)


POD: Steps = ("template", "spec", "template")
"""From a replicatedJob to its pod template."""
IN_JOBSET: tuple[Steps, ...] = (
    ("spec", "successPolicy"),
    ("spec", "failurePolicy"),
    *claimed(("spec", "replicatedJobs", ("slice",), *POD)),
)
IN_CPU_JOBSET: tuple[Steps, ...] = (
    ("spec", "successPolicy"),
    ("spec", "failurePolicy"),
    ("spec", "replicatedJobs", ("worker",), *POD, "spec", "nodeSelector"),
)
IN_JOB = claimed(("spec", "template"))
IN_SERVICE: tuple[Steps, ...] = (("spec",),)
"""The mappings of a base that are filled in."""
_IN_PLACE_BACKOFF = 2_147_483_647
"""What JobSet's webhook asks of every replicatedJob under restartStrategy InPlaceRestart."""


def fill_jobset(jobset: Object, plan: Plan) -> None:
    """Fill the base's JobSet with the values of the plan, in place."""
    spec = jobset["spec"]
    name = PATTERNS[plan.pattern].job
    slices = replicated_job(jobset, name)
    slices["replicas"] = plan.slices
    job = slices["template"]["spec"]
    job["backoffLimit"] = plan.backoff_limit
    job["completions"] = job["parallelism"] = plan.hosts
    if not plan.exclusive_topology:
        drop_exclusive_topology(slices)
    fill_pod(job["template"], plan)
    for auxiliary in plan.auxiliaries:
        _add_auxiliary(spec["replicatedJobs"], auxiliary, plan)
    if plan.auxiliaries:
        spec["replicatedJobs"] = _in_turn(spec["replicatedJobs"], name, plan)
        last = [auxiliary.name for auxiliary in plan.auxiliaries if auxiliary.runs == "After"]
        spec["successPolicy"]["targetReplicatedJobs"] = [name, *last]
    fill_failure_policy(spec, plan)
    fail_on_exit_codes(jobset, name, plan)
    survive_in_jobset(spec["failurePolicy"], name, job, plan)


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
    """Return the replicatedJob of a name. Raises KeyError if there is none."""
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
    """Fail the run immediately if the program of a replicatedJob ends with a code that does not restart.

    The message of a Job names the rule by which it failed. That distinguishes the end of the program from the
    end of a host if one Job has both rules (kubernetes v1.36: pkg/controller/job/pod_failure_policy.go).
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
    add_exit_code_rule(job, plan)
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
    elif plan.resilience is not None and survives_host_loss(plan.resilience):
        spec["backoffLimit"] = retries(plan.resilience.repair_seconds)
    template = spec["template"]
    keep_node(template, plan)
    merge_template(template, auxiliary.pod_template, auxiliary.topology_request)
    tell_run(template["spec"], plan)
    template["spec"].setdefault("nodeSelector", {})[NODE_POOL] = auxiliary.node_pool


def fill_job(job: Object, plan: Plan) -> None:
    """Fill the base's Job with the values of the plan, in place."""
    spec = job["spec"]
    spec["backoffLimit"] = plan.backoff_limit
    if plan.shape.multi_host:
        spec["completions"] = spec["parallelism"] = plan.hosts
        spec["template"]["spec"]["subdomain"] = plan.name
    fill_pod(spec["template"], plan)
    if plan.failure_policy.on_host_maintenance == "Fail":
        spec["podFailurePolicy"]["rules"][0]["action"] = "FailJob"
    if plan.failure_policy.restart_on_exit_codes:
        add_exit_code_rule(spec, plan)
    survive_in_job(spec, plan)


def fill_service(service: Object, plan: Plan) -> None:
    """Point the headless Service at the Job's pods, in place."""
    service["spec"]["selector"] = {"job-name": plan.name}
