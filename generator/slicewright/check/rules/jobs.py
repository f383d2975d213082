"""What the Job API refuses; of a JobSet the server takes it, and the controller fails to make the Jobs."""

from collections.abc import Iterable
from typing import Any

from slicewright.check.rules.dns import against_dns1035
from slicewright.check.rules.jobset_names import is_indexed
from slicewright.check.rules.tpu_shape import is_pathways
from slicewright.document import edit as edits
from slicewright.document.edit import fix_of_choice
from slicewright.kubernetes.fields import at, entries, mapping, number, sequence, text, words
from slicewright.kubernetes.kinds import JOB_KINDS, POD_KINDS, PODS_OF
from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.name_room import MAX_LABEL
from slicewright.kubernetes.problem import Path
from slicewright.kueue.training import RUNTIMES
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule


def _is_part(resource: Resource) -> bool:
    """Tell whether an object looks like a merge patch: it lacks images and another required field."""
    if any(container.get("image") for _, container in resource.containers):
        return False
    if resource.kind in ("CronJob", "Job"):
        return all("restartPolicy" not in pods.spec for pods in resource.pods)
    return resource.group == "apps" and not at(resource.data, "spec", "selector")


@rule("JS121", JOB_KINDS | {"PathwaysJob", *RUNTIMES})
def _restart_policy(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in () if _is_part(resource) else resource.pods:
        policy = pods.spec.get("restartPolicy")
        if policy in ("OnFailure", "Never") or (
            policy is None and resource.kind in ("JobSet", "PathwaysJob", *RUNTIMES)
        ):
            continue
        value = "the default, Always" if policy is None else f"'{policy}'"
        path = (*pods.spec_path, "restartPolicy") if policy is not None else pods.spec_path
        fix = fix_of_choice(policy, ("Never", "OnFailure"), path)
        if policy in (None, "Always"):
            fix = edits.write(resource.data, {(*pods.spec_path, "restartPolicy"): "Never"}, safe=False)
        yield Finding(path, f"restartPolicy is {value}, but pods of a Job must end", fix=fix)


@rule("JS122", POD_KINDS)
def _images(resource: Resource, objects: ObjectSet) -> Findings:
    for path, container in () if _is_part(resource) else resource.containers:
        if not container.get("image"):
            # Somebody still fills in an image that is written and empty, and a container without a name.
            is_certain = objects.is_cluster or ("image" not in container and "name" in container)
            message = f"container '{container.get('name', '')}' has no image"
            yield Finding(path, message, is_certain=is_certain)


@rule("JS153", POD_KINDS - {"PathwaysJob"})
def _no_spec(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        if at(resource.data, *pods.path) is not None and not pods.spec:
            is_certain = objects.is_cluster or not _is_part(resource)
            yield Finding(pods.path, "the pod template has no spec", is_certain=is_certain)


@rule("JS123", JOB_KINDS)
def _pod_failure_policy(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        policy = pods.spec.get("restartPolicy", "OnFailure")
        if pods.job.get("podFailurePolicy") and policy != "Never":
            path, hint = (*pods.job_path, "podFailurePolicy"), ""
            fix = edits.write(resource.data, {(*pods.spec_path, "restartPolicy"): "Never"})
            if pods.asks_for_tpu and is_pathways(resource):
                hint = "leave podFailurePolicy out: Pathways workers need restarts in place"
                fix = edits.remove(path, safe=False)
            message = f"podFailurePolicy needs restartPolicy: Never, not {policy}"
            yield Finding(path, message, hint, fix)


@rule("JS130", {"JobSet", "Job"}, "warning")
def _sidecars(resource: Resource, _objects: ObjectSet) -> Findings:
    policy = mapping(at(resource.data, "spec", "successPolicy"))
    targets = sequence(policy.get("targetReplicatedJobs"))
    for pods in resource.pods:
        if policy.get("operator") == "Any" or (targets and pods.name not in targets):
            continue  # the end of these pods is not awaited
        others = [entry for entry in pods.containers if not _runs_program(entry[1])]
        if len(others) < len(pods.containers):
            for path, container in others:
                name = container.get("name", "")
                yield Finding(path, f"container '{name}' uses no chips, but the Job waits until it ends")


def _runs_program(container: dict[str, Any]) -> bool:
    """Tell whether a container uses chips, its own or those of Pathways; servers are another rule's."""
    has_chips = any(TPU in mapping(at(container, "resources", key)) for key in ("requests", "limits"))
    is_client = any(entry.get("name") == "JAX_BACKEND_TARGET" for _, entry in entries(container.get("env")))
    is_server = any(word.startswith("--server_port") for _, word in words(container.get("args")))
    return has_chips or is_client or is_server


@rule("JS124", JOB_KINDS)
def _completions(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        indexed = is_indexed(pods, resource.kind)
        if pods.job.get("parallelism") is not None and indexed and pods.job.get("completions") is None:
            message = "an Indexed Job has parallelism but no completions"
            fix = edits.write(resource.data, {(*pods.job_path, "completions"): pods.parallelism})
            yield Finding(pods.job_path, message, f"write completions: {pods.parallelism}", fix)


@rule("JS125", POD_KINDS)
def _mounts(resource: Resource, _objects: ObjectSet) -> Findings:
    spec = mapping(resource.data.get("spec"))
    templates = [policy.get("templates") for _, policy in entries(spec.get("volumeClaimPolicies"))]
    templates += [spec.get("volumeClaimTemplates"), at(spec, "leaderWorkerTemplate", "volumeClaimTemplates")]
    names = {text(at(claim, "metadata", "name")) for listed in templates for _, claim in entries(listed)}
    claims = names | PODS_OF[resource.kind].volumes
    for pods in resource.pods:
        known = {text(volume.get("name")) for _, volume in entries(pods.spec.get("volumes"))} | claims
        for path, container in (*pods.containers, *pods.init_containers):
            for index, mount in entries(container.get("volumeMounts")):
                name = text(mount.get("name"))
                if name not in known:
                    yield Finding((*path, "volumeMounts", index, "name"), f"volume '{name}' is not defined")


@rule("JS131", POD_KINDS)
def _host_ports(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        for concurrent in (pods.containers, *([entry] for entry in pods.init_containers)):
            yield from _repeated_ports(concurrent, on_host=pods.spec.get("hostNetwork") is True)


def _repeated_ports(containers: Iterable[tuple[Path, dict[str, Any]]], *, on_host: bool) -> Findings:
    """Yield the ports of a host that containers which run side by side list again."""
    taken: set[tuple[str, str, int]] = set()
    for path, container in containers:
        for index, port in entries(container.get("ports")):
            field = "containerPort" if on_host and not port.get("hostPort") else "hostPort"
            value = number(port.get(field))
            key = text(port.get("protocol")) or "TCP", text(port.get("hostIP")), value or 0
            if value and key in taken:
                message = f"port {value}/{key[0]} of the host is used twice in the pod"
                yield Finding((*path, "ports", index, field), message)
            taken.add(key)


@rule("JS126", {"Job"})
def _job_name(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.server_name:
        for pods in resource.pods:
            completions = number(pods.job.get("completions"))
            name = resource.server_name
            if pods.job.get("completionMode") == "Indexed" and completions:
                name = f"{name}-{completions - 1}"
                # A host name may begin with a digit, unlike the DNS-1035 label.
                if refusal := against_dns1035(f"x{name[1:]}" if name[:1].isdigit() else name):
                    yield Finding(resource.name_path, f"host name '{name}' {refusal}")
            elif len(name) > MAX_LABEL:
                message = f"name '{name}' has {len(name)} characters; the limit is {MAX_LABEL}"
                yield Finding(resource.name_path, message)


@rule("JS127", JOB_KINDS)
def _needs_index(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        indexed = is_indexed(pods, resource.kind)
        for key in ("backoffLimitPerIndex", "successPolicy"):
            if pods.job.get(key) is not None and not indexed:
                yield Finding((*pods.job_path, key), f"{key} needs completionMode: Indexed")
        if pods.job.get("maxFailedIndexes") is not None and pods.job.get("backoffLimitPerIndex") is None:
            message = "maxFailedIndexes needs backoffLimitPerIndex"
            hint = "add backoffLimitPerIndex, or leave maxFailedIndexes out"
            yield Finding((*pods.job_path, "maxFailedIndexes"), message, hint)
