"""What the JobSet webhook refuses about names: of Jobs, pods, groups, the subdomain and the coordinator."""

from slicewright.check.rules import dns
from slicewright.kubernetes.fields import at, mapping, number, text
from slicewright.kubernetes.name_room import MAX_LABEL
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import did_you_mean
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.plan.validate_workload import MAX_INT32

JOBSET = frozenset({"JobSet"})


def is_indexed(pods: Pods, kind: str = "JobSet") -> bool:
    """Tell whether a Job is Indexed, which JobSet makes the default."""
    mode = pods.job.get("completionMode")
    return mode == "Indexed" or (mode is None and kind == "JobSet")


def domain_of(resource: Resource) -> str:
    """Return the subdomain of the pods of a JobSet."""
    return text(at(resource.data, "spec", "network", "subdomain")) or resource.server_name


@rule("JS101", JOBSET)
def _names(resource: Resource, _objects: ObjectSet) -> Findings:
    name = resource.server_name
    refusal = dns.against_dns1035(name)
    if refusal and 0 < len(name) <= MAX_LABEL:
        yield Finding(resource.name_path, f"JobSet name '{name}' {refusal}", _renamed("JobSet", name))
        return
    if name:
        for pods in resource.pods:
            path = (*pods.path[:3], "name")
            job = f"{name}-{pods.name}-{pods.replicas - 1}"
            completions = number(pods.job.get("completions"))
            if refusal := dns.against_dns1035(job):
                # The second name is after a letter and a hyphen, so it may begin with a digit.
                is_valid = dns.is_subdomain(pods.name) and "." not in pods.name
                hint = "" if is_valid else _renamed("replicatedJob", pods.name)
                yield Finding(path, f"Job name '{job}' {refusal}", hint)
            elif is_indexed(pods) and completions is not None:
                pod = f"{job}-{completions - 1}-abcde"
                if refusal := dns.against_dns1035(pod):
                    yield Finding(path, f"pod name '{pod}' {refusal}")


def _renamed(kind: str, name: str) -> str:
    """Return what to call a JobSet or a replicatedJob with a wrong character."""
    right = dns.as_dns1035(name)
    return f"rename the {kind}" + (f", for example '{right}'" if right else "")


@rule("JS102", JOBSET)
def _group_names(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        path = (*pods.path[:3], "groupName")
        name = at(resource.data, *path)
        if isinstance(name, str) and (refusal := dns.against_dns1035(name)):
            yield Finding(path, f"group name '{name}' {refusal}")


@rule("JS103", JOBSET)
def _subdomain(resource: Resource, _objects: ObjectSet) -> Findings:
    name = text(at(resource.data, "spec", "network", "subdomain"))
    if name and (refusal := dns.against_dns1035(name)):
        yield Finding(("spec", "network", "subdomain"), f"subdomain '{name}' {refusal}")


@rule("JS104", JOBSET)
def _managed_by(resource: Resource, _objects: ObjectSet) -> Findings:
    path = ("spec", "managedBy")
    name = at(resource.data, *path)
    if not isinstance(name, str):
        return
    if not dns.is_domain_prefixed_path(name):
        message = f"manager '{name}' is not a domain with a path, such as kueue.x-k8s.io/multikueue"
        yield Finding(path, message)
    elif len(name) > MAX_LABEL:
        yield Finding(path, f"manager '{name}' has {len(name)} characters; the limit is {MAX_LABEL}")


@rule("JS105", JOBSET)
def _coordinator(resource: Resource, _objects: ObjectSet) -> Findings:
    path = ("spec", "coordinator")
    coordinator = at(resource.data, *path)
    if not isinstance(coordinator, dict):
        return
    name = text(coordinator.get("replicatedJob"))
    job_index, pod_index = (number(coordinator.get(key), 0) or 0 for key in ("jobIndex", "podIndex"))
    pods = next((pods for pods in resource.pods if pods.name == name), None)
    if pods is None:
        hint = did_you_mean(name, [pods.name for pods in resource.pods])
        yield Finding((*path, "replicatedJob"), f"replicatedJob '{name}' is not defined", hint)
        return
    completions = number(pods.job.get("completions"))
    if not 0 <= job_index < pods.replicas:
        message = f"jobIndex is {job_index}, but must be below the replicas of '{name}' ({pods.replicas})"
        yield Finding((*path, "jobIndex"), message, _up_to(pods.replicas))
    elif not is_indexed(pods) or completions is None:
        message = f"replicatedJob '{name}' of the coordinator must be Indexed and have completions"
        yield Finding((*path, "replicatedJob"), message, "write completionMode: Indexed, and completions")
    elif not 0 <= pod_index < completions:
        message = f"podIndex is {pod_index}, but must be below the completions of '{name}' ({completions})"
        yield Finding((*path, "podIndex"), message, _up_to(completions))


def _up_to(count: int) -> str:
    """Return the hint that names the indexes below a count; empty if there are none."""
    return f"write 0 to {count - 1}" if count > 1 else "write 0" if count else ""


@rule("JS106", JOBSET)
def _coordinator_label(resource: Resource, _objects: ObjectSet) -> Findings:
    coordinator = at(resource.data, "spec", "coordinator")
    if not isinstance(coordinator, dict) or not resource.server_name:
        return
    name = text(coordinator.get("replicatedJob"))
    job_index, pod_index = (number(coordinator.get(key), 0) for key in ("jobIndex", "podIndex"))
    value = f"{resource.server_name}-{name}-{job_index}-{pod_index}.{domain_of(resource)}"
    if not dns.is_label_value(value):
        message = f"the coordinator's address '{value}' has {len(value)} characters; the limit is {MAX_LABEL}"
        yield Finding(("spec", "coordinator"), message)


@rule("JS107", JOBSET)
def _shared_subdomain(resource: Resource, objects: ObjectSet) -> Findings:
    first = objects.once("subdomains", _subdomains).get(_place(resource, objects))
    if first is not None and first is not resource and first.name != resource.name:
        has_network = mapping(at(resource.data, "spec", "network"))
        path = ("spec", "network", "subdomain") if has_network else ("spec",)
        yield Finding(path, f"JobSet '{first.name}' already has the subdomain '{domain_of(resource)}'")


def _place(resource: Resource, objects: ObjectSet) -> tuple[str, str, str]:
    """Return where a subdomain is taken: files of one folder may be alternatives."""
    file = "" if objects.is_cluster else resource.file
    return file, resource.namespace or "default", domain_of(resource)


def _subdomains(objects: ObjectSet) -> dict[tuple[str, str, str], Resource]:
    return {_place(resource, objects): resource for resource in reversed(objects.of_kind("JobSet"))}


@rule("JS108", JOBSET)
def _too_many(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        if pods.parallelism * pods.replicas > MAX_INT32:
            message = f"{pods.replicas} replicas of {pods.parallelism} pods exceed the limit of"
            yield Finding((*pods.path[:3], "replicas"), f"{message} {MAX_INT32} pods")
