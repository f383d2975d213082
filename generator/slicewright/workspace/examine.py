"""Units -> report: every object against its schema, then all objects of a cluster against the rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slicewright.core.check.doubles import without_doubles
from slicewright.core.check.item import Item
from slicewright.core.check.silence import inputs, silence
from slicewright.core.check.world import World
from slicewright.core.document.read import read_documents
from slicewright.core.intent.source import Source, SourceFile
from slicewright.core.problem import Problem, errors, in_order
from slicewright.workspace.crowd import Checked, Examined, packed, spread, unpacked
from slicewright.workspace.units import STDIN, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from slicewright.core.check.engine import Engine
    from slicewright.core.check.origin import Origins
    from slicewright.core.check.silence import Ignores
    from slicewright.core.plan.site import Site
    from slicewright.workspace.kubeconform import Kubeconform

_UNUSED = "IGN102"
"""A reason for silence where there is nothing to silence."""
_DISPUTED = "YAML007"
"""A word that kustomize reads as another value: of no interest where kustomize reads nothing."""
_OURS = "slicewright.dev/"
_INPUT = {
    "TPUWorkload": "slicewright/tpuworkload.json",
    "TPUCluster": "slicewright/tpucluster.json",
}


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


def examine(
    reading: Iterable[Examined],
    engine: Engine,
    *,
    found: Iterable[Problem] = (),
    sites: Mapping[str, Site] | None = None,
    origins: Origins | None = None,
    ignores: Ignores | None = None,
    known: Callable[[], Collection[str]] = tuple,
    complete: bool = True,
    of_render: Callable[[], Sequence[Problem]] = tuple,
    kubeconform: Kubeconform | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Report:
    """Check what is being read (`examine_each`), beside problems that were found before.

    `origins` leads from what was rendered to the line that a person wrote, `known` returns the ids of all
    rules, and `tick` is called for each unit.
    Unless the check is `complete`, with all rules on a whole repository, nothing is said about reasons for
    silence that silenced nothing; before it is, `of_render` returns what a render finds, which may be what is
    silenced. A render that meets an error does not look at everything.
    """
    problems = [*found, *(ignores.problems if ignores else ())]
    examined: list[Examined] = []
    for one in reading:
        if _is_no_manifest(one):
            one = replace(one, problems=())  # noqa: PLW2901 - as if it had none
        examined.append(one)
        problems += one.problems
        tick()
    objects = [checked for one in examined for checked in one.objects]
    cluster_of = {id(checked.item): one.unit.cluster for one in examined for checked in one.objects}
    others = [checked for checked in objects if not _is_ours(checked.item)]
    if kubeconform is not None:
        others, refused = kubeconform.judged(others)
        problems += refused
    for checked in objects:
        if _is_ours(checked.item):
            problems += _input_problems(checked.item)
    for cluster, item in _kustomizations(examined):
        others.append(Checked(item, "skipped", clean=True))
        cluster_of[id(item)] = cluster
    problems += _of_each(others, cluster_of, engine, sites or {})
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


def _of_each(
    checks: Sequence[Checked], cluster_of: Mapping[int, str], engine: Engine, sites: Mapping[str, Site]
) -> Iterator[Problem]:
    """Yield everything that there is to say of each object, by itself and among those of its cluster."""
    if not engine.has_rules:
        for checked in checks:
            yield from () if checked.clean else engine.object_problems(checked.item, checked.verdict)
        return
    from slicewright.workspace.package import catalogue  # noqa: PLC0415 - only rules need it

    by_cluster: dict[str, list[Item]] = defaultdict(list)
    for checked in checks:
        by_cluster[cluster_of[id(checked.item)]].append(checked.item)
    worlds = {
        cluster: World(
            items, catalogue(), sites.get(cluster), beside=by_cluster.get("", ()) if cluster in sites else ()
        )
        for cluster, items in by_cluster.items()
    }

    def work(number: int) -> list[tuple[Any, ...]]:
        checked = checks[number]
        said = [] if checked.clean else list(engine.object_problems(checked.item, checked.verdict))
        world = worlds[cluster_of[id(checked.item)]]
        return packed([*said, *engine.rule_problems(world, (checked.item,))])

    for found in spread(work, len(checks)):
        yield from unpacked(found)


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
                whole = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **data}
                yield one.unit.cluster, Item(whole, name, Source(SourceFile(name, text), documents[0]))


def _is_ours(item: Item) -> bool:
    return str(item.data["apiVersion"]).startswith(_OURS)


def _input_problems(item: Item) -> Iterator[Problem]:
    """Yield what stands against a document of our own input formats."""
    from slicewright.workspace.package import schemas  # noqa: PLC0415 - only our own formats need them

    schema = _INPUT.get(item.kind)
    if schema is None:
        yield item.problem("IN007", ("kind",), f"there is no kind '{item.kind}' in {_OURS}")
        return
    refused = list(schemas().problems(schema, item.data))
    if item.kind == "TPUCluster" and not refused:
        from slicewright.core.platform.against_configuration import against_configuration  # noqa: PLC0415

        refused += against_configuration(item.data["spec"], schemas())
    for problem in refused:
        yield _placed(item, problem)


def _placed(item: Item, problem: Problem) -> Problem:
    return item.problem(
        problem.id,
        problem.path,
        problem.message,
        problem.hint,
        severity=problem.severity,
        key=problem.id in ("IN002", "IN006"),
    )


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


def unread(paths: Sequence[str], report: Report) -> Problem | None:
    """Return the problem of a check that had nothing to look at, which must not pass for a good one."""
    if report.objects or report.problems:
        return None
    message = "there is no Kubernetes object to check"
    hint = "check the path, and what --exclude leaves out"
    return Problem("FILE006", message, hint, file=_only(paths))


def _only(paths: Sequence[str]) -> str:
    """Return the path that was given, if it is the only one."""
    if len(paths) != 1:
        return ""
    return "stdin" if paths[0] == STDIN else printable(paths[0])
