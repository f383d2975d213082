"""The chips that a Workload of Kueue holds."""

from collections import Counter

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.quantity import whole
from slicewright.kubernetes.types import Object


def held(workload: Object) -> tuple[tuple[str, int], ...]:
    """Return the chips by flavor that an admitted Workload holds.

    What was reserved for a pod set shrinks while the Workload runs: pods that `reclaimablePods` names have
    succeeded, and Kueue gives their part to others before the run is over.
    """
    counts = {podset["name"]: podset["count"] for podset in workload.get("spec", {}).get("podSets", ())}
    status = workload["status"]
    reclaimable = {entry["name"]: entry["count"] for entry in status.get("reclaimablePods") or ()}
    by_flavor = Counter[str]()
    for podset in status["admission"].get("podSetAssignments", ()):
        flavor = podset.get("flavors", {}).get(TPU)
        if flavor:
            name = podset.get("name", "")
            total = counts.get(name, 0)
            admitted = podset.get("count", total)
            chips = whole(podset.get("resourceUsage", {}).get(TPU, "0"))
            at_work = total - min(reclaimable.get(name, 0), total)
            if at_work < admitted:
                chips = chips // admitted * at_work
            by_flavor[flavor] += chips
    return tuple(sorted(by_flavor.items()))
