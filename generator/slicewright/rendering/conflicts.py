"""Objects that two runs of one list would both make: kustomize refuses such a list."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from slicewright.document.read import read_documents
from slicewright.kubernetes.problem import Path, Problem
from slicewright.rendering import overlays as tree
from slicewright.rendering.compose.kustomization import identity, is_object
from slicewright.rendering.existing import Existing
from slicewright.rendering.gitops import anchor
from slicewright.rendering.plans import Planned
from slicewright.rendering.run.folder import NamespaceFolder

_NAME = "\n  name: "
"""The name of an object in a frozen run, as we write it."""


class _Claim(Struct, frozen=True):
    """An object that a run of a workload makes."""

    run: str
    planned: Planned


def conflicts(
    planned: Iterable[Planned],
    staying: Iterable[str],
    anchored: Iterable[NamespaceFolder],
    bases: tree.Bases,
    existing: Existing,
    shared: Mapping[NamespaceFolder, Collection[tree.Identity]],
) -> Iterator[Problem]:
    """Yield a problem for each object that two runs in one list of a namespace would create.

    `planned` are the plans whose lists are written; `staying` are the frozen runs that stay; `anchored` are
    the lists that begin with an anchor; `shared` is what the runs of a namespace share. The objects of a
    frozen run are those in its file, those of the others follow from their base and components.
    """
    anchors = {folder: identity(anchor.config_map(folder.namespace)) for folder in anchored}
    frozen: dict[str, list[str]] = {}
    for path in staying:
        frozen.setdefault(path.rpartition("/")[0], []).append(path)
    taken: dict[tuple[NamespaceFolder, tree.Identity], _Claim] = {}
    in_lists = [(entry.plan.run_folder.parent, entry) for entry in planned]
    for folder, entry in in_lists:
        for run, brought in _brought(entry, frozen.get(entry.plan.folder, []), bases, existing):
            claim = _Claim(run, entry)
            if anchors.get(folder) == brought:
                owner = "slicewright creates itself, so that the namespace always has an object"
                yield _taken(brought, claim, owner, "give it another name in its component")
            if brought in shared.get(folder, ()):
                hint = "leave it out of the component, or give it another name"
                yield _taken(brought, claim, "is also in shared/", hint)
            first = taken.setdefault((folder, brought), claim)
            if first is not claim:
                yield _conflict(brought, first, claim)
    if not taken:
        return
    for folder, entry in in_lists:
        for own in tree.own(entry.plan):
            if (folder, own) in taken:
                yield _conflict(own, _Claim(entry.plan.name, entry), taken[folder, own])


def _brought(
    entry: Planned, frozen: list[str], bases: tree.Bases, existing: Existing
) -> Iterator[tuple[str, tree.Identity]]:
    """Yield the other objects of a workload's runs, such as those of components, each with its run."""
    for path in frozen:
        run = path.rpartition("/")[2].removesuffix(".yaml")
        for brought in _in_text(existing.texts[path], run):
            yield run, brought
    if tree.frozen_file(entry.plan) not in frozen:
        for brought in tree.brought(entry.plan, bases):
            yield entry.plan.name, brought


def _in_text(text: str, run: str) -> list[tree.Identity]:
    """Return the objects in a frozen run that do not bear its name."""
    if "\n---\n" not in text or text.count(_NAME) == text.count(f"{_NAME}{run}\n"):
        return []
    documents, _ = read_documents(text, "")
    objects = [document.data for document in documents if is_object(document.data)]
    return [identity(item) for item in objects if identity(item)[3] != run]


def _taken(identified: tree.Identity, claim: _Claim, owner: str, hint: str) -> Problem:
    message = f"run '{claim.run}' contains the object {tree.shown(identified)}, which {owner}"
    source = claim.planned.workload.source
    return source.problem("NAME004", ("spec", "components"), message, hint, key=True)


def _conflict(identified: tree.Identity, first: _Claim, second: _Claim) -> Problem:
    earlier, later = first.planned.workload, second.planned.workload
    runs = f"runs '{first.run}' and '{second.run}'"
    if earlier.key != later.key:
        runs = f"workloads '{earlier.key}' and '{later.key}'"
    place: Path = ("spec", "components") if later.components else ("metadata", "name")
    message = f"{runs} both contain the object {tree.shown(identified)}"
    message += ", but kustomize accepts each object only once"
    hint = "give it a different name in each component, or declare it once in custom/"
    return later.source.problem("NAME004", place, message, hint, key=True)
