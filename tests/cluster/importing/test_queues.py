"""Queues, cohorts and their quota: numbers in slices or nodes, defaults left out, the rest as notes."""

from typing import Any

from slicewright.cluster.importing.node_pools import Note

from .kit import GKE, TPU, V5E, flavor, kueue, node, notes, of, queue, slice_nodes, spec

FLAVOR = flavor("tpus", {**V5E, f"{GKE}gke-accelerator-count": "4"})
NODES = [*slice_nodes("np-0"), *slice_nodes("np-1")]
HEADS = [
    node("n0", "heads", **{"node.kubernetes.io__instance-type": "n2-standard-64"}),
    flavor("heads", {f"{GKE}gke-nodepool": "heads"}),
]


def quota(*items: Any) -> Any:
    """Return the quota of the only queue."""
    (made,) = spec(*NODES, FLAVOR, *HEADS, *items)["clusterQueues"]
    return made.get("quota")


def limited(nominal: Any, **limits: Any) -> dict[str, Any]:
    """Return a quota with limits."""
    return {"nominalQuota": nominal, **limits}


def test_chips_are_slices() -> None:
    """With the limits in the same unit."""
    found = quota(queue("q", ("tpus", {TPU: limited("16", borrowingLimit=8, lendingLimit=0)})))

    assert found == [{"pool": "np", "nominalSlices": 2, "borrowingLimit": 1, "lendingLimit": 0}]


def test_chips_that_are_no_whole_slices_stay_chips() -> None:
    """A managed platform would refuse them: a note says so at the place."""
    odd = queue("q", ("tpus", {TPU: limited(16, borrowingLimit=4)}))

    assert quota(odd) == [{"pool": "np", "nominalChips": 16, "borrowingLimit": 4}]
    said = "no whole number of slices, each of 8 chips; a managed platform would refuse it"
    assert Note(said, ("spec", "clusterQueues", 0, "quota", 0)) in of(*NODES, FLAVOR, odd).notes


def allocatable(nodes: int) -> dict[str, str]:
    """Return what pods may ask of nodes of the CPU pool, as our own platform would say it."""
    from slicewright.rendering.io.package_data import catalogue  # noqa: PLC0415
    from slicewright.rendering.platform.queues import allocatable as of_machine  # noqa: PLC0415

    machine = catalogue().cpu_machines.find("n2-standard-64")
    assert machine is not None
    return of_machine(machine, nodes)


def test_cpu_and_memory_of_whole_nodes_are_nodes() -> None:
    """Limits too."""
    one, two = allocatable(1), allocatable(2)
    both = {key: limited(two[key], borrowingLimit=one[key]) for key in ("cpu", "memory")}

    assert quota(queue("q", ("heads", both))) == [{"pool": "heads", "nominalNodes": 2, "borrowingLimit": 1}]


def test_other_resources_stay_as_they_are() -> None:
    """And limits that are no whole nodes have no place."""
    some = queue("q", ("heads", {"memory": "16Gi", "cpu": limited("8000m", lendingLimit=1)}))

    assert quota(some) == [{"pool": "heads", "nominalQuota": {"cpu": "8", "memory": "16Gi"}}]
    assert notes(*NODES, FLAVOR, *HEADS, some)[-1] == (
        "limits of cpu, memory of flavor 'heads' are not whole nodes: left out"
    )
    assert quota(queue("q", ("heads", {"pods": 5}))) == [{"pool": "heads", "nominalQuota": {"pods": "5"}}]


def test_quota_without_a_pool_is_noted() -> None:
    """CPU of a TPU flavor is not counted by a file of ours, and unknown flavors have no pool."""
    made = [queue("q", ("tpus", {TPU: 8, "cpu": 4}), ("gone", {TPU: 4, "memory": 2}))]

    assert quota(*made) == [{"pool": "np", "nominalSlices": 1}]
    assert notes(*NODES, FLAVOR, *made) == [
        "quota of cpu of flavor 'tpus' has no CPU pool: left out",
        "quota of 4 chips of flavor 'gone' has no pool: left out",
        "quota of memory of flavor 'gone' has no CPU pool: left out",
    ]


def test_queue_says_what_is_not_the_default() -> None:
    """Its cohort, strategy, policies, checks and LocalQueues."""
    local = kueue(
        "LocalQueue", "l", {"clusterQueue": "q", "fairSharing": {"weight": "2"}, "stopPolicy": "Hold"}, "n"
    )
    plain = kueue("LocalQueue", "a", {"clusterQueue": "q", "stopPolicy": "None"})
    made = queue(
        "q",
        cohortName="c",
        queueingStrategy="StrictFIFO",
        namespaceSelector={"matchLabels": {"a": "b"}},
        stopPolicy="Hold",
        preemption={"withinClusterQueue": "LowerPriority", "borrowWithinCohort": {"policy": "Never"}},
        flavorFungibility={"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
        fairSharing={"weight": "500m"},
        admissionChecksStrategy={"admissionChecks": [{"name": "x", "onFlavors": ["tpus"]}]},
        admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"},
    )

    found = spec(made, local, plain)

    assert found["cohorts"] == [{"name": "c"}]
    assert found["clusterQueues"] == [
        {
            "name": "q",
            "cohortName": "c",
            "queueingStrategy": "StrictFIFO",
            "namespaceSelector": {"matchLabels": {"a": "b"}},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "flavorFungibility": {"whenCanBorrow": "TryNextFlavor"},
            "fairSharing": {"weight": "500m"},
            "admissionChecks": [{"name": "x", "onFlavors": ["tpus"]}],
            "stopPolicy": "Hold",
            "localQueues": [
                {"name": "a", "namespace": "default"},
                {"name": "l", "namespace": "n", "fairSharing": {"weight": "2"}, "stopPolicy": "Hold"},
            ],
        }
    ]
    assert notes(made, local, plain) == ["no object: the cohort is only named"]


def test_what_a_queue_has_beside_is_noted() -> None:
    """Fields that the file has no words for, a selector that admits nothing, LocalQueues of nowhere."""
    made = [
        queue("q", namespaceSelector=None, admissionScope={"admissionMode": "X"}, concurrentAdmission={}),
        kueue("LocalQueue", "l", {"clusterQueue": "q", "own": 1}, "n"),
        kueue("LocalQueue", "lost", {"clusterQueue": "none"}, "n"),
    ]

    assert notes(*made) == [
        "ClusterQueue 'q' also has admissionScope, which this file cannot say",
        "no namespaceSelector: it admits nothing, and here absent means all",
        "LocalQueue 'l' also has own, which this file cannot say",
        "LocalQueue n/lost is left out: ClusterQueue 'none' is not defined",
    ]


def test_words_of_v1beta1_are_understood() -> None:
    """It calls some fields and values otherwise."""
    made = [
        queue(
            "q",
            cohort="c",
            flavorFungibility={"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
            admissionChecks=["x"],
        ),
        kueue("Cohort", "c", {"parent": "root", "fairSharing": {}}),
    ]

    found = spec(*made, versions=("v1beta1",))

    assert found["cohorts"] == [
        {"name": "c", "parentName": "root", "fairSharing": {"weight": "1"}},
        {"name": "root"},
    ]
    (one,) = found["clusterQueues"]
    assert (one["cohortName"], one["admissionChecks"]) == ("c", [{"name": "x"}])
    assert one["flavorFungibility"] == {"whenCanPreempt": "MayStopSearch"}


def test_cohort_has_quota_too() -> None:
    """As a queue."""
    groups = queue("q", ("tpus", {TPU: 8}))["spec"]["resourceGroups"]

    found = spec(*NODES, FLAVOR, kueue("Cohort", "c", {"resourceGroups": groups}))

    assert found["cohorts"] == [{"name": "c", "quota": [{"pool": "np", "nominalSlices": 1}]}]


def test_check_of_queued_flavors_is_made_on_its_own() -> None:
    """It is written where it is on other flavors as well."""
    waiting = [
        *slice_nodes("w", f"{GKE}gke-queued"),
        flavor("w", V5E, tolerations=[{"key": f"{GKE}gke-queued"}]),
    ]

    def checks(*flavors: str) -> Any:
        entry = {"name": "flex-start-queued", "onFlavors": list(flavors)}
        strategy = {"admissionChecks": [entry]}
        made = queue("q", ("w", {TPU: 8}), ("tpus", {TPU: 8}), admissionChecksStrategy=strategy)
        return spec(*waiting, *NODES, FLAVOR, made)["clusterQueues"][0].get("admissionChecks")

    assert checks("w") is None
    assert checks("w", "tpus") == [{"name": "flex-start-queued", "onFlavors": ["w", "tpus"]}]
    assert checks("gone") == [{"name": "flex-start-queued", "onFlavors": ["gone"]}]
    assert checks() == [{"name": "flex-start-queued"}]
