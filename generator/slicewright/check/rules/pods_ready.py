"""Rules of waitForPodsReady: what Kueue evicts while the pods of a run wait for nodes."""

from collections.abc import Iterator
from fractions import Fraction

from slicewright.catalogue.shape import version_numbers
from slicewright.check.rules.kueue_queues import queued_flavors
from slicewright.kubernetes.fields import at, digits, entries, mapping, number, text
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import FLEX_START, MAX_EXECUTION_TIME, QUEUE, QUEUED
from slicewright.kubernetes.pods import Pods, flags
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import plain, seconds
from slicewright.kueue.quota_read import configuration, queue_of
from slicewright.objects import Finding, Findings, ObjectSet, Resource, once, rule

_DEFAULT_TIMEOUT = Fraction(1800)
"""What Kueue takes for no timeout, and for 0 (config/v1beta2/defaults.go)."""
_ENABLED_SINCE = (0, 19)
_RECOVERY_LIMITED_SINCE = (0, 16)
"""The release in which recoveryTimeout has a default, that of timeout."""
_A_DAY = (
    "the pods of all runs of the cluster then have a day to be ready; or use FlexStartQueued, whose wait is "
    "before admission"
)
_NO_LIMIT = (
    "Kueue then evicts no run of the cluster that loses nodes, as long as a workload has elastic slices"
)
_NEVER = Fraction(0)
_A_DAYS_WAIT = Fraction(86_400)
"""A longer limit counts as intended if Kueue never evicts a run."""
_ENOUGH = 3600
"""Nodes of flex-start may take an hour and more; a longer timeout counts as intended."""


def _timeout(objects: ObjectSet) -> Fraction | None:
    """Return after how many seconds Kueue evicts a run whose pods are not ready; None if it never does."""
    wait = configuration(objects).get("waitForPodsReady")
    if isinstance(wait, dict):
        if wait.get("enable") is False:
            return None
        return seconds(wait.get("timeout")) or _DEFAULT_TIMEOUT
    return None if _is_before(objects, _ENABLED_SINCE) else _DEFAULT_TIMEOUT


def _recovery_timeout(objects: ObjectSet) -> Fraction:
    """Return after how many seconds Kueue evicts a run that lost pods; 0 if it does not, or if unknown.

    A written value of more than an hour counts as intended.
    """
    timeout, wait = _timeout(objects), mapping(configuration(objects).get("waitForPodsReady"))
    if timeout is None or not (configuration(objects) or objects.site):
        return _NEVER
    written = seconds(wait.get("recoveryTimeout"))
    if written is not None:
        return written if written <= _ENOUGH else _NEVER
    return _NEVER if _is_before(objects, _RECOVERY_LIMITED_SINCE) else timeout


def _is_before(objects: ObjectSet, release: tuple[int, int]) -> bool:
    """Tell whether the TPUCluster has an older release of Kueue."""
    version = mapping(objects.site.cluster.spec.get("versions")).get("kueue") if objects.site else None
    return isinstance(version, str) and version_numbers(version)[:2] < release


_LABELS: Path = ("spec", "nodeLabels")


@rule("KQ153", RUN_KINDS | {"ResourceFlavor"}, "warning")
def _ready(resource: Resource, objects: ObjectSet) -> Findings:
    timeout = objects.once("timeout of Kueue", _timeout)
    if timeout is None or timeout > _ENOUGH:
        return
    message = "flex-start nodes are created after admission, but Kueue evicts a run that is not ready after "
    message += f"{plain(timeout)} s"
    of_flavors = _flex_start_flavors(objects)
    if resource.name in of_flavors and resource.kind == "ResourceFlavor":
        yield Finding((*_LABELS, FLEX_START), message, _configured(objects, _A_DAY))
    if not of_flavors:  # else a flavor says it for all of its runs
        for pods in _waiting_for_nodes(resource, objects):
            yield Finding(pods.selector_path(FLEX_START), message)


def _waiting_for_nodes(resource: Resource, objects: ObjectSet) -> Iterator[Pods]:
    """Yield the pods for which GKE creates flex-start nodes once Kueue has admitted them."""
    queue = queue_of(resource, objects)
    if QUEUE not in resource.labels or (queue and queued_flavors(objects).get(queue.name)):
        return
    for pods in resource.pods:
        tolerated = {text(entry.get("key")) for entry in pods.tolerations}
        may_be_queued = queue is None and QUEUED in tolerated  # by a queue that is not among the objects
        if pods.is_tpu and pods.selector.get(FLEX_START) == "true" and not may_be_queued:
            yield pods


@rule("KQ174", RUN_KINDS, "warning")
def _counts_waits(resource: Resource, objects: ObjectSet) -> Findings:
    """Find limits that a run can reach while it waits for nodes, before Kueue would evict it."""
    limits: dict[Path, int | None] = {}
    for pods in _waiting_for_nodes(resource, objects):
        limits["metadata", "labels", MAX_EXECUTION_TIME] = digits(resource.labels.get(MAX_EXECUTION_TIME, ""))
        limits[*pods.job_path, "activeDeadlineSeconds"] = number(pods.job.get("activeDeadlineSeconds"))
    wait = objects.once("timeout of Kueue", _timeout) or _A_DAYS_WAIT
    for path, limit in limits.items():
        if limit is not None and limit < wait:
            message = f"the limit of {limit} s includes the wait for flex-start nodes: "
            yield Finding(path, message + f"Kueue lets the run wait for {plain(wait)} s")


@once
def _flex_start_flavors(objects: ObjectSet) -> set[str]:
    """Return the names of the flavors whose nodes GKE creates for pods of admitted runs."""
    queued = set().union(*queued_flavors(objects).values())
    flavors = objects.of_kind("ResourceFlavor")
    names = {flavor.name for flavor in flavors if at(flavor.data, *_LABELS, FLEX_START) == "true"}
    return names - queued


def _configured(objects: ObjectSet, effect: str) -> str:
    """Return a hint for a cluster whose file says nothing of Kueue's configuration; '' for others."""
    if objects.site is None or "kueue" in objects.site.cluster.spec or not objects.site.cluster.managed:
        return ""
    return f"write kueue: {{}} in {objects.site.cluster.source.file.path}: {effect}"


@rule("KQ154", {"JobSet"}, "warning")
def _waiting_jobs(resource: Resource, objects: ObjectSet) -> Findings:
    timeout = objects.once("timeout of Kueue", _timeout)
    if QUEUE not in resource.labels or timeout is None:
        return
    for index, job in entries(at(resource.data, "spec", "replicatedJobs")):
        if any(entry.get("status") == "Complete" for _, entry in entries(at(job, "dependsOn"))):
            message = (
                "the job waits until another one is complete, but Kueue evicts a run that is not ready after"
            )
            yield Finding(("spec", "replicatedJobs", index, "dependsOn"), f"{message} {plain(timeout)} s")
            return


def elastic_slices(resource: Resource) -> Path:
    """Return the path to the number of slices that an elastic Pathways can spare; empty for others."""
    path: Path = ("spec", "controller", "elasticSlices")
    if resource.kind == "PathwaysJob":
        return path if (number(at(resource.data, *path)) or 0) > 0 else ()
    for holder, container in resource.containers:
        index, value = flags(container).get("--num_elastic_slices", (0, "0"))
        if value.strip("0"):
            return (*holder, "args", index)
    return ()


@rule("KQ165", {"JobSet", "PathwaysJob"}, "warning")
def _recovery(resource: Resource, objects: ObjectSet) -> Findings:
    timeout = objects.once("recovery timeout of Kueue", _recovery_timeout)
    path = elastic_slices(resource)
    if path and timeout and QUEUE in resource.labels:
        message = (
            f"the run can go on without a slice, but Kueue evicts it {plain(timeout)} s after it loses one"
        )
        yield Finding(path, message, _configured(objects, _NO_LIMIT))
