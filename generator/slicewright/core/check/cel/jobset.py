"""The rules of the JobSet CRD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.cel.value import get, has

if TYPE_CHECKING:
    from slicewright.core.check.cel.value import Rules


def _one_way_to_start(spec: dict[str, Any]) -> bool:
    if not has(spec, "startupPolicy") or get(spec, "startupPolicy", "startupPolicyOrder") != "InOrder":
        return True
    return not any(has(job, "dependsOn") for job in get(spec, "replicatedJobs"))


def _claims_without_namespace(policy: dict[str, Any]) -> bool:
    return all(
        not has(claim, "metadata", "namespace") or claim["metadata"]["namespace"] == ""
        for claim in get(policy, "templates")
    )


RULES: Rules = {
    "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && "
    "self.replicatedJobs.exists(x, has(x.dependsOn)))": _one_way_to_start,
    "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)": (
        _claims_without_namespace
    ),
}
