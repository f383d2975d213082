"""The rule of PriorityClasses by which the scheduler preempts what Kueue has admitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.rule import Finding, Rule
from slicewright.core.kubernetes.labels import QUEUE
from slicewright.core.kubernetes.read import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.item import Item
    from slicewright.core.check.world import World


def _preempts(item: Item, world: World) -> Iterator[Finding]:
    user = world.once("queued users of classes", _users).get(item.name)
    if user is not None and item.data.get("preemptionPolicy") != "Never":
        is_written = "preemptionPolicy" in item.data
        path = ("preemptionPolicy",) if is_written else ("metadata", "name")
        message = f"pods of queued {user.kind} '{user.name}' may preempt single pods of other slices"
        yield Finding(path, message)


def _users(world: World) -> dict[str, Item]:
    """Return, by the name of a class, the first object in a queue whose pods name it."""
    found: dict[str, Item] = {}
    for item in world.items:
        for pods in item.pods if QUEUE in item.labels else ():
            found.setdefault(text(pods.spec.get("priorityClassName")), item)
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
