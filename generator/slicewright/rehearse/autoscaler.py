"""A test double of GKE's autoscaler: it creates slices some time after pods need them, and deletes old ones.

It reads what the real one reads: pods that the scheduler could not place, and ProvisioningRequests. It
deletes slices that are idle or too old. A slice is atomic: its nodes appear and disappear together.
"""

import math
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Self

from msgspec.structs import replace

from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.kubernetes.fields import NOTHING, conditions, digits, is_true
from slicewright.kubernetes.labels import JOB_UID, NODE_POOL, TPU
from slicewright.kubernetes.pods import maker, pods_of
from slicewright.kubernetes.scheduler import node_selector, tolerates
from slicewright.kubernetes.types import Object
from slicewright.rehearse.cluster_setup import ClusterSetup
from slicewright.rehearse.event_log import Clock, EventLog, alive
from slicewright.rehearse.fault_injection import lose_pods
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.model.event import LIMIT
from slicewright.rehearse.model.surroundings import OWNER_LABEL
from slicewright.testbed.nodes import NodePool

REQUEST = ("autoscaling.x-k8s.io/v1", "ProvisioningRequest")
_LOOK_SECONDS = 0.25
_FRESH_SECONDS = 10.0
"""Real seconds that unused new nodes stay at least: the scheduler may be slow."""
_LEAST_IDLE_SECONDS = 3.0
"""Real seconds that other nodes stay at least: the next pods of a slice may be about to start."""
_TEMPLATE = ("v1", "PodTemplate")
_RETRIED_SECONDS = 120.0
"""How old a request is when GKE fails it because no node pool has room for it."""


class Autoscaler:
    """Grows and shrinks the growing node pools of a cluster, from `with` to its end.

    `time.delay` is how long nodes take to come, `time.idle` how long they stay without work. It grows nodes
    only for pods in the namespaces of the rehearsal, because others may use the same cluster.
    There is no capacity for the node pools that are `away`.
    """

    def __init__(
        self,
        setup: ClusterSetup,
        event_log: EventLog,
        clock: Clock,
        pools: Iterable[NodePool],
        time: ClockSettings,
        *,
        namespaces: Iterable[str],
        away: Collection[str] = (),
    ) -> None:
        self._setup = setup
        self._api = setup.api
        self._event_log = event_log
        self._clock = clock
        self._pools = {pool.name: pool for pool in pools}
        self._pool_of = {
            node["metadata"]["name"]: pool.name for pool in self._pools.values() for node in pool.nodes
        }
        self._delay = time.delay
        self._idle = time.idle
        self._namespaces = frozenset(namespaces)
        self._unavailable = away
        self._coming: dict[str, float] = {}
        """Requested node pools, and when they will exist."""
        self._ready: dict[str, float] = {}
        """Node pools that exist, and when pods were last seen on them."""
        self._ends: dict[str, float] = {}
        """When GKE deletes their nodes, used or not."""
        self._fresh: set[str] = set()
        """Those of them that no pod has used yet."""
        self._busy: set[str] = set()
        """Those of them that had pods at the last look."""
        self._away: set[str] = set()
        """Those that something else removed, such as a fault, which may restore them."""
        self._broken: set[str] = set()
        """Those that lack some of their nodes."""
        self._real: frozenset[str] = frozenset()
        """Nodes that exist, as far as it matters."""
        self._promised: dict[str, Object] = {}
        """Node pools that a ProvisioningRequest holds."""
        self._fails: dict[str, float] = {}
        """When ProvisioningRequests fail that no node pool has room for, by their uid."""
        self.next = math.inf
        """When nodes come or go, or a request fails next, as far as it is known; infinity if nothing does."""
        self.looked_at = math.inf
        """When it last looked, on the monotonic clock; infinity if there is nothing to look for."""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Start to look, if there is anything to grow."""
        if self._pools:
            self.looked_at = 0.0
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and wait for the thread: no node may come while objects are being removed."""
        self._ending.set()
        if self._pools:
            self._thread.join()

    def check(self) -> None:
        """Raise BedError if its thread has ended, because then no node would come."""
        alive([self._thread] if self._pools else [], "the double of GKE's autoscaler")

    @property
    def is_busy(self) -> bool:
        """Whether nodes are on their way."""
        return bool(self._coming)

    @property
    def has_nodes(self) -> bool:
        """Whether there are nodes that it removes once they are idle."""
        return bool(self._ready)

    def _run(self) -> None:
        last_error = ""
        while not self._ending.wait(_LOOK_SECONDS):
            try:
                self._look()
            except (ApiError, OSError) as error:
                if str(error) != last_error:  # it is tried again at once
                    self._event_log.note("warned", reason="Autoscaler", text=str(error))
                last_error = str(error)

    def _look(self) -> None:
        began, now = time.monotonic(), self._clock.now()
        for name in [name for name, at in self._coming.items() if at <= now]:
            self._grow(name, now)
            del self._coming[name]
        self._compare(now)
        self._end_lives(now)
        pods = self._api.list("v1", "Pod")
        nodes = [pod["spec"].get("nodeName") for pod in pods if _is_alive(pod)]
        busy = {self._pool_of.get(node, "") for node in nodes} & self._ready.keys()
        self._answer(now)
        self._demand([pod for pod in pods if self._is_ours(pod) and _is_stuck(pod)], busy, now)
        self._release(busy, now)
        idle = self._ready.keys() - busy - self._promised.keys()
        going = (self._ready[name] + self._stays(name) for name in idle)
        ends = (self._ends[name] for name in self._ready)
        self.next = min(*self._coming.values(), *self._fails.values(), *going, *ends, math.inf, math.inf)
        self.looked_at = began

    def _is_ours(self, item: Object) -> bool:
        return item["metadata"].get("namespace") in self._namespaces

    def _compare(self, now: float) -> None:
        """Note slices that something else removed or restored."""
        if not (self._ready or self._away):
            return
        self._real = frozenset(node["metadata"]["name"] for node in self._api.list("v1", "Node"))
        for name in [*self._ready, *self._away]:
            existing = self._existing(name)
            if name in self._ready and not existing:
                del self._ready[name]
                self._fresh.discard(name)
                self._away.add(name)
            elif name in self._away and len(existing) == len(self._pools[name].nodes):
                self._ready[name] = now
                self._ends[name] = now + self._pools[name].life
                self._away.discard(name)
        self._broken = {
            name for name in self._ready if len(self._existing(name)) < len(self._pools[name].nodes)
        }

    def _existing(self, name: str) -> tuple[Object, ...]:
        return tuple(node for node in self._pools[name].nodes if node["metadata"]["name"] in self._real)

    def _grow(self, name: str, now: float) -> None:
        """Make the nodes of a pool."""
        pool = self._pools[name]
        back = self._existing(name) if name in self._away else []
        self._api.each(self._make, pool.nodes)
        self._ready[name] = now
        self._ends[name] = now + pool.life
        self._away.discard(name)
        self._fresh.add(name)
        self._event_log.note_nodes("poolGrew", name, [node for node in pool.nodes if node not in back], "")

    def _make(self, node: Object) -> None:
        """Make a node, unless it came with an attempt that failed, or all is being removed."""
        if self._ending.is_set():
            return
        try:
            self._setup.create(node)
        except ApiError as error:
            if error.reason != "AlreadyExists" or not self._setup.has_made(node):
                raise

    def _demand(self, stuck: list[Object], busy: set[str], now: float) -> None:
        """Request a slice for each Job whose pods found no node, unless an idle one exists or is coming."""
        jobs = {_job_of(pod): pod for pod in stuck}
        for pod in jobs.values():
            fitting = [pool for pool in self._pools.values() if not pool.queued and _fits(pod, pool)]
            waiting = sum(1 for other in jobs.values() if any(_fits(other, pool) for pool in fitting))
            idle = self._ready.keys() - busy - self._broken
            usable = {pool.name for pool in fitting} & (self._coming.keys() | idle)
            missing = [pool for pool in fitting if self._may_come(pool.name)]
            if missing and len(usable) < waiting:
                self._coming[missing[0].name] = now + self._delay

    def _answer(self, now: float) -> None:
        """Provision ProvisioningRequests in free node pools; fail those that no node pool has room for."""
        requests: list[Object] = []
        with Ignored("NotFound"):
            requests = self._api.list(*REQUEST)
        for request in filter(self._is_ours, requests):
            uid = request["metadata"]["uid"]
            before = conditions(request.get("status", {}))
            held = next((name for name, of in self._promised.items() if of["metadata"]["uid"] == uid), "")
            if not (held or is_true(before, "Failed") or is_true(before, "CapacityRevoked")):
                held = self._reserve(request, now)
            if held and not is_true(before, "Accepted"):
                self._say(request, "Accepted", "the request is accepted")
            if held in self._ready and not is_true(before, "Provisioned"):
                self._say(request, "Provisioned", "the nodes exist")
                asked = digits(request["spec"].get("parameters", {}).get("maxRunDurationSeconds", ""))
                self._ends[held] = now + (asked or self._pools[held].life)
        uids = {request["metadata"]["uid"] for request in requests}
        self._promised = {name: of for name, of in self._promised.items() if of["metadata"]["uid"] in uids}
        self._fails = {uid: at for uid, at in self._fails.items() if uid in uids and at > now}

    def _reserve(self, request: Object, now: float) -> str:
        """Hold a free node pool with room for all pods of a request, and return it; '' if none is free.

        GKE provisions a request in one node pool, and never a part of a slice (pkg/provisioningrequests/
        scaleup/orchestrator.go of GoogleCloudPlatform/cluster-autoscaler).
        """
        podsets, namespace = request["spec"]["podSets"], request["metadata"]["namespace"]
        templates = [
            self._api.get(*_TEMPLATE, podset["podTemplateRef"]["name"], namespace)["template"]
            for podset in podsets
        ]
        nodes = sum(podset["count"] for podset in podsets)
        roomy = [
            pool.name
            for pool in self._pools.values()
            if pool.queued
            and len(pool.nodes) >= nodes
            and all(_fits(template, pool) for template in templates)
        ]
        uid = request["metadata"]["uid"]
        if not roomy and self._fails.setdefault(uid, now + _RETRIED_SECONDS) <= now:
            self._say(request, "Failed", f"no node pool has room for all {nodes} pods of the request")
        name = next((name for name in roomy if name not in self._promised.keys() | self._broken), "")
        if name:
            self._promised[name] = request
            if name not in self._ready:
                self._coming.setdefault(name, now + self._delay)
        return name

    def _may_come(self, name: str) -> bool:
        return name not in self._coming | self._ready and name not in self._unavailable

    def _say(self, request: Object, condition: str, message: str) -> None:
        before = self._api.get(*REQUEST, request["metadata"]["name"], request["metadata"]["namespace"])
        entries = before.get("status", {}).get("conditions", ())
        others = [entry for entry in entries if entry["type"] != condition]
        entry = {
            "type": condition,
            "status": "True",
            "reason": condition,
            "message": message,
            "lastTransitionTime": request["metadata"]["creationTimestamp"],
        }
        self._api.patch(request, {"status": {"conditions": [*others, entry]}}, subresource="status")

    def _end_lives(self, now: float) -> None:
        """Remove slices that have existed for as long as GKE keeps them, with the pods that are on them.

        GKE then revokes a ProvisioningRequest that holds them (pkg/provisioningrequests/reconciler/
        provisioning_request_finalizer.go of GoogleCloudPlatform/cluster-autoscaler).
        """
        for name in [name for name in self._ready if self._ends[name] <= now]:
            nodes = self._existing(name)
            self._remove(name, nodes, ", at the end of their life")
            lost = lose_pods(self._api, nodes)
            for run in {f"{pod['metadata']['namespace']}/{maker(pod)[1]}" for pod in lost}:
                text = f"GKE deleted the nodes of {name} at the end of their life"
                self._event_log.note("warned", run, reason=LIMIT, text=text)
            if name in self._promised:
                self._say(self._promised.pop(name), "CapacityRevoked", "the nodes are deleted")

    def _remove(self, name: str, nodes: Sequence[Object], why: str) -> None:
        self._api.each(self._api.delete, nodes)
        del self._ready[name]
        self._fresh.discard(name)
        if name in self._broken:
            self._away.add(name)
        self._event_log.note_nodes("poolShrank", name, nodes, why)

    def _release(self, busy: set[str], now: float) -> None:
        """Remove slices that have been idle for long enough and that no request holds."""
        self._fresh -= busy
        for name in list(self._ready):
            if name in self._promised or name in busy | self._busy:
                self._ready[name] = now  # the clock may have skipped to the end of its work
            elif now - self._ready[name] >= self._stays(name):
                self._remove(name, self._existing(name), ", idle")
        self._busy = busy

    def _stays(self, name: str) -> float:
        least = _FRESH_SECONDS if name in self._fresh else _LEAST_IDLE_SECONDS
        return max(self._idle, self._clock.speed * least)


def _job_of(pod: Object) -> str:
    """Return the uid of the Job that made a pod, else its own."""
    metadata = pod["metadata"]
    return str(metadata.get("labels", {}).get(JOB_UID, metadata["uid"]))


def _is_alive(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def _is_stuck(pod: Object) -> bool:
    """Tell whether the scheduler has said that there is no node for a pod."""
    placing = conditions(pod.get("status", {})).get("PodScheduled", NOTHING)
    return placing.status == "False" and "nodeName" not in pod["spec"] and pods_of(pod, "Pod")[0].chips > 0


def _fits(pod: Object, pool: NodePool) -> bool:
    """Tell whether a pod may run on the nodes of a pool; the name of the node pool does not count."""
    node, selector = pool.nodes[0], node_selector(pod["spec"])
    labels = {key: value for key, value in selector.labels.items() if key not in (NODE_POOL, OWNER_LABEL)}
    taints = [taint for taint in node["spec"].get("taints", ()) if taint["key"] != TPU]
    accepts = replace(selector, labels=labels).accepts(node["metadata"]["labels"])
    return accepts and tolerates(pod["spec"].get("tolerations", ()), *taints)
