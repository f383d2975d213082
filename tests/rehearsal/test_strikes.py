"""Faults against a cluster that does not do what they ask for, and what that means for the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.rehearsal.tempo import Tempo
from slicewright.rehearsal.agenda import Agenda
from slicewright.rehearsal.arrivals import arrivals, tpu_pods
from slicewright.rehearsal.clock import Clock
from slicewright.rehearsal.ending import Ending
from slicewright.rehearsal.faults import Faults
from slicewright.rehearsal.journal import Journal
from slicewright.testbed.api import ApiError

from .kit import jobset, part_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from slicewright.core.rehearsal.script import Part

Object = dict[str, Any]

RUN = "default/a"
NOW = Tempo(speed=1.0, deadline=60.0, delay=0.0, idle=0.0)


def pod(phase: str) -> Object:
    """Return the first pod of the first slice."""
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "a",
        "jobset.sigs.k8s.io/replicatedjob-name": "slice",
        "jobset.sigs.k8s.io/job-index": "0",
        "batch.kubernetes.io/job-completion-index": "0",
    }
    asked = {"requests": {"google.com/tpu": "4"}}
    return {
        "metadata": {"name": "a-0", "namespace": "default", "uid": "u", "labels": labels},
        "spec": {"nodeName": "n0", "containers": [{"resources": asked}]},
        "status": {"phase": phase},
    }


class Stage:
    """A stage and its API: one pod, on a node that can be closed and, if it is told so, not opened again."""

    def __init__(self, phase: str, *, opens: bool = True) -> None:
        self.phase = phase
        self.opens = opens
        self.api = self
        self.evict = self.create

    def list(self, *_: str, labels: str = "") -> list[Object]:
        """Return the pod of the run."""
        assert "a" == labels.rpartition("=")[2]
        return [pod(self.phase)]

    def get(self, _version: str, kind: str, name: str) -> Object:
        """Return the node."""
        return {"kind": kind, "metadata": {"name": name}}

    def patch(self, _item: Object, change: Object, *, subresource: str = "") -> None:
        """Change the node."""
        assert subresource == ""
        if change == {"spec": {"unschedulable": None}} and not self.opens:
            raise ApiError(500, {"reason": "InternalError", "message": "storage is busy"})

    def create(self, item: Object) -> None:
        """Take in what is to be made."""


def struck(part: Part, stage: Any, *outcomes: str) -> list[tuple[str, str]]:
    """Let a run start, and all faults strike and end; return severities and messages of what went wrong."""
    clock = Clock(1.0)
    journal = Journal(clock, {RUN: 0}, ())
    agenda = Agenda(clock)
    coming = arrivals([part], 1.0)
    faults = Faults(stage, journal, agenda, [part], coming)
    journal.note("submitted", RUN)
    journal.note("admitted", RUN)
    faults.schedule()
    faults.schedule()
    for outcome in outcomes:
        kind: Any = outcome
        journal.note(kind, RUN)
    while not agenda.is_empty and agenda.pause(1.0) < 1.0:
        agenda.do_what_is_due()
    return [(problem.severity, problem.message) for problem in faults.against(7.0)]


def test_fault_that_finds_its_pods_at_an_end_is_late() -> None:
    """The run had done its work before, whether or not that has been seen."""
    part = part_of("faults: [{kind: ContainerFailure, at: 0s}]")
    message = "the ContainerFailure at 0s did not happen:"

    assert [] == struck(part, Stage("Running"))
    assert [("warning", f"{message} the pods of slice 0, host 0 had ended")] == struck(
        part, Stage("Succeeded")
    )
    assert [("error", f"{message} no pod of slice 0, host 0 was running")] == struck(part, Stage("Pending"))
    assert [("warning", f"{message} no pod of slice 0, host 0 was running")] == struck(
        part, Stage("Failed"), "finished"
    )


def test_fault_whose_time_has_not_come_is_told_at_the_end() -> None:
    """The rehearsal ended at its deadline, or because nothing more could happen."""
    part = part_of("faults: [{kind: ContainerFailure, at: 1h}]")

    assert [
        ("error", "the ContainerFailure at 1h did not happen: the rehearsal ended before, at 7.0s")
    ] == struck(part, Stage("Running"))


def test_end_of_a_fault_that_is_refused_is_told_and_ends_nothing() -> None:
    """The play goes on to its report: a host that stays closed is no reason to break off."""
    part = part_of("faults: [{kind: Maintenance, at: 0s, duration: 0s}]")

    assert [] == struck(part, Stage("Running"))
    assert [
        ("error", "the Maintenance at 0s could not be ended: 500 InternalError: storage is busy")
    ] == struck(part, Stage("Running", opens=False))


def test_run_that_was_kept_from_earlier_is_not_held_to_the_block() -> None:
    """It may be of another shape: what it missed is in the log."""
    part = part_of("faults: [{kind: ContainerFailure, at: 0s}]", jobset("a"), name="b")

    assert [] == struck(part, Stage("Pending"))


def test_arrivals_are_numbered_over_all_runs() -> None:
    """Each has the pods of its slices, and a name that no other has."""
    one = "{kind: HigherPriorityArrival, at: 5s, workloadPriorityClassName: high, duration: 1m, slices: 2}"
    found = arrivals([part_of(f"faults: [{one}, {one}]"), part_of(f"faults: [{one}]", name="b")], 60.0)
    template = found[RUN, 1]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]

    assert {(RUN, 0): "arrival-1", (RUN, 1): "arrival-2", ("default/b", 0): "arrival-3"} == {
        key: item["metadata"]["name"] for key, item in found.items()
    }
    assert [4, 4, 4] == [tpu_pods(item) for item in found.values()]
    assert {"slicewright.dev/simulated-seconds": "1.000"} == template["metadata"]["annotations"]


class Idle:
    """An autoscaler and programs that do nothing."""

    is_busy = has_nodes = are_at_work = False


def has_ended(*told: tuple[str, str], time: Tempo = NOW) -> bool:
    """Tell whether a rehearsal of default/a, to which default/arrival-1 may come, has ended."""
    clock = Clock(1.0)
    journal = Journal(clock, {RUN: 2, "default/arrival-1": 2}, ())
    for kind, run in told:
        word: Any = kind
        journal.note(word, run)
    idle: Any = Idle()
    return Ending(journal, clock, time, [part_of()]).has_come(Agenda(clock), idle, idle)


def test_rehearsal_waits_for_what_has_arrived_and_for_nothing_else() -> None:
    """A fault that was never due brings nothing; a run that came is followed to its end."""
    ended = ("finished", RUN)
    came: Callable[[str], tuple[str, str]] = lambda kind: (kind, "default/arrival-1")  # noqa: E731

    assert [True, False, True] == [
        has_ended(ended),
        has_ended(ended, came("submitted")),
        has_ended(ended, came("submitted"), came("refused")),
    ]


def test_rehearsal_ends_at_its_deadline() -> None:
    """Whatever is still to come."""
    late = Tempo(speed=1.0, deadline=0.0, delay=0.0, idle=0.0)

    assert [False, True] == [has_ended(), has_ended(time=late)]
