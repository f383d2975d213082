"""What the API server refuses of workloads, Services, claims and data beyond its schema, as tables."""

from typing import Any

from slicewright.check.rules import limits
from slicewright.check.rules.dns import is_dns_label, is_subdomain
from slicewright.kubernetes.fields import at, entries, mapping, sequence, text, texts
from slicewright.kubernetes.name_room import MAX_LABEL
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule


def _always(value: Any, _within: dict[str, Any]) -> limits.Refusal | None:
    if value not in ("Never", "OnFailure"):
        return None
    return f"is {value}, but pods of this kind must have Always", "write Always, or leave restartPolicy out"


_WHOLE: dict[str, limits.Test] = {
    "template.spec.restartPolicy": _always,
    "template.spec.activeDeadlineSeconds": limits.not_for("pods of this kind"),
    "selector.matchExpressions.*": limits.expression,
    "selector.matchLabels": limits.labels,
    "selector": lambda value, _: (
        ("is empty", "write matchLabels with labels of the pod template")
        if isinstance(value, dict) and not any(value.values())
        else None
    ),
}


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
    "Deployment": _WHOLE,
    "LeaderWorkerSet": {"leaderWorkerTemplate.leaderTemplate|workerTemplate.spec.restartPolicy": _always},
    "StatefulSet": {
        **_WHOLE,
        "serviceName": limits.LABEL,
        "volumeClaimTemplates.*.metadata.name": limits.NAME,
        **{f"volumeClaimTemplates.*.spec.{way}": test for way, test in limits.CLAIM.items()},
    },
    "Service": {
        "ports": _names,
        "ports.*.name": limits.LABEL,
        "ports.*.targetPort": lambda value, within: limits.port_name(value or None, within),
        "clusterIP": limits.first(
            _headless, limits.shaped(lambda ip: ip == "None" or limits.is_ip(ip), "None or an IP address")
        ),
        "selector": limits.labels,
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
_MOST_ANNOTATIONS = 256 * 1024


@rule("JS142")
def _fields(resource: Resource, _objects: ObjectSet) -> Findings:
    kind, name = resource.kind if resource.is_known else "", resource.name
    yield from limits.against(_OF_KIND.get(kind, {}), resource.data, ())
    if kind == "StatefulSet" and is_subdomain(name) and not is_dns_label(name):
        refusal, hint = (
            (f"has {len(name)} characters; the limit is {MAX_LABEL}", f"write at most {MAX_LABEL} characters")
            if len(name) > MAX_LABEL
            else ("cannot have dots", "write hyphens in place of dots")
        )
        yield Finding(("metadata", "name"), f"the name of a {kind} {refusal}", hint)
    for path, metadata, _ in resource.holders:
        annotations = texts(metadata.get("annotations"))
        size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
        if size > _MOST_ANNOTATIONS:
            message = f"annotations have {size:,} bytes; the limit is {_MOST_ANNOTATIONS:,}"
            yield Finding((*path, "annotations"), message, "move the text into a ConfigMap")
