"""What the JobSet webhook and the CEL rules of its CRD refuse about policies and order."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from slicewright.check.rules.dns import is_subdomain
from slicewright.check.rules.jobset_names import JOBSET
from slicewright.document import edit as edits
from slicewright.document.edit import fix_of_choice
from slicewright.kubernetes.fields import at, entries, mapping, number, text, words
from slicewright.kubernetes.name_room import MAX_LABEL
from slicewright.kubernetes.problem import Path, did_you_mean
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_RULES: Path = ("spec", "failurePolicy", "rules")
_RULE_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_LONGEST_RULE_NAME = 128
_REASONS = (
    *("BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes"),
    *("MaxFailedIndexesExceeded", "PodFailurePolicy"),
)
_CLAIM_NAME = "write lower-case letters, digits, hyphens and dots"
_SHORTER = "shorten the name of the template or of the JobSet"
_MOUNT = "add a volumeMount of this name to a container, or remove the template"
_UNCOUNTED = "RestartJobSetAndIgnoreMaxRestarts"
_TURN_ON = "turn it on in the TPUCluster: controllers.jobset.featureGates"
_GATED_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


def _rules(resource: Resource) -> Iterator[tuple[int, dict[str, Any]]]:
    yield from entries(at(resource.data, *_RULES))


def _rule_name(index: int, policy: dict[str, Any]) -> str:
    """Return the name of a rule, else the one that the webhook gives it."""
    return text(policy.get("name")) or f"failurePolicyRule{index}"


@rule("JS111", JOBSET)
def _targets(resource: Resource, _objects: ObjectSet) -> Findings:
    known = {pods.name for pods in resource.pods}
    holders: list[Path] = [("spec", "successPolicy"), *((*_RULES, index) for index, _ in _rules(resource))]
    for holder in holders:
        for index, name in words(at(resource.data, *holder, "targetReplicatedJobs")):
            if name not in known:
                path = (*holder, "targetReplicatedJobs", index)
                message, fix = f"replicatedJob '{name}' is not defined", fix_of_choice(name, known, path)
                yield Finding(path, message, did_you_mean(name, known), fix)


@rule("JS112", JOBSET)
def _rule_names(resource: Resource, _objects: ObjectSet) -> Findings:
    taken: dict[str, int] = {}
    for index, policy in _rules(resource):
        name = _rule_name(index, policy)
        path = (*_RULES, index, "name") if "name" in policy else (*_RULES, index)
        if not _RULE_NAME.fullmatch(name) or len(name) > _LONGEST_RULE_NAME:
            yield Finding(path, f"'{name}' is not a valid name for a failure rule")
        if taken.setdefault(name, index) != index:
            hint = "give each rule its own name; the default name is failurePolicyRule<index>"
            yield Finding(path, f"duplicate failure rule '{name}'", hint)


@rule("JS113", JOBSET)
def _rule_reasons(resource: Resource, _objects: ObjectSet) -> Findings:
    for index, policy in _rules(resource):
        for at_index, reason in words(policy.get("onJobFailureReasons")):
            if reason not in _REASONS:
                path = (*_RULES, index, "onJobFailureReasons", at_index)
                message = f"'{reason}' is not a valid reason of a failed Job"
                fix = fix_of_choice(reason, _REASONS, path)
                yield Finding(path, message, did_you_mean(reason, _REASONS), fix)


@rule("JS114", JOBSET)
def gates(resource: Resource, objects: ObjectSet) -> Findings:
    """Find fields that need feature gates of JobSet; an installation by other tools may have these."""
    on = objects.site.cluster.jobset_gates if objects.site else {}
    is_certain = objects.is_cluster and (objects.site is None or objects.site.cluster.installs)
    strategy = at(resource.data, "spec", "failurePolicy", "restartStrategy")
    if strategy == "InPlaceRestart" and not on.get("InPlaceRestart"):
        path: Path = ("spec", "failurePolicy", "restartStrategy")
        fix = edits.write(resource.data, {path: "Recreate"}, safe=False)
        message = "InPlaceRestart needs JobSet's feature gate InPlaceRestart, which is off by default"
        yield Finding(path, message, f"write Recreate or BlockingRecreate, or {_TURN_ON}", fix, is_certain)
    for index, policy in _rules(resource):
        if policy.get("action") in _GATED_ACTIONS and not on.get("RestartJob"):
            message = f"{policy['action']} needs JobSet's feature gate RestartJob, which is off by default"
            path = (*_RULES, index, "action")
            action = policy["action"].replace("RestartJob", "RestartJobSet")
            fix = edits.write(resource.data, {path: action}, safe=False)
            yield Finding(path, message, f"write {action}, or {_TURN_ON}", fix, is_certain)


@rule("JS115", JOBSET, "warning")
def _rule_unnamed(resource: Resource, _objects: ObjectSet) -> Findings:
    for index, policy in _rules(resource):
        if not text(policy.get("name")):
            message = "the failure rule has no name, but the CRD requires one"
            fix = edits.write(resource.data, {(*_RULES, index, "name"): _rule_name(index, policy)})
            yield Finding((*_RULES, index), message, fix=fix)


@rule("JS116", JOBSET)
def _depends_on(resource: Resource, _objects: ObjectSet) -> Findings:
    seen: set[str] = set()
    for index, job in entries(at(resource.data, "spec", "replicatedJobs")):
        path = ("spec", "replicatedJobs", index, "dependsOn")
        # The webhook takes the job itself for an earlier one: it adds the name before it looks.
        seen.add(text(job.get("name")))
        if index == 0 and isinstance(job.get("dependsOn"), list):
            yield Finding(path, "the first replicatedJob depends on another one")
            continue
        for place, entry in entries(job.get("dependsOn")):
            name = text(entry.get("name"))
            if name not in seen:
                message = f"replicatedJob '{name}' is listed after the one that depends on it"
                yield Finding((*path, place, "name"), message)
            elif name == job.get("name"):
                yield Finding((*path, place, "name"), f"replicatedJob '{name}' waits for itself")


@rule("JS117", JOBSET, says=("StartupPolicy and DependsOn APIs are mutually exclusive",))
def _order(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "startupPolicy", "startupPolicyOrder") != "InOrder":
        return
    for index, job in entries(at(resource.data, "spec", "replicatedJobs")):
        if job.get("dependsOn"):
            path = ("spec", "replicatedJobs", index, "dependsOn")
            fix = edits.remove(("spec", "startupPolicy"), safe=False)
            yield Finding(path, "dependsOn cannot be combined with startupPolicyOrder: InOrder", fix=fix)
            return


@rule("JS118", JOBSET, says=("namespace cannot be set for VolumeClaimPolicies templates",))
def _claims(resource: Resource, _objects: ObjectSet) -> Findings:
    taken: set[str] = set()
    mounts = [entries(container.get("volumeMounts")) for _, container in resource.containers]
    mounted = {text(mount.get("name")) for _, mount in chain(*mounts)}
    volumes = chain(*(entries(pods.spec.get("volumes")) for pods in resource.pods))
    own = {text(volume.get("name")) for _, volume in volumes}
    for policy_index, policy in entries(at(resource.data, "spec", "volumeClaimPolicies")):
        for index, template in entries(policy.get("templates")):
            path = ("spec", "volumeClaimPolicies", policy_index, "templates", index, "metadata")
            name = text(at(template, "metadata", "name"))
            if text(at(template, "metadata", "namespace")):
                fix = edits.remove((*path, "namespace"))
                yield Finding(
                    (*path, "namespace"), "a claim template cannot have a namespace", "leave it out", fix
                )
            claim = f"{name}-{resource.name}"
            for is_wrong, message, hint in (
                (name in taken, f"duplicate claim template '{name}'", "give each template its own name"),
                (not is_subdomain(name), f"'{name}' is not a valid name for a claim", _CLAIM_NAME),
                (len(claim) > MAX_LABEL, f"claim '{claim}' has more than {MAX_LABEL} characters", _SHORTER),
                (name not in mounted, f"no container mounts claim '{name}'", _MOUNT),
                (name in own, f"the pods also have a volume '{name}'", "rename the volume or the template"),
            ):
                if is_wrong:
                    yield Finding((*path, "name"), message, hint)
            taken.add(name)


@rule("JS119", JOBSET, "warning")
def _success(resource: Resource, _objects: ObjectSet) -> Findings:
    policy = mapping(at(resource.data, "spec", "failurePolicy"))
    restarts = number(policy.get("maxRestarts"), 0)
    restarts_all = any(entry.get("action") == "RestartJobSet" for _, entry in _rules(resource))
    if policy and restarts_all and not restarts:
        verb = "raise" if "maxRestarts" in policy else "write"
        hint = f"{verb} maxRestarts, or write the action {_UNCOUNTED}"
        message = "action RestartJobSet never restarts: maxRestarts is 0"
        yield Finding(("spec", "failurePolicy"), message, hint)
