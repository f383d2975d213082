"""Rules of failure policies whose effect is not what they say: the first rule that matches decides."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from slicewright.catalogue.shape import joined
from slicewright.check.rules.jobset_names import JOBSET
from slicewright.kubernetes.fields import at, entries, number, sequence, text, words
from slicewright.kubernetes.kinds import JOB_KINDS
from slicewright.kubernetes.labels import MAX_EXECUTION_TIME, QUEUE
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.regular_expression import whole
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_RULES: Path = ("spec", "failurePolicy", "rules")
_DEADLINE, _POD_POLICY = "DeadlineExceeded", "PodFailurePolicy"
_DEFAULT = "RestartJobSet"
_DEADLINE_RULE = f"{{name: deadline, action: FailJobSet, onJobFailureReasons: [{_DEADLINE}]}}"
_CAUSES = {
    _DEADLINE: "activeDeadlineSeconds",
    _POD_POLICY: "podFailurePolicy with the action FailJob",
    "FailedIndexes": "backoffLimitPerIndex",
    "MaxFailedIndexesExceeded": "maxFailedIndexes",
    "BackoffLimitExceeded": "backoffLimit, because it has backoffLimitPerIndex",
}
"""The field that a Job must have to fail for each reason."""
_OTHERS = ("Count", "FailIndex", "Ignore")
"""Actions of a podFailurePolicy that do not fail the Job."""
_CODES = frozenset(range(1, 256))
"""Exit codes of a failed container."""
_KILLED = frozenset({137, 143})
"""Exit codes of a container that a node ends with SIGKILL or SIGTERM."""

_Case = tuple[str, str]
"""A replicatedJob, and a reason for which its Jobs can fail."""


class _Applied(Struct, frozen=True):
    """A rule of a failure policy, and what happens before it."""

    index: int
    data: dict[str, Any]
    cases: set[_Case]
    """The failures that it matches."""
    earlier: dict[_Case, str]
    """The actions of failures that earlier rules decide."""


def _reasons(pods: Pods) -> set[str]:
    """Return the reasons for which a Job can fail (pkg/controller/job of Kubernetes)."""
    per_index = pods.job.get("backoffLimitPerIndex") is not None
    rules = entries(at(pods.job, "podFailurePolicy", "rules"))
    causes = {
        _DEADLINE: pods.job.get("activeDeadlineSeconds") is not None,
        _POD_POLICY: any(entry.get("action") not in _OTHERS for _, entry in rules),
        "FailedIndexes": per_index,
        "MaxFailedIndexesExceeded": pods.job.get("maxFailedIndexes") is not None,
        "BackoffLimitExceeded": not per_index or "backoffLimit" in pods.job,
    }
    return {reason for reason, is_cause in causes.items() if is_cause}


def _applied(resource: Resource) -> Iterator[_Applied]:
    """Yield the rules of a JobSet in order; one with patterns may not apply, so it decides no failure."""
    possible = {(pods.name, reason) for pods in resource.pods for reason in _reasons(pods)}
    decided: dict[_Case, str] = {}
    for index, entry in entries(at(resource.data, *_RULES)):
        targets = sequence(entry.get("targetReplicatedJobs")) or [pods.name for pods in resource.pods]
        reasons = sequence(entry.get("onJobFailureReasons")) or _CAUSES
        cases = {(job, reason) for job, reason in possible if job in targets and reason in reasons}
        yield _Applied(index, entry, cases, dict(decided))
        if not entry.get("onJobFailureMessagePatterns"):
            for case in cases:
                decided.setdefault(case, text(entry.get("action")))


def restarts(resource: Resource, case: _Case) -> bool:
    """Tell whether a JobSet surely restarts after a failure."""
    action = _DEFAULT
    for applied in _applied(resource):
        if case in applied.cases:
            if applied.data.get("onJobFailureMessagePatterns"):
                return False
            action = text(applied.data.get("action"))
            break
    counts = number(at(resource.data, "spec", "failurePolicy", "maxRestarts"), 0) or 0
    return action.startswith("Restart") and (action.endswith("IgnoreMaxRestarts") or counts > 0)


@rule("JS143", JOB_KINDS, "warning")
def _deadline(resource: Resource, _objects: ObjectSet) -> Findings:
    """Find deadlines that end one attempt: of Jobs that a JobSet restarts, or of pods that are replaced."""
    is_jobset = resource.kind == "JobSet"
    first = f"write rules: [{_DEADLINE_RULE}] in spec.failurePolicy"
    if at(resource.data, *_RULES):
        first = f"add to {'.'.join(map(str, _RULES))}, before all others, {_DEADLINE_RULE}"
    for pods in resource.pods:
        of_job, of_pod = (number(holder.get("activeDeadlineSeconds")) for holder in (pods.job, pods.spec))
        again = number(pods.job.get("backoffLimit"), 6) and not pods.job.get("podFailurePolicy")
        if of_job is not None and is_jobset and restarts(resource, (pods.name, _DEADLINE)):
            message = f"the deadline of {of_job} s ends the Job, but then the JobSet restarts it"
            hint = first + _whole(resource, of_job)
            yield Finding((*pods.job_path, "activeDeadlineSeconds"), message, hint)
        if of_pod is not None and (of_job is None or of_pod < of_job):
            if is_jobset and restarts(resource, (pods.name, "BackoffLimitExceeded")):
                maker = "the JobSet restarts the run"
            elif again:
                maker = "the Job creates new pods"
            else:
                continue
            message = f"the deadline of {of_pod} s ends the pods, but then {maker}"
            hint = f"write activeDeadlineSeconds: {of_pod} in the spec of the Job, not of the pods"
            if is_jobset:
                hint += f", and {first}"
            hint += _whole(resource, of_pod)
            yield Finding((*pods.spec_path, "activeDeadlineSeconds"), message, hint)


def _whole(resource: Resource, seconds: int) -> str:
    """Return the end of a hint: how Kueue can limit the whole run; '' if it does not manage the run."""
    if QUEUE not in resource.labels or MAX_EXECUTION_TIME in resource.labels:
        return ""
    way = f'{MAX_EXECUTION_TIME}: "{seconds}" (in a TPUWorkload: maxExecutionTimeSeconds)'
    return f"; to limit the run with all restarts, write the label {way} instead"


@rule("JS144", JOBSET, "warning")
def _impossible(resource: Resource, _objects: ObjectSet) -> Findings:
    known = {pods.name for pods in resource.pods}
    for applied in _applied(resource):
        named = [reason for _, reason in words(applied.data.get("onJobFailureReasons")) if reason in _CAUSES]
        targets = sequence(applied.data.get("targetReplicatedJobs"))  # JS111 reports unknown ones
        if resource.pods and named and not applied.cases and known.issuperset(map(str, targets)):
            lacking = joined([_CAUSES[reason] for reason in named], "or")
            message = f"the rule never applies: no Job that it is for has {lacking}"
            hint = f"write {lacking} in the Job, or remove the rule"
            yield Finding((*_RULES, applied.index, "onJobFailureReasons"), message, hint)


@rule("JS145", JOBSET, "warning")
def _shadowed(resource: Resource, _objects: ObjectSet) -> Findings:
    for applied in _applied(resource):
        action = text(applied.data.get("action"))
        others = {applied.earlier[case] for case in applied.cases if case in applied.earlier}
        if applied.cases and applied.cases <= applied.earlier.keys() and others != {action}:
            message = "the rule never applies: earlier rules match the same failures, with "
            yield Finding((*_RULES, applied.index), message + joined(sorted(others)))


@rule("JS155", JOBSET, "warning")
def _patterns(resource: Resource, _objects: ObjectSet) -> Findings:
    for applied in _applied(resource):
        for place, pattern in words(applied.data.get("onJobFailureMessagePatterns")):
            if whole(pattern) is None and "\\Q" not in pattern:  # a quotation that only Go has
                path: Path = (*_RULES, applied.index, "onJobFailureMessagePatterns", place)
                yield Finding(path, f"'{pattern}' is not a regular expression of Go, so it matches nothing")


def is_of_disruptions(entry: dict[str, Any]) -> bool:
    """Tell whether a rule of a podFailurePolicy is about pods that their node or the cluster ends."""
    conditions = entries(entry.get("onPodConditions"))
    return any(condition.get("type") == "DisruptionTarget" for _, condition in conditions)


@rule("JS146", JOB_KINDS, "warning")
def _exit_codes(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        path: Path = (*pods.job_path, "podFailurePolicy", "rules")
        names = [text(container.get("name")) for _, container in (*pods.containers, *pods.init_containers)]
        decided: dict[tuple[str, int], str] = {}
        for index, entry in entries(at(pods.job, "podFailurePolicy", "rules")):
            codes = _codes(entry)
            own = text(at(entry, "onExitCodes", "containerName"))
            cases = {(name, code) for name in ([own] if own else names) for code in codes}
            action = text(entry.get("action"))
            message = "the rule never applies: earlier rules match the same exit codes"
            if is_of_disruptions(entry):
                cases = {(name, code) for name in names[: len(pods.containers)] for code in _KILLED}
                message = "earlier rules match exit codes 137 and 143, with which a node ends a pod"
            others = {decided[case] for case in cases if case in decided}
            if cases and cases <= decided.keys() and others != {action}:
                yield Finding((*path, index), f"{message}, with {joined(sorted(others))}")
            if codes:
                decided = dict.fromkeys(cases, action) | decided


def _codes(entry: dict[str, Any]) -> frozenset[int]:
    """Return the exit codes that a rule matches."""
    written = at(entry, "onExitCodes", "values")
    values = frozenset(value for value in sequence(written) if isinstance(value, int))
    operator = at(entry, "onExitCodes", "operator")
    if operator == "NotIn":
        return _CODES - values
    return values if operator == "In" else frozenset()
