"""Objects in other states than the recorded ones: a recorded object with a few fields changed."""

import copy
from typing import Any

from slicewright.kubernetes.types import Object

QUEUED = {"kueue.x-k8s.io/queue-name": "team-p"}
LACKS = {"message": "no slice of 2x4 is free yet"}
CHECK = {"name": "flex-check", "state": "Pending", **LACKS}
MATCHED = {"message": "Matched rules at index 0"}
TOO_LARGE = {
    "reason": "ExceedsMaxQuota",
    "status": "False",
    "message": (
        "couldn't assign flavors to pod set slice: insufficient quota for google.com/tpu in flavor "
        "team-e-flavor, previously considered podsets requests (0) + current podset request (36) > maximum "
        "capacity (8)"
    ),
}
AGAIN = [
    {"type": "Suspended", "status": "False"},
    {"type": "Pending", "status": "False"},
    {"type": "Suspended", "status": "True"},
]

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "ClusterQueue/new": ("busy", {"status": None}),
    "ClusterQueue/changed": ("busy", {"metadata": {"generation": 2}}),
    "ClusterQueue/deleting": ("busy", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    "ClusterQueue/drained": (
        "held",
        {"spec": {"stopPolicy": "HoldAndDrain"}, "status": {"admittedWorkloads": 0}},
    ),
    "LocalQueue/new": ("busy", {"status": None}),
    "LocalQueue/changed": ("busy", {"metadata": {"generation": 2}}),
    "LocalQueue/drained": (
        "held",
        {"spec": {"stopPolicy": "HoldAndDrain"}, "status": {"admittedWorkloads": 0}},
    ),
    "LocalQueue/behind-a-stopped-queue": (
        "without-its-cluster-queue",
        {
            "spec": {"clusterQueue": "team-q-cq"},
            "conditions": {"Active": {"status": "False", "reason": "ClusterQueueIsInactive"}},
        },
    ),
    "Job/admitted": ("running", {"status": None}),
    "Job/queued": ("running", {"spec": {"suspend": True}}),
    "Job/suspended-by-hand": ("running", {"spec": {"suspend": True}, "labels": {}}),
    "Job/of-a-queued-jobset": (
        "running",
        {"spec": {"suspend": True}, "labels": {"jobset.sigs.k8s.io/jobset-name": "train"}},
    ),
    "Job/waiting-for-nodes": ("running", {"spec": {"completions": 2}, "status": {"ready": 0}}),
    "Job/after-a-failed-pod": ("running", {"status": {"failed": 1}}),
    "Job/failing": (
        "failed",
        {"conditions": {"FailureTarget": {"message": "Job has reached the specified backoff limit"}}},
    ),
    "Job/ending-well": ("completed", {"conditions": {"SuccessCriteriaMet": MATCHED}}),
    "JobSet/without-a-queue": ("running", {"status": None}),
    "JobSet/queued": ("running", {"spec": {"suspend": True}}),
    "JobSet/suspended-by-hand": ("running", {"spec": {"suspend": True}, "labels": {}}),
    "JobSet/admitted": ("running", {"status": {"replicatedJobsStatus": []}}),
    "JobSet/restarting": (
        "running",
        {
            "status": {
                "replicatedJobsStatus": [{"name": "slice", "ready": 1}],
                "restarts": 1,
                "restartsCountTowardsMax": 1,
            },
            "conditions": {"RestartingJobSet": {}},
        },
    ),
    "PathwaysJob/new": ("running", {"status": None}),
    "PathwaysJob/pending": ("running", {"conditions": {"Pending": {}}}),
    "PathwaysJob/queued": ("running", {"labels": QUEUED, "conditions": {"Suspended": {}}}),
    "PathwaysJob/suspended-by-hand": ("running", {"conditions": {"Suspended": {}}}),
    # The controller v0.1.4 writes only a terminal state if the API server refuses the JobSet, keeps it while
    # a second try runs, and appends a condition that comes again.
    "PathwaysJob/refused": ("failed", {"status": {"conditions": []}}),
    "PathwaysJob/refused-once": ("running", {"status": {"terminalState": "Failed"}}),
    "PathwaysJob/with-a-terminal-state-only": ("completed", {"status": {"conditions": []}}),
    "PathwaysJob/suspended-again": ("running", {"labels": QUEUED, "status": {"conditions": AGAIN}}),
    "ProvisioningRequest/new": ("provisioned", {"status": None}),
    "ProvisioningRequest/accepted": (
        "provisioned",
        {"conditions": {"Accepted": {"message": "the request is accepted"}}},
    ),
    "ProvisioningRequest/without-capacity": (
        "provisioned",
        {"conditions": {"Accepted": {}, "Provisioned": {"status": "False", **LACKS}}},
    ),
    "ProvisioningRequest/expired": (
        "provisioned",
        {"conditions": {"Provisioned": {}, "BookingExpired": {"message": "no longer reserved"}}},
    ),
    "Workload/new": ("finished", {"status": None}),
    "Workload/with-quota": (
        "finished",
        {
            "conditions": {"QuotaReserved": {}},
            "status": {"admissionChecks": [{"name": "flex-check", "state": "Pending", "message": ""}]},
        },
    ),
    "Workload/waiting-for-capacity": (
        "finished",
        {"conditions": {"QuotaReserved": {}}, "status": {"admissionChecks": [CHECK]}},
    ),
    "Workload/admitted": ("finished", {"conditions": {"Admitted": {}, "PodsReady": {"status": "False"}}}),
    "Workload/running": ("finished", {"conditions": {"Admitted": {}, "PodsReady": {}}}),
    "Workload/failed": (
        "finished",
        {
            "conditions": {
                "Finished": {"reason": "Failed", "message": "Job has reached the specified backoff limit"}
            }
        },
    ),
    "Workload/deactivated-by-hand": ("finished", {"spec": {"active": False}, "conditions": {"Admitted": {}}}),
    # Kueue writes this reason with its feature gate UnadmittedWorkloadsObservability.
    "Workload/larger-than-its-queue-by-reason": (
        "larger-than-its-queue",
        {"conditions": {"QuotaReserved": TOO_LARGE}},
    ),
}
"""Each state, the recording of its kind that it comes from, and the fields that are different."""


def changed(recorded: dict[str, Object]) -> dict[str, Object]:
    """Return all variants of recorded objects."""
    made = {}
    for state, (source, change) in VARIANTS.items():
        kind = state.partition("/")[0]
        made[state] = _changed(copy.deepcopy(recorded[f"{kind}/{source}"]), change)
    return made


def _changed(item: Object, change: dict[str, Any]) -> Object:
    """Write fields of metadata, spec and status; labels and conditions replace those of the recording."""
    for section in ("metadata", "spec", "status"):
        if change.get(section, {}) is None:
            del item[section]
        else:
            item[section] |= change.get(section, {})
    if "labels" in change:
        item["metadata"]["labels"] = change["labels"]
    if "conditions" in change:
        conditions = [{"type": kind, "status": "True", **said} for kind, said in change["conditions"].items()]
        item["status"]["conditions"] = conditions
    return item
