"""When Flux takes the objects of a platform for ready, in the Common Expression Language.

Flux reads an object without an expression, and without the conditions that it knows itself, as ready as soon
as it is there. No expression says `failed`: whatever keeps a queue from being active may still come.
"""

from __future__ import annotations

from slicewright.core.kubernetes.kinds import KUEUE_VERSION


def _active(*reasons: str, seen: bool = True) -> str:
    """Return the expression that what was written last is active, or inactive for a reason that is wanted.

    `seen` asks whether Kueue means the last generation.
    """
    good = " || ".join(["c.status == 'True'", *(f"c.reason == '{reason}'" for reason in reasons)])
    last = "has(c.observedGeneration) && c.observedGeneration == metadata.generation && " if seen else ""
    return f"has(status.conditions) && status.conditions.exists(c, c.type == 'Active' && {last}({good}))"


HEALTH = (
    # Flux looks at group and kind alone, so that older releases of Kueue are meant too.
    {"apiVersion": KUEUE_VERSION, "kind": "AdmissionCheck", "current": _active(seen=False)},
    {"apiVersion": KUEUE_VERSION, "kind": "ClusterQueue", "current": _active("Stopped")},
    {
        "apiVersion": KUEUE_VERSION,
        "kind": "LocalQueue",
        "current": _active("Stopped", "ClusterQueueIsInactive"),
    },
)
"""A queue that a person stopped is as it should be, and so is one behind it.

Of an AdmissionCheck Kueue writes the generation only when its state changes: parameters that are changed for
others as good leave an old one there for good.
"""
