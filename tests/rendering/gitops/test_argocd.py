"""Applications and AppProjects, object by object."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.rendering.platform.kit import cluster, repository
from tests.words import places

from slicewright.rendering.folder import NamespaceFolder
from slicewright.rendering.gitops.synced import SyncedNamespace, SyncedWorkload, anchor_files
from slicewright.rendering.synced_namespaces import gitops_files

from .kit import HERE, PLATFORM, argocd, documents, made, said, site

EXPECTED: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "argocd.yaml").read_text(encoding="utf-8"))
PATHS = "argocd.argoproj.io/manifest-generate-paths"
FOLDER = "overlays/c1/team-a"
HASHED = SyncedWorkload("hashed", f"{FOLDER}/hashed")
FIXED = SyncedWorkload("fixed", f"{FOLDER}/fixed", ("bases/components/spot/jobset", "bases/jobset"))
KINDS = (("", "Secret"), ("jobset.x-k8s.io", "JobSet"))


def namespace(*workloads: SyncedWorkload, teams: tuple[str, ...] = ("a", "b")) -> SyncedNamespace:
    """Return a namespace that holds workloads."""
    return SyncedNamespace("team-a", FOLDER, teams, workloads, KINDS)


def test_objects_of_a_cluster() -> None:
    """A cluster gets exactly these Applications and AppProjects: the least rights, and safe ways to sync."""
    assert EXPECTED == made(site(), namespace(FIXED, HASHED))


def test_application_per_workload() -> None:
    """Each workload gets an Application of its own in the AppProject of its namespace, and ends its runs."""
    found = made(site("applicationPer: Workload"), namespace(FIXED, HASHED))

    (whole,) = [item for item in EXPECTED["namespace-team-a.yaml"] if item["kind"] == "Application"]
    expected = {}
    for name, paths in (("fixed", ".;/bases/components/spot/jobset;/bases/jobset"), ("hashed", ".")):
        metadata = {
            "name": f"c1.team-a.{name}",
            "namespace": "argocd",
            "annotations": {PATHS: paths},
            "finalizers": ["resources-finalizer.argocd.argoproj.io"],
        }
        source = {**whole["spec"]["source"], "path": f"{FOLDER}/{name}"}
        expected[f"workload-team-a.{name}.yaml"] = [
            {**whole, "metadata": metadata, "spec": {**whole["spec"], "source": source}}
        ]
    expected["namespace-team-a.yaml"] = EXPECTED["namespace-team-a.yaml"][:1]
    listed = ["gitops.yaml", "platform.yaml", "namespace-team-a.yaml", *list(expected)[:2]]

    assert expected == {name: found[name] for name in expected}
    assert listed == found["kustomization.yaml"][0]["resources"]
    assert set(listed) | {"kustomization.yaml"} == set(found)


def test_platform_of_somebody_else_is_not_synced() -> None:
    """Where the platform is not managed there is no Application for it; runs are synced as usual."""
    expected = {name: objects for name, objects in EXPECTED.items() if name != "platform.yaml"}
    expected["kustomization.yaml"] = [
        {**EXPECTED["kustomization.yaml"][0], "resources": ["gitops.yaml", "namespace-team-a.yaml"]}
    ]

    assert expected == made(site(managed=False), namespace(FIXED, HASHED))


@pytest.mark.parametrize("by", ["server: 'https://10.0.0.1:6443'", "name: gke_p_us-west4_c1"])
def test_destination_is_the_cluster_as_argo_cd_knows_it(by: str) -> None:
    """Runs and platform go to the cluster by its server or name; Applications stay in Argo CD's own."""
    found = made(site(f"destination: {{{by}}}, namespace: gitops"), namespace())

    where = yaml.safe_load(f"{{{by}}}")
    home = {"server": "https://kubernetes.default.svc", "namespace": "gitops"}
    expected = {
        "gitops.yaml": (home, home),
        "platform.yaml": ({**where, "namespace": "*"}, where),
        "namespace-team-a.yaml": ({**where, "namespace": "team-a"},) * 2,
    }
    actual = {
        name: (project["spec"]["destinations"][0], application["spec"]["destination"])
        for name, (project, application) in ((name, found[name]) for name in expected)
    }
    assert expected == actual
    assert {"gitops"} == {item["metadata"]["namespace"] for name in expected for item in found[name]}


def test_tree_in_a_folder_of_the_repository() -> None:
    """With `path` every path that Argo CD reads, and every one that it watches, begins with it."""
    found = made(site("path: tpu/tree, targetRevision: release-1"), namespace(FIXED))

    applications = [item for items in found.values() for item in items if item["kind"] == "Application"]
    expected = [
        (f"tpu/tree/{HERE}", "."),
        ("tpu/tree/overlays/c1/_platform", "."),
        ("tpu/tree/overlays/c1/team-a", ".;/tpu/tree/bases/components/spot/jobset;/tpu/tree/bases/jobset"),
    ]
    assert expected == [
        (item["spec"]["source"]["path"], item["metadata"]["annotations"][PATHS]) for item in applications
    ]
    assert {"release-1"} == {item["spec"]["source"]["targetRevision"] for item in applications}


def test_project_of_the_platform_has_the_name_that_is_written() -> None:
    """`project` names the AppProject of the platform, and no other."""
    found = made(site("project: hardware"), namespace())

    projects = [found[name][0]["metadata"]["name"] for name in EXPECTED if name != "kustomization.yaml"]
    assert ["c1-gitops", "hardware", "c1.team-a"] == projects
    assert found["platform.yaml"][1]["spec"]["project"] == "hardware"


def test_description_fits_into_its_field() -> None:
    """Argo CD takes 255 characters; more teams than these are counted."""
    teams = tuple(f"a-team-with-a-long-name-{number}" for number in range(20))

    expected = [
        "The runs in namespace team-a of cluster c1",
        "The runs of a in namespace team-a of cluster c1",
        "The runs of 20 teams in namespace team-a of cluster c1",
    ]
    actual = [
        made(site(), namespace(teams=some))["namespace-team-a.yaml"][0]["spec"]["description"]
        for some in ((), ("a",), teams)
    ]
    assert expected == actual


def test_workload_changes_no_file_that_does_not_name_it() -> None:
    """Headers hold no digest, so that two branches conflict in none of them."""
    before = gitops_files(site(), (namespace(HASHED),), {})
    after = gitops_files(site(), (namespace(HASHED, FIXED),), {})

    assert {f"{HERE}/namespace-team-a.yaml"} == {path for path in before if before[path] != after[path]}
    assert "# inputs: clusters/c1.yaml, cluster c1" == before[f"{HERE}/gitops.yaml"].split("\n")[1]


def test_health_checks_are_a_patch_of_argo_cds_settings() -> None:
    """The checks stand in a Component whose patch is one that kubectl patch takes as well."""
    found = gitops_files(site(), (), {"g_K": "return {}\n", "a_B": "return 1\n"})
    folder = "overlays/c1/_gitops/argocd-cm"

    component = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": [
            {"path": "argocd-cm.yaml", "target": {"version": "v1", "kind": "ConfigMap", "name": "argocd-cm"}}
        ],
    }
    patch = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm"},
        "data": {
            "resource.customizations.health.a_B": "return 1\n",
            "resource.customizations.health.g_K": "return {}\n",
        },
    }
    assert [component] == documents(found[f"{folder}/kustomization.yaml"])
    assert [patch] == documents(found[f"{folder}/argocd-cm.yaml"])
    assert "argocd-cm/" not in "".join(gitops_files(site(), (), {})[f"{HERE}/kustomization.yaml"])


def test_anchor() -> None:
    """What holds a namespace open is a small ConfigMap, the same at every render."""
    found = anchor_files(NamespaceFolder("c1", "team-a"))

    expected = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "slicewright-anchor", "namespace": "team-a"},
        "data": {"about": "stays, so that the last run of the namespace can be pruned"},
    }
    assert [f"{FOLDER}/_anchor.yaml"] == list(found)
    assert [expected] == documents(found[f"{FOLDER}/_anchor.yaml"])


REMOTE = "destination: {name: remote}"
REFUSED: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "argocd_refused.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", REFUSED, ids=[case["when"] for case in REFUSED])
def test_project_of_somebody_else_is_refused(case: dict[str, Any]) -> None:
    """An AppProject that would overwrite another one is a problem where its name is written."""
    texts = [argocd(fields, name=f"c{at}") for at, fields in enumerate(case["clusters"], 1)]

    assert case["where"] == places(said(*texts))


def test_one_project_for_clusters_that_argo_cd_knows_as_one() -> None:
    """Each cluster's own Argo CD, or another namespace of Argo CD, has AppProjects of its own."""
    own = [argocd("project: shared"), argocd("project: shared", name="c2")]
    apart = [argocd("project: shared"), argocd(f"project: shared, namespace: other, {REMOTE}", name="c2")]

    assert ("", "") == (said(*own), said(*apart))


def test_cluster_that_nobody_syncs_has_no_files() -> None:
    """An empty block asks for nothing."""
    found = repository(cluster(f"{PLATFORM.strip()}\ngitops: {{}}"))

    assert found.problems == ()
    assert gitops_files(found.sites["c1"], (namespace(HASHED),), {"a_B": "return 1\n"}) == {}


def test_project_of_a_platform_that_is_not_synced_is_refused() -> None:
    """With `managed: false` there is no AppProject that `project` could name, nor one to share."""
    alone = argocd().replace("spec:\n", "spec:\n  managed: false\n")
    named = argocd("project: shared", name="c2").replace("spec:\n", "spec:\n  managed: false\n")

    assert "clusters/c2.yaml:13:62: FIELD002\n" == places(said(alone, named))


@pytest.mark.parametrize(
    "user",
    ["user:secret", "user:", ":secret", "a%40b:c%2Fd", "ghp_0123456789abcdefABCD", "glpat-0123456789_-abcd"],
)
def test_password_or_token_in_the_url_is_refused(user: str) -> None:
    """It would be in every Application in Git; what is said of it does not repeat it."""
    assert "clusters/c1.yaml:12:30: GITOPS005\n" == places(
        said(argocd().replace("https://", f"https://{user}@"))
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://org@dev.azure.com/org/My%20Project/_git/tree",
        "https://a-very-long-organization@dev.azure.com/a-very-long-organization/p/_git/tree",
        "https://somebody@bitbucket.org/team/tree.git",
        "https://example.com/c++/tree.git",
        "ssh://git@[::1]:2222/tree.git",
        "https://[::1]/tree.git",
        "git@github.com:example/tree.git",
    ],
)
def test_every_url_that_argo_cd_takes_is_one(url: str) -> None:
    """A user, a port, an escaped blank, a plus and an address of IPv6 are written as they are."""
    assert said(argocd().replace("https://example.com/tree.git", url)) == ""
