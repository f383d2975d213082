"""Why Kueue has not admitted a run: its queue, the quota and who holds it, and admission checks."""

from collections.abc import Iterator

from slicewright.catalogue.catalogue import Catalogue
from slicewright.cluster.status.cause import Cause
from slicewright.cluster.status.inventory import QUOTA_KINDS, Family, Inventory, called, name_of, namespace_of
from slicewright.diff.queue_changes import DRAIN, HOLD
from slicewright.kubernetes.fields import NOTHING, conditions, is_true
from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.problem import first_of
from slicewright.kubernetes.types import Object
from slicewright.kueue.assignment import Choice, choices, uncovered
from slicewright.kueue.held import held
from slicewright.kueue.quota import Node
from slicewright.kueue.quota_read import quotas
from slicewright.kueue.quota_workload import pod_sets
from slicewright.kueue.shortage import Holder, shortage
from slicewright.objects import ObjectSet, Resource

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
        """Return the ClusterQueue of a run; empty if it has none, or where nothing is known of it."""
        return self._known.local.get((namespace_of(family.run), family.queue), "")

    def causes(self, family: Family) -> Iterator[Cause]:
        """Yield why a run that is in a queue is not admitted."""
        workload = family.workload
        known = conditions(workload.get("status", {})) if workload else {}
        reserved = known.get("QuotaReserved", NOTHING)
        words = f"{reserved.reason}: {reserved.message}" if reserved.message else ""
        if workload and workload["spec"].get("active") is False:
            evicted = known.get("Evicted", NOTHING)
            message = f"Kueue has deactivated Workload {name_of(workload)}, and admits it no more"
            hint = "find out why it was evicted; then start the workload again: slicewright rerun"
            yield Cause("Deactivated", message, f"{evicted.reason}: {evicted.message}".strip(": "), hint)
        elif workload and is_true(known, "QuotaReserved"):
            yield from _checks(workload)
        elif stopped := list(self._stopped(family, words)):
            yield from stopped
        elif workload is None and "Workload" not in self._inventory.unread:
            message = f"Kueue has made no Workload for {family.run['kind']} {name_of(family.run)}"
            hint = "see whether Kueue runs: kubectl -n kueue-system get pods"
            yield Cause("NoWorkload", message, hint=hint)
        else:
            yield from self._quota(family, words)

    def _stopped(self, family: Family, words: str) -> Iterator[Cause]:
        """Yield why nothing leaves the queue of a run; a kind that may not be read says nothing."""
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
        """Yield the arithmetic of each resource group of which the run waits for chips."""
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


def _order(workload: Object) -> tuple[int, str, str]:
    metadata = workload["metadata"]
    return -workload["spec"].get("priority", 0), metadata.get("creationTimestamp", ""), name_of(workload)


def _checks(workload: Object) -> Iterator[Cause]:
    """Yield the admission checks that hold a Workload back that has quota."""
    for check in workload["status"].get("admissionChecks") or ():
        if check["state"] != "Ready":
            message = f"quota is reserved; admission check {check['name']} is {check['state']}"
            hint = f"see kubectl describe admissioncheck {check['name']}, and its controller"
            yield Cause("AdmissionCheck", message, check.get("message", ""), hint)
