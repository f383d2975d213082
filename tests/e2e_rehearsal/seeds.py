"""What the tutorials of this repository show when they are played, on whatever cluster that is."""

from collections.abc import Callable
from dataclasses import dataclass

from slicewright.kubernetes.types import Object

from . import kit


@dataclass(frozen=True, slots=True)
class Seed:
    """A cluster of this repository, how fast it is played, and what its record has to show.

    A minute, which the tutorials allow for some answers of Kueue, has to be longer than Kueue takes.
    """

    cluster: str
    speed: float
    shown: Callable[[Object], Object]
    expected: Object


def _multislice(record: Object) -> Object:
    """Seed 000: three slices run, then one and two together, and the queue is full each time.

    low-priority comes when they are through: its pods have another priority, so nothing keeps them apart.
    """
    (queue,) = record["queues"]
    together = [kit.run(record, f"multislice-{name}") for name in ("1slice", "2slice")]
    first = kit.run(record, "multislice-3slice")
    pieces = [piece for entry in record["workloads"] for piece in entry["slices"]]
    return {
        "problems": record["problems"],
        "finished": record["summary"]["finished"],
        "most chips in use and borrowed": (queue["peakChips"], queue["borrowedChips"]),
        "three slices fill the queue": _is_full(record, first["admitted"]),
        "one and two fill the queue": _is_full(record, max(entry["admitted"] for entry in together)),
        "node pools of each slice": {len(piece["nodePools"]) for piece in pieces},
        "pods of each slice": {piece["pods"] for piece in pieces},
        "slices share nothing": all(piece["exclusive"] for piece in pieces),
        "low-priority was alone": kit.run(record, "low-priority")["submitted"]
        > max(entry["ended"] for entry in record["workloads"][:-1]),
    }


def _flex_start(record: Object) -> Object:
    """Seed 001: both pools start empty, grow on demand, and are empty when all is over."""
    return {
        "problems": record["problems"],
        "finished": record["summary"]["finished"],
        "grew": _node_pools(record, "poolGrew"),
        "shrank": _node_pools(record, "poolShrank"),
        "chips at the start": [pool["there"][0][1] for pool in record["pools"]],
        "chips at the end": [pool["there"][-1][1] for pool in record["pools"]],
    }


def _training(record: Object) -> Object:
    """Seed 002: a workload of class low is pushed aside by one of class medium, and comes back."""
    pushed = kit.run(record, "hello-world-multislice")
    return {
        "problems": record["problems"],
        "finished": record["summary"]["finished"],
        "pushed aside": {eviction["reason"] for eviction in pushed["evictions"]},
        "came back": kit.states(pushed).count("running") > 1,
    }


def _pathways(record: Object) -> Object:
    """Seed 003: as PathwaysJob and as JobSets; it ends when the program of its head does.

    The headless one runs on; a slice that is lost comes back.
    """
    ended = [entry for entry in record["workloads"] if entry["outcome"] == "finished"]
    return {
        "problems": record["problems"],
        "operator": record["pathwaysOperator"],
        "outcomes": {entry["run"]: entry["outcome"] for entry in record["workloads"]},
        "faults": kit.faults(record),
        "ran before they ended": all(entry["started"] < entry["ended"] for entry in ended),
        "started again": {entry["run"] for entry in record["workloads"] if "restarting" in kit.states(entry)},
    }


def _is_full(record: Object, at: float) -> bool:
    """Tell whether the only queue has all of its quota in use at a time."""
    (queue,) = record["queues"]
    used = [chips for since, chips in queue["used"] if since <= at]
    return bool(used[-1] >= queue["limitChips"])


def _node_pools(record: Object, kind: str) -> set[str]:
    """Return the node pools that grew or shrank."""
    return {event["nodePool"] for event in record["events"] if event["kind"] == kind}


SEEDS = (
    Seed(
        "multislice-cluster",
        speed=15,
        shown=_multislice,
        expected={
            "problems": [],
            "finished": 5,
            "most chips in use and borrowed": (24, 0),
            "three slices fill the queue": True,
            "one and two fill the queue": True,
            "node pools of each slice": {1},
            "pods of each slice": {2},
            "slices share nothing": True,
            "low-priority was alone": True,
        },
    ),
    Seed(
        "flex-start-cluster",
        speed=900,
        shown=_flex_start,
        expected={
            "problems": [],
            "finished": 2,
            "grew": {"single-host", "multi-host"},
            "shrank": {"single-host", "multi-host"},
            "chips at the start": [0, 0],
            "chips at the end": [0, 0],
        },
    ),
    Seed(
        "gke-tpu-training-cluster",
        speed=20,
        shown=_training,
        expected={"problems": [], "finished": 4, "pushed aside": {"Preempted"}, "came back": True},
    ),
    Seed(
        "pathways-cluster",
        speed=30,
        shown=_pathways,
        expected={
            "problems": [],
            "operator": "simulated operator",
            "outcomes": {
                "default/pathways-job": "finished",
                "default/pathways-jobset": "finished",
                "default/pathways-elastic": "finished",
                "default/pathways-colocated": "finished",
                "default/pathways-headless": "running",
            },
            "faults": ["default/pathways-elastic SliceLoss"],
            "ran before they ended": True,
            "started again": {"default/pathways-elastic"},
        },
    ),
)
