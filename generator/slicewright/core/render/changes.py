"""What a render does: files that are written and deleted, runs that start and end."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from slicewright.core.compose.kustomization import FILE_NAME
from slicewright.core.document.read import read_documents
from slicewright.core.problem import Problem, errors, in_order
from slicewright.core.render import tree
from slicewright.core.render.plans import Planned, plan_all
from slicewright.core.run import header

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.core.render.repository import Repository

ROOT = "overlays"
Effect = Literal["starts", "ends", "changes"]


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
    problems: tuple[Problem, ...] = ()
    planned: tuple[Planned, ...] = ()

    @property
    def ended(self) -> tuple[RunChange, ...]:
        """The runs that this render ends."""
        return tuple(run for run in self.runs if run.effect == "ends")

    @property
    def is_current(self) -> bool:
        """Whether the tree already holds what it should."""
        return not self.writes and not self.deletes


@dataclass(slots=True)
class _Draft:
    """A rendering while it grows."""

    existing: Mapping[str, str]
    files: dict[str, str] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    runs: list[RunChange] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def render(
    repository: Repository, existing: Mapping[str, str], selected: frozenset[str] | None = None
) -> Rendering:
    """Return what has to change under overlays/.

    `existing` holds the text of every file under overlays/ by path from the root. `selected` limits the
    change to some workloads, by `namespace/name`; None means all. With errors among the problems nothing
    is to be written.
    """
    planned, problems = plan_all(repository)
    if errors(problems):
        return Rendering(problems=in_order(problems), planned=planned)
    draft = _Draft(existing, problems=list(problems))
    bases = tree.Bases(repository.read_text)
    folders = _by_folder(existing)
    wanted: dict[str, Planned] = {entry.plan.folder: entry for entry in planned}
    for folder, entry in wanted.items():
        if selected is None or entry.workload.key in selected:
            _render_one(draft, entry, bases, folders.get(folder, []), repository.package.version)
        else:
            draft.kept.update(folders.get(folder, []))
    gone = {folder for folder in folders if _is_workload(folder) and folder not in wanted}
    for folder in sorted(gone):
        if selected is None:
            _end_folder(draft, folder, folders[folder])
        else:
            draft.kept.update(folders[folder])
    _lists(draft, wanted, gone if selected is not None else set(), folders, selected)
    return _finish(draft, planned)


def _by_folder(existing: Mapping[str, str]) -> dict[str, list[str]]:
    folders: dict[str, list[str]] = defaultdict(list)
    for path, text in existing.items():
        if header.is_ours(text):
            folders[posixpath.dirname(path)].append(path)
    return folders


_DEPTH = 3
"""Slashes in overlays/<cluster>/<namespace>/<workload>."""


def _is_workload(folder: str) -> bool:
    return folder.count("/") == _DEPTH and not folder.split("/")[2].startswith("_")


def _render_one(draft: _Draft, entry: Planned, bases: tree.Bases, present: list[str], tool: str) -> None:
    if entry.plan.run:
        _render_hashed(draft, entry, bases, present, tool)
    else:
        _render_fixed(draft, entry, bases, present)


def _render_fixed(draft: _Draft, entry: Planned, bases: tree.Bases, present: list[str]) -> None:
    plan = entry.plan
    made, problems = tree.make(entry, bases)
    draft.problems += problems
    if made is None:
        return
    files = tree.live_files(made)
    for path in present:
        if header.read_frozen(draft.existing[path]) is not None:
            _note(draft, "ends", plan.folder, _run_of(path), "the workload became Fixed")
    if f"{plan.folder}/{FILE_NAME}" not in present:
        _note(draft, "starts", plan.folder, plan.name, "the workload is new")
    elif any(
        header.body_of(draft.existing.get(path, "\n\n")) != header.body_of(files[path]) for path in files
    ):
        _note(draft, "changes", plan.folder, plan.name, "its overlay is live")
    draft.files |= files


def _render_hashed(draft: _Draft, entry: Planned, bases: tree.Bases, present: list[str], tool: str) -> None:
    plan = entry.plan
    path = tree.frozen_file(plan)
    earlier = [other for other in _live_runs(draft, plan.folder, present) if other != path]
    if path in draft.existing and header.read_frozen(draft.existing[path]) is not None:
        draft.kept.add(path)
    else:
        made, problems = tree.make(entry, bases)
        draft.problems += problems
        if made is None:
            return
        draft.files[path] = header.frozen(made.inputs, tool, tree.frozen_body(made))
        known = "the intent changed" if earlier else "the workload is new"
        _note(draft, "starts", plan.folder, plan.name, known)
    live = [path]
    if plan.on_change == "Keep":
        live += earlier
        draft.kept.update(earlier)
    else:
        for other in earlier:
            _note(draft, "ends", plan.folder, _run_of(other), "the intent changed")
    draft.lists |= tree.run_list(plan.folder, [posixpath.basename(file) for file in live])


def _live_runs(draft: _Draft, folder: str, present: list[str]) -> list[str]:
    """Return the files of the runs that a folder lists; all of them where the list is missing.

    A file that no list names was left by a render that was interrupted: it never was live.
    """
    runs = [path for path in present if header.read_frozen(draft.existing[path]) is not None]
    text = draft.existing.get(f"{folder}/{FILE_NAME}")
    if text is None:
        return sorted(runs)
    documents, _ = read_documents(text, "")
    data = documents[0].data if documents else {}
    listed = data.get("resources") or [] if isinstance(data, dict) else []
    return sorted(path for path in runs if posixpath.basename(path) in listed)


def _end_folder(draft: _Draft, folder: str, present: list[str]) -> None:
    runs = _live_runs(draft, folder, present)
    for path in runs:
        _note(draft, "ends", folder, _run_of(path), "the workload is gone")
    if not runs and f"{folder}/{FILE_NAME}" in present:
        _note(draft, "ends", folder, posixpath.basename(folder), "the workload is gone")


def _run_of(path: str) -> str:
    return posixpath.basename(path).removesuffix(".yaml")


def _note(draft: _Draft, effect: Effect, folder: str, name: str, reason: str) -> None:
    _, cluster, namespace, workload = folder.split("/")
    draft.runs.append(RunChange(effect, cluster, namespace, workload, name, reason))


def _lists(
    draft: _Draft,
    wanted: Mapping[str, Planned],
    staying: set[str],
    folders: Mapping[str, list[str]],
    selected: frozenset[str] | None,
) -> None:
    """Write the list of each namespace: the workloads that have a folder once this render is done."""
    namespaces: dict[str, set[str]] = defaultdict(set)
    for folder, entry in wanted.items():
        done = selected is None or entry.workload.key in selected or folder in folders
        if done:
            namespaces[posixpath.dirname(folder)].add(posixpath.basename(folder))
    for folder in staying:
        namespaces[posixpath.dirname(folder)].add(posixpath.basename(folder))
    for namespace, workloads in namespaces.items():
        draft.lists |= tree.workload_list(namespace, workloads)


def _finish(draft: _Draft, planned: tuple[Planned, ...]) -> Rendering:
    files = {**draft.files, **draft.lists}
    writes: dict[str, str] = {}
    for path, text in files.items():
        present = draft.existing.get(path)
        if present == text:
            continue
        if present is not None and not header.is_ours(present):
            draft.problems.append(_foreign(path))
        writes[path] = text
    stay = files.keys() | draft.kept
    deletes = [
        path
        for path, text in draft.existing.items()
        if path not in stay and _is_rendered(path) and header.is_ours(text)
    ]
    problems = in_order(draft.problems)
    if errors(problems):
        return Rendering(problems=problems, planned=planned)
    return Rendering(
        writes=writes,
        deletes=tuple(sorted(deletes)),
        unchanged=len(stay) - len(writes),
        runs=tuple(draft.runs),
        problems=problems,
        planned=planned,
    )


def _is_rendered(path: str) -> bool:
    """Tell whether a path is one that this module writes: a namespace's list, or a workload's folder."""
    folder = posixpath.dirname(path)
    depth = folder.count("/")
    return depth in (_DEPTH - 1, _DEPTH) and not folder.split("/")[2].startswith("_")


def _foreign(path: str) -> Problem:
    message = "this file stands where a generated one belongs, and slicewright did not write it"
    hint = "move it to custom/, or delete it"
    return Problem("TREE001", message, hint, file=path)


def edited(existing: Mapping[str, str]) -> Iterable[Problem]:
    """Yield a problem for each frozen run that somebody edited by hand."""
    for path, text in existing.items():
        frozen = header.read_frozen(text) if header.is_ours(text) else None
        if frozen is not None and not frozen.intact:
            message = "a frozen run was edited by hand: its content is not what its header says"
            hint = "restore it (git checkout), or start a new run: slicewright rerun NAME"
            yield Problem("RUN001", message, hint, file=path)
