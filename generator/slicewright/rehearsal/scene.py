"""A cluster of a repository as a scene: its live runs from overlays/, its platform from the TPUCluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slicewright.core.compose.kustomization import compose
from slicewright.core.platform import tree as platform
from slicewright.core.problem import Problem, errors
from slicewright.core.rehearsal.against import against as against_blocks
from slicewright.core.rehearsal.script import is_run, part
from slicewright.core.render.changes import render
from slicewright.core.render.plans import plan_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.plan.site import Site
    from slicewright.core.rehearsal.script import Part
    from slicewright.core.render.plans import Planned
    from slicewright.workspace.read import Checkout

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """What one rehearsal is about."""

    site: Site
    parts: tuple[Part, ...]
    platform: tuple[Object, ...]
    catalogue: Catalogue
    notes: tuple[Problem, ...] = ()
    """Warnings about what is played: overlays that are older than their workloads."""


def scenes(checkout: Checkout, clusters: list[str]) -> tuple[list[Scene], tuple[Problem, ...]]:
    """Return a scene for each cluster that has workloads, and what stands against playing them."""
    repository = checkout.repository
    planned, problems = plan_all(repository)
    found = list(errors(problems))
    made: list[Scene] = []
    for name in clusters:
        site = repository.sites[name]
        parts: list[Part] = []
        for entry in planned:
            if entry.plan.cluster != name:
                continue
            objects, against = _live(checkout, entry)
            found += against
            parts.append(part(entry, objects))
        if parts:
            stands = tuple(platform.objects(site))
            made.append(Scene(site, tuple(parts), stands, repository.package.catalogue))
    if not found:
        for scene in made:
            cluster = scene.site.cluster
            found += against_blocks(scene.parts, cluster.name, cluster.priority_classes)
    if found:
        return made, tuple(found)
    notes = list(_stale(checkout, {part.plan.folder for scene in made for part in scene.parts}))
    return [replace(scene, notes=_of(scene, notes)) for scene in made], ()


def _of(scene: Scene, notes: list[tuple[str, Problem]]) -> tuple[Problem, ...]:
    return tuple(problem for cluster, problem in notes if cluster == scene.site.cluster.name)


def _stale(checkout: Checkout, played: set[str]) -> Iterator[tuple[str, Problem]]:
    """Yield, with their clusters, warnings of what a render would change about live runs."""
    for run in render(checkout.repository, checkout.existing).runs:
        folder = f"overlays/{run.cluster}/{run.namespace}/{run.workload}"
        name = f"{run.namespace}/{run.name}"
        if folder not in played:
            message = f"{name} is live in {folder} and is not played: {run.reason}"
        elif run.effect == "changes":
            message = f"{folder} is not what a render would write now; {name} is played as it stands there"
        else:
            message = f"the next render ends {name} ({run.reason}); it is played, for it is live in {folder}"
        hint = "run slicewright render first"
        yield run.cluster, Problem("REH007", message, hint, severity="warning", file=folder)


def _live(checkout: Checkout, entry: Planned) -> tuple[tuple[Object, ...], tuple[Problem, ...]]:
    """Return the objects that an overlay holds now."""
    folder, source = entry.plan.folder, entry.workload.source
    if f"{folder}/kustomization.yaml" not in checkout.existing:
        message = f"{entry.plan.cluster} has no overlay of {entry.workload.key}: there is nothing to play"
        hint = "run slicewright render first"
        return (), (source.problem("REH007", ("metadata", "name"), message, hint),)
    composed = compose(folder, checkout.repository.read_text)
    if composed.outside:
        message = f"{folder} uses {composed.outside[0]}, which a rehearsal does not evaluate"
        return (), (Problem("REH007", message, "run slicewright render", file=folder),)
    live = {item["metadata"]["name"] for item in composed.objects if is_run(item)}
    if not composed.problems and entry.plan.name not in live:
        message = f"{folder} does not hold the run {entry.plan.name} that {entry.workload.key} asks for"
        against = source.problem("REH007", ("metadata", "name"), message, "run slicewright render first")
        return (), (against,)
    return composed.objects, composed.problems
