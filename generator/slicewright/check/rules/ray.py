"""Rules of Ray clusters: worker groups against the hosts of slices, and what KubeRay and Kueue refuse."""

import json
import re
from collections.abc import Iterator
from typing import Any

from slicewright.check.rules.dns import against_dns1035
from slicewright.check.rules.tpu_shape import is_alone, shape
from slicewright.document import edit as edits
from slicewright.document.document import is_unfinished
from slicewright.document.read import read_manifests
from slicewright.kubernetes.fields import at, entries, mapping, number, text
from slicewright.kubernetes.kinds import PODS_OF
from slicewright.kubernetes.labels import ELASTIC, QUEUE, TPU
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path, counted, did_you_mean, nearest
from slicewright.kubernetes.quantity import amount
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

KINDS = frozenset({"RayCluster", "RayJob", "RayService"})
_MAX_NAME = {"RayCluster": 53, "RayJob": 47, "RayService": 47}
"""ray-operator/controllers/ray/utils/constant.go of KubeRay."""
_IMAGE = re.compile(r"(?:.*/)?rayproject/ray(?:-[a-z]+)?:([0-9]+\.[0-9]+\.[0-9]+)(?:[-.].*)?")
_RESOURCE = "TPU"
"""What Ray calls chips."""


def cluster(resource: Resource) -> tuple[Path, dict[str, Any]]:
    """Return where an object has the spec of a Ray cluster, and the spec."""
    way = PODS_OF[resource.kind].templates[0].way[:-2]
    return way, mapping(at(resource.data, *way))


def groups(resource: Resource) -> Iterator[tuple[Path, dict[str, Any], Pods | None]]:
    """Yield the worker groups of an object with their paths and their pods."""
    way, spec = cluster(resource)
    pods_at = {pods.path[:-1]: pods for pods in resource.pods}
    for index, group in entries(spec.get("workerGroupSpecs")):
        path = (*way, "workerGroupSpecs", index)
        yield path, group, pods_at.get(path)


def _with_head(resource: Resource) -> Iterator[tuple[Path, dict[str, Any], Pods | None]]:
    """Yield the group of the head without its pods, then the worker groups."""
    way, spec = cluster(resource)
    yield (*way, "headGroupSpec"), mapping(spec.get("headGroupSpec")), None
    yield from groups(resource)


@rule("RAY101", KINDS)
def _hosts(resource: Resource, objects: ObjectSet) -> Findings:
    for path, group, pods in groups(resource):
        row = shape(pods, objects) if pods else None
        hosts = number(group.get("numOfHosts"), 1)
        if pods is None or row is None or not pods.asks_for_tpu or is_alone(pods) or hosts == row.hosts:
            continue
        message = f"numOfHosts is {hosts}, but {row.topology} on {row.machine_type} has"
        where = (*path, "numOfHosts") if "numOfHosts" in group else path
        hint = f"write numOfHosts: {row.hosts}; replicas is the number of slices"
        fix = edits.write(resource.data, {(*path, "numOfHosts"): row.hosts})
        yield Finding(where, f"{message} {counted(row.hosts, 'host')}", hint, fix)


@rule("RAY102", KINDS)
def _bounds(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, group, _ in groups(resource):
        least, most = number(group.get("minReplicas"), 0) or 0, number(group.get("maxReplicas"))
        if most is not None and least > most:
            yield Finding((*path, "minReplicas"), f"minReplicas is {least}, but maxReplicas is {most}")
        elif least < 0:
            yield Finding(
                (*path, "minReplicas"), f"minReplicas is {least}, but must be 0 or more", "write 0 or more"
            )


@rule("RAY103", KINDS, "warning")
def _replicas(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, group, _ in groups(resource):
        replicas = number(group.get("replicas"))
        least, most = number(group.get("minReplicas"), 0) or 0, number(group.get("maxReplicas"))
        if replicas is None or (most is not None and least > most):
            continue
        within = max(least, replicas) if most is None else min(most, max(least, replicas))
        if within != replicas:
            message = f"replicas is {replicas}, but minReplicas and maxReplicas change it to {within}"
            place = (*path, "replicas")
            yield Finding(place, message, fix=edits.write(resource.data, {place: within}))


@rule("RAY104", KINDS)
def _names(resource: Resource, _objects: ObjectSet) -> Findings:
    seen: dict[str, int] = {}
    for index, (path, group, _) in enumerate(groups(resource)):
        name = text(group.get("groupName"))
        first = seen.setdefault(name, index)
        if first != index:
            message = f"duplicate worker group '{name}' (first at index {first})"
            yield Finding((*path, "groupName"), message, "give each group its own name")
        elif name == "head" and QUEUE in resource.labels:
            yield Finding((*path, "groupName"), "Kueue reserves the group name 'head' for the head pod")
        elif not name and "groupName" in group and (number(group.get("numOfHosts"), 1) or 1) > 1:
            message = "groupName is empty, but KubeRay labels multi-host pods with it"
            yield Finding((*path, "groupName"), message)


@rule("RAY105", KINDS)
def _parameters(resource: Resource, objects: ObjectSet) -> Findings:
    for path, group, pods in _with_head(resource):
        parameters = mapping(group.get("rayStartParams"))
        has_resources = any(map(parameters.get, ("num-cpus", "num-gpus", "memory", "resources")))
        if has_resources and group.get("resources"):
            message = "both the group and rayStartParams have resources"
            yield Finding((*path, "resources"), message, "write them in only one of the two")
        if "resources" not in parameters:
            continue
        where = (*path, "rayStartParams", "resources")
        amounts = _resources(text(parameters["resources"]))
        if amounts is None:
            message = "rayStartParams.resources is not a JSON object in quotes"
            yield Finding(where, message, r"""write '"{\"TPU\": 4}"'""")
        elif pods and pods.chips and amounts.get(_RESOURCE, pods.chips) != pods.chips:
            message = (
                f"rayStartParams has {amounts[_RESOURCE]} chips, but the pods request {pods.chips} of {TPU}"
            )
            hint = "leave it out: KubeRay uses the number of the pods"
            fix = edits.remove(where, safe=len(amounts) == 1)
            # Somebody may hand out hosts, or parts of chips, by this name.
            yield Finding(where, message, hint, fix, is_certain=objects.is_cluster)


def _resources(argument: str) -> dict[str, Any] | None:
    """Return the resources that `ray start` gets through a shell; None if it is not JSON."""
    plain = argument.strip()
    for quote in ("'", '"'):
        if len(plain) > 1 and plain[0] == plain[-1] == quote:
            plain = plain[1:-1]
    try:
        resources = json.loads(plain.replace('\\"', '"'))
    except ValueError:
        return None
    return resources if isinstance(resources, dict) else None


@rule("RAY106", {"RayJob"})
def _job(resource: Resource, _objects: ObjectSet) -> Findings:
    spec = mapping(resource.data.get("spec"))
    has_cluster, selects = spec.get("rayClusterSpec") is not None, bool(spec.get("clusterSelector"))
    is_queued = QUEUE in resource.labels
    if not has_cluster and not selects:
        message = "the RayJob has no rayClusterSpec and no clusterSelector"
        yield Finding(("spec",), message, "write one of the two")
    if has_cluster and selects and is_queued:
        message = "Kueue refuses a RayJob with both clusterSelector and rayClusterSpec"
        yield Finding(("spec", "clusterSelector"), message, "write only one of the two")
    is_interactive = spec.get("submissionMode") == "InteractiveMode"
    if not (text(spec.get("entrypoint")).strip() or "submitterPodTemplate" in spec or is_interactive):
        message = "the RayJob has no entrypoint"
        yield Finding(_place(spec, "entrypoint"), message, "write the command of the program")
    shuts_down = spec.get("shutdownAfterJobFinishes") is True
    ttl, path = number(spec.get("ttlSecondsAfterFinished")) or 0, ("spec", "ttlSecondsAfterFinished")
    if ttl < 0:
        yield Finding(path, f"ttlSecondsAfterFinished is {ttl}, but must be 0 or more", "write 0 or more")
    elif not shuts_down and ttl > 0:
        yield Finding(path, "ttlSecondsAfterFinished needs shutdownAfterJobFinishes")
    elif not shuts_down and spec.get("suspend") is True:
        yield Finding(("spec", "suspend"), "a suspended RayJob needs shutdownAfterJobFinishes")
    elif not shuts_down and has_cluster and not selects and is_queued:
        message = "Kueue refuses a queued RayJob that keeps its cluster"
        yield Finding(_place(spec, "shutdownAfterJobFinishes"), message)
    for key, least in (("activeDeadlineSeconds", 1), ("preRunningDeadlineSeconds", 1), ("backoffLimit", 0)):
        if (value := number(spec.get(key), least)) is not None and value < least:
            yield Finding(("spec", key), f"{key} is {value}", f"write {least} or more")
    if (number(spec.get("backoffLimit")) or 0) > 0 and (selects or is_interactive):
        message = (
            f"backoffLimit cannot be combined with {'clusterSelector' if selects else 'InteractiveMode'}"
        )
        yield Finding(("spec", "backoffLimit"), message, "leave backoffLimit out")


def _place(spec: dict[str, Any], key: str) -> Path:
    return ("spec", key) if key in spec else ("spec",)


@rule("RAY107", KINDS)
def _name(resource: Resource, _objects: ObjectSet) -> Findings:
    refusal = against_dns1035(resource.name, _MAX_NAME[resource.kind])
    if refusal and resource.name:
        yield Finding(("metadata", "name"), f"name '{resource.name}' of a {resource.kind} {refusal}")


@rule("RAY108", KINDS)
def _queued(resource: Resource, _objects: ObjectSet) -> Findings:
    way, spec = cluster(resource)
    may_scale = QUEUE not in resource.labels or ELASTIC in resource.annotations
    if spec.get("enableInTreeAutoscaling") is True and not may_scale:
        message = "Kueue refuses a Ray cluster that scales itself"
        hint = f'leave enableInTreeAutoscaling out, or annotate {ELASTIC}: "true"'
        yield Finding((*way, "enableInTreeAutoscaling"), message, hint)


@rule("RAY109", KINDS, "warning")
def _head(resource: Resource, objects: ObjectSet) -> Findings:
    way, _ = cluster(resource)
    for pods in resource.pods:
        row = shape(pods, objects)
        if pods.path[:-1] == (*way, "headGroupSpec") and row and row.multi_host and pods.asks_for_tpu:
            message = f"the head is one pod, but {row.topology} on {row.machine_type} has {row.hosts} hosts"
            yield Finding(pods.spec_path, message)


@rule("RAY110", KINDS)
def _autoscaler(resource: Resource, _objects: ObjectSet) -> Findings:
    way, spec = cluster(resource)
    if spec.get("enableInTreeAutoscaling") is not True or at(spec, "autoscalerOptions", "version") != "v2":
        return
    for pods in resource.pods:
        policy = pods.spec.get("restartPolicy", "Never")
        if policy != "Never" and pods.path[: len(way)] == way:
            path = (*pods.spec_path, "restartPolicy")
            yield Finding(path, f"restartPolicy is {policy}, but autoscaler v2 allows only Never")


@rule("RAY111", KINDS, "note")
def _version(resource: Resource, _objects: ObjectSet) -> Findings:
    way, spec = cluster(resource)
    version = text(spec.get("rayVersion"))
    images = [text(container.get("image")) for pods in resource.pods for _, container in pods.containers]
    if version:
        for image in images:
            release = _IMAGE.fullmatch(image)
            if release and release[1] != version:
                message = f"rayVersion is {version}, but image '{image}' has {release[1]}"
                yield Finding((*way, "rayVersion"), message)
                return


@rule("RAY112", {"RayJob", "RayService"})
def _yaml(resource: Resource, _objects: ObjectSet) -> Findings:
    key = "serveConfigV2" if resource.kind == "RayService" else "runtimeEnvYAML"
    manifest = text(at(resource.data, "spec", key))
    if not manifest.strip():
        return
    config = _mapping(manifest)
    if config is None and is_unfinished(manifest):
        return  # `{num_cpus: ${CPUS}}` is not YAML until somebody fills it in
    if config is None:
        yield Finding(("spec", key), f"the text of {key} is not one YAML mapping")
    elif key == "serveConfigV2":
        applications = [entry for _, entry in entries(config.get("applications"))]
        if not applications:
            yield Finding(("spec", key), "serveConfigV2 has no applications", "write applications: [...]")
        for entry in applications:
            if not entry.get("import_path"):
                message = f"application '{entry.get('name', '')}' has no import_path"
                yield Finding(("spec", key), message, "write import_path: MODULE:VARIABLE")


def _mapping(manifest: str) -> dict[str, Any] | None:
    """Return the mapping of a YAML text; None if it is not one. KubeRay takes the last of equal keys."""
    documents, problems = read_manifests(manifest, "")
    is_read = all(problem.id == "YAML002" or problem.severity != "error" for problem in problems)
    data = documents[0].data if is_read and len(documents) == 1 else None
    return data if isinstance(data, dict) else None


@rule("RAY114", {"RayService"})
def _actors(resource: Resource, _objects: ObjectSet) -> Findings:
    most: Any = max((pods.chips for pods in resource.pods), default=0)
    for _, group, _ in groups(resource):
        resources = mapping(_resources(text(at(group, "rayStartParams", "resources"))))
        most = max(most, amount(resources.get(_RESOURCE)) or 0)
    config = mapping(_mapping(text(at(resource.data, "spec", "serveConfigV2"))))
    for _, application in entries(config.get("applications")):
        for _, deployment in entries(application.get("deployments")):
            request = amount(at(deployment, "ray_actor_options", "resources", _RESOURCE)) or 0
            if request > most:
                message = f"deployment '{deployment.get('name', '')}' requests {request} {_RESOURCE}"
                yield Finding(("spec", "serveConfigV2"), f"{message}, but no pod has more than {most} chips")


_START = """
address autoscaling-config block dashboard-agent-grpc-port dashboard-agent-listen-port dashboard-grpc-port
dashboard-host dashboard-port disable-usage-stats gcs-server-port head include-dashboard labels labels-file
log-color log-style max-worker-port memory metrics-export-port min-worker-port no-monitor node-ip-address
node-manager-port node-name num-cpus num-gpus num-redis-shards object-manager-port object-spilling-directory
object-store-memory plasma-directory plasma-store-socket-name port ray-client-server-port
ray-debugger-external raylet-socket-name redis-address redis-password redis-shard-ports redis-username
resources runtime-env-agent-port storage system-config temp-dir tracing-startup-hook verbose worker-port-list
"""
_OPTIONS = frozenset(_START.split())
"""The options of `ray start` (Ray 2.52)."""


@rule("RAY113", KINDS, "warning")
def _options(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, group, _ in _with_head(resource):
        for key in mapping(group.get("rayStartParams")):
            near = nearest(key, _OPTIONS) if key not in _OPTIONS else []
            if near:
                message = f"`ray start` has no option '{key}'"
                yield Finding((*path, "rayStartParams", key), message, f"did you mean '{near[0]}'?")


_MODES = ("HTTPMode", "InteractiveMode", "K8sJobMode", "SidecarMode")


@rule("RAY115", {"RayJob"})
def _mode(resource: Resource, _objects: ObjectSet) -> Findings:
    mode = text(at(resource.data, "spec", "submissionMode"))
    if mode and mode not in _MODES:
        path = ("spec", "submissionMode")
        yield Finding(path, f"KubeRay has no submissionMode '{mode}'", did_you_mean(mode, _MODES))
