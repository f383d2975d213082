"""Units -> report: every object against its schema, then all objects of a cluster against the rules."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from slicewright.check.filling import not_taken
from slicewright.check.passed_by import NO_OBJECT, PassedBy
from slicewright.check.run import object_sets
from slicewright.check.selection import ALL, Selection, is_below
from slicewright.check.suppress import inputs, may_suppress, suppress
from slicewright.check.unfinished import SAMPLES, filled, independent, note, own_samples, placeholders_in
from slicewright.check.units import Checked, Read, is_input
from slicewright.intent.validate import SCHEMA_OF
from slicewright.kubernetes.labels import OURS
from slicewright.kubernetes.problem import Problem, errors, in_order, tally
from slicewright.objects import Resource

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from slicewright.catalogue.catalogue import Catalogue
    from slicewright.check.engine import Engine
    from slicewright.check.origin import Origins
    from slicewright.check.run import RuleSet, Scope
    from slicewright.check.suppress import Ignores
    from slicewright.check.units import Examined
    from slicewright.intent.validate import Schemas
    from slicewright.objects import ObjectSet
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster


class Surroundings(Protocol):
    """The context of the checked files; a method is called only if its result is needed."""

    @property
    def sites(self) -> Mapping[str, ResolvedCluster]:
        """The clusters that are declared, by their names."""

    @property
    def origins(self) -> Origins | None:
        """Finds the input field behind a rendered value; None if nothing was rendered."""

    @property
    def ignores(self) -> Ignores:
        """The reasons to ignore problems."""

    def catalogue(self) -> Catalogue:
        """Return the TPU catalogue."""

    def input_schemas(self) -> Schemas:
        """Return the schemas of our own input formats."""

    def ids(self) -> Collection[str]:
        """Return the ids of all rules."""

    def render_problems(self) -> Sequence[Problem]:
        """Return what a render finds, which a reason may suppress."""


def schema_errors(engine: Engine, resource: Resource) -> tuple[Problem, ...]:
    """Return the errors of one object by its schema that no value of its placeholders can remove."""
    held = placeholders_in(resource.data)
    samples = [filled(resource, held, sample) for sample in SAMPLES] if held else [resource]
    found = (engine.object_problems(one, engine.verdict(one)) for one in samples)
    return errors(independent(found, held))


class ObjectCheck:
    """Checks objects: each against its schema, and among those of its scope."""

    def __init__(
        self, engine: Engine, rules: RuleSet, beside: Surroundings, read: Read, manifests: Sequence[Checked]
    ) -> None:
        self._engine, self._rules = engine, rules
        self._scopes = read.scopes
        self._catalogue, self._sites = beside.catalogue(), beside.sites
        self._one_cluster = read.one_cluster
        self._manifests = [one.resource for one in manifests] + read.others
        self._filled = {
            id(one.resource): [filled(one.resource, one.placeholders, sample) for sample in SAMPLES]
            for one in manifests
            if one.placeholders
        }

    def problems(self, objects: Iterable[Checked]) -> Iterator[Problem]:
        """Yield the problems of some objects, object by object."""
        objects = list(objects)
        finished = [one.resource for one in objects if not one.placeholders]
        pairs = [(resource, self._sets[self._scopes[id(resource)]]) for resource in finished]
        by_rules = iter(self._rules.of_each(pairs))
        for one in objects:
            if one.placeholders:
                yield from self._of_unfinished(one)
                continue
            if not one.clean:
                yield from self._engine.object_problems(one.resource, one.verdict)
            yield from next(by_rules)

    def _of_unfinished(self, checked: Checked) -> Iterator[Problem]:
        """Yield the problems of an object with placeholders that no value of them can remove."""
        resource, held = checked.resource, checked.placeholders
        scope = self._scopes[id(resource)]
        yield from note(resource, held)
        samples = zip(self._filled[id(resource)], self._sets_of_samples, strict=True)
        left = independent((self._of(data, sets[scope]) for data, sets in samples), held)
        for sample in own_samples(resource, left):
            data = filled(resource, held, sample)
            again = self._of(data, self._sets_of_samples[0][scope])
            left = independent((left, again), held)
        yield from left

    def _of(self, resource: Resource, objects: ObjectSet) -> Iterator[Problem]:
        yield from self._engine.object_problems(resource, self._engine.verdict(resource))
        yield from self._rules.problems(objects, (resource,))

    @cached_property
    def _sets(self) -> Mapping[Scope, ObjectSet]:
        return self._object_sets((self._scopes[id(one)], one) for one in self._manifests)

    @cached_property
    def _sets_of_samples(self) -> list[Mapping[Scope, ObjectSet]]:
        """For each sample the objects of each scope, with the sample in place of all placeholders.

        A name with placeholders still matches every name that it can become.
        """
        return [
            self._object_sets(
                (self._scopes[id(one)], self._filled[id(one)][number] if id(one) in self._filled else one)
                for one in self._manifests
            )
            for number in range(len(SAMPLES))
        ]

    def _object_sets(self, resources: Iterable[tuple[Scope, Resource]]) -> Mapping[Scope, ObjectSet]:
        written, is_one = self._manifests, self._one_cluster
        return object_sets(resources, self._catalogue, self._sites, as_written=written, one_cluster=is_one)


_KIND = frozenset({("apiVersion",), ("kind",)})
"""Paths where a placeholder hides the kind: then a missing schema is not reported."""
_UNUSED = "IGN102"
"""A reason to ignore a problem that does not exist."""


class Report(Struct, frozen=True):
    """What a check found, and what it looked at."""

    problems: tuple[Problem, ...]
    objects: tuple[Resource, ...]
    units: int
    """Files and folders that were read."""
    skipped: Mapping[str, int]
    """Objects that are not judged, by kind: those of other kinds, and of kinds that the user let pass."""
    passed_by: tuple[PassedBy, ...]
    """Files that the user did not name and that are not checked; also documents and folders."""
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


class SecondEngine(Protocol):
    """Another engine that judges objects by their schemas."""

    def judged(self, objects: Sequence[Checked]) -> tuple[list[Checked], list[Problem]]:
        """Return the objects with its verdicts, and its reasons if ours has none."""


class Judges(Struct, frozen=True):
    """What judges the objects."""

    engine: Engine
    rules: RuleSet
    second: SecondEngine | None = None


def examine(
    reading: Iterable[Examined],
    judges: Judges,
    beside: Surroundings,
    *,
    earlier: Iterable[Problem] = (),
    passed_by: Iterable[PassedBy] = (),
    values: Iterable[str] = (),
    whole: Collection[str] = ("",),
    one_cluster: bool = True,
    selection: Selection = ALL,
) -> Report:
    """Check the objects of the read units, and report their problems together with `earlier` ones.

    A value in `values` without a placeholder is a warning. Objects that belong to no TPUCluster belong to
    `one_cluster` if it is set, else to scopes. Folders in `whole` are checked completely ('' is a whole
    repository with its input): only there a reason that suppresses nothing is reported. `selection` decides
    which problems are reported.
    """
    engine, rules = judges.engine, judges.rules
    read = Read(list(reading), one_cluster=one_cluster)
    read.add_referred(engine)
    problems = [
        *earlier,
        *beside.ignores.problems,
        *not_taken(values, frozenset().union(*(part.used for part in read.parts))),
        *(problem for part in read.parts for problem in part.problems),
    ]
    problems += (problem for resource in read.inputs for problem in _input_problems(resource, beside))
    manifests = [one for one in read.objects if not is_input(one.resource)]
    if judges.second is not None:
        finished, refused = judges.second.judged([one for one in manifests if not one.placeholders])
        manifests = [*finished, *(one for one in manifests if one.placeholders)]
        problems += refused
    manifests += (Checked(resource, "skipped", clean=True) for resource in read.kustomizations)

    resources = [*read.resources, *(one.resource for one in manifests)]
    if beside.origins:
        resources += inputs(beside.origins.sources)
    ours = read.files_of_clusters()
    # A reason is of use where its rule finds something.
    if not may_suppress(resources, beside.ignores.entries):
        rules = rules.without(selection.is_idle(resources, ours))
    check = ObjectCheck(engine, rules, beside, read, manifests)
    unreported = read.files_beside
    own = [one for one in manifests if one.resource.file not in unreported]
    problems += check.problems(one for one in own if rules or not one.clean)
    problems += engine.unevaluated(one.resource for one in manifests if not one.clean)
    unknown = (one for one in manifests if one.verdict == "unknown" and _KIND.isdisjoint(one.placeholders))
    problems += engine.without_schema(one.resource for one in unknown)
    if beside.origins:
        rendered = {(one.resource.file, one.resource.subject): one.resource for one in manifests}
        problems = [
            beside.origins.placed(problem, rendered.get((problem.file, problem.object)))
            for problem in problems
        ]
    problems += engine.idle_skips(read.resources)

    partly = set() if "" in whole else ours | {resource.file for resource in read.inputs}
    left = [
        problem
        for problem in _unsuppressed(problems, resources, beside)
        if problem.id != _UNUSED or (problem.file not in partly and is_below(problem.file, whole))
    ]
    left = [problem for problem in left if problem.file not in unreported]
    reported = selection.select(in_order(rules.without_repeats(left)), resources, ours)
    objects = [one for one in read.objects if one.resource.file not in unreported]
    skipped = Counter(one.resource.kind for one in objects if one.verdict == "skipped")
    return Report(
        reported,
        tuple(one.resource for one in objects),
        sum(not part.unit.beside for part in read.parts),
        skipped + Counter(resource.kind for resource in read.others),
        tuple(chain(passed_by, *(part.passed_by for part in read.parts if not part.unit.beside))),
    )


def _unsuppressed(
    problems: Sequence[Problem], resources: Sequence[Resource], beside: Surroundings
) -> Iterator[Problem]:
    """Yield the problems that no reason suppresses, and the reasons without use.

    A render is looked at only where a reason suppresses nothing: it may suppress what the render finds. A
    render that meets an error does not look at everything.
    """
    ignored = beside.ignores.entries
    left = suppress(problems, resources, ignored, beside.ids)
    if not any(problem.id == _UNUSED for problem in left):
        yield from left
        return
    more = beside.render_problems()
    always = set() if errors(more) else set(suppress([*problems, *more], resources, ignored, beside.ids))
    yield from (problem for problem in left if problem.id != _UNUSED or problem in always)


def _input_problems(resource: Resource, beside: Surroundings) -> Iterator[Problem]:
    """Yield the problems of a document of our own input formats."""
    schema = SCHEMA_OF.get(resource.kind)
    if schema is None:
        yield resource.problem("IN007", ("kind",), f"unknown kind '{resource.kind}' of {OURS}")
        return
    schemas = beside.input_schemas()
    refused = list(schemas.problems(schema, resource.data))
    if resource.kind == "TPUCluster" and not refused:
        from slicewright.rendering.platform.kueue_configuration import (  # noqa: PLC0415 - 40 ms, for few files
            validate_configuration,
        )

        refused += validate_configuration(resource.data["spec"], schemas)
    for problem in refused:
        yield resource.placed(problem)
