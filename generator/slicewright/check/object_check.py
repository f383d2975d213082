"""One object against the schema of its kind, then against the rules among all objects of its scope."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from slicewright.check.scopes import object_sets
from slicewright.check.unfinished import SAMPLES, filled, independent, note, own_samples, placeholders_in
from slicewright.kubernetes.problem import Problem, errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from slicewright.catalogue.catalogue import Catalogue
    from slicewright.check.engine import Engine
    from slicewright.check.origin import Origins
    from slicewright.check.reasons import Ignores
    from slicewright.check.run import RuleSet
    from slicewright.check.scopes import Scope
    from slicewright.check.units import Checked, Read
    from slicewright.intent.validate import Schemas
    from slicewright.objects import ObjectSet, Resource
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster


class Surroundings(Protocol):
    """What there is beside the files that are checked; a method is called only where it is needed."""

    @property
    def sites(self) -> Mapping[str, ResolvedCluster]:
        """The clusters that are declared, by their names."""

    @property
    def origins(self) -> Origins | None:
        """The way from what was rendered to the line that a person wrote; None where nothing was."""

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
    """Return the errors of one object by its schema that no value of its placeholders mends."""
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
        """Yield the problems of an object with placeholders that no value of them mends."""
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
        """The objects of each scope with each sample in the place of all placeholders."""
        return [
            self._object_sets(
                (self._scopes[id(one)], self._filled[id(one)][number] if id(one) in self._filled else one)
                for one in self._manifests
            )
            for number in range(len(SAMPLES))
        ]

    def _object_sets(self, resources: Iterable[tuple[Scope, Resource]]) -> Mapping[Scope, ObjectSet]:
        return object_sets(resources, self._catalogue, self._sites, one_cluster=self._one_cluster)
