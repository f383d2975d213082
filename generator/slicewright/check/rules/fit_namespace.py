"""Rules of namespaces: what ResourceQuota and LimitRange keep from running although Kueue admits it.

The arithmetic is that of Kubernetes v1.36.2, pkg/quota/v1/evaluator/core/pods.go.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from slicewright.check.rules import fit_nodes as nodes
from slicewright.check.rules.fit import place_of
from slicewright.kubernetes.fields import at, entries, text
from slicewright.kubernetes.kinds import QUEUED_KINDS
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import canonical
from slicewright.kueue import quota_workload
from slicewright.kueue.quota import PodSet, add
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_NATIVE = ("cpu", "memory", "ephemeral-storage")
"""Resources whose quota also has a name without `requests.`."""
_DEMANDED = ("cpu", "memory")
"""Resources that each container has to write where a quota counts them."""
_JOBS = "count/jobs.batch"


@rule("FIT132", QUEUED_KINDS)
def _resource_quota(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare a workload with each ResourceQuota of its namespace; one with scopes counts some pods only.

    Pods of a Job without chips need not run at the same time: the others start when some have ended.
    """
    is_certain = objects.is_cluster
    is_gang = resource.kind != "Job" or any(pods.asks_for_tpu for pods in resource.pods)
    for quota in _of_namespace("ResourceQuota", resource, objects):
        if at(quota.data, "spec", "scopes") or at(quota.data, "spec", "scopeSelector"):
            continue
        hard = quota_workload.amounts(at(quota.data, "spec", "hard"))
        demanded = list(_demanded(resource, objects, hard))
        for path, message in demanded:
            full = f"ResourceQuota '{quota.name}' has {message}: the API server refuses every pod"
            hint = "write the request or the limit, or give the namespace a LimitRange with a default"
            yield Finding(path, full, hint, is_certain=is_certain)
        counts = {} if demanded else used(resource, objects)
        for key, (set_name, value) in counts.items():
            if key in hard and value > hard[key]:
                asked, most = nodes.amount(_plain(key), value), nodes.number(_plain(key), hard[key])
                message = f"the workload needs {asked}, but ResourceQuota '{quota.name}' of namespace "
                message += f"'{resource.namespace or 'default'}' allows {most}: "
                message += "the API server refuses the other pods"
                place = place_of(resource, set_name)
                hint = _raise(quota, key, value, objects)
                yield Finding(place, message, hint, is_certain=is_certain and is_gang)


def _of_namespace(kind: str, resource: Resource, objects: ObjectSet) -> Iterator[Resource]:
    namespace = resource.namespace or "default"
    return (other for other in objects.of_kind(kind) if (other.namespace or "default") == namespace)


def _raise(quota: Resource, key: str, value: Fraction, objects: ObjectSet) -> str:
    """Return what to write so that a quota holds a workload."""
    number = canonical(str(value.numerator)) if value.denominator == 1 else canonical(f"{value * 1000}m")
    entry = f'{key}: "{number}"'
    if objects.site is not None and objects.is_platform(quota):
        file = objects.site.cluster.source.file.path
        return f"write {entry} or more in resourceQuota of team '{quota.name}' in {file}, or request less"
    return f"write {entry} or more in spec.hard of the ResourceQuota, or request less"


def _plain(key: str) -> str:
    """Return the resource that a name of a quota counts."""
    return key.removeprefix("requests.").removeprefix("limits.").removeprefix("count/")


def used(resource: Resource, objects: ObjectSet) -> dict[str, tuple[str, Fraction]]:
    """Return what a workload uses at once by the names of quotas, each with the pod set that uses most."""
    totals: dict[str, Fraction] = {}
    most: dict[str, tuple[Fraction, str]] = {}
    earlier = _finished_before(resource)
    templates = {pods.name or "main": pods for pods in resource.pods}
    defaults = quota_workload.defaults_of(resource, objects)
    for pod_set in quota_workload.pod_sets(resource, objects):
        if pod_set.name in earlier:
            continue
        pods = None if resource.kind == "PathwaysJob" else templates.get(pod_set.name)
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
        counts |= {f"limits.{name}": value * count for name, value in limits.items()}
    for name, value in requests.items():
        if name != "pods":
            counts[f"requests.{name}"] = value
        if name in _NATIVE:
            counts[name] = value
    return counts


def _finished_before(resource: Resource) -> set[str]:
    """Return the names of replicated Jobs that end before others start."""
    jobs = entries(at(resource.data, "spec", "replicatedJobs"))
    needs = (need for _, job in jobs for _, need in entries(job.get("dependsOn")))
    return {text(need.get("name")) for need in needs if need.get("status") == "Complete"}


def _demanded(
    resource: Resource, objects: ObjectSet, hard: Mapping[str, Fraction]
) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) of containers without a value that a quota demands of each."""
    defaults = quota_workload.defaults_of(resource, objects)
    for pods in resource.pods:
        if any(name in quota_workload.of_pod_level(pods) for name in _DEMANDED):
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
                    yield path, f"{keys[0]}, but {where} writes none"
                    return
