"""What syncs the controllers of a cluster: before everything else, with the rights that they need."""

import shutil
from typing import Any

import pytest
from tests.check.kit import problems
from tests.conftest import PROJECT, Repo
from tests.rendering.bases.kit import kustomize, parsed
from tests.words import places

from slicewright.kubernetes.kinds import is_namespaced
from slicewright.rendering.platform.controller_files import kustomization

from . import flux_kit
from .kit import GITOPS, HERE, documents, names, synced, workload

FLUX = "gitops: {flux: {sourceRef: {name: flux-system}}}\n"
THEIRS = "controllers: {managed: false}\n"


def controllers(repo: Repo) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the AppProject and the Application of the controllers."""
    project, application = documents(repo.read(f"{HERE}/controllers.yaml"))
    return project, application


def test_application_is_applied_first_and_by_the_server(empty: Repo) -> None:
    """In a wave before the platform's; a definition has no room for the annotation of a client-side apply."""
    synced(empty)
    empty.run("render")
    project, application = controllers(empty)
    spec = application["spec"]

    waves = [
        item["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"] for item in (project, application)
    ]
    assert waves == ["-1", "-1"]
    assert spec["syncPolicy"]["automated"] == {"prune": True, "selfHeal": True}
    assert "ServerSideApply=true" in spec["syncPolicy"]["syncOptions"]
    assert spec["source"]["path"] == "overlays/c1/_controllers"
    assert "finalizers" not in application["metadata"]
    watched = application["metadata"]["annotations"]["argocd.argoproj.io/manifest-generate-paths"]
    assert watched == ".;/bases/controllers/jobset-v0.12.0;/bases/controllers/kueue-v0.19.2"


@pytest.mark.ci
@pytest.mark.tools
def test_project_allows_what_the_folder_holds_and_nothing_more(empty: Repo) -> None:
    """Each kind and each namespace that kustomize builds is allowed, and each that is allowed is built."""
    synced(empty, f"versions: {{pathwaysJob: v0.1.4}}\n{GITOPS}")
    empty.run("render")
    spec = controllers(empty)[0]["spec"]
    built = parsed(kustomize(empty.root / "overlays/c1/_controllers"))

    kinds = {(item["apiVersion"].rpartition("/")[0], item["kind"]) for item in built}
    kinds = {("" if group == "v1" else group, kind) for group, kind in kinds}
    for key, wanted in (("namespaceResourceWhitelist", True), ("clusterResourceWhitelist", False)):
        allowed = {(entry["group"], entry["kind"]) for entry in spec[key]}
        assert allowed == {one for one in kinds if is_namespaced(*one) == wanted}
    assert {entry["namespace"] for entry in spec["destinations"]} == {
        item["metadata"]["namespace"] for item in built if "namespace" in item["metadata"]
    }


@pytest.mark.ci
@pytest.mark.tools
def test_definitions_are_never_pruned() -> None:
    """By neither Argo CD nor Flux: with a definition all objects of its kind go, and so all runs."""
    kept = {
        "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
        "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
        "kustomize.toolkit.fluxcd.io/prune": "disabled",
    }
    for folder in sorted((PROJECT / "bases/controllers").iterdir()):
        built = parsed(kustomize(folder))
        definitions = [item for item in built if item["kind"] == "CustomResourceDefinition"]
        assert definitions
        for item in definitions:
            assert kept.items() <= item["metadata"]["annotations"].items()


def test_flux_waits_for_the_controllers(empty: Repo) -> None:
    """The platform depends on them, and they are ready when their pods are; what they left stays."""
    synced(empty, FLUX)
    empty.run("render")
    found = flux_kit.rendered(empty)
    spec = found["c1-controllers"]

    assert (spec["path"], spec["wait"], spec["deletionPolicy"], spec["prune"]) == (
        "./overlays/c1/_controllers",
        True,
        "Orphan",
        True,
    )
    assert "dependsOn" not in spec
    assert found["c1-platform"]["dependsOn"] == [{"name": "c1-controllers"}]
    (item,) = documents(empty.read("overlays/c1/_gitops/flux/controllers.yaml"))
    assert [problem.text() for problem in problems(item)] == []


def test_controllers_of_somebody_else_are_not_synced(empty: Repo) -> None:
    """Neither by Argo CD nor by Flux; the platform waits for nothing then."""
    synced(empty, f"{THEIRS}gitops: {{argocd: {{repoURL: 'https://example.com/t'}}, {FLUX.partition('{')[2]}")
    empty.run("render")

    assert "controllers.yaml" not in names(empty)
    found = flux_kit.rendered(empty)
    assert "c1-controllers" not in found
    assert "dependsOn" not in found["c1-platform"]


@pytest.mark.parametrize("is_link", [True, False])
def test_rights_are_not_made_from_a_release_that_is_not_there(empty: Repo, is_link: bool) -> None:
    """`render NAME` keeps what syncs a cluster right, and would take all rights from an Application."""
    synced(empty)
    workload(empty)
    empty.run("render")
    shutil.rmtree(empty.root / "bases/controllers")
    if is_link:
        (empty.root / "bases/controllers").symlink_to(PROJECT / "bases/controllers")
    else:
        (empty.root / "bases/controllers").mkdir()
    workload(empty, "b")
    before = empty.tree()

    found = empty.run("render", "b", "-o", "json", code=1).json["problems"]

    assert [(one["id"], one["file"]) for one in found if one["severity"] == "error"] == [
        ("CTRL003", "bases/controllers/jobset-v0.12.0/manifests.yaml")
    ]
    assert before == empty.tree()


def test_line_ends_of_another_system_take_no_rights_away(empty: Repo) -> None:
    """A checkout may have other line ends; what is found in manifests is what decides of rights."""
    synced(empty)
    workload(empty)
    empty.run("render")
    before = empty.tree()
    for name in ("jobset-v0.12.0", "kueue-v0.19.2"):
        path = f"bases/controllers/{name}/manifests.yaml"
        empty.write(path, (PROJECT / path).read_text(encoding="utf-8").replace("\n", "\r\n"))

    assert "0 files written, 0 deleted" in empty.run("render").out
    assert {path: text for path, text in before.items() if path.startswith("overlays/")} == {
        path: text for path, text in empty.tree().items() if path.startswith("overlays/")
    }


def test_manifests_in_which_nothing_is_found_stop_a_render(empty: Repo) -> None:
    """What is there and cannot be read would take all rights from the Application, and delete it."""
    synced(empty)
    workload(empty)
    empty.run("render")
    folder = "bases/controllers/kueue-v0.19.2"
    (empty.root / folder / "kustomization.yaml").write_text(kustomization("mine", "{}\n"))
    (empty.root / folder / "manifests.yaml").write_text("{}\n")
    workload(empty, "b")
    before = empty.tree()

    found = empty.run("render", "b", code=1).err

    assert f"{folder}/manifests.yaml: CTRL003" in places(found)
    assert before == empty.tree()


def test_what_syncs_controllers_that_nobody_knows_is_not_deleted(empty: Repo) -> None:
    """`render NAME` keeps the folder of the controllers, and cannot tell what one that was edited holds."""
    synced(empty)
    workload(empty)
    empty.run("render")
    path = "overlays/c1/_controllers/kustomization.yaml"
    empty.write(path, empty.read(path) + "components:\n- ../../../custom/x\n")
    workload(empty, "b")
    before = empty.tree()

    assert f"{path}: CTRL003" in places(empty.run("render", "b", code=1).err)
    assert before == empty.tree()


@pytest.mark.tools
def test_validate_sees_what_is_patched_into_controllers(empty: Repo) -> None:
    """Beside the configuration of Kueue, a patch may bring another image: all of it is looked at."""
    synced(empty, f"kueue: {{}}\n{GITOPS}")
    empty.run("render")
    path = "overlays/c1/_controllers/kueue-restart.patch.yaml"
    image = "/spec/template/spec/containers/0/image"
    before = empty.run("validate", "-o", "json").json
    empty.write(path, empty.read(path) + f"- op: replace\n  path: {image}\n  value: evil/miner:1\n")
    after = empty.run("validate", "-o", "json", code=1).json

    folder = "overlays/c1/_controllers"
    assert [("CTRL003", f"{folder}/kustomization.yaml")] == [
        (one["id"], one["file"]) for one in after["problems"] if one["severity"] == "error"
    ]
    assert after["summary"]["objects"] - before["summary"]["objects"] > 50


def test_names_of_projects_are_not_those_of_the_controllers(empty: Repo) -> None:
    """`project` may not name an AppProject that is rendered for something else."""
    gitops = "gitops: {argocd: {repoURL: 'https://example.com/t', project: c1-controllers}}\n"
    synced(empty, gitops)

    found = empty.run("render", "-o", "json", code=1).json["problems"]
    assert [problem["id"] for problem in found] == ["GITOPS001"]
