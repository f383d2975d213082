"""Why runs waited: holders and remedies, by hand arithmetic. A run needs 8 chips."""

from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cluster.status.kit import SHAPE, item, jobset, queue

from slicewright.kubernetes.types import Object
from slicewright.kueue.quota import Holder, Shortage
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.metrics import waiting_chips
from slicewright.rehearse.model.queue_setting import Setting, read_setting
from slicewright.rehearse.model.remedy import IN_ORDER, Remedy
from slicewright.rehearse.model.verdict import Cause
from slicewright.rehearse.model.waits import Lack, Wait, waits
from slicewright.rehearse.report.sentences import causes, describe, longest_waits
from slicewright.rehearse.report.sentences import record as record_of
from slicewright.rendering.io.package_data import package

from .kit import pathwaysjob, says, told

A, B, C = "default/a", "default/b", "default/c"
V5E = (("v5e", 8),)


def scene(
    *platform: Object,
    priorities: dict[str, int] | None = None,
    queues: dict[str, str] | None = None,
    settings: Object | None = None,
) -> Setting:
    """Return runs a, b and c of 8 chips each, in the queue cq unless said."""
    runs = [jobset(name) for name in "abc"]
    of = {f"default/{name}": "cq" for name in "abc"} | (queues or {})
    return read_setting(runs, platform, package().catalogue, of, priorities or {}, settings or {})


def why(found: Setting, *events: Event, run: str = A, resolution: float = 5.0) -> tuple[Wait, ...]:
    """Return the waits of a run, until second 100."""
    timelines = told(*events, pods={A: 2, B: 2, C: 2}, queued=(A, B, C))
    return waits(events, timelines.values(), found, resolution).get(run, ())


def held(run: str = B, at: float = 1.0, queue: str = "cq", chips: int = 8) -> tuple[Event, ...]:
    """Return the events of a run that has chips."""
    flavors = (("v5e", chips),)
    return says(at, "submitted", run), says(at, "reserved", run, queue=queue, flavors=flavors)


ASKS = (says(10.0, "submitted"), says(11.0, "waiting", reason="Pending", text="8 more needed"))


def remedies(wait: Wait) -> list[tuple[str, int, int | None]]:
    """Return the changes that admit it, by flavor."""
    return [(remedy.kind, remedy.chips, remedy.above) for lack in wait.lacks for remedy in lack.remedies]


@pytest.mark.parametrize(
    ("within", "own", "expected"),
    [
        ("LowerPriority", 0, [("Priority", 0, 5)]),
        ("LowerPriority", 9, []),
        ("Never", 0, [("Preemption", 0, 5)]),
        ("Never", 9, [("Preemption", 0, None)]),
    ],
)
def test_priority_follows_the_policy_of_the_queue(
    within: str, own: int, expected: list[tuple[str, int, int | None]]
) -> None:
    """B holds all 8 chips at priority 5. What has a higher priority already is being preempted for."""
    platform = queue(8, preemption={"withinClusterQueue": within})
    (wait,) = why(scene(*platform, priorities={A: own, B: 5}), *held(), *ASKS)

    assert [*expected, ("NominalQuota", 8, None)] == remedies(wait)
    assert ("QuotaHeld", "8 more needed") == (wait.reason, wait.message)
    assert (10.0, 100.0) == (wait.start, wait.end)


def test_least_priority_that_frees_enough() -> None:
    """Of 16 chips b holds 4 at priority 1 and c holds 12 at 7: the 4 of b are not enough for 8."""
    platform = queue(16, preemption={"withinClusterQueue": "LowerPriority"})
    found = scene(*platform, priorities={B: 1, C: 7})
    (wait,) = why(found, *held(B, chips=4), *held(C, chips=12), *ASKS)

    assert [("Priority", 0, 7), ("NominalQuota", 8, None)] == remedies(wait)


def test_run_behind_another_is_not_promised_quota() -> None:
    """More quota goes to c, which is ahead; only a priority above that of c admits a first."""
    platform = queue(8, preemption={"withinClusterQueue": "LowerPriority"})
    ahead = says(5.0, "submitted", C)
    (wait,) = why(scene(*platform, priorities={B: 1, C: 3}), *held(), ahead, *ASKS)

    assert ((C,), [("Priority", 0, 3)]) == (wait.ahead, remedies(wait))


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("BestEffortFIFO", [("Preemption", 0, 1), ("NominalQuota", 8, None)]),
        ("StrictFIFO", [("Preemption", 0, 3)]),
    ],
)
def test_run_ahead_counts_where_it_may_take_the_same_flavor(
    strategy: str, expected: list[tuple[str, int, int | None]]
) -> None:
    """C, which is ahead, runs on Spot nodes alone. With StrictFIFO it blocks the queue all the same."""
    found = scene(*queue(8, queueingStrategy=strategy), priorities={B: 1, C: 3})
    found = replace(found, demands={**found.demands, C: ((("spot",), 8),)})
    (wait,) = why(found, *held(), says(5.0, "submitted", C), *ASKS)

    assert ((C,), expected) == (wait.ahead, remedies(wait))


@pytest.mark.parametrize(
    ("reason", "timestamp", "expected"),
    [
        ("Preempted", "Eviction", (C,)),
        ("PodsReadyTimeout", "Eviction", ()),
        ("PodsReadyTimeout", "Creation", (C,)),
        ("AdmissionCheck", "Creation", ()),
    ],
)
def test_evicted_run_keeps_its_place_unless_its_time_was_up(
    reason: str, timestamp: str, expected: tuple[str, ...]
) -> None:
    """C was submitted before a and evicted after that; Kueue orders runs by creation."""
    settings = {"waitForPodsReady": {"requeuingStrategy": {"timestamp": timestamp}}}
    of_c = (*held(C, at=2.0), says(12.0, "evicted", C, reason=reason), says(12.0, "released", C))
    again = says(20.0, "waiting", reason="Pending", text="8 more needed")
    asks = says(10.0, "submitted"), *of_c, *held(at=15.0), again
    (wait,) = why(scene(*queue(8), settings=settings), *asks)

    assert expected == wait.ahead


@pytest.mark.parametrize(
    ("reclaim", "own", "expected"),
    [
        ("Never", 0, [("Reclaim", 8, None)]),
        ("LowerPriority", 0, [("Priority", 8, 4)]),
        ("LowerPriority", 5, []),
        ("Any", 0, []),
    ],
)
def test_borrowed_quota_is_taken_back(
    reclaim: str, own: int, expected: list[tuple[str, int, int | None]]
) -> None:
    """The guest uses 16 of its 8: what it borrows belongs to cq."""
    platform = [
        *queue(8, cohortName="all", preemption={"reclaimWithinCohort": reclaim}),
        *queue(8, name="guest", local="guest", cohortName="all"),
    ]
    found = scene(*platform, priorities={A: own, B: 4}, queues={B: "guest"})
    (wait,) = why(found, *held(B, queue="guest", chips=16), *ASKS)

    assert [*expected, ("NominalQuota", 8, None)] == remedies(wait)


def test_reclaim_takes_from_borrowers_as_long_as_they_borrow() -> None:
    """The guest has 12 + 4 of its 8 chips: the 4 at priority 0 are not enough for 8, so both are needed."""
    platform = [
        *queue(8, cohortName="all", preemption={"reclaimWithinCohort": "LowerPriority"}),
        *queue(8, name="guest", local="guest", cohortName="all"),
    ]
    found = scene(*platform, priorities={B: 3}, queues={B: "guest", C: "guest"})
    events = (*held(B, queue="guest", chips=12), *held(C, queue="guest", chips=4))
    (wait,) = why(found, *events, *ASKS)

    assert [("Priority", 8, 3), ("NominalQuota", 8, None)] == remedies(wait)


BOTH = (
    "set reclaimWithinCohort: LowerPriority and borrowWithinCohort.policy: LowerPriority in its ClusterQueue"
)
HIGHER = "give it a priority above 4"
TAKES = "to take back borrowed chips"
RECLAIMS = {"reclaimWithinCohort": "LowerPriority"}


@pytest.mark.parametrize(
    ("preemption", "own", "expected"),
    [
        ({}, 0, f"{BOTH} and {HIGHER} {TAKES}"),
        ({}, 5, f"{BOTH} {TAKES}"),
        (RECLAIMS, 5, f"set borrowWithinCohort.policy: LowerPriority in its ClusterQueue {TAKES}"),
        ({**RECLAIMS, "borrowWithinCohort": {"policy": "LowerPriority"}}, 0, f"{HIGHER} {TAKES}"),
        ({**RECLAIMS, "borrowWithinCohort": {"policy": "LowerPriority"}}, 5, ""),
        ({"borrowWithinCohort": {"policy": "Never", "maxPriorityThreshold": 3}}, 5, ""),
        ({"borrowWithinCohort": {"policy": "Never", "maxPriorityThreshold": 4}}, 5, f"{BOTH} {TAKES}"),
    ],
)
def test_run_that_has_to_borrow_takes_back_by_two_policies(
    preemption: Object, own: int, expected: str
) -> None:
    """A needs 8 chips of a queue with 4; the guest has 16 of its 8 at priority 4; all have 20."""
    platform = [
        *queue(4, cohortName="all", preemption=preemption),
        *queue(8, name="guest", local="guest", cohortName="all"),
        *queue(8, name="idle", local="idle", cohortName="all"),
    ]
    found = scene(*platform, priorities={A: own, B: 4}, queues={B: "guest"})
    (wait,) = why(found, *held(B, queue="guest", chips=16), *ASKS)
    told = [remedy.message for lack in wait.lacks for remedy in lack.remedies]
    (fair,) = why(replace(found, is_fair=True), *held(B, queue="guest", chips=16), *ASKS)

    quota = "add 4 chips to the nominal quota of ClusterQueue cq"
    assert [*([expected] if expected else []), quota] == told
    assert [("NominalQuota", 4, None)] == remedies(fair)


def test_fair_sharing_is_read_off_the_configuration_of_kueue() -> None:
    """It is on where the field is written with something in it."""
    settings: list[Object] = [{}, {"fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]}}]

    assert [False, True] == [scene(*queue(8), settings=one).is_fair for one in settings]


def test_queue_that_keeps_to_its_quota_is_not_taken_from() -> None:
    """C has the lowest priority and 8 of its 8 chips; b borrows 8 at priority 3, and loses them."""
    platform = [
        *queue(8, cohortName="all"),
        *queue(8, name="guest", local="guest", cohortName="all"),
        *queue(8, name="other", local="other", cohortName="all"),
    ]
    found = scene(*platform, priorities={B: 3}, queues={B: "guest", C: "other"})
    events = (*held(B, queue="guest", chips=16), *held(C, queue="other"))
    (wait,) = why(found, *events, *ASKS)

    assert [("Reclaim", 8, None), ("NominalQuota", 8, None)] == remedies(wait)


def test_wait_that_is_over_is_judged_by_what_was_before() -> None:
    """Kueue gives no reason from 10 to 20; what happens later says nothing of that wait."""
    later = says(20.0, "reserved", queue="cq", flavors=V5E), says(40.0, "submitted", C)
    wait, _ = why(scene(*queue(8), priorities={A: 0}), ASKS[0], *later)

    assert ("NotTried", 20.0, "Kueue wrote no reason") == (wait.reason, wait.end, describe(wait, {}))


def test_run_that_kueue_never_took_up_has_no_workload() -> None:
    """Kueue writes its Workload's priority before all else; that it has none is known of the run alone."""
    (wait,) = why(scene(*queue(8)), ASKS[0])

    assert (
        "NoWorkload",
        "Kueue made no Workload for it: perhaps its pods name a PriorityClass that does not exist",
    ) == (wait.reason, describe(wait, {}))


def test_run_behind_others_is_told_of_them() -> None:
    """That Kueue wrote no reason is told only where nothing is known."""
    behind = Wait(0.0, 9.0, "NotTried", ahead=("default/b",))

    assert "Kueue tries others first; behind default/b" == describe(behind, {})


def test_equal_runs_wait_for_one_cause() -> None:
    """One line for each cause; what Kueue wrote of one explains those of which it wrote nothing.

    A higher priority would only take from an equal run. Who waits for nodes does not explain who is queued.
    """
    more, higher = (
        Remedy("NominalQuota", "add 8 chips", 8),
        Remedy("Priority", "give it a priority above 0", above=0),
    )
    lack = Lack(Shortage("v5e", 8, 8, 8, 8, (Holder(8, "default/c", "cq"),)), (higher, more))
    found = {
        "default/a": (Wait(0.0, 9.0, "QuotaHeld", lacks=(lack,)), Wait(20.0, 21.0, "Pending", "x")),
        "default/b": (Wait(0.0, 30.0, "NotTried"),),
        "default/c": (Wait(1.0, 20.0, "QuotaHeld", lacks=(lack,)),),
        "default/d": (Wait(0.0, 5.0, "NoNodes"),),
    }
    runs = [f"default/{name}" for name in "abcde"]

    untold, held, unplaced = (found[f"default/{name}"][0] for name in "bcd")
    without = replace(held, lacks=(replace(lack, remedies=(more,)),))
    assert [(3, untold, without), (1, unplaced, unplaced)] == [*longest_waits(found, runs)]
    assert [(2, untold, found["default/a"][0])] == [*longest_waits(found, ["default/a", "default/b"])]
    assert [(1, untold, untold), (1, unplaced, unplaced)] == [
        *longest_waits(found, ["default/b", "default/d"])
    ]
    assert [(1, untold, untold)] == [*longest_waits(found, ["default/b"])]
    assert [] == [*longest_waits(found, ["default/e"])]


def test_causes_are_what_is_known() -> None:
    """For hints; that Kueue wrote nothing is none."""
    found = {A: (Wait(0.0, 9.0, "NotTried"), Wait(10.0, 20.0, "Pending", "8 more needed"))}

    assert {A: [Cause(10.0, 20.0, "Kueue says Pending: 8 more needed")]} == causes(found, {})


def test_long_lists_are_cut() -> None:
    """Three runs ahead and three holders are named; the others are counted."""
    holders = tuple(Holder(2, f"default/{name}", "cq") for name in "efgh")
    lack = Lack(Shortage("v5e", 8, 8, 8, 8, holders))
    ahead = tuple(f"default/{name}" for name in "jklm")
    since = tuple((holder.run, 0.0) for holder in holders)
    line = describe(Wait(0.0, 9.0, "QuotaHeld", lacks=(lack,), ahead=ahead, since=since), {})

    assert line.endswith("1 more runs hold some; behind default/j, default/k, default/l and 1 more")


def test_queue_that_borrows_itself_reclaims_nothing() -> None:
    """Cq uses its 8 chips already; the guest keeps its own 8."""
    platform = [*queue(8, cohortName="all"), *queue(8, name="guest", local="guest", cohortName="all")]
    found = scene(*platform, queues={C: "guest"})
    (wait,) = why(found, *held(B), *held(C, queue="guest"), *ASKS)

    assert ["Preemption", "NominalQuota"] == [kind for kind, _, _ in remedies(wait)]


def test_lenders_that_borrow_nothing_are_not_taken_from() -> None:
    """Cq has 4 of its own and needs 8: the other queue uses 8 of its 8."""
    platform = [*queue(8, cohortName="all"), *queue(8, name="guest", local="guest", cohortName="all")]
    found = scene(*platform, queues={B: "guest"}, priorities={A: 0})

    assert ["NotTried"] == [wait.reason for wait in why(found, *held(B, queue="guest"), ASKS[0])]
    assert ["Pending"] == [wait.reason for wait in why(found, *held(B, queue="guest"), *ASKS)]


def test_quota_that_can_never_be_enough() -> None:
    """A quota of 4 chips, of which nobody holds any, lacks 4."""
    (wait,) = why(scene(*queue(4)), *ASKS)

    assert ("QuotaTooSmall", [("NominalQuota", 4, None)]) == (wait.reason, remedies(wait))
    admits = "add 4 chips to the nominal quota of ClusterQueue cq"
    assert f"8 chips of v5e: the quota is 4 chips; to start it earlier, {admits}" == describe(wait, {})


def test_two_lacks_have_no_single_remedy() -> None:
    """Two pod sets of one run lack different flavors, so that one change does not admit it."""
    found = scene(*queue(8))
    demands = found.demands | {A: ((("v5e",), 8), (("v6e",), 4))}
    (wait,) = why(replace(found, demands=demands), *held(), *ASKS)

    assert ["v5e", "v6e"] == [lack.short.flavor for lack in wait.lacks]
    assert [] == remedies(wait)


def test_queue_that_does_not_exist_is_left_to_kueue() -> None:
    """Nothing can be derived of it: what Kueue said is the reason."""
    (wait,) = why(scene(*queue(8), queues={A: "unknown"}), *held(), *ASKS)

    assert ("Pending", ()) == (wait.reason, wait.lacks)


def test_what_ended_holds_nothing() -> None:
    """B has given its chips back: Kueue's own reason remains."""
    events = (*held(), says(8.0, "finished", B), says(8.0, "released", B, reason="Finished"))
    (wait,) = why(scene(*queue(8)), *events, *ASKS)

    assert (("Pending", "8 more needed"), "Kueue says Pending: 8 more needed") == (
        (wait.reason, wait.message),
        describe(wait, {}),
    )


def test_wait_for_nodes_says_nothing_of_quota() -> None:
    """A run has its quota, and its pods find no node until 16 chips are added."""
    lacks = says(20.0, "warned", reason="FailedScheduling", text="0/0 nodes are available", pod="p0")
    events = (
        says(10.0, "submitted"),
        says(10.0, "reserved", queue="cq", flavors=V5E),
        says(10.0, "admitted"),
        lacks,
        says(50.0, "poolGrew", "", node_pool="np-0", chips=16),
    )
    (wait,) = why(scene(*queue(8)), *events)
    (checked,) = why(scene(*queue(8)), *events[:2])

    assert ("NoNodes", lacks.text, ()) == (wait.reason, wait.message, wait.lacks)
    assert (
        "has its quota; pods wait for nodes (0/0 nodes are available); "
        "added meanwhile: 16 chips in node pool np-0" == describe(wait, {})
    )
    assert "has its quota; an admission check was not ready; no nodes were added" == describe(checked, {})
    assert () == why(scene(*queue(8)), *events[:3])


def test_nodes_that_came_before_a_wait_did_not_end_it() -> None:
    """16 chips were added at second 5, and the run waits for nodes from second 10 on."""
    events = (
        says(5.0, "poolGrew", "", node_pool="np-0", chips=16),
        says(10.0, "submitted"),
        says(10.0, "reserved", queue="cq", flavors=V5E),
    )
    (wait,) = why(scene(*queue(8)), *events)

    assert ("AdmissionCheck", ()) == (wait.reason, wait.added)


def test_first_sentence_that_the_quota_explains_counts() -> None:
    """Kueue tells of the missing 8 chips at second 11, and writes another sentence at second 30."""
    again = says(30.0, "waiting", reason="Pending", text="still waiting")
    (wait,) = why(scene(*queue(8)), *held(), *ASKS, again)

    assert ("QuotaHeld", "8 more needed") == (wait.reason, wait.message)


@pytest.mark.parametrize(("reserved", "reason"), [(14.0, "QuotaHeld"), (17.0, "Pending")])
def test_holder_that_is_written_a_moment_later_is_the_reason(reserved: float, reason: str) -> None:
    """Kueue writes that a waits, then that b has the quota: within the time resolution it is one moment."""
    holder = says(reserved, "reserved", B, queue="cq", flavors=V5E)
    (wait,) = why(scene(*queue(8)), says(9.0, "submitted", B), *ASKS, holder)

    assert (reason, "8 more needed") == (wait.reason, wait.message)


def test_line_and_record_of_a_wait() -> None:
    """Who holds the chips, since when, and what admits the run."""
    platform = queue(8, preemption={"withinClusterQueue": "LowerPriority"})
    events = (*held(), *ASKS)
    (wait,) = why(scene(*platform, priorities={B: 800}), *events)
    timelines = told(*events, pods={A: 2, B: 2}, queued=(A, B))
    line = (
        "8 chips of v5e: default/b of cq has held 8 since 1.0s and still ran at the end; to start it "
        "earlier, give it a priority above 800, or add 8 chips to the nominal quota of ClusterQueue cq"
    )
    made: Any = record_of(wait, timelines)

    assert (line, line) == (describe(wait, timelines), made["message"])
    holder = {"run": B, "clusterQueue": "cq", "chips": 8, "since": 1.0, "neverEnds": False}
    assert [holder] == made["lacks"][0]["holders"]


def test_holder_that_does_not_end_by_itself_is_told() -> None:
    """A headless Pathways waits for clients."""
    endless = read_setting([pathwaysjob("h"), jobset("a")], queue(8), package().catalogue, {}, {}, {}).endless
    (wait,) = why(replace(scene(*queue(8)), endless=frozenset({B})), *held(), *ASKS)

    assert {"default/h"} == endless
    assert "8 chips of v5e: default/b of cq has held 8 since 1.0s and never ends; " in describe(wait, {})


def test_waiting_chips_are_added_up_over_time() -> None:
    """A waits from 10 to 30, c from 20 on: 8, 16, and 8 chips. Waits below the resolution do not count."""
    events = (says(10.0, "submitted"), says(20.0, "submitted", C), says(30.0, "reserved", flavors=V5E))
    timelines = told(*events, pods={A: 2, C: 2}, queued=(A, C))
    found = scene(*queue(8), queues={B: "unknown"})
    steps = ((10.0, 8), (20.0, 16), (30.0, 8), (100.0, 0))

    assert {"cq": {("v5e",): steps}} == waiting_chips(timelines.values(), found, 5.0)
    assert {"cq": {("v5e",): ((20.0, 8), (100.0, 0))}} == waiting_chips(timelines.values(), found, 25.0)


def cover_cpu(queue: Object) -> None:
    """Give a ClusterQueue quota of two cpu."""
    flavor = {"name": "v5e", "resources": [{"name": "cpu", "nominalQuota": "2"}]}
    queue["spec"]["resourceGroups"].append({"coveredResources": ["cpu"], "flavors": [flavor]})


def test_run_that_borrows_something_else_takes_back_no_chips() -> None:
    """Its queue owns the chips that b has borrowed, and has no cpu of its own: that is what is missing."""
    platform = (
        *queue(8, cohortName="all", preemption={"reclaimWithinCohort": "Any"}),
        *queue(0, name="other", local="other", cohortName="all"),
    )
    cover_cpu(platform[4])
    found = replace(scene(*platform, queues={B: "other"}), beside={A: {("v5e", "cpu"): Fraction(2)}})
    (wait,) = why(found, *held(queue="other"), *ASKS)
    (first, *_) = wait.lacks[0].remedies

    assert ("NominalQuota", 0) == (first.kind, first.chips)
    assert "add 2 cpu to the nominal quota of ClusterQueue cq, because a run that borrows" in first.message


def test_quota_alone_does_not_help_where_all_nodes_are_taken() -> None:
    """B has the only 8 chips: more quota without more nodes would let pods wait."""
    found = scene(*queue(8))
    (enough,) = why(replace(found, nodes={"v5e": 16}), *held(), *ASKS)
    (taken,) = why(replace(found, nodes={"v5e": 8}), *held(), *ASKS)

    assert [("Preemption", 0, 0), ("NominalQuota", 8, None)] == remedies(enough)
    assert [("Preemption", 0, 0), ("Nodes", 8, None)] == remedies(taken)


def test_queue_that_lacks_something_else_too_has_no_remedy_of_chips() -> None:
    """B has all 8 chips, and c all 2 cpu, of which a needs one: chips alone do not help."""
    platform = queue(8, preemption={"withinClusterQueue": "LowerPriority"})
    cover_cpu(platform[1])
    key = ("v5e", "cpu")
    of_cpu = {A: {key: Fraction(1)}, C: {key: Fraction(2)}}
    asked = (*held(), says(1.0, "submitted", C), says(1.0, "reserved", C, queue="cq"), *ASKS)
    (wait,) = why(replace(scene(*platform), beside=of_cpu), *asked)
    (free,) = why(replace(scene(*platform), beside={**of_cpu, C: {key: Fraction(1)}}), *asked)

    assert [] == remedies(wait)
    assert [("Priority", 0, 0), ("NominalQuota", 8, None)] == remedies(free)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("4", [("BorrowingLimit", 4, None), ("NominalQuota", 4, None)]),
        ("8", []),
    ],
)
def test_borrowing_limit_is_raised_where_others_leave_quota(
    limit: str, expected: list[tuple[str, int, int | None]]
) -> None:
    """Cq owns nothing, and the idle queue of its cohort has 16 chips."""
    platform = [
        *queue(0, cohortName="all"),
        *queue(16, name="idle", local="idle", cohortName="all"),
    ]
    (quota,) = platform[1]["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    quota["borrowingLimit"] = limit
    (wait,) = why(scene(*platform), *ASKS)

    assert expected == remedies(wait)


@pytest.mark.parametrize(("chips", "expected"), [(16, (IN_ORDER,)), (24, ())])
def test_strict_order_is_a_remedy_where_later_runs_have_what_it_needs(
    chips: int, expected: tuple[Remedy, ...]
) -> None:
    """Of 16 chips, b and c have 8 each; when b ends, d passes a, which would have had 16 without c and d."""
    d = "default/d"
    found = scene(*queue(16), queues={d: "cq"})
    found = replace(found, demands={**found.demands, A: ((("v5e",), chips),)})
    passes = [says(20.0, "submitted", C), says(21.0, "reserved", C, queue="cq", flavors=V5E)]
    passes += [says(22.0, "submitted", d), says(30.0, "finished", B), says(30.0, "released", B)]
    passes += [says(31.0, "reserved", d, queue="cq", flavors=V5E)]
    (wait,) = why(found, *held(), *ASKS, *passes)
    (lack,) = wait.lacks

    assert (2, expected) == (wait.passed_by, tuple(each for each in lack.remedies if each is IN_ORDER))


SPOT = "cloud.google.com/gke-spot"


@pytest.mark.parametrize(
    ("of_run", "expected"),
    [
        ({}, ("OtherFlavor", (f"{SPOT}=true", "spot"))),
        ({SPOT: "true"}, ("NoNodes", None)),
    ],
)
def test_pods_that_keep_the_labels_of_an_earlier_flavor(of_run: dict[str, str], expected: object) -> None:
    """A has v5e, and its pods select what the flavor spot has; what the run itself selects does not count."""
    platform = [*queue(8), item("ResourceFlavor", "spot", {"nodeLabels": {**SHAPE, SPOT: "true"}})]
    selects = tuple({**SHAPE, SPOT: "true"}.items())
    events = (
        says(5.0, "submitted"),
        says(6.0, "reserved", queue="cq", flavors=(("spot", 8),)),
        says(7.0, "admitted"),
        says(8.0, "evicted", reason="Preempted"),
        says(8.0, "released"),
        says(20.0, "reserved", queue="cq", flavors=V5E),
        says(20.0, "admitted"),
        says(21.0, "warned", reason="FailedScheduling", text="0/2 nodes", pod="p0", selects=selects),
    )
    found = scene(*platform)
    keys = found.selects[A] | of_run.keys()
    *_, wait = why(replace(found, selects={A: keys}), *events)

    assert expected == (wait.reason, wait.selects)
    line = (
        f"has its quota; its pods still select {SPOT}=true of flavor spot (JobSet keeps the node labels of "
        "an earlier admission); pods wait for nodes (0/2 nodes); no nodes were added"
    )
    assert bool(wait.selects) == (line == describe(wait, {}))


@pytest.mark.parametrize(("strategy", "expected"), [("BestEffortFIFO", 1), ("StrictFIFO", 0)])
def test_later_runs_that_pass_a_run_are_counted(strategy: str, expected: int) -> None:
    """C comes after a and gets quota before it."""
    platform = queue(8)
    next(item for item in platform if item["kind"] == "ClusterQueue")["spec"]["queueingStrategy"] = strategy
    late = says(20.0, "submitted", C), says(21.0, "reserved", C, queue="cq", flavors=V5E)
    (wait,) = why(scene(*platform), *held(), *ASKS, *late)

    assert expected == wait.passed_by
    assert bool(expected) == ("1 later run passed it" in describe(wait, {}))


def test_scheduler_says_why_pods_wait() -> None:
    """Its sentence is shown, without what it says of preemption."""
    text = "0/4 nodes are available: 4 Insufficient google.com/tpu. preemption: 0/4 nodes are available."
    wait = Wait(1.0, 50.0, "NoNodes", text)

    assert (
        "has its quota; pods wait for nodes (0/4 nodes are available: 4 Insufficient google.com/tpu); "
        "no nodes were added"
    ) == describe(wait, {})
