"""What the API server and webhooks write into a run where people wrote nothing.

`tests/e2e/test_import_workload.py` holds every entry against objects that the API server stored.
"""

from typing import Any

from slicewright.kubernetes.fields import at
from slicewright.rendering.plan.validate_workload import MAX_INT32

DEFAULTS: dict[tuple[str, str], Any] = {
    ("network", "enableDNSHostnames"): True,
    ("network", "publishNotReadyAddresses"): True,
    ("startupPolicy", "startupPolicyOrder"): "AnyOrder",
    ("successPolicy", "operator"): "All",
    ("failurePolicy", "restartStrategy"): "Recreate",
    ("replicatedJobs", "groupName"): "default",
    ("replicatedJobs", "replicas"): 1,
    ("template", "metadata"): {},
    ("spec", "completions"): 1,
    ("spec", "parallelism"): 1,
    ("spec", "suspend"): False,
    ("spec", "manualSelector"): False,
    ("spec", "podReplacementPolicy"): "TerminatingOrFailed",
    ("spec", "dnsPolicy"): "ClusterFirst",
    ("spec", "schedulerName"): "default-scheduler",
    ("spec", "terminationGracePeriodSeconds"): 30,
    ("spec", "securityContext"): {},
    ("workers", "maxSliceRestarts"): 1,
    ("controller", "mainContainerName"): "main",
    ("ports", "protocol"): "TCP",
    ("fieldRef", "apiVersion"): "v1",
    ("configMap", "defaultMode"): 420,
    ("secret", "defaultMode"): 420,
    ("downwardAPI", "defaultMode"): 420,
    ("projected", "defaultMode"): 420,
    ("hostPath", "type"): "",
    ("httpGet", "scheme"): "HTTP",
}
"""By the last two fields of the path."""
_OF_CONTAINERS = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_OF_PROBES = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
for _holder in ("containers", "initContainers"):
    DEFAULTS |= {(_holder, key): value for key, value in _OF_CONTAINERS.items()}
for _holder in ("livenessProbe", "readinessProbe", "startupProbe"):
    DEFAULTS |= {(_holder, key): value for key, value in _OF_PROBES.items()}
_MEANT = {
    ("coordinator", "jobIndex"): 0,
    ("coordinator", "podIndex"): 0,
    ("failurePolicy", "maxRestarts"): 0,
    ("spec", "maxRestarts"): 0,
    ("controller", "elasticSlices"): 0,
    ("controller", "enableMetricsCollection"): False,
}
"""Fields of the JobSet and PathwaysJob APIs that are 0 or false if they are missing."""
_OF_KIND = {
    ("JobSet", "completionMode"): "Indexed",
    ("JobSet", "restartPolicy"): "OnFailure",
    ("Job", "completionMode"): "NonIndexed",
}
_GROUPS = ("network", "startupPolicy", "successPolicy", "failurePolicy")
"""Mappings of a JobSet that are made if they are missing."""


def without_defaults(value: Any, kind: str, path: tuple[str, ...] = ()) -> Any:
    """Return an object from the API server without the values that the server filled in."""
    if isinstance(value, list):
        return [without_defaults(entry, kind, path) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_defaults(entry, kind, (*path, key))
        for key, entry in value.items()
        if not is_default(entry, (*path, key), value, kind)
    }


def is_default(value: Any, path: tuple[str, ...], holder: dict[str, Any], kind: str) -> bool:
    """Tell whether the API server or a webhook writes this value into the holder if it is missing.

    The path leads from the object to the value, without the indexes of lists.
    """
    key = path[-1]
    within = path[-2] if len(path) > 1 else ""
    for table in (DEFAULTS, _MEANT):
        if (within, key) in table:
            return bool(value == table[within, key])
    if (kind, key) in _OF_KIND and within == "spec":
        return bool(value == _OF_KIND[kind, key])
    if key == "backoffLimit" and within == "spec":
        return bool(value == backoff_limit(holder))
    if key == "requests":
        return bool(value == holder.get("limits"))
    if key == "imagePullPolicy":
        return bool(value == _pull_policy(holder))
    if key == "serviceAccount":
        return bool(value == holder.get("serviceAccountName"))
    if key == "name" and path[-3:-1] == ("failurePolicy", "rules"):
        return str(value).startswith("failurePolicyRule")
    return key in _GROUPS and all(is_default(value[field], (*path, field), value, kind) for field in value)


def backoff_limit(job: dict[str, Any]) -> int:
    """Return the default of backoffLimit: no limit for a Job that counts the failures of each index."""
    return MAX_INT32 if job.get("backoffLimitPerIndex") is not None else 6


def _pull_policy(container: Any) -> str:
    """Return the policy of an image: one without a tag is `latest`."""
    name = str(at(container, "image")).rpartition("/")[2]
    return "IfNotPresent" if "@" in name or (":" in name and not name.endswith(":latest")) else "Always"
