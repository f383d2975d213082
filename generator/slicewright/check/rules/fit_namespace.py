"""Rules of namespaces: what ResourceQuota and LimitRange keep from running although Kueue admits it.

The arithmetic is that of Kubernetes v1.36.2, pkg/quota/v1/evaluator/core/pods.go.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from slicewright.check.rules import fit_nodes as nodes
from slicewright.check.rules.fit import asked, place_of
from slicewright.document import edit
from slicewright.intent.tpucluster import BUILT_IN_PRIORITIES
from slicewright.kubernetes.fields import at, entries, mapping, text, words
from slicewright.kubernetes.kinds import NAMESPACED_KINDS
from slicewright.kubernetes.labels import PRIORITY_CLASS, TPU
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import written
from slicewright.kubernetes.scheduler import requirement
from slicewright.kueue import quota_workload
from slicewright.kueue.quota import PodSet, add
from slicewright.kueue.quota_workload import Defaults
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_NATIVE = ("cpu", "memory", "ephemeral-storage")
"""Resources whose quota also has a name without `requests.`."""
_DEMANDED = ("cpu", "memory")
"""Resources that each container has to write where a quota counts them."""
_JOBS = "count/jobs.batch"
_CLASS = "priorityClassName"


@rule("REF170", {"ResourceQuota"}, "warning")
def _uncounted(resource: Resource, _objects: ObjectSet) -> Findings:
    """Find limits of extended resources that Kubernetes accepts and does not count."""
    for key in mapping(at(resource.data, "spec", "hard")):
        name = key.removeprefix("limits.")
        if "/" in name and not key.startswith(("requests.", "count/")) and ".k8s.io/" not in key:
            message = f"Kubernetes does not count {key}, so it limits nothing"
            fix = edit.rename(("spec", "hard", key), f"requests.{name}")
            yield Finding(("spec", "hard", key), message, f"write requests.{name}", fix)


@rule("FIT132", NAMESPACED_KINDS)
def _resource_quota(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare a workload with each ResourceQuota of its namespace; one with scopes counts some pods only.

    Pods of a Job without chips need not run at the same time: the others start when some have ended.
    """
    is_gang = resource.kind not in ("CronJob", "Job") or any(pods.asks_for_tpu for pods in resource.pods)
    for quota in _of_namespace("ResourceQuota", resource, objects):
        is_certain = _is_there(quota, objects)
        hard = quota_workload.amounts(at(quota.data, "spec", "hard"))
        for path, key, where in _demanded(resource, objects, hard, quota):
            full = f"ResourceQuota '{quota.name}' has {key}, but {where} writes none: "
            hint = f"leave {key} out of {_holder(quota, objects)}"
            if _takes(_plain(key), resource, objects):
                hint += (
                    ", or write the request or the limit, or give the namespace a LimitRange with a default"
                )
            yield Finding(path, f"{full}the API server refuses every pod", hint, is_certain=is_certain)
        counts = used(resource, objects, quota)
        for key, (set_name, value) in counts.items():
            if key in hard and value > hard[key]:
                asked, most = nodes.amount(_plain(key), value), nodes.number(_plain(key), hard[key])
                message = f"the workload needs {asked}, but ResourceQuota '{quota.name}' of namespace "
                message += f"'{resource.namespace or 'default'}' allows {most}: "
                message += "the API server refuses the other pods"
                place = place_of(resource, set_name)
                hint = _raise(quota, key, value, objects)
                yield Finding(place, message, hint, is_certain=is_certain and is_gang)


def _takes(name: str, resource: Resource, objects: ObjectSet) -> bool:
    """Tell whether Kueue accepts requests for a resource: it ignores it, or has it in the group of chips."""
    ask, has_chips = asked(resource, objects), any(pods.asks_for_tpu for pods in resource.pods)
    if ask is None or name not in ask.queue.covered:
        return ask is None or ask.known.ignores_undeclared or name.startswith(ask.known.excluded)
    return not has_chips or any({name, TPU} <= {*covered} for covered, _ in ask.queue.groups)


def _scopes(quota: Resource) -> list[dict[str, Any]]:
    """Return the scopes of a ResourceQuota, all in the form of a scopeSelector."""
    named = [{"scopeName": name, "operator": "Exists"} for _, name in words(at(quota.data, "spec", "scopes"))]
    return named + [one for _, one in entries(at(quota.data, "spec", "scopeSelector", "matchExpressions"))]


def _counted(quota: Resource, pods: Pods, resource: Resource, objects: ObjectSet) -> bool:
    """Tell whether a ResourceQuota counts some pods (podMatchesScopeFunc)."""
    ends = pods.spec.get("activeDeadlineSeconds") is not None
    defaults = quota_workload.defaults_of(resource, objects)
    of_pod = {*quota_workload.usage(pods, defaults), *quota_workload.limits(pods, defaults)}
    is_best_effort = of_pod.isdisjoint(_DEMANDED)
    for scope in _scopes(quota):
        name = text(scope.get("scopeName"))
        own = {"Terminating": ends, "BestEffort": is_best_effort}
        own |= {f"Not{scope_name}": not value for scope_name, value in own.items()}
        matches = own.get(name, False)
        if name == "PriorityClass":
            matches = requirement({**scope, "key": name}).accepts(_class_of(pods, objects) or None)
        if not matches:
            return False
    return True


def _class_of(pods: Pods, objects: ObjectSet) -> str:
    """Return the PriorityClass of pods, which is the default of the cluster where they name none."""
    classes = objects.of_kind("PriorityClass")
    default = next((one.name for one in classes if one.data.get("globalDefault") is True), "")
    return text(pods.spec.get("priorityClassName")) or default


@rule("FIT152", NAMESPACED_KINDS)
def _critical(resource: Resource, objects: ObjectSet) -> Findings:
    """Find pods of priority classes that GKE admits only in namespaces with a ResourceQuota for the class."""
    if resource.namespace == "kube-system":
        return
    named = [((*pods.spec_path, _CLASS), pods.spec.get(_CLASS), pods) for pods in resource.pods]
    for index, worker in entries(at(resource.data, "spec", "workers")):
        if resource.kind == "PathwaysJob":
            pods = Pods((), {"spec": worker}, {}, (), {}, "worker")
            named.append((("spec", "workers", index, _CLASS), worker.get(_CLASS), pods))
    counts = {pod_set.name: pod_set.count for pod_set in quota_workload.pod_sets(resource, objects)}
    for path, name, pods in named:
        quotas = _of_namespace("ResourceQuota", resource, objects)
        if name in BUILT_IN_PRIORITIES and not any(
            any(scope.get("scopeName") == "PriorityClass" for scope in _scopes(quota))
            and _counted(quota, pods, resource, objects)
            for quota in quotas
        ):
            message = f"GKE refuses pods of class '{name}' in namespace '{resource.namespace or 'default'}', "
            message += "which has no ResourceQuota for this class"
            scope = f"{{scopeName: PriorityClass, operator: In, values: [{name}]}}"
            hint = f"remove priorityClassName (Kueue orders runs by the label {PRIORITY_CLASS}), or give the "
            count = counts.get(pods.name or "main", 1)
            hint += f'namespace a ResourceQuota with spec: {{hard: {{pods: "{count}"}}, '
            hint += f"scopeSelector: {{matchExpressions: [{scope}]}}}}"
            yield Finding(path, message, hint, is_certain=objects.is_cluster)


@rule("FIT151", NAMESPACED_KINDS)
def _limit_range(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare pods and containers with what LimitRanges of their namespace allow, after its defaults."""
    defaults = quota_workload.defaults_of(resource, objects)
    for limits in _of_namespace("LimitRange", resource, objects):
        for pods in resource.pods:
            for path, kind, name, requested, limited in _sizes(pods, defaults):
                for _, item in entries(at(limits.data, "spec", "limits")):
                    if item.get("type") == kind:
                        for refusal, hint in _refusals(item, requested, limited):
                            message = f"LimitRange '{limits.name}' of namespace "
                            message += f"'{resource.namespace or 'default'}' {refusal}, so the API server "
                            message += f"refuses {name}"
                            yield Finding(path, message, hint, is_certain=_is_there(limits, objects))


def _sizes(
    pods: Pods, defaults: Defaults
) -> Iterator[tuple[Path, str, str, dict[str, Fraction], dict[str, Fraction]]]:
    """Yield (path, type of a LimitRange's item, name, requests, limits) of a pod and of its containers."""
    whole = quota_workload.usage(pods, defaults), quota_workload.limits(pods, defaults)
    yield pods.spec_path, "Pod", f"pods '{pods.name or 'main'}'", *whole
    for path, container in (*pods.containers, *pods.init_containers):
        requested = {**defaults.requests, **quota_workload.container_requests(container, Defaults())}
        limited = quota_workload.container_limits(container, defaults)
        yield path, "Container", f"container '{text(container.get('name'))}'", requested, limited


def _refusals(
    item: dict[str, Any], requested: dict[str, Fraction], limited: dict[str, Fraction]
) -> Iterator[tuple[str, str]]:
    """Yield why an item of a LimitRange refuses a pod or a container, with a hint (PodValidateLimitFunc)."""
    for name, least in quota_workload.amounts(item.get("min")).items():
        if name not in requested:
            yield f"demands a request of {name}", f"request {nodes.amount(name, least)} or more"
        elif (few := min(requested[name], limited.get(name, requested[name]))) < least:
            hint = f"request {nodes.amount(name, least)}, or write min: {{{_entry(name, few)}}}"
            yield f"demands at least {nodes.amount(name, least)}, not {nodes.number(name, few)}", hint
    for name, most in quota_workload.amounts(item.get("max")).items():
        if name not in limited:
            yield f"demands a limit of {name}", f"write a limit of {nodes.amount(name, most)} or less"
        elif (many := max(limited[name], requested.get(name, limited[name]))) > most:
            hint = f"request {nodes.amount(name, most)}, or write max: {{{_entry(name, many)}}}"
            yield f"allows at most {nodes.amount(name, most)}, not {nodes.number(name, many)}", hint
    for name, ratio in quota_workload.amounts(item.get("maxLimitRequestRatio")).items():
        if not requested.get(name) or not limited.get(name):
            yield f"demands a request and a limit of {name}", f"write a request and a limit of {name}"
        elif limited[name] / requested[name] > ratio:
            message = f"allows a limit of {name} of at most {nodes.number('', ratio)} times the request"
            yield message, f"request {nodes.amount(name, limited[name] / ratio)} or more"


def _of_namespace(kind: str, resource: Resource, objects: ObjectSet) -> Iterator[Resource]:
    namespace = resource.namespace or "default"
    return (other for other in objects.with_beside(kind) if (other.namespace or "default") == namespace)


def _is_there(other: Resource, objects: ObjectSet) -> bool:
    """Tell whether an object is in the cluster of a run; one in custom/ may be for other clusters."""
    return objects.is_cluster and other not in objects.beside


def _raise(quota: Resource, key: str, value: Fraction, objects: ObjectSet) -> str:
    """Return what to write so that a quota holds a workload."""
    entry = _entry(key, value)
    return f"write {entry} or more in {_holder(quota, objects)}, or request less"


def _holder(quota: Resource, objects: ObjectSet) -> str:
    """Return where a person writes the limits of a quota."""
    if objects.site is not None and objects.is_platform(quota):
        return f"resourceQuota of team '{quota.name}' in {objects.site.cluster.source.file.path}"
    return "spec.hard of the ResourceQuota"


def _entry(key: str, value: Fraction) -> str:
    """Return an amount as a manifest has it."""
    return f'{key}: "{written(value)}"'


def _plain(key: str) -> str:
    """Return the resource that a name of a quota counts."""
    return key.removeprefix("requests.").removeprefix("limits.").removeprefix("count/")


def used(
    resource: Resource, objects: ObjectSet, quota: Resource | None = None
) -> dict[str, tuple[str, Fraction]]:
    """Return the peak usage of a workload by the names of quotas, each with the pod set that uses most.

    A quota with scopes counts only the pods that match them.
    """
    totals: dict[str, Fraction] = {}
    most: dict[str, tuple[Fraction, str]] = {}
    earlier = finished_before(resource)
    templates = {pods.name or "main": pods for pods in resource.pods}
    defaults = quota_workload.defaults_of(resource, objects)
    for pod_set in quota_workload.pod_sets(resource, objects):
        if pod_set.name in earlier:
            continue
        pods = None if resource.kind == "PathwaysJob" else templates.get(pod_set.name)
        if quota and _scopes(quota) and not (pods and _counted(quota, pods, resource, objects)):
            continue
        for name, value in _counts(pod_set, pods, defaults).items():
            add(totals, {name: value})
            most[name] = max(most.get(name, (Fraction(0), "")), (value, pod_set.name))
    return {name: (most[name][1], value) for name, value in totals.items()}


def _counts(pod_set: PodSet, pods: Pods | None, defaults: quota_workload.Defaults) -> dict[str, Fraction]:
    """Return what a pod set uses by the names of quotas; only what it asks Kueue for without its template."""
    if pod_set.least is not None:
        pod_set = pod_set.resized(pod_set.least)
    requests, count = pod_set.requests, pod_set.count
    counts = {"count/pods": Fraction(count), "pods": Fraction(count)}
    if pods is not None:
        requests = {name: value * count for name, value in quota_workload.usage(pods, defaults).items()}
        counts[_JOBS] = Fraction(pods.replicas if pods.job_path else 0)
        limits = quota_workload.limits(pods, defaults)
        # Of other resources Kubernetes counts only requests.
        counts |= {f"limits.{name}": limits[name] * count for name in _NATIVE if name in limits}
    for name, value in requests.items():
        if name != "pods":
            counts[f"requests.{name}"] = value
        if name in _NATIVE:
            counts[name] = value
    return counts


def finished_before(resource: Resource) -> set[str]:
    """Return the names of replicated Jobs that end before others start."""
    jobs = entries(at(resource.data, "spec", "replicatedJobs"))
    needs = (need for _, job in jobs for _, need in entries(job.get("dependsOn")))
    return {text(need.get("name")) for need in needs if need.get("status") == "Complete"}


def _demanded(
    resource: Resource, objects: ObjectSet, hard: Mapping[str, Fraction], quota: Resource
) -> Iterator[tuple[Path, str, str]]:
    """Yield (path, key of the quota, container) of containers without a value that a quota demands."""
    defaults = quota_workload.defaults_of(resource, objects)
    for pods in resource.pods:
        is_whole = any(name in quota_workload.of_pod_level(pods) for name in _DEMANDED)
        if is_whole or not _counted(quota, pods, resource, objects):
            continue
        for path, container in (*pods.containers, *pods.init_containers):
            limits = quota_workload.container_limits(container, defaults)
            requests = quota_workload.container_requests(container, defaults)
            for name in _DEMANDED:
                keys = [key for key in (name, f"requests.{name}") if key in hard and name not in requests]
                keys += [key for key in (f"limits.{name}",) if key in hard and name not in limits]
                if keys:
                    own = pods.name or "main"
                    where = f"container '{text(container.get('name'))}' of pods '{own}'"
                    yield path, keys[0], where
                    return
