"""Runs that go with the Application or the Kustomization that syncs them."""

from typing import Any

from tests.diff.kit import NS, compared, folder, job, platform, reasons, thing, words_of, workload

OWN = ["resources-finalizer.argocd.argoproj.io"]
ROOT = "overlays/c/_gitops/argocd"
AUTOMATED: Any = {"automated": {"prune": True}}


def syncing(
    kind: str = "Application", path: str = "overlays/c/n/w", finalizers: Any = None, **spec: Any
) -> dict[str, Any]:
    """Return an Application or a Kustomization of a folder, which applies and prunes by itself."""
    is_argocd = kind == "Application"
    own = {"source": {"path": path}, "syncPolicy": AUTOMATED} if is_argocd else {"path": path, "prune": True}
    return {
        "apiVersion": "argoproj.io/v1alpha1" if is_argocd else "kustomize.toolkit.fluxcd.io/v1",
        "kind": kind,
        "metadata": {"name": path.strip("./").replace("/", "."), "namespace": "x", "finalizers": finalizers},
        "spec": {**own, **spec},
    }


def gitops(*objects: Any) -> dict[str, Any]:
    """Return the files of what syncs the cluster by Argo CD, of which one thing always stays."""
    return folder(ROOT, syncing(path=ROOT, finalizers=["other"]), *objects)


def synced(*objects: Any) -> dict[str, Any]:
    """Return the files of a run and of what syncs it."""
    return workload(job("w-1", "1")) | gitops(*objects)


TAKEN = ("ends", "w-1", "its Application is deleted, and the run with it")


def test_run_goes_with_the_application_that_takes_it_along() -> None:
    """It starts again where another one syncs it afterwards, wherever in its repository the tree lies."""
    own = syncing(path="deep/overlays/c/n/w", finalizers=OWN)
    again = ("starts", "w-1", "again: the Kustomization that syncs it now finds it missing")

    assert [TAKEN] == reasons(synced(own), synced())
    assert [TAKEN, again] == reasons(synced(own), synced(syncing("Kustomization", "./overlays/c/n/")))
    assert [TAKEN] == reasons(synced(own), synced(syncing(path="overlays/c/n/w2")))
    assert [TAKEN] == reasons(synced(syncing(path="overlays/c/n", finalizers=OWN)), synced())


def test_run_that_changes_in_place_ends_with_its_application_too() -> None:
    """What is told to change is gone by then."""
    own = syncing(finalizers=OWN)
    before = synced(own) | workload(job("w"))

    assert [("ends", "w", TAKEN[2])] == reasons(before, synced() | workload(job("w", command="b")))


def test_run_goes_on_without_what_syncs_it() -> None:
    """Where that keeps runs, is of other folders, or all that syncs the cluster leaves the tree at once."""
    for other in (
        syncing(),
        syncing(finalizers=["other"]),
        syncing("Kustomization", deletionPolicy="Orphan"),
        syncing(path="overlays/c/n/v", finalizers=OWN),
        syncing(path="overlays/d/n/w", finalizers=OWN),
        syncing(finalizers=OWN, source=None),
        {**syncing(finalizers=OWN), "spec": None},
        thing("Application", "a"),
    ):
        assert [] == reasons(synced(other), synced())
    assert [] == reasons(synced(syncing(finalizers=OWN)), workload(job("w-1", "1")))


GONE = "the last workload of the cluster is gone"
NOBODY = "and nothing else prunes it; delete it with kubectl"
TOO_LATE = "if the run was not pruned first; delete it with kubectl"
LEAVES = f"its Application is deleted and leaves it in the cluster, {TOO_LATE}"
EMPTY = f"nothing is left that its Application could build, {NOBODY}"
ELSEWHERE = f"its Application syncs another cluster now, {NOBODY}"
ANCHOR = {
    f"{NS}/_anchor.yaml": thing("ConfigMap", "anchor", "n"),
    f"{NS}/kustomization.yaml": {"resources": ["_anchor.yaml", "w"]},
}
"""The files of a namespace that has something to build without its workload."""


def test_run_that_leaves_with_all_that_syncs_it_goes_on() -> None:
    """Who should prune it no longer finds its folder, so it asks for its chips still; so does Flux."""
    for own in (syncing(path=NS), syncing(finalizers=OWN)):
        found = compared(synced(own), {})

        assert [("stays", "w-1", EMPTY)] == [(run.effect, run.name, run.reason) for run in found.runs]
        assert [(4, 4)] == [(entry.before, entry.after) for entry in found.asked]
        assert {True} == {change.stays for change in found.objects}
    flux = folder("overlays/c/_gitops/flux", syncing("Kustomization", NS))
    after = EMPTY.replace("Application", "Kustomization")
    assert [("stays", "w-1", after)] == reasons(workload(job("w-1", "1")) | flux, {})
    assert {True} == {change.stays for change in compared(workload(job("w-1", "1")) | flux, {}).objects}


def test_run_whose_folder_somebody_still_builds_is_pruned() -> None:
    """An Application that leaves the tree with all others is in the cluster still, and does so."""
    before = synced(syncing(path=NS)) | ANCHOR

    assert [("ends", "w-1", GONE)] == reasons(before, gitops(syncing(path=NS)) | ANCHOR)
    assert [("ends", "w-1", GONE)] == reasons(before, ANCHOR)


def test_run_goes_on_when_the_application_that_keeps_runs_leaves_with_it() -> None:
    """One that takes along what it synced ends it, and what syncs another folder afterwards never saw it.

    While its folder is still there, it may have seen the commit before it goes.
    """
    goes = f"its Application is deleted and leaves it in the cluster, {NOBODY}"

    assert [("stays", "w-1", goes)] == reasons(synced(syncing(path=NS)), gitops())
    assert [("stays", "w-1", LEAVES)] == reasons(
        synced(syncing(path=NS)) | ANCHOR, gitops(syncing(path=f"{NS}/v")) | ANCHOR
    )
    assert [("ends", "w-1", GONE)] == reasons(synced(syncing(finalizers=OWN)), gitops())


def test_run_that_takes_the_place_of_one_that_goes_on_starts_beside_it() -> None:
    """It has no run whose place it takes, and both ask for their chips."""
    found = compared(synced(syncing(path=NS)), gitops(syncing()) | workload(job("w-2", "2")))

    assert [("stays", "w-1", LEAVES, ""), ("starts", "w-2", "beside Job w-1, which continues", "")] == [
        (run.effect, run.name, run.reason, run.replaces) for run in found.runs
    ]
    assert [(4, 8)] == [(entry.before, entry.after) for entry in found.asked]
    assert ": 1 run starts, 0 runs end, 0 runs change, 1 run goes on outside of the tree; " in words_of(found)
    assert f"  ! n/w-1 goes on, 4 chips: {LEAVES}\n" in words_of(found)


def test_run_is_pruned_by_nobody_whose_application_does_not_prune() -> None:
    """One without automated sync is not an answer at all: then somebody syncs by hand."""
    only_applies = syncing(path=NS, syncPolicy={"automated": {}})
    after = gitops(only_applies) | ANCHOR
    reason = f"its Application does not prune, {NOBODY}"

    assert [("stays", "w-1", reason)] == reasons(synced(only_applies) | ANCHOR, after)
    for by_hand in ({}, {"automated": {"enabled": False, "prune": True}}):
        mute = syncing(path=NS, syncPolicy=by_hand)
        assert [("ends", "w-1", GONE)] == reasons(synced(mute), {})


def test_runs_start_in_the_cluster_that_is_synced_now_and_go_on_in_the_one_before() -> None:
    """Whether their objects change or not; those in the old one are owned by nobody."""
    there, here = ({"name": name, "namespace": "n"} for name in ("there", "here"))
    before, after = synced(syncing(destination=here)), synced(syncing(destination=there))
    made = "its Application makes it in another cluster now"

    found = compared(before, after)

    assert [("stays", "w-1", ELSEWHERE), ("starts", "w-1", made)] == [
        (run.effect, run.name, run.reason) for run in found.runs
    ]
    assert [(4, 8)] == [(entry.before, entry.after) for entry in found.asked]
    text = (
        "  ~ Application x/overlays.c.n.w changed: it syncs another cluster now (here -> there); "
        "what it made in the one before stays\n"
    )
    assert text in words_of(found)
    late = f"its Application syncs another cluster now, {TOO_LATE}"
    assert [("stays", "w-1", late), ("starts", "w-2", "beside Job w-1, which continues")] == reasons(
        before, after | workload(job("w-2", "2"))
    )
    assert [("stays", "w-1", ELSEWHERE)] == reasons(before, gitops(syncing(destination=there)))


def test_one_cluster_by_two_names_is_no_other_cluster() -> None:
    """Argo CD's own has a name and an address; a Kustomization says nothing of where Argo CD syncs."""
    named, addressed = (
        synced(syncing(destination=where))
        for where in ({"name": "in-cluster"}, {"server": "https://kubernetes.default.svc"})
    )

    assert [] == reasons(named, addressed) == reasons(addressed, synced(syncing("Kustomization")))


def test_new_application_that_syncs_elsewhere_is_a_move_too() -> None:
    """As for a changed one: the run is made there, and the one before goes on, if it is not taken along."""
    there = syncing(path=NS, destination={"server": "https://there.example"})
    made = ("starts", "w-1", "its Application makes it in another cluster now")

    assert [("stays", "w-1", ELSEWHERE), made] == reasons(synced(syncing()), synced(there))
    assert [TAKEN, ("starts", "w-1", "again: the Application that syncs it now finds it missing")] == reasons(
        synced(syncing(finalizers=OWN)), synced(there)
    )


def test_kustomization_of_another_cluster_is_a_move_too() -> None:
    """By the Secret or the ConfigMap that says how to reach it."""
    own = synced(syncing("Kustomization"))
    for ref in ("secretRef", "configMapRef"):
        found = compared(own, synced(syncing("Kustomization", kubeConfig={ref: {"name": "far"}})))

        assert ["stays", "starts"] == [run.effect for run in found.runs]
        assert "it syncs another cluster now (its own cluster -> far); " in words_of(found)
    assert [] == reasons(own, synced(syncing("Kustomization", suspend=True, kubeConfig={})))


def test_workload_that_has_an_application_of_its_own_runs_without_its_list() -> None:
    """It syncs the folder directly; one without automated sync, or of another folder, does not.

    Nor do they prune what they no longer apply.
    """
    listed = {**synced(syncing()), f"{NS}/kustomization.yaml": {"resources": ["w"]}}
    unlisted = {**listed, f"{NS}/kustomization.yaml": {"resources": ["v"]}}
    mute = unlisted | gitops(syncing(syncPolicy={}))
    other = unlisted | gitops(syncing(path=f"{NS}/v"))

    assert [] == reasons(listed, unlisted)
    assert {"stays"} == {effect for after in (mute, other) for effect, *_ in reasons(listed, after)}


def test_object_that_is_not_pruned_stays_when_it_leaves_the_tree() -> None:
    """By the annotations of Argo CD or of Flux; one that only changes has no word about it."""
    options = "argocd.argoproj.io/sync-options"
    for written, stays in (
        ({options: "Delete=false, Prune=false"}, True),
        ({"kustomize.toolkit.fluxcd.io/prune": "disabled"}, True),
        ({options: "Prune=true"}, False),
        ({}, False),
    ):
        kept = thing("ConfigMap", "a", data={"a": "1"})
        kept["metadata"]["annotations"] = written
        (removed,) = compared(platform(kept), {}).objects
        (changed,) = compared(platform(kept), platform({**kept, "data": {"a": "2"}})).objects
        assert (stays, False) == (removed.stays, changed.stays)


def test_run_that_may_not_be_pruned_goes_on() -> None:
    """Its object, its chips and its line agree; of Argo CD and Flux each heeds its own annotations."""
    options, flux = "argocd.argoproj.io/sync-options", "kustomize.toolkit.fluxcd.io/prune"
    stays = ("stays", "w-1", "its annotations forbid pruning it; delete it with kubectl")
    argocd_only, flux_only, delete_only = (
        workload(annotated(job("w-1", "1"), written))
        for written in ({options: "Prune=false"}, {flux: "disabled"}, {options: "Delete=false"})
    )
    namespace = gitops(syncing(path=NS)) | ANCHOR

    found = compared(argocd_only, {})
    assert ([stays], [True], [(4, 4)]) == (
        [(run.effect, run.name, run.reason) for run in found.runs],
        [change.stays for change in found.objects],
        [(entry.before, entry.after) for entry in found.asked],
    )
    assert [stays] == reasons(argocd_only | namespace, namespace)
    for pruned in (flux_only, delete_only):
        assert [("ends", "w-1", GONE)] == reasons(pruned | namespace, namespace)
    own = gitops(syncing(finalizers=OWN))
    assert [("ends", "w-1", GONE)] == reasons(argocd_only | own, gitops())
    assert [stays] == reasons(delete_only | own, gitops())
    assert [] == reasons(delete_only | own, delete_only | gitops())


def annotated(data: dict[str, Any], annotations: Any) -> dict[str, Any]:
    """Return an object with annotations."""
    return {**data, "metadata": {**data["metadata"], "annotations": annotations}}
