"""Rules of Kueue's versions: fields that moved, and waitForPodsReady of 0.19."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slicewright.core.catalogue.shape import version_numbers
from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.quota_read import configuration
from slicewright.core.check.rules.shapes import is_tpu
from slicewright.core.kubernetes.kinds import RUN_KINDS
from slicewright.core.kubernetes.labels import FLEX_START, QUEUE
from slicewright.core.kubernetes.read import at, mapping, text

if TYPE_CHECKING:
    from slicewright.core.problem import Path

_MOVED: dict[str, dict[tuple[str, ...], str]] = {
    "ClusterQueue": {
        ("spec", "cohort"): "spec.cohortName",
        ("spec", "admissionChecks"): "spec.admissionChecksStrategy.admissionChecks: [{name: ...}]",
    },
    "Cohort": {("spec", "parent"): "spec.parentName"},
    "AdmissionCheck": {("spec", "retryDelayMinutes"): "spec.retryStrategy of the ProvisioningRequestConfig"},
    "MultiKueueCluster": {
        ("spec", "kubeConfig"): "spec.clusterSource.kubeConfig",
        ("spec", "clusterProfileRef"): "spec.clusterSource.clusterProfileRef",
    },
}
_FUNGIBILITY = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
_DURATION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,9})?(?:h|m|s))+")
_PART = re.compile(r"([0-9.]+)(h|m|s)")
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_DEFAULT_TIMEOUT = 1800
_ENABLED_SINCE = (0, 19)
_ENOUGH = 3600
"""Nodes of flex-start may take an hour and more; a longer timeout was chosen knowingly."""


@rule("KQ152", _MOVED)
def _moved(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.version != "v1beta2":
        return
    for path, instead in _MOVED.get(resource.kind, {}).items():
        if at(resource.data, *path) is not None:
            yield Finding(path, f"v1beta2 has no field {path[-1]}: it is dropped", f"write {instead}")
    if resource.kind == "ClusterQueue":
        for key, value in mapping(at(resource.data, "spec", "flavorFungibility")).items():
            if isinstance(value, str) and value in _FUNGIBILITY:
                path = ("spec", "flavorFungibility", key)
                yield Finding(path, f"v1beta2 has no {key}: {value}", f"write {_FUNGIBILITY[value]}")


def _timeout(objects: ObjectSet) -> int | None:
    """Return after how many seconds Kueue evicts what is not ready; None where it waits."""
    config = configuration(objects)
    wait = config.get("waitForPodsReady")
    if isinstance(wait, dict):
        if wait.get("enable") is False:
            return None
        written = text(wait.get("timeout"))
        if _DURATION.fullmatch(written):
            return int(sum(float(value) * _SECONDS[unit] for value, unit in _PART.findall(written)))
        return _DEFAULT_TIMEOUT
    version = mapping(objects.site.cluster.spec.get("versions")).get("kueue") if objects.site else None
    if isinstance(version, str) and version_numbers(version)[:2] < _ENABLED_SINCE:
        return None
    return _DEFAULT_TIMEOUT


@rule("KQ153", RUN_KINDS, "warning")
def _ready(resource: Resource, objects: ObjectSet) -> Findings:
    if QUEUE not in resource.labels:
        return
    timeout = objects.once("timeout of Kueue", _timeout)
    if timeout is None or timeout > _ENOUGH:
        return
    for pods in resource.pods:
        if is_tpu(pods) and pods.selector.get(FLEX_START) == "true":
            message = (
                f"flex-start nodes come after admission, and Kueue evicts what is not ready in {timeout} s"
            )
            yield Finding(pods.selector_path(FLEX_START), message)


@rule("KQ154", {"JobSet"}, "warning")
def _waiting_jobs(resource: Resource, objects: ObjectSet) -> Findings:
    timeout = objects.once("timeout of Kueue", _timeout)
    if QUEUE not in resource.labels or timeout is None:
        return
    for index, job in enumerate(resource.data["spec"]["replicatedJobs"] if resource.pods else ()):
        depends = at(job, "dependsOn")
        if isinstance(depends, list) and any(at(entry, "status") == "Complete" for entry in depends):
            message = (
                f"the job starts when another is complete, and Kueue evicts what is not ready in {timeout} s"
            )
            path: Path = ("spec", "replicatedJobs", index, "dependsOn")
            yield Finding(path, message)
