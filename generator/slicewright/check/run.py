"""The one loop that runs rules over the objects of each scope, and one report for each mistake.

Rules see the objects of a cluster together if one is declared, else those of a build or a folder: a
repository may hold tutorials, environments and variants of one thing. See docs/explanation/scopes.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from slicewright.check.origin import of_inputs, said_of_input
from slicewright.kubernetes.problem import Problem, Severity, errors
from slicewright.objects import Finding, ObjectSet, Resource, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.catalogue.catalogue import Catalogue
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster


class Scope(NamedTuple):
    """A cluster, or a build or a folder of no declared cluster; without a form it is all of these."""

    cluster: str = ""
    form: str = ""
    folder: str = ""


def object_sets(
    resources: Iterable[tuple[Scope, Resource]],
    catalogue: Catalogue,
    sites: Mapping[str, ResolvedCluster],
    *,
    one_cluster: bool,
    as_written: Sequence[Resource] = (),
) -> dict[Scope, ObjectSet]:
    """Return the objects of each scope; a TPUCluster also has the objects that belong to no cluster."""
    by_scope: dict[Scope, list[Resource]] = defaultdict(list)
    of_no_cluster: list[Resource] = []
    for scope, resource in resources:
        by_scope[scope].append(resource)
        if not scope.cluster:
            of_no_cluster.append(resource)
    widest = ObjectSet(of_no_cluster, catalogue, as_written=as_written, is_cluster=one_cluster)
    sets = {
        scope: ObjectSet(
            some,
            catalogue,
            sites.get(scope.cluster),
            of_no_cluster if scope.cluster in sites else (),
            beyond=None if scope.cluster else widest,
        )
        for scope, some in by_scope.items()
    }
    return {**sets, Scope(): widest}


_OF_VALUES = frozenset({"SCHEMA004", "SCHEMA006", "SCHEMA007"})
"""Findings about the very value (or key) at their path: unknown, none of the choices, out of range.

What is missing (SCHEMA005) or has no form (SCHEMA008) is reported at the place of its holder, where a rule
may speak of something else.
"""
_CEL = "CEL001"


class RuleSet:
    """Rules by the kinds that they look at, so that each object is compared only with rules for its kind."""

    def __init__(self, rules: Iterable[Rule] = (), hint_of: Callable[[str], str] = lambda _: "") -> None:
        """Take the rules, and what returns the hint of a rule that has none itself.

        Rules of one kind run in this order, before those of all kinds.
        """
        self._rules = tuple(rules)
        self._hint_of = hint_of
        self._of_all: list[Rule] = []
        self._by_kind: dict[str, list[Rule]] = {}
        self._says: dict[str, tuple[str, ...]] = {}
        for rule in self._rules:
            if not rule.kinds:
                self._of_all.append(rule)
            for kind in rule.kinds:
                self._by_kind.setdefault(kind, []).append(rule)
            if rule.says:
                self._says[rule.id] = rule.says

    def __bool__(self) -> bool:
        return bool(self._rules)

    def without(self, is_out: Callable[[str], bool]) -> RuleSet:
        """Return the rules but those with some ids."""
        return RuleSet((rule for rule in self._rules if not is_out(rule.id)), self._hint_of)

    def problems(
        self, objects: ObjectSet, resources: Iterable[Resource] | None = None
    ) -> tuple[Problem, ...]:
        """Return what the rules find in some of the objects (or all), object by object."""
        chosen = objects.all if resources is None else resources
        return tuple(chain.from_iterable(self.of_each([(resource, objects) for resource in chosen])))

    def of_each(self, pairs: Iterable[tuple[Resource, ObjectSet]]) -> list[list[Problem]]:
        """Return the problems of each object, with the rules applied one after the other to all objects.

        The code of a rule then stays in the processor's cache, which saves a third of the time.
        """
        found: list[list[Problem]] = []
        groups: dict[str, list[tuple[Resource, ObjectSet, list[Problem]]]] = defaultdict(list)
        for resource, objects in pairs:
            found.append([])
            groups[resource.kind if resource.is_known else ""].append((resource, objects, found[-1]))
        for kind, group in groups.items():
            for rule in (*self._by_kind.get(kind, ()), *self._of_all):
                for resource, objects, problems in group:
                    for finding in rule.check(resource, objects):
                        problems.append(self._problem(rule, finding, resource))
        return found

    def _problem(self, rule: Rule, finding: Finding, resource: Resource) -> Problem:
        hint = finding.hint or rule.hint or self._hint_of(rule.id)
        is_sure = finding.is_certain or rule.severity != "error"
        severity: Severity = rule.severity if is_sure else "warning"
        path, message, fix = finding.path, finding.message, finding.fix
        return resource.problem(rule.id, path, message, hint, severity=severity, fix=fix)

    def without_repeats(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        """Return the problems without those that another one reports in better words.

        An error of a rule replaces those of schemas and CEL for the same object. A problem of an input file
        replaces those of the objects that are rendered from it. A warning that readers of YAML disagree about
        a value is left out if an error refuses the value.
        """
        inputs = of_inputs(problems)
        of_files = {(problem.id, _place(problem)) for problem in problems if not problem.folder}
        fixes = {_value(problem): problem.fix for problem in problems if problem.id in _OF_VALUES}
        refused = set(map(_place, errors(problems)))
        by_rules: dict[tuple[str, str], list[Problem]] = defaultdict(list)
        left = []
        for problem in problems:
            is_disputed = problem.id in ("YAML006", "YAML007") and problem.severity == "warning"
            if (is_disputed and _place(problem) in refused) or said_of_input(problem, inputs):
                continue
            if problem.folder and (problem.id, _place(problem)) in of_files:
                continue
            left.append(problem)
            if problem.severity == "error" and not problem.id.startswith(("SCHEMA", _CEL)):
                by_rules[_subject(problem)].append(problem)
        return tuple(
            # The schema may have a fix for what the rule reports.
            replace(problem, fix=problem.fix or fixes.get(_value(problem)))
            for problem in left
            if not self._repeats(problem, by_rules.get(_subject(problem), ()))
        )

    def _repeats(self, problem: Problem, by_rules: Iterable[Problem]) -> bool:
        if problem.id in _OF_VALUES:
            return any(other.path == problem.path for other in by_rules)
        return problem.id == _CEL and any(
            problem.message in self._says.get(other.id, ())
            and other.path[: len(problem.path)] == problem.path
            for other in by_rules
        )


_subject = attrgetter("file", "object")
_value = attrgetter("file", "object", "path")
_place = attrgetter("file", "line", "column")
