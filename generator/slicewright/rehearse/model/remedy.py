"""What would have admitted a run that waited."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

TO_RECLAIM = "to take back borrowed chips"


class Remedy(Struct, frozen=True):
    """A change with which Kueue admits the run at that moment."""

    kind: str
    """`Priority`, `Preemption`, `Reclaim`, `NominalQuota`, `BorrowingLimit`, `Nodes` or `QueueingStrategy`:
    what has to change."""
    message: str
    chips: int = 0
    """Chips of nominal quota that are missing or are reclaimed."""
    above: int | None = None
    """The priority that the run has to exceed; None if its own is enough."""


IN_ORDER = Remedy("QueueingStrategy", "set queueingStrategy: StrictFIFO in its ClusterQueue")
"""With it no later run of the queue passes one that waits."""


def borrowing(own: int, missing: int, policy: Mapping[str, Any], level: int | None) -> Iterator[Remedy]:
    """Yield the change that lets a run that has to borrow reclaim what others borrow, up to priority `level`.

    Kueue v0.19 requires both policies for that, and a lower priority than the run's
    (classifyPreemptionVariant in pkg/scheduler/preemption/classical).
    """
    within = policy.get("borrowWithinCohort") or {}
    threshold = within.get("maxPriorityThreshold")
    if level is None or (threshold is not None and level > threshold):
        return
    policies = {
        "reclaimWithinCohort": policy.get("reclaimWithinCohort", "Never"),
        "borrowWithinCohort.policy": within.get("policy", "Never"),
    }
    fields = " and ".join(
        f"{field}: LowerPriority" for field, choice in policies.items() if choice == "Never"
    )
    kind, above = "Reclaim" if fields else "Priority", None if own > level else level
    changes = [f"set {fields} in its ClusterQueue"] if fields else []
    changes += [] if above is None else [f"give it a priority above {above}"]
    if changes:
        yield Remedy(kind, f"{' and '.join(changes)} {TO_RECLAIM}", missing, above)
