"""Why the pods of an admitted run do not run: nodes, images, references, exit codes, and the gang."""

import re
from collections import Counter
from collections.abc import Iterator

from slicewright.cluster.status.cause import Cause
from slicewright.cluster.status.inventory import Family, Inventory, labels_of, name_of
from slicewright.kubernetes.fields import NOTHING, conditions, is_true
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.problem import counted
from slicewright.kubernetes.scheduler import node_selector, tolerates
from slicewright.kubernetes.types import Object

_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
_CONFIG = "CreateContainerConfigError"
_MISSING = re.compile(r"(?P<kind>secret|configmap) \"(?P<name>[^\"]+)\" not found", re.IGNORECASE)
_KINDS = {"secret": "Secret", "configmap": "ConfigMap"}


def is_ready(pod: Object) -> bool:
    """Tell whether a pod runs and is ready, or has done its work."""
    status = pod.get("status", {})
    return status.get("phase") == "Succeeded" or is_true(conditions(status), "Ready")


def causes(family: Family, inventory: Inventory) -> Iterator[Cause]:
    """Yield why pods of a run do not run, each cause once with the number of its pods."""
    pods = family.pods
    by_cause = Counter(cause for pod in pods for cause in _pod_causes(pod, inventory))
    for cause, number in by_cause.items():
        yield Cause(cause.reason, f"{counted(number, 'pod')}: {cause.message}", cause.said, cause.hint)
    if "Pod" in inventory.unread:
        return
    if not pods:
        yield from _no_pods(family, inventory)
    elif not by_cause and (late := sorted(name_of(pod) for pod in pods if not is_ready(pod))):
        message = f"ready: {len(pods) - len(late)} of {counted(len(pods), 'pod')}; not ready: {late[0]}"
        message += f" and {len(late) - 1} more" if late[1:] else ""
        yield Cause("PodsNotReady", message, "", f"kubectl logs {late[0]}")


def _no_pods(family: Family, inventory: Inventory) -> Iterator[Cause]:
    owners = [item for kind in sorted(RUN_KINDS) for item in family.members[kind]]
    refused = [event for item in owners for event in inventory.warnings.get(item["metadata"]["uid"], ())]
    if refused:
        why = _words(refused[0].get("reason", ""), refused[0].get("message", ""))
        hint = "mend what the API server refuses, then start the workload again: slicewright rerun"
        yield Cause("PodsNotMade", "its pods cannot be made", why, hint)
        return
    hint = "" if "Event" in inventory.unread else "the cluster has no warning about it yet"
    yield Cause("NoPods", "no pod has been made yet", "", hint)


def _pod_causes(pod: Object, inventory: Inventory) -> Iterator[Cause]:
    status = pod.get("status", {})
    scheduled = conditions(status).get("PodScheduled", NOTHING)
    if scheduled.status == "False":
        yield _unscheduled(pod, _words(scheduled.reason, scheduled.message), inventory)
        return
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        yield from _container_causes(pod, container)
    if status.get("phase") == "Pending":
        for event in inventory.warnings.get(pod["metadata"]["uid"], ()):
            if event.get("reason") in ("FailedMount", "FailedAttachVolume"):
                why = _words(event["reason"], event.get("message", ""))
                yield _missing(event.get("message", "")) or Cause("VolumeNotMounted", "no volume", why)
                return


def _container_causes(pod: Object, status: Object) -> Iterator[Cause]:
    name, waiting = status["name"], status.get("state", {}).get("waiting") or {}
    reason, message = waiting.get("reason", ""), waiting.get("message", "")
    ended = status.get("state", {}).get("terminated") or status.get("lastState", {}).get("terminated") or {}
    if reason in _IMAGE:
        spec = pod["spec"]
        containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        images = (container["image"] for container in containers if container["name"] == name)
        image = next(images, status.get("image", ""))
        hint = "correct the image, or give its service account the right to pull it"
        yield Cause("ImageNotPulled", f"image {image} cannot be pulled", _words(reason, message), hint)
    elif reason == _CONFIG:
        text = f"container {name} cannot be configured"
        yield _missing(message, reason) or Cause("ContainerNotMade", text, _words(reason, message))
    elif ended.get("exitCode"):
        text = f"container {name} ended with exit code {ended['exitCode']}"
        again = f", restarted {status['restartCount']} times" if status.get("restartCount") else ""
        why = _words(ended.get("reason", ""), ended.get("message", ""))
        hint = f"kubectl logs {name_of(pod)} -c {name}{' --previous' if again else ''}"
        yield Cause("ContainerFailed", text + again, why, hint)


def _missing(message: str, reason: str = "FailedMount") -> Cause | None:
    """Return the cause of a kubelet that misses a Secret or a ConfigMap; nobody reads Secrets for it."""
    reference = _MISSING.search(message)
    if reference is None:
        return None
    text = f"{_KINDS[reference['kind'].lower()]} {reference['name']} does not exist in the namespace"
    return Cause("ReferenceMissing", text, _words(reason, message), "create it, or correct its name")


def _unscheduled(pod: Object, why: str, inventory: Inventory) -> Cause:
    """Return why no node takes a pod, from the nodes that there are."""
    nodes, selector = inventory.of("Node"), node_selector(pod["spec"])
    if why.startswith("SchedulingGated"):
        return Cause("SchedulingGated", "a scheduling gate holds it", why, "its controller removes the gate")
    if "Node" in inventory.unread:
        return Cause("Unschedulable", "no node takes it", why, "nodes may not be read, so more is not known")
    suited = [node for node in nodes if selector.accepts(labels_of(node))]
    if not suited:
        return _no_node(pod, why, nodes)
    tolerations = pod["spec"].get("tolerations") or ()
    barred = [node for node in suited if not tolerates(tolerations, *_taints(node))]
    if len(barred) == len(suited):
        taint = next(taint for taint in _taints(barred[0]) if not tolerates(tolerations, taint))
        text = f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
        message = f"nodes with its labels: {len(suited)}; all have taint {text}, which it does not tolerate"
        return Cause("TaintNotTolerated", message, why, "correct provisioning, or remove the taint")
    free = {name_of(node) for node in suited if node not in barred}
    message = f"nodes for it: {len(free)}; none has room"
    others = [item for item in inventory.of("Pod") if item["spec"].get("nodeName") in free]
    left = [item for item in others if item.get("status", {}).get("phase") not in ("Succeeded", "Failed")]
    runs = {inventory.run_of.get(item["metadata"]["uid"], "") for item in left}
    if names := sorted(runs - {""}):
        message += f"; they run pods of {', '.join(names)}"
    return Cause("NodesFull", message, why, "see what uses them: kubectl describe node")


def _no_node(pod: Object, why: str, nodes: tuple[Object, ...]) -> Cause:
    fixed = node_selector(pod["spec"]).fixed()
    labels = [labels_of(node) for node in nodes]
    lacking = [key for key, value in fixed.items() if all(own.get(key) != value for own in labels)]
    hint = "see provision/<cluster>/verify.sh; a pool that grows from nothing may have no capacity now"
    if not lacking:
        message = f"no node of {len(nodes)} has all labels that it selects"
        return Cause("NoSuitingNode", message, why, hint)
    key = lacking[0]
    values = sorted({own[key] for own in labels if key in own})
    others = f"; nodes have {', '.join(values)}" if values else "; no node has this label"
    return Cause("NoSuitingNode", f"no node has {key}={fixed[key]}{others}", why, hint)


def _taints(node: Object) -> list[Object]:
    return node["spec"].get("taints") or []


def _words(reason: str, message: str) -> str:
    return f"{reason}: {message}".strip(": ")
