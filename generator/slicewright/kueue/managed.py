"""Which objects Kueue manages, as its Configuration says: kinds, namespaces, and jobs without a queue."""

from typing import Any

from slicewright.kubernetes.fields import at, entries, mapping, texts, words
from slicewright.kubernetes.kinds import KUEUE_NAMESPACE
from slicewright.kubernetes.labels import NAMESPACE_NAME
from slicewright.kubernetes.scheduler import requirement
from slicewright.kueue.quota_read import configuration
from slicewright.objects import ObjectSet, Resource

_NOT_MANAGED = frozenset({"kube-system", KUEUE_NAMESPACE})
"""The namespaces that the default managedJobsNamespaceSelector excludes."""
_PATHWAYS = "jobset.x-k8s.io/jobset"
"""Kueue manages the JobSet that the operator makes of a PathwaysJob."""


def integration(resource: Resource) -> str:
    """Return Kueue's name of the integration that manages a kind (pkg/controller/jobs of v0.19.2)."""
    if resource.kind == "PathwaysJob":
        return _PATHWAYS
    name = resource.kind.lower()
    return f"{resource.group}/{name}" if "." in resource.group or resource.group == "batch" else name


def handles(resource: Resource, objects: ObjectSet) -> bool:
    """Tell whether Kueue may manage a kind: also true if no Configuration lists integrations."""
    settings = mapping(configuration(objects).get("integrations"))
    known = {name for _, name in words(settings.get("frameworks"))}
    others = {name.lower() for _, name in words(settings.get("externalFrameworks"))}
    own = f"{resource.kind}.{resource.version}.{resource.group}".lower()
    return not known or integration(resource) in known or own in others


def keeps_without_queue(resource: Resource, objects: ObjectSet) -> bool:
    """Tell whether Kueue suspends a job because it has no queue: manageJobsWithoutQueueName."""
    settings = configuration(objects)
    if settings.get("manageJobsWithoutQueueName") is not True or not handles(resource, objects):
        return False
    name, selector = resource.namespace or "default", settings.get("managedJobsNamespaceSelector")
    if not isinstance(selector, dict):
        return name not in _NOT_MANAGED
    known = [namespace.labels for namespace in objects.candidates("Namespace", name)]
    return all(selects(selector, name, labels) for labels in known or (None,))


def selects(selector: dict[str, Any], name: str, labels: dict[str, str] | None) -> bool | None:
    """Tell whether a selector selects a namespace; None if that depends on unknown labels."""
    own = {**(labels or {}), NAMESPACE_NAME: name}
    selected = texts(selector.get("matchLabels"))
    expressions = [requirement(expression) for _, expression in entries(at(selector, "matchExpressions"))]
    keys = {*selected, *(expression.key for expression in expressions)}
    if labels is None and not keys <= {NAMESPACE_NAME}:
        return None
    return selected.items() <= own.items() and all(
        expression.accepts(own.get(expression.key)) for expression in expressions
    )
