"""Queues that are stopped or opened, and what that does to the runs behind them."""

from typing import Any

from tests.diff.kit import compared, job, platform, reasons, thing, words_of, workload

from slicewright.kubernetes.types import record


def queues(cluster_queue: str = "", local_queue: str = "") -> dict[str, Any]:
    """Return the files of a LocalQueue and of the ClusterQueue behind it, with their stopPolicies."""
    above: Any = {"stopPolicy": cluster_queue} if cluster_queue else {}
    below: Any = {"clusterQueue": "cq", **({"stopPolicy": local_queue} if local_queue else {})}
    return platform(thing("ClusterQueue", "cq", spec=above), thing("LocalQueue", "q", "n", spec=below))


def queued(name: str = "w-1", run: str = "1", queue: str = "q") -> dict[str, Any]:
    """Return a run that asks a queue."""
    made = job(name, run)
    made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue
    return made


RUN = workload(queued())
ANEW = "the run starts again when the queue admits again"
DRAINS = "it admits nothing, and evicts what runs"
NO_RUN = "0 runs start, 0 runs end, 0 runs change"


def test_run_behind_a_queue_that_is_drained_is_evicted() -> None:
    """By its LocalQueue as by the ClusterQueue behind it, once; what asks no such queue goes on."""
    for after, by in (
        (queues("HoldAndDrain"), "ClusterQueue cq"),
        (queues("", "HoldAndDrain"), "LocalQueue q"),
        (queues("HoldAndDrain", "HoldAndDrain"), "LocalQueue q"),
        (queues("HoldAndDrain", "Hold"), "ClusterQueue cq"),
    ):
        reason = f"{by} is set to HoldAndDrain: {ANEW}"
        assert [("stops", "w-1", reason)] == reasons(RUN | queues("Hold", "None"), RUN | after)
    assert [] == reasons(RUN | queues("HoldAndDrain"), RUN | queues("HoldAndDrain", "HoldAndDrain"))
    other = workload(queued(queue="other"))
    assert [] == reasons(other | queues(), other | queues("HoldAndDrain"))


def test_drained_queue_says_what_it_evicts() -> None:
    """In a line of its own and in the last line; the run requests its chips still."""
    found = compared(RUN | queues(), RUN | queues("HoldAndDrain"))

    assert [
        {
            "cluster": "c",
            "kind": "ClusterQueue",
            "namespace": "",
            "queue": "cq",
            "before": "None",
            "after": "HoldAndDrain",
            "runs": 1,
            "chips": 4,
        }
    ] == [record(change) for change in found.stops]
    assert [
        "cluster c",
        f"  - n/w-1 is evicted, 4 chips: ClusterQueue cq is set to HoldAndDrain: {ANEW}",
        "  ~ ClusterQueue cq changed",
        f"  ~ ClusterQueue cq: stopPolicy None -> HoldAndDrain: {DRAINS}; 1 run of 4 chips behind it",
        "",
        f"old -> new: {NO_RUN}, 1 run is evicted; 1 object of 1 cluster differs",
    ] == words_of(found).split("\n\n---")[0].splitlines()


def test_stopped_queue_is_said_of_its_cluster_alone() -> None:
    """Another one in which something differs has no word of it."""
    other = workload(job("v"), name="v", cluster="d")

    found = words_of(compared(RUN | queues(), RUN | queues("HoldAndDrain") | other))

    assert 1 == found.count("stopPolicy None -> HoldAndDrain")


def test_held_queue_admits_nothing_more() -> None:
    """What is admitted goes on, so nothing happens to a run; one that starts now waits."""
    before = RUN | queues()
    after = RUN | queues("", "Hold") | workload(queued("v-1"), name="v")

    found = compared(before, after)

    waits = "the workload is new; it waits, for LocalQueue q has stopPolicy Hold"
    assert [("starts", "v-1", waits)] == [(run.effect, run.name, run.reason) for run in found.runs]
    line = "LocalQueue n/q: stopPolicy None -> Hold: it admits nothing more, and what is admitted goes on; "
    assert f"  ~ {line}1 run of 4 chips behind it\n" in words_of(found)


def test_run_starts_again_when_its_queue_is_opened() -> None:
    """Of one that was held, nobody can tell which runs wait; a queue that is held now opens nothing."""
    reason = "ClusterQueue cq had evicted it, and admits again as quota allows"
    found = compared(RUN | queues("HoldAndDrain"), RUN | queues())

    assert [("resumes", "w-1", reason)] == [(run.effect, run.name, run.reason) for run in found.runs]
    assert ", 1 run may start again; " in words_of(found)
    opened = "ClusterQueue cq: stopPolicy Hold -> None: what waits may start; 1 run of 4 chips behind it\n"
    assert opened in words_of(compared(RUN | queues("Hold"), RUN | queues()))
    assert [] == reasons(RUN | queues("Hold"), RUN | queues())
    assert [] == reasons(RUN | queues("HoldAndDrain"), RUN | queues("Hold"))


def test_queue_that_comes_stopped_or_leaves_the_tree() -> None:
    """One that comes stops what asks it already; one that leaves opens nothing."""
    assert ["stops"] == [effect for effect, *_ in reasons(RUN, RUN | queues("HoldAndDrain"))]
    assert [] == reasons(RUN | queues("HoldAndDrain"), RUN)
    assert () == compared(RUN | queues("HoldAndDrain"), RUN).stops


def test_run_that_leaves_the_tree_and_goes_on_is_evicted_as_well() -> None:
    """Its queue knows nothing of trees. One that ends with its object is not evicted."""
    kept = queued()
    kept["metadata"]["annotations"] = {"argocd.argoproj.io/sync-options": "Prune=false"}

    assert ["stays", "stops"] == [
        effect for effect, *_ in reasons(workload(kept) | queues(), queues("HoldAndDrain"))
    ]
    assert ["ends"] == [effect for effect, *_ in reasons(RUN | queues(), queues("HoldAndDrain"))]
