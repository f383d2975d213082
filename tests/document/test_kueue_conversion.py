"""Objects of Kueue's v1beta1 become objects of v1beta2; tests/e2e_rules asks Kueue about the same cases."""

from typing import Any

import pytest

from slicewright.check.kueue_conversion import moved, to_v1beta2
from slicewright.document.json_patch import apply
from slicewright.kubernetes.merge import copied

CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "cohort": ("ClusterQueue", {"cohort": "a"}, {"cohortName": "a"}),
    "admission checks": (
        "ClusterQueue",
        {"admissionChecks": ["a"]},
        {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}]}},
    ),
    "no admission checks": ("ClusterQueue", {"admissionChecks": None}, {}),
    "fungibility": (
        "ClusterQueue",
        {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "TryNextFlavor"}},
        {"flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}},
    ),
    "an admission check": (
        "AdmissionCheck",
        {"controllerName": "a", "retryDelayMinutes": 5},
        {"controllerName": "a"},
    ),
    "an admission check without a delay": (
        "AdmissionCheck",
        {"controllerName": "a"},
        {"controllerName": "a"},
    ),
    "a cluster": (
        "MultiKueueCluster",
        {"kubeConfig": {"location": "a"}},
        {"clusterSource": {"kubeConfig": {"location": "a"}}},
    ),
    "a cluster without a source": ("MultiKueueCluster", {}, {}),
    "a workload": (
        "Workload",
        {"priorityClassName": "a", "priorityClassSource": "scheduling.k8s.io/priorityclass"},
        {"priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "a"}},
    ),
    "a workload without a priority": ("Workload", {"queueName": "q"}, {"queueName": "q"}),
    "what stays as it is": ("LocalQueue", {"clusterQueue": "a"}, {"clusterQueue": "a"}),
}


def _object(version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": kind, "spec": copied(spec)}


@pytest.mark.parametrize(("kind", "old", "new"), CASES.values(), ids=CASES)
def test_fields_are_those_of_v1beta2(kind: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Fields get their new names, places and values, whether the version is old or only they are."""
    data = _object("v1beta1", kind, old)
    fix = to_v1beta2(data)
    assert fix is not None

    mixed = _object("v1beta2", kind, old)
    edits = [edit.record() for edit in moved(mixed).edits]

    assert _object("v1beta2", kind, new) == apply(edits, mixed)
    assert _object("v1beta2", kind, new) == apply([edit.record() for edit in fix.edits], data)


def test_object_of_a_cluster_is_not_converted() -> None:
    """A status is Kueue's, and has other fields in the new version."""
    assert to_v1beta2({**_object("v1beta1", "LocalQueue", {}), "status": {}}) is None


def test_workload_with_a_class_source_that_is_not_a_text_is_converted() -> None:
    """The schema reports the value; the conversion leaves it out, as it does an unknown source."""
    data = _object("v1beta1", "Workload", {"priorityClassSource": {}})
    fix = to_v1beta2(data)

    assert fix is not None
    assert [("replace", ("apiVersion",)), ("remove", ("spec", "priorityClassSource"))] == [
        (edit.op, edit.path) for edit in fix.edits
    ]
