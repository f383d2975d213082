"""Why Kueue holds a run back: in its own words, with the arithmetic of the quota."""

from typing import Any

import pytest

from slicewright.cluster.status.causes import Queues
from slicewright.cluster.status.inventory import Inventory
from slicewright.rendering.io.package_data import package

from .kit import inventory, item, jobset, queue, run, why, workload

NEEDS = "needs 8 chips of flavor v5e; ClusterQueue cq has quota of"


def holder(name: str, chips: int, **more: Any) -> list[dict[str, object]]:
    """Return a run that holds chips."""
    return [jobset(name), workload(name, admitted=chips, **more)]


def test_most_holders_are_counted() -> None:
    """Three holders are named; a Workload without a run has its own name; one that is over holds nothing."""
    others = [one for name in "bcd" for one in holder(name, 4)]
    stranger = {**workload("s", admitted=2), "metadata": {**workload("s")["metadata"], "ownerReferences": []}}
    over = workload("o", admitted=4, conditions=[("Finished", "True")])
    found = why(jobset(), workload(), *queue(16), *others, stranger, over, wanted=[jobset()])

    assert [
        ("QuotaHeld", f"{NEEDS} 16, 14 held: 4 by default/d, 4 by default/c, 4 by default/b and 1 more")
    ] == found


def test_quota_held_in_the_cohort() -> None:
    """What a queue can borrow is named, and who holds chips in the queues that share with it."""
    shared = [
        *queue(4, cohortName="lab"),
        queue(8, name="other", local="o", cohortName="lab")[1],
        queue(8, name="apart", local="p")[1],
        item("Cohort", "lab", {"parentName": "all"}),
        item("Cohort", "all", {}),
    ]
    found = why(
        jobset(),
        workload(),
        *shared,
        *holder("b", 8, queue="other"),
        *holder("c", 8, queue="apart"),
        wanted=[jobset()],
    )

    assert [("QuotaHeld", f"{NEEDS} 4 (12 with what it can borrow), 8 held: 8 by default/b")] == found


@pytest.mark.parametrize(
    ("limits", "held", "expected"),
    [
        ({"borrowingLimit": "0"}, 16, "Waiting"),
        ({"borrowingLimit": "0"}, 17, "QuotaHeld"),
        ({"lendingLimit": "0"}, 16, "Waiting"),
        ({"lendingLimit": "4"}, 20, "QuotaHeld"),
        ({}, 16, "Waiting"),
        ({}, 17, "QuotaHeld"),
    ],
)
def test_what_others_hold_of_their_own_holds_nobody_back(
    limits: dict[str, str], held: int, expected: str
) -> None:
    """A queue of 8 beside one of 16 waits for quota only if the other has taken a part of the 8."""
    shared = [
        *queue(8, cohortName="lab"),
        queue(16, name="other", local="o", cohortName="lab")[1],
        item("Cohort", "lab", {}),
    ]
    shared[1]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0] |= limits

    found = why(jobset(), workload(), *shared, *holder("b", held, queue="other"), wanted=[jobset()])

    assert [expected] == [reason for reason, _ in found]


def test_cohorts_in_a_circle() -> None:
    """Cohorts that are in each other do not keep anybody waiting."""
    circle = [item("Cohort", "x", {"parentName": "y"}), item("Cohort", "y", {"parentName": "x"})]

    assert "QuotaTooSmall" == why(jobset(), workload(), *queue(4, cohortName="x"), *circle)[0][0]


def test_resources_beside_chips() -> None:
    """The arithmetic is that of chips: quota of cpu, and those who hold other flavors, are left out."""
    made, queues = jobset(), queue(16)
    container = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"]["cpu"] = "1"
    flavor = {"name": "nodes", "resources": [{"name": "cpu", "nominalQuota": "9"}]}
    queues[1]["spec"]["resourceGroups"].append({"coveredResources": ["cpu"], "flavors": [flavor]})
    other = workload("d", admitted=8)
    other["status"]["admission"]["podSetAssignments"][0]["flavors"] = {"google.com/tpu": "v6e"}

    assert [("QuotaHeld", f"{NEEDS} 16, 12 held: 12 by default/b")] == why(
        made, workload(), *queues, *holder("b", 12), other, wanted=[made]
    )


def test_no_flavor_suits() -> None:
    """Flavors of other nodes are named."""
    flavor = item("ResourceFlavor", "v5e", {"nodeLabels": {"cloud.google.com/gke-tpu-topology": "4x4"}})
    found = why(jobset(), workload(), flavor, *queue()[1:])

    assert [("NoSuitingFlavor", "no flavor of ClusterQueue cq suits the run: v5e")] == found


def test_resource_that_no_queue_covers() -> None:
    """A run that requests cpu waits for good in a queue of chips."""
    made = jobset()
    container = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"] = {"cpu": "1"}

    found = why(made, workload(), *queue())
    assert [("ResourceNotCovered", "ClusterQueue cq has no quota of cpu, which the run requests")] == found


@pytest.mark.parametrize(
    ("items", "reason", "message"),
    [
        ([], "LocalQueueMissing", "LocalQueue default/team does not exist"),
        ([queue()[2]], "ClusterQueueMissing", "ClusterQueue cq of LocalQueue default/team does not exist"),
        (queue(stop="Hold"), "QueueStopped", "ClusterQueue cq is stopped: stopPolicy Hold"),
        (
            [*queue()[:2], item("LocalQueue", "team", {"clusterQueue": "cq", "stopPolicy": "HoldAndDrain"})],
            "QueueStopped",
            "LocalQueue default/team is stopped: stopPolicy HoldAndDrain",
        ),
        (
            [
                queue()[2],
                item("ClusterQueue", "cq", {}, conditions=[("Active", "False", "FlavorNotFound", "no v5e")]),
            ],
            "QueueInactive",
            "ClusterQueue cq is not active",
        ),
    ],
)
def test_queue_that_gives_nothing(items: list[dict[str, object]], reason: str, message: str) -> None:
    """A queue that is missing, stopped or inactive is named before any arithmetic."""
    assert [(reason, message)] == why(jobset(), workload(), *items)


@pytest.mark.parametrize("kind", ["LocalQueue", "ClusterQueue"])
def test_queues_that_may_not_be_read(kind: str) -> None:
    """Without the right to list queues nothing is said of them, but what Kueue says of the run is shown."""
    items = [one for one in queue() if one["kind"] != kind]
    (cause,) = run(jobset(), workload(), *items, unread={kind: "no"}).causes

    assert ("Waiting", "Pending: 8 more needed", "") == (cause.reason, cause.said, cause.hint)


def test_admitted_next() -> None:
    """Where quota is free and Kueue has not said anything yet, the cluster does not say why."""
    (cause,) = run(jobset(), workload(conditions=[]), *queue()).causes

    assert ("Waiting", "the cluster does not say why; see kubectl describe workload") == (
        cause.reason,
        cause.hint,
    )


def test_kueue_has_made_no_workload() -> None:
    """A run in a queue without a Workload means that Kueue has not seen it."""
    assert [("NoWorkload", "Kueue has made no Workload for JobSet a")] == why(jobset(), *queue())
    assert "Waiting" == why(jobset(), *queue(), unread={"Workload": "no"})[0][0]


def test_admission_check() -> None:
    """A check that is not ready holds a run back that has quota."""
    checks = [
        {"name": "dws", "state": "Pending", "message": "waiting for capacity"},
        {"name": "done", "state": "Ready"},
    ]
    reserved = [("QuotaReserved", "True", "QuotaReserved")]
    held_back = workload(admitted=8, conditions=reserved, status={"admissionChecks": checks})
    (cause,) = run(jobset(), held_back, *queue()).causes

    assert ("AdmissionCheck", "quota is reserved; admission check dws is Pending") == (
        cause.reason,
        cause.message,
    )
    assert "waiting for capacity" == cause.said


def test_deactivated() -> None:
    """Kueue gives up a run that it has evicted too often, and says why it did."""
    said = [("Evicted", "True", "Deactivated", "exceeded the maximum number of re-queuing retries")]
    (cause,) = run(jobset(), workload(conditions=said, spec={"active": False}), *queue()).causes

    assert ("Deactivated", f"{said[0][2]}: {said[0][3]}") == (cause.reason, cause.said)


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        ("Preempted", "for a higher priority", "Pending: 8 more needed; Preempted: for a higher priority"),
        ("Preempted", "8 more needed", "Preempted: 8 more needed"),
    ],
)
def test_run_that_was_evicted_says_why(reason: str, message: str, expected: str) -> None:
    """Kueue first writes the eviction's message as the reason of the wait, later what is missing."""
    told = [("QuotaReserved", "False", "Pending", "8 more needed"), ("Evicted", "True", reason, message)]
    (cause,) = run(jobset(), workload(conditions=told), *queue()).causes

    assert expected == cause.said


def test_run_that_kueue_tries_later() -> None:
    """After a timeout Kueue waits until `requeueAt`, whatever the quota; the table shows it."""
    told = [
        ("QuotaReserved", "False", "Pending", "exceeded the PodsReady timeout"),
        ("Evicted", "True", "PodsReadyTimeout", "exceeded the PodsReady timeout"),
        ("Requeued", "False", "PodsReadyTimeout", "exceeded the PodsReady timeout"),
    ]
    state = {"requeueState": {"count": 2, "requeueAt": "T9"}}
    found = run(jobset(), workload(conditions=told, status=state), *queue())

    assert "Pending, RequeueBackoff: Kueue tries it again at T9" == found.summary
    assert "PodsReadyTimeout: exceeded the PodsReady timeout" == found.causes[0].said

    state = {"requeueState": {"count": 2}}  # the time has come
    found = run(jobset(), workload(conditions=told, status=state), *queue())
    assert "RequeueBackoff" not in found.summary


def test_table_shows_kueue_s_words_where_nothing_else_says_why() -> None:
    """Quota is free, and Kueue says what it waits for."""
    told = [("QuotaReserved", "False", "Waiting", "waiting for all admitted workloads to be ready")]

    assert "Pending, Waiting: Waiting: waiting for all admitted workloads to be ready" == (
        run(jobset(), workload(conditions=told), *queue()).summary
    )


def places(found: Inventory) -> dict[str, int]:
    """Return the places of Workloads by name."""
    return {name: place for (_, name), place in Queues(found, package().catalogue).positions().items()}


def test_places() -> None:
    """Kueue's own list is shown; without it priority counts, then age. Who does not wait has no place."""
    waiting = [
        workload("a"),
        workload("b", spec={"priority": 5}),
        workload("c", metadata={"creationTimestamp": "S"}),
        workload("d", admitted=8),
        workload("e", spec={"active": False}),
        workload("f", spec={"queueName": "other"}),
    ]

    assert {"jobset-b": 1, "jobset-c": 2, "jobset-a": 3} == places(inventory(*queue(), *waiting))
    assert {"jobset-a": 7} == places(inventory(*queue(), *waiting, positions={("default", "jobset-a"): 7}))
