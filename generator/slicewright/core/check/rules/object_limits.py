"""What the API server refuses of workloads, Services, claims and data beyond its schema, as tables."""

import re
from typing import Any

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules import limits
from slicewright.core.check.rules.dns import is_dns_label, is_subdomain
from slicewright.core.kubernetes.duration import seconds
from slicewright.core.kubernetes.name_room import MAX_LABEL
from slicewright.core.kubernetes.read import at, entries, mapping, number, sequence, text, texts


def _always(value: Any, _within: dict[str, Any]) -> limits.Refusal | None:
    if value not in ("Never", "OnFailure"):
        return None
    return f"is {value}, but pods of this kind must have Always", "write Always, or leave restartPolicy out"


_WHOLE: dict[str, limits.Test] = {
    "template.spec.restartPolicy": _always,
    "template.spec.activeDeadlineSeconds": limits.not_for("pods of this kind"),
    "minReadySeconds": limits.number_from(0),
    "selector.matchExpressions.*": limits.expression,
    "selector.matchLabels": limits.labels,
    "selector": lambda value, _: (
        ("is empty", "write matchLabels with labels of the pod template")
        if isinstance(value, dict) and not any(value.values())
        else None
    ),
}


def _later(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    ready = number(within.get("minReadySeconds"), 0) or 0
    deadline = number(value, 600) or 0
    message = f"is {deadline}, but must be above minReadySeconds ({ready})"
    return (message, f"write {ready + 1} or more") if deadline <= ready else None


def _share(value: Any, _within: dict[str, Any]) -> limits.Refusal | None:
    is_no_share = isinstance(value, str) and not re.fullmatch("[0-9]+%", value)
    is_wrong = is_no_share or (number(value) or 0) < 0
    message = f"is {value!r}, but must be a number or a percentage"
    return (message, "write 0 or more, or a percentage such as 25%") if is_wrong else None


def _at_most_all(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    percent = text(value).removesuffix("%")
    is_above = percent.isdecimal() and int(percent) > 100  # noqa: PLR2004
    refusal = (f"is {value}, but must be 100% or less", "write 100% or less")
    return refusal if is_above else _share(value, within)


def _one_way(value: Any, _within: dict[str, Any]) -> limits.Refusal | None:
    amounts = {"maxSurge": 0, "maxUnavailable": 1, **mapping(value)}
    ways = sum(amounts[key] not in (0, "0%") for key in ("maxSurge", "maxUnavailable"))
    message = "must have one of maxSurge and maxUnavailable above 0, and the other 0"
    hint = "write maxUnavailable: 1, or maxSurge: 1 with maxUnavailable: 0"
    return None if ways == 1 else (message, hint)


_KEYS_OF = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
"""The keys that a type of Secret needs."""


def _keys(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    own = {*mapping(within.get("data")), *mapping(within.get("stringData"))}
    missing = [key for key in _KEYS_OF.get(text(value), ()) if key not in own]
    return (f"{value} needs the key {missing[0]}", "add the key to data") if missing else None


def _only_rolling(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    other = text(within.get("type")) or "RollingUpdate"
    is_wrong = value is not None and other != "RollingUpdate"
    message = f"needs type: RollingUpdate, not {other}"
    return (message, "write type: RollingUpdate, or leave rollingUpdate out") if is_wrong else None


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    *((0, 59, ()), (0, 23, ()), (1, 31, ())),
    *((1, 12, _MONTHS), (0, 6, _DAYS)),
)
"""Least and most of each field, and the names of its numbers."""
_EVERY = re.compile(r"@(yearly|annually|monthly|weekly|daily|midnight|hourly)")
_SPAN = "@every "


def _schedule(value: Any, _within: dict[str, Any]) -> limits.Refusal | None:
    """Read a schedule as robfig/cron v3 does, which the API server asks."""
    if not isinstance(value, str) or _EVERY.fullmatch(value):
        return None
    if value.startswith(_SPAN) and seconds(value.removeprefix(_SPAN)) is not None:
        return None
    if value.startswith(("TZ=", "CRON_TZ=")):
        return f"is '{value}', but the time zone must be in timeZone", "move the time zone to timeZone"
    fields = value.split()
    if len(fields) != len(_BOUNDS) or value.startswith("@"):
        hint = "write minute, hour, day of the month, month and day of the week, such as 0 3 * * 1"
        return f"is '{value}', but must have 5 fields", hint
    for field, (least, most, names) in zip(fields, _BOUNDS, strict=True):
        for part in filter(None, field.split(",")):
            if not _is_part(part, least, most, names):
                hint = (
                    f"write *, or numbers from {least} to {most}{' (0 is Sunday)' if names == _DAYS else ''}"
                )
                return f"is '{value}', but '{part}' is not from {least} to {most}", hint
    return None


def _is_part(part: str, least: int, most: int, names: tuple[str, ...]) -> bool:
    numbers = {name: str(number) for number, name in enumerate(names, least)}
    span, slash, step = part.partition("/")
    start, hyphen, last = span.partition("-")
    ends = [numbers.get(end.lower(), end) for end in (start, last or start)]
    if slash and not (step.isdecimal() and int(step)):
        return False
    if start in ("*", "?"):
        return not hyphen
    if not all(end.isdecimal() for end in ends) or (hyphen and not last):
        return False
    return least <= int(ends[0]) <= int(ends[1]) <= most


def _names(value: Any, _within: dict[str, Any]) -> limits.Refusal | None:
    names = [text(entry.get("name")) for _, entry in entries(value)]
    if len(names) > 1 and not all(names):
        return "must have names, because the Service has several ports", _OWN_NAMES
    repeated = [name for name in names if names.count(name) > 1]
    is_wrong = repeated and repeated[0]
    return (f"cannot have the name '{repeated[0]}' twice", _OWN_NAMES) if is_wrong else None


_OWN_NAMES = "give each port its own name"


def _headless(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    is_wrong = value == "None" and within.get("type") in ("NodePort", "LoadBalancer", "ExternalName")
    message = f"None cannot be combined with type: {within.get('type')}"
    return (message, "write type: ClusterIP, or leave clusterIP out") if is_wrong else None


def _balanced(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    is_wrong = value not in (None, []) and within.get("type") != "LoadBalancer"
    hint = "write type: LoadBalancer, or leave the field out"
    return ("needs type: LoadBalancer", hint) if is_wrong else None


_IS_OUTSIDE = "type: NodePort or LoadBalancer"


def _outside(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    is_inside = within.get("type", "ClusterIP") == "ClusterIP" and not within.get("externalIPs")
    hint = f"write {_IS_OUTSIDE}, or leave the field out"
    return (f"needs {_IS_OUTSIDE}", hint) if value and is_inside else None


def _ports(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    has_port = any(entry.get("nodePort") for _, entry in entries(value))
    is_wrong = has_port and within.get("type", "ClusterIP") == "ClusterIP"
    message = f"cannot have a nodePort without {_IS_OUTSIDE}"
    return (message, f"write {_IS_OUTSIDE}, or leave nodePort out") if is_wrong else None


def _data(value: Any, _within: dict[str, Any]) -> limits.Refusal | None:
    refused = [key for key in mapping(value) if not limits.CONFIG_KEY.fullmatch(key)]
    form = "letters, digits, hyphens, underscores and dots"
    return (f"has the invalid key '{refused[0]}'", f"write a key of {form}") if refused else None


def _repeats(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    repeated = sorted(mapping(value).keys() & mapping(within.get("data")).keys())
    hint = "write the key in one of the two"
    return (f"has the key '{repeated[0]}', but data has it too", hint) if repeated else None


def _modes(value: Any, _within: dict[str, Any]) -> limits.Refusal | None:
    is_wrong = "ReadWriteOncePod" in sequence(value)[:9] and len(value) > 1
    message = "cannot have ReadWriteOncePod together with other modes"
    return (message, "write [ReadWriteOncePod], or leave this mode out") if is_wrong else None


def _priority(value: Any, within: dict[str, Any]) -> limits.Refusal | None:
    is_of_system = text(at(within, "metadata", "name")).startswith("system-")
    return None if is_of_system else limits.number_from(-(2**31), 10**9)(value, within)


_SPECS: dict[str, dict[str, limits.Test]] = {
    "Deployment": {
        **_WHOLE,
        "revisionHistoryLimit": limits.number_from(0),
        "progressDeadlineSeconds": _later,
        "strategy.rollingUpdate": _only_rolling,
        "strategy.rollingUpdate.maxSurge": _share,
        "strategy.rollingUpdate.maxUnavailable": _at_most_all,
    },
    "LeaderWorkerSet": {"leaderWorkerTemplate.leaderTemplate|workerTemplate.spec.restartPolicy": _always},
    "ReplicaSet": _WHOLE,
    "StatefulSet": {
        **_WHOLE,
        "serviceName": limits.LABEL,
        "updateStrategy.rollingUpdate": _only_rolling,
        "updateStrategy.rollingUpdate.partition": limits.number_from(0),
        "ordinals.start": limits.number_from(0),
        "persistentVolumeClaimRetentionPolicy.whenDeleted|whenScaled": limits.shaped(
            lambda word: word in ("Delete", "Retain"), "Delete or Retain"
        ),
        "volumeClaimTemplates.*.metadata.name": limits.NAME,
        **{f"volumeClaimTemplates.*.spec.{way}": test for way, test in limits.CLAIM.items()},
    },
    "DaemonSet": {
        **_WHOLE,
        "revisionHistoryLimit": limits.number_from(0),
        "updateStrategy.rollingUpdate": _one_way,
        "updateStrategy.rollingUpdate.maxSurge|maxUnavailable": _share,
    },
    "PodDisruptionBudget": {
        "minAvailable|maxUnavailable": _at_most_all,
        "maxUnavailable": lambda value, within: (
            ("cannot be combined with minAvailable", "write only one of the two")
            if value is not None and "minAvailable" in within
            else None
        ),
    },
    "HorizontalPodAutoscaler": {
        "maxReplicas": lambda value, within: limits.number_from(
            max(1, number(within.get("minReplicas")) or 1)
        )(value, within),
        "minReplicas": limits.number_from(0),
    },
    "CronJob": {
        "schedule": limits.first(limits.filled, _schedule),
        "timeZone": lambda value, _: (
            (f"is '{value}', but must be the name of a time zone", "write a name such as Etc/UTC")
            if value in ("", "Local")
            else None
        ),
        "failedJobsHistoryLimit|startingDeadlineSeconds|successfulJobsHistoryLimit": limits.number_from(0),
    },
    "Service": {
        "ports": limits.first(_names, _ports),
        "ports.*.name": limits.LABEL,
        "ports.*.targetPort": lambda value, within: limits.port_name(value or None, within),
        "clusterIP": limits.first(
            _headless, limits.shaped(lambda ip: ip == "None" or limits.is_ip(ip), "None or an IP address")
        ),
        "type": lambda value, within: (
            ("ExternalName needs externalName", "add externalName: HOST")
            if value == "ExternalName" and not within.get("externalName")
            else None
        ),
        "externalName": limits.shaped(
            lambda name: is_subdomain(name.removesuffix(".")), "lower-case letters, digits, hyphens and dots"
        ),
        "externalTrafficPolicy": _outside,
        "loadBalancerClass|loadBalancerSourceRanges|allocateLoadBalancerNodePorts": _balanced,
        "selector": limits.labels,
        "sessionAffinityConfig.clientIP.timeoutSeconds": limits.number_from(1, 86_400),
    },
    "PersistentVolumeClaim": {
        **limits.CLAIM,
        "accessModes": limits.first(limits.needed, _modes),
    },
}
_OF_KIND: dict[str, limits.Table] = {
    **{
        kind: limits.table({f"spec.{way}": test for way, test in rows.items()})
        for kind, rows in _SPECS.items()
    },
    "ConfigMap": limits.table({"data": _data, "binaryData": limits.first(_repeats, _data)}),
    "Secret": limits.table({"data|stringData": _data, "type": _keys}),
    "PriorityClass": limits.table({"value": _priority}),
}
_OF_NAMES = {"CronJob": (52, is_subdomain), "StatefulSet": (MAX_LABEL, is_dns_label)}
_MOST_ANNOTATIONS = 256 * 1024


@rule("JS142")
def _fields(resource: Resource, _objects: ObjectSet) -> Findings:
    kind, name = resource.kind if resource.is_known else "", resource.name
    yield from limits.against(_OF_KIND.get(kind, {}), resource.data, ())
    most, is_valid = _OF_NAMES.get(kind, (0, is_subdomain))
    if most and is_subdomain(name) and (len(name) > most or not is_valid(name)):
        refusal, hint = (
            (f"has {len(name)} characters; the limit is {most}", f"write at most {most} characters")
            if len(name) > most
            else ("cannot have dots", "write hyphens in place of dots")
        )
        yield Finding(("metadata", "name"), f"the name of a {kind} {refusal}", hint)
    for path, metadata, _ in resource.holders:
        annotations = texts(metadata.get("annotations"))
        size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
        if size > _MOST_ANNOTATIONS:
            message = f"annotations have {size:,} bytes; the limit is {_MOST_ANNOTATIONS:,}"
            yield Finding((*path, "annotations"), message, "move the text into a ConfigMap")
