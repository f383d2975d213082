"""Chips in use over time."""

from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.metrics import Usage, by_pool, by_queue, quotas

from .kit import gone, pod, says


def reserved(at: float, run: str, queue: str, chips: int) -> Event:
    """Return that Kueue reserved chips."""
    return says(at, "reserved", run, queue=queue, flavors=(("one", chips - 1), ("two", 1)))


def test_quota_is_the_nominal_one_over_all_flavors() -> None:
    """Of chips alone; a queue that gives none has none."""
    flavors = [
        {"name": name, "resources": [{"name": "google.com/tpu", "nominalQuota": chips}]}
        for name, chips in (("one", "16"), ("two", "8"))
    ]
    cpu = {"name": "cpus", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
    groups = [{"flavors": flavors}, {"flavors": [cpu]}]
    platform = [
        {"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {"resourceGroups": groups}},
        {"kind": "ClusterQueue", "metadata": {"name": "none"}, "spec": {}},
        {"kind": "LocalQueue", "metadata": {"name": "q"}, "spec": {}},
    ]

    assert {"cq": 24, "none": 0} == quotas(platform)


def test_queue_uses_what_kueue_reserved_until_it_is_released() -> None:
    """An eviction alone gives nothing back: the pods are still there."""
    (usage,) = by_queue(
        [
            reserved(1, "default/a", "cq", 8),
            says(2, "evicted"),
            says(3, "released"),
            says(3, "released"),
            reserved(3, "default/b", "cq", 16),
        ],
        {"cq": 8},
    )

    assert [(0.0, 0), (1, 8), (3, 16)] == list(usage.used)
    assert (16, 8) == (usage.peak(), usage.borrowed())


def test_part_that_is_given_back_can_be_used_by_others() -> None:
    """What a release says is still held counts on, also where that is nothing before the end."""
    part = {"reason": "ReclaimablePods", "queue": "cq"}
    (usage,) = by_queue(
        [
            reserved(1, "default/a", "cq", 16),
            says(2, "released", **part, flavors=(("one", 7), ("two", 1))),
            reserved(3, "default/b", "cq", 8),
            says(4, "released", **part, flavors=(("one", 0), ("two", 0))),
            says(5, "released", reason="Finished"),
        ],
        {"cq": 16},
    )

    assert [(0.0, 0), (1, 16), (2, 8), (3, 16), (4, 8), (5, 8)] == list(usage.used)
    assert (16, 0) == (usage.peak(), usage.borrowed())


def test_what_is_reserved_once_more_counts_once() -> None:
    """Between two looks it may have been released."""
    (usage,) = by_queue([reserved(1, "a", "cq", 8), reserved(2, "a", "cq", 16)], {"cq": 16})

    assert [(0.0, 0), (1, 8), (2, 16)] == list(usage.used)


def test_queue_that_the_platform_does_not_tell_of_has_no_limit() -> None:
    """Its use is shown all the same."""
    (known, other) = by_queue([reserved(1, "a", "other", 8)], {"cq": 8})

    assert Usage("cq", 8, ((0.0, 0),), until=1) == known
    assert ("other", 0, 8, 0.0) == (other.name, other.limit, other.peak(), other.utilisation(10))


def test_utilisation_is_the_share_of_the_limit_over_time() -> None:
    """Half of the chips for half of the time is a quarter; what is beyond the end does not count."""
    usage = Usage("cq", 16, ((0.0, 0), (5.0, 8), (10.0, 0), (20.0, 16)))

    assert (40.0, 0.25, 0.0) == (usage.chip_seconds(10), usage.utilisation(10), usage.utilisation(0))


def test_what_comes_after_all_work_dilutes_nothing() -> None:
    """A rehearsal goes on for a while to see that no more happens; nodes that go then, too, are no work."""
    events = [reserved(0, "default/a", "cq", 8), pod(0, "x", "np-0"), gone(10, "x", node_pool="np-0")]
    ended = [*events, says(10, "released"), says(10, "warned"), Event(60, "poolShrank", node_pool="np-0")]
    running = [*ended, pod(12, "y", "np-0")]
    found = {
        name: [
            usage.utilisation(100)
            for usage in (*by_queue(told, {"cq": 8}), *by_pool(told, {"np": 4}, {"np-0": "np"}, {}))
        ]
        for name, told in {"ended": ended, "running": running}.items()
    }

    assert {"ended": [1.0, 1.0], "running": [0.1, 0.98]} == found


def test_pool_uses_the_chips_of_its_pods() -> None:
    """Growing pools also tell how many chips there are."""
    events = [
        Event(1, "poolGrew", node_pool="np-0", chips=8),
        pod(2, "x", "np-0"),
        pod(2, "y", "np-0"),
        pod(2, "z", "elsewhere"),
        gone(5, "x", node_pool="np-0"),
        Event(6, "poolShrank", node_pool="np-0", chips=8),
        Event(6, "poolGrew", node_pool="np-9", chips=8),
        says(7, "finished"),
    ]
    pools = {"np-0": "growing", "np-9": "standing"}
    found = by_pool(events, {"growing": 8, "standing": 8}, pools, {"growing": 0})

    assert found == (
        Usage("growing", 8, ((0.0, 0), (2, 8), (5, 4)), ((0.0, 0), (1, 8), (6, 0))),
        Usage("standing", 8, ((0.0, 0),)),
    )
