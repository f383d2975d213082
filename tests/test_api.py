"""The Python interface, as docs/reference/python.md describes it."""

import inspect

import pytest
from tests.conftest import Repo

import slicewright
from slicewright import api
from slicewright.rendering.io import write
from slicewright.rendering.plan.plan import Plan


def test_load_plan_render_write_and_compose(repo: Repo) -> None:
    """The way of `slicewright render`, step by step."""
    checkout = slicewright.load(repo.root / "workloads")
    plans = slicewright.plan(checkout)
    rendering = slicewright.render(checkout)

    assert (repo.root, (), {}) == (checkout.root, checkout.repository.problems, checkout.existing)
    ((plan,), problems) = (plans.plans, plans.problems)
    assert isinstance(plan, Plan)
    assert (problems, plan.cluster, plan.slices * plan.shape.chips) == ((), "c1", 8)
    assert [run.effect for run in rendering.runs] == ["starts"]
    assert not (repo.root / "overlays").exists()

    with write.locked(checkout.root):
        assert write.apply(checkout.root, rendering.writes, rendering.deletes) == ()
    composed = slicewright.compose(slicewright.load(str(repo.root)), plan.folder)

    assert ([item["kind"] for item in composed.objects], composed.problems, composed.outside) == (
        ["JobSet"],
        (),
        (),
    )
    assert slicewright.render(slicewright.load(repo.root)).is_current


def test_render_may_be_limited_to_names(repo: Repo) -> None:
    """Names are `namespace/name`."""
    repo.workload("b")

    rendering = slicewright.render(slicewright.load(repo.root), frozenset({"default/b"}))

    assert [run.workload for run in rendering.runs] == ["b"]


def test_compose_shows_a_fixed_overlay_as_kustomize_builds_it(repo: Repo) -> None:
    """A folder is enough; a namespace composes all its workloads."""
    repo.workload("b", "naming: Fixed\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")
    repo.run("render")
    checkout = slicewright.load(repo.root)

    composed = slicewright.compose(checkout, "overlays/c1/default")

    assert [item["metadata"]["labels"]["slicewright.dev/workload"] for item in composed.objects] == ["a", "b"]
    assert [problem.id for problem in slicewright.compose(checkout, "nowhere").problems] == ["KUS001"]


def test_what_is_wrong_with_files_is_never_raised(repo: Repo) -> None:
    """Problems are values, those of files and those of plans."""
    repo.write("workloads/b.yaml", "a: [")
    repo.workload("a", "clusters: [c1]\ntpu: v5litepod-7\ncontainer: {image: x}")
    checkout = slicewright.load(repo.root)

    assert [problem.id for problem in checkout.repository.problems] == ["YAML001"]
    assert [problem.id for problem in slicewright.plan(checkout).problems] == ["TPU005", "YAML001"]
    rendering = slicewright.render(checkout)
    assert (rendering.writes, rendering.deletes, rendering.unchanged) == ({}, (), 0)
    assert [problem.id for problem in rendering.problems] == ["TPU005", "YAML001"]
    assert not rendering.is_current


def test_what_is_no_repository_is_raised(repo: Repo) -> None:
    """A folder without settings, and a repository that asks for another version."""
    with pytest.raises(slicewright.NoRepositoryError, match=r"no slicewright\.yaml in "):
        slicewright.load(repo.root.parent)
    repo.write("slicewright.yaml", "requires: '>=9'\n")
    with pytest.raises(slicewright.WrongVersionError, match="requires slicewright >=9, and this is "):
        slicewright.load(repo.root)


def test_public_names_are_those_that_are_promised() -> None:
    """Each is documented and typed; another name is an AttributeError."""
    public = [name for name in slicewright.__all__ if name != "__version__"]

    assert all(getattr(slicewright, name) is getattr(api, name) for name in public)
    assert all(getattr(slicewright, name).__doc__ for name in public)
    for name in ("load", "plan", "render", "compose"):
        assert "return" in inspect.get_annotations(getattr(slicewright, name))
    with pytest.raises(AttributeError, match="module 'slicewright' has no attribute 'nothing'"):
        _ = slicewright.nothing
