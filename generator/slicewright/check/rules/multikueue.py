"""What MultiKueue refuses or never dispatches: kubeconfigs, checks of queues, runs that it manages."""

from posixpath import normpath

from slicewright.check.rules.kueue_flavors import parameters_of
from slicewright.check.rules.kueue_queues import checks, flavor_names
from slicewright.check.rules.references_pods import absent_keys
from slicewright.kubernetes.fields import at, mapping, text
from slicewright.kubernetes.kinds import KUEUE_NAMESPACE, RUN_KINDS
from slicewright.kubernetes.labels import MULTIKUEUE_CONTROLLER, PROVISIONING_CONTROLLER, QUEUE
from slicewright.kubernetes.problem import Path
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_FOLDER = "/etc/multikueue/kubeconfigs/"
_KEY = "kubeconfig"
"""The key of the Secret that holds the kubeconfig."""


def _kubeconfig(resource: Resource) -> tuple[Path, dict[str, object]]:
    way = ("spec", "kubeConfig") if resource.version == "v1beta1" else ("spec", "clusterSource", "kubeConfig")
    return way, mapping(at(resource.data, *way))


@rule("MK101", {"MultiKueueCluster"}, "warning")
def _path(resource: Resource, _objects: ObjectSet) -> Findings:
    way, config = _kubeconfig(resource)
    location = text(config.get("location"))
    if config.get("locationType") == "Path" and not normpath(location).startswith(_FOLDER):
        yield Finding((*way, "location"), f"path '{location}' is outside of {_FOLDER}")


@rule("MK102", {"MultiKueueCluster"})
def _secret(resource: Resource, objects: ObjectSet) -> Findings:
    way, config = _kubeconfig(resource)
    name = text(config.get("location"))
    if config.get("locationType") == "Path" or not name:
        return
    path = (*way, "location")
    if "/" in name:
        hint = "write locationType: Path, or the name of a Secret"
        yield Finding(path, f"'{name}' is a path, but locationType is Secret", hint)
    secrets = [secret.data for secret in objects.of_kind("Secret") if secret.name == name]
    if secrets and all(absent_keys([_KEY], secret) for secret in secrets):
        yield Finding(path, f"Secret '{name}' has no key '{_KEY}'")


@rule("MK103", {"MultiKueueCluster"}, "warning")
def _namespace(resource: Resource, objects: ObjectSet) -> Findings:
    way, config = _kubeconfig(resource)
    location = config.get("location")
    namespaces = [secret.namespace for secret in objects.of_kind("Secret") if secret.name == location]
    is_secret = bool(namespaces) and config.get("locationType") != "Path"
    if is_secret and all(namespaces) and KUEUE_NAMESPACE not in namespaces:
        message = f"Secret '{location}' is in namespace '{namespaces[0]}', not in {KUEUE_NAMESPACE}"
        yield Finding((*way, "location"), message)


@rule("MK105", {"AdmissionCheck"})
def _parameters(resource: Resource, _objects: ObjectSet) -> Findings:
    controller = at(resource.data, "spec", "controllerName")
    if controller == MULTIKUEUE_CONTROLLER:
        yield from parameters_of(resource, "MultiKueue", "MultiKueueConfig")
    elif at(resource.data, "spec", "parameters", "kind") == "MultiKueueConfig":
        message = f"controller '{controller}' does not read a MultiKueueConfig"
        yield Finding(("spec", "controllerName"), message, f"write controllerName: {MULTIKUEUE_CONTROLLER}")


def _controllers(objects: ObjectSet) -> dict[str, set[str]]:
    """Return the controllers of all checks of a name."""
    by_name: dict[str, set[str]] = {}
    for check in objects.of_kind("AdmissionCheck"):
        by_name.setdefault(check.name, set()).add(text(at(check.data, "spec", "controllerName")))
    return by_name


@rule("MK106", {"ClusterQueue"})
def _queue(resource: Resource, objects: ObjectSet) -> Findings:
    controllers = objects.once("controllers of admission checks", _controllers)
    of_queue = list(checks(resource))
    remote = [check for check in of_queue if controllers.get(check[1]) == {MULTIKUEUE_CONTROLLER}]
    own = flavor_names(resource)
    for path, name, flavors in remote:
        if flavors and set(map(str, flavors)) < own:
            message = f"MultiKueue check '{name}' covers only some flavors of the queue"
            yield Finding((*path, "onFlavors"), message, "leave onFlavors out")
    for path, name, _ in remote[1:]:
        message = f"'{name}' is a second MultiKueue check of the queue"
        yield Finding(path, message, "name all clusters in one check")
    if remote:
        for path, name, _ in of_queue:
            if controllers.get(name) == {PROVISIONING_CONTROLLER}:
                hint = "give the check to the queues of the worker clusters"
                yield Finding(
                    path, f"provisioning check '{name}' cannot be combined with a MultiKueue check", hint
                )


@rule("MK107", RUN_KINDS)
def _managed(resource: Resource, objects: ObjectSet) -> Findings:
    local_queue = resource.labels.get(QUEUE)
    if at(resource.data, "spec", "managedBy") != MULTIKUEUE_CONTROLLER or local_queue is None:
        return
    controllers = objects.once("controllers of admission checks", _controllers)
    places = [
        (local.file, text(at(local.data, "spec", "clusterQueue")))
        for local in objects.candidates("LocalQueue", local_queue, resource.namespace, resource.file)
    ]
    queues = [queue for file, name in places for queue in objects.candidates("ClusterQueue", name, near=file)]
    if queues and not any(
        MULTIKUEUE_CONTROLLER in controllers.get(check, {MULTIKUEUE_CONTROLLER})
        for queue in queues
        for _, check, _ in checks(queue)
    ):
        lacks = f"ClusterQueue '{queues[0].name}' has no MultiKueue check"
        message = f"managedBy is {MULTIKUEUE_CONTROLLER}, but {lacks}"
        yield Finding(("spec", "managedBy"), message)
