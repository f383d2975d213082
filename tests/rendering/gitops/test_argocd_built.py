"""What Argo CD is given, built by kustomize as Argo CD builds it, and checked as everything else is."""

import json
from typing import Any

import pytest
import yaml
from tests.conftest import Repo
from tests.diff.kit import commit, diff
from tests.rendering.bases.kit import canonical, kustomize, parsed
from tests.rendering.plan.test_fields import fields, put
from tests.rendering.platform.kit import cluster, repository
from tests.rendering.test_merge_in_git import git

from slicewright.rendering.compose import compose
from slicewright.rendering.gitops.synced import SyncedNamespace, SyncedWorkload
from slicewright.rendering.io.package_data import package
from slicewright.rendering.synced_namespaces import gitops_files

from .kit import FIXED, GITOPS, HERE, PLATFORM, argocd, documents, names, said, synced, workload

STRICT = "{clusters: [c1], tpu: v5e-8, queueName: queue, container: {image: 'python:3.12.1', script: a}}"
SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd}
data: {url: mine}
"""
PER = ["Namespace", "Workload"]


@pytest.fixture(params=PER)
def rendered(request: pytest.FixtureRequest, empty: Repo) -> Repo:
    """A rendered repository that Argo CD syncs, one Application a namespace or a workload."""
    synced(empty, GITOPS.replace("}}", f", path: tpu, applicationPer: {request.param}}}}}"))
    workload(empty, "a", STRICT)
    workload(empty, "b", STRICT)
    empty.run("render")
    return empty


@pytest.mark.tools
def test_kustomize_builds_every_folder(rendered: Repo) -> None:
    """Applications, anchors and runs are those of the files."""
    expected = [
        item
        for path, text in rendered.tree().items()
        if path.startswith(f"{HERE}/") and not path.endswith("/kustomization.yaml")
        for item in documents(text)
    ]
    assert canonical(expected) == canonical(parsed(kustomize(rendered.root / HERE)))

    for folder in (HERE, "overlays/c1/team-a"):
        ours = compose(folder, lambda path: rendered.tree().get(path))
        assert (ours.problems, ours.outside) == ((), ())
        assert canonical(ours.objects) == canonical(parsed(kustomize(rendered.root / folder)))
    (anchor,) = documents(rendered.read("overlays/c1/team-a/_anchor.yaml"))
    assert anchor in parsed(kustomize(rendered.root / "overlays/c1/team-a"))


@pytest.mark.tools
def test_component_adds_health_checks_to_settings(rendered: Repo) -> None:
    """Argo CD's own kustomization includes the folder: its settings stay, and every check is added."""
    rendered.write("install/argocd-cm.yaml", SETTINGS)
    rendered.write(
        "install/kustomization.yaml",
        "resources: [argocd-cm.yaml]\ncomponents: [../overlays/c1/_gitops/argocd-cm]\n",
    )

    (found,) = parsed(kustomize(rendered.root / "install"))

    checks = {f"resource.customizations.health.{kind}": text for kind, text in package().health.items()}
    assert {"url": "mine", **checks} == found["data"]
    assert found["metadata"] == {"name": "argocd-cm", "namespace": "argocd"}


def test_health_checks_come_with_the_package() -> None:
    """The kinds of runs, and what Kueue makes of them or for them, have a check that returns a status."""
    wanted = {
        "batch_Job",
        "jobset.x-k8s.io_JobSet",
        "kueue.x-k8s.io_AdmissionCheck",
        "kueue.x-k8s.io_ClusterQueue",
        "kueue.x-k8s.io_LocalQueue",
        "kueue.x-k8s.io_Workload",
        "pathways-job.pathways.domain_PathwaysJob",
    }

    assert wanted - package().health.keys() == set()
    assert all("return" in text and "\t" not in text for text in package().health.values())


@pytest.mark.tools
def test_nothing_is_said_against_what_is_rendered(rendered: Repo) -> None:
    """The whole tree passes our own checks, warnings counted; so does each folder that stands by itself."""
    whole = rendered.run("validate", "--strict", "-o", "json").json
    here = str(rendered.root / HERE)
    alone = rendered.run("validate", "--strict", "-o", "json", here).json

    assert ([], []) == (whole["problems"], alone["problems"])
    objects = sum(len(documents(rendered.read(f"{HERE}/{name}"))) for name in names(rendered))
    assert objects == alone["summary"]["objects"]


def test_cluster_that_is_not_managed(empty: Repo) -> None:
    """Runs are synced to a cluster whose platform is somebody else's; there is nothing of the platform."""
    text = cluster(f"{PLATFORM.strip()}\n{GITOPS}")
    empty.write("clusters/c1.yaml", text.replace("spec:\n", "spec:\n  managed: false\n"))
    workload(empty)

    empty.run("render")

    assert names(empty) == ["gitops.yaml", "namespace-team-a.yaml"]


@pytest.mark.slow
@pytest.mark.parametrize("per", PER)
@pytest.mark.parametrize("spec", [STRICT, FIXED], ids=["hashed", "fixed"])
def test_workloads_of_two_people_merge(empty: Repo, per: str, spec: str) -> None:
    """Two that are new side by side: git merges, and the tree is current."""
    synced(empty, GITOPS.replace("}}", f", applicationPer: {per}}}}}"))
    for name in ("d", "m", "w"):
        workload(empty, name, spec)
    git(empty, "init", "-q", "-b", "main")

    def commit_all() -> None:
        empty.run("render")
        git(empty, "add", "-A")
        git(empty, "commit", "-qm", "change")

    commit_all()
    git(empty, "checkout", "-qb", "theirs")
    workload(empty, "p", spec)
    commit_all()
    git(empty, "checkout", "-q", "main")
    workload(empty, "a", spec)
    commit_all()

    git(empty, "merge", "-q", "--no-edit", "theirs")

    assert git(empty, "status", "--porcelain") == ""
    assert empty.run("render", "--check").code == 0


NAMES = ("-controllers", "-gitops", "-platform", ".team-a")


@pytest.mark.slow
def test_diff_shows_what_argo_cd_gets(empty: Repo) -> None:
    """Applications, AppProjects, health checks and anchors are objects like others."""
    synced(empty, "")
    workload(empty)
    empty.run("render")
    commit(empty)
    synced(empty)

    empty.run("render")

    found = [
        (change["effect"], change["kind"], change["namespace"], change["name"])
        for change in diff(empty)["platform"]
    ]
    assert found == [
        ("added", "ConfigMap", "", "argocd-cm"),
        *(("added", "AppProject", "argocd", f"c1{name}") for name in NAMES),
        *(("added", "Application", "argocd", f"c1{name}") for name in NAMES),
        ("added", "ConfigMap", "team-a", "slicewright-anchor"),
    ]


SET = {
    "repoURL": "https://example.com/other.git",
    "targetRevision": "release",
    "path": "tpu",
    "namespace": "gitops",
    "project": "hardware",
    "applicationPer": "Workload",
    "destination.server": "https://10.0.0.1",
    "destination.name": "remote",
}


def test_every_field_is_set_in_a_test() -> None:
    """A field that is new in the schema fails here until somebody says what it does."""
    start = "spec.gitops.argocd."

    assert sorted(SET) == sorted(
        path.removeprefix(start) for path in fields("tpucluster") if path.startswith(start)
    )


@pytest.mark.parametrize("field", SET)
def test_every_field_has_an_effect(field: str) -> None:
    """With another value of a field other objects are rendered."""
    before = yaml.safe_load(argocd())
    after = put(before, f"spec.gitops.argocd.{field}", SET[field])

    assert objects(before) != objects(after)


def objects(document: Any) -> list[Any]:
    """Return everything for Argo CD that is rendered for a TPUCluster with one workload."""
    found = repository(json.dumps(document))
    assert found.problems == ()
    folder = "overlays/c1/team-a"
    alone = SyncedNamespace("team-a", folder, (), (SyncedWorkload("a", f"{folder}/a"),), ())
    return [documents(text) for text in gitops_files(found.sites["c1"], (alone,), {}).values()]


REFUSED = ["'*'", "'!c1'", "'a/*'", "''"]


@pytest.mark.parametrize("name", REFUSED)
def test_name_of_a_destination_is_no_pattern(name: str) -> None:
    """Argo CD takes the destinations of an AppProject for patterns: one would widen the rights of a team."""
    text = cluster(f"{PLATFORM.strip()}\n" + GITOPS.replace("}}", f", destination: {{name: {name}}}}}}}"))

    assert " IN005 " in said(text)
    assert yaml.safe_load(text)["spec"]["gitops"]["argocd"]["destination"]["name"] == name.strip("'")
