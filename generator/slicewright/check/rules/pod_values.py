"""What the API server refuses about pods and Jobs; JobSet and others accept it, and fail to make them."""

import re
from typing import Any

from slicewright.catalogue.shape import joined
from slicewright.check.rules import limits
from slicewright.check.rules.dns import (
    KEY_FORM,
    VALUE_FORM,
    is_dns_label,
    is_label_key,
    is_label_value,
    is_port_name,
)
from slicewright.check.rules.kueue_flavors import of_tolerations
from slicewright.document.edit import fix_of_choice
from slicewright.kubernetes.fields import at, entries, mapping, number, sequence, text
from slicewright.kubernetes.kinds import EACH, JOB_KINDS, TEMPLATE_KINDS, Way
from slicewright.kubernetes.labels import VIRTUAL_KUBELETS
from slicewright.kubernetes.pods import Pods, along
from slicewright.kubernetes.problem import Path, did_you_mean
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_HOST_PATHS = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
)


def _operators(places: tuple[str, ...]) -> list[Way]:
    return [way for place in places for way in limits.ways(f"{place}.matchExpressions.*.operator")]


_OF_PODS: dict[Way, tuple[str, ...]] = {
    ("dnsPolicy",): ("", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    ("preemptionPolicy",): ("Never", "PreemptLowerPriority"),
    ("os", "name"): ("linux", "windows"),
    ("securityContext", "fsGroupChangePolicy"): ("Always", "OnRootMismatch"),
    ("securityContext", "seccompProfile", "type"): _PROFILES,
    ("topologySpreadConstraints", EACH, "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
    ("topologySpreadConstraints", EACH, "nodeAffinityPolicy"): ("Honor", "Ignore"),
    ("topologySpreadConstraints", EACH, "nodeTaintsPolicy"): ("Honor", "Ignore"),
    ("volumes", EACH, "hostPath", "type"): _HOST_PATHS,
    ("volumes", EACH, "emptyDir", "medium"): ("", "Memory", "HugePages"),
    **dict.fromkeys(_operators(limits.TERMS), (*_OPERATORS, "Gt", "Lt")),
    **dict.fromkeys(_operators(limits.SELECTORS), _OPERATORS),
}
_OF_CONTAINERS: dict[Way, tuple[str, ...]] = {
    ("imagePullPolicy",): ("", "Always", "IfNotPresent", "Never"),
    ("terminationMessagePolicy",): ("", "File", "FallbackToLogsOnError"),
    ("ports", EACH, "protocol"): ("TCP", "UDP", "SCTP"),
    ("restartPolicy",): ("Always", "Never", "OnFailure"),
    ("securityContext", "seccompProfile", "type"): _PROFILES,
    ("volumeMounts", EACH, "mountPropagation"): ("Bidirectional", "HostToContainer", "None"),
    **{
        way: ("HTTP", "HTTPS")
        for handler in limits.HANDLERS
        for way in limits.ways(f"{handler}.httpGet.scheme")
    },
}
_RULES: Way = ("podFailurePolicy", "rules", EACH)
_OF_JOBS: dict[Way, tuple[str, ...]] = {
    (*_RULES, "action"): ("Count", "FailIndex", "FailJob", "Ignore"),
    (*_RULES, "onExitCodes", "operator"): ("In", "NotIn"),
    (*_RULES, "onPodConditions", EACH, "status"): ("True", "False", "Unknown"),
    ("podReplacementPolicy",): ("Failed", "TerminatingOrFailed"),
}
_STANDARD = re.compile(r"cpu|memory|ephemeral-storage|storage|hugepages-.+|.+/.+")
_NOT_NEGATIVE = (
    *("activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completions", "maxFailedIndexes"),
    *("parallelism", "ttlSecondsAfterFinished"),
)
_HANDLERS = frozenset({"exec", "grpc", "httpGet", "sleep", "tcpSocket"})
_PROBES: tuple[Way, ...] = (
    *(("livenessProbe",), ("readinessProbe",), ("startupProbe",)),
    *(("lifecycle", "postStart"), ("lifecycle", "preStop")),
)
_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_FIELD = re.compile(r"metadata\.(labels|annotations)(\['.+'\])?")
_NOT_AN_IMAGE = re.compile(r"[:/@]\Z|[^\w.:/@+\[\]-]|(?<!\Ako)://", re.ASCII)
"""https://github.com/distribution/reference has the grammar; `ko://` is a package that ko builds."""


@rule("JS133", TEMPLATE_KINDS)
def _words(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        yield from limits.refused_later(resource, _words_of_pods(pods))


def _words_of_pods(pods: Pods) -> Findings:
    yield from _of_words(pods.spec, pods.spec_path, _OF_PODS)
    for path, container in (*pods.containers, *pods.init_containers):
        yield from _of_words(container, path, _OF_CONTAINERS)
    yield from _of_words(pods.job, pods.job_path, _OF_JOBS)


def _of_words(holder: dict[str, Any], path: Path, known: dict[Way, tuple[str, ...]]) -> Findings:
    for way, words in known.items():
        if way[0] in holder:
            for place, steps in along(way, holder):
                word = steps[-1]
                if isinstance(word, str) and word not in words and not word.startswith("HugePages-"):
                    where = (*path, *place)
                    hint, fix = did_you_mean(word, filter(None, words)), fix_of_choice(word, words, where)
                    yield Finding(where, f"'{word}' is not a valid {place[-1]}", hint, fix)


@rule("JS134", TEMPLATE_KINDS)
def _pods(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        yield from limits.refused_later(resource, _of_pods(pods))


def _of_pods(pods: Pods) -> Findings:
    yield from of_tolerations(pods.spec.get("tolerations"), (*pods.spec_path, "tolerations"))
    yield from _labels(pods)
    yield from _volumes(pods)
    yield from _whole(pods)
    yield from limits.against(limits.POD, pods.spec, pods.spec_path)
    running = {text(container.get("name")) for _, container in pods.containers}
    for path, container in (*pods.containers, *pods.init_containers):
        name = text(container.get("name"))
        if name and not is_dns_label(name):
            yield Finding(
                (*path, "name"), f"'{name}' is not a valid container name", f"write {limits.LABEL_FORM}"
            )
        elif path[-2] == "initContainers" and name in running:
            hint = "give each container its own name"
            yield Finding((*path, "name"), f"duplicate container '{name}'", hint)
        if path[-2] == "initContainers" and container.get("restartPolicy") != "Always":
            yield from limits.against(limits.INIT, container, path)
        yield from _container(container, path, is_virtual=_is_virtual(pods.spec))


def _is_virtual(spec: dict[str, Any]) -> bool:
    """Tell whether pods are for a virtual kubelet, whose provider takes images in a form of its own."""
    keys = {text(toleration.get("key")) for _, toleration in entries(spec.get("tolerations"))}
    return (
        not VIRTUAL_KUBELETS.isdisjoint(keys)
        or mapping(spec.get("nodeSelector")).get("type") == "virtual-kubelet"
    )


def _labels(pods: Pods) -> Findings:
    for way in (("spec", "nodeSelector"), ("metadata", "labels")):
        path = (*pods.path, *way)
        for key, value in mapping(at(pods.template, *way)).items():
            if not is_label_key(key):
                yield Finding((*path, key), f"'{key}' is not a valid label key", f"write {KEY_FORM}")
            elif isinstance(value, str) and not is_label_value(value):
                message = f"'{value}' is not a valid label value"
                yield Finding((*path, key), message, f"write {VALUE_FORM}")


def _whole(pods: Pods) -> Findings:
    if pods.spec.get("containers") == []:
        yield Finding((*pods.spec_path, "containers"), "the pods have no container", "add a container")
    if pods.spec.get("hostNetwork") is True:
        for path, container in pods.containers:
            for index, port in entries(container.get("ports")):
                if port.get("hostPort") not in (None, 0, port.get("containerPort")):
                    message = "with hostNetwork the hostPort must be the containerPort"
                    yield Finding((*path, "ports", index, "hostPort"), message, "leave hostPort out")


def _volumes(pods: Pods) -> Findings:
    for index, volume in entries(pods.spec.get("volumes")):
        path = (*pods.spec_path, "volumes", index)
        name, sources = text(volume.get("name")), sorted(volume.keys() - {"name"})
        if name and not is_dns_label(name):
            yield Finding(
                (*path, "name"), f"'{name}' is not a valid volume name", f"write {limits.LABEL_FORM}"
            )
        if len(sources) > 1:  # without any it is an emptyDir
            message = f"volume '{name}' has several sources: {', '.join(sources)}"
            yield Finding(path, message, "write one source")


def _container(container: dict[str, Any], path: Path, *, is_virtual: bool) -> Findings:
    yield from _ports(container, (*path, "ports"))
    yield from _environment(container, path)
    image = text(container.get("image"))
    if _NOT_AN_IMAGE.search(image) and not is_virtual:
        yield Finding((*path, "image"), f"'{image}' is not a valid image", "write registry/name:tag")
    for way in _PROBES:
        probe = at(container, *way) if way[0] in container else None
        if isinstance(probe, dict) and len(_HANDLERS & probe.keys()) != 1:
            message = f"{way[-1]} must have one of exec, httpGet, tcpSocket and grpc"
            yield Finding((*path, *way), message, "write one of them")
    rights = mapping(container.get("securityContext"))
    if rights.get("privileged") is True and rights.get("allowPrivilegeEscalation") is False:
        message = "a privileged container cannot have allowPrivilegeEscalation: false"
        hint = "leave allowPrivilegeEscalation out, or write privileged: false"
        yield Finding((*path, "securityContext", "allowPrivilegeEscalation"), message, hint)
    mounts: set[str] = set()
    for index, entry in entries(container.get("volumeMounts")):
        place = text(entry.get("mountPath"))
        if place and place in mounts:
            message, hint = f"duplicate mount at '{place}'", "write another mountPath, or remove one mount"
            yield Finding((*path, "volumeMounts", index, "mountPath"), message, hint)
        mounts.add(place)
    for key in ("requests", "limits"):
        for name in mapping(at(container, "resources", key)):
            if not _STANDARD.fullmatch(name):
                message = f"'{name}' is not a valid resource: only standard resources have no domain"
                hint = "write the name with its domain, such as google.com/tpu"
                yield Finding((*path, "resources", key, name), message, hint)
    yield from limits.of_resources(container.get("resources"), (*path, "resources"))
    yield from limits.against(limits.CONTAINER, container, path)


def _environment(container: dict[str, Any], path: Path) -> Findings:
    for index, entry in entries(container.get("env")):
        name, source = text(entry.get("name")), entry.get("valueFrom")
        if source is None and "=" not in name:
            continue
        place = (*path, "env", index)
        if entry.get("value") and source is not None:
            message = f"environment variable '{name}' has both value and valueFrom"
            yield Finding(place, message, "leave value or valueFrom out")
        elif isinstance(source, dict) and len(source) != 1:
            message = f"environment variable '{name}' must have one source"
            hint = "write one of fieldRef, resourceFieldRef, configMapKeyRef and secretKeyRef"
            yield Finding((*place, "valueFrom"), message, hint)
        if "=" in name:
            message = f"'{name}' is not a valid environment variable name"
            yield Finding((*place, "name"), message, "write the name without '=', and its value in value")
        field = at(source, "fieldRef", "fieldPath")
        if isinstance(field, str) and field not in _FIELDS and not _FIELD.fullmatch(field):
            where = (*place, "valueFrom", "fieldRef", "fieldPath")
            hint, fix = did_you_mean(field, _FIELDS), fix_of_choice(field, _FIELDS, where)
            yield Finding(where, f"'{field}' is not a field that pods can read", hint, fix)
    for index, entry in entries(container.get("envFrom")):
        if len(entry.keys() & {"configMapRef", "secretRef"}) != 1:
            message = "envFrom must have one of configMapRef and secretRef"
            yield Finding((*path, "envFrom", index), message, "write configMapRef or secretRef in each entry")
        for key in ("configMapRef", "secretRef"):
            if key in entry and not at(entry, key, "name"):
                yield Finding((*path, "envFrom", index, key), f"{key} has no name", "add name: NAME")


def _ports(container: dict[str, Any], path: Path) -> Findings:
    names: set[str] = set()
    for index, port in entries(container.get("ports")):
        name = text(port.get("name"))
        if name and not is_port_name(name):
            message = f"'{name}' is not a valid port name"
            yield Finding((*path, index, "name"), message, f"write {limits.PORT_FORM}")
        elif name and name in names:
            hint = "give each port its own name"
            yield Finding((*path, index, "name"), f"duplicate port '{name}'", hint)
        names.add(name)


@rule("JS135", JOB_KINDS)
def _jobs(resource: Resource, _objects: ObjectSet) -> Findings:
    # As the API server returns it; it has added the selector itself.
    is_stored = bool(resource.data.get("status") or resource.metadata.get("uid"))
    for pods in resource.pods:
        for key in _NOT_NEGATIVE:
            if (number(pods.job.get(key)) or 0) < 0:
                yield Finding((*pods.job_path, key), f"{key} is negative: {pods.job[key]}", "write 0 or more")
        for index, entry in entries(at(pods.job, "podFailurePolicy", "rules")):
            yield from _failure_rule(pods, entry, (*pods.job_path, "podFailurePolicy", "rules", index))
        is_chosen = any(mapping(pods.job.get("selector")).values())  # the API server fills an empty one
        if is_chosen and not (is_stored or pods.job.get("manualSelector") is True):
            message = "the Job controller sets the selector, and the API refuses any other"
            yield Finding((*pods.job_path, "selector"), message, "leave selector out")
        if at(pods.job, "successPolicy", "rules") == []:
            path = (*pods.job_path, "successPolicy", "rules")
            yield Finding(path, "the success policy has no rules", "add a rule, or leave successPolicy out")
        if pods.job.get("podFailurePolicy") and pods.job.get("podReplacementPolicy") == "TerminatingOrFailed":
            message = "podFailurePolicy needs podReplacementPolicy: Failed"
            yield Finding((*pods.job_path, "podReplacementPolicy"), message, "write Failed, or leave it out")


def _failure_rule(pods: Pods, entry: dict[str, Any], path: Path) -> Findings:
    codes, conditions = entry.get("onExitCodes"), sequence(entry.get("onPodConditions"))
    if (codes is None) == (not conditions):
        message = "a rule must have either onExitCodes or onPodConditions"
        yield Finding(path, message, "write one of the two")
    if isinstance(codes, dict):
        names = [text(container.get("name")) for _, container in (*pods.containers, *pods.init_containers)]
        own = codes.get("containerName")
        if own is not None and names and own not in names:
            hint = f"write {joined(names, 'or')}, or leave containerName out"
            yield Finding((*path, "onExitCodes", "containerName"), f"no container is called '{own}'", hint)
        values = sequence(codes.get("values"))
        if not values or (codes.get("operator") == "In" and 0 in values):
            message = "exit code 0 is not a failure" if values else "the rule lists no exit codes"
            yield Finding((*path, "onExitCodes", "values"), message, "list the exit codes of failures")
    for index, condition in entries(conditions):
        name = text(condition.get("type"))
        if not is_label_key(name):
            message = f"'{name}' is not a valid condition type"
            hint = "write a type of a pod condition, such as DisruptionTarget"
            yield Finding((*path, "onPodConditions", index, "type"), message, hint)
    if entry.get("action") == "FailIndex" and pods.job.get("backoffLimitPerIndex") is None:
        hint = "add backoffLimitPerIndex, or write action: FailJob"
        yield Finding((*path, "action"), "action FailIndex needs backoffLimitPerIndex", hint)
