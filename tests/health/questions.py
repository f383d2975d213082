"""What is asked of a version of an object: is this the state that a scene waits for?"""

from collections.abc import Callable

from tests.e2e import kit

from slicewright.kubernetes.types import Object


def without_status(item: Object) -> bool:
    """Tell whether no controller has seen the object."""
    return not item.get("status")


def met(*kinds: str) -> Callable[[Object], bool]:
    """Return the question whether some conditions are true."""
    return lambda item: all(kit.condition(item, kind) for kind in kinds)


def suspends(*, condition: bool | None) -> Callable[[Object], bool]:
    """Return the question whether an object shall stand still; `condition` is what its controller says."""
    return lambda item: item["spec"].get("suspend") is True and _says(item, "Suspended") is condition


def runs(*, condition: bool | None = False) -> Callable[[Object], bool]:
    """Return the question whether an object may run; `condition` is what its controller says of Suspended."""
    return lambda item: not item["spec"].get("suspend") and _says(item, "Suspended") is condition


def ready(count: int, *, restarts: int = 0) -> Callable[[Object], bool]:
    """Return the question whether so many slices of a JobSet are ready, and nothing restarts."""
    return lambda item: (
        sum(entry["ready"] for entry in item.get("status", {}).get("replicatedJobsStatus") or ()) == count
        and item["status"].get("restarts", 0) == restarts
        and not kit.condition(item, "RestartingJobSet")
        and not item["spec"].get("suspend")
    )


def _says(item: Object, kind: str) -> bool | None:
    entries = item.get("status", {}).get("conditions") or ()
    return next((entry["status"] == "True" for entry in entries if entry["type"] == kind), None)


def reason(kind: str, *wanted: str) -> Callable[[Object], bool]:
    """Return the question whether a condition has one of some reasons."""
    return lambda item: any(
        entry["type"] == kind and entry["reason"] in wanted
        for entry in item.get("status", {}).get("conditions") or ()
    )


def is_busy(item: Object) -> bool:
    """Tell whether one run of a queue is admitted and one waits."""
    counts = {"admittedWorkloads": 1, "pendingWorkloads": 1}
    return all(item.get("status", {}).get(name) == count for name, count in counts.items())


def open_and_busy(item: Object) -> bool:
    """Tell whether such a queue is open."""
    return kit.condition(item, "Active") and is_busy(item)


def drained(item: Object) -> bool:
    """Tell whether a queue that was stopped with HoldAndDrain has no admitted run any more."""
    admitted = item.get("status", {}).get("admittedWorkloads")
    return (item["spec"].get("stopPolicy"), admitted) == ("HoldAndDrain", 0)


def deleting(item: Object) -> bool:
    """Tell whether an object is on its way out."""
    return "deletionTimestamp" in item["metadata"]
