"""The events of a run as the page lists them."""

from typing import Any

import pytest

from slicewright.rehearse.report.page import room
from slicewright.rehearse.report.sentences import entries


def _lines(*events: dict[str, Any], most: int = 60) -> list[str]:
    return [entry.line() for entry in entries(events, most)]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ({"kind": "submitted"}, "5.0s submitted"),
        (
            {"kind": "reserved", "clusterQueue": "cq", "flavors": {"a": 1024, "b": 8}},
            "5.0s quota reserved: cq, 1,024 chips of a, 8 chips of b",
        ),
        ({"kind": "released", "reason": "Finished"}, "5.0s quota released: Finished"),
        (
            {"kind": "released", "reason": "ReclaimablePods", "clusterQueue": "cq", "flavors": {"a": 8}},
            "5.0s quota released: ReclaimablePods, 8 chips of a still held",
        ),
        ({"kind": "waiting", "reason": "Pending", "message": "m"}, "5.0s waits in the queue: Pending, m"),
        ({"kind": "restarted", "attempt": 2}, "5.0s restarted by JobSet: attempt 2"),
        ({"kind": "warned", "reason": "R", "message": "m"}, "5.0s warning: R, m"),
        ({"kind": "fault", "reason": "SliceLoss", "message": "pod-0"}, "5.0s fault: SliceLoss, pod-0"),
        (
            {"kind": "poolGrew", "nodePool": "p1", "chips": 8, "message": "2 nodes"},
            "5.0s pool grew: p1, +8 chips, 2 nodes",
        ),
        ({"kind": "poolShrank", "nodePool": "p1", "chips": 8}, "5.0s pool shrank: p1, -8 chips"),
        ({"kind": "podStarted", "nodePool": "p1"}, "5.0s 1 pod started: on p1"),
        ({"kind": "podEnded", "reason": "Failed"}, "5.0s 1 pod ended: Failed"),
        ({"kind": "newInALaterVersion"}, "5.0s newInALaterVersion"),
    ],
)
def test_an_event_is_a_line_in_plain_words(event: dict[str, Any], line: str) -> None:
    """Moment, what happened, and the controller's own words."""
    assert [line] == _lines({"at": 5.0, **event})


def test_pods_that_start_together_are_one_line() -> None:
    """How many pods and on which node pools, of many pools the first four."""
    pods = [{"at": float(index), "kind": "podStarted", "nodePool": f"p{index // 2}"} for index in range(12)]

    assert ["0.0s to 11s 12 pods started: on p0, p1, p2, p3 and 2 more"] == _lines(*pods)


def test_what_is_said_again_and_again_is_counted() -> None:
    """The same warning in a row is one line with its number; another attempt of pods is a line of its own."""
    warned = {"kind": "warned", "reason": "FailedCreate", "message": "no"}
    pod = {"kind": "podStarted", "nodePool": "p"}

    assert [
        "1.0s to 3.0s warning (2 times): FailedCreate, no",
        "4.0s 1 pod started: on p",
        "5.0s 1 pod started: on p",
    ] == _lines(
        {"at": 1.0, **warned}, {"at": 3.0, **warned}, {"at": 4.0, **pod}, {"at": 5.0, **pod, "attempt": 1}
    )


def test_of_a_long_timeline_beginning_and_end_are_told() -> None:
    """What is left out is counted, and the reader learns where all of it is."""
    events = [{"at": float(index), "kind": "warned", "message": f"m{index}"} for index in range(10)]

    assert [
        "0.0s warning: m0",
        "1.0s warning: m1",
        "6 more entries; the JSON report has all events",
        "8.0s warning: m8",
        "9.0s warning: m9",
    ] == _lines(*events, most=4)


@pytest.mark.parametrize(("runs", "most"), [(0, 60), (1, 60), (50, 30), (100, 15), (1000, 10)])
def test_many_runs_have_less_room_each(runs: int, most: int) -> None:
    """The page of many runs stays small, and every run keeps ten lines."""
    assert most == room(runs)
