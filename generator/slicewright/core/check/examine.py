"""Units -> report: every object against its schema, then all objects of a cluster against the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from slicewright.core.check.filling import not_taken
from slicewright.core.check.model import MERGED, Resource
from slicewright.core.check.partial import of_todo
from slicewright.core.check.passed_by import NO_OBJECT, PassedBy
from slicewright.core.check.run import RuleSet
from slicewright.core.check.scopes import Scope, object_sets
from slicewright.core.check.selection import ALL, Selection, is_below
from slicewright.core.check.suppress import inputs, may_suppress, suppress
from slicewright.core.check.unfinished import VARIANTS, Placeholders, certain, fill, placeholders_in
from slicewright.core.compose.spec import FILE_NAME, OTHER_NAMES
from slicewright.core.document.read import read_manifests
from slicewright.core.intent.source import Source, SourceFile
from slicewright.core.kubernetes.kinds import KUSTOMIZATION_VERSION
from slicewright.core.kubernetes.labels import OURS
from slicewright.core.problem import Problem, errors, in_order, tally

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.check.engine import Engine, Verdict
    from slicewright.core.check.model import ObjectSet
    from slicewright.core.check.origin import Origins
    from slicewright.core.check.reasons import Ignores
    from slicewright.core.intent.check import Schemas
    from slicewright.core.plan.resolve import ResolvedCluster

_KIND = frozenset({("apiVersion",), ("kind",)})
"""Paths where a placeholder says that nobody knows the kind, so that its schema need not be missed."""
_UNUSED = "IGN102"
"""A reason to ignore a problem that is not there."""
_OUTSIDE = "KUS114"
"""A kustomization that names a file outside of its folder."""


class Unit(Struct, frozen=True):
    """One thing to read: a file, a kustomization folder, a chart to render, or stdin."""

    form: Literal["file", "folder", "chart", "stdin"]
    path: str
    """Absolute; empty for stdin."""
    name: str
    """What a report calls it."""
    cluster: str = ""
    """The cluster whose objects are examined together with it."""
    named: bool = False
    """Whether the user named it: then a file without a Kubernetes object is wrong, else it is passed by."""
    partial: bool = False
    """Whether a kustomization that does not build would complete it."""
    patched: bool = False
    """Whether that kustomization has a patch that is not there."""
    inside: bool = False
    """Whether a folder above the file has a kustomization, and none names the file."""
    text: str | Problem | None = None
    """What to read in place of it: stdin is read once, and a file that is mended may not be written yet."""
    joins: bool = False
    """Whether it is checked with its cluster, but is not of the tree: nothing says that it is synced."""
    beside: bool = False
    """Whether the other units only refer to its objects, and nothing of it is reported."""

    @property
    def folder(self) -> str:
        """Return the folder of a file, absolute; a folder is its own."""
        return self.path if self.form in ("folder", "chart") else self.path.rpartition("/")[0] or "/"

    @property
    def scope(self) -> Scope:
        """The scope of its objects: their cluster, else what a kustomization builds, or a folder."""
        return Scope(self.cluster) if self.cluster else Scope("", self.form, self.folder)


class Checked(Struct, frozen=True):
    """An object, what its schema says, and whether anything of it needs to be explained."""

    resource: Resource
    verdict: Verdict
    clean: bool
    placeholders: Placeholders | None = field(default_factory=dict)
    """None for an object that was rendered: nothing of it is filled in later."""
    partial: bool = False
    """Whether a kustomization or a program completes it."""
    patched: bool = False
    """Whether a patch that is not there completes it."""


class Examined(Struct, frozen=True):
    """A unit, read and checked one object at a time."""

    unit: Unit
    objects: tuple[Checked, ...]
    problems: tuple[Problem, ...]
    kustomizations: tuple[tuple[str, str], ...]
    """Name and text of those that a folder is built from."""
    passed_by: tuple[PassedBy, ...] = ()
    """The file, or documents of it, that are not checked."""
    used: frozenset[str] = frozenset()
    """Names of values that were filled in."""
    unrestricted: bool = False
    """Whether kustomizations that a folder is built from may name files outside of their folders."""


class Report(Struct, frozen=True):
    """What a check found, and what it looked at."""

    problems: tuple[Problem, ...]
    objects: tuple[Resource, ...]
    units: int
    """Files and folders that were read."""
    skipped: Mapping[str, int]
    """Objects that were let pass because their kind was named, by kind."""
    passed_by: tuple[PassedBy, ...]
    """Files that nobody named and that are not checked, documents and folders of them."""
    unchanged: int = 0
    """Findings that are left out because their files did not change."""

    def summary(self) -> dict[str, Any]:
        """Return the numbers, as JSON has them."""
        return {
            "objects": len(self.objects),
            "read": self.units,
            **{f"{severity}s": number for severity, number in tally(self.problems).items()},
            "unchanged": self.unchanged,
            "skipped": dict(sorted(self.skipped.items())),
            "withoutObject": [
                passed.path for passed in self.passed_by if passed.reason == NO_OBJECT and not passed.line
            ],
            "passedBy": [passed.record() for passed in self.passed_by],
        }


Judge = Callable[[Sequence[Checked]], tuple[list[Checked], list[Problem]]]
"""Returns objects with another engine's verdicts, and its reasons where ours has none."""


def examine(
    reading: Iterable[Examined],
    engine: Engine,
    rules: RuleSet,
    catalogue: Callable[[], Catalogue],
    schemas: Callable[[], Schemas],
    *,
    earlier: Iterable[Problem] = (),
    passed_by: Iterable[PassedBy] = (),
    values: Iterable[str] = (),
    sites: Mapping[str, ResolvedCluster] | None = None,
    origins: Origins | None = None,
    ignores: Ignores | None = None,
    known: Callable[[], Collection[str]] = tuple,
    whole: Collection[str] = ("",),
    one_cluster: bool = True,
    of_render: Callable[[], Sequence[Problem]] = tuple,
    selection: Selection = ALL,
    judged: Judge | None = None,
) -> Report:
    """Check what was read, object by object, beside `earlier` problems.

    `origins` leads from what was rendered to the line that a person wrote, `known` returns the ids of all
    rules. Of `values` that no placeholder takes there is a warning. `judged` may ask another engine about the
    schemas.
    All objects that no TPUCluster is declared for belong to `one_cluster`, or else to scopes.
    All below the folders `whole` is checked by all rules, '' being a whole repository with its input. Nothing
    is said about reasons elsewhere that suppress nothing. Before that is said, `of_render` returns what a
    render finds, which a reason may suppress. A render that meets an error does not look at everything. Of
    what is left, `selection` is reported.
    """
    examined = list(reading)
    objects = [checked for part in examined for checked in part.objects]
    scopes = {
        id(checked.resource): Scope(part.unit.cluster) if one_cluster else part.unit.scope
        for part in examined
        for checked in part.objects
    }
    problems = [
        *earlier,
        *(ignores.problems if ignores else ()),
        *not_taken(values, frozenset().union(*(part.used for part in examined))),
        *(problem for part in examined for problem in part.problems),
    ]
    others = [checked for checked in objects if not _is_ours(checked.resource)]
    if judged is not None:
        finished, refused = judged([checked for checked in others if not checked.placeholders])
        others = [*finished, *(checked for checked in others if checked.placeholders)]
        problems += refused
    inputs_of_ours = [checked.resource for checked in objects if _is_ours(checked.resource)]
    for resource in inputs_of_ours:
        problems += _input_problems(resource, schemas)
    kustomizations = list(_kustomizations(examined))
    scopes |= {id(resource): Scope(cluster) for cluster, resource in kustomizations}
    others += (Checked(resource, "skipped", clean=True) for _, resource in kustomizations)
    rendered = {(checked.resource.file, checked.resource.subject): checked.resource for checked in others}

    def placed(problem: Problem) -> Problem:
        resource = rendered.get((problem.file, problem.object))
        return origins.placed(problem, resource) if origins else problem

    resources = [checked.resource for checked in (*objects, *others)]
    resources += inputs(origins.sources) if origins else ()
    beside = _files(part for part in examined if part.unit.beside)
    ours = {checked.resource.file for checked in others if scopes[id(checked.resource)].cluster}
    ours -= _files(part for part in examined if part.unit.joins)
    entries = ignores.entries if ignores else ()
    if not may_suppress(resources, entries):  # a reason is of use where its rule would find something
        rules = rules.without(selection.is_idle(resources, ours))
    own = [checked for checked in others if checked.resource.file not in beside]
    remaining = [checked for checked in own if rules or not checked.clean]
    sets = partial(object_sets, catalogue=catalogue(), sites=sites or {}, one_cluster=one_cluster)
    problems_of = _object_check(engine, rules, others, scopes, sets)
    of_objects = (placed(problem) for checked in remaining for problem in problems_of(checked))
    unrestricted = {name for part in examined if part.unrestricted for name, _ in part.kustomizations}
    problems = [
        *map(placed, problems),
        *(problem for problem in of_objects if problem.id != _OUTSIDE or problem.file not in unrestricted),
    ]
    problems += map(placed, engine.unevaluated(checked.resource for checked in others if not checked.clean))
    unknown = (
        checked.resource
        for checked in others
        if checked.verdict == "unknown" and _KIND.isdisjoint(checked.placeholders or ())
    )
    problems += map(placed, engine.without_schema(unknown))
    problems += engine.idle_skips(checked.resource for checked in objects)

    partly = set() if "" in whole else ours | {resource.file for resource in inputs_of_ours}
    left = _unsuppressed(
        partial(suppress, resources=resources, ignored=entries, known=known),
        problems,
        of_render,
        lambda file: file not in partly and is_below(file, whole),
    )
    left = tuple(problem for problem in left if problem.file not in beside)
    objects = [checked for checked in objects if checked.resource.file not in beside]
    return Report(
        selection.select(in_order(rules.without_repeats(left)), resources, ours),
        tuple(checked.resource for checked in objects),
        sum(not part.unit.beside for part in examined),
        Counter(checked.resource.kind for checked in objects if checked.verdict == "skipped"),
        tuple(chain(passed_by, *(part.passed_by for part in examined if not part.unit.beside))),
    )


def _files(examined: Iterable[Examined]) -> set[str]:
    """Return the files and folders that some units read, as reports name them."""
    files = set()
    for part in examined:
        files |= {part.unit.name, *(checked.resource.file for checked in part.objects)}
        files |= {name for name, _ in part.kustomizations}
    return files


def _object_check(
    engine: Engine,
    rules: RuleSet,
    others: Sequence[Checked],
    scopes: Mapping[int, Scope],
    sets_of: Callable[[Iterable[tuple[Scope, Resource]]], Mapping[Scope, ObjectSet]],
) -> Callable[[Checked], Iterator[Problem]]:
    """Return what yields the problems of one object: those of its schema, then those of the rules.

    An object with placeholders is checked with each variant of values, among objects with the same values.
    """
    variants = _variants(others)
    resources = [checked.resource for checked in others if rules]
    sets = [
        sets_of((scopes[id(resource)], instead.get(id(resource), resource)) for resource in resources)
        for instead in variants
    ]

    def problems_of(checked: Checked, variant: int = 0, filled: Resource | None = None) -> Iterator[Problem]:
        key = id(checked.resource)
        resource = filled or variants[variant].get(key, checked.resource)
        if not checked.clean:
            as_read = resource is checked.resource
            yield from engine.object_problems(
                resource, checked.verdict if as_read else engine.verdict(resource)
            )
        if rules:
            yield from rules.problems(sets[variant][scopes[key]], (resource,))

    def check(checked: Checked) -> Iterator[Problem]:
        of_variant = partial(problems_of, checked)
        source = checked.resource.source
        text = source.file.text if source else ""
        problems = certain(
            checked.resource,
            checked.placeholders,
            of_variant,
            is_partial=checked.partial,
            is_patched=checked.patched,
        )
        return (of_todo(problem, text) for problem in problems)

    return check


def schema_errors(engine: Engine, resource: Resource) -> tuple[Problem, ...]:
    """Return the errors of one object by its schema, whatever its placeholders become."""
    held = placeholders_in(resource.data)
    checked = Checked(resource, engine.verdict(resource), clean=False, placeholders=held)
    return errors(_object_check(engine, RuleSet(()), [checked], {}, lambda _: {})(checked))


def _unsuppressed(
    drop: Callable[[Sequence[Problem]], tuple[Problem, ...]],
    problems: Sequence[Problem],
    of_render: Callable[[], Sequence[Problem]],
    is_reported: Callable[[str], bool],
) -> tuple[Problem, ...]:
    """Return the problems that no reason drops, and where `is_reported` says so the reasons without use.

    A render is looked at only where a reason drops nothing: it may drop what the render finds.
    """
    left = drop(problems)
    if not any(problem.id == _UNUSED for problem in left):
        return left
    more = of_render()
    always = set() if errors(more) else set(drop([*problems, *more]))
    return tuple(
        problem
        for problem in left
        if problem.id != _UNUSED or (problem in always and is_reported(problem.file))
    )


def _variants(checks: Iterable[Checked]) -> list[Mapping[int, Resource]]:
    """Return what is in the place of some objects, by identity: nothing, then values for placeholders."""
    unfinished = [(checked.resource, checked.placeholders) for checked in checks if checked.placeholders]
    filled = (
        {id(resource): fill(resource, held, variant) for resource, held in unfinished}
        for variant in (VARIANTS if unfinished else ())
    )
    return [{}, *filled]


def _kustomizations(examined: Iterable[Examined]) -> Iterator[tuple[str, Resource]]:
    """Yield the hand-written kustomizations of each cluster and the files that they merge, each once.

    They have rules, and no schema.
    """
    files = {(part.unit.cluster, name): text for part in examined for name, text in part.kustomizations}
    for (cluster, name), text in files.items():
        documents, _ = read_manifests(text, name)
        data = [document.data for document in documents]
        if name.rpartition("/")[2] not in (FILE_NAME, *OTHER_NAMES):
            yield cluster, Resource({"apiVersion": "v1", "kind": MERGED, "documents": data}, name)
        elif len(data) == 1 and isinstance(data[0], dict):
            # Both may be left out of a kustomization, and rules go by them.
            whole = {"apiVersion": KUSTOMIZATION_VERSION, "kind": "Kustomization", **data[0]}
            yield cluster, Resource(whole, name, Source(SourceFile(name, text), documents[0]))


def _is_ours(resource: Resource) -> bool:
    return str(resource.data["apiVersion"]).startswith(OURS)


def _input_problems(resource: Resource, schemas: Callable[[], Schemas]) -> Iterator[Problem]:
    """Yield the problems of a document of our own input formats."""
    # Few files that are checked hold one.
    from slicewright.core.platform.kueue_configuration import validate_configuration  # noqa: PLC0415
    from slicewright.core.render.repository import SCHEMA_OF  # noqa: PLC0415

    schema = SCHEMA_OF.get(resource.kind)
    if schema is None:
        yield resource.problem("IN007", ("kind",), f"unknown kind '{resource.kind}' of {OURS}")
        return
    refused = list(schemas().problems(schema, resource.data))
    if resource.kind == "TPUCluster" and not refused:
        refused += validate_configuration(resource.data["spec"], schemas())
    for problem in refused:
        yield resource.placed(problem)
