"""What KubeRay refuses of Ray objects beyond their schemas, as tables and conditions between fields."""

import re
from typing import Any

from slicewright.check.rules import limits
from slicewright.check.rules.ray import KINDS, cluster, groups
from slicewright.kubernetes.fields import at, entries, mapping, text
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import seconds
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_CLUSTER_LABEL = "ray.io/cluster"
_TIMEOUT = "ray.io/initializing-timeout"
_FAULT_TOLERANT, _STORAGE = "ray.io/ft-enabled", "ray.io/external-storage-namespace"
_SWITCH, _REDIS = "RAY_enable_autoscaler_v2", "RAY_REDIS_ADDRESS"
_OPTIONS = "gcsFaultToleranceOptions"
_NUMBER = re.compile(r"[+-]?[0-9]+")
_RELEASE = re.compile(r"v?([0-9]+)\.([0-9]+)")
_TOKENS, _KUBERNETES_TOKENS = (2, 52), (2, 55)
"""The Ray releases that take a mode of authOptions."""
_LEAVE_OUT = "leave one of the two out"
_ANY_UPGRADE = ("NewCluster", "NewClusterWithIncrementalUpgrade", "None")


def _when(*fields: tuple[str, Any]) -> limits.Test:
    """Return the test of a field that cannot be combined with a value of another one beside it."""

    def test(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
        if value not in (None, False, {}, []):
            for key, other in fields:
                if within.get(key) == other or (other is ... and within.get(key)):
                    value_of_key = "" if other is ... else f": {'true' if other is True else other}"
                    return f"cannot be combined with {key}{value_of_key}", _LEAVE_OUT
        return None

    return test


def _selector(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    if isinstance(value, dict) and value and not value.get(_CLUSTER_LABEL):
        message = f"needs the key {_CLUSTER_LABEL} with the name of a RayCluster"
        return message, f"write clusterSelector: {{{_CLUSTER_LABEL}: NAME}}"
    return _when(("submissionMode", "SidecarMode"), ("suspend", True))(value, within)


_OF_GROUP: dict[str, limits.Test] = {
    "labels": limits.labels,
    "rayStartParams.labels": limits.not_for("`ray start`", "write labels: {...} in the group instead"),
    "idleTimeoutSeconds": limits.number_from(0),
}
_OF_CLUSTER = limits.table(
    {
        **{f"headGroupSpec.{key}": test for key, test in _OF_GROUP.items()},
        **{f"workerGroupSpecs.*.{key}": test for key, test in _OF_GROUP.items()},
        "headGroupSpec.rayStartParams.redis-username": limits.not_for(
            "`ray start` of the head", f"write {_OPTIONS}.redisUsername"
        ),
        "autoscalerOptions.idleTimeoutSeconds": limits.number_from(0),
    }
)
_NAME_OF_HEAD_SERVICE = "spec.rayClusterConfig.headGroupSpec.headService.metadata.name"
_OF_KIND = {
    "RayJob": limits.table(
        {
            "spec.clusterSelector": _selector,
            "spec.submitterPodTemplate|submitterConfig": _when(("submissionMode", "SidecarMode")),
            "spec.deletionStrategy.deletionRules": _when(("onSuccess", ...), ("onFailure", ...)),
            "spec.deletionStrategy": lambda value, within: _when(("shutdownAfterJobFinishes", True))(
                at(value, "deletionRules"), within
            ),
        }
    ),
    "RayService": limits.table(
        {
            _NAME_OF_HEAD_SERVICE: limits.not_for("the headService of a RayService"),
            "spec.upgradeStrategy.type": limits.shaped(
                lambda word: word in _ANY_UPGRADE, f"one of: {', '.join(_ANY_UPGRADE)}"
            ),
        }
    ),
}


@rule("RAY116", KINDS)
def _fields(resource: Resource, _objects: ObjectSet) -> Findings:
    yield from limits.against(_OF_KIND.get(resource.kind, {}), resource.data, ())
    way, spec = cluster(resource)
    yield from limits.against(_OF_CLUSTER, spec, way)
    yield from _together(resource, way, spec)
    span = resource.annotations.get(_TIMEOUT, "")
    value = seconds(f"{span}s" if _NUMBER.fullmatch(span) else span)
    if resource.kind == "RayService" and span and not (value and value > 0):
        message = f"{_TIMEOUT} is '{span}', but must be a time span above 0, such as 5m"
        yield Finding(("metadata", "annotations", _TIMEOUT), message, "write a time span, such as 5m")


def _together(resource: Resource, way: Path, spec: dict[str, Any]) -> Findings:
    """Yield the fields that cannot be combined with another part of a cluster."""
    head = mapping(spec.get("headGroupSpec"))
    scales, version = spec.get("enableInTreeAutoscaling") is True, at(spec, "autoscalerOptions", "version")
    has_options = spec.get(_OPTIONS) is not None
    is_tolerant = has_options or resource.annotations.get(_FAULT_TOLERANT, "").lower() == "true"
    path: Path = (*way, "headGroupSpec", "template", "spec", "containers", 0, "env")
    containers = [entry for _, entry in entries(at(head, "template", "spec", "containers"))]
    environment = list(entries(containers[0].get("env"))) if containers else []
    switch = next((text(entry.get("value")) for _, entry in environment if entry.get("name") == _SWITCH), "")
    is_v2, is_switched = version == "v2", switch in ("1", "true")
    refused = {
        _REDIS: (has_options or not is_tolerant, f"write {_OPTIONS}.redisAddress"),
        "REDIS_PASSWORD": (has_options, f"write {_OPTIONS}.redisPassword"),
        "REDIS_USERNAME": (True, f"write {_OPTIONS}.redisUsername"),
        _SWITCH: (
            (scales and version is not None) or (is_switched and not scales),
            "write autoscalerOptions.version, with enableInTreeAutoscaling: true",
        ),
    }
    for index, entry in environment:
        name = text(entry.get("name"))
        is_refused, instead = refused.get(name, (False, ""))
        if is_refused:
            message = f"KubeRay refuses environment variable {name} of the head"
            yield Finding((*path, index), message, instead)
    for key in (_FAULT_TOLERANT, _STORAGE):
        if has_options and resource.annotations.get(key):
            message = f"{key} cannot be combined with {_OPTIONS}"
            yield Finding(("metadata", "annotations", key), message, "leave the annotation out")
    if has_options and at(head, "rayStartParams", "redis-password"):
        where = (*way, "headGroupSpec", "rayStartParams", "redis-password")
        message = f"redis-password cannot be combined with {_OPTIONS}"
        yield Finding(where, message, f"write {_OPTIONS}.redisPassword")
    for place, group, _ in groups(resource):
        if group.get("idleTimeoutSeconds") is not None and not (is_v2 or is_switched):
            message = "idleTimeoutSeconds needs autoscalerOptions.version: v2"
            hint = "write autoscalerOptions: {version: v2}, or leave idleTimeoutSeconds out"
            yield Finding((*place, "idleTimeoutSeconds"), message, hint)
        if scales and group.get("suspend") is True:
            message = "a group cannot be suspended with enableInTreeAutoscaling"
            yield Finding((*place, "suspend"), message, _LEAVE_OUT)
    yield from _tokens(resource, way, spec)


def _tokens(resource: Resource, way: Path, spec: dict[str, Any]) -> Findings:
    options, path = mapping(spec.get("authOptions")), (*way, "authOptions")
    by_kubernetes = options.get("enableK8sTokenAuth") is True
    if by_kubernetes and (resource.kind != "RayCluster" or options.get("mode") != "token"):
        message = "enableK8sTokenAuth needs a RayCluster with authOptions.mode: token"
        hint = "leave enableK8sTokenAuth out, or write it in a RayCluster with mode: token"
        yield Finding((*path, "enableK8sTokenAuth"), message, hint)
    elif by_kubernetes and options.get("secretName"):
        message = "secretName cannot be combined with enableK8sTokenAuth"
        yield Finding((*path, "secretName"), message, _LEAVE_OUT)
    release = _RELEASE.match(text(spec.get("rayVersion")))
    least = _KUBERNETES_TOKENS if by_kubernetes else _TOKENS
    if options.get("mode") == "token" and (not release or (int(release[1]), int(release[2])) < least):
        version = f"is {spec['rayVersion']}" if spec.get("rayVersion") else "is missing"
        where = (*way, "rayVersion") if "rayVersion" in spec else way
        needs = ".".join(map(str, least))
        message = f"rayVersion {version}, but authOptions needs {needs} or later"
        yield Finding(where, message, f"write rayVersion: {needs}.0 or later, and an image of this version")
