"""Objects that components bring beside a run: patched in their namespace, and once in a list only."""

import json
import subprocess

import pytest
import yaml
from tests.conftest import Repo
from tests.files import program
from tests.words import places

from slicewright import compose, load
from slicewright.rendering.build import overlay

COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [o.yaml]\n"
SPEC = "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}\ncomponents: [comp]\n"
FIXED = f"naming: Fixed\n{SPEC}"


def config(name: str = "settings", namespace: str = "", kind: str = "ConfigMap", api: str = "v1") -> str:
    """Return an object that a component brings."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return json.dumps({"apiVersion": api, "kind": kind, "metadata": metadata}) + "\n"


def bring(repo: Repo, *items: str) -> None:
    """Write the component `comp`."""
    repo.write("comp/kustomization.yaml", COMPONENT)
    repo.write("comp/o.yaml", "---\n".join(items))


def built(repo: Repo, folder: str) -> list[tuple[str, str, str]] | None:
    """Return kind, namespace and name of what kustomize builds; None: it refuses."""
    answer = subprocess.run(
        [program("kustomize"), "build", repo.root / folder], capture_output=True, check=False
    )
    if answer.returncode:
        return None
    return sorted(
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
        for item in yaml.safe_load_all(answer.stdout)
    )


BROUGHT = {
    "the same name in two namespaces": (
        [config(), config(namespace="other")],
        [("ConfigMap", "default", "settings"), ("ConfigMap", "other", "settings")],
    ),
    "the name of the workload": (
        [config("a", "other", "JobSet", "jobset.x-k8s.io/v1alpha2")],
        [("JobSet", "other", "a")],
    ),
    "the same name in two groups": (
        [config(kind="Service"), config(kind="Service", api="serving.knative.dev/v1")],
        [("Service", "default", "settings"), ("Service", "default", "settings")],
    ),
    "names that are too long for a file": (
        [config("a" * 250), config("a" * 249), config("a" * 248)],
        [("ConfigMap", "default", "a" * count) for count in (248, 249, 250)],
    ),
    "kinds in no namespace": (
        [config(kind="ClusterRole", api="rbac.authorization.k8s.io/v1")],
        [("ClusterRole", "", "settings")],
    ),
    "an object that is named by us": (
        [config("replaced-by-slicewright"), config("replaced-by-slicewright", kind="Namespace")],
        [("ConfigMap", "default", "a"), ("Namespace", "", "a")],
    ),
    "no version": ([config(api="")], [("ConfigMap", "default", "settings")]),
}


@pytest.mark.tools
@pytest.mark.parametrize("what", BROUGHT)
def test_patches_of_a_fixed_overlay_meet_their_object(repo: Repo, what: str) -> None:
    """Whatever a component brings, each object comes out as it was built, in a namespace if it has one."""
    items, expected = BROUGHT[what]
    bring(repo, *items)
    repo.workload("a", FIXED)

    repo.run("render")

    run = ("JobSet", "default", "a")
    made = compose(load(repo.root), "overlays/c1/default").objects
    assert sorted([run, *expected]) == sorted(
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in made
    )
    if what != "no version":  # kustomize refuses such an object, and validation says so
        assert sorted([run, *expected]) == built(repo, "overlays/c1/default")


@pytest.mark.parametrize("target", [{"kind": ".*"}, {"kind": "ConfigMap"}, {"kind": "None"}])
def test_overlay_that_would_make_something_else_is_not_written(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, target: dict[str, str]
) -> None:
    """Where components come in, an overlay is tried in process before it is written."""
    bring(repo, config(), config("other"))
    repo.workload("a", FIXED)
    monkeypatch.setattr(overlay, "_target", lambda _item, _base: target)

    assert places(repo.run("render", code=1).err).startswith("workloads/a.yaml:4:1: BUILD003")


@pytest.mark.parametrize("naming", ["Fixed", "Hashed"])
@pytest.mark.parametrize("other", ["Fixed", "Hashed"])
def test_two_workloads_that_bring_one_object_are_refused(repo: Repo, naming: str, other: str) -> None:
    """Kustomize builds no list that holds an object twice: the problem names both workloads."""
    bring(repo, config())
    repo.workload("a", f"naming: {naming}\n{SPEC}")
    repo.run("render")
    repo.workload("b", f"naming: {other}\n{SPEC}")

    said = places(repo.run("render", code=1).err)
    assert "workloads/b.yaml:9:3: NAME004\n1 error, 0 warnings\n" == said
    assert "NAME004" in repo.run("render", "b", code=1).err


@pytest.mark.tools
def test_list_with_an_object_twice_is_one_that_kustomize_refuses(repo: Repo) -> None:
    """What is refused as a clash does not build: here a component changed after the render."""
    bring(repo, config())
    repo.write("mine/kustomization.yaml", COMPONENT)
    repo.write("mine/o.yaml", config("other"))
    repo.workload("a", FIXED)
    repo.workload("b", FIXED.replace("comp]", "mine]"))
    repo.run("render")

    repo.write("mine/o.yaml", config())

    assert built(repo, "overlays/c1/default") is None
    assert "NAME004" in repo.run("render", "--check", code=1).err


@pytest.mark.tools
def test_workloads_of_two_namespaces_bring_one_object_each(repo: Repo) -> None:
    """What a component brings without a namespace is in that of its workload."""
    bring(repo, config())
    repo.workload("a", FIXED)
    repo.workload("b", FIXED, metadata=", namespace: team")

    repo.run("render")

    assert ("ConfigMap", "team", "settings") in (built(repo, "overlays/c1/team") or [])


def test_object_that_is_another_workload_is_refused(repo: Repo) -> None:
    """A component may not bring what another workload makes under its own name."""
    bring(repo, config("b", kind="JobSet", api="jobset.x-k8s.io/v1alpha2"))
    repo.workload("a", FIXED)
    repo.workload("b", FIXED.replace("components: [comp]\n", ""))

    assert "workloads/a.yaml:9:3: NAME004" in places(repo.run("render", code=1).err)


def test_kept_runs_that_bring_one_object_are_refused(repo: Repo) -> None:
    """Under Keep both runs are listed, and what their component brings is there twice."""
    bring(repo, config())
    for run in (1, 2):
        repo.workload("a", f"run: {run}\nonChange: Keep\n{SPEC}")
        done = repo.run("render", code=run - 1)

    assert "NAME004" in places(done.err)


def test_one_run_that_brings_an_object_twice_is_refused(repo: Repo) -> None:
    """Two objects that become one through the namespace of the run, or its name, are a clash as well."""
    bring(repo, config("replaced-by-slicewright", "x"), config("replaced-by-slicewright", "y"))
    repo.workload("a", FIXED)

    assert "NAME004" in places(repo.run("render", code=1).err)
