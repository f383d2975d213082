"""Turns plans into the tree: every file under overlays/ that should exist, with its content.

Kustomize refuses a list of runs in which two make the same object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from slicewright.document.read import read_documents
from slicewright.document.write import write_document, write_documents
from slicewright.kubernetes.kinds import is_namespaced
from slicewright.kubernetes.problem import Path, Problem
from slicewright.rendering import header
from slicewright.rendering.build.overlay import (
    is_fragile,
    lost_in_base,
    lost_in_patches,
    lost_in_words,
    makes,
    overlay,
)
from slicewright.rendering.build.run_objects import build, config_map, missing_field, patched
from slicewright.rendering.compose import compose_with, identity, origins
from slicewright.rendering.existing import Existing
from slicewright.rendering.folder import NamespaceFolder
from slicewright.rendering.gitops.synced import anchor
from slicewright.rendering.header import listing
from slicewright.rendering.kustomization import FILE_NAME, Stopped, is_object
from slicewright.rendering.plan.plan import MARKER, PATTERNS
from slicewright.rendering.plans import Planned

if TYPE_CHECKING:
    from slicewright.intent.source import Source
    from slicewright.intent.validate import Schemas
    from slicewright.kubernetes.types import Object
    from slicewright.rendering.kustomization import ReadText
    from slicewright.rendering.plan.plan import Plan

Identity = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


_CONFIG_MAP = 1_048_576
"""Bytes of data in a ConfigMap (kubernetes: pkg/apis/core/validation, MaxSecretSize)."""
_COMPARE = "compare it with the base that slicewright init writes into a new folder"
_KINDS = frozenset(kind for base in PATTERNS.values() for _, kind in base.objects)
_FRAGILE = "it comes from the base or a component: change it there, or write naming: Hashed"


class Base(Struct, frozen=True):
    """A base after its components."""

    objects: list[Object]
    fragile: bool
    """Whether it has a value that kustomize keeps in an object, but not in a patch."""


class Bases:
    """The bases of a tree, each combination with components evaluated once."""

    def __init__(self, read_text: ReadText, schemas: Schemas) -> None:
        """Take a function that reads files of the tree, and the schemas of pod templates."""
        self._read_text = read_text
        self._schemas = schemas
        self._made: dict[tuple[str, tuple[str, ...]], Base | Problem] = {}

    def get(self, plan: Plan) -> Base | Problem:
        """Return the base of a plan after its components, or why it cannot be evaluated."""
        key = (plan.base, plan.components)
        if key not in self._made:
            self._made[key] = self._make(plan)
        return self._made[key]

    def contents(self, plan: Plan, source: Source) -> tuple[dict[str, str], list[Problem]]:
        """Return the files of a run by their keys in its ConfigMap, and the problems of missing ones."""
        contents: dict[str, str] = {}
        paths: dict[str, str] = {}
        problems: list[Problem] = []
        for index, file in enumerate(plan.files):
            place: Path = ("spec", "files", index, "path")
            try:
                text = self._read_text(file.path)
            except Stopped as stopped:
                problems += [stopped.problem] if stopped.problem else []
                continue
            if text is None:
                message = f"the repository has no text file '{file.path}'"
                hint = "write the path of a UTF-8 file, from the root of the repository"
                problems.append(source.problem("FILE033", place, message, hint))
            elif paths.setdefault(file.key, file.path) != file.path:
                message = f"two files would be '{file.key}' in the ConfigMap"
                problems.append(source.problem("FIELD001", place, message, "rename one, or name it once"))
            contents[file.key] = text or ""
        if sum(len(text.encode()) for text in contents.values()) > _CONFIG_MAP:
            message = f"the files have more than {_CONFIG_MAP:,} bytes, the most that a ConfigMap can hold"
            hint = "put large files into a bucket (gcsFuse) or the image"
            problems.append(source.problem("FILE034", ("spec", "files"), message, hint, key=True))
        return contents, problems

    def _make(self, plan: Plan) -> Base | Problem:
        try:
            objects = compose_with(plan.base, plan.components, self._read_text)
        except Stopped as stopped:
            if stopped.problem is not None:
                return stopped.problem
            file, _, feature = stopped.outside.partition(": ")
            message = f"slicewright does not evaluate {feature}"
            hint = "write resources, components and JSON 6902 patches with a target"
            return Problem("KUS007", message, hint, file=file)
        return self._unfit(plan, objects) or Base(objects, is_fragile(objects))

    def _unfit(self, plan: Plan, objects: list[Object]) -> Problem | None:
        """Return the problem of a base that lacks a field which the builder fills in."""
        if problem := _unlike(plan, objects):
            return problem
        for index, item in enumerate(objects):
            for lost in lost_in_base(item):
                file = origins(plan.base, plan.components, self._read_text)[index]
                return Problem("BUILD002", lost, "leave it out of the base or the component", file=file)
        lacks = missing_field(plan.pattern, plan.components, objects, self._schemas)
        if lacks is None:
            return None
        index, lack = lacks
        file = origins(plan.base, plan.components, self._read_text)[index]
        # The fault may be a component's: the first one after which something is missing.
        leading = (plan.components[:count] for count in range(len(plan.components) + 1))
        applied = next(components for components in leading if self._lacks(plan, components))
        if applied:
            lack = f"with this component, {file} cannot be used: {lack}"
            file = f"{applied[-1]}/{FILE_NAME}"
        message = f"{lack}, so slicewright cannot fill in {plan.pattern} workloads"
        return Problem("BASE001", message, _COMPARE, file=file)

    def _lacks(self, plan: Plan, components: tuple[str, ...]) -> bool:
        objects = compose_with(plan.base, components, self._read_text)
        return missing_field(plan.pattern, components, objects, self._schemas) is not None


class BuiltRun(Struct, frozen=True):
    """The objects of a run and their origin."""

    planned: Planned
    base: Base
    objects: list[Object]
    inputs: str
    """The inputs that the header of the run's files lists."""


def make(planned: Planned, bases: Bases) -> tuple[BuiltRun | None, tuple[Problem, ...]]:
    """Build the objects of a plan."""
    plan, source = planned.plan, planned.workload.source
    base = bases.get(plan)
    if isinstance(base, Problem):
        return None, (_at_component(planned, base),)
    contents, unread = bases.contents(plan, source)
    objects, problems = patched(plan, build(plan, base.objects), source)
    objects = [*objects, config_map(plan, contents)] if contents else objects
    problems = (
        *unread,
        *problems,
        *lost_in_words(source, patched=not plan.run),
        *_twins(plan, objects, source),
    )
    if problems:
        return None, problems
    return BuiltRun(planned, base, objects, _inputs(plan, source)), ()


def _twins(plan: Plan, objects: list[Object], source: Source) -> Iterator[Problem]:
    """Yield problems of objects that become one object by the namespace or the name of the run."""
    counts = Counter(map(identity, objects)) if len(objects) > 1 else {}
    for twin, count in counts.items():
        if count > 1:
            message = f"the run '{plan.name}' would contain the object {shown(twin)} twice"
            hint = "give the objects of your components unique names"
            yield source.problem("NAME004", ("spec", "components"), message, hint, key=True)


def shown(identified: Identity) -> str:
    """Return `Kind namespace/name`."""
    _, kind, *names = identified
    return f"{kind} {'/'.join(filter(None, names))}"


def _unlike(plan: Plan, objects: list[Object]) -> Problem | None:
    """Return the problem of a base that does not have the objects of its pattern."""
    ours = [item for item in objects if item["metadata"]["name"] == MARKER]
    has = sorted((item.get("apiVersion", ""), item["kind"]) for item in ours if item["kind"] in _KINDS)
    needs = PATTERNS[plan.pattern].objects
    if has == sorted(needs):
        return None
    needed, held = (
        ", ".join(f"{kind} {version}".strip() for version, kind in pairs) for pairs in (needs, has)
    )
    message = f"{plan.base} must contain {needed} with the name {MARKER}, but contains {held or 'no object'}"
    return Problem("BASE001", message, _COMPARE, file=f"{plan.base}/{FILE_NAME}")


def _at_component(planned: Planned, problem: Problem) -> Problem:
    """Return the problems of a base, at the workload if they are in a component of the user."""
    source = planned.workload.source
    for index, component in enumerate(planned.workload.components):
        if problem.file.startswith(f"{component}/"):
            message = problem.message
            message += "" if problem.file in message else f" ({problem.file})"
            return source.problem(problem.id, ("spec", "components", index), message, problem.hint)
    return problem


def _inputs(plan: Plan, source: Source) -> str:
    """Return the inputs of a run's files, as their header lists them."""
    shape = plan.shape
    paths = dict.fromkeys(layer.file.path for layer in reversed(source.layers[1:]))
    inputs = [header.inputs(source.file.path, plan.cluster), *paths, plan.base]
    if shape.chips:
        inputs.append(f"catalog {shape.generation} {shape.topology} on {shape.machine_type}")
    return ", ".join(inputs)


def frozen_file(plan: Plan) -> str:
    """Return the path of a hashed run's file."""
    return f"{plan.folder}/{plan.name}.yaml"


def frozen_text(run: BuiltRun, tool: str) -> str:
    """Return a hashed run's file, written by a version of the tool."""
    return header.frozen(run.inputs, run.planned.plan.intent, tool, frozen_body(run))


def frozen_body(run: BuiltRun) -> str:
    """Return the content of a hashed run's file below its header."""
    return write_documents(run.objects)


def edited(
    existing: Existing, paths: Iterable[str], planned: Iterable[Planned], bases: Bases
) -> Iterator[Problem]:
    """Yield a problem for each edited frozen run, compared with what a render writes today."""
    broken = [path for path in paths if path in existing.frozen and not existing.frozen[path].intact]
    entries = {frozen_file(entry.plan): entry for entry in planned} if broken else {}
    for path in broken:
        run, _ = make(entries[path], bases) if path in entries else (None, ())
        yield header.edited(path, existing.texts[path], frozen_body(run) if run else None)


def own_objects(plan: Plan) -> list[Identity]:
    """Return the objects that every run of a plan's pattern makes, under its own name."""
    kinds = ((version.rpartition("/")[0], kind) for version, kind in PATTERNS[plan.pattern].objects)
    return [(group, kind, plan.namespace, plan.name) for group, kind in kinds]


def brought_objects(plan: Plan, bases: Bases) -> list[Identity]:
    """Return the objects that components add to a plan under their own names."""
    base = bases.get(plan)
    identities = []
    for item in [] if isinstance(base, Problem) else base.objects:
        group, kind, namespace, name = identity(item)
        if name != MARKER:
            within = (namespace or plan.namespace) if is_namespaced(group, kind) else ""
            identities.append((group, kind, within, name))
    return identities


def live_files(run: BuiltRun) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """Return the files of a Fixed workload's overlay by path, and their problems."""
    plan, source = run.planned.plan, run.planned.workload.source
    documents = overlay(plan, run.base.objects, run.objects)
    problems: list[Problem] = []
    if run.base.fragile:
        lost = lost_in_patches(documents)
        problems += [source.problem("BUILD002", ("spec",), loss, _FRAGILE, key=True) for loss in lost]
    # Without words of the user the patches are correct by construction; to try them takes time.
    own_words = plan.patches or run.planned.workload.components
    if own_words and not makes(documents, run.base.objects, run.objects):
        message = "the overlay would not produce the planned objects: its patches match other objects too"
        hint = "give the objects of your components unique names"
        problems.append(source.problem("BUILD003", ("spec",), message, hint, key=True))
    files = {
        f"{plan.folder}/{name}": header.live(run.inputs, write_document(document))
        for name, document in documents.items()
    }
    return files, tuple(problems)


def run_list(folder: str, files: Iterable[str]) -> dict[str, str]:
    """Return the kustomization that lists the live runs of a workload; it refers to no base."""
    return {f"{folder}/{FILE_NAME}": listing("the live runs in this folder", sorted(files))}


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
    bases: Bases,
    existing: Existing,
    shared: Mapping[NamespaceFolder, Collection[Identity]],
) -> Iterator[Problem]:
    """Yield a problem for each object that two runs in one list of a namespace would create.

    `planned` are the plans whose lists are written; `staying` are the frozen runs that stay; `anchored` are
    the lists that begin with an anchor; `shared` is what the runs of a namespace share. The objects of a
    frozen run are those in its file, those of the others follow from their base and components.
    """
    anchors = {folder: identity(anchor(folder.namespace)) for folder in anchored}
    frozen: dict[str, list[str]] = {}
    for path in staying:
        frozen.setdefault(path.rpartition("/")[0], []).append(path)
    taken: dict[tuple[NamespaceFolder, Identity], _Claim] = {}
    in_lists = [(entry.plan.run_folder.parent, entry) for entry in planned]
    for folder, entry in in_lists:
        for run, brought in _brought(entry, frozen.get(entry.plan.folder, []), bases, existing):
            claim = _Claim(run, entry)
            if anchors.get(folder) == brought:
                owner = "slicewright creates itself, so that the namespace always has an object"
                yield _claimed(brought, claim, owner, "give it another name in its component")
            if brought in shared.get(folder, ()):
                hint = "leave it out of the component, or give it another name"
                yield _claimed(brought, claim, "is also in shared/", hint)
            first = taken.setdefault((folder, brought), claim)
            if first is not claim:
                yield _conflict(brought, first, claim)
    if not taken:
        return
    for folder, entry in in_lists:
        for own in own_objects(entry.plan):
            if (folder, own) in taken:
                yield _conflict(own, _Claim(entry.plan.name, entry), taken[folder, own])


def _brought(
    entry: Planned, frozen: list[str], bases: Bases, existing: Existing
) -> Iterator[tuple[str, Identity]]:
    """Yield the further objects of a workload's runs, such as those of components, each with its run."""
    for path in frozen:
        run = path.rpartition("/")[2].removesuffix(".yaml")
        for brought in _in_text(existing.texts[path], run):
            yield run, brought
    if frozen_file(entry.plan) not in frozen:
        for brought in brought_objects(entry.plan, bases):
            yield entry.plan.name, brought


def _in_text(text: str, run: str) -> list[Identity]:
    """Return the objects in a frozen run that do not bear its name."""
    if "\n---\n" not in text or text.count(_NAME) == text.count(f"{_NAME}{run}\n"):
        return []
    documents, _ = read_documents(text, "")
    objects = [document.data for document in documents if is_object(document.data)]
    return [identity(item) for item in objects if identity(item)[3] != run]


def _claimed(identified: Identity, claim: _Claim, owner: str, hint: str) -> Problem:
    message = f"run '{claim.run}' contains the object {shown(identified)}, which {owner}"
    source = claim.planned.workload.source
    return source.problem("NAME004", ("spec", "components"), message, hint, key=True)


def _conflict(identified: Identity, first: _Claim, second: _Claim) -> Problem:
    earlier, later = first.planned.workload, second.planned.workload
    runs = f"runs '{first.run}' and '{second.run}'"
    if earlier.key != later.key:
        runs = f"workloads '{earlier.key}' and '{later.key}'"
    place: Path = ("spec", "components") if later.components else ("metadata", "name")
    message = f"{runs} both contain the object {shown(identified)}"
    message += ", but kustomize accepts each object only once"
    hint = "give it a different name in each component, or declare it once in custom/"
    return later.source.problem("NAME004", place, message, hint, key=True)
