"""Timelines of slices: their hosts together or apart, and their node pools."""

from slicewright.rehearse.model.run_pods import Slice

from .kit import A, gone, pod, says, told


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


def test_run_has_started_when_all_of_its_tpu_pods_run_at_once() -> None:
    """The most that did is known of one that has not."""
    events = says(0, "submitted"), pod(2, "x"), gone(6, "x", "Failed"), pod(8, "y")
    short, whole = told(*events)[A], told(*events, pod(9, "z"))[A]

    assert [(None, 1), (9, 2)] == [(short.started, short.together), (whole.started, whole.together)]


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

    assert [(2, 6, 2), (20, 30, 1)] == [(piece.start, piece.end, piece.pods) for piece in found.slices]


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


def test_slice_that_starts_again_is_not_its_own_neighbour() -> None:
    """Its new pod may be seen before the end of the old one."""
    found = told(
        pod(2, "x"), says(5, "evicted", reason="Preempted"), pod(6, "y"), gone(7, "x"), queued=[A]
    )[A]  # fmt: skip

    assert [(2, True), (6, True)] == [(piece.start, piece.exclusive) for piece in found.slices]


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
