"""The rules of the CRDs of Kueue, JobSet, Flux, KubeRay and Kubeflow Trainer.

Defaults that a rule reads are filled in, as the API server does.
"""

import re
from typing import Any

from slicewright.core.check.cel.value import Rules, count_of, get, has
from slicewright.core.kubernetes import kinds
from slicewright.core.kubernetes.labels import HOSTNAME, MULTIKUEUE_CONTROLLER

_DNS_LABEL = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_LONGEST_LABEL = 63
_ADDRESS = re.compile("[A-Za-z][A-Za-z0-9+.-]*://.")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _no_borrowing_without(cohort: str, spec: dict[str, Any]) -> bool:
    if has(spec, cohort) or not has(spec, "resourceGroups"):
        return True
    return not any(
        has(resource, "borrowingLimit")
        for group in spec["resourceGroups"]
        for flavor in get(group, "flavors")
        for resource in get(flavor, "resources")
    )


def _preference_fits(fungibility: dict[str, Any]) -> bool:
    borrow = fungibility.get("whenCanBorrow") or "MayStopSearch"
    preempt = fungibility.get("whenCanPreempt") or "TryNextFlavor"
    return not has(fungibility, "preference") or borrow == preempt == "TryNextFlavor"


def _reclaims_where_it_borrows(preemption: dict[str, Any]) -> bool:
    reclaim = preemption.get("reclaimWithinCohort") or "Never"
    within = (preemption.get("borrowWithinCohort") or {}).get("policy") or "Never"
    return reclaim != "Never" or within == "Never"


def _admitted_as_asked(workload: dict[str, Any]) -> bool:
    status = workload.get("status") or {}
    reserved = any(
        get(condition, "type") == "QuotaReserved" and get(condition, "status") == "True"
        for condition in status.get("conditions") or []
    )
    if not reserved or not has(status, "admission"):
        return True
    return len(get(workload, "spec", "podSets")) == len(get(status, "admission", "podSetAssignments"))


def _counts_fit(podset: dict[str, Any]) -> bool:
    count = podset.get("count")
    return not has(podset, "minCount") or podset["minCount"] <= (1 if count is None else count)


_TOLERATIONS: Rules = {
    "self.all(x, !has(x.key) ? x.operator == 'Exists' : true)": lambda entries: all(
        has(entry, "key") or get(entry, "operator") == "Exists" for entry in entries
    ),
    "self.all(x, has(x.tolerationSeconds) ? x.effect == 'NoExecute' : true)": lambda entries: all(
        not has(entry, "tolerationSeconds") or get(entry, "effect") == "NoExecute" for entry in entries
    ),
    "self.all(x, !has(x.operator) || x.operator in ['Equal', 'Exists'])": lambda entries: all(
        not has(entry, "operator") or entry["operator"] in ("Equal", "Exists") for entry in entries
    ),
    "self.all(x, has(x.operator) && x.operator == 'Exists' ? !has(x.value) : true)": lambda entries: all(
        entry.get("operator") != "Exists" or not has(entry, "value") for entry in entries
    ),
    "self.all(x, !has(x.effect) || x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])": (
        lambda entries: all(not has(entry, "effect") or entry["effect"] in _EFFECTS for entry in entries)
    ),
    "self.all(x, x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])": lambda entries: all(
        get(entry, "effect") in _EFFECTS for entry in entries
    ),
}
_KUEUE: Rules = {
    **_TOLERATIONS,
    "has(self.status) && has(self.status.conditions) && self.status.conditions.exists(c, "
    "c.type == 'QuotaReserved' && c.status == 'True') && has(self.status.admission) ? "
    "size(self.spec.podSets) == size(self.status.admission.podSetAssignments) : true": _admitted_as_asked,
    "!has(self.cohort) && has(self.resourceGroups) ? self.resourceGroups.all(rg, rg.flavors.all(f, "
    "f.resources.all(r, !has(r.borrowingLimit)))) : true": lambda spec: _no_borrowing_without("cohort", spec),
    "!has(self.cohortName) && has(self.resourceGroups) ? self.resourceGroups.all(rg, rg.flavors.all(f, "
    "f.resources.all(r, !has(r.borrowingLimit)))) : true": (
        lambda spec: _no_borrowing_without("cohortName", spec)
    ),
    "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' && "
    "self.whenCanPreempt == 'TryNextFlavor')": _preference_fits,
    "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) &&  "
    "self.borrowWithinCohort.policy != 'Never')": _reclaims_where_it_borrows,
    "self.flavors.all(x, size(x.resources) == size(self.coveredResources))": lambda group: (
        {len(get(flavor, "resources")) for flavor in get(group, "flavors")}
        <= {len(get(group, "coveredResources"))}
    ),
    "[has(self.kubeConfig),has(self.clusterProfileRef)].filter(x,x==true).size() == 1": (
        lambda source: count_of(source, "kubeConfig", "clusterProfileRef") == 1
    ),
    "size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0": lambda values: all(
        value not in values[:index] for index, value in enumerate(values)
    ),
    "!has(self.topologyName) || self.nodeLabels.size() >= 1": (
        lambda spec: (
            not has(spec, "topologyName") or count_of(get(spec, "nodeLabels"), *spec["nodeLabels"]) >= 1
        )
    ),
    "size(self.filter(i, i.nodeLabel == 'kubernetes.io/hostname')) == 0 || "
    "self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'": (
        lambda levels: (
            all(get(level, "nodeLabel") != HOSTNAME for level in levels)
            or get(levels[-1], "nodeLabel") == HOSTNAME
        )
    ),
    "has(self.priorityClassName) ? has(self.priority) : true": (
        lambda spec: not has(spec, "priorityClassName") or has(spec, "priority")
    ),
    "!has(self.priorityClassRef) || has(self.priority)": (
        lambda spec: not has(spec, "priorityClassRef") or has(spec, "priority")
    ),
    "has(self.minCount) ? self.minCount <= self.count : true": _counts_fit,
    "(self.group == 'scheduling.k8s.io') ? self.kind == 'PriorityClass' : true": (
        lambda ref: get(ref, "group") != kinds.SCHEDULING_GROUP or get(ref, "kind") == "PriorityClass"
    ),
    "(self.group == 'kueue.x-k8s.io') ? self.kind == 'WorkloadPriorityClass' : true": (
        lambda ref: get(ref, "group") != kinds.KUEUE_GROUP or get(ref, "kind") == "WorkloadPriorityClass"
    ),
}


_JOBSET: Rules = {
    "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && "
    "self.replicatedJobs.exists(x, has(x.dependsOn)))": lambda spec: (
        not has(spec, "startupPolicy")
        or get(spec, "startupPolicy", "startupPolicyOrder") != "InOrder"
        or not any(has(job, "dependsOn") for job in get(spec, "replicatedJobs"))
    ),
    "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)": lambda policy: (
        all(
            not has(claim, "metadata", "namespace") or claim["metadata"]["namespace"] == ""
            for claim in get(policy, "templates")
        )
    ),
}


_FLUX: Rules = {
    "has(self.configMapRef) != has(self.secretRef)": (
        lambda config: has(config, "configMapRef") != has(config, "secretRef")
    ),
    "!has(self.serviceAccountName) || (has(self.provider) && "
    "(self.provider == 'azure' || self.provider == 'aws'))": (
        lambda spec: not has(spec, "serviceAccountName") or get(spec, "provider") in ("azure", "aws")
    ),
    "has(self.spec) && has(self.spec.url)": lambda source: has(source, "spec", "url"),
    "has(self.spec) && has(self.spec.interval)": lambda source: has(source, "spec", "interval"),
}


def _name(job: dict[str, Any]) -> str:
    """Return the name; entry that the API server makes of generateName is not known here."""
    name = get(job, "metadata").get("name")
    return name if isinstance(name, str) else "made"


_RAY: Rules = {
    f"self in ['{kinds.KUBERAY_OPERATOR}', '{MULTIKUEUE_CONTROLLER}']": lambda by: (
        by in (kinds.KUBERAY_OPERATOR, MULTIKUEUE_CONTROLLER)
    ),
    "!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))": (
        lambda strategy: not (count_of(strategy, "onSuccess", "onFailure") and has(strategy, "deletionRules"))
    ),
    "((has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules))": (
        lambda strategy: count_of(strategy, "onSuccess", "onFailure") == 2 or has(strategy, "deletionRules")  # noqa: PLR2004 - both
    ),
    "!(has(self.jobStatus) && has(self.jobDeploymentStatus))": (
        lambda condition: count_of(condition, "jobStatus", "jobDeploymentStatus") < 2  # noqa: PLR2004 - both
    ),
    "has(self.jobStatus) || has(self.jobDeploymentStatus)": (
        lambda condition: count_of(condition, "jobStatus", "jobDeploymentStatus") > 0
    ),
}
_TRAINER: Rules = {
    f"self in ['{kinds.TRAINJOB_CONTROLLER}', '{MULTIKUEUE_CONTROLLER}']": lambda by: (
        by in (kinds.TRAINJOB_CONTROLLER, MULTIKUEUE_CONTROLLER)
    ),
    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')": (
        lambda job: _DNS_LABEL.fullmatch(_name(job)) is not None
    ),
    "size(self.metadata.name) <= 63": lambda job: len(_name(job)) <= _LONGEST_LABEL,
    "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')": (
        lambda address: address == "" or _ADDRESS.match(address) is not None
    ),
    "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost),has(self.flux)]"
    ".filter(x, x).size() <= 1": (
        lambda policy: count_of(policy, "torch", "mpi", "jax", "xgboost", "flux") <= 1
    ),
    "self >= 1": lambda count: count >= 1,
    "!self.exists(c, c == 'node')": lambda names: "node" not in names,
}
RULES: Rules = {**_KUEUE, **_JOBSET, **_FLUX, **_RAY, **_TRAINER}
