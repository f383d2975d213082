"""Two trees in memory: what is a run, a reason, a quota, a difference."""

from typing import Any

from tests.diff.kit import NS, compared, folder, job, platform, reasons, thing, words_of, workload


def queue(name: str = "q", kind: str = "ClusterQueue", **limits: Any) -> dict[str, Any]:
    """Return a queue with one flavor."""
    flavors = [{"name": "f", "resources": [{"name": "google.com/tpu", **limits}]}]
    return thing(kind, name, spec={"resourceGroups": [{"coveredResources": [], "flavors": flavors}]})


def test_workload_that_comes_to_a_second_cluster_or_leaves_one() -> None:
    """It is not new, and not gone."""
    one, two = workload(job("w-1", "1")), workload(job("w-1", "1"), cluster="d")

    assert [("starts", "w-1", "the workload is new on this cluster")] == reasons(one, {**one, **two})
    assert [("ends", "w-1", "the workload left the cluster")] == reasons({**one, **two}, one)


def test_last_workload_of_a_cluster_is_said_to_be_it() -> None:
    """Nothing runs there afterwards."""
    one = workload(job("w-1", "1"))

    assert [("ends", "w-1", "the last workload of the cluster is gone")] == reasons(one, {})
    assert [("ends", "w-1", "the workload is gone")] == reasons(
        {**one, **workload(job("v"), name="v")}, workload(job("v"), name="v")
    )


def test_run_that_its_list_no_more_names_ends() -> None:
    """Beside another one that goes on."""
    both = workload(job("w-1", "1"), job("w-2", "2"))

    assert [("ends", "w-2", "its list no longer names it; Job w-1 continues")] == reasons(
        both, workload(job("w-1", "1"))
    )


def test_workload_that_the_list_of_its_namespace_leaves_out_does_not_run() -> None:
    """Its files may still be there; without a list that can be read, all run."""
    files = workload(job("w-1", "1"))
    named = {**files, f"{NS}/kustomization.yaml": {"resources": ["w"]}}
    other = {**files, f"{NS}/kustomization.yaml": {"resources": ["v"]}}
    unclear = {**files, f"{NS}/kustomization.yaml": {"resources": "w"}}
    broken = {**files, f"{NS}/kustomization.yaml": "<<<<<<< HEAD\n"}

    assert [] == reasons(files, named) == reasons(named, unclear) == reasons(named, broken)
    assert [("ends", "w-1", "the last workload of the cluster is gone")] == reasons(named, other)


def test_frozen_run_that_somebody_changed_is_said() -> None:
    """The same name with other content."""
    before, after = workload(job("w-1", "1")), workload(job("w-1", "1", command="b"))

    assert [("changes", "w-1", "its frozen file was changed, which no render does")] == reasons(before, after)


def test_fixed_workload_changes_with_any_object_beside_it() -> None:
    """Its Service, its ConfigMap: they are live as well. A run beside which one changes goes on."""
    before = workload(job("w"), thing("ConfigMap", "c", data={"a": "1"}))
    after = workload(job("w"), thing("ConfigMap", "c", data={"a": "2"}))
    hashed = workload(job("w-1", "1"), thing("ConfigMap", "c", data={"a": "1"}))
    beside = workload(job("w-1", "1"), thing("ConfigMap", "c", data={"a": "2"}))

    assert [("changes", "w", "it is Fixed: the running object changes")] == reasons(before, after)
    assert [] == reasons(hashed, beside)


def test_other_jobs_of_a_workload_are_no_runs() -> None:
    """What components bring under names of their own."""
    found = compared({}, workload(job("w-1", "1"), job("other"), thing("ConfigMap", "w")))

    assert ["w-1"] == [run.name for run in found.runs]
    assert 3 == len(found.objects)


def test_workload_that_becomes_fixed_is_no_rerun() -> None:
    """Each names the other; without an id nothing is the same once more."""
    assert [
        ("ends", "w-1", "Job w takes its place"),
        ("starts", "w", "takes the place of Job w-1"),
    ] == reasons(workload(job("w-1", "1")), workload(job("w")))


def test_difference_from_the_run_before_is_that_of_the_intent() -> None:
    """One line that changed is one line, and the two objects are not shown in full below it."""
    found = compared(workload(job("w-1", "1")), workload(job("w-2", "2", command="b")))
    (_, started) = found.runs

    assert (started.replaces, 4) == ("w-1", started.chips)
    assert "-        - a\n+        - b\n" in started.diff
    assert words_of(found).count("--- ") == 1


def test_several_runs_at_once_have_no_one_before() -> None:
    """Two end, one starts: which it replaces is not said, and all are shown in full."""
    found = compared(workload(job("w-1", "1"), job("w-2", "2")), workload(job("w-3", "3", command="b")))

    assert ["", "", ""] == [run.replaces for run in found.runs]
    assert "takes the place of Job w-1, Job w-2" == found.runs[2].reason
    assert words_of(found).count("--- ") == 3


def test_limits_are_compared_as_quantities() -> None:
    """`1k` is 1000; a limit that comes or goes is one that moves."""
    before = platform(queue(nominalQuota="1k", lendingLimit="4"), queue("co", "Cohort", borrowingLimit=2))
    after = platform(queue(nominalQuota=1000, borrowingLimit="8"), queue("co", "Cohort", borrowingLimit="3"))

    found = compared(before, after)

    assert [
        ("ClusterQueue", "q", "borrowingLimit", None, "8"),
        ("ClusterQueue", "q", "lendingLimit", "4", None),
        ("Cohort", "co", "borrowingLimit", "2", "3"),
    ] == [(move.kind, move.queue, move.limit, move.before, move.after) for move in found.quotas]
    assert "  ~ ClusterQueue q, flavor f: borrowing limit none -> 8 chips\n" in words_of(found)


def test_other_resources_are_named() -> None:
    """Only of TPUs the unit is the chip."""

    def cpu(amount: int) -> dict[str, Any]:
        flavors = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": amount}]}]
        return platform(thing("ClusterQueue", "q", spec={"resourceGroups": [{"flavors": flavors}]}))

    assert "  ~ ClusterQueue q, flavor f: quota 1 -> 2 cpu\n" in words_of(compared(cpu(1), cpu(2)))


def test_chips_are_those_of_each_queue_and_of_the_cluster() -> None:
    """Runs without a queue are counted by themselves; a queue that did not move is only in the data."""

    def asking(name: str, chips: int, of: str = "") -> Any:
        made = job(name, chips=chips)
        made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": of} if of else {}
        return made

    names = {"a": (4, "q"), "b": (4, ""), "c": (8, "other")}
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for name, (chips, of) in names.items():
        before |= workload(asking(name, chips, of), name=name)
        after |= workload(asking(name, chips + (0 if of == "other" else 4), of), name=name)
    local = platform(thing("LocalQueue", "q", "n", spec={"clusterQueue": "cq"}))

    found = compared({**before, **local}, {**after, **local})

    assert [("", "", 4, 8), ("other", "", 8, 8), ("q", "cq", 4, 8)] == [
        (entry.queue, entry.cluster_queue, entry.before, entry.after) for entry in found.asked
    ]
    assert (16, 24) == found.chips("c")
    text = "  chips asked for: 16 -> 24\n    n, without a queue: 4 -> 8\n    n/q (cq): 4 -> 8\n"
    assert text in words_of(found)


def test_workloads_without_chips_ask_for_none() -> None:
    """They are no line of any queue."""
    files = workload(thing("Job", "w", "n", spec={"template": {"spec": {"containers": []}}}))

    assert () == compared({}, files).asked


def test_each_cluster_has_its_own_words() -> None:
    """What happens in one is not said of another."""
    before = workload(job("w")) | platform(queue(nominalQuota="4"))
    before |= {"provision/c/b.sh": "x\n"}
    files = {"provision/c/a.sh": "x\n", "provision/d/a.sh": "x\n"}
    second = workload(job("v"), name="v", cluster="d") | folder("overlays/d/_x", queue(nominalQuota="8"))

    assert [
        "cluster c",
        "  - n/w ends, 4 chips: the last workload of the cluster is gone",
        "  - ClusterQueue q removed",
        "  ~ ClusterQueue q, flavor f: quota 4 -> none chips",
        "  + provision/c/a.sh added: it takes effect when a person runs it",
        "  - provision/c/b.sh removed: nothing in the cloud changes",
        "  chips asked for: 4 -> 0",
        "    n, without a queue: 4 -> 0",
        "",
        "cluster d",
        "  + n/v starts, 4 chips: the workload is new",
        "  + ClusterQueue q added",
        "  ~ ClusterQueue q, flavor f: quota none -> 8 chips",
        "  + provision/d/a.sh added: it takes effect when a person runs it",
        "  chips asked for: 0 -> 4",
        "    n, without a queue: 0 -> 4",
        "",
        "old -> new: 1 run starts, 1 run ends, 0 runs change; 4 objects of 2 clusters differ",
    ] == words_of(compared(before, files | second)).split("\n\n---")[0].splitlines()


def test_labels_that_are_no_mapping_are_none() -> None:
    """Nobody has checked the objects yet."""
    broken = job("w")
    broken["metadata"]["labels"] = ["x"]

    assert [("starts", "w", "the workload is new")] == reasons({}, workload(broken))
