"""Units -> report: every object against its schema, then all objects of a cluster against the rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from slicewright.core.check.doubles import without_doubles
from slicewright.core.check.item import Item
from slicewright.core.check.silence import inputs, silence
from slicewright.core.check.world import World
from slicewright.core.document.read import read_documents
from slicewright.core.intent.source import Source, SourceFile
from slicewright.core.kubernetes.kinds import KUSTOMIZATION_VERSION
from slicewright.core.kubernetes.labels import OURS
from slicewright.core.platform.validate_configuration import validate_configuration
from slicewright.core.problem import Problem, errors, in_order
from slicewright.core.render.repository import SCHEMA_OF

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.check.engine import Engine, Verdict
    from slicewright.core.check.origin import Origins
    from slicewright.core.check.run import RuleSet
    from slicewright.core.check.silence import Ignores
    from slicewright.core.intent.check import Schemas
    from slicewright.core.plan.resolve import ResolvedCluster

_UNUSED = "IGN102"
"""A reason for silence where there is nothing to silence."""
_DISPUTED = "YAML007"
"""A word that kustomize reads as another value: of no interest where kustomize reads nothing."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing to read: a file, a kustomization folder, or stdin."""

    form: Literal["file", "folder", "stdin"]
    path: str
    """Absolute; empty for stdin."""
    name: str
    """What a report calls it."""
    cluster: str = ""
    """The cluster whose objects are examined together with it."""
    named: bool = False
    """Whether the user named it: then a file without a Kubernetes object is wrong, else it is passed by."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An object, what its schema says, and whether anything of it needs to be explained."""

    item: Item
    verdict: Verdict
    clean: bool


@dataclass(frozen=True, slots=True)
class Examined:
    """A unit, read and checked one object at a time."""

    unit: Unit
    objects: tuple[Checked, ...]
    problems: tuple[Problem, ...]
    kustomizations: tuple[tuple[str, str], ...]
    """Name and text of those that a folder is built from."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found, and what it looked at."""

    problems: tuple[Problem, ...]
    objects: tuple[Item, ...]
    units: int
    """Files and folders that were read."""
    skipped: Mapping[str, int]
    """Objects that were let pass because their kind was named, by kind."""
    passed_by: tuple[str, ...]
    """Files without a Kubernetes object in them, which nobody named."""

    def summary(self) -> dict[str, Any]:
        """Return the numbers, as JSON has them."""
        wrong = len(errors(self.problems))
        return {
            "objects": len(self.objects),
            "read": self.units,
            "errors": wrong,
            "warnings": len(self.problems) - wrong,
            "skipped": dict(sorted(self.skipped.items())),
            "withoutObject": list(self.passed_by),
        }


Judge = Callable[[Sequence[Checked]], tuple[list[Checked], list[Problem]]]
"""Returns objects with another engine's verdicts, and its reasons where ours has none."""
Each = Callable[[Callable[[int], Iterable[Problem]], int], Iterator[Problem]]
"""Yields what some work finds for each of the numbers below a count, in their order."""


def examine(
    reading: Iterable[Examined],
    engine: Engine,
    rules: RuleSet,
    catalogue: Callable[[], Catalogue],
    schemas: Callable[[], Schemas],
    *,
    found: Iterable[Problem] = (),
    sites: Mapping[str, ResolvedCluster] | None = None,
    origins: Origins | None = None,
    ignores: Ignores | None = None,
    known: Callable[[], Collection[str]] = tuple,
    complete: bool = True,
    of_render: Callable[[], Sequence[Problem]] = tuple,
    judged: Judge | None = None,
    each: Each = lambda work, count: chain.from_iterable(map(work, range(count))),
) -> Report:
    """Check what was read, object by object, beside problems that were found before.

    `origins` leads from what was rendered to the line that a person wrote, `known` returns the ids of all
    rules. `judged` may ask another engine about the schemas, and `each` may share the work among processes.
    Unless the check is `complete`, with all rules on a whole repository, nothing is said about reasons for
    silence that silenced nothing; before it is, `of_render` returns what a render finds, which may be what is
    silenced. A render that meets an error does not look at everything.
    """
    examined = [replace(one, problems=()) if _is_no_manifest(one) else one for one in reading]
    problems = [*found, *(ignores.problems if ignores else ())]
    problems += (problem for one in examined for problem in one.problems)
    objects = [checked for one in examined for checked in one.objects]
    cluster_of = {id(checked.item): one.unit.cluster for one in examined for checked in one.objects}
    others = [checked for checked in objects if not _is_ours(checked.item)]
    if judged is not None:
        others, refused = judged(others)
        problems += refused
    for checked in objects:
        if _is_ours(checked.item):
            problems += _input_problems(checked.item, schemas)
    written = list(_kustomizations(examined))
    cluster_of |= {id(item): cluster for cluster, item in written}
    others += (Checked(item, "skipped", clean=True) for _, item in written)
    worlds = _worlds(others, cluster_of, catalogue(), sites or {}) if rules else {}
    remaining = [checked for checked in others if rules or not checked.clean]

    def work(number: int) -> Iterator[Problem]:
        checked = remaining[number]
        if not checked.clean:
            yield from engine.object_problems(checked.item, checked.verdict)
        if rules:
            yield from rules.problems(worlds[cluster_of[id(checked.item)]], (checked.item,))

    problems += each(work, len(remaining))
    problems += engine.unevaluated(checked.item for checked in others if not checked.clean)
    problems += engine.idle_skips(checked.item for checked in objects)
    if origins is not None:
        rendered = {(checked.item.file, checked.item.subject): checked.item for checked in others}
        problems = [origins.placed(one, rendered.get((one.file, one.object))) for one in problems]
    entries = ignores.entries if ignores else ()
    items = [checked.item for checked in (*objects, *others)]
    items += inputs(origins.sources) if origins else ()
    left = silence(problems, items, entries, known)
    if any(problem.id == _UNUSED for problem in left):
        more = of_render() if complete else ()
        unused = () if errors(more) or not complete else silence([*problems, *more], items, entries, known)
        left = tuple(problem for problem in left if problem.id != _UNUSED or problem in unused)
    return Report(
        in_order(without_doubles(left)),
        tuple(checked.item for checked in objects),
        len(examined),
        Counter(checked.item.kind for checked in objects if checked.verdict == "skipped"),
        tuple(_passed_by(examined)),
    )


def _worlds(
    checks: Iterable[Checked],
    cluster_of: Mapping[int, str],
    catalogue: Catalogue,
    sites: Mapping[str, ResolvedCluster],
) -> dict[str, World]:
    """Return the objects that the rules see together: those of each cluster, and beside them those of all."""
    by_cluster: dict[str, list[Item]] = defaultdict(list)
    for checked in checks:
        by_cluster[cluster_of[id(checked.item)]].append(checked.item)
    of_all = by_cluster.get("", ())
    return {
        name: World(items, catalogue, sites.get(name), beside=of_all if name in sites else ())
        for name, items in by_cluster.items()
    }


def _kustomizations(examined: Iterable[Examined]) -> Iterator[tuple[str, Item]]:
    """Yield the hand-written kustomizations of each cluster, each once: they have rules, and no schema."""
    seen: set[tuple[str, str]] = set()
    for one in examined:
        for name, text in one.kustomizations:
            documents, _ = read_documents(text, name)
            if (one.unit.cluster, name) in seen or len(documents) != 1:
                continue
            seen.add((one.unit.cluster, name))
            data = documents[0].data
            if isinstance(data, dict):
                # Both may be left out of a kustomization, and rules go by them.
                whole = {"apiVersion": KUSTOMIZATION_VERSION, "kind": "Kustomization", **data}
                yield one.unit.cluster, Item(whole, name, Source(SourceFile(name, text), documents[0]))


def _is_ours(item: Item) -> bool:
    return str(item.data["apiVersion"]).startswith(OURS)


def _input_problems(item: Item, schemas: Callable[[], Schemas]) -> Iterator[Problem]:
    """Yield what stands against a document of our own input formats."""
    schema = SCHEMA_OF.get(item.kind)
    if schema is None:
        yield item.problem("IN007", ("kind",), f"there is no kind '{item.kind}' in {OURS}")
        return
    refused = list(schemas().problems(schema, item.data))
    if item.kind == "TPUCluster" and not refused:
        refused += validate_configuration(item.data["spec"], schemas())
    for problem in refused:
        yield item.placed(problem)


def _is_no_manifest(one: Examined) -> bool:
    """Tell whether a file that nobody named has nothing against it but words that kustomize would misread."""
    return (
        bool(one.problems)
        and not (one.objects or one.unit.named)
        and all(problem.id == _DISPUTED for problem in one.problems)
    )


def _passed_by(examined: Iterable[Examined]) -> Iterator[str]:
    for one in examined:
        if one.unit.form == "file" and not one.objects and not one.problems:
            yield one.unit.name
