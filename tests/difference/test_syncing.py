"""Runs that go with the Application or the Kustomization that syncs them."""

from __future__ import annotations

from typing import Any

from tests.difference.kit import compared, folder, job, platform, reasons, thing, workload


def syncing(
    kind: str = "Application", path: str = "overlays/c/n/w", finalizers: Any = None, **spec: Any
) -> dict[str, Any]:
    """Return an Application or a Kustomization of a folder."""
    is_argocd = kind == "Application"
    return {
        "apiVersion": "argoproj.io/v1alpha1" if is_argocd else "kustomize.toolkit.fluxcd.io/v1",
        "kind": kind,
        "metadata": {"name": path.strip("./").replace("/", "."), "namespace": "x", "finalizers": finalizers},
        "spec": {**({"source": {"path": path}} if is_argocd else {"path": path}), **spec},
    }


def synced(*objects: Any) -> dict[str, Any]:
    """Return the files of a run and of what syncs it, of which one thing always stays."""
    root = syncing(path="overlays/c/_gitops/argocd", finalizers=["other"])
    return workload(job("w-1", "1")) | folder("overlays/c/_gitops/argocd", root, *objects)


OWN = ["resources-finalizer.argocd.argoproj.io"]


TAKEN = ("ends", "w-1", "its Application goes and takes the run along")


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


def test_object_that_is_not_pruned_stays_when_it_leaves_the_tree() -> None:
    """By the annotations of Argo CD or of Flux; one that only changes has no word about it."""
    options = "argocd.argoproj.io/sync-options"
    for written, stays in (
        ({options: "Delete=false, Prune=false"}, True),
        ({"kustomize.toolkit.fluxcd.io/prune": "disabled"}, True),
        ({options: "Prune=true"}, False),
        ({}, False),
        (None, False),
    ):
        kept = thing("ConfigMap", "a", data={"a": "1"})
        kept["metadata"]["annotations"] = written
        (removed,) = compared(platform(kept), {}).objects
        (changed,) = compared(platform(kept), platform({**kept, "data": {"a": "2"}})).objects
        assert (stays, False) == (removed.stays, changed.stays)
