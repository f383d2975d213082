"""From one Application, or Kustomization, for each workload to one for the namespace: no run ends by that."""

from typing import Any

import pytest
import yaml
from tests.conftest import Repo

from . import flux_kit
from .kit import FIXED, GITOPS, HERE, JOB, documents, names, synced, workload

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

PER_WORKLOAD = GITOPS.replace("}}", ", applicationPer: Workload}}")
FILE = "workload-team-a.a.yaml"
FLUX_PER_WORKLOAD = f"{flux_kit.FLUX}\nkustomizationPer: Workload"


def application(repo: Repo) -> dict[str, Any]:
    """Return the Application of the workload a."""
    (found,) = documents(repo.read(f"{HERE}/{FILE}"))
    return found


def switched(repo: Repo, spec: str = JOB) -> Repo:
    """Render a workload with an Application of its own; then let its namespace have one, and render again."""
    synced(repo, PER_WORKLOAD)
    workload(repo, "a", spec)
    repo.run("render")
    synced(repo)
    assert repo.effects() == []
    return repo


def workload_files(repo: Repo) -> list[str]:
    """Return the names of the files for Argo CD that are about one workload."""
    return [name for name in names(repo) if name.startswith("workload-")]


def test_application_may_go_without_its_runs(empty: Repo) -> None:
    """It stays, without the finalizer that would end its runs, and syncs nothing beside its namespace's."""
    synced(empty, PER_WORKLOAD)
    workload(empty)
    empty.run("render")
    before = application(empty)

    switched(empty)

    after = application(empty)
    assert before["metadata"].pop("finalizers") == ["resources-finalizer.argocd.argoproj.io"]
    assert before["spec"]["syncPolicy"].pop("automated") is not None
    assert before == after
    assert [FILE] == workload_files(empty)
    assert empty.run("render", "--check").code == 0
    assert empty.run("validate", "--strict", "-o", "json", "overlays/c1/_gitops").json["problems"] == []


def test_fixed_workload_is_handed_over_too(empty: Repo) -> None:
    """What is not hashed runs in the cluster all the same."""
    switched(empty, FIXED)

    assert "finalizers" not in application(empty)["metadata"]


def test_new_workload_has_no_application_of_its_own(empty: Repo) -> None:
    """Only what had one before keeps it."""
    switched(empty)
    workload(empty, "b")

    empty.run("render")

    assert [FILE] == workload_files(empty)


def test_application_goes_with_its_workload(empty: Repo) -> None:
    """Its runs, which the Application of the namespace prunes, end as ever."""
    switched(empty)
    (empty.root / "workloads/a.yaml").unlink()

    assert len(empty.effects()) == 1
    assert workload_files(empty) == []


def test_application_goes_when_a_person_deletes_its_file(empty: Repo) -> None:
    """Nobody but a person knows that Argo CD has seen it without its finalizer."""
    switched(empty)
    (empty.root / HERE / FILE).unlink()

    assert empty.effects() == []
    assert workload_files(empty) == []
    assert empty.run("render", "--check").code == 0


def test_foreign_file_is_not_taken_for_an_application(empty: Repo) -> None:
    """What slicewright did not write says nothing about what is in the cluster."""
    synced(empty)
    workload(empty)
    empty.write(f"{HERE}/{FILE}", "kind: List\n")

    empty.run("render")

    assert FILE not in yaml.safe_load(empty.read(f"{HERE}/kustomization.yaml"))["resources"]


def test_way_back_ends_nothing_either(empty: Repo) -> None:
    """With an Application for each workload again, all is as it was at first."""
    synced(empty, PER_WORKLOAD)
    workload(empty)
    empty.run("render")
    before = empty.tree()
    switched(empty)

    synced(empty, PER_WORKLOAD)

    assert empty.effects() == []
    assert before == empty.tree()


def test_kustomization_that_made_a_run_stays(empty: Repo) -> None:
    """Flux lets no other Kustomization take over a run that is written once, so that its own ends it."""
    before = flux_kit.render(empty, FLUX_PER_WORKLOAD)

    after = flux_kit.render(empty)
    empty.workload("new", flux_kit.WORKLOADS["hashed"], metadata=", namespace: team-a")
    empty.run("render")

    own = {name: spec for name, spec in before.items() if name.count(".") == 2}
    assert [f"c1.team-a.{name}" for name in flux_kit.NAMESPACES["team-a"]] == sorted(own)
    assert own == {name: after[name] for name in own}
    assert {"c1.team-a", "c1.team-b"} == after.keys() - before.keys()
    assert after == flux_kit.rendered(empty)
    assert empty.run("render", "--check").code == 0


def test_kustomization_goes_with_its_workload(empty: Repo) -> None:
    """And with it its run; the other ones stay."""
    flux_kit.render(empty, FLUX_PER_WORKLOAD)
    before = flux_kit.render(empty)
    (empty.root / "workloads/hashed.yaml").unlink()

    empty.run("render")

    assert {"c1.team-a.hashed"} == before.keys() - flux_kit.rendered(empty).keys()


def test_each_tool_knows_what_it_had(empty: Repo) -> None:
    """With both tools, a workload that was apart for one of them only is handed over by that one only."""
    argocd = "argocd: {repoURL: 'https://example.com/tree.git'}"
    both = f"gitops:\n  {argocd}\n  flux: {{sourceRef: {{name: flux-system}}, kustomizationPer: PER}}\n"
    synced(empty, both.replace("PER", "Workload"))
    workload(empty)
    empty.run("render")
    synced(empty, both.replace("PER", "Namespace"))
    empty.run("render")

    assert workload_files(empty) == []
    assert (empty.root / "overlays/c1/_gitops/flux" / FILE).is_file()
