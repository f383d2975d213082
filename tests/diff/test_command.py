"""`slicewright diff` on real git repositories."""

from collections import Counter

import pytest
from tests.conftest import Repo
from tests.diff.kit import CLUSTER, JOB, cluster, commit, diff, run_of, said
from tests.files import git
from tests.words import places

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read


def test_nothing_differs_from_the_commit_itself(base: Repo) -> None:
    """Exit 0 with --exit-code too; the queues' chips are reported in JSON all the same."""
    found = diff(base, "--exit-code")

    assert (False, [], [], [], []) == (
        found["differs"],
        found["runs"],
        found["platform"],
        found["provision"],
        found["objects"],
    )
    assert [
        {
            "cluster": "c1",
            "namespace": "default",
            "queue": "queue",
            "clusterQueue": "cluster-queue",
            "before": 16,
            "after": 16,
        }
    ] == found["chips"]
    assert base.run("diff").out == "nothing differs for any cluster between HEAD and working tree\n"


def test_workload_that_changed_starts_a_run_and_ends_the_old(base: Repo) -> None:
    """Both with their chips, the reasons name each other, and the queue's sum moves."""
    old = run_of(base)
    base.workload("a", f"{JOB.rstrip()}\n    slices: 2\n")
    base.run("render")
    new = run_of(base)

    found = diff(base, "--exit-code", code=1)

    assert [
        f"ends c1/default/{old} 8: JobSet {new} takes its place",
        f"starts c1/default/{new} 16: takes the place of JobSet {old}",
    ] == said(found)
    assert [(16, 24)] == [(entry["before"], entry["after"]) for entry in found["chips"]]
    assert [("removed", old), ("added", new)] == [
        (change["effect"], change["name"])
        for change in sorted(found["objects"], key=lambda one: one["effect"], reverse=True)
    ]


def test_rerun_is_said_to_be_the_same_once_more(base: Repo) -> None:
    """Nothing of the run changed but its id."""
    old = run_of(base)
    base.run("rerun", "a")
    base.run("render")

    found = diff(base)

    assert [
        f"ends c1/default/{old} 8: JobSet {run_of(base)} takes its place",
        f"starts c1/default/{run_of(base)} 8: {old} again, without a change",
    ] == said(found)


def test_workload_that_is_new_and_one_that_is_gone(base: Repo) -> None:
    """Each has its reason; a kept run goes on beside the new one."""
    old = run_of(base)
    (base.root / "workloads/a.yaml").unlink()
    base.workload("b", JOB)
    base.run("render")

    assert [
        f"ends c1/default/{old} 8: the workload is gone",
        f"starts c1/default/{run_of(base, 'b')} 8: the workload is new",
    ] == said(diff(base))


def test_entry_that_its_sweep_has_no_more(base: Repo) -> None:
    """The sweep is there, so its workload is not gone."""
    spec = f"{JOB.rstrip()}\n    matrix: {{env: {{LR: [1, 2]}}}}\n"
    base.workload("lr", spec)
    base.run("render")
    git(base.root, "add", "--all")
    git(base.root, "commit", "--message", "sweep")
    base.workload("lr", spec.replace("[1, 2]", "[1]"))
    base.run("render")

    (ends,) = said(diff(base))
    assert ends.endswith(" 8: the sweep no longer has this entry")


def test_kept_run_goes_on_beside_the_new_one(base: Repo) -> None:
    """With onChange: Keep nothing ends."""
    old = run_of(base)
    base.workload("a", f"{JOB.rstrip()}\n    slices: 2\n    onChange: Keep\n")
    base.run("render")
    (new,) = {name.removesuffix(".yaml") for name in base.runs()} - {old}

    assert [f"starts c1/default/{new} 16: beside JobSet {old}, which continues"] == said(diff(base))


def test_fixed_workload_changes_in_place(base: Repo) -> None:
    """What runs is told to change, and the difference shows what."""
    base.workload("f", f"{JOB.rstrip()}\n    naming: Fixed\n    slices: 2\n")
    base.run("render")

    found = diff(base)

    assert ["changes c1/default/f 16: it is Fixed: the running object changes"] == said(found)
    assert ["changed"] == [change["effect"] for change in found["objects"]]
    assert "-  - groupName: default\n" not in found["objects"][0]["diff"]
    assert "-    replicas: 1\n+    replicas: 2\n" in found["objects"][0]["diff"]


def test_base_that_changed_shows_in_what_stands_on_it(base: Repo) -> None:
    """Live overlays follow their base although no file of theirs changed; frozen runs do not."""
    path = "bases/jobset/jobset.yaml"
    base.write(path, base.read(path).replace("restartPolicy: Never", "restartPolicy: OnFailure"))

    assert ["f"] == [run["name"] for run in diff(base)["runs"]]


def test_headers_alone_are_no_difference(base: Repo) -> None:
    """What another version of the tool writes into the first lines changes nothing in a cluster."""
    for path, text in {**base.tree(), **base.tree("provision")}.items():
        (base.root / path).write_text(text.replace("# inputs: ", "# inputs: other, "), encoding="utf-8")

    assert git(base.root, "diff", "--stat")
    assert not diff(base, "--exit-code")["differs"]


def test_quota_that_moves(base: Repo) -> None:
    """Queue and flavor, in chips, and the scripts that make the nodes."""
    cluster(base, CLUSTER.replace("slices: 3", "slices: 2"))
    base.run("render")

    found = diff(base)

    assert [("cluster-queue", "nominalQuota", "24", "16")] == [
        (move["queue"], move["limit"], move["before"], move["after"]) for move in found["quotas"]
    ]
    assert [("changed", "ClusterQueue", "cluster-queue")] == [
        (change["effect"], change["kind"], change["name"]) for change in found["platform"]
    ]
    assert {"changed"} == {change["effect"] for change in found["provision"]}
    assert "ClusterQueue cluster-queue, flavor v5e-2x4-4t: quota 24 -> 16 chips\n" in base.run("diff").out


def test_runs_behind_a_queue_that_is_drained_are_evicted(base: Repo) -> None:
    """The quota stays as it is; nothing else says it."""
    cluster(base, CLUSTER.replace("cluster-queue,", "cluster-queue, stopPolicy: HoldAndDrain,"))
    base.run("render")

    found = diff(base)

    assert {"stops": 2} == Counter(run["effect"] for run in found["runs"])
    assert [("cluster-queue", "None", "HoldAndDrain", 2, 16)] == [
        (one["queue"], one["before"], one["after"], one["runs"], one["chips"])
        for one in found["stopPolicies"]
    ]


def test_namespace_that_is_not_pruned_leaves_the_tree_and_stays(base: Repo) -> None:
    """Argo CD and Flux are told to keep it; what else leaves with it goes."""
    queues = "localQueues: [{name: queue}, {name: other, namespace: team-t}]"
    cluster(base, CLUSTER.replace("localQueues: [{name: queue}]", queues))
    base.run("render")
    commit(base)
    cluster(base)
    base.run("render")

    stays = {
        change["kind"]: change["stays"] for change in diff(base)["platform"] if change["effect"] == "removed"
    }

    assert stays.pop("Namespace")
    assert {False} == set(stays.values())
    assert "  - Namespace team-t leaves the tree; it stays in the cluster\n" in base.run("diff").out


def test_queue_that_is_renamed(base: Repo) -> None:
    """The old one goes, the new one comes, and the chips move with the runs."""
    cluster(base, CLUSTER.replace("name: queue", "name: other"))
    base.workload("a", JOB.replace("queueName: queue", "queueName: other"))
    base.workload("f", f"{JOB.replace('queueName: queue', 'queueName: other').rstrip()}\n    naming: Fixed\n")
    base.run("render")

    found = diff(base)

    assert [("added", "LocalQueue", "other"), ("removed", "LocalQueue", "queue")] == [
        (change["effect"], change["kind"], change["name"]) for change in found["platform"]
    ]
    assert [("other", 0, 16), ("queue", 16, 0)] == [
        (entry["queue"], entry["before"], entry["after"]) for entry in found["chips"]
    ]


def test_overlay_that_cannot_be_composed_is_a_problem(base: Repo) -> None:
    """Error in the new tree, warning in the old one: nothing of it is compared, the rest is."""
    path = "overlays/c1/default/f/kustomization.yaml"
    good = base.read(path)
    base.write(path, good.replace("bases/jobset", "bases/nothing"))
    base.workload("b", JOB)
    base.run("render", "b")

    found = diff(base, code=1)

    assert [("DIFF001", "error")] == [(one["id"], one["severity"]) for one in found["problems"]]
    assert ["b"] == [run["workload"] for run in found["runs"]]

    commit(base)
    base.write(path, good)

    assert [("DIFF001", "warning")] == [(one["id"], one["severity"]) for one in diff(base)["problems"]]


def test_same_difference_has_the_same_bytes(base: Repo) -> None:
    """No clock, and no order of a directory or of a hash."""
    base.workload("b", JOB)
    base.workload("c", JOB)
    base.run("render")

    assert base.run("diff", "-o", "json").out == base.run("diff", "-o", "json").out


def test_claim_of_a_run_that_goes_is_said_to_stay(base: Repo) -> None:
    """The volume claim that a component brought outlives the run: whoever prunes the run leaves the data."""
    base.write(
        "mine/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [claim.yaml]\n",
    )
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
    size = "spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Ti}}}\n"
    base.write("mine/claim.yaml", claim + size)
    base.workload("b", f"{JOB.rstrip()}\n    components: [mine]\n")
    base.run("render")
    commit(base)
    (base.root / "workloads" / "b.yaml").unlink()
    base.run("render")
    found = {change["kind"]: change for change in diff(base)["objects"]}
    left = found["PersistentVolumeClaim"]

    assert ("removed", "data", True) == (left["effect"], left["name"], left["stays"])
    assert ("removed", False) == (found["JobSet"]["effect"], found["JobSet"]["stays"])
    stays = "  - PersistentVolumeClaim default/data leaves the tree; it stays in the cluster\n"
    assert stays in base.run("diff").out


def test_node_pools_that_no_script_knows_any_more_are_named(base: Repo) -> None:
    """No script deletes what another file made: `diff` says so, with the command."""
    where = "--cluster=c1 --location=us-west4 --project=p"
    one = "node pool tpus-2 was removed from the file, but nothing deletes it"
    many = "node pools tpus-1, tpus-2 were removed from the file, but nothing deletes them"
    delete = "gcloud container node-pools delete"
    by_terraform = (
        "the cluster and its node pools that scripts made (tpus-0, tpus-1, tpus-2) are not in Terraform's "
        "state: import or delete them before terraform apply"
    )
    base.run("render")
    commit(base)
    system = CLUSTER.replace("slices: 3}", "slices: 3}\n    - {name: system, machineType: n2-standard-8}")
    expected = {
        CLUSTER.replace("slices: 3", "slices: 2"): f"{one}: {delete} tpus-2 {where}",
        CLUSTER.replace("slices: 3", "slices: 1"): f"{many}: {delete} NAME {where}",
        f"{system.rstrip()}\n    environment: {{}}\n": by_terraform,
        CLUSTER.replace("slices: 3", "slices: 4"): "",
        CLUSTER: None,
    }
    for spec, note in expected.items():
        cluster(base, spec)
        base.run("render")
        found = [file for file in diff(base)["provision"] if file["path"].endswith("destroy.sh")]

        assert [note] * (note is not None) == [file["note"] for file in found]
        assert bool(note) == (f"\n  ! {note}\n" in base.run("diff").out)


def test_what_keeps_edits_from_being_shown_is_said_first(base: Repo) -> None:
    """`nothing differs` alone would pass for an answer."""
    base.workload("b", "\n    naem: x\n")
    done = base.run("diff")

    assert "RUN020" in places(done.err)
    assert "hint: run slicewright render --check" in done.err


def test_sweep_is_one_line_of_a_difference(base: Repo) -> None:
    """Twenty runs that start are one line with their chips; JSON has each with its sweep."""
    spec = f"{JOB.rstrip()}\n    matrix: {{env: {{LR: [1, 2, 3, 4, 5], SEED: [0, 1, 2, 3]}}}}\n"
    base.workload("lr", spec)
    base.run("render")

    found = diff(base)
    printed = base.run("diff").out
    git(base.root, "add", "--all")
    git(base.root, "commit", "--message", "sweep")
    base.workload("lr", spec.replace("container", "run: 2\n    container"))
    base.run("render", "--end-runs", "1")
    again = base.run("diff").out

    assert ["lr"] * 20 == [run["sweep"] for run in found["runs"]]
    assert "  + default/lr: 20 runs start, 160 chips: the workload is new\n" in printed
    assert "  - default/lr: 20 runs end, 160 chips\n  + default/lr: 20 runs start, 160 chips\n" in again
