"""The one loop that runs rules over objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slicewright.core.check.model import ObjectSet, Resource, Rule
    from slicewright.core.problem import Problem


class RuleSet:
    """Rules by the kinds that they look at, so that no object meets a rule that is about others."""

    def __init__(self, rules: Iterable[Rule] = (), hint_of: Callable[[str], str] = lambda _: "") -> None:
        """Take the rules, and what returns the hint of a rule that has none itself.

        Rules of one kind run in this order, before those of all kinds.
        """
        self._hint_of = hint_of
        self._of_all: list[Rule] = []
        self._by_kind: dict[str, list[Rule]] = {}
        for rule in rules:
            if not rule.kinds:
                self._of_all.append(rule)
            for kind in rule.kinds:
                self._by_kind.setdefault(kind, []).append(rule)

    def __bool__(self) -> bool:
        return bool(self._of_all or self._by_kind)

    def problems(
        self, objects: ObjectSet, resources: Iterable[Resource] | None = None
    ) -> tuple[Problem, ...]:
        """Return what the rules find in some of the objects (or all), object by object."""
        return tuple(
            problem
            for resource in (objects.all if resources is None else resources)
            for problem in self._of_resource(resource, objects)
        )

    def _of_resource(self, resource: Resource, objects: ObjectSet) -> Iterator[Problem]:
        own = self._by_kind.get(resource.kind, ()) if resource.is_known else ()
        for rule in (*own, *self._of_all):
            for finding in rule.check(resource, objects):
                hint = finding.hint or rule.hint or self._hint_of(rule.id)
                yield resource.problem(rule.id, finding.path, finding.message, hint, severity=rule.severity)
