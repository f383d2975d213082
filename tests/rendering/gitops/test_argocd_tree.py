"""What renders do to the files for Argo CD, to anchors and to lists of namespaces."""

import shutil

import pytest
from tests.conftest import Repo
from tests.words import places

from .kit import (
    FIXED,
    GITOPS,
    HERE,
    JOB,
    NAMESPACE,
    PLATFORM,
    component,
    documents,
    kinds,
    names,
    synced,
    workload,
)

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

PER_WORKLOAD = GITOPS.replace("}}", ", applicationPer: Workload}}")
BOTH = ["controllers.yaml", "gitops.yaml", "namespace-default.yaml", "namespace-team-a.yaml", "platform.yaml"]
TEAM_B = PLATFORM.replace("localQueues: [", "localQueues: [{name: queue, namespace: team-b}, ").replace(
    "{name: a, namespace: team-a}", "{name: b, namespace: team-b}"
)


def listed(repo: Repo, folder: str = NAMESPACE) -> list[str]:
    """Return what the list of a namespace names."""
    found: list[str] = documents(repo.read(f"{folder}/kustomization.yaml"))[0]["resources"]
    return found


def test_namespaces_of_workloads_teams_and_queues_are_synced(empty: Repo) -> None:
    """Each has an Application and an anchor that its list names first, a namespace without runs as well."""
    synced(empty, platform=TEAM_B.replace("namespace: team-a}]}", "namespace: queues}]}"))
    workload(empty)

    empty.run("render")

    found = [name for name in names(empty) if name.startswith("namespace-")]
    assert ["namespace-queues.yaml", "namespace-team-a.yaml", "namespace-team-b.yaml"] == found
    assert ["_anchor.yaml", "a"] == listed(empty)
    assert ["_anchor.yaml"] == listed(empty, "overlays/c1/queues") == listed(empty, "overlays/c1/team-b")
    assert empty.run("render", "--check").code == 0


def test_what_happens_is_said(empty: Repo) -> None:
    """Files for Argo CD are named where they appear, change and go, as those of the platform are."""
    synced(empty, "")
    workload(empty)
    empty.run("render")

    said = []
    for gitops in (GITOPS, GITOPS.replace("tree.git", "other.git"), ""):
        synced(empty, gitops)
        found = empty.run("render", "-o", "json").json["platform"]
        said.append({(entry["path"], entry["effect"], entry["reason"]) for entry in found})
    paths = {*(f"{HERE}/{name}" for name in BOTH if "default" not in name)}
    lists = {f"{HERE}/kustomization.yaml"}
    checks = {f"{HERE}-cm/kustomization.yaml", f"{HERE}-cm/argocd-cm.yaml"}

    assert [
        {(path, "added", "it is new") for path in paths | lists | checks},
        {(path, "changed", "sync files follow the TPUCluster at each render") for path in paths},
        {(path, "removed", "nothing asks for it") for path in paths | lists | checks},
    ] == said


def test_edited_file_is_found_and_restored(two: Repo) -> None:
    """`render --check` fails on a hand edit of an Application, a health check or an anchor."""
    before = two.tree()

    for path in (f"{HERE}/gitops.yaml", f"{HERE}-cm/argocd-cm.yaml", f"{NAMESPACE}/_anchor.yaml"):
        two.write(path, two.read(path) + "# edited\n")
        done = two.run("render", "--check", code=1)
        assert f"--- a/{path}" in done.out
    two.run("render")

    assert before == two.tree()


def test_foreign_file_in_place_of_an_anchor_is_not_overwritten(two: Repo) -> None:
    """Only files with our header are ours."""
    path = two.write(f"{NAMESPACE}/_anchor.yaml", "kind: ConfigMap\n")

    assert f"{path}: TREE001" in places(two.run("render", code=1).err)


def test_namespace_stays_when_its_last_workload_is_gone(two: Repo) -> None:
    """Its Application has to be there to prune the last run, until a person deletes the folder."""
    (two.root / "workloads/b.yaml").unlink()

    assert ["ends c1/default/b-"] == [effect.partition(":")[0][:18] for effect in two.effects()]
    assert ["_anchor.yaml"] == listed(two, "overlays/c1/default")
    assert names(two) == BOTH
    assert two.run("render", "--check").code == 0

    shutil.rmtree(two.root / "overlays/c1/default")
    two.run("render")

    assert names(two) == [name for name in BOTH if "default" not in name]
    assert not (two.root / "overlays/c1/default").exists()


def test_folder_of_a_team_comes_back(two: Repo) -> None:
    """As long as a team or a LocalQueue is in a namespace it is synced."""
    (two.root / "workloads/a.yaml").unlink()
    two.run("render")
    before = two.tree()

    shutil.rmtree(two.root / NAMESPACE)
    two.run("render")

    assert before == two.tree()
    assert ["_anchor.yaml"] == listed(two)


def test_namespace_that_never_was_synced_goes_with_its_last_workload(empty: Repo) -> None:
    """What Argo CD has never seen is nothing to prune."""
    synced(empty, "")
    workload(empty, "b", namespace="default")
    empty.run("render")
    (empty.root / "workloads/b.yaml").unlink()
    synced(empty)

    empty.run("render")

    assert names(empty) == [name for name in BOTH if "default" not in name]
    assert not (empty.root / "overlays/c1/default").exists()


def test_without_gitops_its_files_go_and_runs_stay(two: Repo) -> None:
    """`gitops` taken out of the TPUCluster deletes Applications and anchors, and touches no run."""
    runs = [path for path in two.tree() if path.count("/") == 4 and "/_" not in path]
    before = two.stamps()
    synced(two, "")

    assert two.effects() == []

    after = two.stamps()
    assert [before[path] for path in runs] == [after[path] for path in runs]
    assert [path for path in after if "_gitops" in path or "_anchor" in path] == []
    assert ["a"] == listed(two)


def test_without_the_cluster_all_of_it_goes(two: Repo) -> None:
    """A cluster that is gone is synced by nobody, and no namespace of it stays."""
    for path in ("clusters/c1.yaml", "workloads/a.yaml", "workloads/b.yaml"):
        (two.root / path).unlink()

    two.run("render")

    assert two.tree() == {}


def test_file_that_nothing_asks_for_is_deleted(two: Repo) -> None:
    """Leftovers with our header go from all folders of what syncs a cluster; foreign files stay."""
    head = "# Code generated by slicewright; DO NOT EDIT.\n# inputs: x\n"
    for path in (f"{HERE}/old.yaml", "overlays/c1/_gitops/flux/old/old.yaml"):
        two.write(path, f"{head}kind: List\n")
    mine = two.write(f"{HERE}/mine.yaml", "kind: List\n")

    two.run("render")

    assert [mine] == [path for path in two.tree() if path.endswith(("old.yaml", "mine.yaml"))]


@pytest.mark.parametrize("naming", ["Hashed", "Fixed"])
def test_application_per_workload_follows_the_workloads(empty: Repo, naming: str) -> None:
    """A new workload adds one Application and one line; one that is gone takes them away."""
    synced(empty, PER_WORKLOAD)
    spec = JOB if naming == "Hashed" else FIXED
    workload(empty, "a", spec)
    empty.run("render")
    before = empty.stamps()

    workload(empty, "b", spec)
    empty.run("render")
    after = empty.stamps()

    new = f"{HERE}/workload-team-a.b.yaml"
    lists = {f"{HERE}/kustomization.yaml", f"{NAMESPACE}/kustomization.yaml"}
    assert {path for path in before if before[path] != after[path]} == lists
    assert {new} == {path for path in after.keys() - before.keys() if "_gitops" in path}

    (empty.root / "workloads/b.yaml").unlink()
    empty.run("render")

    assert {path: state[0] for path, state in before.items()} == {
        path: state[0] for path, state in empty.stamps().items()
    }


def test_hashed_run_changes_nothing_that_syncs_it(two: Repo) -> None:
    """A changed workload, a rerun and another base leave every file for Argo CD and every anchor alone."""
    before = {path: state for path, state in two.stamps().items() if "/_" in path}

    workload(two, "a", JOB.replace("script: a", "script: b"))
    two.run("render")
    two.run("rerun", "team-a/a")
    base = "bases/jobset/jobset.yaml"
    two.write(base, two.read(base) + "# changed\n")
    two.run("render")

    assert before == {path: state for path, state in two.stamps().items() if "/_" in path}


class TestNamed:
    """`render NAME` keeps what syncs the cluster right, and touches nothing that has to do with others."""

    def test_new_workload_gets_its_application(self, empty: Repo) -> None:
        """Where Argo CD has an Application a workload, the named one gets its own; the others stay."""
        synced(empty, PER_WORKLOAD)
        workload(empty)
        empty.run("render")
        before = empty.stamps()
        workload(empty, "b")
        workload(empty, "c")

        empty.run("render", "b")

        added = {path for path in empty.stamps().keys() - before.keys() if "_gitops" in path}
        assert {f"{HERE}/workload-team-a.b.yaml"} == added
        assert names(empty) == [
            "controllers.yaml",
            "gitops.yaml",
            "namespace-team-a.yaml",
            "platform.yaml",
            "workload-team-a.a.yaml",
            "workload-team-a.b.yaml",
        ]

    def test_workload_that_left_the_cluster_loses_its_application(self, empty: Repo) -> None:
        """Its file goes, with the line of the list."""
        synced(empty, PER_WORKLOAD)
        synced(empty, "", name="c2")
        for name in "ab":
            workload(empty, name)
        empty.run("render")
        workload(empty, "a", JOB.replace("c1", "c2"))

        empty.run("render", "a")

        assert [name for name in names(empty) if name.startswith("workload")] == ["workload-team-a.b.yaml"]

    def test_namespace_of_a_new_workload_is_synced(self, two: Repo) -> None:
        """It gets its anchor, its AppProject and its Application at once."""
        workload(two, "n", namespace="new")

        two.run("render", "n")

        assert names(two) == sorted([*BOTH, "namespace-new.yaml"])
        assert ["_anchor.yaml", "n"] == listed(two, "overlays/c1/new")
        assert two.run("render", "--check").code == 0

    def test_platform_and_other_namespaces_wait(self, two: Repo) -> None:
        """A team that is new in the TPUCluster is synced when all is rendered."""
        synced(two, platform=TEAM_B)

        two.run("render", "a")
        named = names(two)
        two.run("render")

        assert named == BOTH
        assert names(two) == sorted([*BOTH, "namespace-team-b.yaml"])

    def test_nothing_is_synced_that_was_not_before(self, empty: Repo) -> None:
        """With `gitops` just written, the first render of all makes the Applications."""
        synced(empty, "")
        workload(empty)
        workload(empty, "b", namespace="default")
        empty.run("render")
        synced(empty)

        empty.run("render", "a")
        named = (names(empty), listed(empty), listed(empty, "overlays/c1/default"))
        empty.run("render")

        assert ([], ["_anchor.yaml", "a"], ["b"]) == named
        assert names(empty) == BOTH
        assert ["_anchor.yaml", "b"] == listed(empty, "overlays/c1/default")

    def test_files_of_a_cluster_without_gitops_wait(self, two: Repo) -> None:
        """With `gitops` just taken out, the first render of all deletes them."""
        synced(two, "")

        two.run("render", "a")

        assert names(two) == BOTH
        assert ["a"] == listed(two)
        two.run("render")
        assert names(two) == []

    def test_other_workloads_count_as_they_are(self, empty: Repo) -> None:
        """An overlay that cannot be read, or stands on what is gone, adds no kind and stops nobody."""
        component(empty, "v1 Secret")
        synced(empty)
        workload(empty)
        workload(empty, "gone", FIXED.replace("tpu:", "components: [components/mine], tpu:"))
        for name in ("broken", "odd"):
            workload(empty, name, FIXED)
        empty.run("render")
        shutil.rmtree(empty.root / "components")
        for name, text in (("broken", "<<<<<<< ours\n"), ("odd", "- a\n")):
            path = f"{NAMESPACE}/{name}/kustomization.yaml"
            empty.write(path, "".join(empty.read(path).splitlines(keepends=True)[:2]) + text)
        for name in ("gone", "broken", "odd"):
            (empty.root / f"workloads/{name}.yaml").unlink()

        empty.run("render", "a")

        assert "Secret" not in kinds(empty)
        assert ["_anchor.yaml", "a", "broken", "gone", "odd"] == listed(empty)
