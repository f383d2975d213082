"""Why a run waits or fails: its queue, the quota and who holds it, admission checks, then its pods."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.cluster.status.inventory import (
    QUOTA_KINDS,
    Family,
    Inventory,
    called,
    labels_of,
    name_of,
    namespace_of,
)
from slicewright.diff.queue_changes import DRAIN, HOLD
from slicewright.kubernetes.fields import NOTHING, at, conditions, is_true
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import JOBSET_NAME, TPU
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.problem import counted, first_of
from slicewright.kubernetes.scheduler import node_selector, tolerates
from slicewright.kubernetes.types import Object
from slicewright.kueue.assignment import Choice, choices, uncovered
from slicewright.kueue.quota import Holder, Node, held, other_flavor, shortage
from slicewright.kueue.quota_read import quotas
from slicewright.kueue.quota_workload import pod_sets
from slicewright.objects import ObjectSet, Resource


class Cause(Struct, frozen=True):
    """One reason why a run does not run, in our words, and in those of the controller that said so."""

    reason: str
    """A token that stays the same, such as `QuotaHeld`."""
    message: str
    said: str = ""
    """The controller's own words, its reason token first; empty if the objects alone say it."""
    hint: str = ""

    @property
    def line(self) -> str:
        """The message, or the controller's own words where only these say why."""
        return self.said or self.message if self.reason in ("Waiting", "Deactivated") else self.message


_MOST_HOLDERS = 3


class Queues:
    """The queues of a cluster, their quota, and the chips that are held of it."""

    def __init__(self, inventory: Inventory, catalogue: Catalogue) -> None:
        """Take what was read of a cluster."""
        self._inventory = inventory
        items = [item for kind in QUOTA_KINDS for item in inventory.of(kind)]
        self._objects = ObjectSet([Resource(item, "") for item in items], catalogue)
        self._known = quotas(self._objects)

    def chips(self, run: Object) -> int:
        """Return the chips that a run asks for."""
        sets = pod_sets(Resource(run, ""), self._objects)
        return int(sum(pods.requests.get(TPU, 0) for pods in sets))

    def cluster_queue(self, family: Family) -> str:
        """Return the ClusterQueue of a run; empty if it has none, or if nothing is known of it."""
        return self._known.local.get((namespace_of(family.run), family.queue), "")

    def causes(self, family: Family) -> Iterator[Cause]:
        """Yield why a run that is in a queue is not admitted."""
        workload = family.workload
        status = workload.get("status", {}) if workload else {}
        known = conditions(status)
        evicted = known.get("Evicted", NOTHING)
        told = [known.get("QuotaReserved", NOTHING), *([evicted] if evicted.status == "True" else [])]
        said = {entry.message: _words(entry.reason, entry.message) for entry in told if entry.message}
        words = "; ".join(said.values())
        if workload and workload["spec"].get("active") is False:
            message = f"Kueue has deactivated Workload {name_of(workload)}, and admits it no more"
            hint = "find out why it was evicted; then start the workload again: slicewright rerun"
            yield Cause("Deactivated", message, _words(evicted.reason, evicted.message), hint)
        elif workload and is_true(known, "QuotaReserved"):
            yield from _checks(workload)
        elif stopped := list(self._stopped(family, words)):
            yield from stopped
        elif known.get("Requeued", NOTHING).status == "False" and (
            again := at(status, "requeueState", "requeueAt")
        ):
            hint = "remove the cause of the evictions; the time between tries grows with each one"
            message = f"Kueue tries it again at {again}"
            yield Cause("RequeueBackoff", message, words, hint)
        elif workload is None and "Workload" not in self._inventory.unread:
            message = f"Kueue has made no Workload for {family.run['kind']} {name_of(family.run)}"
            hint = "see whether Kueue runs: kubectl -n kueue-system get pods"
            yield Cause("NoWorkload", message, hint=hint)
        else:
            yield from self._quota(family, words)

    def _stopped(self, family: Family, words: str) -> Iterator[Cause]:
        """Yield why the queue of a run admits nothing; kinds that may not be read are left out."""
        namespace, readable = namespace_of(family.run), self._inventory.unread.keys()
        name = f"{namespace}/{family.queue}"
        local = self._inventory.find("LocalQueue", family.queue, namespace)
        if local is None:
            if "LocalQueue" not in readable:
                hint = "apply overlays/<cluster>/_platform, or correct queueName"
                yield Cause("LocalQueueMissing", f"LocalQueue {name} does not exist", words, hint)
            return
        target = local["spec"].get("clusterQueue", "")
        queue = self._inventory.find("ClusterQueue", target)
        if queue is None:
            if "ClusterQueue" not in readable:
                message = f"ClusterQueue {target} of LocalQueue {name} does not exist"
                yield Cause("ClusterQueueMissing", message, words, "apply overlays/<cluster>/_platform")
            return
        for item, text in ((local, f"LocalQueue {name}"), (queue, f"ClusterQueue {target}")):
            policy = item["spec"].get("stopPolicy")
            active = conditions(item.get("status", {})).get("Active", NOTHING)
            if policy in (HOLD, DRAIN):
                message = f"{text} is stopped: stopPolicy {policy}"
                yield Cause("QueueStopped", message, words, "set stopPolicy: None when work may start again")
            elif active.status == "False":
                hint = "apply what it lacks: overlays/<cluster>/_platform"
                inactive = f"{active.reason}: {active.message}"
                yield Cause("QueueInactive", f"{text} is not active", inactive, hint)

    def _quota(self, family: Family, words: str) -> Iterator[Cause]:
        """Yield the calculation of each resource group in which the run waits for chips."""
        known, queue = self._known, self._known.queues.get(self.cluster_queue(family))
        sets = pod_sets(Resource(family.run, ""), self._objects)
        causes: list[Cause] = []
        if queue:
            for choice in choices(known, queue, sets):
                if TPU in choice.requests:
                    causes += self._choice_causes(queue, choice, words)
            if lacks := sorted({name for pods in sets for name in uncovered(known, queue, pods)}):
                message = (
                    f"ClusterQueue {queue.name} has no quota of {', '.join(lacks)}, which the run requests"
                )
                hint = "give the queue a resource group with it, or do not request it"
                causes.append(Cause("ResourceNotCovered", message, words, hint))
        if not causes:
            message = f"LocalQueue {namespace_of(family.run)}/{family.queue} has not admitted the run"
            hint = "" if words else "the cluster does not say why; see kubectl describe workload"
            causes = [Cause("Waiting", message, words, hint)]
        yield from causes

    def other_flavor(self, family: Family) -> Iterator[Cause]:
        """Yield which node label of another flavor the Jobs of a JobSet select.

        JobSet up to 0.12 adds the labels of a new admission to those of earlier ones (resumeJob).
        """
        workload, jobsets = family.workload, family.members["JobSet"]
        admission = ((workload or {}).get("status") or {}).get("admission")
        if not (admission and jobsets):
            return
        sets = admission.get("podSetAssignments") or ()
        flavors = {name for assigned in sets for name in (assigned.get("flavors") or {}).values()}
        own, selector = _selector(jobsets), _selector(family.members["Job"])
        if found := other_flavor(self._known, flavors, own.keys(), selector):
            label, flavor = found
            message = f"its pods select {label} of flavor {flavor}, but it is admitted to "
            message += f"{', '.join(sorted(flavors))}: JobSet keeps the node labels of an earlier admission"
            names = ",".join(name_of(item) for item in jobsets)
            hint = "delete its Jobs, and JobSet makes them again with the right labels: kubectl delete jobs "
            hint += f"-n {namespace_of(family.run)} -l '{JOBSET_NAME} in ({names})'"
            yield Cause("OtherFlavor", message, "", hint)

    def _choice_causes(self, queue: Node, choice: Choice, words: str) -> Iterator[Cause]:
        need = int(choice.requests[TPU])
        if not choice.flavors:
            message = f"no flavor of ClusterQueue {queue.name} suits the run: {', '.join(choice.group)}"
            hint = "compare its node selector and tolerations with the flavors: slicewright capacity"
            yield Cause("NoSuitingFlavor", message, words, hint)
            return
        for flavor in choice.flavors:
            lack = shortage(self._known, queue, flavor, need, self._holders(flavor))
            if lack is None:
                continue
            borrowed = f" ({lack.total} with what it can borrow)" if lack.total != lack.nominal else ""
            start = f"needs {need} chips of flavor {flavor}; "
            start += f"ClusterQueue {queue.name} has quota of {lack.nominal}"
            if lack.is_too_small:
                hint = "fewer slices, more quota, or a cohort to borrow from; as it is, it never starts"
                yield Cause("QuotaTooSmall", f"{start}{borrowed}", words, hint)
                continue
            holders = [f"{holder.chips} by {holder.run}" for holder in lack.held]
            held_now = sum(holder.chips for holder in lack.held)
            message = f"{start}{borrowed}, {held_now} held: {first_of(holders, _MOST_HOLDERS)}"
            hint = "wait for one of these runs to end, raise the quota, "
            hint += "or use a higher priority class if the queue preempts"
            yield Cause("QuotaHeld", message, words, hint)

    def _holders(self, flavor: str) -> Iterator[Holder]:
        for workload in self._inventory.of("Workload"):
            status = workload.get("status", {})
            admission = status.get("admission") or {}
            if admission.get("clusterQueue") and not is_true(conditions(status), "Finished"):
                chips = dict(held(workload)).get(flavor, 0)
                run = self._inventory.run_of.get(workload["metadata"]["uid"], f"Workload {called(workload)}")
                if chips:
                    yield Holder(chips, run, admission["clusterQueue"])

    def positions(self) -> dict[tuple[str, str], int]:
        """Return the places of the Workloads that wait, as Kueue says them.

        Kueue tries a queue by priority, then by age: this order is used where its list cannot be read.
        """
        if self._inventory.positions:
            return dict(self._inventory.positions)
        waiting: dict[str, list[Object]] = {}
        for workload in self._inventory.of("Workload"):
            known = conditions(workload.get("status", {}))
            queue = self._known.local.get((namespace_of(workload), workload["spec"].get("queueName", "")))
            is_over = is_true(known, "Finished") or is_true(known, "QuotaReserved")
            if queue and not is_over and workload["spec"].get("active") is not False:
                waiting.setdefault(queue, []).append(workload)
        return {
            (namespace_of(item), name_of(item)): place
            for items in waiting.values()
            for place, item in enumerate(sorted(items, key=_order), 1)
        }


def _selector(makers: Iterable[Object]) -> dict[str, str]:
    """Return the node labels that the pods of some objects select."""
    specs = (pods.spec for item in makers for pods in pods_of(item, item["kind"]))
    return {key: value for spec in specs for key, value in (spec.get("nodeSelector") or {}).items()}


def _order(workload: Object) -> tuple[int, str, str]:
    metadata = workload["metadata"]
    return -workload["spec"].get("priority", 0), metadata.get("creationTimestamp", ""), name_of(workload)


def _checks(workload: Object) -> Iterator[Cause]:
    """Yield the admission checks that keep a Workload with quota from being admitted."""
    for check in workload["status"].get("admissionChecks") or ():
        if check["state"] != "Ready":
            message = f"quota is reserved; admission check {check['name']} is {check['state']}"
            hint = f"see kubectl describe admissioncheck {check['name']}, and its controller"
            yield Cause("AdmissionCheck", message, check.get("message", ""), hint)


_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
_CONFIG = "CreateContainerConfigError"
_MISSING = re.compile(r"(?P<kind>secret|configmap) \"(?P<name>[^\"]+)\" not found", re.IGNORECASE)
_KINDS = {"secret": "Secret", "configmap": "ConfigMap"}


def is_ready(pod: Object) -> bool:
    """Tell whether a pod runs and is ready, or has done its work."""
    status = pod.get("status", {})
    return status.get("phase") == "Succeeded" or is_true(conditions(status), "Ready")


def pod_causes(family: Family, inventory: Inventory) -> Iterator[Cause]:
    """Yield why pods of a run do not run, each cause once with the number of its pods."""
    pods = family.pods
    by_cause = Counter(cause for pod in pods for cause in _causes_of_pod(pod, inventory))
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
        hint = "correct what the API server refuses, then start the workload again: slicewright rerun"
        yield Cause("PodsNotMade", "its pods cannot be made", why, hint)
        return
    hint = "" if "Event" in inventory.unread else "the cluster has no warning about it yet"
    yield Cause("NoPods", "no pod has been made yet", "", hint)


def _causes_of_pod(pod: Object, inventory: Inventory) -> Iterator[Cause]:
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
    """Return the cause if a kubelet reports a missing Secret or ConfigMap. Secrets are not read."""
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
