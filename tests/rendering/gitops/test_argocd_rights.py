"""What an AppProject allows, and what its Application watches, follow from what runs hold."""

import pytest
from tests.conftest import Repo
from tests.words import places

from .kit import (
    COMPONENT,
    FIXED,
    HERE,
    JOB,
    NAMESPACE,
    PLATFORM,
    component,
    documents,
    kinds,
    synced,
    workload,
)


def watched(repo: Repo) -> str:
    """Return the paths whose changes make the Application of the namespace look again."""
    application = documents(repo.read(f"{HERE}/namespace-team-a.yaml"))[1]
    (found,) = application["metadata"]["annotations"].values()
    return str(found)


def test_what_a_fixed_overlay_stands_on_is_watched(empty: Repo) -> None:
    """Its base and components lie outside of the Application's path; a hashed run stands on nothing."""
    patch = """[{"op": "add", "path": "/metadata/labels/mine", "value": "x"}]"""
    patches = f"patches: [{{target: {{kind: JobSet}}, patch: '{patch}'}}]\n"
    text = COMPONENT.replace("resources: [things.yaml]\n", patches)
    empty.write("components/mine/kustomization.yaml", text)
    spot = "pools:\n- {name: spot, tpu: v5litepod-8, provisioning: Spot}\n"
    synced(empty, platform=PLATFORM.replace("pools:\n", spot))
    workload(empty, "h", JOB.replace("tpu:", "components: [components/mine], tpu:"))
    empty.run("render")
    hashed = watched(empty)

    workload(empty, "f", FIXED.replace("tpu:", "components: [components/mine], provisioning: Spot, tpu:"))
    empty.run("render")

    assert hashed == "."
    assert watched(empty) == ".;/bases/components/spot/jobset;/bases/jobset;/components/mine"


@pytest.mark.parametrize("spec", [JOB, FIXED], ids=["hashed", "fixed"])
def test_project_allows_what_the_runs_hold(empty: Repo, spec: str) -> None:
    """A component's kind is allowed while a run of the namespace, a kept one too, holds one."""
    component(empty, "v1 Secret", "rbac.authorization.k8s.io/v1 Role")
    synced(empty)
    workload(empty, "a", spec.replace("tpu:", "onChange: Keep, components: [components/mine], tpu:"))
    empty.run("render")
    with_component = kinds(empty)

    workload(empty, "a", spec.replace("tpu:", "onChange: Keep, tpu:"))
    empty.run("render")

    own = ["ConfigMap", "PersistentVolumeClaim", "Service", "Job", "JobSet", "PathwaysJob"]
    more = ["ConfigMap", "PersistentVolumeClaim", "Secret", *own[2:], "Role"]
    assert more == with_component
    assert (more if spec == JOB else own) == kinds(empty)


@pytest.mark.parametrize("spec", [JOB, FIXED], ids=["cluster role, hashed", "cluster role, fixed"])
def test_object_without_a_namespace_is_not_for_runs(empty: Repo, spec: str) -> None:
    """The rights of a team end at its namespace: what a run brings beyond it is said, and not allowed."""
    component(empty, "rbac.authorization.k8s.io/v1 ClusterRole")
    synced(empty)
    workload(empty, "a", spec.replace("tpu:", "components: [components/mine], tpu:"))

    done = empty.run("render", code=1)

    assert "GITOPS002" in places(done.err)
    assert empty.tree() == {}


def test_object_without_a_namespace_in_a_base_is_said(empty: Repo) -> None:
    """A base of one's own is found out as a component is."""
    path = "bases/jobset/kustomization.yaml"
    empty.write("bases/jobset/role.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n")
    empty.write(path, empty.read(path).replace("resources:\n", "resources:\n- role.yaml\n"))
    synced(empty)
    workload(empty)

    assert "workloads/a.yaml:4:1: GITOPS002" in places(empty.run("render", code=1).err)


def test_edited_run_is_said_and_nothing_is_written(two: Repo) -> None:
    """A frozen run without its kind does not keep the render from saying what is wrong with it."""
    (run,) = two.runs(namespace="team-a")
    path = f"{NAMESPACE}/a/{run}"
    without = [line for line in two.read(path).split("\n") if not line.startswith(("kind:", "apiVersion:"))]
    two.write(path, "\n".join(without))

    assert f"{path}:3: RUN001" in places(two.run("render", code=1).err)


def test_lines_that_end_as_on_windows_are_read(two: Repo) -> None:
    """Git may check files out with carriage returns: the kinds in a frozen run are the same."""
    (run,) = two.runs(namespace="team-a")
    before = kinds(two)
    path = two.root / NAMESPACE / "a" / run
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    two.run("render")

    assert before == kinds(two)
