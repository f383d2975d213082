"""What happens to runs under Argo CD as it comes: plain manifests, no health checks, usual options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e import kit as clusters
from tests.e2e_argocd import kit, naive
from tests.e2e_argocd.argo import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.e2e_argocd.repository import Git

    from slicewright.kubernetes.types import Object
    from slicewright.testbed.bed import Bed

APPLICATION = naive.APPLICATION
JOBSET, JOB, POD = clusters.JOBSET, clusters.JOB, clusters.POD
TOLERATION = {"key": "example.com/any", "operator": "Exists", "effect": "NoSchedule"}
OTHER = {"key": "example.com/other", "operator": "Exists", "effect": "NoSchedule"}


def synced(bed: Bed, git: Git, items: Iterable[Object], *options: str, **automated: bool) -> None:
    """Commit objects, let a new Application sync them."""
    git.folder(naive.FOLDER, items)
    revision = git.commit("the first version")
    bed.api.create(naive.application(git, *options, **automated))
    kit.sync(bed, revision, APPLICATION)


def changed(bed: Bed, git: Git, items: Iterable[Object]) -> None:
    """Commit other objects and let the Application see them."""
    git.folder(naive.FOLDER, items)
    kit.sync(bed, git.commit("another version"), APPLICATION)


def running(bed: Bed, kind: tuple[str, str], name: str) -> Object:
    """Wait for the only pod of an object to run, and return the object."""
    bed.until(
        f"{name} to run", lambda: [pod for pod in pods(bed, name) if pod["status"]["phase"] == "Running"]
    )
    return bed.api.get(*kind, name, "default")


def pods(bed: Bed, name: str) -> list[Object]:
    """Return the pods of a Job or a JobSet."""
    labels = ("batch.kubernetes.io/job-name", "jobset.sigs.k8s.io/jobset-name")
    return [pod for pod in bed.api.list(*POD) if name in map(pod["metadata"]["labels"].get, labels)]


def uid(bed: Bed, kind: tuple[str, str], name: str) -> str:
    """Return the uid of an object, '' while it is not there."""
    found = bed.api.find(*kind, name, "default")
    return found["metadata"]["uid"] if found else ""


def test_every_sync_fails_once_kueue_has_admitted_the_jobset(bed: Bed, git: Git) -> None:
    """A commit to anything of the Application applies the JobSet again, which Kueue has changed: refused."""
    naive.prepare(bed, runs=1)
    train = naive.jobset("train")
    synced(bed, git, [train, naive.note("1")])
    running(bed, JOBSET, "train")

    changed(bed, git, [train, naive.note("2")])

    assert kit.settled(bed, APPLICATION)[:2] == ("Failed", "Synced")
    assert "spec.replicatedJobs" in kit.sync_message(kit.application(bed, APPLICATION))
    assert "field is immutable" in kit.sync_message(kit.application(bed, APPLICATION))


def test_a_flavors_toleration_is_drift_for_ever(bed: Bed, git: Git) -> None:
    """With tolerations in git and others of the flavor, nothing agrees any more, and each sync fails."""
    naive.prepare(bed, runs=1, tolerations=[OTHER])
    train = naive.jobset("train", tolerations=(TOLERATION,))
    synced(bed, git, [train, naive.note("1")], "ApplyOutOfSyncOnly=true")
    running(bed, JOBSET, "train")

    changed(bed, git, [train, naive.note("2")])

    assert kit.settled(bed, APPLICATION)[:2] == ("Failed", "OutOfSync")
    assert "field is immutable" in kit.sync_message(kit.application(bed, APPLICATION))


def test_a_queued_jobset_looks_healthy(bed: Bed, git: Git) -> None:
    """Argo CD has no health check for JobSets: one that waits for quota is as healthy as one that is done."""
    naive.prepare(bed, runs=0)
    synced(bed, git, [naive.jobset("train")])

    bed.until("Kueue to queue it", lambda: clusters.workload_names(bed) == {"train"})

    assert clusters.suspended(bed) == {"train"}
    assert kit.settled(bed, APPLICATION) == ("Succeeded", "Synced", "Healthy")
    assert kit.health(bed, APPLICATION) == [""]


def test_a_job_looks_healthy_while_it_runs(bed: Bed, git: Git) -> None:
    """To Argo CD's own check a Job that Kueue has resumed is healthy, long before it is done."""
    naive.prepare(bed, runs=1)
    synced(bed, git, [naive.job("train")])
    job = running(bed, JOB, "train")

    bed.until("its health", lambda: kit.health(bed, APPLICATION, "Job") == ["Healthy"])

    assert clusters.condition(job, "Complete") is False
    assert job["status"]["active"] == 1


def test_a_hook_that_kueue_queues_is_deleted_when_it_begins(bed: Bed, git: Git) -> None:
    """A Job that is a hook counts as succeeded when it is admitted; HookSucceeded then deletes it."""
    naive.prepare(bed, runs=1)
    hook = {"argocd.argoproj.io/hook": "Sync", "argocd.argoproj.io/hook-delete-policy": "HookSucceeded"}

    synced(bed, git, [naive.note("1"), naive.job("train", annotations=hook)])

    assert kit.phase(kit.application(bed, APPLICATION)) == "Succeeded"
    bed.until("the run to be gone", lambda: uid(bed, JOB, "train") == "")


def test_a_time_to_live_and_self_heal_run_it_again_and_again(bed: Bed, git: Git) -> None:
    """What ttlSecondsAfterFinished deletes, self-heal creates: the finished run starts anew."""
    naive.prepare(bed, runs=1)
    synced(bed, git, [naive.jobset("train", ttlSecondsAfterFinished=1)])
    first = running(bed, JOBSET, "train")["metadata"]["uid"]
    heal = {"spec": {"syncPolicy": {"automated": {"selfHeal": True}}}}
    bed.api.patch(kit.application(bed, APPLICATION), heal)

    clusters.end_pod(bed, pods(bed, "train")[0])

    bed.until("it to run again", lambda: uid(bed, JOBSET, "train") not in ("", first) and pods(bed, "train"))


def test_without_self_heal_the_next_commit_runs_it_again(bed: Bed, git: Git) -> None:
    """A finished run that was deleted comes back with the next commit to anything of the Application."""
    naive.prepare(bed, runs=1)
    train = naive.jobset("train", ttlSecondsAfterFinished=1)
    synced(bed, git, [train, naive.note("1")])
    first = running(bed, JOBSET, "train")["metadata"]["uid"]
    clusters.end_pod(bed, pods(bed, "train")[0])
    bed.until("it to be deleted", lambda: uid(bed, JOBSET, "train") == "")

    changed(bed, git, [train, naive.note("2")])

    bed.until("it to run again", lambda: uid(bed, JOBSET, "train") not in ("", first) and pods(bed, "train"))


def test_replace_alone_cannot_change_a_job(bed: Bed, git: Git) -> None:
    """Replace=true is not a remedy for what is immutable: the API server refuses it all the same."""
    naive.prepare(bed, runs=1)
    replace = {"argocd.argoproj.io/sync-options": "Replace=true"}
    synced(bed, git, [naive.job("train", annotations=replace), naive.note("1")])
    before = running(bed, JOB, "train")["metadata"]["uid"]

    changed(bed, git, [naive.job("train", annotations=replace), naive.note("2")])

    assert kit.phase(kit.application(bed, APPLICATION)) == "Failed"
    assert "field is immutable" in kit.sync_message(kit.application(bed, APPLICATION))
    assert uid(bed, JOB, "train") == before


def test_force_and_replace_end_the_run_at_every_sync(bed: Bed, git: Git) -> None:
    """With Force=true,Replace=true a commit to anything else ends the run and starts it anew."""
    naive.prepare(bed, runs=1)
    force = {"argocd.argoproj.io/sync-options": "Force=true,Replace=true"}
    synced(bed, git, [naive.job("train", annotations=force), naive.note("1")])
    before = running(bed, JOB, "train")["metadata"]["uid"]

    changed(bed, git, [naive.job("train", annotations=force), naive.note("2")])

    assert kit.phase(kit.application(bed, APPLICATION)) == "Succeeded"
    assert uid(bed, JOB, "train") not in ("", before)


def test_pruning_last_waits_for_what_waits_for_it(bed: Bed, git: Git) -> None:
    """With PruneLast=true the new run waits for quota that the old one holds, and the old one for the new."""
    naive.prepare(bed, runs=1)
    synced(bed, git, [naive.job("train-1")], "PruneLast=true")
    running(bed, JOB, "train-1")

    git.folder(naive.FOLDER, [naive.job("train-2")])
    git.commit("a run of another name")
    kit.until_looked(
        bed,
        APPLICATION,
        "the new run to be queued",
        lambda: clusters.workload_names(bed) == {"train-1", "train-2"},
    )
    waiting = "waiting for healthy state of batch/Job/train-2"
    bed.until("the sync to wait", lambda: waiting in kit.sync_message(kit.application(bed, APPLICATION)))

    assert kit.phase(kit.application(bed, APPLICATION)) == "Running"
    assert clusters.admitted(bed) == {"train-1"}
    assert clusters.suspended(bed) == {"train-2"}


def test_suspend_in_git_interrupts_what_runs(bed: Bed, git: Git) -> None:
    """With `suspend: true` in git Kueue's admission is drift, and the next sync takes it back."""
    naive.prepare(bed, runs=1)
    train = naive.job("train", suspend=True)
    synced(bed, git, [train, naive.note("1")])
    running(bed, JOB, "train")
    before = {pod["metadata"]["uid"] for pod in pods(bed, "train")}
    bed.until("drift", lambda: kit.application(bed, APPLICATION)["status"]["sync"]["status"] == "OutOfSync")

    changed(bed, git, [train, naive.note("2")])

    bed.until(
        "its pod to be gone",
        lambda: not before & {pod["metadata"]["uid"] for pod in pods(bed, "train")},
    )


def test_the_last_object_is_not_pruned(bed: Bed, git: Git) -> None:
    """Argo CD refuses to prune everything: the last run goes on when its file is gone."""
    naive.prepare(bed, runs=1)
    synced(bed, git, [naive.jobset("train")])
    before = running(bed, JOBSET, "train")["metadata"]["uid"]

    changed(bed, git, [])

    app = kit.application(bed, APPLICATION)
    assert "auto-sync will wipe out all resources" in "\n".join(kit.errors(app))
    assert uid(bed, JOBSET, "train") == before


def test_a_written_default_is_drift_of_an_application(bed: Bed, git: Git) -> None:
    """Argo CD drops `selfHeal: false` from an Application when it syncs it: the one above it never agrees."""
    naive.prepare(bed, runs=1)
    below = naive.application(git, selfHeal=False)
    above = {**below, "metadata": {"name": "above", "namespace": NAMESPACE}}
    above = {**above, "spec": {**above["spec"], "source": {**above["spec"]["source"], "path": "above"}}}
    git.folder(naive.FOLDER, [naive.note("1")])
    git.folder("above", [below])
    revision = git.commit("an Application of Applications")
    bed.api.create(above)
    kit.sync(bed, revision, "above")
    kit.sync(bed, revision, APPLICATION)

    assert kit.settled(bed, "above") == ("Succeeded", "OutOfSync", "Healthy")
    assert "selfHeal" not in kit.application(bed, APPLICATION)["spec"]["syncPolicy"]["automated"]
