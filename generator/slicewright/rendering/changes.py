"""A render: files that are written and deleted, runs that start and end."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.kubernetes.problem import Problem, errors, in_order
from slicewright.rendering import default_limits, header, shared, synced_namespaces
from slicewright.rendering.compose import identity
from slicewright.rendering.existing import (
    Existing,
    foreign,
    locked_out,
    missing,
    reused,
    untolerated_taint,
    waiting_taints,
)
from slicewright.rendering.folder import (
    NamespaceFolder,
    RunFolder,
    namespace_folder,
    run_folder,
    shared_folder,
    shared_path,
)
from slicewright.rendering.gitops.synced import ANCHOR_FILE, anchor_files, anchored_folders, is_gitops_folder
from slicewright.rendering.header import is_same_list, listing
from slicewright.rendering.kustomization import FILE_NAME, OTHER_NAMES, second
from slicewright.rendering.overlays import (
    Bases,
    conflicts,
    edited,
    frozen_file,
    frozen_text,
    live_files,
    make,
    run_list,
)
from slicewright.rendering.plans import Planned, plan_all
from slicewright.rendering.platform_tree import (
    PlatformChange,
    cluster_of,
    left_behind,
    platform_change,
    platform_tree_files,
)
from slicewright.rendering.rendering import Effect, Rendering, RunChange
from slicewright.rendering.repository import Repository

_GOES_ON = "it goes on in the cluster, because nothing prunes it: delete it with kubectl"


class _Draft(Struct):
    """A rendering in progress: the files of the new tree, and the runs that start or end."""

    repository: Repository
    existing: Existing
    problems: list[Problem]
    files: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    """Files that stay as they are: frozen runs, and what belongs to workloads that were not named."""
    runs: list[RunChange] = field(default_factory=list)
    sweeps: dict[RunFolder, str] = field(default_factory=dict)
    """The sweep of each workload by its folder; empty for a workload of its own."""

    def note(self, effect: Effect, folder: RunFolder, name: str, reason: str) -> None:
        """Note what happens to a run."""
        self.runs.append(RunChange(effect, *folder, name, reason, self.sweep_of(folder)))

    def sweep_of(self, folder: RunFolder) -> str:
        """Return the sweep of a workload, by its file or its runs, or ''."""
        return self.sweeps[folder] if folder in self.sweeps else self.existing.sweep_of(folder.path)

    def texts(self) -> dict[str, str]:
        """Return the new tree so far."""
        return {path: self.existing.texts[path] for path in self.kept} | self.files

    def is_synced(self, cluster: str) -> bool:
        """Tell whether Argo CD or Flux syncs a cluster."""
        return synced_namespaces.is_synced(self.repository.sites.get(cluster))


def render(
    repository: Repository, existing: Mapping[str, str], selected: frozenset[str] | None = None
) -> Rendering:
    """Return the changes under overlays/ and provision/.

    `existing` holds the text of every file there by path from the root. `selected` limits the change to
    some workloads, by `namespace/name`; None means all, and the platforms of the clusters. With errors
    among the problems there is nothing to write.

    A run ends only because a person changed its TPUWorkload, and only in two places. `_render_workload` ends
    the earlier runs of a workload that asks for another one now. `_end_workload` ends all runs of a workload
    that nothing asks for on the cluster any more. Both see named workloads only. `_keep_unnamed` keeps every
    file of the others.
    """
    planned, problems = plan_all(repository)
    draft = _Draft(repository, Existing(existing), list(problems))
    bases = Bases(repository.read_text, repository.package.schemas)
    entries = {entry.plan.run_folder: entry for entry in planned}
    present = [folder for folder in map(run_folder, draft.existing.folders) if folder]
    for folder, entry in entries.items():
        draft.sweeps[folder] = entry.workload.sweep.name if entry.workload.sweep else ""
    named = {*entries, *present}
    if selected is not None:
        keys = {folder: (folder.key, f"{folder.namespace}/{draft.sweep_of(folder)}") for folder in named}
        named = {folder for folder in named if not selected.isdisjoint(keys[folder])}

    rendered = {folder: entry for folder, entry in entries.items() if folder in named}
    for entry in rendered.values():
        _render_workload(draft, entry, bases)
    remaining = [*rendered, *(folder for folder in present if folder not in named)]
    elsewhere = {folder.key for folder in entries}
    sweeps = {(folder.parent, name) for folder in entries if (name := draft.sweeps[folder])}
    for folder in sorted(named - entries.keys(), key=lambda folder: folder.path):
        is_entry = (folder.parent, draft.sweep_of(folder)) in sweeps
        reason = "the sweep no longer has this entry" if is_entry else "the workload is gone"
        reason = "the workload left the cluster" if folder.key in elsewhere else reason
        _end_workload(draft, folder, reason, remaining)

    lasting = synced_namespaces.lasting(repository.sites, draft.existing)
    listed = {folder.parent for folder in named}
    if selected is None:  # lists that name more than workloads, or did so before
        listed |= {*lasting, *repository.shared, *filter(None, map(shared_folder, draft.existing.folders))}
    _write_lists(draft, listed, remaining, lasting)
    synced = _synced_clusters(draft, listed, everything=selected is None)
    if selected is not None:
        _keep_unnamed(draft, named, listed, synced)
    staying = tuple(sorted(draft.kept & draft.existing.frozen.keys()))
    in_lists = [entry for folder, entry in entries.items() if folder.parent in listed]
    common = {
        folder: {identity(item) for item in shared.objects(folder, sources)}
        for folder, sources in repository.shared.items()
    }
    draft.problems += conflicts(
        in_lists, staying, anchored_folders(draft.files), bases, draft.existing, common
    )

    sites = repository.sites
    untainted = {name: locked_out(site, draft.existing, draft.kept) for name, site in sites.items()}
    if selected is None and not errors(problems):
        _render_platforms(draft, untainted)
    if not errors(draft.problems):
        _render_syncing(draft, synced, rendered)
    begun = frozenset(f"{run.folder}/{run.name}" for run in draft.runs if run.effect != "ends")
    return replace(_finish(draft, planned, bases), staying=staying, begun=begun, untainted=untainted)


def _render_platforms(draft: _Draft, untainted: Mapping[str, Mapping[str, list[str]]]) -> None:
    """Render what workloads need; the scripts that take down a cluster stay when its file goes."""
    sites = draft.repository.sites
    for name, flavors in untainted.items():
        draft.problems += waiting_taints(sites[name], flavors)
    files, problems = platform_tree_files(draft.repository, untainted)
    draft.files |= files
    draft.problems += problems
    for paths, problem in left_behind(draft.existing.folders, sites):
        draft.kept.update(paths)
        draft.problems.append(problem)


def _render_syncing(draft: _Draft, clusters: list[str], rendered: Mapping[RunFolder, Planned]) -> None:
    """Render what syncs some clusters, which follows from the tree as it will be."""
    sources = {folder: entry.workload.source for folder, entry in rendered.items()}
    trees = synced_namespaces.Trees(draft.existing, draft.texts() if clusters else {}, sources)
    for cluster in clusters:
        files, problems = synced_namespaces.files(draft.repository, cluster, trees)
        draft.files |= files
        draft.problems += problems


def _render_workload(draft: _Draft, entry: Planned, bases: Bases) -> None:
    if frozen_file(entry.plan) not in draft.existing.frozen:
        draft.problems += untolerated_taint(entry, draft.repository.sites[entry.plan.cluster])
    if entry.plan.run:
        _render_hashed(draft, entry, bases)
    else:
        _render_fixed(draft, entry, bases)


def _render_fixed(draft: _Draft, entry: Planned, bases: Bases) -> None:
    plan, existing = entry.plan, draft.existing
    run, problems = make(entry, bases)
    draft.problems += problems
    if run is None:
        return
    files, problems = live_files(run)
    draft.problems += (*problems, *default_limits.problems(entry, run.objects, draft.repository.levels))
    listed = f"{plan.folder}/{FILE_NAME}"
    runs = []
    if any(path in existing.frozen for path in existing.folders.get(plan.folder, ())):
        runs = existing.live_runs(plan.folder)
    for path in runs:
        draft.note("ends", plan.run_folder, _run_of(path), "the workload became Fixed")
    if runs or not existing.is_ours(listed):
        reason = "the workload became Fixed" if runs else "the workload is new"
        draft.note("starts", plan.run_folder, plan.name, reason)
    elif any(existing.body(path) != header.body_of(text) for path, text in files.items()):
        draft.note("changes", plan.run_folder, plan.name, "its overlay is live")
    draft.files |= files


def _render_hashed(draft: _Draft, entry: Planned, bases: Bases) -> None:
    plan, existing = entry.plan, draft.existing
    path, folder = frozen_file(plan), plan.folder
    alone = run_list(folder, [posixpath.basename(path)])
    if all(existing.texts.get(file) == text for file, text in alone.items()):
        live, overlay = [path], False  # as it nearly always is: no need to read the list
    else:
        live, overlay = existing.live_runs(folder), existing.is_overlay(folder)
    earlier = [other for other in live if other != path]
    if path in existing.frozen:
        draft.kept.add(path)
        draft.problems += reused(existing, path, entry)
        if path not in live or not existing.is_ours(f"{folder}/{FILE_NAME}"):
            draft.note("starts", plan.run_folder, plan.name, "its list did not name it")
    elif path in live and path not in existing.texts:
        draft.problems.append(missing(path))
        return
    else:
        run, problems = make(entry, bases)
        draft.problems += problems
        if run is None:
            return
        draft.problems += default_limits.problems(entry, run.objects, draft.repository.levels)
        draft.files[path] = frozen_text(run, draft.repository.package.version)
        reason = "the workload changed" if earlier else "the workload is new"
        draft.note("starts", plan.run_folder, plan.name, "the workload became Hashed" if overlay else reason)
    if overlay:
        draft.note("ends", plan.run_folder, plan.workload, "the workload became Hashed")
    kept = [other for other in earlier if other in existing.frozen] if plan.on_change == "Keep" else []
    if plan.on_change == "Keep":
        draft.problems += [_nameless(other) for other in earlier if existing.is_foreign(other)]
    ending = "onChange is Replace" if path in live else "the workload changed"
    for other in earlier:
        if other not in kept:
            reason = ending if other in existing.frozen else "its file is gone"
            draft.note("ends", plan.run_folder, _run_of(other), reason)
    draft.kept.update(kept)
    levels = draft.repository.levels
    for file in draft.kept & {path, *kept}:
        body = existing.body(file) or ""
        draft.problems += default_limits.of_frozen(entry.workload, plan.cluster, file, body, levels)
    draft.files |= run_list(folder, [posixpath.basename(file) for file in (path, *kept)])


def _nameless(path: str) -> Problem:
    """Return the problem of a kept run whose file lost its header line, so that a render cannot end it."""
    message = "the file of a kept run has no header line, so slicewright cannot recognize it"
    hint = f"restore it: git checkout -- {path}; to end the run, delete the file"
    return Problem("RUN006", message, hint, file=path)


def _end_workload(draft: _Draft, folder: RunFolder, reason: str, remaining: Iterable[RunFolder]) -> None:
    """End all runs of a workload; the render deletes their files, because nothing keeps them."""
    existing = draft.existing
    if not draft.is_synced(folder.cluster) and synced_namespaces.is_left(folder, existing, remaining):
        reason = f"{reason}; {_GOES_ON}"
    runs = [_run_of(path) for path in existing.live_runs(folder.path)]
    if existing.is_overlay(folder.path):
        runs.append(folder.workload)
    for name in runs:
        draft.note("ends", folder, name, reason)


def _run_of(path: str) -> str:
    return posixpath.basename(path).removesuffix(".yaml")


def _write_lists(
    draft: _Draft, listed: set[NamespaceFolder], remaining: Iterable[RunFolder], lasting: set[NamespaceFolder]
) -> None:
    """Write the lists of some namespaces: their workloads, and their anchors."""
    namespaces: dict[NamespaceFolder, set[str]] = {namespace: set() for namespace in listed}
    for folder in remaining:
        namespaces.get(folder.parent, set()).add(folder.workload)
    for namespace, workloads in namespaces.items():
        first: list[str] = []
        common = shared.files(namespace, draft.repository.shared.get(namespace, ()))
        draft.problems += shared.leaving(namespace, draft.existing, common)
        if namespace in lasting or ((workloads or common) and draft.is_synced(namespace.cluster)):
            draft.files |= anchor_files(namespace)
            first = [ANCHOR_FILE]
        if common:
            draft.files |= common
            first.append(posixpath.basename(shared_path(namespace)))
        if first or workloads:
            text = listing("the workloads in this folder", [*first, *sorted(workloads)])
            draft.files[f"{namespace.path}/{FILE_NAME}"] = text


def _synced_clusters(draft: _Draft, listed: set[NamespaceFolder], *, everything: bool) -> list[str]:
    """Return the clusters whose GitOps objects are rendered.

    If workloads are named, these are their clusters that already have such objects.
    """
    named = {namespace.cluster for namespace in listed}
    named &= {folder.split("/")[1] for folder in draft.existing.folders if is_gitops_folder(folder)}
    return [name for name in filter(draft.is_synced, draft.repository.sites) if everything or name in named]


def _keep_unnamed(
    draft: _Draft, named: set[RunFolder], listed: set[NamespaceFolder], synced: list[str]
) -> None:
    """Keep what belongs to workloads that were not named."""
    changing = {folder.path for folder in named} | {namespace.path for namespace in listed}
    changing |= {shared_path(namespace) for namespace in listed}
    for folder, paths in draft.existing.folders.items():
        is_rendered = is_gitops_folder(folder) and folder.split("/")[1] in synced
        if folder not in changing and not is_rendered:
            draft.kept.update(paths)


def _finish(draft: _Draft, planned: tuple[Planned, ...], bases: Bases) -> Rendering:
    existing = draft.existing
    writes: dict[str, str] = {}
    for path, text in sorted(draft.files.items(), key=_rank):
        before = existing.texts.get(path)
        if before == text or (before is not None and is_same_list(before, text)):
            continue
        if existing.is_foreign(path):
            draft.problems.append(foreign(path))
        writes[path] = text
    stay = draft.files.keys() | draft.kept
    for path in existing.texts:
        if path.endswith(OTHER_NAMES) and existing.is_foreign(path):
            folder, name = posixpath.split(path)
            draft.problems += second(folder, [name] if f"{folder}/{FILE_NAME}" in stay else [])
    draft.problems += edited(existing, sorted(stay), planned, bases)
    problems = in_order(draft.problems)
    if errors(problems):
        return Rendering(problems=problems, planned=planned)
    kinds = (run_folder, namespace_folder, shared_folder, cluster_of)
    rendered = (paths for folder, paths in existing.folders.items() if any(kind(folder) for kind in kinds))
    deletes = sorted({path for paths in rendered for path in paths} - stay)
    return Rendering(
        writes=writes,
        deletes=tuple(deletes),
        unchanged=len(stay) - len(writes),
        runs=tuple(draft.runs),
        platform=tuple(_platform_changes(draft, writes, deletes)),
        problems=problems,
        planned=planned,
    )


def _platform_changes(
    draft: _Draft, writes: Iterable[str], deletes: Iterable[str]
) -> Iterator[PlatformChange]:
    sites = draft.repository.sites
    for path in sorted(writes):
        if cluster_of(posixpath.dirname(path)):
            yield platform_change(path, "changed" if path in draft.existing.texts else "added", sites)
    for path in deletes:
        if cluster_of(posixpath.dirname(path)):
            yield platform_change(path, "removed", sites)


def _rank(file: tuple[str, str]) -> int:
    """Order files so that each comes after those that it names: runs, their lists, namespaces' lists."""
    folder, name = posixpath.split(file[0])
    if name != FILE_NAME:
        return 0
    return 2 if namespace_folder(folder) else 1
