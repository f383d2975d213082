"""What `validate` would say of the runs that a render begins: the same rules, before anything is written.

A run that stays is not looked at, unless the platform below it changes: what it then lacks is a warning, for
nobody can change a run that is frozen, and it must not keep others from being rendered.
"""

from __future__ import annotations

import json
import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING

from slicewright.core.check.doubles import of_inputs, said_of_input
from slicewright.core.check.item import Item
from slicewright.core.check.origin import Origins
from slicewright.core.check.rules import RULES, fit, fit_flavors, fit_nodes, run, tpu_version
from slicewright.core.check.rules.shapes import RUN_KINDS
from slicewright.core.check.silence import acknowledged, inputs, silence
from slicewright.core.check.world import World
from slicewright.core.document.read import read_documents
from slicewright.core.platform import tree as platform
from slicewright.core.problem import errors, in_order
from slicewright.core.render.changes import Rendering
from slicewright.core.run import header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.check.silence import Entry
    from slicewright.core.intent.workload import Workload
    from slicewright.core.plan.site import Site
    from slicewright.core.platform.kueue import KubernetesObject
    from slicewright.core.problem import Problem
    from slicewright.core.render.repository import Repository

_PLAIN = frozenset({"image", "command", "args", "script", "env", "name"})
"""Fields of a container with which no rule can find fault."""
_OWN_AFFAIRS = frozenset({"container", "gcsFuse", "naming", "run", "onChange", "rehearsal", "failurePolicy"})
"""Fields of a workload that say nothing of what it wants of its cluster."""
_ALL = tuple(rule for rule in RULES if rule.severity == "error" and rule.kinds & RUN_KINDS)
_OF_PLACE = (*fit.RULES, *fit_flavors.RULES, *fit_nodes.RULES, *tpu_version.RULES)
_ABOUT_PLACE = tuple(rule for rule in _ALL if rule in _OF_PLACE)
"""Rules that hold a run against its cluster. The others look at what pods are made of: where a person adds
nothing to that, it is what bases and builders make."""


def judged(
    rendering: Rendering, repository: Repository, existing: Mapping[str, str], ignored: Sequence[Entry] = ()
) -> Rendering:
    """Return a rendering with what the rules say of its runs; with nothing to write if that is an error.

    `ignored` are the problems that the repository has a reason for, of which warnings are left out. Of a
    cluster whose own file is wrong nothing is said: what its runs lack may follow from that.
    """
    wrong = {problem.file for problem in errors(rendering.problems)}
    origins = Origins(repository.workloads, repository.sites)
    likeness = {entry.plan.folder: _likeness(entry.workload) for entry in rendering.planned}
    notes = inputs(repository.sources)
    found: list[Problem] = []
    for name, site in repository.sites.items():
        runs = [] if site.cluster.source.file.path in wrong else list(_runs(name, rendering, existing))
        if runs:
            untainted = rendering.untainted.get(name, ())
            below = platform.objects(site, untainted) if site.cluster.managed else []
            said = _against(site, below, runs, likeness, repository.package.catalogue)
            places = {(item.file, item.subject): (item, begins) for item, begins in runs}
            placed = [origins.placed(problem, places[problem.file, problem.object][0]) for problem in said]
            heard = silence(placed, (*(item for item, _ in runs), *notes), ignored) if placed else ()
            found += (
                one if places[one.folder, one.object][1] else replace(one, severity="warning")
                for one in heard
                if not one.id.startswith("IGN")
            )
    refused = of_inputs(rendering.problems)
    left = [one for one in found if said_of_input(one, refused) is None]
    problems = in_order((*acknowledged(rendering.problems, repository.sources, ignored), *left))
    if not errors(left):
        return replace(rendering, problems=problems)
    return Rendering(problems=problems, planned=rendering.planned)


def _runs(cluster: str, rendering: Rendering, existing: Mapping[str, str]) -> Iterator[tuple[Item, bool]]:
    """Yield the objects of runs that begin in a cluster, and those that stay on a platform that changes."""
    begun = {posixpath.dirname(run) for run in rendering.begun}
    below = platform.folder(cluster)
    changes = any(posixpath.dirname(change.path) == below for change in rendering.platform)
    for folder, objects in rendering.made.items():
        if folder.split("/")[1] == cluster and (changes or folder in begun):
            yield from ((Item(data, folder), folder in begun) for data in objects)
    for path in rendering.staying:
        begins = path.removesuffix(".yaml") in rendering.begun
        if path.split("/")[1] == cluster and (changes or begins):
            documents, _ = read_documents(header.body_of(existing[path]), path)
            folder = posixpath.dirname(path)
            yield from ((Item(document.data, folder), begins) for document in documents)


def _against(
    site: Site,
    objects: list[KubernetesObject],
    runs: list[tuple[Item, bool]],
    likeness: Mapping[str, str],
    catalogue: Catalogue,
) -> tuple[Problem, ...]:
    """Return what the rules find in the runs of a cluster, on the objects of its platform."""
    below = (Item(data, platform.folder(site.cluster.name)) for data in objects)
    world = World((*below, *(item for item, _ in runs)), catalogue, site)
    written: list[Item] = []
    others: list[Item] = []
    alike: dict[tuple[str, str], Item] = {}
    for item, begins in runs:
        like = likeness[item.file] if begins else item.name
        (others if like else written).append(item)
        if like:
            alike.setdefault((item.kind, like), item)
    # One of those that are alike tells of all, as long as nothing is found.
    found = run(world, _ABOUT_PLACE, alike.values())
    return (*run(world, _ALL, written), *(run(world, _ABOUT_PLACE, others) if found else ()))


def _likeness(workload: Workload) -> str:
    """Return what all runs have in common that meet their cluster alike.

    It is empty for one whose pods a person wrote parts of, beyond what builders read, or that wants rights.
    """
    spec, pathways = workload.spec, workload.pathways
    head = pathways.head.pod_template if pathways else {}
    parts = (workload.pod_template, head, workload.patches, workload.components, workload.auxiliary_jobs)
    rights = (workload.annotations, workload.privileged, workload.host_network)
    if any(parts) or any(rights) or not workload.container.keys() <= _PLAIN:
        return ""
    told = {field: value for field, value in spec.items() if field not in _OWN_AFFAIRS}
    told["pathways"] = {**spec.get("pathways", {}), "pathwaysDir": ""}
    return json.dumps([workload.namespace, told], sort_keys=True)
