"""Faults against a cluster that does not do what they ask for, and what that means for the end."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from slicewright.cluster.api.api_error import ApiError
from slicewright.kubernetes.types import Object
from slicewright.rehearse.event_log import Clock, EventLog, Timers
from slicewright.rehearse.fault_injection import Injector
from slicewright.rehearse.fault_kinds import arriving_runs
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.model.event import run_key
from slicewright.rehearse.model.run_pods import gangs
from slicewright.rehearse.model.scenario_part import ScenarioPart
from slicewright.rehearse.time_control import Termination

from .kit import SPEC, jobset, part_of, replicated_job

RUN = "default/a"
NOW = ClockSettings(speed=1.0, deadline=60.0, delay=0.0, idle=0.0)


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


class Setup:
    """A setup and its API: one pod, on a node that can be closed and, if it is told so, not opened again."""

    def __init__(self, phase: str, *, opens: bool = True, owner: str = "ours") -> None:
        self.phase = phase
        self.opens = opens
        self.owner = owner
        self.done: list[str] = []
        self.api = self
        self.evict = self.create

    def list(self, *_: str, labels: str = "") -> list[Object]:
        """Return the pod of the run."""
        assert labels.rpartition("=")[2] in ("", "a")
        return [pod(self.phase)]

    def get(self, _version: str, kind: str, name: str) -> Object:
        """Return the node."""
        return {"kind": kind, "metadata": {"name": name, "labels": {"owner": self.owner}}}

    def is_ours(self, item: Object) -> bool:
        """Tell whose node it is."""
        return bool(item["metadata"]["labels"]["owner"] == "ours")

    def each(self, verb: Callable[[Object], object], items: Iterable[Object]) -> None:
        """Do something with some objects."""
        for item in items:
            verb(item)

    def delete(self, item: Object) -> None:
        """Delete an object."""
        self.done.append(f"delete {item['metadata']['name']}")

    def patch(self, item: Object, change: Object, *, subresource: str = "") -> None:
        """Change a node or a pod."""
        self.done.append(f"patch {item['metadata']['name']}")
        assert subresource == ""
        if change == {"spec": {"unschedulable": None}} and not self.opens:
            raise ApiError(500, {"reason": "InternalError", "message": "storage is busy"})

    def create(self, item: Object) -> None:
        """Take in what is to be made."""


def problems_after(part: ScenarioPart, setup: Any, *outcomes: str) -> list[tuple[str, str]]:
    """Let a run start, and all faults strike and end; return severities and messages of what went wrong."""
    faults, _ = played(part, setup, *outcomes)
    return [(problem.severity, problem.message) for problem in faults.problems()]


def played(part: ScenarioPart, setup: Any, *outcomes: str) -> tuple[Injector, EventLog]:
    """Let a run start, and all faults strike and end."""
    faults, event_log, timers = prepared(part, setup)
    faults.schedule()
    faults.schedule()
    for outcome in outcomes:
        kind: Any = outcome
        event_log.note(kind, RUN)
    while timers.next < timers.now() + 1.0:
        timers.do_what_is_due()
    return faults, event_log


def prepared(part: ScenarioPart, setup: Any) -> tuple[Injector, EventLog, Timers]:
    """Let a run start."""
    clock = Clock(1.0)
    runs = [run_key(item) for item in part.runs]
    event_log = EventLog(clock, dict.fromkeys(runs, 0), ())
    timers = Timers(clock)
    coming = arriving_runs([part])
    faults = Injector(setup, event_log, timers, [part], coming)
    for run in runs:
        event_log.note("submitted", run)
        event_log.note("admitted", run)
    return faults, event_log, timers


def test_fault_that_finds_its_pods_at_an_end_is_late() -> None:
    """The run had done its work before, whether or not that has been seen."""
    part = part_of("faults: [{kind: ContainerFailure, at: 0s}]")
    message = "the ContainerFailure at 0s did not happen:"

    assert [] == problems_after(part, Setup("Running"))
    assert [("warning", f"{message} the pods of slice 0, host 0 had ended")] == problems_after(
        part, Setup("Succeeded")
    )
    assert [("error", f"{message} no pod of slice 0, host 0 was running")] == problems_after(
        part, Setup("Pending")
    )
    assert [("warning", f"{message} no pod of slice 0, host 0 was running")] == problems_after(
        part, Setup("Failed"), "finished"
    )


def test_each_fault_is_kept_with_what_became_of_it() -> None:
    """For the report: one that struck, one that found no pod, one whose time did not come."""
    part = part_of("faults: [{kind: ContainerFailure, at: 0s}, {kind: ContainerFailure, at: 1h}]")
    what = "slice 0, host 0, exit code 1"
    late = f"ContainerFailure 1h00m after the start ({what}) did not happen: the rehearsal ended before"
    told = {
        phase: [one.describe() for one in faults.injected(event_log.timelines.close(1.0))]
        for phase in ("Running", "Pending")
        for faults, event_log in (played(part, Setup(phase)),)
    }

    assert {
        "Running": [f"ContainerFailure at 0.0s: {what}", late],
        "Pending": [
            f"ContainerFailure at 0.0s ({what}) did not happen: no pod of slice 0, host 0 was running",
            late,
        ],
    } == told


def test_fault_whose_time_has_not_come_is_told_at_the_end() -> None:
    """The rehearsal ended at its deadline, or because nothing more could happen."""
    part = part_of("faults: [{kind: ContainerFailure, at: 1h}]")

    assert [
        ("error", "the ContainerFailure at 1h did not happen: the rehearsal ended before")
    ] == problems_after(part, Setup("Running"))


@pytest.mark.parametrize("kind", ["ContainerFailure", "HostFailure", "SliceLoss", "Maintenance"])
def test_fault_leaves_nodes_of_others_alone(kind: str) -> None:
    """On a cluster that runs already a node may be somebody else's: nothing is done, and that is told."""
    setup = Setup("Running", owner="theirs")

    assert [
        ("error", f"the {kind} at 0s did not happen: node n0 does not belong to this rehearsal")
    ] == problems_after(part_of(f"faults: [{{kind: {kind}, at: 0s}}]"), setup)
    assert [] == setup.done


class Nodes(Setup):
    """A setup whose pod is on a node pool of two nodes and one of somebody else; one comes back by itself."""

    def __init__(self) -> None:
        super().__init__("Running")
        self.made: list[str] = []

    def get(self, _version: str, kind: str, name: str) -> Object:
        """Return a node."""
        owner = "theirs" if name == "n2" else "ours"
        labels = {"owner": owner, "cloud.google.com/gke-nodepool": "np-0"}
        capacity = {"google.com/tpu": "4"}
        return {
            "kind": kind,
            "metadata": {"name": name, "labels": labels},
            "spec": {},
            "status": {"capacity": capacity},
        }

    def list(self, *of: str, labels: str = "") -> list[Object]:
        """Return the nodes, or the pod."""
        if of[1] == "Pod":
            return [pod("Running")]
        assert "cloud.google.com/gke-nodepool=np-0" == labels
        return [self.get("v1", "Node", name) for name in ("n0", "n1", "n2")]

    def patch(self, item: Object, change: Object, *, subresource: str = "") -> None:
        """Let the pod fail."""
        assert ("status", "Failed", "a-0") == (
            subresource,
            change["status"]["phase"],
            item["metadata"]["name"],
        )

    def create(self, item: Object) -> None:
        """Make a node again; another one has done so with the second."""
        if item["metadata"]["name"] == "n1":
            raise ApiError(409, {"reason": "AlreadyExists"})
        self.made.append(item["metadata"]["name"])


def test_lost_slice_is_all_of_its_nodes_that_are_ours() -> None:
    """They go and come back, and how many chips that were is told of the pool."""
    setup = Nodes()
    faults, event_log = played(part_of("faults: [{kind: SliceLoss, at: 0s, duration: 0s}]"), setup)
    pools = [
        (event.kind, event.node_pool, event.chips, event.text)
        for event in event_log.so_far()
        if event.kind.startswith("pool")
    ]

    assert ([], ["delete n0", "delete n1", "delete a-0"], ["n0"]) == (
        faults.problems(),
        setup.done,
        setup.made,
    )
    assert [("poolShrank", "np-0", 8, "2 nodes lost"), ("poolGrew", "np-0", 4, "1 node back")] == pools


def test_end_of_a_fault_that_is_refused_is_told_and_ends_nothing() -> None:
    """The play goes on to its report: a host that stays closed is no reason to break off."""
    part = part_of("faults: [{kind: Maintenance, at: 0s, duration: 0s}]")

    assert [] == problems_after(part, Setup("Running"))
    assert [
        ("error", "the Maintenance at 0s stopped halfway: 500 InternalError: storage is busy")
    ] == problems_after(part, Setup("Running", opens=False))


def test_run_that_was_kept_from_earlier_is_not_held_to_the_block() -> None:
    """It may be of another shape: what it missed is in the log."""
    part = part_of("faults: [{kind: ContainerFailure, at: 0s}]", jobset("a"), name="b")

    assert [] == problems_after(part, Setup("Pending"))


def test_arrival_has_a_name_that_nothing_else_has() -> None:
    """A workload, or what stands beside it, may be called as an arrival."""
    service = {"kind": "Service", "metadata": {"name": "arrival-2", "namespace": "default"}}
    fault = "faults: [{kind: HigherPriorityArrival, at: 5s, workloadPriorityClassName: high}]"
    parts = [part_of(fault), part_of("", jobset("arrival-1"), service, name="b")]

    assert ["arrival-3"] == [item["metadata"]["name"] for item in arriving_runs(parts).values()]


def test_fault_brings_one_arrival_where_earlier_runs_were_kept() -> None:
    """It is about the run that the file asks for now, and takes its queue."""
    fault = "faults: [{kind: HigherPriorityArrival, at: 0s, workloadPriorityClassName: high}]"
    setup = Setup("Running")
    earlier = part_of(fault, jobset("earlier"), jobset("a", queue="q"))

    assert {(RUN, 0): "q"} == {
        of: item["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
        for of, item in arriving_runs([earlier]).items()
    }
    assert [] == problems_after(earlier, setup)


def test_arrival_that_never_ran_is_warned_of() -> None:
    """It came, and what should follow from it has not been rehearsed."""
    part = part_of("faults: [{kind: HigherPriorityArrival, at: 5m, workloadPriorityClassName: high}]")
    coming = arriving_runs([part])
    clock = Clock(1.0)
    event_log = EventLog(clock, {RUN: 2, "default/arrival-1": 2}, ["default/arrival-1"])
    setup: Any = Setup("Running")
    faults = Injector(setup, event_log, Timers(clock), [part], coming)
    told = []
    for kind, facts in (("submitted", {}), ("waiting", {"text": "no quota"}), ("finished", {})):
        word: Any = kind
        event_log.note(word, "default/arrival-1", **facts)
        told.append([(problem.severity, problem.message) for problem in faults.problems()])

    assert told == [
        [("warning", "default/arrival-1 arrived at 5m and never ran")],
        [("warning", "default/arrival-1 arrived at 5m and never ran: Kueue: no quota")],
        [],
    ]


def test_arrivals_are_numbered_over_all_runs() -> None:
    """Each has the pods of its slices, and a name that no other has."""
    one = "{kind: HigherPriorityArrival, at: 5s, workloadPriorityClassName: high, duration: 1m, slices: 2}"
    found = arriving_runs([part_of(f"faults: [{one}, {one}]"), part_of(f"faults: [{one}]", name="b")])

    assert {(RUN, 0): "arrival-1", (RUN, 1): "arrival-2", ("default/b", 0): "arrival-3"} == {
        key: item["metadata"]["name"] for key, item in found.items()
    }
    assert [4, 4, 4] == [gangs(item).all_tpu_pods for item in found.values()]


class Idle:
    """An autoscaler that does nothing."""

    is_busy = has_nodes = False


def test_rehearsal_waits_for_the_quota_of_what_is_over() -> None:
    """Else a queue would seem to be in use at the end; where Kueue stays silent it does not block."""
    clock = Clock(1.0)
    event_log = EventLog(clock, {RUN: 2}, [RUN])
    idle: Any = Idle()
    termination = Termination(event_log, clock, NOW, [part_of()])
    ended = []
    for kind in ("submitted", "reserved", "finished", "released"):
        word: Any = kind
        event_log.note(word, RUN)
        ended.append(termination.has_come(Timers(clock), idle))
        if kind == "finished":
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(event_log, "quiet_seconds", lambda: 6.0)
                ended.append(termination.has_come(Timers(clock), idle))

    assert [False, False, False, True, True] == ended


def test_rehearsal_waits_for_the_head_of_a_headless_pathways() -> None:
    """Workers that run serve nobody without it, and a job beside them has to run too."""
    head = replicated_job("pathways-head", chips=0, pods=1)
    beside = replicated_job("board", chips=0, pods=1)
    part = part_of("", jobset("a", head, replicated_job("worker", pods=1), beside))
    clock = Clock(1.0)
    event_log = EventLog(clock, {RUN: 1}, ())
    idle: Any = Idle()
    termination = Termination(event_log, clock, NOW, [part])
    ended = []
    for chips, job in ((0, ""), (4, "worker/0"), (0, "pathways-head/0"), (0, "board/0")):
        if job:
            event_log.note("podStarted", RUN, pod=job, chips=chips, job=job)
        else:
            event_log.note("submitted", RUN)
        ended.append(termination.has_come(Timers(clock), idle))

    assert [False, False, False, True] == ended


def has_ended(*told: tuple[str, str], time: ClockSettings = NOW) -> bool:
    """Tell whether a rehearsal of default/a, to which default/arrival-1 may come, has ended."""
    clock = Clock(1.0)
    event_log = EventLog(clock, {RUN: 2, "default/arrival-1": 2}, ())
    for kind, run in told:
        word: Any = kind
        event_log.note(word, run)
    idle: Any = Idle()
    return Termination(event_log, clock, time, [part_of()]).has_come(Timers(clock), idle)


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
    late = ClockSettings(speed=1.0, deadline=0.0, delay=0.0, idle=0.0)

    assert [False, True] == [has_ended(), has_ended(time=late)]


def test_rehearsal_ends_at_the_deadline_of_real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten minutes, where nobody says how long it may last on its own clock."""
    monkeypatch.setattr(Clock, "elapsed", lambda _: 599.0)
    before = has_ended(time=ClockSettings(speed=1.0, deadline=math.inf, delay=0.0, idle=0.0))
    monkeypatch.setattr(Clock, "elapsed", lambda _: 600.0)

    assert [False, True] == [
        before,
        has_ended(time=ClockSettings(speed=1.0, deadline=math.inf, delay=0.0, idle=0.0)),
    ]


def test_repair_of_one_host_takes_its_slice() -> None:
    """GKE restarts all hosts of a slice that loses one; a slice of one host is that host alone."""
    several, one = Nodes(), Nodes()
    repair = "faults: [{kind: NodeRepair, at: 0s, duration: 0s}]"
    played(part_of(repair), several)
    played(part_of(repair, spec=SPEC.replace("v5litepod-8", "v5litepod-4")), one)

    assert (["delete n0", "delete n1", "delete a-0"], ["delete n0", "delete a-0"]) == (several.done, one.done)


def test_maintenance_of_a_node_pool_evicts_after_its_notice() -> None:
    """All hosts of the slice that are ours take no new pods from the notice on, until its end."""
    done: list[str] = []

    class Pool(Nodes):
        def patch(self, item: Object, change: Object, *, subresource: str = "") -> None:
            done.append(f"{item['metadata']['name']} {change['spec']['unschedulable']}{subresource}")

    setup = Pool()
    setup.evict = lambda item: done.append(f"evict {item['metadata']['name']}")
    fault = "{kind: Maintenance, at: 0s, scope: NodePool, notice: 10ms, duration: 0s}"
    played(part_of(f"faults: [{fault}]"), setup)

    assert ["n0 True", "n1 True", "evict a-0", "n0 None", "n1 None"] == done


def test_failure_of_several_starts_happens_again_after_each_restart() -> None:
    """It counts its time from the moment at which the run is complete again, until its last start."""
    setup = Setup("Running")
    part = part_of("faults: [{kind: ContainerFailure, at: 0s, times: 2}]")
    faults, event_log, timers = prepared(part, setup)
    done: list[int] = []
    for attempt in range(4):
        faults.schedule()
        timers.do_what_is_due()
        faults.schedule()
        timers.do_what_is_due()
        done.append(len(setup.done))
        event_log.note("restarted", RUN, attempt=attempt + 1)
        event_log.note("podStarted", RUN, pod=f"a-{attempt}", job="slice/0", attempt=attempt + 1)

    assert [1, 2, 2, 2] == done
    assert ["ContainerFailure at 0.0s: slice 0, host 0, exit code 1, in the first 2 starts"] == [
        fault.describe() for fault in faults.injected({})
    ]
