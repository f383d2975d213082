"""A cluster of a repository as a scenario: its platform, the live runs of overlays/, and its arrivals."""

import itertools
import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from slicewright.catalogue.catalogue import Catalogue
from slicewright.check.rules.references_pods import KINDS
from slicewright.intent.matrix import room_for_name
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import Problem, errors
from slicewright.kubernetes.types import Object
from slicewright.project.judge import custom
from slicewright.project.repository_reader import Checkout
from slicewright.rehearse.fault_kinds import FAULT_KINDS, arriving_runs
from slicewright.rehearse.model.arrivals import Arrival, Profile, arrivals, profiles, validate_profiles
from slicewright.rehearse.model.event import run_key
from slicewright.rehearse.model.losses import validate_losses
from slicewright.rehearse.model.metrics import Arriving
from slicewright.rehearse.model.prices import Prices
from slicewright.rehearse.model.scenario_part import Known, ScenarioPart, is_run, part, queues_behind
from slicewright.rehearse.model.scenario_problems import never_fits, validate_blocks
from slicewright.rendering import shared
from slicewright.rendering.changes import render
from slicewright.rendering.compose import compose
from slicewright.rendering.existing import Existing, locked_out
from slicewright.rendering.folder import controllers_folder, platform_folder
from slicewright.rendering.kustomization import FILE_NAME
from slicewright.rendering.overlays import Bases, make
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, size_range
from slicewright.rendering.plans import Planned, plan_all
from slicewright.rendering.platform import platform_files
from slicewright.rendering.repository import Repository
from slicewright.testbed.manifests import Installation, installation


class Load(Struct, frozen=True):
    """The arrival profiles of a cluster, and the workloads that they name."""

    repository: Repository
    cluster: str
    profiles: tuple[Profile, ...]
    templates: Mapping[str, Workload]
    """By each name that a profile may write."""

    def parts(self, repetition: int = 0) -> tuple[tuple[ScenarioPart, ...], tuple[Problem, ...]]:
        """Return what arrives in a repetition, in order, and the problems of that.

        Each repetition has a seed of its own.
        """
        coming = [arrival for profile in self.profiles for arrival in arrivals(profile, repetition)]
        taken = {workload.key for workload in self.repository.workloads}
        numbers = itertools.count(1)
        named: dict[str, tuple[Arrival, Workload]] = {}
        for arrival in sorted(coming, key=lambda arrival: arrival.at):
            template = self.templates[arrival.job.workload]
            candidates = (_numbered(template, number) for number in numbers)
            run = next(workload for workload in candidates if workload.key not in taken)
            named[run.key] = arrival, replace(run, clusters=(self.cluster,))
        several = replace(self.repository, workloads=tuple(run for _, run in named.values()))
        planned, problems = plan_all(several)
        bases = Bases(self.repository.read_text, self.repository.package.schemas)
        parts: list[ScenarioPart] = []
        refusals = list(errors(problems))
        for entry in planned:
            built, wrong = make(entry, bases)
            refusals += wrong
            if built is not None:
                parts.append(_arriving(entry, built.objects, named[entry.workload.key][0]))
        return tuple(parts), tuple(refusals)

    def arriving(self, repetition: int, platform: Iterable[Object]) -> tuple[Arriving, ...]:
        """Return each profile with the queues of a platform that its mix asks for, in a repetition."""
        queues = queues_behind(platform)
        arriving: dict[Arriving, None] = {}
        for profile in self.profiles:
            for job in profile.mix:
                template = self.templates[job.workload]
                queue = queues.get((template.namespace, template.queue_name), "")
                arriving[Arriving(profile.name, profile.seeded(repetition), queue)] = None
        return tuple(arriving)


def _numbered(template: Workload, number: int) -> Workload:
    """Return a workload with a number after its name, which is cut to the length that controllers accept."""
    suffix = f"-{number}"
    room = room_for_name(template.resolved_spec) - len(suffix)
    return replace(template, name=template.name[:room].rstrip("-") + suffix)


def _arriving(entry: Planned, objects: Collection[Object], arrival: Arrival) -> ScenarioPart:
    """Return the part of an arrival. Faults and expectations are those of the template's own run."""
    usual = part(entry, objects, FAULT_KINDS)
    duration = usual.duration if arrival.duration is None else arrival.duration
    return replace(
        usual, submit_at=arrival.at, duration=duration, faults=(), expect=(), profile=arrival.profile
    )


def load_of(
    repository: Repository, cluster: str, planned: Iterable[Planned]
) -> tuple[Load, tuple[Problem, ...]]:
    """Return the load of a cluster with planned workloads, and the problems of its profiles."""
    meant: dict[str, list[Workload]] = {}
    for entry in planned:
        workload = entry.workload
        if entry.plan.cluster == cluster:
            for name in (*workload.names, workload.key):
                meant.setdefault(name, []).append(workload)
    site = repository.sites[cluster]
    keys = {name: [workload.key for workload in workloads] for name, workloads in meant.items()}
    problems = tuple(validate_profiles(site.cluster.source, keys))
    usable = () if errors(problems) else profiles(site.cluster.spec)
    templates = {name: workloads[0] for name, workloads in meant.items()}
    return Load(repository, cluster, usable, templates), problems


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
    """Which repetition it is, from 0: it moves the seeds of what arrives and of what is lost."""
    prices: Prices | None = None
    """What chips cost, where the user says it."""

    def repeated(self, repetition: int) -> Self:
        """Return the scenario of a repetition, from 0: arrivals and losses have another seed in each."""
        return replace(self.with_arrivals(repetition)[0], repetition=repetition) if repetition else self

    def with_arrivals(self, repetition: int = 0) -> tuple[Self, tuple[Problem, ...]]:
        """Return the scenario with the arrivals of a repetition, and the problems of these."""
        if self.load is None or not self.load.profiles:
            return self, ()
        arriving, problems = self.load.parts(repetition)
        parts = (*(part for part in self.parts if not part.profile), *arriving)
        return replace(self, parts=parts), problems


def scenarios(checkout: Checkout, clusters: list[str]) -> tuple[list[Scenario], tuple[Problem, ...]]:
    """Return a scenario for each cluster that has workloads, and the problems that prevent it."""
    repository = checkout.repository
    planned, problems = plan_all(repository)
    refusals = list(errors(problems))
    beside = tuple(other.data for other in custom(checkout.root) if other.kind in KINDS)
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
            beside_runs = (*of_install, *of_load, *validate_losses(site))
            refusals += (*_too_large(site), *problems, *errors(beside_runs))
            notes = tuple(problem for problem in beside_runs if problem.severity != "error")
            catalogue = repository.package.catalogue
            needed = (*beside, *_shared(repository, name))
            played.append(Scenario(site, tuple(parts), objects, catalogue, install, notes, needed, load))
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
    """Yield a problem for each pool that can have more nodes than fit into the memory of a machine."""
    for pool, shape in site.pools:
        nodes = size_range(site, pool).most * shape.hosts
        if nodes > _MOST_NODES:
            message = f"pool {pool.name} can have {nodes:,} nodes; a rehearsal has at most {_MOST_NODES:,}"
            hint = "give the pool fewer slices, or a smaller autoscaling.max"
            yield site.cluster.source.problem("REH025", ("spec", "pools", pool.index), message, hint)


def _shared(repository: Repository, cluster: str) -> Iterator[Object]:
    """Yield what pods may need of the objects that runs of a cluster share."""
    for folder, sources in repository.shared.items():
        if folder.cluster == cluster:
            yield from (item for item in shared.objects(folder, sources) if item["kind"] in KINDS)


def _block_problems(scenario: Scenario) -> tuple[Problem, ...]:
    classes = [
        item["metadata"]["name"] for item in scenario.platform if item["kind"] == "WorkloadPriorityClass"
    ]
    arriving = arriving_runs(scenario.parts)
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
    """Return the platform in its overlay; without an overlay, as the TPUCluster file declares it."""
    folder = platform_folder(site.cluster.name)
    if not site.cluster.managed or f"{folder}/{FILE_NAME}" not in checkout.existing:
        existing = Existing(checkout.existing)
        return tuple(platform_files.objects(site, locked_out(site, existing, existing.frozen))), ()
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
    """Return the objects of a folder of overlays/, and the problems of composing them."""
    composed = compose(folder, checkout.repository.read_text)
    if composed.outside:
        message = f"{folder} uses {composed.outside[0]}, which a rehearsal does not evaluate"
        return (), (Problem("REH007", message, "run slicewright render", file=folder),)
    return composed.objects, composed.problems
