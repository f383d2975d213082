"""The committed overlays: what we compose is what kustomize builds."""

from pathlib import Path

import pytest
import yaml
from tests.files import read_text

import slicewright
from slicewright.rendering.build.overlay import overlay
from slicewright.rendering.compose import compose, compose_with, matching
from slicewright.rendering.overlays import Bases, frozen_file, make
from slicewright.rendering.plan.plan import MARKER, Plan
from slicewright.rendering.plans import plan_all

from .kit import ROOT, built, canonical, kustomize, parsed, write

PLANS = slicewright.plan(slicewright.load(ROOT)).plans
FIXED = tuple(plan for plan in PLANS if not plan.run)
HASHED = tuple(plan for plan in PLANS if plan.run)
_LISTS = sorted(
    path
    for path in (ROOT / "overlays").rglob("kustomization.yaml")
    if "kind: Component" not in path.read_text(encoding="utf-8")
)
_ALIKE = {path.read_text(encoding="utf-8"): path for path in _LISTS if path.parent.name == "_controllers"}
"""Folders of controllers by what they say: clusters with the same releases have the same 38,000 lines."""
FOLDERS = tuple(
    path.parent.relative_to(ROOT).as_posix()
    for path in _LISTS
    if path.parent.name != "_controllers" or path in _ALIKE.values()
)


def name(plan: Plan) -> str:
    """Return how a test is called that is about a plan."""
    return f"{plan.cluster}-{plan.name}"


def test_there_is_an_overlay_for_every_plan() -> None:
    """Each workload has a folder on each of its clusters, each namespace a list; the rest begins with '_'."""
    folders = {plan.folder for plan in PLANS}

    found = {folder for folder in FOLDERS if "/_" not in folder}
    assert folders | {folder.rpartition("/")[0] for folder in folders} == found
    assert FIXED
    assert HASHED


@pytest.mark.tools
@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(name, marks=pytest.mark.ci) if name.endswith("/_controllers") else name
        for name in FOLDERS
    ],
)
def test_overlay_builds_as_we_compose_it(folder: str) -> None:
    """Each overlay, and each list of overlays, builds with no flags to what our composition makes of it."""
    made = compose(folder, read_text)

    assert (made.problems, made.outside) == ((), ())
    assert canonical(parsed(kustomize(ROOT / folder))) == canonical(made.objects)


@pytest.mark.tools
@pytest.mark.parametrize("plan", HASHED, ids=name)
def test_recipe_of_frozen_run_builds_to_the_run(tree: Path, plan: Plan) -> None:
    """The recipe of a frozen run - base, components, patches - builds to what stands in its file."""
    checkout = slicewright.load(ROOT)
    planned = next(entry for entry in plan_all(checkout.repository)[0] if entry.plan == plan)
    made, problems = make(planned, Bases(checkout.repository.read_text, checkout.repository.package.schemas))
    assert made is not None, problems
    folder = write(tree / plan.folder, overlay(plan, made.base.objects, made.objects))

    expected = canonical(parsed(read_text(frozen_file(plan)) or ""))

    assert expected == built(folder)
    assert expected == canonical(made.objects)


@pytest.mark.parametrize("plan", FIXED, ids=name)
def test_patch_of_overlay_matches_one_object(plan: Plan) -> None:
    """Each object of the base, after its components, is the target of one patch."""
    objects = compose_with(plan.base, plan.components, read_text)
    spec = yaml.load(read_text(f"{plan.folder}/kustomization.yaml") or "", Loader=yaml.CSafeLoader)

    targets = [matching(patch["target"], objects) for patch in spec["patches"]]

    assert [[item] for item in objects] == targets


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_marker_survives(folder: str) -> None:
    """Nothing that a base asks for is left open in what an overlay makes."""
    for item in compose(folder, read_text).objects:
        assert MARKER not in str(item)


@pytest.mark.parametrize("plan", FIXED, ids=name)
def test_steps_into_lists_are_guarded(plan: Plan) -> None:
    """Every patched list element is tested by name first, so that a changed base fails the build."""
    for path in sorted((ROOT / plan.folder).glob("*.patch.yaml")):
        tested: set[str] = set()
        for operation in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
            steps = operation["path"].split("/")
            if operation["op"] == "test":
                tested.add(operation["path"].removesuffix("/name"))
                continue
            for index, step in enumerate(steps):
                if step.isdigit():
                    assert "/".join(steps[: index + 1]) in tested, operation
