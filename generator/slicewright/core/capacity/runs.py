"""The runs of a cluster: those that are frozen and live, and what its workloads ask for now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Resource
from slicewright.core.document.read import read_documents
from slicewright.core.kubernetes.kinds import RUN_KINDS
from slicewright.core.render import tree
from slicewright.core.render.existing import Existing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.core.problem import Problem
    from slicewright.core.render.plans import Planned
    from slicewright.core.render.repository import Repository


def runs(
    repository: Repository, planned: Iterable[Planned], existing: Mapping[str, str]
) -> tuple[list[tuple[Planned, Resource]], tuple[Problem, ...], list[str]]:
    """Return the run objects of some plans, what stands against building them, and the files of frozen ones.

    A frozen run is what its file holds; what is not rendered yet is built as `render` would build it.
    `existing` holds the text of every file under overlays/ by path.
    """
    bases = tree.Bases(repository.read_text, repository.package.schemas)
    there = Existing(existing)
    found: list[tuple[Planned, Resource]] = []
    problems: list[Problem] = []
    frozen: list[str] = []
    for entry in planned:
        live = _frozen(entry, there)
        frozen += live
        for path in live:
            documents, _ = read_documents(there.body(path) or "", path)
            found += [(entry, item) for item in _items(entry, (document.data for document in documents))]
        if tree.frozen_file(entry.plan) not in live:
            made, against = tree.make(entry, bases)
            problems += against
            found += [(entry, item) for item in _items(entry, made.objects if made else ())]
    return found, tuple(problems), frozen


def _frozen(entry: Planned, there: Existing) -> list[str]:
    """Return the files of a workload's live runs: a render ends earlier ones, unless it is to keep them."""
    if not entry.plan.run:
        return []
    own = tree.frozen_file(entry.plan)
    live = [path for path in there.live_runs(entry.plan.folder) if path in there.frozen]
    return [path for path in live if path == own or entry.plan.on_change == "Keep"]


def _items(entry: Planned, objects: Iterable[Any]) -> list[Resource]:
    return [Resource(data, entry.plan.folder) for data in objects if data["kind"] in RUN_KINDS]
