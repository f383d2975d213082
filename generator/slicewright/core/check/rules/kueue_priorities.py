"""The rule of PriorityClasses by which the scheduler preempts what Kueue has admitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.model import Finding, Rule
from slicewright.core.kubernetes.labels import QUEUE
from slicewright.core.kubernetes.read import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.model import ObjectSet, Resource


def _preempts(resource: Resource, objects: ObjectSet) -> Iterator[Finding]:
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


RULES = (
    Rule(
        id="KQ146",
        severity="warning",
        title="PriorityClasses of queued pods preempt",
        why="Kueue preempts whole workloads. The scheduler, which knows nothing of them, deletes single pods "
        "of lower priority, and what is left of such a slice waits or starts again with its quota taken. "
        "Unwritten it is PreemptLowerPriority; it cannot be changed, only the class be made anew. A class "
        "that pods have by globalDefault alone is not considered.",
        hint="write preemptionPolicy: Never, or leave priorityClassName out of queued pods",
        kinds=frozenset({"PriorityClass"}),
        check=_preempts,
        sources=(
            "Kubernetes documentation, page Pod Priority and Preemption",
            "kubernetes/kubernetes v1.36.1: pkg/apis/scheduling/validation/validation.go",
        ),
    ),
)
