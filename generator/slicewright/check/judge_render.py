"""Checks the runs that a render starts by the rules of `validate`, before anything is written.

An existing run is checked only if the platform below it changes. What it then lacks is a warning: a frozen
run cannot be changed, and it must not block the render of others.
"""

from __future__ import annotations

import posixpath
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from slicewright.check.origin import Origins, of_inputs, said_of_input
from slicewright.check.rules import multislice, pods_ready
from slicewright.check.rules.every import FITS, RULES
from slicewright.check.rules.jobset_policies import gates
from slicewright.check.rules.pathways import image_tags
from slicewright.check.rules.tpu_provisioning import minimum_version
from slicewright.check.run import RuleSet
from slicewright.check.suppress import acknowledged, inputs, suppress
from slicewright.document.read import read_documents
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.problem import errors, in_order
from slicewright.objects import ObjectSet, Resource, rules_of
from slicewright.rendering import header
from slicewright.rendering.folder import platform_folder
from slicewright.rendering.overlays import Bases, frozen_file, make
from slicewright.rendering.platform import platform_files as platform
from slicewright.rendering.rendering import Rendering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from slicewright.check.suppress import Entry
    from slicewright.intent.tpuworkload import Workload
    from slicewright.kubernetes.problem import Problem
    from slicewright.kubernetes.types import Object
    from slicewright.objects import Rule
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
    from slicewright.rendering.plans import Planned
    from slicewright.rendering.repository import Package, Repository

_PLAIN = frozenset({"image", "command", "args", "script", "env", "name"})
"""Fields of a container that no rule checks."""
_OWN_AFFAIRS = frozenset(("container", "gcsFuse", "matrix", "naming", "onChange", "rehearsal", "run"))
"""Fields of a workload that do not depend on its cluster."""
_WAITS = rules_of(pods_ready)
_OF_RUNS = tuple(
    rule for rule in RULES if (rule.severity == "error" or rule in _WAITS) and rule.kinds & RUN_KINDS
)
_OF_PLACE = frozenset(_OF_RUNS).intersection(
    (*FITS, *_WAITS, *rules_of(multislice), minimum_version, gates, image_tags)
)
"""Rules that compare a run with its cluster, its variables with its slices, and its version of Pathways with
those that exist. The other rules look at the contents of pods: without additions of a person, these come from
bases and builders."""


def judged(
    rendering: Rendering,
    repository: Repository,
    existing: Mapping[str, str],
    ignored: Sequence[Entry] = (),
    added: Iterable[Rule] = (),
    beside: Sequence[Resource] = (),
) -> Rendering:
    """Return a rendering with what the rules say of its runs; with nothing to write if that is an error.

    `ignored` are the problems that the repository has a reason for: warnings among them are left out. `added`
    are rules of other packages, and `beside` is what custom/ holds. A cluster whose own file is wrong is
    skipped: what its runs lack may follow from that.
    """
    wrong = {problem.file for problem in errors(rendering.problems)}
    origins = Origins(repository.workloads, repository.sites)
    bases = Bases(repository.read_text, repository.package.schemas)
    broken: list[Problem] = []
    others = tuple(rule for rule in added if rule.severity == "error" and rule.kinds & RUN_KINDS)
    for name, site in repository.sites.items():
        runs = [] if site.cluster.source.file.path in wrong else list(_runs(name, rendering, existing, bases))
        if not runs:
            continue
        untainted = rendering.untainted.get(name, ())
        below = platform.objects(site, untainted) if site.cluster.managed else []
        problems, places = _problems_of_runs(site, below, runs, repository.package, others, beside)
        if not problems:
            continue
        placed = [origins.placed(problem, places[problem.file, problem.object][0]) for problem in problems]
        reported = suppress(placed, (*_items(places), *inputs(repository.sources)), ignored)
        broken += (
            problem if places[problem.folder, problem.object][1] else replace(problem, severity="warning")
            for problem in reported
            if not problem.id.startswith("IGN")
        )
    refused = of_inputs(rendering.problems)
    left = [problem for problem in broken if said_of_input(problem, refused) is None]
    problems = in_order((*acknowledged(rendering.problems, repository.sources, ignored), *left))
    if not errors(left):
        return replace(rendering, problems=problems)
    return Rendering(problems=problems, planned=rendering.planned)


_Places = dict[tuple[str, str], tuple[Resource, bool]]
"""Objects of runs by file and name, and whether their run begins."""


class _Run(Struct, frozen=True):
    """One run that the rules look at."""

    begins: bool
    like: str
    """What it shares with runs that fit their cluster alike; empty if a person wrote parts of pods."""
    resources: Callable[[], list[Resource]]


def _runs(cluster: str, rendering: Rendering, existing: Mapping[str, str], bases: Bases) -> Iterator[_Run]:
    """Yield the runs that begin in a cluster, and those that stay on a platform that changes."""
    begun = {posixpath.dirname(run) for run in rendering.begun}
    staying = frozenset(rendering.staying)
    workloads = {entry.plan.folder: entry.workload for entry in rendering.planned}
    below = platform_folder(cluster)
    changes = any(posixpath.dirname(change.path) == below for change in rendering.platform)
    for entry in rendering.planned:
        plan, begins = entry.plan, entry.plan.folder in begun
        looked_at = begins and frozen_file(plan) not in staying if plan.run else begins or changes
        if plan.cluster == cluster and looked_at:
            like = _likeness(entry.workload) if begins else plan.folder
            yield _Run(begins, like, partial(_rendered, entry, bases))
    for path in rendering.staying:
        begins = path.removesuffix(".yaml") in rendering.begun
        if path.split("/")[1] == cluster and (changes or begins):
            like = _likeness(workloads[posixpath.dirname(path)]) and path if begins else path
            yield _Run(begins, like, partial(_read, path, existing[path]))


def _rendered(entry: Planned, bases: Bases) -> list[Resource]:
    overlay, _ = make(entry, bases)
    return [Resource(data, entry.plan.folder) for data in overlay.objects] if overlay else []


def _read(path: str, text: str) -> list[Resource]:
    documents, _ = read_documents(header.body_of(text), path)
    return [Resource(document.data, posixpath.dirname(path)) for document in documents]


def _problems_of_runs(
    site: ResolvedCluster,
    objects: list[Object],
    runs: list[_Run],
    package: Package,
    added: Sequence[Rule],
    beside: Sequence[Resource],
) -> tuple[tuple[Problem, ...], _Places]:
    """Return what the rules find in the runs of a cluster and its platform, and the places of their objects.

    Of runs that are alike only one is checked first; all are checked if it has a problem. With rules of other
    packages no runs count as alike.
    """
    below = [Resource(data, platform_folder(site.cluster.name)) for data in objects]
    alike: dict[str, list[_Run]] = {}
    for entry in runs:
        alike.setdefault("" if added else entry.like, []).append(entry)
    own = _places(alike.pop("", ()))
    about_place = RuleSet(_OF_PLACE, package.hint_of)
    problems: tuple[Problem, ...] = ()
    for entries in ([some[0] for some in alike.values()], chain.from_iterable(alike.values())):
        others = _places(entries)
        items = (*below, *_items(own), *_items(others))
        object_set = ObjectSet(items, package.catalogue, site, beside)
        problems = about_place.problems(object_set, _items(others))
        if not problems:
            break
    rules = RuleSet((*_OF_RUNS, *added), package.hint_of)
    return (*rules.problems(object_set, _items(own)), *problems), own | others


def _places(runs: Iterable[_Run]) -> _Places:
    return {
        (resource.file, resource.subject): (resource, entry.begins)
        for entry in runs
        for resource in entry.resources()
    }


def _items(places: _Places) -> list[Resource]:
    return [resource for resource, _ in places.values()]


def _likeness(workload: Workload) -> str:
    """Return a key that is equal for runs that pass or fail the rules together.

    It is empty for a run that is checked by itself: one with pod parts written by a person, or with rights.
    """
    spec, pathways = workload.resolved_spec, workload.pathways
    head = pathways.head.pod_template if pathways else {}
    parts = (workload.pod_template, head, workload.patches, workload.components, workload.auxiliary_jobs)
    own = workload.source.written.data["metadata"].get("annotations")
    rights = (own, workload.privileged, workload.host_network)
    if any(parts) or any(rights) or not workload.container.keys() <= _PLAIN:
        return ""
    fields = {field: value for field, value in spec.items() if field not in _OWN_AFFAIRS}
    fields["pathways"] = {**spec.get("pathways", {}), "pathwaysDir": ""}
    return repr((workload.namespace, sorted(workload.annotations.items()), sorted(fields.items())))
