"""A rehearsal as one record: what every form of its report is written from."""

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from slicewright.kubernetes.problem import Problem, counted, errors
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model import metrics
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.expectation import Answer
from slicewright.rehearse.model.metrics import Nominal, Steps, Usage
from slicewright.rehearse.model.prices import PoolPrices, cost
from slicewright.rehearse.model.run_pods import Spent
from slicewright.rehearse.model.scenario_part import Ties
from slicewright.rehearse.model.scenario_problems import Injected
from slicewright.rehearse.model.surroundings import Need
from slicewright.rehearse.model.time_span import shown_within
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rehearse.model.waits import Wait
from slicewright.rehearse.report import sentences

NO_TIES = Ties()


def on_what(has_pods: bool) -> str:
    """Return which parts of a rehearsal were real, in words."""
    if has_pods:
        return "on the real JobSet, Kueue and scheduler, with simulated TPU nodes"
    return "on the real JobSet and Kueue, without pods: only the chips of nodes were counted"


class Report(Struct, frozen=True):
    """The results of a rehearsal. All times are seconds of its clock, from its start."""

    cluster: str
    speed: float
    """Seconds of the rehearsal's clock in a second of real time."""
    seconds: float
    interrupted: bool
    operator: str = ""
    """What reconciled the PathwaysJobs; empty if there were none."""
    timelines: tuple[tuple[str, Timeline], ...] = ()
    """(`namespace/name` of the workload, timeline of a run), in order of submission."""
    queues: tuple[Usage, ...] = ()
    pools: tuple[Usage, ...] = ()
    events: tuple[Event, ...] = ()
    problems: tuple[Problem, ...] = ()
    never_fits: Mapping[str, str] = field(default_factory=dict)
    """What the offline quota check says of runs that can never be admitted."""
    is_cut_short: bool = False
    """Whether it was interrupted, or failed, before its end."""
    faults: tuple[Injected, ...] = ()
    """The faults, injected or not."""
    losses: tuple[Object, ...] = ()
    """The random losses of each pool, in their JSON form."""
    takes: Mapping[str, float] = field(default_factory=dict)
    """The seconds from start to end that each run takes if nothing interrupts it."""
    advised: float = 0.0
    """The default speed; 0 if it is not known."""
    answers: Mapping[str, tuple[Answer, ...]] = field(default_factory=dict)
    """The results of the expectations of workloads, by their current runs."""
    sweeps: Mapping[str, str] = field(default_factory=dict)
    """The sweeps (`namespace/name`) of workloads that are entries of one."""
    ties: Mapping[str, Ties] = field(default_factory=dict)
    """Which runs chance makes equal, or orders, by run."""
    arriving: tuple[metrics.Arriving, ...] = ()
    """The arrival profiles, each with a queue that its runs use."""
    profile_of: Mapping[str, str] = field(default_factory=dict)
    """The profiles of the workloads (`namespace/name`) that arrive by one."""
    team_of: Mapping[str, str] = field(default_factory=dict)
    """The teams of namespaces, as the TPUCluster names them."""
    stand_ins: tuple[Need, ...] = ()
    """Stand-ins for objects that the TPUCluster lists as existing."""
    nominal: Nominal = field(default_factory=dict)
    queue_of: Mapping[str, str] = field(default_factory=dict)
    """The ClusterQueue that each run asks for, also where it was never admitted."""
    pool_of: Mapping[str, str] = field(default_factory=dict)
    """The pool of each node pool."""
    spent: Mapping[tuple[str, str], Spent] = field(default_factory=dict)
    """How pods spent their time, where progress is tracked."""
    prices: PoolPrices | None = None
    """The prices of the pools, if the user gives prices."""

    waits: Mapping[str, tuple[Wait, ...]] = field(default_factory=dict)
    """Why runs waited, by run."""
    waiting: Mapping[str, Mapping[tuple[str, ...], Steps]] = field(default_factory=dict)
    """The chips that queued runs of each ClusterQueue wait for, by the flavors that may give them."""

    skipped: float = 0.0
    """How many of the seconds were skipped, because nothing happened in them."""
    has_pods: bool = True
    """Whether pods were objects, which a scheduler placed on nodes."""

    @property
    def passed(self) -> bool:
        """Whether there are no errors and no interruption."""
        return not errors(self.problems) and not self.interrupted

    @property
    def verdict(self) -> str:
        """Return the verdict in a word."""
        return "interrupted" if self.interrupted else "passed" if self.passed else "failed"

    @property
    def untold(self) -> int:
        """Return the number of expectations that the rehearsal cannot decide."""
        return sum(answer.result == "cannotTell" for own in self.answers.values() for answer in own)

    def delay(self, timeline: Timeline) -> float | None:
        """Return the seconds from the start of a run to its end beyond its duration and one startup."""
        start, end, takes = timeline.started, timeline.ended, self.takes.get(timeline.run)
        if timeline.outcome != "finished" or start is None or end is None or takes is None:
            return None
        return max(0.0, end - start - takes)

    def runs(self) -> list[Object]:
        """Return the JSON form of the runs."""
        timelines = {timeline.run: timeline for _, timeline in self.timelines}
        return [
            {
                **_timeline(workload, timeline, self.never_fits.get(timeline.run, "")),
                "delay": _rounded(self.delay(timeline)),
                "waits": [sentences.record(wait, timelines) for wait in self.waits.get(timeline.run, ())],
                "sweep": self.sweeps.get(workload, ""),
                "equal": self.ties.get(timeline.run, NO_TIES).equal,
                "unordered": self.ties.get(timeline.run, NO_TIES).unordered,
                "profile": self.profile_of.get(workload, ""),
                "team": self.team_of.get(timeline.run.partition("/")[0], ""),
                "expectations": [answer.record() for answer in self.answers.get(timeline.run, ())],
            }
            for workload, timeline in self.timelines
        ]

    def record(self) -> Object:
        """Return the JSON form (schemas/slicewright/rehearsal.json)."""
        return {
            "cluster": self.cluster,
            "verdict": self.verdict,
            "speed": round(self.speed, 3),
            "seconds": _rounded(self.seconds),
            "skipped": _rounded(self.skipped),
            "resolution": round(self.speed, 3),
            "pods": self.has_pods,
            "pathwaysOperator": self.operator,
            "standIns": [need.record() for need in self.stand_ins],
            "workloads": self.runs(),
            "queues": self.usage_of_queues(),
            "pools": [_usage(usage, self.seconds) for usage in self.pools],
            "events": [event.record() for event in self.events],
            "problems": [problem.record() for problem in self.problems],
            "summary": summary(self.timelines),
            "measures": self.measures(),
        }

    def usage_of_queues(self) -> list[Object]:
        """Return what each ClusterQueue used, what its runs waited for, and when it borrowed."""
        shares = metrics.borrowed_shares(self.events, self.nominal, self.seconds)
        return [
            {
                **_usage(usage, self.seconds),
                "waiting": [
                    {"flavors": list(flavors), "chips": _steps(steps)}
                    for flavors, steps in self.waiting.get(usage.name, {}).items()
                ],
                "borrowedTime": [
                    {"flavor": flavor, "share": round(share, 4)}
                    for flavor, share in shares.get(usage.name, {}).items()
                ],
            }
            for usage in self.queues
        ]

    def measures(self) -> Object:
        """Return the numbers by which rehearsals are compared."""
        timelines = [timeline for _, timeline in self.timelines]
        waits = metrics.queue_waits(timelines, self.queue_of)
        borrowed = metrics.borrowed_hours(self.events, self.nominal, self.seconds)
        hours = metrics.chip_hours(self.events, self.pools, self.pool_of, self.seconds, self.spent)
        return {
            "makespanSeconds": _rounded(metrics.makespan(timelines)),
            "chipHours": hours,
            "cost": cost(hours, self.prices) if self.prices else None,
            "queues": [
                {
                    "name": queue,
                    "runs": len(waits.get(queue, ())),
                    "neverAdmitted": sum(wait == math.inf for wait in waits.get(queue, ())),
                    **metrics.waits_record(waits.get(queue, ())),
                    "borrowedChipHours": [
                        {"flavor": flavor, "chipHours": round(hours, 3)} for flavor, hours in of_queue.items()
                    ],
                }
                for queue, of_queue in borrowed.items()
            ],
            "losses": list(self.losses),
            "arrivals": metrics.arrived(self.arriving, self.timelines, self.profile_of, self.queue_of),
        }


def waiting(queues: Iterable[Object]) -> list[Object]:
    """Return a name, and the chips that runs of a queue waited for over time, for each set of flavors."""
    return [
        {
            "name": f"{queue['name']}: {' or '.join(entry['flavors'])}",
            "limitChips": 0,
            "peakChips": max(chips for _, chips in entry["chips"]),
            "borrowedChips": 0,
            "there": [],
            "used": [[0.0, 0], *entry["chips"]],
        }
        for queue in queues
        for entry in queue["waiting"]
        if entry["chips"]
    ]


def borrowing(queue: Object) -> str:
    """Return for which share of the time a queue borrowed of each flavor: `v5e 40% of the time`."""
    shares = [entry for entry in queue["borrowedTime"] if entry["share"]]
    return ", ".join(f"{entry['flavor']} {entry['share']:.0%} of the time" for entry in shares)


def waits_text(row: Object, resolution: float, endless: str = "never") -> list[str]:
    """Return the median, the p95 and the longest wait of a row of `measures` as people read them."""
    waits = (row[f"{name}WaitSeconds"] for name in ("p50", "p95", "max"))
    return [endless if wait is None else shown_within(wait, resolution) for wait in waits]


def sweep_heads(runs: Iterable[Object]) -> dict[str, str]:
    """Return what to tell of each sweep, by the first of its runs, from the records of all runs."""
    sweeps: dict[str, list[Object]] = {}
    for run in runs:
        if sweep := run["sweep"]:
            sweeps.setdefault(sweep, []).append(run)
    heads = {}
    for sweep, own in sweeps.items():
        finished = sum(run["outcome"] == "finished" for run in own)
        times = [(run["admitted"], run["ended"]) for run in own if run["admitted"] is not None]
        at_once = (sum(start <= at and (end is None or at < end) for start, end in times) for at, _ in times)
        most = max(at_once, default=0)
        runs_of = f"{counted(len(own), 'run')}, {finished} finished, at most {most} at once"
        heads[own[0]["run"]] = f"{sweep}: {runs_of}"
    return heads


def summary(timelines: Iterable[tuple[str, Timeline]]) -> dict[str, int]:
    """Return how many runs there were, and how many ended how."""
    outcomes = ("finished", "failed", "refused", "waiting", "running", "notSubmitted")
    counts = dict.fromkeys(("runs", *outcomes, "evictions", "restarts"), 0)
    for _, timeline in timelines:
        counts["runs"] += 1
        counts[timeline.outcome] += 1
        counts["evictions"] += len(timeline.evictions)
        counts["restarts"] += timeline.restarts
    return counts


def _timeline(workload: str, timeline: Timeline, quota_check: str) -> Object:
    return {
        "workload": workload,
        "run": timeline.run,
        "outcome": timeline.outcome,
        "clusterQueue": timeline.queue,
        "submitted": _rounded(timeline.submitted),
        "admitted": _rounded(timeline.admitted),
        "started": _rounded(timeline.started),
        "ended": _rounded(timeline.ended),
        "wait": _rounded(timeline.wait),
        "restarts": timeline.restarts,
        "evictions": [
            {"at": _rounded(eviction.at), "reason": eviction.reason, "message": eviction.text}
            for eviction in timeline.evictions
        ],
        "states": [
            {"state": span.state, "start": _rounded(span.start), "end": _rounded(span.end)}
            for span in timeline.spans
        ],
        "slices": [
            {
                "job": piece.job,
                "attempt": piece.attempt,
                "start": _rounded(piece.start),
                "end": _rounded(piece.end),
                "nodePools": list(piece.node_pools),
                "pods": piece.pods,
                "exclusive": piece.exclusive,
            }
            for piece in timeline.slices
        ],
        "why": "" if timeline.outcome == "finished" else timeline.why,
        "quotaCheck": quota_check,
    }


def _usage(usage: Usage, end: float) -> Object:
    return {
        "name": usage.name,
        "limitChips": usage.limit,
        "peakChips": usage.peak(),
        "borrowedChips": usage.borrowed(),
        "utilisation": round(usage.utilisation(end), 4),
        "used": _steps(usage.used),
        "there": _steps(usage.available),
    }


def _steps(steps: Steps) -> list[list[float]]:
    return [[round(at, 2), value] for at, value in steps]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
