"""Timelines against what they should have been."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.words import places

from slicewright.rehearse.model.run_pods import Slice
from slicewright.rehearse.model.scenario_part import ScenarioPart
from slicewright.rehearse.model.scenario_problems import Injected
from slicewright.rehearse.model.timeline import Outcome, Span, Timeline
from slicewright.rehearse.model.verdict import Cause, judge

from .kit import job, jobset, part_of, pathwaysjob, ran, replicated_job

A, B, C = "default/a", "default/b", "default/c"
AT_NAME = "workloads/a.yaml:3:18: "


def said(
    part: ScenarioPart,
    *timelines: Timeline,
    never: dict[str, str] | None = None,
    cut_short: bool = False,
    speed: float | None = None,
) -> list[str]:
    """Return what is held against runs."""
    others = [part_of(name=timeline.run.partition("/")[2]) for timeline in timelines if timeline.run != A]
    found = judge(
        [part, *others],
        {timeline.run: timeline for timeline in timelines},
        never or {},
        cut_short=cut_short,
        speed=speed,
    )
    return [str(place) for place in places(found)]


def expecting(*lines: str) -> ScenarioPart:
    """Return the part of workload a with expectations."""
    return part_of("expect:\n" + "\n".join(f"- {line}" for line in lines))


@pytest.mark.parametrize("outcome", ["waiting", "running", "failed", "notSubmitted"])
def test_run_that_does_not_finish_fails_the_rehearsal(outcome: Outcome) -> None:
    """The problem is at the workload's name."""
    assert [f"{AT_NAME}REH001"] == said(part_of(), Timeline(A, outcome=outcome))


def test_interrupted_rehearsal_holds_only_failures_against_runs() -> None:
    """What has not happened yet may still have come."""
    waiting, failed = Timeline(A, outcome="waiting"), Timeline(A, outcome="failed")

    assert [] == said(part_of(), waiting, cut_short=True)
    assert [f"{AT_NAME}REH001"] == said(part_of(), failed, cut_short=True)


def test_interrupted_rehearsal_holds_only_decided_expectations_against_runs() -> None:
    """An expectation counts where all runs are over that it is about."""
    part = expecting(
        "waitBelow: 1s", "order: [b, a]", "together: [b]", "notBefore: {workload: b}", "waitBelow: 2s"
    )
    done, other, running = ran(A, (5, 6)), ran(B, (7, 8)), Timeline(B, outcome="running")
    waited = ["workloads/a.yaml:10:18: REH004", "workloads/a.yaml:14:18: REH004"]

    assert waited == said(part, done, running, cut_short=True)
    assert 5 == len(said(part, done, other, cut_short=True))
    assert [] == said(part, Timeline(A, outcome="waiting"), other, cut_short=True)
    assert {*waited} < {*said(part, done, cut_short=True)}


def test_run_that_was_not_submitted_says_when_it_would_have_been() -> None:
    """The deadline came before its time."""
    part = part_of("submitAt: 2h")

    assert [f"{AT_NAME}REH001"] == said(part, Timeline(A))


def waits(timeline: Timeline, *causes: Cause, block: str = "", at_deadline: bool = False) -> list[str]:
    """Return the hints of problems of a run that waits because of some causes, while a fault hits it."""
    part = part_of(f"{block}\nfaults: [{{kind: SliceLoss, at: 5s}}]")
    found = judge(
        [part],
        {A: timeline},
        {},
        cut_short=False,
        injected=[Injected(A, part.faults[0], 50.0)],
        causes={A: causes},
        is_at_deadline=at_deadline,
    )
    return [problem.hint.partition("; the rehearsal injected")[0] for problem in found]


QUEUED = Timeline(A, outcome="waiting", submitted=0.0, spans=[Span("queued", 0.0, 90.0)], is_queued=True)
HELD = Cause(0.0, 90.0, "8 chips of v5e: default/b has held 8 since 1.0s")


def test_hint_of_a_run_that_waits_is_the_cause_of_its_wait() -> None:
    """Kueue's sentence says how much is missing, not who has it; a wait that is over is none."""
    told = "it waits because of this: 8 chips of v5e: default/b has held 8 since 1.0s"
    over = Cause(0.0, 30.0, "another")

    assert [told] == waits(QUEUED, over, HELD)
    assert [told] == waits(replace(QUEUED, waits_for="insufficient quota"), HELD)
    assert ["remove the cause: Kueue: insufficient quota"] == waits(
        replace(QUEUED, waits_for="insufficient quota"), over
    )
    assert ["remove the cause: FailedScheduling: no node"] == waits(
        replace(QUEUED, warnings={"FailedScheduling": "no node"}), HELD
    )


def test_longer_deadline_is_a_remedy_only_at_the_deadline() -> None:
    """A rehearsal that ended before had nothing more to wait for."""
    assert ["nothing more could happen: see the timeline for how far the run got"] == waits(QUEUED)
    assert [
        "see the timeline for how far the run got; set a longer --deadline if it needs more time"
    ] == waits(QUEUED, at_deadline=True)


def test_hint_of_a_late_admission_is_the_cause_of_the_longest_wait_before_it() -> None:
    """Not the fault that hit the run after its start, nor a wait after it."""
    block = "expect: [{waitBelow: 10s}]"
    waited = replace(ran(A, (60, 90)), submitted=0.0, admitted=55.0)
    causes = (Cause(0.0, 40.0, "held"), Cause(40.0, 50.0, "checked"), Cause(56.0, 99.0, "no nodes"))

    assert ["it waited because of this: held"] == waits(waited, *causes, block=block)
    assert ["the timeline shows what happened; change the workload, the queues or the expectation"] == waits(
        waited, causes[-1], block=block
    )
    never = "it waits because of this: 8 chips of v5e: default/b has held 8 since 1.0s"
    assert [never, never.replace("waits", "waited")] == waits(QUEUED, HELD, block=block)
    assert () == judge([part_of(block)], {}, {}, cut_short=True)


HEADLESS = jobset(
    "a", replicated_job("pathways-head", chips=0, pods=1), replicated_job("worker"), successPolicy={}
)


@pytest.mark.parametrize("item", [HEADLESS, pathwaysjob()], ids=["JobSet", "PathwaysJob"])
@pytest.mark.parametrize("block", ["", "expect: [{finishes: false}]"])
@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"outcome": "running", "ran": {"worker", "pathways-head"}}, []),
        ({"outcome": "running", "ran": {"worker"}}, ["REH001"]),
        ({"outcome": "waiting", "started": None}, ["REH001"]),
        ({"outcome": "waiting"}, ["REH001"]),
        ({"outcome": "failed"}, ["REH001"]),
        ({"outcome": "failed", "started": None}, ["REH001"]),
        ({"outcome": "notSubmitted", "started": None}, ["REH001"]),
    ],
)
def test_headless_pathways_runs_at_the_end(
    item: dict[str, Any], block: str, facts: dict[str, Any], expected: list[str]
) -> None:
    """It never ends, so nothing but that it runs, with head and workers, shows that it can."""
    timeline = Timeline(A, **{"submitted": 0.0, "started": 1.0, **facts})
    found = [line for line in said(part_of(block, item), timeline) if "REH020" not in line]

    assert [f"{AT_NAME}{ident}" for ident in expected] == found


def test_headless_pathways_that_is_expected_to_finish_never_does() -> None:
    """What its file says goes before what its kind does."""
    timeline = Timeline(A, outcome="running", started=1.0, ran={"pathways-head"})

    assert [f"{AT_NAME}REH001"] == said(part_of("expect: [{finishes: true}]", HEADLESS), timeline)


def test_each_run_that_is_kept_is_judged_by_its_own_kind() -> None:
    """That an earlier one is headless is not an excuse for one that should finish."""
    part = part_of("", jobset("a"), {**HEADLESS, "metadata": {**HEADLESS["metadata"], "name": "old"}})
    timelines = {A: Timeline(A, outcome="waiting"), "default/old": Timeline("default/old", outcome="waiting")}

    assert [f"{AT_NAME}REH001"] * 2 == [*places(judge([part], timelines, {}, cut_short=False))]


@pytest.mark.parametrize(("pods", "is_told"), [(0, True), (1, True), (2, False)])
def test_run_that_finished_without_its_tpu_pods_has_done_nothing(pods: int, is_told: bool) -> None:
    """A JobSet may succeed by other pods; its slices never ran."""
    timeline = ran(A, (1, 2))
    timeline.started = None
    timeline.slices = [Slice("slice/0", 0, 1, 2, ("np-0",), pods, exclusive=True)]

    assert [f"{AT_NAME}REH001"] * is_told == said(part_of(), timeline)


def test_run_that_never_fits_is_told_with_what_the_quota_check_said() -> None:
    """Kueue's reason is the hint; both agree."""
    timeline = Timeline(A, outcome="waiting", waits_for="insufficient quota")

    assert [f"{AT_NAME}REH001"] == said(part_of(), timeline, never={A: "FIT101 too much"})


def test_run_that_never_fits_and_of_which_kueue_says_nothing_is_told_what_to_write() -> None:
    """Kueue explains the first of several equal runs only."""
    told = said(part_of(), Timeline(A, outcome="waiting"), never={A: "FIT101 too much"})

    assert [f"{AT_NAME}REH001"] == told


def test_quota_check_that_is_wrong_is_a_problem() -> None:
    """Kueue admitted what should never fit."""
    assert [f"{AT_NAME}REH005"] == said(part_of(), ran(A, (1, 2)), never={A: "FIT101"})


def test_refused_run_is_told_with_the_words_of_the_server() -> None:
    """And with nothing else."""
    refused = Timeline(A, outcome="refused", refusal="denied")

    assert ["workloads/a.yaml:5:3: REH003"] == said(part_of(), refused)


def test_split_slice_fails_the_rehearsal() -> None:
    """Also of a run that finished, and of a Job, which has no replicated jobs."""
    timeline = ran(A, (1, 2))
    timeline.slices = [
        Slice("slice/0", 0, 1, 2, ("np-0", "np-1"), 2, exclusive=True),
        Slice("slice/1", 0, 1, 2, ("np-2",), 2, exclusive=True),
        Slice("", 0, 1, 2, ("np-0", "np-1"), 2, exclusive=True),
    ]

    assert [f"{AT_NAME}REH002"] * 2 == said(part_of(), timeline)


def not_together(**facts: Any) -> Timeline:
    """Return a run that was admitted, and of whose two TPU pods one found no node."""
    timeline = Timeline(A, submitted=0.0, admitted=0.0, outcome="waiting", together=1)
    timeline.slices = [Slice("slice/0", 0, 1, 9, ("np-0",), 1, exclusive=True)]
    timeline.unplaced = {"a-slice-0-1-x": "0/2 nodes are available"}
    timeline.warnings = {"FailedScheduling": "0/2 nodes are available"}
    for name, value in facts.items():
        setattr(timeline, name, value)
    return timeline


NEVER_STARTED = f"{AT_NAME}REH011"


def test_run_whose_pods_never_ran_at_once_is_told_with_the_pods_that_wait() -> None:
    """Once, and not also as a run that did not finish; with what the scheduler said and what to do."""
    more = {"a-slice-0-1-x": "no", "a-slice-0-0-y": "no", "a-slice-0-2-z": "no"}

    assert [NEVER_STARTED] == said(part_of(), not_together())
    assert [NEVER_STARTED] == said(part_of(), not_together(unplaced=more))
    assert [NEVER_STARTED] == said(part_of(), not_together(unplaced={}))


def test_runs_that_hold_nodes_of_one_that_never_started_are_named() -> None:
    """Those on the node pools of its slices; another slice of its own is not meant."""
    shared = Slice("slice/0", 0, 1, 9, ("np-0",), 1, exclusive=False, shared_with=(A, C, B))
    timeline = not_together(slices=[shared], unplaced={}, warnings={})

    assert [NEVER_STARTED] == said(part_of(), timeline)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"started": 3.0}, ["REH001"]),
        ({"together": 0}, ["REH001"]),
        ({"outcome": "failed"}, ["REH001"]),
        ({"outcome": "finished", "started": 3.0}, []),
    ],
)
def test_run_that_started_or_has_no_pod_is_told_as_unfinished(
    facts: dict[str, Any], expected: list[str]
) -> None:
    """That its pods did not run at once is no reason then."""
    assert expected == [line.split()[-1] for line in said(part_of(), not_together(**facts))]


def test_run_that_may_still_start_or_need_not_finish_is_not_held_to_it() -> None:
    """In a rehearsal that was cut short, and where its file expects that it does not finish."""
    assert [] == said(part_of(), not_together(), cut_short=True)
    assert [] == said(expecting("finishes: false"), not_together())


def aside(job: str = "board", **facts: Any) -> Timeline:
    """Return a run that ended, and of which a job without chips found no place."""
    timeline = ran(A, (1, 2))
    timeline.unplaced = {f"a-{job}-0-0-x": "0/6 nodes", "a-slice-0-0-x": "no chips"}
    for name, value in facts.items():
        setattr(timeline, name, value)
    return timeline


def test_job_without_chips_that_never_ran_fails_the_rehearsal() -> None:
    """With the scheduler's sentence, where it said one. A program that was too short to see it: a warning."""
    part = part_of("", jobset("a", replicated_job("slice"), replicated_job("board", chips=0)))
    none = part_of("", jobset("a", replicated_job("slice"), replicated_job("board", chips=0, replicas=0)))
    error, warning = [f"{AT_NAME}REH001"], [f"{AT_NAME}warning: REH001"]

    def timed(speed: float, duration: str = "60s", **facts: Any) -> list[str]:
        return said(part_of(f"duration: {duration}", *part.runs), aside(**facts), speed=speed)

    assert error == said(part, aside())
    assert error == timed(60.0)
    assert error == timed(1.0, unplaced={})
    assert warning == timed(60.0, unplaced={})
    assert warning == timed(60.0, "2s", unplaced={})
    assert warning == said(part, aside("another"))
    assert [] == said(part, aside(ran={"slice", "board"}))
    assert [] == said(none, aside())
    assert [] == said(part_of("", job()), aside())


def test_job_without_chips_may_still_come_in_what_was_cut_short() -> None:
    """And of a run that never started that is told."""
    part = part_of(
        "expect: [{finishes: false}]", jobset("a", replicated_job("slice"), replicated_job("board", chips=0))
    )

    assert [] == said(part, aside(outcome="running"), cut_short=True)
    assert [] == said(part, aside(outcome="waiting", started=None))
    assert ["REH001", "REH020"] == [line.split()[-1] for line in said(part, aside(outcome="running"))]


def sharing(*runs: str) -> Timeline:
    """Return a run whose slice and its successor had pods of runs beside them."""
    timeline = ran(A, (1, 2))
    slices = [Slice("slice/0", 0, 1, 2, ("np-0",), 2, exclusive=not runs, shared_with=runs)]
    timeline.slices = [*slices, *slices]
    return timeline


EXCLUSIVE = {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}}


def exclusive_job() -> dict[str, Any]:
    """Return an entry of a JobSet that wants node pools for itself."""
    job = replicated_job("slice")
    job["template"]["metadata"] = EXCLUSIVE
    return job


@pytest.mark.parametrize(
    "run",
    [
        jobset("a", exclusive_job()),
        jobset("a") | {"metadata": {"name": "a", "namespace": "default"} | EXCLUSIVE},
    ],
    ids=["replicated job", "whole JobSet"],
)
def test_slice_that_shares_its_node_pool_is_warned_of(run: dict[str, Any]) -> None:
    """Once for each other run, with the rule that tells the reason; the rehearsal passes."""
    assert [f"{AT_NAME}warning: REH010"] * 2 == said(part_of("", run), sharing("default/b", A))


@pytest.mark.parametrize(
    ("run", "timeline"),
    [(jobset("a"), sharing("default/b")), (jobset("a", exclusive_job()), sharing())],
    ids=["asks for nothing", "is alone"],
)
def test_slice_may_share_what_it_does_not_ask_for(run: dict[str, Any], timeline: Timeline) -> None:
    """Only a promise that was broken is told."""
    assert () == judge([part_of("", run)], {A: timeline}, {}, cut_short=False)


def test_problem_of_many_arrivals_is_told_once() -> None:
    """With their number; a problem of a run of the tree is its own."""
    first, second = (replace(part_of(name=name), profile="evening") for name in ("b", "c"))
    second = replace(second, workload=replace(second.workload, source=first.workload.source))
    late = {run: Timeline(run, outcome="waiting") for run in (A, B, C)}
    found = judge([part_of(), first, second], late, {}, cut_short=False)
    alone = judge([part_of(), first], late, {}, cut_short=False)

    assert [f"{AT_NAME}REH001", "workloads/b.yaml:3:18: REH001"] == places([*found])
    assert found[1].message.endswith("; the same for 1 more arrival of profile 'evening'")
    assert [f"{AT_NAME}REH001", "workloads/b.yaml:3:18: REH001"] == places([*alone])
