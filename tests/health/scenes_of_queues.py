"""Queues, admission checks and requests for capacity in every state."""

from collections.abc import Iterator

from tests.e2e import kit
from tests.health.journal import Journal
from tests.health.objects import (
    CHECK,
    CLUSTER,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    REQUEST,
    V5E,
    job,
    queues,
    set_spec,
)
from tests.health.questions import drained, is_busy, met, open_and_busy, reason, without_status
from tests.resolved import resolve_text

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed


def cluster_queues(bed: Bed, seen: Journal) -> Iterator[tuple[str, Object]]:
    """Queues are open, busy, stopped, changed, deleted, and name what is not there."""
    bed.add_nodes(resolve_text(CLUSTER))
    queues(bed, "team-q", 4)
    yield "ClusterQueue/new", seen.first(CLUSTER_QUEUE, "team-q-cq", without_status)
    yield "LocalQueue/new", seen.first(LOCAL_QUEUE, "team-q", without_status)
    yield "ClusterQueue/open", seen.first(CLUSTER_QUEUE, "team-q-cq", met("Active"))
    yield "LocalQueue/open", seen.first(LOCAL_QUEUE, "team-q", met("Active"))
    for name in ("runs", "waits"):
        bed.api.create(job(name, "team-q"))
        seen.first(kit.WORKLOAD, name, lambda item: item.get("status"))
    used = seen.first(CLUSTER_QUEUE, "team-q-cq", is_busy)
    yield "ClusterQueue/busy", used
    yield "LocalQueue/busy", seen.first(LOCAL_QUEUE, "team-q", is_busy)

    set_spec(bed, LOCAL_QUEUE, "team-q", "default", stopPolicy="Hold")
    held = seen.first(LOCAL_QUEUE, "team-q", reason("Active", "Stopped"))
    yield "LocalQueue/held", held
    set_spec(bed, LOCAL_QUEUE, "team-q", "default", stopPolicy="None")
    changed = seen.first(LOCAL_QUEUE, "team-q", lambda item: item["spec"]["stopPolicy"] == "None", after=held)
    yield "LocalQueue/changed", changed
    bed.until("the queue to be open", lambda: open_and_busy(bed.api.get(*LOCAL_QUEUE, "team-q", "default")))
    bed.until("its runs to wait again", lambda: open_and_busy(bed.api.get(*CLUSTER_QUEUE, "team-q-cq")))
    set_spec(bed, CLUSTER_QUEUE, "team-q-cq", stopPolicy="Hold")
    held = seen.first(
        CLUSTER_QUEUE, "team-q-cq", lambda item: reason("Active", "Stopped")(item) and is_busy(item)
    )
    yield "ClusterQueue/held", held
    yield (
        "LocalQueue/behind-a-stopped-queue",
        seen.first(LOCAL_QUEUE, "team-q", reason("Active", "ClusterQueueIsInactive"), after=changed),
    )
    set_spec(bed, CLUSTER_QUEUE, "team-q-cq", stopPolicy="None")
    yield (
        "ClusterQueue/changed",
        seen.first(CLUSTER_QUEUE, "team-q-cq", lambda item: item["spec"]["stopPolicy"] == "None", after=held),
    )
    set_spec(bed, CLUSTER_QUEUE, "team-q-cq", stopPolicy="HoldAndDrain")
    set_spec(bed, LOCAL_QUEUE, "team-q", "default", stopPolicy="HoldAndDrain")
    yield "ClusterQueue/drained", seen.first(CLUSTER_QUEUE, "team-q-cq", drained)
    yield "LocalQueue/drained", seen.first(LOCAL_QUEUE, "team-q", drained)
    yield (
        "Workload/drained",
        seen.first(kit.WORKLOAD, "runs", reason("Evicted", "ClusterQueueStopped", "LocalQueueStopped")),
    )

    flavor, cluster_queue, _ = kit.queue_objects("team-x", chips=4, labels=V5E)
    bed.api.create(cluster_queue)
    yield (
        "ClusterQueue/without-its-flavor",
        seen.first(CLUSTER_QUEUE, "team-x-cq", reason("Active", "FlavorNotFound")),
    )
    bed.api.create(flavor)
    open_now = seen.first(CLUSTER_QUEUE, "team-x-cq", met("Active"))
    check = {"admissionChecks": [{"name": "no-such-check"}]}
    set_spec(bed, CLUSTER_QUEUE, "team-x-cq", admissionChecksStrategy=check)
    yield (
        "ClusterQueue/without-its-check",
        seen.first(CLUSTER_QUEUE, "team-x-cq", reason("Active", "AdmissionCheckNotFound"), after=open_now),
    )
    lost = kit.queue_objects("team-y", chips=4, labels=V5E)[2]
    bed.api.create(lost)
    yield (
        "LocalQueue/without-its-cluster-queue",
        seen.first(LOCAL_QUEUE, "team-y", reason("Active", "ClusterQueueDoesNotExist")),
    )


def deleted_queue(bed: Bed, seen: Journal) -> Iterator[tuple[str, Object]]:
    """A ClusterQueue with an admitted run is deleted: it stays until the run is over."""
    queues(bed, "team-d", 4)
    bed.api.create(job("last", "team-d"))
    seen.first(kit.WORKLOAD, "last", met("Admitted"))
    bed.api.delete(bed.api.get(*CLUSTER_QUEUE, "team-d-cq"))
    yield "ClusterQueue/deleting", seen.first(CLUSTER_QUEUE, "team-d-cq", reason("Active", "Terminating"))


def checks(bed: Bed, seen: Journal) -> Iterator[tuple[str, Object]]:
    """Queued flex-start: a check without its configuration, then requests that wait, come, and fail."""
    bed.add_nodes(resolve_text(CLUSTER))
    name = "flex-check"
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "flex-config"}
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters}
    check = {"apiVersion": kit.KUEUE, "kind": "AdmissionCheck", "metadata": {"name": name}, "spec": spec}
    other = {**check, "metadata": {"name": "foreign-check"}, "spec": {"controllerName": "example.com/nobody"}}
    config = {
        "apiVersion": kit.KUEUE,
        "kind": "ProvisioningRequestConfig",
        "metadata": {"name": "flex-config"},
        "spec": {
            "provisioningClassName": "queued-provisioning.gke.io",
            "managedResources": ["google.com/tpu"],
            "retryStrategy": {"backoffLimitCount": 1, "backoffBaseSeconds": 1, "backoffMaxSeconds": 1},
        },
    }
    made = [check, other, config]
    try:
        bed.api.create(check)
        bed.api.create(other)
        yield "AdmissionCheck/new", seen.first(CHECK, name, without_status)
        yield (
            "AdmissionCheck/without-a-controller",
            seen.first(CHECK, "foreign-check", lambda item: item["metadata"].get("finalizers")),
        )
        broken = seen.first(CHECK, name, reason("Active", "BadParametersRef"))
        yield "AdmissionCheck/without-its-configuration", broken
        strategy = {"admissionChecks": [{"name": name}]}
        queues(bed, "team-f", 8, admissionChecksStrategy=strategy)
        yield (
            "ClusterQueue/with-an-inactive-check",
            seen.first(CLUSTER_QUEUE, "team-f-cq", reason("Active", "AdmissionCheckInactive")),
        )
        bed.api.create(config)
        yield "AdmissionCheck/active", seen.first(CHECK, name, met("Active"), after=broken)
        yield from _requests(bed, seen)
    finally:
        for item in (*bed.api.list(*kit.JOB), *bed.api.list(*CLUSTER_QUEUE), *made):
            bed.api.delete(item)


def _requests(bed: Bed, seen: Journal) -> Iterator[tuple[str, Object]]:
    bed.api.create(job("flex", "team-f"))
    yield (
        "Workload/with-quota",
        seen.first(
            kit.WORKLOAD,
            "flex",
            lambda item: met("QuotaReserved")(item) and item["status"].get("admissionChecks"),
        ),
    )
    request = _request_of(bed, "flex")
    name = request["metadata"]["name"]
    yield "ProvisioningRequest/new", seen.first(REQUEST, name, without_status)
    _say(bed, request, "Accepted", "the request is accepted")
    yield "ProvisioningRequest/accepted", seen.first(REQUEST, name, met("Accepted"))
    _say(bed, request, "Provisioned", "no slice of 2x4 is free yet", status="False")
    yield (
        "ProvisioningRequest/without-capacity",
        seen.first(REQUEST, name, reason("Provisioned", "Provisioned")),
    )
    yield (
        "Workload/waiting-for-capacity",
        seen.first(
            kit.WORKLOAD,
            "flex",
            lambda item: any(
                entry.get("message") for entry in item.get("status", {}).get("admissionChecks") or ()
            ),
        ),
    )
    _say(bed, request, "Provisioned", "1 slice is there")
    yield "ProvisioningRequest/provisioned", seen.first(REQUEST, name, met("Provisioned"))
    seen.first(kit.WORKLOAD, "flex", met("Admitted"))
    _say(bed, request, "BookingExpired", "no longer reserved")
    yield "ProvisioningRequest/expired", seen.first(REQUEST, name, met("BookingExpired"))
    _say(bed, request, "CapacityRevoked", "the nodes were removed")
    yield "ProvisioningRequest/revoked", seen.first(REQUEST, name, met("CapacityRevoked"))

    bed.api.create(job("unlucky", "team-f"))
    request = _request_of(bed, "unlucky")
    _say(bed, request, "Failed", "there is no such machine type")
    yield "ProvisioningRequest/failed", seen.first(REQUEST, request["metadata"]["name"], met("Failed"))
    retry = seen.first(kit.WORKLOAD, "unlucky", met("Evicted"))
    yield "Workload/with-a-failed-request", retry
    again = _request_of(bed, "unlucky", but=request["metadata"]["uid"])
    _say(bed, again, "Failed", "there is no such machine type")
    yield (
        "Workload/rejected-by-its-check",
        seen.first(
            kit.WORKLOAD,
            "unlucky",
            lambda item: item["spec"].get("active") is False and kit.condition(item, "Evicted"),
        ),
    )


def _request_of(bed: Bed, owner: str, *, but: str = "") -> Object:
    def found() -> Object | None:
        return next(
            (
                item
                for item in bed.api.list(*REQUEST)
                if item["metadata"]["name"].startswith(f"job-{owner}-")
                and item["metadata"]["uid"] != but
                and not item["metadata"].get("deletionTimestamp")
            ),
            None,
        )

    return bed.until(f"the ProvisioningRequest of {owner}", found)


def _say(bed: Bed, request: Object, kind: str, message: str, *, status: str = "True") -> None:
    """Write a condition as the cluster autoscaler does."""
    metadata = request["metadata"]
    now = bed.api.get(*REQUEST, metadata["name"], metadata["namespace"])
    entry = {
        "type": kind,
        "status": status,
        "reason": kind,
        "message": message,
        "lastTransitionTime": metadata["creationTimestamp"],
    }
    others = [other for other in now.get("status", {}).get("conditions") or () if other["type"] != kind]
    bed.api.patch(now, {"status": {"conditions": [*others, entry]}}, subresource="status")
