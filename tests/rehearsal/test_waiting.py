"""For whom late pods waited: only where there was no other node for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.rehearsal.model.event import Event
from slicewright.rehearsal.model.timeline import Timelines

from .kit import A, gone, pod, says

if TYPE_CHECKING:
    from slicewright.rehearsal.model.slices import Slice

ROOMS = {"np-0": ("np", 2), "np-1": ("np", 2), "other": ("others", 2)}


def late(*events: Event, rooms: Any = ROOMS) -> Slice:
    """Return a slice whose second host begins where the first one was, after some events."""
    timelines = Timelines({A: 2, "default/b": 2}, (), rooms)
    first = pod(1, "x", node="n0")
    for event in (first, *events, gone(9, "x"), pod(10, "y", node="n0")):
        timelines.add(event)
    (found,) = timelines.close(20)[A].slices
    return found


def beside(at: float, name: str, node_pool: str, **facts: Any) -> Event:
    """Return the start of a pod of another run on a node of its own."""
    return pod(at, name, node_pool, run="default/b", job_uid=name, node=f"of-{name}", **facts)


FULL = (beside(2, "z", "np-0"), beside(2, "v", "np-1"), beside(2, "w", "np-1"))


def test_pod_for_which_there_was_room_has_not_waited() -> None:
    """On its node pool, or on a slice of the same pool that others left free, or that may still come."""
    gone_early = gone(5, "v", run="default/b", node_pool="np-1")

    assert () == late().waited_for
    assert () == late(FULL[0]).waited_for
    assert () == late(*FULL[:2]).waited_for
    assert (A,) == late(*FULL).waited_for
    assert () == late(*FULL, gone_early).waited_for
    assert () == late(*FULL[:2], beside(2, "tb", "np-1", chips=0)).waited_for


def test_slices_of_one_run_need_room_together() -> None:
    """Also where all that ran before end in the same instant: then each of their nodes is free."""
    timelines = Timelines({A: 3}, (), {"np-0": ("np", 1), "np-1": ("np", 1)})
    for number in (0, 1):
        timelines.add(pod(1, f"x{number}", f"np-{number}", node=f"n{number}", job=f"slice/{number}"))
    for number in (0, 1):
        timelines.add(gone(5, f"x{number}", node_pool=f"np-{number}"))
    timelines.add(pod(6, "y", "np-0", node="n0", job="slice/2", job_uid="w"))
    found = {piece.job: piece.waited_for for piece in timelines.close(9)[A].slices}

    assert {"slice/0": (), "slice/1": (), "slice/2": (A,)} == found


def test_nodes_of_another_shape_or_that_nobody_knows_are_no_room() -> None:
    """Whoever was there before was waited for; for sure where the nodes are known to be too few."""
    small = {"np-0": ("np", 1), "other": ("others", 2)}

    assert [((A,), False), ((A,), True)] == [
        (found.waited_for, found.waited_certainly) for found in (late(rooms=None), late(rooms=small))
    ]


def test_nodes_that_a_fault_took_are_no_room() -> None:
    """Until they are back; a slice that went because it was idle can come again."""
    lost = Event(3, "poolShrank", node_pool="np-1", reason="SliceLoss")
    idle = Event(3, "poolShrank", node_pool="np-1")
    back = Event(4, "poolGrew", node_pool="np-1", reason="SliceLoss")

    assert (A,) == late(FULL[0], lost).waited_for
    assert () == late(FULL[0], lost, back).waited_for
    assert () == late(FULL[0], idle).waited_for


def test_wait_is_certain_where_the_scheduler_said_that_there_was_no_place() -> None:
    """While the other was there: before that it was another matter, such as nodes that were to come."""

    def refused(at: float) -> bool:
        told = says(at, "warned", reason="FailedScheduling", text="0/4 nodes", pod="y")
        return late(*sorted((*FULL, told), key=lambda event: event.at)).waited_certainly

    assert [False, True, False] == [refused(0.5), refused(5), refused(9.5)]
    assert not late(*FULL).waited_certainly
