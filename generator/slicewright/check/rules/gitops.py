"""Rules of what a GitOps tool applies again and again, and of Argo CD; texts name the traps as G01 to G20."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from slicewright.check.rules.flux_kustomizations import changes_name, is_forced, is_written_once
from slicewright.check.selection import is_application, is_flux_kustomization, tools_of
from slicewright.document import edit as edits
from slicewright.kubernetes.fields import at, entries, mapping, sequence, text, words
from slicewright.kubernetes.kinds import CLUSTER_SCOPED, RUN_KINDS, RUNS, is_namespaced
from slicewright.kubernetes.labels import (
    HELM_HOOK,
    HOOK,
    INSTANCE,
    MANAGED_BY,
    PROVISIONING,
    QUEUE,
    SYNC_OPTIONS,
    SYNC_WAVE,
)
from slicewright.kubernetes.problem import Path
from slicewright.kueue import assignment, quota, quota_read, quota_workload
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_JOBS = frozenset({"JobSet", "Job"})
_HELM_HOOKS = frozenset(
    f"{when}-{what}" for when in ("pre", "post") for what in ("install", "upgrade", "delete")
)
"""The Helm hooks that Argo CD treats as its own hooks."""
_WAVE = re.compile("-?[0-9]{1,9}")
_VOLATILE = frozenset({"app.kubernetes.io/version", MANAGED_BY, "helm.sh/chart", "git-commit", "commit"})


@rule("GIT101", _JOBS, "warning")
def _suspend(resource: Resource, _objects: ObjectSet) -> Findings:
    suspend = at(resource.data, "spec", "suspend")
    if isinstance(suspend, bool) and QUEUE in resource.labels:
        message = f"suspend: {str(suspend).lower()} is set in a queued run"
        yield Finding(("spec", "suspend"), message, fix=edits.remove(("spec", "suspend")))


@rule("GIT102", RUN_KINDS, "warning")
def _ttl(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "ttlSecondsAfterFinished") is not None:
        message = "ttlSecondsAfterFinished deletes the run; the next sync starts it again"
        path = ("spec", "ttlSecondsAfterFinished")
        yield Finding(path, message, fix=edits.remove(path, safe=False))


def _hook_key(resource: Resource, objects: ObjectSet) -> str:
    """Return the annotation that makes an object a hook of Argo CD, which also obeys the hooks of Helm."""
    if HOOK in resource.annotations:
        return HOOK
    if _HELM_HOOKS.isdisjoint(resource.annotations.get(HELM_HOOK, "").replace(" ", "").split(",")):
        return ""
    return HELM_HOOK if any(map(is_application, tools_of(resource, objects))) else ""


@rule("GIT103", RUN_KINDS, "warning")
def _hook(resource: Resource, objects: ObjectSet) -> Findings:
    key = _hook_key(resource, objects)
    if key and QUEUE in resource.labels:
        yield Finding(
            ("metadata", "annotations", key),
            "Argo CD treats a queued hook as done as soon as Kueue admits it",
            f"leave {key} out and sync the run as a normal object, in the last wave",
        )
    elif key == HELM_HOOK and any(pods.asks_for_tpu for pods in resource.pods):
        message = "Argo CD treats a Helm hook as its own hook, and starts the run again at every sync"
        yield Finding(
            ("metadata", "annotations", key), message, f"leave {key} out, and give a changed run a new name"
        )


def _is_server_side(resource: Resource, objects: ObjectSet) -> bool:
    """Tell whether every tool that syncs an object applies it server-side, as Flux always does."""
    if options(resource.annotations).get("ServerSideApply") == "true":
        return True
    tools = tools_of(resource, objects)
    applications = [_specs(tool)[1] for tool in tools if tool.kind in _APPLICATIONS]
    is_synced = applications != [] or any(map(is_flux_kustomization, tools))
    listed = (sequence(at(spec, "syncPolicy", "syncOptions")) for spec in applications)
    return is_synced and all("ServerSideApply=true" in sync for sync in listed)


@rule("GIT104", {"JobSet"}, "warning")
def _defaults(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare with what JobSet's webhook and the API server fill in."""
    for pods in resource.pods:
        job = pods.path[:3]
        defaults: dict[Path, Any] = {
            (*job, "replicas"): 1,
            (*job, "groupName"): "default",
            (*pods.job_path, "completionMode"): "Indexed",
            (*pods.spec_path, "restartPolicy"): "OnFailure",
        }
        missing = {path: value for path, value in defaults.items() if at(resource.data, *path) is None}
        missing |= {
            (*path, "ports", index, "protocol"): "TCP"
            for path, container in (*pods.containers, *pods.init_containers)
            for index, port in entries(container.get("ports"))
            if "protocol" not in port
        }
        if missing and not _is_server_side(resource, objects):
            names = dict.fromkeys(f"{'ports[].' * ('ports' in path)}{path[-1]}" for path in missing)
            fields = dict.fromkeys(f"{path[-1]}: {value}" for path, value in missing.items())
            message = f"defaults are not written out: {', '.join(names)}"
            yield Finding(job, message, f"write {', '.join(fields)}", edits.write(resource.data, missing))


@rule("GIT105", _JOBS, "warning")
def _tolerations(resource: Resource, objects: ObjectSet) -> Findings:
    queues = quota_read.queues_of(resource, objects)
    if not queues:
        return
    known, queue = queues[0]
    for pods, pod_set in zip(resource.pods, quota_workload.pod_sets(resource, objects), strict=True):
        # Where Git has no list, one that Kueue makes is not a difference. A run that may take several ways of
        # provisioning takes what Kueue adds, and the Application of frozen runs ignores it.
        ways = [entry for entry in pod_set.tolerations if entry.get("key") == PROVISIONING]
        if pod_set.tolerations and not ways[1:]:
            choices = assignment.choices(known, queue, [pod_set])
            flavors = dict.fromkeys(name for choice in choices for name in choice.flavors)
            for name, entry in islice(_added(pod_set, flavors, known), 1):
                message = f"flavor '{name}' adds a toleration that is not in the file: {_shown_taint(entry)}"
                path = (*pods.spec_path, "tolerations")
                yield Finding(path, message, fix=edits.append(resource.data, path, entry))


def _added(
    pods: quota.PodSet, flavors: Iterable[str], known: quota.Quotas
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (flavor, toleration) of the tolerations that Kueue would add to some pods."""
    own = {_toleration(entry) for entry in pods.tolerations}
    for name in flavors:
        for entry in known.flavors.get(name, quota.Flavor({})).tolerations:
            if _toleration(entry) not in own:
                yield name, entry


def _toleration(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return the fields of a toleration that Kueue compares, so that it adds none twice."""
    operator = text(entry.get("operator")) or "Equal"
    return text(entry.get("key")), operator, text(entry.get("value")), text(entry.get("effect"))


def _shown_taint(entry: dict[str, Any]) -> str:
    """Return `gke-spot=true:NoSchedule`, or without a value where any will do."""
    key, _, value, effect = _toleration(entry)
    taint = f"{key}={value}" if value else key or "every taint"
    return f"{taint}:{effect}" if effect else taint


@rule("GIT107", RUN_KINDS, "warning")
def _fixed_name(resource: Resource, objects: ObjectSet) -> Findings:
    if not resource.name or changes_name(resource):
        return
    # A hook is deleted before it is made again, unless a policy says otherwise.
    is_left_or_replaced = is_written_once(resource) or is_forced(resource, objects)
    if not _hook_key(resource, objects) and not is_left_or_replaced:
        message = f"the name '{resource.name}' does not change with the content, "
        message += f"but a sync cannot change the pods of a {resource.kind}"
        yield Finding(("metadata", "name"), message)


@rule("GIT138")
def _generated_name(resource: Resource, objects: ObjectSet) -> Findings:
    prefix = text(resource.metadata.get("generateName"))
    if prefix and not resource.name and not _hook_key(resource, objects):
        message = f"{resource.kind} has generateName, but a sync needs a name"
        hint = f"write name: {prefix}1 in place of generateName, and another number for each new run"
        is_certain = bool(tools_of(resource, objects))
        yield Finding(("metadata", "generateName"), message, hint, is_certain=is_certain)


@rule("GIT111", (kind for _, kind in CLUSTER_SCOPED), "warning")
def _namespaced(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.namespace and not is_namespaced(resource.group, resource.kind):
        path = ("metadata", "namespace")
        message = f"{resource.kind} is cluster-scoped, but metadata.namespace is set"
        yield Finding(path, message, fix=edits.remove(path))


@rule("GIT115", RUN_KINDS, "warning")
def _tracking(resource: Resource, _objects: ObjectSet) -> Findings:
    if INSTANCE in resource.labels:
        message = f"Argo CD tracks its objects by the label {INSTANCE}"
        yield Finding(("metadata", "labels", INSTANCE), message, "use app.kubernetes.io/name")
    for pods in resource.pods:
        for key in pods.labels:
            if key in _VOLATILE | {INSTANCE}:
                path = (*pods.path, "metadata", "labels", key)
                yield Finding(
                    path, f"label {key} of the pods changes with releases, but the pod template cannot change"
                )


_APPLICATIONS = frozenset({"Application", "ApplicationSet"})
_RUN_GROUPS = frozenset(run.group for run in RUNS)


def options(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the sync options that an object's annotations say."""
    pairs = (part.strip().partition("=") for part in annotations.get(SYNC_OPTIONS, "").split(","))
    return {key: value for key, _, value in pairs if key}


def wave(resource: Resource) -> int:
    """Return the sync wave of an object, 0 if none is written."""
    number = resource.annotations.get(SYNC_WAVE, "0")
    return int(number) if _WAVE.fullmatch(number) else 0


@rule("GIT114", (), "warning")
def _replace(resource: Resource, _objects: ObjectSet) -> Findings:
    own = options(resource.annotations)
    path = ("metadata", "annotations", SYNC_OPTIONS)
    replace, force = own.get("Replace") == "true", own.get("Force") == "true"
    if replace and not force and resource.kind in RUN_KINDS:
        message = f"Replace=true cannot replace a {resource.kind}: its fields are immutable"
        yield Finding(path, message, "remove Replace=true, and give a changed run a new name")
    elif force and not replace and own.get("ServerSideApply") == "true":
        yield Finding(path, "Force=true with ServerSideApply=true fails every sync", "remove Force=true")
    elif force and resource.kind in RUN_KINDS:
        needless = "Force=true and Replace=true" if replace else "Force=true"
        hint = f"remove {needless}, and give a changed run a new name"
        yield Finding(path, "Force=true starts the run again at every sync that touches it", hint)


@rule("GIT113", RUN_KINDS, "warning")
def _waves(resource: Resource, objects: ObjectSet) -> Findings:
    # Argo CD shall wait for a hook, and for a Job that prepares something.
    is_step = resource.kind == "Job" and not any(pods.asks_for_tpu for pods in resource.pods)
    if HOOK in resource.annotations or (is_step and QUEUE not in resource.labels):
        return
    later = objects.once("last wave", _last_wave)
    path = ("metadata", "annotations", SYNC_WAVE) if SYNC_WAVE in resource.annotations else ("metadata",)
    if later is not None and later.annotations.get(HOOK, "") == "PostSync":
        hint = f"write {HOOK}: Sync in the hook, or put runs into their own Application"
        yield Finding(path, f"PostSync hook '{later.name}' waits until the run is over", hint)
    elif later is not None and wave(later) > wave(resource):
        yield Finding(path, f"'{later.subject}' of wave {wave(later)} waits until the run is over")
    if options(resource.annotations).get("PruneLast") == "true":
        path = ("metadata", "annotations", SYNC_OPTIONS)
        message = "with PruneLast the old run keeps its quota, and the new run waits for it"
        yield Finding(path, message, "leave PruneLast out: Argo CD prunes first by default")


def _last_wave(objects: ObjectSet) -> Resource | None:
    """Return a PostSync hook, else the object of the highest wave; None without waves."""
    marked = [resource for resource in objects.all if not {SYNC_WAVE, HOOK}.isdisjoint(resource.annotations)]
    hooks = [resource for resource in marked if resource.annotations.get(HOOK) == "PostSync"]
    return hooks[0] if hooks else max(marked, key=wave, default=None)


def _specs(resource: Resource) -> tuple[Path, dict[str, Any]]:
    if resource.kind == "ApplicationSet":
        return ("spec", "template", "spec"), mapping(at(resource.data, "spec", "template", "spec"))
    return ("spec",), mapping(resource.data.get("spec"))


@rule("GIT116", _APPLICATIONS, "warning")
def _ignores(resource: Resource, _objects: ObjectSet) -> Findings:
    path, spec = _specs(resource)
    sync = {word for _, word in words(at(spec, "syncPolicy", "syncOptions"))}
    server_side = "ServerSideApply=true" in sync
    for index, entry in entries(spec.get("ignoreDifferences")):
        if text(entry.get("group")) not in _RUN_GROUPS:
            continue
        where = (*path, "ignoreDifferences", index)
        for place, pointer in words(entry.get("jsonPointers")):
            if any(part.isdigit() for part in pointer.split("/")):
                message = f"'{pointer}' points into a list, so Argo CD takes the whole list"
                hint = 'ignore a whole mapping: "/spec"'
                yield Finding((*where, "jsonPointers", place), f"{message} from the cluster", hint)
        if "RespectIgnoreDifferences=true" not in sync and not server_side:
            message = "Argo CD hides ignored differences but still applies them, and the webhook refuses them"
            hint = "add syncOptions: [RespectIgnoreDifferences=true, ApplyOutOfSyncOnly=true]"
            yield Finding(where, message, hint)


@rule("GIT117", _APPLICATIONS, "warning")
def _self_heal(resource: Resource, _objects: ObjectSet) -> Findings:
    path, spec = _specs(resource)
    sync = {word for _, word in words(at(spec, "syncPolicy", "syncOptions"))}
    base = (*path, "syncPolicy", "syncOptions")
    if "Replace=true" in sync:
        yield Finding(base, "Replace=true applies to every object, but runs cannot be replaced")
    if "PruneLast=true" in sync:
        yield Finding(base, "with PruneLast the old run keeps its quota, and the new run waits for it")
    if {"Force=true", "ServerSideApply=true"} <= sync:
        yield Finding(base, "Force=true with ServerSideApply=true fails every sync")


@rule("GIT118", {"ApplicationSet"}, "warning")
def _preserve(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "syncPolicy", "preserveResourcesOnDeletion") is not True:
        message = "if an overlay is renamed or removed, its Application and its running jobs are deleted"
        path = ("spec", "syncPolicy", "preserveResourcesOnDeletion")
        yield Finding(("spec",), message, fix=edits.write(resource.data, {path: True}))


@rule("GIT119", _APPLICATIONS, "warning")
def _overrides(resource: Resource, _objects: ObjectSet) -> Findings:
    path, spec = _specs(resource)
    kustomize = mapping(at(spec, "source", "kustomize"))
    if set(kustomize) - {"version"}:
        message = f"the Application changes the checked files: it overrides {', '.join(sorted(kustomize))}"
        yield Finding((*path, "source", "kustomize"), message)
    if not text(at(spec, "source", "targetRevision")) and "source" in spec:
        yield Finding((*path, "source"), "the Application follows HEAD: it has no targetRevision")
