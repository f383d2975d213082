"""Kueue's own conversion webhook makes of each v1beta1 object what our fix makes of it."""

from typing import Any

import pytest

from slicewright.check.kueue_conversion import to_v1beta2
from slicewright.cluster.api.client import Api
from slicewright.document.json_patch import apply
from slicewright.kubernetes.merge import copied

POD = {
    "metadata": {},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b", "resources": {}}]},
}
SPECS: dict[str, tuple[str, dict[str, Any]]] = {
    "cohort and fungibility": (
        "ClusterQueue",
        {
            "cohort": "all",
            "namespaceSelector": {},
            "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
        },
    ),
    "admission checks": ("ClusterQueue", {"admissionChecks": ["a", "b"]}),
    "no admission checks": ("ClusterQueue", {"admissionChecks": []}),
    "a fungibility that stays": (
        "ClusterQueue",
        {"flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}},
    ),
    "a cohort": ("Cohort", {"parentName": "all"}),
    "a local queue": ("LocalQueue", {"clusterQueue": "a", "stopPolicy": "Hold"}),
    "a flavor": ("ResourceFlavor", {"nodeLabels": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}),
    "a topology": ("Topology", {"levels": [{"nodeLabel": "a"}]}),
    "an admission check": ("AdmissionCheck", {"controllerName": "a.b/c", "retryDelayMinutes": 5}),
    "provisioning": ("ProvisioningRequestConfig", {"provisioningClassName": "a.b"}),
    "a kubeconfig": ("MultiKueueCluster", {"kubeConfig": {"location": "a", "locationType": "Secret"}}),
    "clusters": ("MultiKueueConfig", {"clusters": ["a"]}),
    "a priority class of Kueue": (
        "Workload",
        {
            "priorityClassName": "a",
            "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
            "priority": 1,
            "podSets": [{"name": "main", "count": 1, "template": POD}],
        },
    ),
    "a priority class of pods": (
        "Workload",
        {
            "priorityClassName": "a",
            "priorityClassSource": "scheduling.k8s.io/priorityclass",
            "priority": 1,
            "podSets": [{"name": "main", "count": 1, "template": POD}],
        },
    ),
}
NAMESPACED = {"LocalQueue", "Workload"}


@pytest.mark.parametrize("case", SPECS)
def test_fix_is_what_the_webhook_makes(api: Api, case: str) -> None:
    """The spec that the API server keeps of a v1beta1 object is that of our v1beta2 object."""
    kind, spec = SPECS[case]
    metadata = {"name": f"converted-{list(SPECS).index(case)}"}
    if kind in NAMESPACED:
        metadata["namespace"] = "default"
    old = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}
    fix = to_v1beta2(old)
    assert fix is not None
    ours = apply([edit.record() for edit in fix.edits], copied(old))

    expected = api.create(copied(ours), dryRun="All", fieldValidation="Strict")
    api.create(old, fieldValidation="Strict")
    try:
        kept = api.get(ours["apiVersion"], kind, metadata["name"], metadata.get("namespace", ""))
    finally:
        api.delete(ours)

    assert expected["spec"] == kept["spec"]
