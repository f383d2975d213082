"""Timelines of slices: their hosts together or apart, and their node pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.rehearsal.model.slices import Slice

from .kit import A, gone, pod, says, spans, told

if TYPE_CHECKING:
    from slicewright.rehearsal.model.event import Event
    from slicewright.rehearsal.model.timeline import Timeline


def test_slices_before_and_after_an_eviction_are_two() -> None:
    """Their Job is the same, and the node pool may be another: it is not split."""
    found = told(
        says(0, "submitted"),
        pod(2, "x", "np-0"),
        pod(3, "y", "np-0"),
        gone(6, "x", "Failed"),
        gone(7, "y", "Failed"),
        pod(22, "x2", "np-1"),
        pod(23, "y2", "np-1"),
        end=50,
    )[A]

    assert found.slices == [
        Slice("slice/0", 0, 2, 7, ("np-0",), 2, exclusive=True),
        Slice("slice/0", 0, 22, 50, ("np-1",), 2, exclusive=True),
    ]


def beside(*events: Event, **more: Any) -> dict[str, Timeline]:
    """Return the timelines where another run has a host of a slice until the first is through."""
    other = {"run": "default/b", "job_uid": "v"}
    return told(
        says(0, "submitted"),
        pod(1, "z", **other),
        pod(2, "x"),
        gone(6, "x"),
        gone(7, "z", run="default/b"),
        pod(8, "y"),
        *events,
        pods={A: 2, "default/b": 2},
        **more,
    )


def test_slice_whose_hosts_never_ran_together_did_not_run() -> None:
    """It is one slice, and who held its host is known; that its pods succeeded makes no difference."""
    found = beside(gone(12, "y"), says(13, "finished"))[A]

    assert (None, "finished", [("starting", 0, 13)]) == (found.started, found.outcome, spans(found))
    assert found.slices == [
        Slice(
            "slice/0",
            0,
            2,
            12,
            ("np-0",),
            2,
            exclusive=False,
            shared_with=("default/b",),
            is_torn=True,
            is_late=True,
            waited_for=("default/b",),
            late_at=8,
        )
    ]


def test_late_pod_has_waited_for_whoever_did_its_work_on_its_node() -> None:
    """Not for a node that nobody had before, and not for one that was lost with its pod and came back."""

    def waited(*events: Event) -> list[tuple[tuple[str, ...], float | None]]:
        found = told(pod(1, "x", node="n0"), *events, pods={A: 2, "default/b": 1}, end=20)[A]
        return [(piece.waited_for, piece.late_at) for piece in found.slices]

    other = {"run": "default/b", "job_uid": "v", "node": "n1"}

    assert [((A,), 4)] == waited(gone(3, "x"), pod(4, "y", node="n0"))
    assert [((), 4)] == waited(gone(3, "x"), pod(4, "y", node="n1"))
    assert [((), None)] == waited(pod(4, "y", node="n0"))
    assert [(("default/b",), 6)] == waited(
        pod(1, "z", **other), gone(3, "x"), gone(5, "z", run="default/b"), pod(6, "y", node="n1")
    )
    assert [((), 6)] == waited(
        pod(1, "z", **other), gone(3, "x"), gone(5, "z", "Failed", run="default/b"), pod(6, "y", node="n1")
    )


def test_slice_whose_hosts_came_apart_with_nobody_beside_ran() -> None:
    """A program may be over before the last pod is made; a lost pod's place is taken late by nature."""
    short = told(says(0, "submitted"), pod(2, "x"), gone(3, "x"), pod(4, "y"), end=5)[A]
    replaced = told(
        says(0, "submitted"),
        pod(1, "x"),
        pod(1, "y"),
        gone(2, "y", "Failed"),
        gone(3, "x"),
        pod(4, "z"),
        end=5,
    )[A]

    assert (4, True, 2) == (short.started, short.slices[0].is_torn, short.slices[0].pods)
    assert [False] == [piece.is_torn or piece.is_late for piece in replaced.slices]


def test_pod_beside_does_not_keep_a_slice_apart_from_elsewhere() -> None:
    """It has to hold chips, on the same node pool, while the first host ran."""
    others = (
        {"node_pool": "np-1"},
        {"chips": 0},
    )
    for facts in others:
        found = told(
            says(0, "submitted"),
            pod(1, "z", run="default/b", job_uid="v", **facts),
            pod(2, "x"),
            gone(3, "x"),
            pod(4, "y"),
            pods={A: 2, "default/b": 1},
        )[A]
        assert 4 == found.started
    early = told(
        pod(0, "z", run="default/b", job_uid="v"),
        gone(1, "z", run="default/b"),
        says(1, "submitted"),
        pod(2, "x"),
        gone(3, "x"),
        pod(4, "y"),
        pods={A: 2, "default/b": 1},
    )[A]
    assert 4 == early.started


def test_slices_one_after_the_other_are_late_where_they_do_the_same_work() -> None:
    """Of one replicated job they belong together; of two, one may wait for the other."""
    for job, late in (("slice/1", [False, True]), ("second/0", [False, False])):
        found = told(pod(1, "x"), gone(3, "x"), pod(4, "y", job=job, job_uid="v"), end=9)[A]
        assert late == [piece.is_late for piece in found.slices]
        assert [False, False] == [piece.is_torn for piece in found.slices]


def test_pods_after_an_eviction_are_another_slice() -> None:
    """Also where one had done its work before: what is left begins anew."""
    found = told(
        says(0, "submitted"),
        says(1, "admitted"),
        pod(2, "x"),
        pod(2, "y"),
        gone(4, "x"),
        says(5, "evicted", reason="Preempted"),
        gone(6, "y", "Deleted"),
        pod(20, "y2", "np-1"),
        queued=[A],
        end=30,
    )[A]

    assert [(2, 6, 2, False), (20, 30, 1, False)] == [
        (piece.start, piece.end, piece.pods, piece.is_torn or piece.is_late) for piece in found.slices
    ]


def test_slice_over_two_node_pools_is_seen() -> None:
    """Pods of one Job on two node pools at a time."""
    found = told(pod(2, "x", "np-0"), pod(3, "y", "np-1"), pod(3, "head", chips=0))[A]

    assert [("np-0", "np-1")] == [piece.node_pools for piece in found.slices]


def test_slice_shares_its_node_pool_with_another() -> None:
    """Of the same run or of another, at the same time; one after the other is alone."""
    two = {A: 2, "default/b": 1}
    beside = told(pod(2, "x"), pod(4, "z", run="default/b", job_uid="v"), pods=two)
    later = told(pod(2, "x"), gone(3, "x"), pod(4, "z", run="default/b", job_uid="v"), pods=two)

    assert [False, False] == [piece.exclusive for timeline in beside.values() for piece in timeline.slices]
    assert [("default/b",), (A,)] == [
        piece.shared_with for timeline in beside.values() for piece in timeline.slices
    ]
    assert [True, True] == [piece.exclusive for timeline in later.values() for piece in timeline.slices]


def test_pods_that_could_not_be_made_are_forgotten_when_all_run() -> None:
    """The controller has tried again: that is not a valid reason any more for what comes later."""
    found = told(
        says(0, "submitted"), says(1, "warned", reason="FailedCreate", text="denied"),
        pod(2, "x"), pod(3, "y"),
    )[A]  # fmt: skip

    assert ("running", "") == (found.outcome, found.why)


def test_slice_whose_pods_end_may_have_a_successor() -> None:
    """Its hosts do not end in the same instant, and JobSet looks at its first pod only."""
    found = told(
        pod(2, "x"), pod(2, "y"), gone(5, "x"), pod(6, "z", run="default/b", job_uid="v"), gone(7, "y"),
        pods={A: 2, "default/b": 1},
    )  # fmt: skip

    assert [True, True] == [piece.exclusive for timeline in found.values() for piece in timeline.slices]
