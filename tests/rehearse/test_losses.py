"""A rate and a seed become the same losses of slices everywhere; they happen on the rehearsal's clock."""

import math
from collections.abc import Callable, Iterable
from itertools import islice
from statistics import fmean
from typing import Any

import pytest
from tests.rendering.platform import kit as platform
from tests.words import places

from slicewright.kubernetes.types import Object
from slicewright.rehearse.event_log import Clock, EventLog, Timers
from slicewright.rehearse.model.losses import Losses, losses_of, validate_losses
from slicewright.rehearse.slice_losses import SliceLosses
from slicewright.testbed.nodes import Capacity, NodePool

HOUR = 3600.0
SPOT = Losses("spot", "8/d", "40m", 1)
RUN = "default/a"
SLICE = {"jobset.sigs.k8s.io/jobset-name": "a", "jobset.sigs.k8s.io/job-index": "1"}


def moments(losses: Losses, number: int = 3, *, index: int = 0) -> list[tuple[float, float]]:
    """Return when a slice is lost first, and when it returns."""
    return list(islice(losses.of_slice(index), number))


def test_seed_gives_the_same_losses_on_every_machine() -> None:
    """The values are written out: no version of Python and no processor may change them."""
    assert [(18824.528, 21224.528), (27793.763, 30193.763), (35666.614, 38066.614)] == moments(SPOT)


def test_each_slice_and_each_repetition_has_its_own_losses() -> None:
    """With --repeat the second repetition has seed + 1, and equals the first one of a file with that seed."""
    entry = {"pool": "spot", "rate": "8/d", "duration": "40m"}
    spec = {"rehearsal": {"losses": [entry, {**entry, "seed": 7}]}}

    assert [(1, 7), (3, 9)] == [
        tuple(losses.seed for losses in losses_of(spec, repetition)) for repetition in (0, 2)
    ]
    assert 3 == len({tuple(moments(SPOT, index=index)) for index in range(3)})


def test_variant_has_the_luck_of_its_base() -> None:
    """At half the rate each slice exists twice as long, and is away as long as before."""
    spans = []
    for losses in (SPOT, Losses("spot", "4/d", "40m", 1)):
        found = moments(losses)
        starts = [0.0, *(back for _, back in found)]
        spans.append([lost - since for since, (lost, _) in zip(starts, found, strict=False)])

    assert [pytest.approx(2 * span, abs=0.01) for span in spans[0]] == spans[1]
    assert [pytest.approx(2400.0, abs=0.01)] * 3 == [back - lost for lost, back in moments(SPOT)]


def test_slices_exist_and_are_away_as_long_as_written() -> None:
    """The means of a thousand losses are within 10 % of the file; at a rate of 0 no slice is lost."""
    found = moments(Losses("spot", "8/d", {"exponential": {"mean": "40m"}}, 1), 1000)

    assert pytest.approx(1000 * 3.667 * HOUR, rel=0.1) == found[-1][1]
    assert pytest.approx(2400.0, rel=0.1) == fmean(back - lost for lost, back in found)
    assert [(math.inf, math.inf)] == moments(Losses("spot", "0/d", "40m", 1), 1)


def test_losses_that_cannot_be_used_are_told() -> None:
    """A problem names an unknown pool, one without TPUs, a second entry, and an impossible distribution."""
    site = platform.site(
        """
        pools: [{name: spot, tpu: v5litepod-8}, {name: cpu, machineType: n2-standard-8}]
        rehearsal:
          losses:
          - {pool: spott, rate: 1/d, duration: 1h}
          - {pool: cpu, rate: 1/d, duration: 1h}
          - {pool: spot, rate: 1/d, duration: {uniform: {min: 2h, max: 1h}}}
          - {pool: spot, rate: 1/d, duration: 1h}
        """
    )
    problems = list(validate_losses(site))

    assert (
        "clusters/c1.yaml:10:14: REH027\n"
        "clusters/c1.yaml:11:14: REH027\n"
        "clusters/c1.yaml:12:57: REH027\n"
        "clusters/c1.yaml:13:14: REH027\n"
    ) == places("".join(f"{problem.text()}\n" for problem in problems))


class Setup:
    """A setup and its API: two nodes of the node pools spot-0 and spot-1, and a pod on the second."""

    def __init__(self) -> None:
        self.api = self
        self.nodes = {f"spot-{index}": [node(index)] for index in range(2)}
        labels = {**SLICE, "kueue.x-k8s.io/queue-name": "q"}
        self.pods = [
            {
                "metadata": {"name": "a-0", "namespace": "default", "labels": labels},
                "spec": {"nodeName": "n1"},
                "status": {"phase": "Running"},
            }
        ]
        self.done: list[str] = []

    def list(self, _version: str, kind: str, labels: str = "") -> list[Object]:
        """Return the pods, or the nodes of a node pool."""
        return self.nodes[labels.rpartition("=")[2]] if kind == "Node" else self.pods

    def is_ours(self, _item: Object) -> bool:
        """Tell that everything is."""
        return True

    def each(self, verb: Callable[[Object], object], items: Iterable[Object]) -> None:
        """Do something with some objects."""
        for item in items:
            verb(item)

    def delete(self, item: Object) -> None:
        """Delete an object."""
        self.done.append(f"delete {item['metadata']['name']}")

    def patch(self, item: Object, _change: Object, *, subresource: str = "") -> None:
        """Fail a pod."""
        self.done.append(f"patch {item['metadata']['name']} {subresource}")

    def create(self, item: Object) -> None:
        """Make a node."""
        self.done.append(f"create {item['metadata']['name']}")


def node(index: int) -> Object:
    """Return a node with four chips."""
    labels = {"cloud.google.com/gke-nodepool": f"spot-{index}"}
    return {
        "metadata": {"name": f"n{index}", "labels": labels},
        "spec": {},
        "status": {"capacity": {"google.com/tpu": "4"}},
    }


class Scene:
    """Losses of the two slices of a pool, without a cluster."""

    def __init__(self, *losses: Losses) -> None:
        self.clock = Clock(1.0)
        self.timers = Timers(self.clock)
        self.event_log = EventLog(self.clock, {RUN: 1}, ())
        setup: Any = Setup()
        self.done: list[str] = setup.done
        slices = tuple(NodePool(f"spot-{index}", "spot", (node(index),), queued=False) for index in range(2))
        room = Capacity(slices[:1], slices[1:])
        self.losses = SliceLosses(setup, self.event_log, self.timers, room, losses)

    def go_to(self, moment: float) -> None:
        """Let everything happen until a moment."""
        self.clock.skip_to(moment)
        self.timers.do_what_is_due()


def test_slice_is_lost_and_returns_and_the_run_on_it_is_known() -> None:
    """The nodes are deleted, the pods on them fail, and after some time the nodes exist again."""
    scene = Scene(SPOT)
    (first, back), *_ = moments(SPOT, index=1)
    others = [at for at in moments(SPOT)[0] if at < back + 1]
    scene.go_to(first + 1)
    away = set(scene.losses.away)
    scene.go_to(back + 1)

    assert "spot-1" in away
    assert {"delete n1", "patch a-0 status", "delete a-0", "create n1"} <= {*scene.done}
    assert [(RUN, first, "slice 1, for 40m00s")] == [
        (hit.run, hit.at, str(hit.fault)) for hit in scene.losses.hits
    ]
    assert [
        {
            "pool": "spot",
            "rate": "8/d",
            "seed": 1,
            "losses": 1 + bool(others),
            "awaySeconds": pytest.approx(2400.0 + (others[1] - others[0] if len(others) > 1 else 0)),
        }
    ] == [{**row} for row in scene.losses.record(back)]


def test_losses_wait_while_they_can_change_nothing() -> None:
    """A rehearsal whose runs are stuck must end; a run that waits for a slice is not stuck."""
    scene = Scene(SPOT)
    held = []

    def look(*, is_busy: bool = False) -> None:
        scene.losses.hold(is_busy=is_busy)
        held.append((scene.timers.is_held, scene.timers.is_empty))

    look()
    look(is_busy=True)
    scene.timers.at(math.inf, lambda: None)
    look()
    scene.timers._entries.clear()
    scene.event_log.note("submitted", RUN)
    look()
    scene.losses.away.add("spot-0")
    look()

    assert [(True, True), (False, False), (False, False), (True, True), (False, False)] == held


def test_cluster_without_losses_loses_nothing() -> None:
    """The field is optional, and a pool that it does not name keeps its slices."""
    assert () == losses_of({})
    assert math.inf == Scene(Losses("other", "8/d", "40m", 1)).timers.next
