"""What the JobSet webhook and the CEL rules of its CRD refuse about policies and order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Rule
from slicewright.core.check.rules.dns import is_subdomain
from slicewright.core.check.rules.jobset_names import JOBSET, WEBHOOK
from slicewright.core.kubernetes.read import at, entries, mapping, number, text, words
from slicewright.core.plan.names import MAX_LABEL
from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.problem import Path

_CRD = "kubernetes-sigs/jobset v0.12.0: config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"
_RULES: Path = ("spec", "failurePolicy", "rules")
_RULE_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_LONGEST_RULE_NAME = 128
_REASONS = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
_GATED_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


def _rules(resource: Resource) -> Iterator[tuple[int, dict[str, Any]]]:
    yield from entries(at(resource.data, *map(str, _RULES)))


def _named(index: int, rule: dict[str, Any]) -> str:
    """Return a rule's name, else the one that the webhook gives it."""
    return text(rule.get("name")) or f"failurePolicyRule{index}"


def _targets(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    known = {pods.name for pods in resource.pods}
    lists: list[tuple[Path, Any]] = [
        (("spec", "successPolicy", "targetReplicatedJobs"), at(resource.data, "spec", "successPolicy"))
    ]
    lists += [((*_RULES, index, "targetReplicatedJobs"), rule) for index, rule in _rules(resource)]
    for path, holder in lists:
        for index, name in words(at(holder, "targetReplicatedJobs")):
            if name not in known:
                yield Finding(
                    (*path, index), f"there is no replicatedJob '{name}'", did_you_mean(name, known)
                )


def _rule_names(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    taken: dict[str, int] = {}
    for index, rule in _rules(resource):
        name = _named(index, rule)
        path = (*_RULES, index, "name") if "name" in rule else (*_RULES, index)
        if not _RULE_NAME.fullmatch(name) or len(name) > _LONGEST_RULE_NAME:
            yield Finding(path, f"'{name}' is not a valid name for a failure rule")
        if taken.setdefault(name, index) != index:
            hint = "give each rule a name of its own; unnamed ones are called failurePolicyRule<index>"
            yield Finding(path, f"failure rule '{name}' comes twice", hint)


def _rule_reasons(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for index, rule in _rules(resource):
        for at_index, reason in words(rule.get("onJobFailureReasons")):
            if reason not in _REASONS:
                path = (*_RULES, index, "onJobFailureReasons", at_index)
                yield Finding(
                    path, f"'{reason}' is not a valid reason of a failed Job", did_you_mean(reason, _REASONS)
                )


def _gates(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    if at(resource.data, "spec", "failurePolicy", "restartStrategy") == "InPlaceRestart":
        path: Path = ("spec", "failurePolicy", "restartStrategy")
        yield Finding(path, "InPlaceRestart is behind a feature gate that is off")
    for index, rule in _rules(resource):
        if rule.get("action") in _GATED_ACTIONS:
            message = f"action {rule['action']} is behind a feature gate that is off"
            yield Finding((*_RULES, index, "action"), message)


def _rule_unnamed(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for index, rule in _rules(resource):
        if not text(rule.get("name")):
            yield Finding((*_RULES, index), "a failure rule without a name is valid through its default only")


def _depends_on(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    jobs = list(entries(at(resource.data, "spec", "replicatedJobs")))
    seen: set[str] = set()
    for index, job in jobs:
        path: Path = ("spec", "replicatedJobs", index, "dependsOn")
        # The webhook takes the job itself for an earlier one: it adds the name before it looks.
        seen.add(text(job.get("name")))
        if index == 0 and isinstance(job.get("dependsOn"), list):
            yield Finding(path, "the first replicatedJob depends on another one")
            continue
        for place, entry in entries(job.get("dependsOn")):
            name = text(entry.get("name"))
            if name not in seen:
                message = f"replicatedJob '{name}' comes after the one that depends on it"
                yield Finding((*path, place, "name"), message)
            elif name == job.get("name"):
                yield Finding((*path, place, "name"), f"replicatedJob '{name}' waits for itself")


def _order(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    if at(resource.data, "spec", "startupPolicy", "startupPolicyOrder") != "InOrder":
        return
    for index, job in entries(at(resource.data, "spec", "replicatedJobs")):
        if "dependsOn" in job:
            path: Path = ("spec", "replicatedJobs", index, "dependsOn")
            yield Finding(path, "startupPolicyOrder: InOrder excludes dependsOn")
            return


def _claims(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    taken: set[str] = set()
    mounted = {
        text(mount.get("name"))
        for pods in resource.pods
        for _, container in (*pods.containers, *pods.init_containers)
        for _, mount in entries(container.get("volumeMounts"))
    }
    own = {
        text(volume.get("name")) for pods in resource.pods for _, volume in entries(pods.spec.get("volumes"))
    }
    for policy_index, policy in entries(at(resource.data, "spec", "volumeClaimPolicies")):
        for index, template in entries(policy.get("templates")):
            path: Path = ("spec", "volumeClaimPolicies", policy_index, "templates", index, "metadata")
            name = text(at(template, "metadata", "name"))
            if text(at(template, "metadata", "namespace")):
                yield Finding((*path, "namespace"), "a claim template names a namespace", "leave it out")
            for wrong, message in (
                (name in taken, f"claim template '{name}' comes twice"),
                (not is_subdomain(name), f"'{name}' is not a valid name for a claim"),
                (
                    len(f"{name}-{resource.name}") > MAX_LABEL,
                    f"claim '{name}-{resource.name}' has more than {MAX_LABEL} characters",
                ),
                (name not in mounted, f"no container mounts claim '{name}'"),
                (name in own, f"a volume of the pods is called '{name}' too"),
            ):
                if wrong:
                    yield Finding((*path, "name"), message)
            taken.add(name)


def _success(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    policy = mapping(at(resource.data, "spec", "failurePolicy"))
    restarts = number(policy.get("maxRestarts"), 0)
    needs = [rule for _, rule in _rules(resource) if rule.get("action") == "RestartJobSet"]
    if policy and needs and not restarts:
        path: Path = ("spec", "failurePolicy")
        yield Finding(path, "action RestartJobSet never restarts: maxRestarts is 0")


RULES = (
    Rule(
        id="JS111",
        severity="error",
        title="A policy names a replicatedJob that does not exist",
        why="The JobSet webhook refuses others.",
        hint="name a replicatedJob of this JobSet",
        kinds=JOBSET,
        check=_targets,
        sources=(WEBHOOK,),
    ),
    Rule(
        id="JS112",
        severity="error",
        title="Names of failure rules are duplicate or malformed",
        why="The JobSet webhook wants a letter, then letters, digits, `_`, `,` and `:`, 128 characters at "
        "most. "
        "Hyphens are refused.",
        hint="write a name such as hostMaintenance or host_maintenance",
        kinds=JOBSET,
        check=_rule_names,
        sources=(WEBHOOK,),
    ),
    Rule(
        id="JS113",
        severity="error",
        title="A failure rule names an unknown Job failure reason",
        why="The JobSet webhook refuses others.",
        hint=f"one of {', '.join(_REASONS)}",
        kinds=JOBSET,
        check=_rule_reasons,
        sources=(WEBHOOK,),
    ),
    Rule(
        id="JS114",
        severity="error",
        title="A default JobSet installation refuses the strategy or action",
        why="In v0.12.0 the gates InPlaceRestart and RestartJob are alpha and off, and the webhook refuses "
        "what "
        "needs them.",
        hint="write Recreate or BlockingRecreate, and RestartJobSet",
        kinds=JOBSET,
        check=_gates,
        sources=(WEBHOOK, "kubernetes-sigs/jobset v0.12.0: pkg/features/features.go"),
    ),
    Rule(
        id="JS115",
        severity="warning",
        title="A failure rule has no name",
        why="The CRD requires it. A create passes because the webhook fills it in first; a later apply of "
        "the "
        'same text fails with "Required value".',
        hint="write name: failurePolicyRule<index>, which is the default",
        kinds=JOBSET,
        check=_rule_unnamed,
        sources=(_CRD, WEBHOOK),
    ),
    Rule(
        id="JS116",
        severity="error",
        title="dependsOn does not name an earlier replicatedJob",
        why="The JobSet webhook refuses dependsOn on the first replicatedJob, and names that stand later "
        "in the "
        "list. A job that waits for itself is accepted and never starts.",
        hint="order the list so that what is waited for comes first",
        kinds=JOBSET,
        check=_depends_on,
        sources=(WEBHOOK,),
    ),
    Rule(
        id="JS117",
        severity="error",
        title="startupPolicyOrder: InOrder with dependsOn",
        why="A CEL rule of the CRD refuses the two together.",
        hint="keep dependsOn, and leave startupPolicy out",
        kinds=JOBSET,
        check=_order,
        sources=(_CRD,),
    ),
    Rule(
        id="JS118",
        severity="error",
        title="A volume claim template is duplicate, misnamed or not mounted",
        why="The JobSet webhook wants one claim a name, `<template>-<jobset>` of 63 characters at most, a "
        "container that mounts it, no volume of the same name, and no namespace.",
        hint="see https://jobset.sigs.k8s.io/docs/ for volumeClaimPolicies",
        kinds=JOBSET,
        check=_claims,
        sources=(WEBHOOK, _CRD),
    ),
    Rule(
        id="JS119",
        severity="warning",
        title="A rule restarts the JobSet, and no restarts are left",
        why="RestartJobSet counts against maxRestarts, which is 0 where nothing is written: the first "
        "failure "
        "is the last.",
        hint="write maxRestarts, or the action RestartJobSetAndIgnoreMaxRestarts",
        kinds=JOBSET,
        check=_success,
        sources=("kubernetes-sigs/jobset v0.12.0: pkg/controllers/failure_policy.go",),
    ),
)
