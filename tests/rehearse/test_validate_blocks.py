"""What stands against a `rehearsal:` block, before the play and after it."""

import pytest
from tests.words import places

from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.scenario_part import Known
from slicewright.rehearse.model.scenario_problems import (
    never_due,
    not_completed,
    not_injected,
    validate_blocks,
)
from slicewright.rehearse.model.timeline import Outcome, Timeline

from .kit import job, jobset, part_of, pathwaysjob, replicated_job

KNOWN = Known("c1", ("low", "high"), {("default/a", 7): "FIT101 it asks for too much"})
TWO_SLICES = jobset(
    "a", replicated_job("slice", replicas=2), replicated_job("driver", chips=0, pods=9), queue="q"
)
LATE = part_of("faults: [{kind: HostFailure, at: 1h30m}]")


def told(rehearsal: str, run: Object = TWO_SLICES) -> list[str]:
    """Return the paths of the problems of a block, beside a workload b."""
    found = validate_blocks([part_of(rehearsal, run), part_of(name="b")], KNOWN)
    assert {"REH012"} >= {place.rpartition(" ")[2] for place in places(found)}
    return [problem.dotted().removeprefix("spec.rehearsal.") for problem in found]


@pytest.mark.parametrize(
    ("fault", "run", "path"),
    [
        ("ContainerFailure, slice: 2", TWO_SLICES, "slice"),
        ("ContainerFailure, host: 9", TWO_SLICES, "host"),
        ("HostFailure, slice: 1", job(), "slice"),
        ("Maintenance, host: 2", job(), "host"),
        ("SliceLoss, slice: 1", pathwaysjob(), "slice"),
        ("SliceLoss", jobset("a", replicated_job("driver", chips=0)), "slice"),
        ("HigherPriorityArrival, workloadPriorityClassName: hihg", TWO_SLICES, "workloadPriorityClassName"),
        ("HigherPriorityArrival, workloadPriorityClassName: high", jobset("a"), "kind"),
    ],
)
def test_fault_that_cannot_strike_is_told_at_its_place(fault: str, run: Object, path: str) -> None:
    """A slice, a host or a class that is not there, in the words of what is."""
    found = told(f"faults: [{{kind: ContainerFailure, at: 1s}}, {{kind: {fault}, at: 5s}}]", run)

    assert f"faults[1].{path}" in found
    assert {"faults[1]"} >= {path.rpartition(".")[0] for path in found} - {"faults[0]"}


@pytest.mark.parametrize(
    ("fault", "run"),
    [
        ("ContainerFailure, slice: 1, host: 1", TWO_SLICES),
        ("SliceLoss, slice: 1", TWO_SLICES),
        ("HostFailure, host: 1", job()),
        ("ContainerFailure, slice: 7", jobset("earlier")),
        ("HigherPriorityArrival, workloadPriorityClassName: high", TWO_SLICES),
        ("HigherPriorityArrival, workloadPriorityClassName: low", jobset("earlier")),
    ],
)
def test_fault_that_can_strike_is_none(fault: str, run: Object) -> None:
    """Slices and hosts count from 0, and a run that was kept from earlier has a shape of its own."""
    assert [] == told(f"faults: [{{kind: {fault}, at: 5s}}]", run)


def test_arrival_that_can_never_be_admitted_is_told_at_its_place() -> None:
    """With what the quota check says of it, and what to write instead: it would never start."""
    one = "{kind: HigherPriorityArrival, at: 5s, workloadPriorityClassName: high, slices: 9}"
    (found,) = validate_blocks([part_of(f"faults: [{', '.join([one] * 8)}]", TWO_SLICES)], KNOWN)

    assert ("REH012", "error", "spec.rehearsal.faults[7].slices") == facts(found)


def test_workload_that_takes_no_part_is_told_at_its_place() -> None:
    """Whatever expectation names it, with the namespace or without."""
    found = told(
        """
        expect:
        - order: [a, c]
        - together: [default/b, team/b]
        - notBefore: {workload: bb}
        - waitBelow: 5m
        """
    )

    assert ["expect[0].order[1]", "expect[1].together[1]", "expect[2].notBefore.workload"] == found


def test_hint_names_what_is_meant() -> None:
    """In the form in which it was written; all workloads of the rehearsal where none is near."""
    block = "expect: [{together: [elsewhere]}, {order: [a, default/bb]}]"

    assert ["expect[0].together[0]", "expect[1].order[1]"] == told(block)


def facts(problem: Problem) -> tuple[str, str, str]:
    """Return id, severity and path."""
    return places(problem).rpartition(" ")[2], problem.severity, problem.dotted()


@pytest.mark.parametrize(("is_late", "severity"), [(False, "error"), (True, "warning")])
def test_fault_that_did_not_happen_proves_nothing(is_late: bool, severity: str) -> None:
    """It is an error, unless the run was over before."""
    found = not_injected(LATE, 0, "why", is_late=is_late)

    assert ("REH012", severity, "spec.rehearsal.faults[0]") == facts(found)


@pytest.mark.parametrize(
    ("outcome", "started", "expected"),
    [
        ("finished", 1.0, ["warning"]),
        ("failed", 1.0, ["warning"]),
        ("running", 1.0, ["error"]),
        ("waiting", None, []),
        ("refused", None, []),
    ],
)
def test_fault_whose_time_did_not_come(outcome: Outcome, started: float | None, expected: list[str]) -> None:
    """Of a run that never ran nothing more is said."""
    found = never_due(LATE, 0, Timeline("default/a", started=started, outcome=outcome))

    assert expected == [facts(problem)[1] for problem in found]


def test_run_that_is_not_to_finish_has_to_meet_its_fault() -> None:
    """It never ran, so nothing shows that the fault is what keeps it from finishing."""
    part = part_of("{faults: [{kind: SliceLoss, at: 10s}], expect: [{finishes: false}]}")
    found = never_due(part, 0, Timeline("default/a", outcome="waiting"))

    assert ["error"] == [facts(problem)[1] for problem in found]


def test_fault_that_does_not_end_is_told() -> None:
    """Nodes that stay away are another fault than the file describes."""
    assert ("REH012", "error", "spec.rehearsal.faults[0]") == facts(not_completed(LATE, 0, "refused"))
