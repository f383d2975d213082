"""Objects as the API server shows them -> events; the recorded ones are of a real play (seed 002)."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.event import Event, Observer
from slicewright.rehearse.model.metrics import by_queue
from slicewright.rehearse.model.timeline import Timeline, Timelines

PODS = {
    "tpu-training/hello-world-multislice": 4,
    "tpu-training/hello-world-single-slice": 2,
    "tpu-training/maxtext-single-slice": 2,
    "tpu-training/maxtext-multislice": 4,
}


@cache
def recorded() -> tuple[Event, ...]:
    """Return the events of a play in which a workload of a higher class pushes another one aside."""
    history = json.loads(Path(__file__).with_name("preempted.json").read_text(encoding="utf-8"))
    pools: dict[str, str] = {}
    observer = Observer(lambda node: pools.get(node, ""))
    found: list[Event] = []
    for at, verb, item in history:
        if item["kind"] == "Node":
            pools[item["metadata"]["name"]] = item["metadata"]["labels"]["cloud.google.com/gke-nodepool"]
        found += observer.see(at, verb, item)
    return tuple(found)


@cache
def timelines() -> dict[str, Timeline]:
    """Return the timelines of that play."""
    made = Timelines(PODS, PODS)
    for event in recorded():
        made.add(event)
    return made.close(recorded()[-1].at)


def see(*states: Object, verb: str = "MODIFIED") -> list[Event]:
    """Return what the states of objects tell, one after another."""
    observer = Observer(lambda node: {"node-0": "np-0"}.get(node, ""))
    return [event for at, item in enumerate(states) for event in observer.see(float(at), verb, item)]


def item(kind: str, name: str = "a", *, labels: Object | None = None, owner: str = "", **body: Any) -> Object:
    """Return an object."""
    metadata: Object = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", "labels": labels or {}}
    if owner:
        others = {"kind": "Other", "name": "other"}
        metadata["ownerReferences"] = [others, {"kind": "JobSet", "name": owner, "controller": True}]
    return {"kind": kind, "metadata": metadata, **body}


def conditions(**states: Any) -> Object:
    """Return a status; each condition is its status, or (status, reason, message)."""
    entries = []
    for kind, given in states.items():
        status, reason, message = given if isinstance(given, tuple) else (given, "", "")
        entries.append({"type": kind, "status": status, "reason": reason, "message": message})
    return {"conditions": entries}


def pod(phase: str, name: str = "a-slice-0-0-x", *, node: str = "node-0", **labels: str) -> Object:
    """Return a TPU pod of the JobSet a."""
    own = {
        "jobset.sigs.k8s.io/jobset-name": "a",
        "jobset.sigs.k8s.io/replicatedjob-name": "slice",
        "jobset.sigs.k8s.io/job-index": "0",
        "jobset.sigs.k8s.io/restart-attempt": "1",
        "batch.kubernetes.io/job-name": "a-slice-0",
        "batch.kubernetes.io/controller-uid": "u",
        **labels,
    }
    spec = {"containers": [{"resources": {"limits": {"google.com/tpu": "4"}}}], "nodeName": node}
    return item("Pod", name, labels=own, spec=spec, status={"phase": phase})


# -- recorded


def test_recorded_play_has_its_evicted_run_back() -> None:
    """Kueue's own word and sentence; afterwards it runs to its end."""
    timeline = timelines()["tpu-training/hello-world-multislice"]
    (eviction,) = timeline.evictions

    assert "Preempted" == eviction.reason
    assert eviction.text.startswith("Preempted to accommodate a workload")
    assert ("finished", 0, "cluster-queue") == (timeline.outcome, timeline.restarts, timeline.queue)
    assert [span.state for span in timeline.spans if span.state == "running"] == ["running", "running"]


def test_recorded_slices_are_whole_and_alone() -> None:
    """Each slice is on one node pool, before the eviction and after it, with nobody beside it."""
    found = Counter(
        (run, len(piece.node_pools), piece.exclusive)
        for run, timeline in timelines().items()
        for piece in timeline.slices
        if run != "tpu-training/hello-world-single-slice"  # this one was evicted too, when it had just begun
    )

    assert found == {
        ("tpu-training/hello-world-multislice", 1, True): 4,
        ("tpu-training/maxtext-single-slice", 1, True): 1,
        ("tpu-training/maxtext-multislice", 1, True): 2,
    }


def test_recorded_queue_never_gave_more_than_it_has() -> None:
    """16 chips of quota; what is evicted holds its part until its pods have gone."""
    (queue,) = by_queue(recorded(), {"cluster-queue": 16})

    assert (16, 0) == (queue.peak(), queue.borrowed())


# -- Workloads


def test_workload_waits_reserves_is_admitted_and_released() -> None:
    """Each change of a condition is told once, with the chips of each flavor."""
    assignment = {"flavors": {"google.com/tpu": "v5e"}, "resourceUsage": {"google.com/tpu": "8"}}
    cpu = {"flavors": {"cpu": "cpus"}, "resourceUsage": {"cpu": "1"}}
    admission = {"clusterQueue": "cq", "podSetAssignments": [assignment, assignment, cpu]}
    pending = conditions(QuotaReserved=("False", "Pending", "no quota"))
    holds = {**conditions(QuotaReserved="True"), "admission": admission}
    runs = {**conditions(QuotaReserved="True", Admitted="True"), "admission": admission}
    over = {**conditions(QuotaReserved="True", Admitted="True", Finished="True"), "admission": admission}

    found = see(
        *(
            item("Workload", "w", owner="a", status=state)
            for state in (pending, pending, holds, runs, over, over)
        )
    )

    assert found == [
        Event(0.0, "waiting", "default/a", reason="Pending", text="no quota"),
        Event(2.0, "reserved", "default/a", queue="cq", flavors=(("v5e", 16),)),
        Event(3.0, "admitted", "default/a"),
        Event(4.0, "released", "default/a", reason="Finished"),
    ]


def test_slices_that_are_done_give_their_quota_back_before_the_run_is_over() -> None:
    """What is still held is told whenever `reclaimablePods` changes it, until the run is over."""
    assignment = {"name": "slice", "flavors": {"google.com/tpu": "v5e"}, "count": 4}
    assignment["resourceUsage"] = {"google.com/tpu": "16"}
    admission = {"clusterQueue": "cq", "podSetAssignments": [assignment]}
    holds = {**conditions(QuotaReserved="True"), "admission": admission}
    half, none = ({**holds, "reclaimablePods": [{"name": "slice", "count": count}]} for count in (2, 4))
    over = {**none, **conditions(QuotaReserved="True", Finished="True")}
    late = {**over, "reclaimablePods": []}
    spec = {"podSets": [{"name": "slice", "count": 4}]}

    found = see(
        *(
            item("Workload", "w", owner="a", spec=spec, status=state)
            for state in (holds, half, half, none, over, late)
        )
    )

    part: Object = {"reason": "ReclaimablePods", "queue": "cq"}
    assert found == [
        Event(0.0, "reserved", "default/a", queue="cq", flavors=(("v5e", 16),)),
        Event(1.0, "released", "default/a", **part, flavors=(("v5e", 8),)),
        Event(3.0, "released", "default/a", **part, flavors=(("v5e", 0),)),
        Event(4.0, "released", "default/a", reason="Finished"),
    ]


def test_evicted_workload_gives_its_quota_back() -> None:
    """First Kueue says why, then the quota goes, and it waits again."""
    admission = {"clusterQueue": "cq", "podSetAssignments": []}
    holds = {**conditions(QuotaReserved="True", Admitted="True"), "admission": admission}
    told = ("True", "Preempted", "for another")
    evicted = {**conditions(QuotaReserved="True", Evicted=told), "admission": admission}
    waits = conditions(QuotaReserved=("False", "Pending", "for another"), Evicted=told)

    found = see(*(item("Workload", "w", owner="a", status=state) for state in (holds, evicted, waits)))

    assert [event.kind for event in found] == ["reserved", "admitted", "evicted", "released", "waiting"]
    assert Event(1.0, "evicted", "default/a", reason="Preempted", text="for another") == found[2]


def test_condition_that_became_true_once_more_is_told_again() -> None:
    """Between two looks it may have been false: the time of its last change says so."""
    first = item("Workload", "w", owner="a", status=conditions(Evicted="True"))
    again = item("Workload", "w", owner="a", status=conditions(Evicted="True"))
    again["status"]["conditions"][0]["lastTransitionTime"] = "2026-11-21T12:00:00Z"

    assert [0.0, 2.0] == [event.at for event in see(first, first, again)]


def test_condition_whose_time_is_set_back_is_not_told_again() -> None:
    """The rehearsal sets it back to let a timer expire; only a later time is another change."""
    moments = ("2026-11-21T12:30:00Z", "2026-11-21T12:00:00Z", "2026-11-21T12:31:00Z")
    states = [conditions(Admitted="True") for _ in moments]
    for state, moment in zip(states, moments, strict=True):
        state["conditions"][0]["lastTransitionTime"] = moment

    found = see(*(item("Workload", "w", owner="a", status=state) for state in states))

    assert [Event(0.0, "admitted", "default/a"), Event(2.0, "admitted", "default/a")] == found


def test_workload_that_is_deleted_gives_its_quota_back() -> None:
    """Unless it had finished, or had none."""
    admission = {"clusterQueue": "cq", "podSetAssignments": []}
    holds = {**conditions(QuotaReserved="True"), "admission": admission}
    over = {**conditions(QuotaReserved="True", Finished="True"), "admission": admission}
    observer = Observer(str)
    kinds = []
    for name, state in (("w1", holds), ("w2", over), ("w3", {})):
        observer.see(0.0, "ADDED", item("Workload", name, owner=name, status=state))
        gone = observer.see(1.0, "DELETED", item("Workload", name, owner=name, status=state))
        kinds.append([event.kind for event in gone])

    assert kinds == [["released"], [], []]


def test_workload_of_nobody_is_passed_by() -> None:
    """A rehearsal is about its runs."""
    assert [] == see(item("Workload", "w", status=conditions(Admitted="True")))


# -- JobSets and Jobs


def test_jobset_restarts_and_ends() -> None:
    """Each restart is told with its number, the end once."""
    done = conditions(Completed=("True", "AllJobsCompleted", "jobset completed"))
    states: tuple[Object, ...] = ({}, {"restarts": 1}, {"restarts": 1}, {"restarts": 1, **done}, done)

    assert see(*(item("JobSet", status=state) for state in states)) == [
        Event(1.0, "restarted", "default/a", attempt=1),
        Event(3.0, "finished", "default/a", reason="AllJobsCompleted", text="jobset completed"),
    ]


def test_jobset_of_a_pathwaysjob_speaks_for_it() -> None:
    """The run is what people submitted."""
    failed = conditions(Failed=("True", "ReachedMaxRestarts", "too often"))

    assert see(item("JobSet", "made", owner="a", status=failed)) == [
        Event(0.0, "failed", "default/a", reason="ReachedMaxRestarts", text="too often")
    ]


def test_job_of_its_own_ends_and_that_of_a_jobset_does_not() -> None:
    """The end of a slice is not the end of the run."""
    done = conditions(Complete="True")
    part = item("Job", "a-0", labels={"jobset.sigs.k8s.io/jobset-name": "a"}, status=done)

    assert [Event(1.0, "finished", "default/b")] == see(part, item("Job", "b", status=done))


def test_end_that_goes_is_no_end() -> None:
    """A run that is removed while it has ended is told once, when it ended."""
    assert [] == see(item("Job", status=conditions(Complete="True")), verb="DELETED")


# -- pods


def test_pod_starts_on_a_node_pool_and_ends() -> None:
    """Each once, with its slice and its attempt."""
    found = see(*(pod(phase) for phase in ("Pending", "Running", "Running", "Succeeded", "Succeeded")))

    assert [(event.at, event.kind, event.reason) for event in found] == [
        (1.0, "podStarted", ""),
        (3.0, "podEnded", "Succeeded"),
    ]
    assert {("np-0", 4, "slice/0", "u", 1, "default/a")} == {
        (event.node_pool, event.chips, event.job, event.job_uid, event.attempt, event.run) for event in found
    }


def test_pod_that_is_deleted_while_it_runs_has_ended() -> None:
    """And one that never ran has not begun."""
    observer = Observer(str)
    for name, phase in (("ran", "Running"), ("never", "Pending")):
        observer.see(0.0, "ADDED", pod(phase, name))
    ends = [
        [event.reason for event in observer.see(1.0, "DELETED", pod(phase, name))]
        for name, phase in (("ran", "Running"), ("never", "Pending"), ("unknown", "Running"))
    ]

    assert ends == [["Deleted"], [], []]


def test_pod_that_fails_because_it_is_deleted_was_taken_away() -> None:
    """A kubelet gives it the phase Failed before it goes: it has not failed of itself."""
    ends = []
    for facts in ({}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}):
        for phase in ("Failed", "Succeeded"):
            over = pod(phase)
            over["metadata"].update(facts)
            ends.append(see(pod("Running"), over)[-1].reason)

    assert ["Failed", "Succeeded", "Deleted", "Succeeded"] == ends


def test_container_that_is_started_again_in_its_pod_is_a_warning() -> None:
    """Each time once: the pod goes on, and no controller says a word."""
    again: list[Object] = []
    for count in (0, 1, 1, 2):
        running = pod("Running")
        ended = {"lastState": {"terminated": {"exitCode": 3}}} if count == 1 else {}
        status = {"name": "jax", "restartCount": count, **ended}
        running["status"]["containerStatuses"] = [status]
        again.append(running)
    told = [(event.at, event.reason, event.text) for event in see(*again) if event.kind == "warned"]
    head = "container jax of a-slice-0-0-x ended with exit code"

    assert [
        (1.0, "ContainerRestarted", f"{head} 3 and was started again, restart 1"),
        (3.0, "ContainerRestarted", f"{head} unknown and was started again, restart 2"),
    ] == told


def test_pods_of_jobs_and_of_nobody() -> None:
    """A Job of its own has no replicated job; other pods are not ours."""
    alone = item("Pod", "a-x", labels={"batch.kubernetes.io/job-name": "a"}, spec={"nodeName": "other"})
    alone["status"] = {"phase": "Running"}
    stray = item("Pod", "stray", spec={}, status={"phase": "Running"})

    assert [Event(0.0, "podStarted", "default/a", pod="a-x", node="other")] == see(alone, stray)


def test_pod_before_its_jobset_belongs_to_the_run_all_the_same() -> None:
    """Kinds are watched apart: what comes first is found by its name, later by its owner."""
    observer = Observer(str)
    before = observer.see(0.0, "ADDED", pod("Running", "one"))
    observer.see(1.0, "ADDED", item("JobSet", "a", owner="of-pathways", status={}))
    after = observer.see(2.0, "ADDED", pod("Running", "two"))

    assert ["default/a", "default/of-pathways"] == [event.run for event in (*before, *after)]


# -- Events


def test_warnings_about_what_belongs_to_a_run_are_told() -> None:
    """Normal events, those of strangers and what Kueue says elsewhere are not."""
    about = {"kind": "Pod", "namespace": "default", "name": "a-slice-0-0-x"}
    warning = item("Event", "e", type="Warning", reason="FailedScheduling", message="0/6 nodes")
    warning["involvedObject"] = about
    others: list[Object] = [
        {**warning, "type": "Normal"},
        {**warning, "reason": "Pending"},
        {**warning, "involvedObject": {**about, "name": "stranger"}},
        {key: value for key, value in warning.items() if key != "involvedObject"},
    ]

    told: dict[str, Any] = {"reason": "FailedScheduling", "text": "0/6 nodes"}
    of_job = {**warning, "involvedObject": {"kind": "Job", "namespace": "default", "name": "a"}}

    assert [
        Event(1.0, "warned", "default/a", pod="a-slice-0-0-x", **told),
        Event(7.0, "warned", "default/a", **told),
    ] == see(pod("Pending"), warning, *others, item("Job", "a", status={}), of_job)


def test_warning_about_a_pod_has_the_node_labels_that_it_selects() -> None:
    """The labels tell whether the pod waits for nodes of another flavor; pods without chips do not count."""
    warning = item("Event", "e", type="Warning", reason="FailedScheduling", message="0/6 nodes")
    warning["involvedObject"] = {"kind": "Pod", "namespace": "default", "name": "a-slice-0-0-x"}
    selecting, head = pod("Pending"), pod("Pending")
    selecting["spec"]["nodeSelector"] = head["spec"]["nodeSelector"] = {"spot": "true"}
    head["spec"]["containers"] = []

    assert [[("spot", "true")], []] == [
        [label for event in see(first, warning) for label in event.selects] for first in (selecting, head)
    ]


def test_warning_that_comes_before_its_pod_is_told_with_it() -> None:
    """Kinds are watched apart: why a pod found no node may be seen before the pod."""
    warning = item("Event", "e", type="Warning", reason="FailedScheduling", message="0/6 nodes")
    warning["involvedObject"] = {"kind": "Pod", "namespace": "default", "name": "a-slice-0-0-x"}
    found = see(warning, pod("Pending", "another"), pod("Running"), pod("Running"))

    assert [("warned", "default/a", 2.0), ("podStarted", "default/a", 2.0)] == [
        (event.kind, event.run, event.at) for event in found
    ]
