"""Rehearsals for the page's tests: events by hand, told by the code that tells real ones."""

from typing import Any

from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.event import Event, Kind
from slicewright.rehearse.model.metrics import by_pool, by_queue
from slicewright.rehearse.model.timeline import Timelines
from slicewright.rehearse.report.report import Report

_NO_QUOTA = "couldn't assign flavors to pod set slice: insufficient unused quota for google.com/tpu, "


class Play:
    """Events of a rehearsal, written as the things that runs do."""

    def __init__(self, pods: dict[str, int]) -> None:
        """Begin with what each run has of TPU pods."""
        self.pods = pods
        self.events: list[Event] = []
        self._starts: dict[str, int] = {}

    def note(self, at: float, kind: Kind, run: str = "", **more: Any) -> None:
        """Write an event down."""
        self.events.append(Event(at, kind, run, **more))

    def admit(self, at: float, run: str, queue: str, chips: int, check: float = 0.0) -> None:
        """Let Kueue reserve quota, and admit after what an admission check takes."""
        self.note(at, "reserved", run, queue=queue, flavors=(("v5e-2x4", chips),))
        self.note(at + check, "admitted", run)

    def start(self, at: float, run: str, pools: list[str], *, attempt: int = 0, spread: float = 1.5) -> None:
        """Let all pods of a run start, two a slice, each slice on a node pool."""
        for number in range(self.pods[run]):
            self._pod(at + spread * (number % 2), "podStarted", run, pools, number, attempt)

    def end(
        self, at: float, run: str, pools: list[str], *, attempt: int = 0, reason: str = "Succeeded"
    ) -> None:
        """Let all pods of a run end."""
        for number in range(self.pods[run]):
            self._pod(at, "podEnded", run, pools, number, attempt, reason)

    def finish(self, at: float, run: str) -> None:
        """Let a run finish and give its quota back."""
        self.note(at, "finished", run, reason="AllJobsCompleted", text="jobset completed successfully")
        self.note(at, "released", run, reason="Finished")

    def record(self, cluster: str, end: float, **more: Any) -> Object:
        """Return the JSON record, as `Report` writes it."""
        events = sorted(self.events, key=lambda event: event.at)
        timelines = Timelines(self.pods, self.pods)
        for event in events:
            timelines.add(event)
        told = timelines.close(end)
        of_pool = {event.node_pool: event.node_pool.rstrip("0123456789") for event in events}
        growing = more.pop("growing", {})
        report = Report(
            cluster=cluster,
            speed=more.pop("speed", 60.0),
            seconds=end,
            interrupted=more.pop("interrupted", False),
            operator=more.pop("operator", ""),
            timelines=tuple((run.rpartition("-r")[0] or run, timeline) for run, timeline in told.items()),
            queues=by_queue(events, more["quotas"]),
            nominal={queue: {"v5e-2x4": chips} for queue, chips in more.pop("quotas").items()},
            pools=by_pool(events, more.pop("chips"), of_pool, growing),
            events=tuple(events),
            problems=more.pop("problems", ()),
            never_fits=more.pop("never_fits", {}),
        )
        return report.record()

    def _pod(
        self, at: float, kind: Kind, run: str, pools: list[str], number: int, attempt: int, reason: str = ""
    ) -> None:
        index = number // 2
        self.note(
            at,
            kind,
            run,
            reason=reason,
            pod=self._named(kind, f"{run.split('/')[1]}-slice-{index}-{number % 2}"),
            node_pool=pools[index],
            chips=4,
            job=f"slice/{index}",
            job_uid=f"{run}-{index}-{attempt}",
            attempt=attempt,
        )

    def _named(self, kind: Kind, stem: str) -> str:
        """Return the name of a pod: another one each time that it starts."""
        self._starts[stem] = self._starts.get(stem, 0) + (kind == "podStarted")
        return f"{stem}-{self._starts[stem]}"


def eventful() -> Object:
    """Return teams that borrow, an eviction, faults, a restart, a growing pool, runs that never ran."""
    fine, base, night = "research/sweep-r01", "research/base-model", "prod/nightly"
    flex, big, refused, late = "prod/flex", "research/too-big", "prod/bad-name", "prod/late"
    play = Play({base: 6, night: 4, fine: 2, flex: 2, big: 8, refused: 2, late: 2})
    a, b = "research-cq", "prod-cq"
    for at, run in ((0.0, base), (120.0, fine), (300.0, night), (480.0, flex), (600.0, big)):
        play.note(at, "submitted", run)
    play.admit(12.0, base, a, 24)
    play.start(60.0, base, ["v5e1", "v5e2", "v5e3"])
    play.admit(131.0, fine, a, 8)
    play.note(140.0, "warned", fine, reason="FailedCreate", text='webhook "vpod.kb.io" denied the request')
    play.start(180.0, fine, ["v5e4"])
    play.note(310.0, "waiting", night, reason="Pending", text=f"{_NO_QUOTA}16 more needed")
    text = "Preempted to accommodate a workload (UID: 7c1e) due to reclamation within the cohort"
    play.note(420.0, "evicted", base, reason="Preempted", text=text)
    play.end(430.0, base, ["v5e1", "v5e2", "v5e3"], reason="Deleted")
    play.admit(440.0, night, b, 16)
    play.start(490.0, night, ["v5e1", "v5e2"])
    play.admit(500.0, flex, b, 8, check=420.0)
    play.note(900.0, "poolGrew", node_pool="flex1", chips=8, text="2 nodes")
    play.start(960.0, flex, ["flex1"])
    play.note(610.0, "waiting", big, reason="Pending", text=f"{_NO_QUOTA}32 more needed")
    text = 'admission webhook "vjobset.kb.io" denied the request: metadata.name: <b>too long</b>'
    play.note(700.0, "submitted", refused)
    play.note(700.0, "refused", refused, text=text)
    play.note(720.0, "fault", night, reason="HostFailure", text="nightly-slice-1-0-0")
    play.end(722.0, night, ["v5e1", "v5e2"], reason="Failed")
    play.note(735.0, "restarted", night, attempt=1)
    play.start(800.0, night, ["v5e1", "v5e2"], attempt=1)
    play.end(1080.0, fine, ["v5e4"])
    play.finish(1090.0, fine)
    play.note(1100.0, "fault", night, reason="ContainerFailure", text="nightly-slice-0-0-1")
    play.end(1101.0, night, ["v5e1", "v5e2"], attempt=1, reason="Failed")
    play.note(
        1110.0, "failed", night, reason="FailedJobs", text="jobset failed due to one or more failed jobs"
    )
    play.note(1110.0, "released", night, reason="Finished")
    play.admit(1120.0, base, a, 24)
    play.start(1170.0, base, ["v5e1", "v5e2", "v5e3"])
    play.end(1500.0, flex, ["flex1"])
    play.finish(1506.0, flex)
    play.note(1680.0, "poolShrank", node_pool="flex1", chips=8, text="2 nodes, idle")
    play.end(1980.0, base, ["v5e1", "v5e2", "v5e3"])
    play.finish(1990.0, base)
    problems = (
        Problem(
            "REH001",
            f"{big} was still waiting at the end",
            f"Kueue: {_NO_QUOTA}32 more needed",
            file="workloads/too-big.yaml",
            line=4,
            column=9,
            path=("metadata", "name"),
            object=f"TPUWorkload {big}",
        ),
        Problem(
            "REH003",
            f"{refused} was refused: {text}",
            "slicewright validate shows the reasons without a cluster",
            file="workloads/bad.yaml",
            line=6,
            path=("spec",),
            object=f"TPUWorkload {refused}",
        ),
        Problem(
            "REH001",
            f"{night} failed",
            "jobset failed due to one or more failed jobs",
            object=f"TPUWorkload {night}",
        ),
        Problem("REH004", "'late' did not start", severity="warning", path=("spec", "rehearsal")),
    )
    return play.record(
        "teams",
        2040.0,
        quotas={a: 24, b: 16},
        chips={"v5e": 32, "flex": 16},
        growing={"flex": 0},
        problems=problems,
        operator="simulated operator of the test bed",
        never_fits={big: "FIT102 32 chips are asked, and the queues can give 24 at most"},
    )


def calm() -> Object:
    """Return one run that waits a little and finishes, at the speed of real time."""
    play = Play({"default/demo-r01": 2, "default/next": 2})
    for at, run in ((0.0, "default/demo-r01"), (2.0, "default/next")):
        play.note(at, "submitted", run)
    play.admit(1.6, "default/demo-r01", "queue", 8)
    play.start(4.0, "default/demo-r01", ["nodepool1"])
    play.end(60.0, "default/demo-r01", ["nodepool1"])
    play.finish(61.0, "default/demo-r01")
    play.admit(61.5, "default/next", "queue", 8)
    play.start(64.0, "default/next", ["nodepool1"])
    play.end(118.0, "default/next", ["nodepool1"])
    play.finish(119.0, "default/next")
    return play.record("calm", 120.0, quotas={"queue": 8}, chips={"nodepool": 8}, speed=1.0)


def large(runs: int = 100, events: int = 4000) -> Object:
    """Return many runs over days, which wait for one another, with about as many events as asked."""
    names = [f"team-{index % 7}/a-rather-long-workload-name-{index:03}" for index in range(runs)]
    play = Play(dict.fromkeys(names, 16))
    waits = max(0, events // runs - 36)
    for index, run in enumerate(names):
        at, lane = index * 1800.0, index % 6
        pools = [f"v5p-pool{lane * 8 + piece}" for piece in range(8)]
        begin = (index // 6) * 12_000.0 + 2000.0 * lane + 600.0
        play.note(min(at, begin - 300.0), "submitted", run)
        for number in range(waits):
            text = f"{_NO_QUOTA}{number * 8 + 8} more needed"
            play.note(begin - 200.0 + number, "waiting", run, reason="Pending", text=text)
        play.admit(begin, run, f"queue-{index % 2}", 64)
        play.start(begin + 200.0, run, pools)
        play.end(begin + 11_000.0, run, pools)
        play.finish(begin + 11_300.0, run)
    end = max(event.at for event in play.events) + 60.0
    return play.record("large", end, quotas={"queue-0": 192, "queue-1": 192}, chips={"v5p-pool": 384})
