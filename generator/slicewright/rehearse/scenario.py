"""A cluster of a repository as a scenario: its platform and its live runs, as overlays/ has them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from slicewright.catalogue.catalogue import Catalogue
from slicewright.check.io.discovery import of_custom
from slicewright.check.io.load import load as load_unit
from slicewright.check.rules.references_pods import KINDS
from slicewright.kubernetes.problem import Problem, errors
from slicewright.kubernetes.types import Object
from slicewright.project.repository_reader import Checkout
from slicewright.rehearse.arriving_load import Load, load_of
from slicewright.rehearse.faults import FAULT_KINDS
from slicewright.rehearse.faults.higher_priority_arrival import arrivals
from slicewright.rehearse.model.fault import validate_blocks
from slicewright.rehearse.model.offline import never_fits
from slicewright.rehearse.model.prices import Prices
from slicewright.rehearse.model.scenario_part import Known, ScenarioPart, is_run, part, run_key
from slicewright.rendering import shared
from slicewright.rendering.changes import render
from slicewright.rendering.compose import FILE_NAME, compose
from slicewright.rendering.existing import Existing, locked_out
from slicewright.rendering.folder import controllers_folder, platform_folder
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, size_range
from slicewright.rendering.plans import Planned, plan_all
from slicewright.rendering.platform import platform_files as platform
from slicewright.rendering.repository import Repository
from slicewright.testbed.manifests import Installation, installation

_MOST_NODES = 100_000
_RENDER = "run slicewright render first"
_KUEUE = "kueue-manager-config.yaml"
"""The file of a platform that no API server gets in a rehearsal: Kueue is started with it."""


class Scenario(Struct, frozen=True):
    """What one rehearsal is about."""

    site: ResolvedCluster
    parts: tuple[ScenarioPart, ...]
    platform: tuple[Object, ...]
    catalogue: Catalogue
    installation: Installation = Installation()
    """What the cluster's tree installs, for a test cluster of our own."""
    notes: tuple[Problem, ...] = ()
    """Warnings about what is rehearsed: overlays that are older than their workloads."""
    beside: tuple[Object, ...] = ()
    """What pods may need and custom/ holds, for all clusters, and shared/ for this one."""
    load: Load | None = None
    """What arrives by profiles."""
    repetition: int = 0
    """Which repetition of it `parts` has, from 0."""
    prices: Prices | None = None
    """What chips cost, where the user says it."""

    def repeated(self, repetition: int) -> Scenario:
        """Return the scenario of a repetition, from 0: what arrives has another seed in each."""
        return self.with_arrivals(repetition)[0] if repetition else self

    def with_arrivals(self, repetition: int = 0) -> tuple[Scenario, tuple[Problem, ...]]:
        """Return the scenario with the arrivals of a repetition, and the problems of these."""
        if self.load is None or not self.load.profiles:
            return self, ()
        arriving, problems = self.load.parts(repetition)
        parts = (*(part for part in self.parts if not part.profile), *arriving)
        return replace(self, parts=parts, repetition=repetition), problems


def scenarios(checkout: Checkout, clusters: list[str]) -> tuple[list[Scenario], tuple[Problem, ...]]:
    """Return a scenario for each cluster that has workloads, and the problems that prevent it."""
    repository = checkout.repository
    planned, problems = plan_all(repository)
    refusals = list(errors(problems))
    custom = _custom(checkout.root)
    played: list[Scenario] = []
    for name in clusters:
        parts: list[ScenarioPart] = []
        for entry in planned:
            if entry.plan.cluster == name:
                objects, problems = _live(checkout, entry)
                refusals += problems
                parts.append(part(entry, objects, FAULT_KINDS))
        if parts:
            site = repository.sites[name]
            objects, problems = _platform(checkout, site)
            install, of_install = installation(site, repository.read_text)
            load, of_load = load_of(repository, name, planned)
            refusals += (*_too_large(site), *problems, *errors(of_install), *errors(of_load))
            notes = tuple(problem for problem in (*of_install, *of_load) if problem.severity != "error")
            catalogue = repository.package.catalogue
            beside = (*custom, *_shared(repository, name))
            played.append(Scenario(site, tuple(parts), objects, catalogue, install, notes, beside, load))
    if not refusals:
        refusals += (problem for scenario in played for problem in _block_problems(scenario))
    if not refusals:
        arriving = [scenario.with_arrivals() for scenario in played]
        played = [scenario for scenario, _ in arriving]
        refusals += (problem for _, problems in arriving for problem in problems)
    if refusals:
        return played, tuple(refusals)
    stale = list(_stale(checkout, {part.plan.folder for scenario in played for part in scenario.parts}))
    return [_with_notes(scenario, stale) for scenario in played], ()


def _too_large(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield a problem for each pool that can have more nodes than the memory of a machine is enough for."""
    for pool, shape in site.pools:
        nodes = size_range(site, pool).most * shape.hosts
        if nodes > _MOST_NODES:
            message = f"pool {pool.name} can have {nodes:,} nodes; a rehearsal has at most {_MOST_NODES:,}"
            hint = "give the pool fewer slices, or a smaller autoscaling.max"
            yield site.cluster.source.problem("REH025", ("spec", "pools", pool.index), message, hint)


def _custom(root: Path) -> tuple[Object, ...]:
    """Return what pods may need of the hand-written objects of a repository."""
    objects = [document.data for unit in of_custom(root).units for document in load_unit(unit).documents]
    return tuple(item for item in objects if isinstance(item, dict) and item.get("kind") in KINDS)


def _shared(repository: Repository, cluster: str) -> Iterator[Object]:
    """Yield what pods may need of the objects that runs of a cluster share."""
    for folder, sources in repository.shared.items():
        if folder.cluster == cluster:
            yield from (item for item in shared.objects(folder, sources) if item["kind"] in KINDS)


def _block_problems(scenario: Scenario) -> tuple[Problem, ...]:
    classes = [
        item["metadata"]["name"] for item in scenario.platform if item["kind"] == "WorkloadPriorityClass"
    ]
    arriving = arrivals(scenario.parts)
    never = never_fits(arriving.values(), scenario.platform, scenario.catalogue, scenario.site)
    hopeless = {of: never[run_key(item)] for of, item in arriving.items() if run_key(item) in never}
    return validate_blocks(scenario.parts, Known(scenario.site.cluster.name, classes, hopeless))


def _with_notes(scenario: Scenario, stale: Iterable[tuple[str, Problem]]) -> Scenario:
    notes = (problem for cluster, problem in stale if cluster == scenario.site.cluster.name)
    return replace(scenario, notes=(*scenario.notes, *notes))


def _stale(checkout: Checkout, played: set[str]) -> Iterator[tuple[str, Problem]]:
    """Yield, with their clusters, warnings of what a render would change about live runs."""
    rendering = render(checkout.repository, checkout.existing)
    for name, site in checkout.repository.sites.items():
        folders = {platform_folder(name): "the platform is"}
        if site.cluster.installs:
            folders[controllers_folder(name)] = "the controllers are"
        for folder, subject in folders.items():
            paths = (change.path for change in rendering.platform)
            files = [posixpath.basename(path) for path in paths if posixpath.dirname(path) == folder]
            if files:
                yield name, _outdated(folder, _of_folder(checkout, folder, files, subject))
    for run in rendering.runs:
        folder, name = run.folder, f"{run.namespace}/{run.name}"
        if folder not in played:
            message = f"the rehearsal leaves out {name}, although it is in {folder}: {run.reason}"
        elif run.effect == "changes":
            message = (
                f"{folder} differs from what a render would write; the rehearsal of {name} uses the overlay"
            )
        else:
            message = (
                f"the next render ends {name} ({run.reason}); it is rehearsed, because it is live in {folder}"
            )
        yield run.cluster, _outdated(folder, message)


def _outdated(folder: str, message: str) -> Problem:
    return Problem("REH007", message, _RENDER, severity="warning", file=folder)


def _of_folder(checkout: Checkout, folder: str, files: list[str], subject: str) -> str:
    """Return in words what a render would change about a folder of a platform."""
    if f"{folder}/{FILE_NAME}" not in checkout.existing:
        return f"{folder} does not exist: {subject} rehearsed as a render would write it"
    message = f"{folder} differs from what a render would write ({', '.join(files)}); "
    message += "the rehearsal uses the overlay"
    if _KUEUE in files:
        message += ", except Kueue's own configuration: the rehearsal uses that of the TPUCluster file"
    return message


def _platform(checkout: Checkout, site: ResolvedCluster) -> tuple[tuple[Object, ...], tuple[Problem, ...]]:
    """Return the platform as an overlay holds it; without one, as the TPUCluster file asks for it."""
    folder = platform_folder(site.cluster.name)
    if not site.cluster.managed or f"{folder}/{FILE_NAME}" not in checkout.existing:
        existing = Existing(checkout.existing)
        return tuple(platform.objects(site, locked_out(site, existing, existing.frozen))), ()
    return _composed(checkout, folder)


def _live(checkout: Checkout, entry: Planned) -> tuple[tuple[Object, ...], tuple[Problem, ...]]:
    """Return the objects that an overlay holds now."""
    folder, source = entry.plan.folder, entry.workload.source
    if f"{folder}/{FILE_NAME}" in checkout.existing:
        objects, problems = _composed(checkout, folder)
        live = {item["metadata"]["name"] for item in objects if is_run(item)}
        if problems or entry.plan.name in live:
            return objects, problems
        message = f"{folder} does not contain the run {entry.plan.name} of {entry.workload.key}"
    else:
        message = f"{entry.plan.cluster} has no overlay of {entry.workload.key}: there is nothing to rehearse"
    return (), (source.problem("REH007", ("metadata", "name"), message, _RENDER),)


def _composed(checkout: Checkout, folder: str) -> tuple[tuple[Object, ...], tuple[Problem, ...]]:
    """Return the objects of a folder of overlays/, and why they cannot be told."""
    composed = compose(folder, checkout.repository.read_text)
    if composed.outside:
        message = f"{folder} uses {composed.outside[0]}, which a rehearsal does not evaluate"
        return (), (Problem("REH007", message, "run slicewright render", file=folder),)
    return composed.objects, composed.problems
