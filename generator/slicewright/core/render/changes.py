"""What a render does: files that are written and deleted, runs that start and end."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from slicewright.core.compose.kustomization import FILE_NAME
from slicewright.core.compose.spec import OTHER_NAMES, second
from slicewright.core.gitops import anchor, place
from slicewright.core.problem import Problem, errors, in_order
from slicewright.core.render import gitops, platform, tree
from slicewright.core.render.conflicts import conflicts
from slicewright.core.render.existing import ROOT, Existing, edited, is_namespace, is_workload, reused
from slicewright.core.render.lockout import locked_out, refused, waiting
from slicewright.core.render.plans import Planned, plan_all
from slicewright.core.run import header
from slicewright.core.run.listing import is_same_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.render.platform import PlatformChange
    from slicewright.core.render.repository import Repository

Effect = Literal["starts", "ends", "changes"]

_GOES_ON = "in the cluster it goes on, for nobody is left to prune it: delete it with kubectl"


@dataclass(frozen=True, slots=True)
class RunChange:
    """One run that a render starts, ends, or (Fixed only) changes."""

    effect: Effect
    cluster: str
    namespace: str
    workload: str
    name: str
    """Of the run object; for a Fixed workload that of the workload."""
    reason: str

    @property
    def folder(self) -> str:
        """The folder of the workload."""
        return f"{ROOT}/{self.cluster}/{self.namespace}/{self.workload}"

    def record(self) -> dict[str, str]:
        """Return the JSON form."""
        return {
            "effect": self.effect,
            "cluster": self.cluster,
            "namespace": self.namespace,
            "workload": self.workload,
            "name": self.name,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Rendering:
    """What the tree should hold, against what it holds."""

    writes: dict[str, str] = field(default_factory=dict)
    """Files to write, by path: new ones and changed ones, runs before the lists that name them."""
    deletes: tuple[str, ...] = ()
    unchanged: int = 0
    """Generated files that stay as they are."""
    runs: tuple[RunChange, ...] = ()
    platform: tuple[PlatformChange, ...] = ()
    """What happens to the files of platforms, which are live."""
    problems: tuple[Problem, ...] = ()
    planned: tuple[Planned, ...] = ()
    staying: tuple[str, ...] = ()
    """The files of frozen runs that stay as they are."""
    begun: frozenset[str] = frozenset()
    """The runs that start or change, or would without an error elsewhere: folder of the workload and name."""
    untainted: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)
    """By cluster the flavors whose taint waits, with the files of the runs that it waits for."""

    @property
    def ended(self) -> tuple[RunChange, ...]:
        """The runs that this render ends."""
        return tuple(run for run in self.runs if run.effect == "ends")

    @property
    def is_current(self) -> bool:
        """Whether the tree already holds what it should."""
        return not self.writes and not self.deletes and not errors(self.problems)

    def over_limit(self, most: int) -> Problem | None:
        """Return the problem of a render that ends more runs than it may."""
        ended = len(self.ended)
        if ended <= most:
            return None
        noun = "run" if ended == 1 else "runs"
        message = f"this render would end {ended:,} {noun}, and {most:,} may end at once"
        return Problem("RUN004", message, f"if that is what you want: slicewright render --end-runs {ended}")


@dataclass(slots=True)
class _Draft:
    """A rendering while it grows."""

    existing: Existing
    problems: list[Problem]
    files: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    runs: list[RunChange] = field(default_factory=list)

    def note(self, effect: Effect, folder: str, name: str, reason: str) -> None:
        """Note what happens to a run."""
        _, cluster, namespace, workload = folder.split("/")
        self.runs.append(RunChange(effect, cluster, namespace, workload, name, reason))

    def texts(self) -> dict[str, str]:
        """Return the tree as it will be, but what this render has yet to make."""
        return {path: self.existing.texts[path] for path in self.kept} | self.files


def render(
    repository: Repository, existing: Mapping[str, str], selected: frozenset[str] | None = None
) -> Rendering:
    """Return what has to change under overlays/ and provision/.

    `existing` holds the text of every file there by path from the root. `selected` limits the change to
    some workloads, by `namespace/name`; None means all, and the platforms of the clusters. With errors
    among the problems there is nothing to write.
    """
    planned, problems = plan_all(repository)
    draft = _Draft(Existing(existing), list(problems))
    bases = tree.Bases(repository.read_text, repository.package.schemas)
    wanted = {entry.plan.folder: entry for entry in planned}
    present = [folder for folder in draft.existing.folders if is_workload(folder)]
    touched = {folder for folder in (*wanted, *present) if selected is None or _key(folder) in selected}
    for folder, entry in wanted.items():
        if folder in touched:
            if tree.frozen_file(entry.plan) not in draft.existing.frozen:
                draft.problems += refused(entry, repository.sites[entry.plan.cluster])
            _render_one(draft, entry, bases, repository.package.version)
    keys = {entry.workload.key for entry in planned}
    rendered = [folder for folder in wanted if folder in touched]
    staying_folders = [*rendered, *(folder for folder in present if folder not in touched)]
    for folder in sorted(touched - wanted.keys()):
        reason = "the workload left the cluster" if _key(folder) in keys else "the workload is gone"
        site = _site(folder, repository)
        goes_on = not gitops.is_synced(site) and gitops.is_left(folder, draft.existing, staying_folders)
        _end_folder(draft, folder, f"{reason}; {_GOES_ON}" if goes_on else reason)
    lasting = gitops.lasting(repository.sites, draft.existing)
    listed = {posixpath.dirname(folder) for folder in touched} | (lasting if selected is None else set())
    _lists(draft, staying_folders, listed, lasting, repository)
    synced = _synced(draft.existing, listed, repository, everything=selected is None)
    if selected is not None:
        _keep_others(draft, touched, listed, synced)
    beside = [entry for folder, entry in wanted.items() if posixpath.dirname(folder) in listed]
    staying = tuple(sorted(draft.kept & draft.existing.frozen.keys()))
    draft.problems += conflicts(beside, staying, anchor.held(draft.files), bases, draft.existing)
    sites = repository.sites
    untainted = {name: locked_out(site, draft.existing, draft.kept) for name, site in sites.items()}
    if selected is None and not errors(problems):
        draft.problems += (one for name, found in untainted.items() for one in waiting(sites[name], found))
        files, found = platform.files(repository, untainted)
        draft.files |= files
        draft.problems += found
        for kept, problem in platform.left_behind(draft.existing.folders, sites):
            draft.kept.update(kept)
            draft.problems.append(problem)
    if not errors(draft.problems):
        sources = {folder: entry.workload.source for folder, entry in wanted.items() if folder in touched}
        trees = gitops.Trees(draft.existing, draft.texts() if synced else {}, sources)
        for cluster in synced:
            files, found = gitops.files(repository, cluster, trees)
            draft.files |= files
            draft.problems += found
    begun = frozenset(f"{run.folder}/{run.name}" for run in draft.runs if run.effect != "ends")
    finished = _finish(draft, planned, repository)
    return replace(finished, staying=staying, begun=begun, untainted=untainted)


def _key(folder: str) -> str:
    """Return `namespace/name` of a workload's folder."""
    return folder.split("/", 2)[2]


def _render_one(draft: _Draft, entry: Planned, bases: tree.Bases, tool: str) -> None:
    if entry.plan.run:
        _render_hashed(draft, entry, bases, tool)
    else:
        _render_fixed(draft, entry, bases)


def _render_fixed(draft: _Draft, entry: Planned, bases: tree.Bases) -> None:
    plan, existing = entry.plan, draft.existing
    made, problems = tree.make(entry, bases)
    draft.problems += problems
    if made is None:
        return
    files, problems = tree.live_files(made)
    draft.problems += problems
    listed = f"{plan.folder}/{FILE_NAME}"
    runs = []
    if any(path in existing.frozen for path in existing.folders.get(plan.folder, ())):
        runs = existing.live_runs(plan.folder)
    for path in runs:
        draft.note("ends", plan.folder, _run_of(path), "the workload became Fixed")
    if runs or not existing.is_ours(listed):
        reason = "the workload became Fixed" if runs else "the workload is new"
        draft.note("starts", plan.folder, plan.name, reason)
    elif any(existing.body(path) != header.body_of(text) for path, text in files.items()):
        draft.note("changes", plan.folder, plan.name, "its overlay is live")
    draft.files |= files


def _render_hashed(draft: _Draft, entry: Planned, bases: tree.Bases, tool: str) -> None:
    plan, existing = entry.plan, draft.existing
    path, folder = tree.frozen_file(plan), plan.folder
    alone = tree.run_list(folder, [posixpath.basename(path)])
    if all(existing.texts.get(file) == text for file, text in alone.items()):
        live, overlay = [path], False  # as it nearly always is: no need to read the list
    else:
        live, overlay = existing.live_runs(folder), existing.is_overlay(folder)
    earlier = [other for other in live if other != path]
    if path in existing.frozen:
        draft.kept.add(path)
        draft.problems += reused(existing, path, entry)
        if path not in live or not existing.is_ours(f"{folder}/{FILE_NAME}"):
            draft.note("starts", folder, plan.name, "its list did not name it")
    elif path in live and path not in existing.texts:
        draft.problems.append(_missing(path))
        return
    else:
        made, problems = tree.make(entry, bases)
        draft.problems += problems
        if made is None:
            return
        draft.files[path] = tree.frozen_text(made, tool)
        reason = "the intent changed" if earlier else "the workload is new"
        draft.note("starts", folder, plan.name, "the workload became Hashed" if overlay else reason)
    if overlay:
        draft.note("ends", folder, plan.workload, "the workload became Hashed")
    kept = [other for other in earlier if other in existing.frozen] if plan.on_change == "Keep" else []
    if plan.on_change == "Keep":
        draft.problems += [_nameless(other) for other in earlier if existing.is_foreign(other)]
    for other in earlier:
        if other not in kept:
            draft.note("ends", folder, _run_of(other), _why(existing, path, other, live))
    draft.kept.update(kept)
    draft.files |= tree.run_list(folder, [posixpath.basename(file) for file in (path, *kept)])


def _missing(path: str) -> Problem:
    """Refuse to write a live run anew: what its name stands for in the cluster may be something else."""
    message = "the file of a live run is missing"
    hint = "restore it (git checkout, git add), or start a new run: slicewright rerun NAME"
    return Problem("RUN005", message, hint, file=path)


def _nameless(path: str) -> Problem:
    """Refuse to end a kept run because somebody removed the line by which we know its file."""
    message = "the file of a kept run has lost its first line, by which slicewright knows it"
    hint = "restore it (git checkout); to end the run, delete the file"
    return Problem("RUN006", message, hint, file=path)


def _why(existing: Existing, path: str, other: str, live: list[str]) -> str:
    """Say why an earlier run ends beside the one at `path`."""
    if other not in existing.frozen:
        return "its file is gone"
    return "onChange is Replace" if path in live else "the intent changed"


def _end_folder(draft: _Draft, folder: str, reason: str) -> None:
    runs = [_run_of(path) for path in draft.existing.live_runs(folder)]
    if draft.existing.is_overlay(folder):
        runs.append(posixpath.basename(folder))
    for name in runs:
        draft.note("ends", folder, name, reason)


def _run_of(path: str) -> str:
    return posixpath.basename(path).removesuffix(".yaml")


def _lists(
    draft: _Draft, staying: Iterable[str], listed: set[str], lasting: set[str], repository: Repository
) -> None:
    """Write the list of each of some namespaces: the workloads that it holds then, and what holds it open."""
    namespaces: dict[str, set[str]] = {namespace: set() for namespace in listed}
    for folder in staying:
        namespaces.get(posixpath.dirname(folder), set()).add(posixpath.basename(folder))
    for namespace, workloads in namespaces.items():
        first: list[str] = []
        if namespace in lasting or (workloads and gitops.is_synced(_site(namespace, repository))):
            draft.files |= anchor.files(namespace)
            first = [anchor.FILE_NAME]
        if first or workloads:
            draft.files |= tree.workload_list(namespace, workloads, first)


def _site(folder: str, repository: Repository) -> ResolvedCluster | None:
    return repository.sites.get(folder.split("/")[1])


def _synced(existing: Existing, listed: set[str], repository: Repository, *, everything: bool) -> list[str]:
    """Return the clusters whose syncing is rendered: with workloads named, where it was rendered before."""
    named = {folder.split("/")[1] for folder in listed}
    return [
        name
        for name, site in repository.sites.items()
        if gitops.is_synced(site) and (everything or (name in named and gitops.is_present(name, existing)))
    ]


def _keep_others(draft: _Draft, touched: set[str], namespaces: set[str], synced: list[str]) -> None:
    """Keep what belongs to workloads that were not named."""
    for folder, paths in draft.existing.folders.items():
        rendered = place.is_below(folder) and folder.split("/")[1] in synced
        if folder not in touched and folder not in namespaces and not rendered:
            draft.kept.update(paths)


def _finish(draft: _Draft, planned: tuple[Planned, ...], repository: Repository) -> Rendering:
    existing = draft.existing
    writes: dict[str, str] = {}
    for path, text in sorted(draft.files.items(), key=_rank):
        there = existing.texts.get(path)
        if there == text or (there is not None and is_same_list(there, text)):
            continue
        if path in existing.texts and not existing.is_ours(path):
            draft.problems.append(_foreign(path))
        writes[path] = text
    stay = draft.files.keys() | draft.kept
    for path in existing.texts:
        if path.endswith(OTHER_NAMES) and existing.is_foreign(path):
            folder, name = posixpath.split(path)
            draft.problems += second(folder, [name] if f"{folder}/{FILE_NAME}" in stay else [])
    draft.problems += edited(existing, sorted(stay))
    problems = in_order(draft.problems)
    if errors(problems):
        return Rendering(problems=problems, planned=planned)
    deletes = [
        path
        for folder, paths in existing.folders.items()
        if is_workload(folder) or is_namespace(folder) or platform.cluster_of(folder)
        for path in paths
        if path not in stay
    ]
    return Rendering(
        writes=writes,
        deletes=tuple(sorted(deletes)),
        unchanged=len(stay) - len(writes),
        runs=tuple(draft.runs),
        platform=tuple(_platform_changes(existing, writes, sorted(deletes), repository)),
        problems=problems,
        planned=planned,
    )


def _platform_changes(
    existing: Existing, writes: Iterable[str], deletes: Iterable[str], repository: Repository
) -> Iterator[PlatformChange]:
    sites = repository.sites
    for path in sorted(writes):
        if platform.cluster_of(posixpath.dirname(path)):
            yield platform.change(path, "changed" if path in existing.texts else "added", sites)
    for path in deletes:
        if platform.cluster_of(posixpath.dirname(path)):
            yield platform.change(path, "removed", sites)


def _rank(file: tuple[str, str]) -> int:
    """Order files so that each comes after those that it names: runs, their lists, namespaces' lists."""
    folder, name = posixpath.split(file[0])
    if name != FILE_NAME:
        return 0
    return 1 if is_workload(folder) else 2


def _foreign(path: str) -> Problem:
    message = "slicewright did not write this file, and a generated one belongs here"
    hint = "move it to custom/, or delete it"
    return Problem("TREE001", message, hint, file=path)
