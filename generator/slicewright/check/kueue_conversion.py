"""Kueue's objects from v1beta1 to v1beta2, as the conversion webhook of Kueue 0.19 converts them.

Source: apis/kueue/v1beta1/*_conversion.go of sigs.k8s.io/kueue. A test asks the webhook itself.
"""

from collections.abc import Iterator
from typing import Any

from slicewright.kubernetes.fields import at, mapping, sequence, text
from slicewright.kubernetes.kinds import KUEUE_VERSION
from slicewright.kubernetes.problem import Edit, Fix

_PRIORITY_CLASSES = {
    "kueue.x-k8s.io/workloadpriorityclass": ("kueue.x-k8s.io", "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}


def to_v1beta2(data: dict[str, Any]) -> Fix | None:
    """Return what makes an object of v1beta1 one of v1beta2; None for one that a cluster wrote."""
    if "status" in data:
        return None
    return Fix("Convert to v1beta2", (Edit("replace", ("apiVersion",), KUEUE_VERSION), *_edits(data)))


def moved(data: dict[str, Any]) -> Fix:
    """Return what turns the fields that v1beta2 does not have any more into those that it has instead."""
    return Fix("Write the fields of v1beta2", tuple(_edits(data)))


def _edits(data: dict[str, Any]) -> Iterator[Edit]:
    return _EDITS.get(str(data.get("kind")), lambda _: iter(()))(mapping(data.get("spec")))


def _cluster_queue(spec: dict[str, Any]) -> Iterator[Edit]:
    if "cohort" in spec:
        yield Edit("move", ("spec", "cohortName"), source=("spec", "cohort"))
    if "admissionChecks" in spec:
        checks = sequence(spec["admissionChecks"])
        yield Edit("remove", ("spec", "admissionChecks"))
        if checks:
            named = {"admissionChecks": [{"name": name} for name in checks]}
            yield Edit("add", ("spec", "admissionChecksStrategy"), named)
    for field, old in (("whenCanBorrow", "Borrow"), ("whenCanPreempt", "Preempt")):
        if at(spec, "flavorFungibility", field) == old:
            yield Edit("replace", ("spec", "flavorFungibility", field), "MayStopSearch")


def _admission_check(spec: dict[str, Any]) -> Iterator[Edit]:
    if "retryDelayMinutes" in spec:
        yield Edit("remove", ("spec", "retryDelayMinutes"))


def _multikueue_cluster(spec: dict[str, Any]) -> Iterator[Edit]:
    source = {key: spec[key] for key in ("kubeConfig", "clusterProfileRef") if key in spec}
    if source:
        yield Edit("add", ("spec", "clusterSource"), source)
    for key in source:
        yield Edit("remove", ("spec", key))


def _workload(spec: dict[str, Any]) -> Iterator[Edit]:
    group_and_kind = _PRIORITY_CLASSES.get(text(spec.get("priorityClassSource")))
    if group_and_kind:
        group, kind = group_and_kind
        reference = {"group": group, "kind": kind, "name": spec.get("priorityClassName", "")}
        yield Edit("add", ("spec", "priorityClassRef"), reference)
    for key in ("priorityClassName", "priorityClassSource"):
        if key in spec:
            yield Edit("remove", ("spec", key))


_EDITS = {
    "ClusterQueue": _cluster_queue,
    "AdmissionCheck": _admission_check,
    "MultiKueueCluster": _multikueue_cluster,
    "Workload": _workload,
}
