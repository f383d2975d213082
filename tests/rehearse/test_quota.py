"""The chips that Kueue counts for a Workload."""

import pytest

from slicewright.kubernetes.types import Object
from slicewright.kueue.quota import held


def podset(name: str, chips: int, *, count: int | None = None, flavor: str = "v5e") -> Object:
    """Return the assignment of a pod set."""
    counted = {} if count is None else {"count": count}
    usage = {"google.com/tpu": str(chips), "cpu": "9"}
    return {"name": name, "flavors": {"google.com/tpu": flavor}, "resourceUsage": usage, **counted}


def workload(*assignments: Object, pods: int = 4, **reclaimable: int) -> Object:
    """Return an admitted Workload with the pod sets a and b."""
    return {
        "spec": {"podSets": [{"name": name, "count": pods} for name in ("a", "b")]},
        "status": {
            "admission": {"clusterQueue": "cq", "podSetAssignments": list(assignments)},
            "reclaimablePods": [{"name": name, "count": count} for name, count in reclaimable.items()],
        },
    }


@pytest.mark.parametrize(
    ("reclaimable", "chips"), [({}, 24), ({"a": 1}, 20), ({"a": 4}, 8), ({"a": 2, "b": 4}, 8), ({"a": 9}, 8)]
)
def test_pods_that_are_done_hold_nothing(reclaimable: dict[str, int], chips: int) -> None:
    """Each pod set gives back its own part, never more than it has."""
    found = held(workload(podset("a", 16, count=4), podset("b", 8, count=4), **reclaimable))

    assert (("v5e", chips),) == found


def test_pod_set_without_a_count_has_all_its_pods() -> None:
    """And what has no flavor for chips holds none."""
    cpu = {"name": "b", "flavors": {"cpu": "cpus"}, "resourceUsage": {"cpu": "1"}}

    assert (("v5e", 12),) == held(workload(podset("a", 16), cpu, a=1))


def test_pod_set_that_is_admitted_in_part_holds_what_it_was_given() -> None:
    """Until fewer of its pods are left than were admitted."""
    found = [held(workload(podset("a", 8, count=2), a=count)) for count in (0, 2, 3)]

    assert found == [(("v5e", 8),), (("v5e", 8),), (("v5e", 4),)]


def test_flavors_are_told_apart() -> None:
    """In the order of their names."""
    found = held(workload(podset("a", 16, flavor="v6e"), podset("b", 8), a=2))

    assert (("v5e", 8), ("v6e", 8)) == found
