"""The pods on TPU hosts: selectors, chips, the user's program and whatever else people merge in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.build import container as containers
from slicewright.core.build.merge import merge
from slicewright.core.compose.patch import copied
from slicewright.core.kubernetes.labels import TPU
from slicewright.core.plan.plan import MARKER, Plan

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.ways import Apart

_TPU_TAINT = {"key": TPU, "operator": "Exists", "effect": "NoSchedule"}
"""GKE adds this toleration to pods with chips when they are made. Kueue looks for nodes before that, and
counts taints where it places by topology."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def fill(template: Object, plan: Plan) -> None:
    """Make a base's pod template the plan's, in place: the pod runs the user's program on the chips."""
    spec = template["spec"]
    main = spec["containers"][0]
    if plan.containers_per_host > 1:
        main.pop("ports", None)  # on the network of the host each port can be listed only once
    containers.fill(main, plan)
    merge_template(template, plan.pod_template, plan.topology_request)
    containers.tell_run(spec, plan)
    containers.mount(spec, main, plan.gcs_fuse)
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
    values = list(plan.failure_policy.restart_on_exit_codes)
    for name in program_containers(plan):
        ends = {"containerName": name, "operator": "NotIn", "values": values}
        policy["rules"].append({"action": "FailJob", "onExitCodes": ends})


def claim(spec: dict[str, Any], container: dict[str, Any], plan: Plan) -> None:
    """Select the hosts of the plan's shape and claim a container's share of the chips of a host."""
    theirs = {key: value for key, value in spec["nodeSelector"].items() if value != MARKER}
    spec["nodeSelector"] = {**theirs, **plan.node_selector}
    if plan.topology_request:
        merge(spec, {"tolerations": [_TPU_TAINT]})
    keep_apart(spec, plan.apart)
    chips = str(plan.chips_per_container)
    container["resources"]["requests"][TPU] = chips
    container["resources"]["limits"][TPU] = chips


def keep_apart(spec: dict[str, Any], apart: Apart) -> None:
    """Write what keeps the pod off the nodes of other ways; each of the user's terms has to hold it too."""
    if apart.tolerations:
        merge(spec, {"tolerations": list(apart.tolerations)})
    if not (apart.required or apart.preferred):
        return
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    if apart.required:
        required = affinity.setdefault(_REQUIRED, {"nodeSelectorTerms": [{}]})
        for term in required["nodeSelectorTerms"]:
            term.setdefault("matchExpressions", []).extend(copied(item) for item in apart.required)
    if apart.preferred:
        affinity.setdefault(_PREFERRED, []).extend(copied(item) for item in apart.preferred)


def merge_template(template: Object, written: Object, request: dict[str, str]) -> None:
    """Merge a podTemplate of the user into one of a base, with a request for Kueue's topologies."""
    if "metadata" in written or request:
        template.setdefault("metadata", {})
    if request:
        merge(template, {"metadata": {"annotations": request}})
    merge(template, written)
