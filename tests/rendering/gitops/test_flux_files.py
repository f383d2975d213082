"""The files for Flux: which there are, what stands in them, and that Flux's own schema takes them."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.check.kit import problems
from tests.conftest import Repo
from tests.files import write
from tests.rendering.bases.kit import canonical, kustomize, parsed

from slicewright.kubernetes.quantity import without_days
from slicewright.rendering import header
from slicewright.rendering.gitops.flux import LONGEST, flux_name

from .flux_kit import FLUX, NAMESPACES, files, kustomizations, namespace, namespaces, objects, render, site

PER_WORKLOAD = f"{FLUX}\nkustomizationPer: Workload"
NAMED = f"{FLUX}\nserviceAccountName: mine"
EVERYTHING = """
sourceRef: {kind: OCIRepository, name: tree, namespace: sources}
path: teams/ml
namespace: gitops
interval: 1d
retryInterval: 30s
timeout: 1.5d12h
"""
VARIANTS = {
    "least": (FLUX, True),
    "not managed": (FLUX, False),
    "a workload each": (PER_WORKLOAD, True),
    "a named account": (NAMED, True),
    "workloads alone": (f"{PER_WORKLOAD}\nserviceAccountName: mine", False),
    "every field": (EVERYTHING, True),
}
FOLDER = "overlays/c1/_gitops"
ACCESS = [
    f"flux-access/{namespace}/{file}.yaml"
    for namespace in ("team-a", "team-b")
    for file in ("access", "kustomization")
]
LABELS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def names(flux: str = FLUX, *, managed: bool = True) -> list[str]:
    """Return the paths below _gitops that a block asks for."""
    return [path.removeprefix(f"{FOLDER}/") for path in files(site(flux, managed=managed), namespaces())]


def specs(flux: str = FLUX, *, managed: bool = True) -> dict[str, Any]:
    """Return the specs of the Kustomizations that a block asks for, by name."""
    return kustomizations(files(site(flux, managed=managed), namespaces()))


def test_nothing_for_a_cluster_without_flux() -> None:
    """A cluster whose file has no gitops.flux gets no file."""
    assert files(site(""), namespaces()) == {}


def test_files_of_a_managed_cluster() -> None:
    """A file for the platform and for each namespace, and a folder of rights for each namespace."""
    expected = [
        "flux/platform.yaml",
        "flux/namespace-team-a.yaml",
        "flux/namespace-team-b.yaml",
        "flux/kustomization.yaml",
        *ACCESS,
    ]
    assert expected == names()


def test_files_of_a_cluster_that_is_not_managed() -> None:
    """The platform of such a cluster is somebody else's, and so is its synchronisation."""
    assert [name for name in specs(managed=False) if "platform" in name] == []
    assert "flux/platform.yaml" not in names(managed=False)


def test_files_of_a_platform_of_nothing() -> None:
    """A managed cluster that needs no object has no folder that a Kustomization could point at."""
    made = files(site(), namespaces(), platform=False)

    assert files(site(managed=False), namespaces()).keys() == made.keys()
    assert "c1-platform" not in "".join(made.values())


def test_files_with_a_kustomization_for_each_workload() -> None:
    """Each workload has a file of its own, so that two pull requests do not meet in one."""
    expected = [
        "flux/platform.yaml",
        "flux/namespace-team-a.yaml",
        "flux/namespace-team-b.yaml",
        "flux/workload-team-a.fixed.yaml",
        "flux/workload-team-a.hashed.yaml",
        "flux/workload-team-a.path.yaml",
        "flux/workload-team-a.two.yaml",
        "flux/kustomization.yaml",
        *ACCESS,
    ]
    assert expected == names(PER_WORKLOAD)


def test_no_rights_for_an_account_that_is_named() -> None:
    """Whoever names an account answers for its rights: none of ours is made, and nothing waits for one."""
    flux = specs(NAMED)

    assert [name for name in names(NAMED) if "access" in name] == []
    assert flux["c1.team-a"]["serviceAccountName"] == "mine"
    assert flux["c1.team-a"]["dependsOn"] == [{"name": "c1-platform"}]


def test_no_list_of_nothing() -> None:
    """Where there is nothing to sync there is no folder, because kustomize refuses an empty list."""
    assert files(site(f"{PER_WORKLOAD}\nserviceAccountName: mine", managed=False), ()) == {}


def test_platform() -> None:
    """The platform is waited for, pruned, and left behind when its Kustomization goes."""
    found = specs()["c1-platform"]
    kinds = [entry.pop("kind") for entry in found.pop("healthCheckExprs")]

    expected = {
        "interval": "10m",
        "path": "./overlays/c1/_platform",
        "prune": True,
        "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
        "timeout": "5m",
        "force": False,
        "deletionPolicy": "Orphan",
        "wait": True,
    }
    assert expected == found
    assert kinds == ["AdmissionCheck", "ClusterQueue", "LocalQueue"]


def test_rights_come_after_the_platform() -> None:
    """Rights are synced apart, after the platform has made the namespaces, and stay when that ends."""
    expected = {
        "interval": "10m",
        "path": "./overlays/c1/_gitops/flux-access/team-a",
        "prune": True,
        "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
        "timeout": "5m",
        "force": False,
        "dependsOn": [{"name": "c1-platform"}],
        "deletionPolicy": "Orphan",
        "wait": False,
    }
    assert expected == specs()["c1-access.team-a"]
    assert "dependsOn" not in specs(managed=False)["c1-access.team-a"]


def test_namespace() -> None:
    """Runs are pruned but never waited for, and stay when the Kustomization of their namespace goes."""
    found = specs()["c1.team-a"]
    del found["patches"]

    expected = {
        "interval": "10m",
        "path": "./overlays/c1/team-a",
        "prune": True,
        "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
        "timeout": "5m",
        "force": False,
        "dependsOn": [{"name": "c1-platform"}, {"name": "c1-access.team-a"}],
        "serviceAccountName": "c1.team-a",
        "deletionPolicy": "Orphan",
        "wait": False,
    }
    assert expected == found


def test_workload() -> None:
    """A workload whose TPUWorkload is gone loses its Kustomization, and that ends its run."""
    found = specs(PER_WORKLOAD)
    paths = {name: spec["path"] for name, spec in found.items() if spec["deletionPolicy"] == "Delete"}

    expected = {
        f"c1.team-a.{workload}": f"./overlays/c1/team-a/{workload}" for workload in NAMESPACES["team-a"]
    }
    assert expected == paths
    assert found["c1.team-a.two"]["serviceAccountName"] == "c1.team-a"
    assert "c1.team-a" not in found


@pytest.mark.parametrize("flux", [FLUX, PER_WORKLOAD, EVERYTHING])
def test_no_kustomization_forces_or_substitutes(flux: str) -> None:
    """Nothing is replaced by force, and no variable is substituted."""
    assert {spec["force"] for spec in specs(flux).values()} == {False}
    assert [name for name, spec in specs(flux).items() if "postBuild" in spec] == []


def test_every_field() -> None:
    """The source, the folder in it, Flux's namespace and its times go where Flux reads them."""
    found = specs(EVERYTHING)["c1.team-a"]

    expected = {
        "interval": "24h",
        "retryInterval": "30s",
        "timeout": "36.0h12h",
        "path": "./teams/ml/overlays/c1/team-a",
        "sourceRef": {"kind": "OCIRepository", "name": "tree", "namespace": "sources"},
    }
    assert expected == {key: found[key] for key in expected}
    within = {item["metadata"]["namespace"] for item in objects(files(site(EVERYTHING), namespaces()))}
    assert within == {"gitops", "team-a", "team-b"}


@pytest.mark.parametrize(("written", "read"), [("10m", "10m"), ("2d", "48h"), ("0.5d30s", "12.0h30s")])
def test_days(written: str, read: str) -> None:
    """Flux reads no days, so that they are hours."""
    assert read == without_days(written)


@pytest.mark.parametrize("variant", VARIANTS)
def test_flux_accepts_every_object(variant: str) -> None:
    """The vendored schemas know every kind and have nothing against it."""
    flux, managed = VARIANTS[variant]
    found = objects(files(site(flux, managed=managed), namespaces()))

    assert len(found) > 0
    assert [problem.text() for item in found for problem in problems(item)] == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_nobody_depends_on_what_is_not_there(variant: str) -> None:
    """Each Kustomization depends on Kustomizations of the same folder, and none on itself in the end."""
    flux, managed = VARIANTS[variant]
    found = specs(flux, managed=managed)
    ready: set[str] = set()
    for _ in found:
        ready |= {
            name
            for name, spec in found.items()
            if {entry["name"] for entry in spec.get("dependsOn", [])} <= ready
        }

    assert ready == set(found)


def test_every_file_is_generated() -> None:
    """Each file has the header, and its second line names the TPUCluster or what the list lists."""
    made = files(site(), namespaces())

    assert [path for path, text in made.items() if not header.is_ours(text)] == []
    inputs = {text.splitlines()[1].partition(";")[0] for text in made.values()}
    expected = {
        "# inputs: clusters/c1.yaml, cluster c1",
        "# inputs: the Kustomizations of Flux in this folder",
        "# inputs: what Flux may do in this namespace",
    }
    assert expected == inputs


def test_another_workload_changes_its_own_file_alone() -> None:
    """A workload that comes adds a file and a line of the list, and changes no other file."""
    before = files(site(PER_WORKLOAD), (namespace("team-a", "a"),))
    after = files(site(PER_WORKLOAD), (namespace("team-a", "a", "b"),))

    changed = sorted(path for path, text in after.items() if before.get(path) != text)
    assert changed == [f"{FOLDER}/flux/kustomization.yaml", f"{FOLDER}/flux/workload-team-a.b.yaml"]


def test_rights_hold_the_kinds_of_the_overlays() -> None:
    """Kinds of a namespace's overlays are added to those that it always has, under the API's names."""
    kinds = (
        ("batch", "Job"),
        ("gateway.networking.k8s.io", "Gateway"),
        ("networking.k8s.io", "Ingress"),
        ("networking.k8s.io", "NetworkPolicy"),
    )
    found = objects(files(site(), (namespace("team-a", kinds=kinds),)))

    (role,) = [item for item in found if item["kind"] == "Role"]
    expected = [
        ["", "configmaps", "persistentvolumeclaims", "services"],
        ["batch", "jobs"],
        ["gateway.networking.k8s.io", "gateways"],
        ["jobset.x-k8s.io", "jobsets"],
        ["networking.k8s.io", "ingresses", "networkpolicies"],
        ["pathways-job.pathways.domain", "pathwaysjobs"],
    ]
    assert expected == [[*rule["apiGroups"], *rule["resources"]] for rule in role["rules"]]


def test_long_names_fit_the_label_of_flux() -> None:
    """Flux writes the name into a label of all that it applies: 63 characters at most, and unique."""
    parts = ("c" * 40, "n" * 30, "w" * 30)
    cut = [flux_name(*parts), flux_name(*parts[:2], "v" + "w" * 29), flux_name("c" * 63 + "-platform")]

    assert flux_name("c", "n", "w") == "c.n.w"
    assert flux_name("c" * 31, "n" * 31) == f"{'c' * 31}.{'n' * 31}"
    assert len(set(cut)) == len(cut)
    assert [name for name in cut if len(name) > LONGEST or not LABEL_VALUE.fullmatch(name)] == []
    assert [name for name in cut if not SUBDOMAIN.fullmatch(name)] == []
    assert cut[0].startswith(f"{'n' * 23}.{'w' * 30}-")


@pytest.mark.slow
@given(st.lists(LABELS, min_size=1, max_size=3))
def test_every_name_is_one_that_kubernetes_takes(parts: list[str]) -> None:
    """Whatever the cluster, the namespace and the workload are called, and wherever the name is cut."""
    name = flux_name(*parts)

    assert SUBDOMAIN.fullmatch(name) is not None
    assert len(name) <= LONGEST


@pytest.mark.tools
@pytest.mark.parametrize("variant", VARIANTS)
def test_kustomize_builds_the_folders(variant: str, tmp_path: Path) -> None:
    """Each folder is built by kustomize without a flag into the objects of its files."""
    flux, managed = VARIANTS[variant]
    of = site(flux, managed=managed)
    made = files(of, namespaces())
    write(tmp_path, made)

    folders = sorted({(tmp_path / path).parent for path in made})
    built = [item for folder in folders for item in parsed(kustomize(folder))]
    assert canonical(objects(made)) == canonical(built)


def test_validate_finds_nothing(empty: Repo) -> None:
    """Nothing of the whole tree with its files for Flux is worth a warning but what Fixed names are."""
    render(empty)

    done = empty.run("validate", "--strict", "-o", "json", "overlays/c1/_gitops")
    assert done.json["problems"] == []
