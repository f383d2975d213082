"""A managed cluster that needs nothing beside its nodes: no folder `_platform`, so nobody waits for one."""

from tests.conftest import Repo

from . import flux_kit
from .kit import HERE, PLATFORM, documents, names, synced, workload

NODES = "pools: [{name: tpus, tpu: v5litepod-8}]\n"
FLUX = "gitops: {flux: {sourceRef: {name: flux-system}}}\n"


def test_argo_cd_is_given_no_platform(empty: Repo) -> None:
    """There is neither an Application, which would find no folder, nor an AppProject for it."""
    synced(empty, platform=NODES)
    workload(empty)

    empty.run("render")

    assert ["controllers.yaml", "gitops.yaml", "namespace-team-a.yaml"] == names(empty)
    kinds = [item["kind"] for name in names(empty) for item in documents(empty.read(f"{HERE}/{name}"))]
    assert kinds == ["AppProject", "Application"] * 3
    assert not (empty.root / "overlays/c1/_platform").exists()
    assert empty.run("render", "--check").code == 0


def test_flux_waits_for_no_platform(empty: Repo) -> None:
    """No Kustomization points at the folder, and none depends on one that does."""
    synced(empty, FLUX, platform=NODES)
    workload(empty)

    empty.run("render")

    depends = {name: spec.get("dependsOn", []) for name, spec in flux_kit.rendered(empty).items()}
    first = {"name": "c1-controllers"}
    assert depends == {
        "c1-controllers": [],
        "c1-access.team-a": [first],
        "c1.team-a": [first, {"name": "c1-access.team-a"}],
    }


def test_platform_comes_and_goes(empty: Repo) -> None:
    """With the first object of the platform it is synced, also when a workload is named, and no longer."""
    synced(empty, platform=NODES)
    workload(empty)
    empty.run("render")
    found = []
    for platform in (PLATFORM, NODES):
        synced(empty, platform=platform)
        empty.run("render")
        empty.run("render", "a")
        found.append("platform.yaml" in names(empty))

    assert found == [True, False]


def test_names_of_a_workload_alone_bring_no_platform(empty: Repo) -> None:
    """`render NAME` makes no platform, and so nothing that syncs one."""
    synced(empty, platform=NODES)
    workload(empty)
    empty.run("render")
    synced(empty)

    empty.run("render", "a")

    assert "platform.yaml" not in names(empty)
