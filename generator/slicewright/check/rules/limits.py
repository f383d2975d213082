"""What the API server refuses beyond its schema, as tables: a field, what it must be, and what to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from itertools import product
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.check.rules import dns
from slicewright.kubernetes.fields import at, mapping, number, sequence, text
from slicewright.kubernetes.kinds import EACH, PODS_OF, Way
from slicewright.kubernetes.labels import KUBERNETES, TPU
from slicewright.kubernetes.pods import PREFERRED, REQUIRED
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import amount
from slicewright.objects import Finding, Findings, Resource

Refusal = tuple[str, str]
"""What is wrong with a value, in words that follow the name of its field, and the hint: what to write."""
Test = Callable[[Any, dict[str, Any]], Refusal | None]
"""Looks at a value and at the mapping that has it."""


class Field(Struct, frozen=True):
    """The tests of a field, and those of the fields in it by their keys, `*` for each entry of a list."""

    tests: list[Test] = field(default_factory=list)
    below: dict[str, Field] = field(default_factory=dict)


Table = dict[str, Field]
"""The tests of an object by its keys."""


def ways(pattern: str) -> list[Way]:
    """Return the paths that `a|b.*.c` means: to c of each entry of a and of b."""
    return list(product(*(part.split("|") for part in pattern.split("."))))


def table(rows: Mapping[str, Test]) -> Table:
    """Return the tests of path patterns as a tree: an object is walked once for all of them."""
    root = Field()
    for pattern, test in rows.items():
        for way in ways(pattern):
            place = root
            for key in way:
                place = place.below.setdefault(key, Field())
            place.tests.append(test)
    return root.below


def against(tests: Table, holder: dict[str, Any], path: Path) -> Findings:
    """Yield the findings of a table of tests for the fields of a mapping, present and missing ones."""
    for key, value in holder.items():
        if key in tests:
            yield from _against(tests[key], key, value, holder, (*path, key))


def _against(known: Field, name: str, value: Any, within: dict[str, Any], path: Path) -> Findings:
    for test in known.tests:
        if refusal := test(value, within):
            words, hint = refusal
            where = path if value is not None or name in within else path[:-1]
            yield Finding(where, f"{name} {words}", hint)
    if isinstance(value, dict):
        for key, below in known.below.items():
            if key in value or below.tests:
                yield from _against(below, key, value.get(key), value, (*path, key))
    elif isinstance(value, list) and EACH in known.below:
        for index, entry in enumerate(value):
            if isinstance(entry, dict):
                yield from _against(known.below[EACH], name, entry, {}, (*path, index))


def number_from(least: int, most: int | None = None) -> Test:
    """Return the test of a number within bounds."""
    allowed = f"{least} or more" if most is None else f"{least} to {most:,}"
    allowed = str(least) if least == most else allowed

    def test(value: Any, _within: dict[str, Any]) -> Refusal | None:
        count = number(value, least) or 0
        is_within = count >= least and (most is None or count <= most)
        return None if is_within else (f"is {count}, but must be {allowed}", f"write {allowed}")

    return test


def needed(value: Any, _within: dict[str, Any]) -> Refusal | None:
    """Refuse a field that is missing or empty."""
    return ("is missing", "add it") if value in (None, "", [], {}) else None


def filled(value: Any, _within: dict[str, Any]) -> Refusal | None:
    """Refuse an empty value; the schema refuses a missing field."""
    return ("is empty", "write a value") if value in ("", [], {}) else None


def first(*tests: Test) -> Test:
    """Return a test that runs other tests in order, and returns the first message."""
    return lambda value, within: next(filter(None, (test(value, within) for test in tests)), None)


def not_for(holder: str, hint: str = "leave it out") -> Test:
    """Return the test of a field that cannot be written."""
    return lambda value, _: (f"cannot be set for {holder}", hint) if value is not None else None


def shaped(is_valid: Callable[[str], bool], form: str) -> Test:
    """Return the test of a text."""

    def test(value: Any, _within: dict[str, Any]) -> Refusal | None:
        is_wrong = isinstance(value, str) and value and not is_valid(value)
        return (f"is '{value}', but must be {form}", f"write {form}") if is_wrong else None

    return test


LABEL_FORM = "1 to 63 lower-case letters, digits and hyphens"
PORT_FORM = "1 to 15 lower-case letters, digits and hyphens"
LABEL = shaped(dns.is_dns_label, LABEL_FORM)
NAME = shaped(dns.is_subdomain, "lower-case letters, digits, hyphens and dots")
_KEY = shaped(dns.is_label_key, dns.KEY_FORM)
CONFIG_KEY = re.compile(r"(?!\.\.|\.\Z)[-._a-zA-Z0-9]{1,253}")
_IS_CONFIG_KEY = shaped(
    lambda key: CONFIG_KEY.fullmatch(key) is not None, "letters, digits, hyphens, underscores and dots"
)


def is_ip(value: str) -> bool:
    """Tell whether a text is an IP address."""
    try:
        return bool(ip_address(value))
    except ValueError:
        return False


def _within_volume(value: Any, _within: dict[str, Any]) -> Refusal | None:
    if not isinstance(value, str) or not (value.startswith("/") or ".." in value.split("/")):
        return None
    return f"is '{value}', but must be a path within the volume", "write it without '..' and a leading '/'"


def expression(value: Any, _within: dict[str, Any]) -> Refusal | None:
    """Refuse an expression whose operator and values do not go together."""
    operator, values = text(mapping(value).get("operator")), sequence(mapping(value).get("values"))
    if operator in ("In", "NotIn") and not values:
        return f"has operator {operator} without values", "add values"
    if operator in ("Exists", "DoesNotExist") and values:
        return f"has operator {operator} with values", "leave values out, or write operator: In"
    if operator in ("Gt", "Lt") and len(values) != 1:
        return f"has operator {operator}, which needs one value", "write one number in values"
    return labels({text(mapping(value).get("key")): ""}, {})


def labels(value: Any, _within: dict[str, Any]) -> Refusal | None:
    """Refuse labels that no object can have."""
    for key, label in mapping(value).items():
        if not dns.is_label_key(key):
            return f"has the invalid label key '{key}'", f"write {dns.KEY_FORM}"
        if isinstance(label, str) and not dns.is_label_value(label):
            return f"has the invalid label value '{label}'", f"write {dns.VALUE_FORM}"
    return None


def _domains(value: Any, within: dict[str, Any]) -> Refusal | None:
    if value is not None and within.get("whenUnsatisfiable") == "ScheduleAnyway":
        return "needs whenUnsatisfiable: DoNotSchedule", "write DoNotSchedule, or leave minDomains out"
    return number_from(1)(value, within)


def port_name(value: Any, _within: dict[str, Any]) -> Refusal | None:
    """Refuse a text that cannot be the name of a port."""
    if not isinstance(value, str) or dns.is_port_name(value):
        return None
    return (
        f"is '{value}', but the name of a port must have {PORT_FORM}",
        "write a number, or a name of a port",
    )


def _above_zero(value: Any, within: dict[str, Any]) -> Refusal | None:
    quantity = amount(value)
    if quantity is not None and quantity <= 0:
        return f"is {value}, but must be above 0", "write an amount above 0, such as 10Gi"
    return needed(value, within)


TERMS = (
    f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms.*",
    f"affinity.nodeAffinity.{PREFERRED}.*.preference",
)
"""Where the spec of a pod has expressions about nodes."""
_PODS = (
    f"affinity.podAffinity|podAntiAffinity.{REQUIRED}.*",
    f"affinity.podAffinity|podAntiAffinity.{PREFERRED}.*.podAffinityTerm",
)
SELECTORS = (
    "topologySpreadConstraints.*.labelSelector",
    *(f"{way}.labelSelector|namespaceSelector" for way in _PODS),
)
"""Where it has selectors of pods and namespaces."""
HANDLERS = "livenessProbe|readinessProbe|startupProbe", "lifecycle.postStart|preStop"
_KEYED = "volumes.*.configMap|secret", "volumes.*.projected.sources.*.configMap|secret"
CLAIM = {
    "accessModes": needed,
    "resources": lambda value, _: (
        None
        if mapping(at(value, "requests"))
        else ("has no requests.storage", "add requests: {storage: ...}")
    ),
    "resources.requests.storage": _above_zero,
    "storageClassName|volumeAttributesClassName": NAME,
    "selector.matchExpressions.*": expression,
    "selector.matchLabels": labels,
}
POD = table(
    {
        "topologySpreadConstraints.*.maxSkew": number_from(1),
        "topologySpreadConstraints.*.minDomains": _domains,
        "topologySpreadConstraints.*.topologyKey": filled,
        "topologySpreadConstraints.*.whenUnsatisfiable": filled,
        f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms": filled,
        **{f"{way}.matchExpressions.*": expression for way in (*TERMS, *SELECTORS)},
        **{f"{way}.matchLabels": labels for way in SELECTORS},
        f"affinity.nodeAffinity|podAffinity|podAntiAffinity.{PREFERRED}.*.weight": number_from(1, 100),
        **{f"{way}.topologyKey": first(filled, _KEY) for way in _PODS},
        "volumes.*.hostPath.path": first(
            filled,
            lambda path, _: (
                (f"is '{path}', but cannot contain '..'", "write the path without '..'")
                if ".." in text(path).split("/")
                else None
            ),
        ),
        "volumes.*.secret.secretName": needed,
        "volumes.*.configMap.name": needed,
        "volumes.*.projected.sources.*.configMap|secret.name": needed,
        "volumes.*.persistentVolumeClaim.claimName": filled,
        "volumes.*.nfs.server|path": filled,
        "volumes.*.csi.driver": first(filled, NAME),
        "volumes.*.image.reference": needed,
        **{f"{way}.defaultMode": number_from(0, 0o777) for way in _KEYED},
        **{f"{way}.items.*.mode": number_from(0, 0o777) for way in _KEYED},
        **{f"{way}.items.*.key": filled for way in _KEYED},
        **{f"{way}.items.*.path": first(filled, _within_volume) for way in _KEYED},
        "volumes.*.projected.sources.*.serviceAccountToken.expirationSeconds": number_from(600),
        "volumes.*.ephemeral.volumeClaimTemplate": needed,
        **{f"volumes.*.ephemeral.volumeClaimTemplate.spec.{way}": test for way, test in CLAIM.items()},
        "serviceAccountName|nodeName|priorityClassName|runtimeClassName": NAME,
        "hostname|subdomain": LABEL,
        "schedulingGates.*.name": _KEY,
        "readinessGates.*.conditionType": _KEY,
        "hostAliases.*.ip": shaped(is_ip, "an IP address"),
        "dnsPolicy": lambda value, within: (
            ("None needs dnsConfig", "add dnsConfig: {nameservers: [...]}, or write dnsPolicy: ClusterFirst")
            if value == "None" and not within.get("dnsConfig")
            else None
        ),
        "securityContext.fsGroup|runAsUser|runAsGroup": number_from(0, 2**31 - 1),
        "activeDeadlineSeconds": number_from(1),
    }
)
"""Of the spec of a pod."""
CONTAINER = table(
    {
        f"{HANDLERS[0]}.failureThreshold|initialDelaySeconds|periodSeconds|timeoutSeconds": number_from(0),
        "livenessProbe|startupProbe.successThreshold": lambda value, within: (
            number_from(1, 1)(value, within) if value else None
        ),
        "readinessProbe.successThreshold": number_from(0),
        "livenessProbe|startupProbe.terminationGracePeriodSeconds": number_from(1),
        "readinessProbe.terminationGracePeriodSeconds": not_for("readinessProbe"),
        **{f"{way}.httpGet|tcpSocket.port": port_name for way in HANDLERS},
        **{f"{way}.exec.command": needed for way in HANDLERS},
        "lifecycle.postStart|preStop.sleep.seconds": number_from(0),
        "volumeMounts.*.mountPath": filled,
        "volumeMounts.*.subPath|subPathExpr": _within_volume,
        "volumeMounts.*.subPathExpr": lambda value, within: (
            ("cannot be combined with subPath", "leave subPath or subPathExpr out")
            if value and within.get("subPath")
            else None
        ),
        "env.*.name": filled,
        "env.*.valueFrom.secretKeyRef|configMapKeyRef.name": needed,
        "env.*.valueFrom.secretKeyRef|configMapKeyRef.key": first(filled, _IS_CONFIG_KEY),
        "securityContext.runAsUser|runAsGroup": number_from(0, 2**31 - 1),
    }
)
"""Of a container."""
INIT = table(
    dict.fromkeys(
        ("lifecycle", *HANDLERS[0].split("|")),
        not_for(
            "an init container without restartPolicy: Always",
            "leave it out, or write restartPolicy: Always for a sidecar",
        ),
    )
)
"""Of an init container without restartPolicy: Always, besides."""


def _can_exceed_request(name: str) -> bool:
    """Tell whether the limit of a resource may be above its request."""
    return ("/" not in name or KUBERNETES in name) and not name.startswith("hugepages-")


def unlike_limits(resources: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each resource whose request cannot be combined with its limit, and the words for its limit.

    A request of a native resource is at most its limit: cpu, memory, ephemeral-storage, and all that
    kubernetes.io names. A request of hugepages or of an extended resource equals it.
    """
    limits = mapping(resources.get("limits"))
    for name, value in mapping(resources.get("requests")).items():
        request, limit = amount(value), amount(limits.get(name))
        is_shared = _can_exceed_request(name)
        if request is None or (name in limits and limit is None):
            continue
        if limit is None and not is_shared:
            yield name, "but has no limit"
        elif limit is not None and (request > limit if is_shared else request != limit):
            yield name, f"but the limit is {limits[name]}"


def of_resources(resources: Any, path: Path) -> Findings:
    """Yield requests that contradict limits, and fractions of whole resources, except google.com/tpu."""
    for name, limit in unlike_limits(mapping(resources)):
        if name != TPU:
            message = f"the {name} request is {resources['requests'][name]}, {limit}"
            is_above = _can_exceed_request(name)
            hint = (
                "lower the request to the limit, or raise the limit"
                if is_above
                else "write the same number in requests and limits"
            )
            yield Finding((*path, "requests", name), message, hint)
    for key in ("requests", "limits"):
        for name, value in mapping(at(resources, key)).items():
            if "/" in name and (amount(value) or 0).denominator != 1:
                message = f"{value} {name} is not a whole number"
                yield Finding((*path, key, name), message, "write a whole number")


def refused_later(resource: Resource, findings: Findings) -> Findings:
    """Return findings about pods; where the API server takes the object, say that it refuses its pods."""
    if PODS_OF[resource.kind].group in ("", "apps", "batch"):
        return findings
    refused = f"; the API server accepts the {resource.kind} but refuses its pods"
    return (replace(finding, message=finding.message + refused) for finding in findings)
