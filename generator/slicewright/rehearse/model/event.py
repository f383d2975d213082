"""The events of a rehearsal, and the Observer that turns watched objects into them.

Each event comes from the change of a field; nothing is guessed.
"""

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from slicewright.kubernetes.fields import COMPLETED, NOTHING, Conditions, conditions, is_true
from slicewright.kubernetes.kinds import MAKERS
from slicewright.kubernetes.labels import (
    JOB_INDEX,
    JOB_UID,
    JOBSET_NAME,
    REPLICATED_JOB,
    RESTART_ATTEMPT,
)
from slicewright.kubernetes.pods import maker, pods_of
from slicewright.kubernetes.types import Object
from slicewright.kueue.quota import held

Kind = Literal[
    "submitted",
    "refused",
    "waiting",
    "reserved",
    "released",
    "admitted",
    "evicted",
    "podStarted",
    "podEnded",
    "restarted",
    "warned",
    "finished",
    "failed",
    "fault",
    "poolGrew",
    "poolShrank",
]
"""`waiting`, `reserved`, `released`, `admitted`, `evicted`: what Kueue says in the conditions of the
Workload. `restarted`, `finished`, `failed`: what JobSet or the Job controller says. `submitted`, `refused`,
`fault`, `poolGrew`, `poolShrank`: what the rehearsal itself did, and the API server's answer to it."""

SUCCEEDED, DELETED = "Succeeded", "Deleted"
"""Reasons of `podEnded`: the pod did its work, or it was deleted. Any other reason is `Failed`."""

NOT_IN_TREE = "NotInTree"
"""Reason of our own warning that an object which a run needs is missing."""
LIMIT = "TimeLimit"
"""Reason of our own warning that a run reached a deadline, or its nodes the end of their life."""
RESTARTED = "ContainerRestarted"
"""Reason of our own warning that a container restarted; Kubernetes has no event for it."""

TIMED_OUT, CHECKED = "PodsReadyTimeout", "AdmissionCheck"
"""Kueue's reasons for an eviction: pods were not ready in time, or an admission check is retried."""

FINISHED, RECLAIMED = "Finished", "ReclaimablePods"
"""Reasons of `released` without an eviction: the run is over, or some of its slices are."""


class Event(Struct, frozen=True):
    """One event.

    `at` is in seconds of the rehearsal's clock, which is real time multiplied by its speed. `run` is
    `namespace/name` of the run object, or empty for an event of a pool. Fields that do not apply are empty.
    """

    at: float
    kind: Kind
    run: str = ""
    reason: str = ""
    """The reason that the controller gives: `Preempted`, `Evicted`, ..."""
    text: str = ""
    """The message that the controller gives."""
    queue: str = ""
    """The ClusterQueue that gave quota."""
    flavors: tuple[tuple[str, int], ...] = ()
    """Chips by flavor: reserved ones, or those that a run still holds after it released a part."""
    pod: str = ""
    node_pool: str = ""
    node: str = ""
    """The node of the pod; the record names its pool."""
    chips: int = 0
    """Chips of the pod; or of the nodes by which a pool grew or shrank."""
    selects: tuple[tuple[str, str], ...] = ()
    """The node labels that a TPU pod selects which the scheduler cannot place."""
    job: str = ""
    """`replicatedJob/index` of the pod's Job, which is the slice of a TPU pod; empty outside a JobSet."""
    job_uid: str = ""
    """UID of that Job; a recreated Job has a new one."""
    attempt: int = 0
    """The number of restarts before this event."""

    def record(self) -> dict[str, object]:
        """Return the JSON form, without empty fields."""
        fields: dict[str, object] = {
            "run": self.run,
            "reason": self.reason,
            "message": self.text,
            "clusterQueue": self.queue,
            "flavors": dict(self.flavors),
            "pod": self.pod,
            "nodePool": self.node_pool,
            "chips": self.chips,
            "job": self.job,
            "attempt": self.attempt,
        }
        applying = {name: value for name, value in fields.items() if value}
        return {"at": round(self.at, 2), "kind": self.kind, **applying}


def run_key(item: Object) -> str:
    """Return `namespace/name` of a run object."""
    return f"{item['metadata'].get('namespace', 'default')}/{item['metadata']['name']}"


_ENDS: dict[str, Kind] = {**dict.fromkeys(COMPLETED, "finished"), "Failed": "failed"}
"""The conditions of runs at their end."""
_OVER = (SUCCEEDED, "Failed")


class Observer:
    """Keeps the last state of every object, and returns an event for each change.

    `node_pool_of` returns the node pool of a node. The clock is the caller's.
    """

    def __init__(self, node_pool_of: Callable[[str], str]) -> None:
        self._node_pool_of = node_pool_of
        self.priorities: dict[str, int] = {}
        """The priority of each run's Workload, as Kueue wrote it."""
        self._conditions: dict[str, Conditions] = {}
        self._held: dict[str, tuple[tuple[str, int], ...]] = {}
        """The chips by flavor that a Workload holds, by its UID."""
        self._restarts: dict[str, int] = {}
        self._ended: set[str] = set()
        self._running: dict[str, Event] = {}
        """The `podStarted` event of each running pod, by UID."""
        self._seen: set[str] = set()
        """UIDs of pods that have run."""
        self._again: dict[tuple[str, str], int] = {}
        """Restart counts of containers, by the pod's UID and the container's name."""
        self._selects: dict[tuple[str, str, str], dict[str, str]] = {}
        """The node labels that each TPU pod selects, until it starts."""
        self._runs: dict[tuple[str, str, str], str] = {}
        """The run of each object that belongs to one, by (kind, namespace, name)."""
        self._early: dict[tuple[str, str, str], list[Object]] = {}
        """Warnings about objects that were not seen yet: each kind has its own watch."""

    def see(self, at: float, verb: str, item: Object) -> list[Event]:
        """Return the events of an object's new state; `verb` is ADDED, MODIFIED or DELETED."""
        how = _HOW.get(item["kind"])
        events = list(how(self, at, verb, item)) if how else []
        if (key := _key(item["kind"], item["metadata"])) in self._runs:
            early = self._early.pop(key, ())
            events[:0] = [event for warning in early for event in self._event(at, "ADDED", warning)]
        return events

    def run_of(self, item: Object) -> str:
        """Return the run to which a known object belongs, or ''."""
        return self._runs.get(_key(item["kind"], item["metadata"]), "")

    def _workload(self, at: float, verb: str, item: Object) -> Iterator[Event]:
        run = self._note(item, _owner(item))
        if not run:
            return
        self.priorities[run] = item.get("spec", {}).get("priority", 0)
        uid, status = item["metadata"]["uid"], item.get("status", {})
        current, before = conditions(status), self._conditions.get(uid, {})
        self._conditions[uid] = current
        if verb == "DELETED":
            if is_true(before, "QuotaReserved") and not is_true(before, "Finished"):
                yield Event(at, "released", run)
            return
        if _turned(before, current, "Evicted"):
            yield Event(at, "evicted", run, reason=current["Evicted"][1], text=current["Evicted"][2])
        was_over = is_true(before, "Finished")
        if is_true(current, "QuotaReserved") and "admission" in status and not was_over:
            yield from self._hold(at, run, item, is_new=_turned(before, current, "QuotaReserved"))
        if is_true(before, "QuotaReserved") and not is_true(current, "QuotaReserved"):
            yield Event(at, "released", run)
        if _turned(before, current, "Admitted"):
            yield Event(at, "admitted", run)
        if is_true(current, "Finished") and not was_over:
            yield Event(at, "released", run, reason=FINISHED)
        waits = current.get("QuotaReserved", NOTHING)
        if waits[0] == "False" and waits[2] and waits[2] != before.get("QuotaReserved", NOTHING)[2]:
            yield Event(at, "waiting", run, reason=waits[1], text=waits[2])

    def _hold(self, at: float, run: str, workload: Object, *, is_new: bool) -> Iterator[Event]:
        uid, queue = workload["metadata"]["uid"], workload["status"]["admission"]["clusterQueue"]
        flavors = held(workload)
        if is_new:
            yield Event(at, "reserved", run, queue=queue, flavors=flavors)
        elif flavors != self._held.get(uid, flavors):
            yield Event(at, "released", run, reason=RECLAIMED, queue=queue, flavors=flavors)
        self._held[uid] = flavors

    def _run(self, at: float, verb: str, item: Object) -> Iterator[Event]:
        """Yield the end of a run. A Job inside a JobSet is not the run."""
        jobset = _labels(item).get(JOBSET_NAME, "")
        run = self._run_of("JobSet", item, jobset) if jobset else _owner(item) or run_key(item)
        self._note(item, run)
        if jobset:
            return
        current = conditions(status := item.get("status", {}))
        restarts = status.get("restarts", 0)
        if restarts > self._restarts.get(run, 0):
            self._restarts[run] = restarts
            yield Event(at, "restarted", run, attempt=restarts)
        for condition, kind in _ENDS.items():
            if is_true(current, condition) and run not in self._ended and verb != "DELETED":
                self._ended.add(run)
                _, reason, text, _ = current[condition]
                yield Event(at, kind, run, reason=reason, text=text)

    def _pod(self, at: float, verb: str, item: Object) -> Iterator[Event]:
        labels = _labels(item)
        kind, owner = maker(item)
        if not owner:
            return
        run = self._note(item, self._run_of(kind, item, owner))
        name, phase = item["metadata"]["name"], item.get("status", {}).get("phase", "Pending")
        key = item["metadata"]["uid"]
        if phase == "Pending" and pods_of(item, "Pod")[0].chips:
            self._selects[_key("Pod", item["metadata"])] = item["spec"].get("nodeSelector") or {}
        if phase != "Pending" and key not in self._seen and verb != "DELETED":
            self._seen.add(key)
            part = f"{labels[REPLICATED_JOB]}/{labels[JOB_INDEX]}" if REPLICATED_JOB in labels else ""
            started = Event(
                at,
                "podStarted",
                run,
                pod=name,
                node_pool=self._node_pool_of(item["spec"].get("nodeName", "")),
                node=item["spec"].get("nodeName", ""),
                chips=pods_of(item, "Pod")[0].chips,
                job=part,
                job_uid=labels.get(JOB_UID, ""),
                attempt=int(labels.get(RESTART_ATTEMPT, 0)),
            )
            self._running[key] = started
            yield started
        if key in self._running:
            yield from self._restarts_of(at, run, item)
        over = phase in _OVER or verb == "DELETED"
        if over and key in self._running:
            # The kubelet, too, ends what is deleted with the phase Failed: that is not a failure of its own.
            is_gone = phase not in _OVER or (phase != SUCCEEDED and "deletionTimestamp" in item["metadata"])
            reason = DELETED if is_gone else phase
            yield replace(self._running.pop(key), at=at, kind="podEnded", reason=reason)

    def _restarts_of(self, at: float, run: str, pod: Object) -> Iterator[Event]:
        """Yield a warning for each container that restarted in its pod."""
        uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
        for status in pod["status"].get("containerStatuses") or ():
            count = status.get("restartCount", 0)
            if count > self._again.get((uid, status["name"]), 0):
                self._again[uid, status["name"]] = count
                ended = status.get("lastState", {}).get("terminated", {}).get("exitCode", "unknown")
                text = f"container {status['name']} of {name} ended with exit code {ended}"
                text += f" and was started again, restart {count}"
                yield Event(at, "warned", run, reason=RESTARTED, text=text, pod=name)

    def _event(self, at: float, verb: str, item: Object) -> Iterator[Event]:
        is_known = item.get("reason", "") == "Pending"  # Kueue says the same in the Workload's conditions
        if item.get("type") != "Warning" or verb == "DELETED" or is_known:
            return
        about = item.get("involvedObject", {})
        key = _key(about.get("kind", ""), about)
        if key not in self._runs:
            self._early.setdefault(key, []).append(item)
            return
        pod = about["name"] if about["kind"] == "Pod" else ""
        reason, text = item.get("reason", ""), item.get("message", "")
        selects = tuple(self._selects.get(key, {}).items())
        yield Event(at, "warned", self._runs[key], reason=reason, text=text, pod=pod, selects=selects)

    def _run_of(self, kind: str, item: Object, name: str) -> str:
        namespace = item["metadata"]["namespace"]
        return self._runs.get((kind, namespace, name), f"{namespace}/{name}")

    def _note(self, item: Object, run: str) -> str:
        if run:
            self._runs[_key(item["kind"], item["metadata"])] = run
        return run


_HOW: dict[str, Callable[[Observer, float, str, Object], Iterator[Event]]] = {
    "Workload": Observer._workload,  # noqa: SLF001 - the table of this module's own methods
    **dict.fromkeys(MAKERS.values(), Observer._run),  # noqa: SLF001
    "Pod": Observer._pod,  # noqa: SLF001
    "Event": Observer._event,  # noqa: SLF001
}


def _key(kind: str, metadata: Object) -> tuple[str, str, str]:
    """Return (kind, namespace, name) of an object, from its metadata or from a reference to it."""
    return kind, metadata.get("namespace", ""), metadata.get("name", "")


def _labels(item: Object) -> dict[str, str]:
    labels: dict[str, str] = item["metadata"].get("labels", {})
    return labels


def _owner(item: Object) -> str:
    """Return the run that controls an object."""
    for reference in item["metadata"].get("ownerReferences", ()):
        if reference.get("controller"):
            return f"{item['metadata']['namespace']}/{reference['name']}"
    return ""


def _turned(before: Conditions, current: Conditions, condition: str) -> bool:
    """Tell whether a condition has become true, or has become true again, at a later time.

    An earlier time was set by the rehearsal, so that a timer expires.
    """
    return is_true(current, condition) and (
        not is_true(before, condition) or before[condition].since < current[condition].since
    )
