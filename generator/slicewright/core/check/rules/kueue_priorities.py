"""The rule of PriorityClasses by which the scheduler preempts what Kueue has admitted."""

from __future__ import annotations

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.kubernetes.labels import QUEUE
from slicewright.core.kubernetes.read import text


@rule("KQ146", {"PriorityClass"}, "warning")
def _preempts(resource: Resource, objects: ObjectSet) -> Findings:
    user = objects.once("queued users of classes", _users).get(resource.name)
    if user is not None and resource.data.get("preemptionPolicy") != "Never":
        is_written = "preemptionPolicy" in resource.data
        path = ("preemptionPolicy",) if is_written else ("metadata", "name")
        message = f"pods of queued {user.kind} '{user.name}' may preempt single pods of other slices"
        yield Finding(path, message)


def _users(objects: ObjectSet) -> dict[str, Resource]:
    """Return, by the name of a class, the first object in a queue whose pods name it."""
    found: dict[str, Resource] = {}
    for resource in objects.all:
        for pods in resource.pods if QUEUE in resource.labels else ():
            found.setdefault(text(pods.spec.get("priorityClassName")), resource)
    return found
