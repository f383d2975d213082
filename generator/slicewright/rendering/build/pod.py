"""The pods on TPU hosts, and the user's container in them: selectors, chips, program, and merged parts."""

from collections.abc import Iterator
from typing import Any

from slicewright.kubernetes.labels import FUSE_DRIVER, HOSTNAME, JOBSET_NAME, REPLICATED_JOB, TPU
from slicewright.kubernetes.merge import copied, merge
from slicewright.kubernetes.pods import PREFERRED, REQUIRED
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.plan import MARKER, Plan
from slicewright.rendering.plan.run_pattern import PATTERNS
from slicewright.rendering.plan.validate_workload import FILES_VOLUME, FUSE_VOLUME
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
    """Mount the files of a run into a container, and its buckets, through the CSI driver of GKE."""
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
    """Make a base's pod template the plan's, in place: the pod runs the user's program on the chips."""
    spec = template["spec"]
    main = spec["containers"][0]
    if plan.containers_per_host > 1:
        main.pop("ports", None)  # on the network of the host each port can be listed only once
    fill_program(main, plan)
    merge_template(template, plan.pod_template, plan.topology_request)
    tell_run(spec, plan)
    mount(spec, main, plan)
    claim(spec, main, plan)
    if plan.containers_per_host > 1:
        copies = [{**copied(main), "name": name} for name in program_containers(plan)]
        spec["containers"] = [*copies, *spec["containers"][1:]]


def program_containers(plan: Plan) -> list[str]:
    """Return the names of the containers that run the user's program, in the pod of a host."""
    name, copies = plan.main_container, plan.containers_per_host
    return [f"{name}-{copy}" for copy in range(1, copies + 1)] if copies > 1 else [name]


def fail_on_exit_codes(job: dict[str, Any], plan: Plan) -> None:
    """Fail a Job at once where its program ends with a code that does not restart it, in place.

    Pods that Kubernetes evicts end with a code too, which says nothing of the program: the rule before
    counts them like any failure, unless the base has another one.
    """
    evicted = {"type": "DisruptionTarget", "status": "True"}
    count = {"action": "Count", "onPodConditions": [evicted]}
    policy = job.setdefault("podFailurePolicy", {"rules": [count]})
    values = plan.failure_policy.exit_codes
    for name in program_containers(plan):
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
    """Keep the pods of a run on CPU nodes off each other's nodes: `nodes` says how many it uses."""
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
    """Write what keeps the pod off the nodes of other ways; each of the user's terms has to hold it too."""
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
