"""What is to be played: from a workload's file and from the live runs of its overlay."""

from slicewright.rehearse.fault_kinds import FAULT_KINDS
from slicewright.rehearse.model.scenario_part import Fault, chips_of, is_queued, names_of, tpu_pods

from .kit import SPEC, job, jobset, part_of, pathwaysjob, replicated_job


def test_part_has_what_the_file_says() -> None:
    """Times in seconds, faults and expectations as written."""
    found = part_of(
        """
        submitAt: 1m
        duration: 2h
        faults:
        - {kind: ContainerFailure, at: 10s, slice: 1, host: 2, exitCode: 42}
        - {kind: SliceLoss, at: 20s, duration: 30s}
        - {kind: HigherPriorityArrival, at: 5s, slices: 2, workloadPriorityClassName: high}
        expect:
        - waitBelow: 5s
        """
    )

    assert found.key == "default/a"
    assert (60.0, 7200.0, ({"waitBelow": "5s"},)) == (found.submit_at, found.duration, found.expect)
    assert found.faults == (
        Fault(FAULT_KINDS["ContainerFailure"], 10.0, None, {"exitCode": 42}, slice=1, host=2),
        Fault(FAULT_KINDS["SliceLoss"], 20.0, 30.0, {}),
        Fault(
            FAULT_KINDS["HigherPriorityArrival"],
            5.0,
            60.0,
            {"slices": 2, "workloadPriorityClassName": "high"},
        ),
    )


def test_run_is_called_as_its_workload_where_that_has_one() -> None:
    """Without its id, which nobody types; of two runs of a workload each has its own name."""
    one, two = part_of("", jobset("a-0b1c2d3e")), part_of("", jobset("b-1"), jobset("b-2"), name="b")

    assert {
        "default/a-0b1c2d3e": "default/a",
        "default/b-1": "default/b-1",
        "default/b-2": "default/b-2",
    } == names_of((one, two))
    assert {"default/a-0b1c2d3e": 8, "default/b-1": 8, "default/b-2": 8} == chips_of((one, two))


def test_part_without_a_block_starts_at_once_and_runs_a_minute() -> None:
    """The defaults that docs/reference/fields/ has."""
    found = part_of()

    assert (0.0, 60.0, (), ()) == (found.submit_at, found.duration, found.faults, found.expect)


def test_what_stands_beside_a_run_is_no_run() -> None:
    """Such as the Service of an indexed Job."""
    service = {"kind": "Service", "metadata": {"name": "a"}}
    found = part_of("", job(), service)

    assert ((job(),), (service,)) == (found.runs, found.others)


def test_tpu_pods_are_counted_over_all_slices() -> None:
    """Pods without chips do not count; a PathwaysJob has those that the plan says."""
    auxiliary = replicated_job("tensorboard", pods=1, chips=0)
    one = jobset("one", replicated_job("slice", replicas=3, pods=2), auxiliary)
    found = part_of("", one, job("two", pods=4), pathwaysjob("three"), spec=f"{SPEC}\nslices: 2")

    assert {"default/one": 6, "default/two": 4, "default/three": 4} == tpu_pods(found)


def test_run_with_a_queue_label_is_queued() -> None:
    """Kueue decides by the label on the object."""
    assert [False, False, True] == [is_queued(item) for item in (job(), jobset(), jobset(queue="q"))]


def test_workload_should_finish_unless_its_file_or_its_nature_says_no() -> None:
    """A headless Pathways never ends; `finishes` has the last word."""
    headless = pathwaysjob()

    assert part_of().finishes is None
    assert part_of("", headless).finishes is None
    assert part_of("expect: [{finishes: false}]").finishes is False
    assert part_of("expect: [{finishes: true}]", headless).finishes is True
