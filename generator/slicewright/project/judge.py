"""Check a rendering by the rules of `validate`, and leave out the problems that the repository ignores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from slicewright.check import suppress
from slicewright.check.io.ignore_files import read_ignore_files
from slicewright.check.io.meaning import added
from slicewright.kubernetes.problem import Problem, errors
from slicewright.objects import Resource
from slicewright.project.repository_reader import Checkout, read_input
from slicewright.rendering.changes import render
from slicewright.rendering.plans import Beside, Planned
from slicewright.rendering.rendering import Rendering
from slicewright.rendering.repository import Documents

if TYPE_CHECKING:
    from pathlib import Path


def judged(checkout: Checkout, rendering: Rendering) -> Rendering:
    """Return a rendering with the problems of its new runs; with an error, nothing is written.

    Warnings that the repository ignores are left out. If no run starts and no cluster changes, no rule is
    imported.
    """
    if not rendering.begun and not rendering.platform:
        return replace(rendering, problems=acknowledged(checkout, rendering.problems))
    from slicewright.check import judge_render  # noqa: PLC0415 - 140 ms

    ignored = read_ignore_files(checkout.root).entries
    rendering = replace(rendering, problems=(*rendering.problems, *added().problems))
    beside = custom(checkout.root)
    return judge_render.judged(
        rendering, checkout.repository, checkout.existing, ignored, added().rules, beside
    )


def custom(root: Path) -> list[Resource]:
    """Return the hand-written objects of custom/."""
    if not (root / "custom").is_dir():
        return []
    from slicewright.check.io import discovery, load  # noqa: PLC0415 - 50 ms, and few repositories have any

    units = discovery.of_custom(root).units
    objects = [(document.data, unit.name) for unit in units for document in load.load(unit).documents]
    return [Resource(data, file) for data, file in objects if isinstance(data, dict)]


def judged_beside(checkout: Checkout, further: Beside) -> tuple[list[Planned], tuple[Problem, ...]]:
    """Return the runs of further files, and all that a render would say of these files."""
    checkout = replace(checkout, repository=further.repository)
    keys = frozenset(workload.key for workload in further.workloads)
    rendering = judged(checkout, render(checkout.repository, checkout.existing, keys))
    planned = [entry for entry in rendering.planned if entry.workload.source.file in further.files]
    return planned, further.own(rendering.problems)


def acknowledged(checkout: Checkout, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Return the problems of an input without the warnings that the repository ignores."""
    if len(errors(problems)) == len(problems):
        return problems
    ignored = read_ignore_files(checkout.root).entries
    return suppress.acknowledged(problems, checkout.repository.sources, ignored)


def rendered(checkout: Checkout, documents: Documents) -> tuple[Checkout, tuple[Problem, ...]]:
    """Return a checkout with changed documents whose tree holds what a render would write.

    The problems are the errors that prevent a render; then the tree does not change.
    """
    repository = read_input(checkout.root, documents) if documents else checkout.repository
    rendering = render(repository, checkout.existing)
    against = errors(rendering.problems)
    if against:
        return checkout, against
    gone = frozenset(rendering.deletes)
    existing = {path: text for path, text in checkout.existing.items() if path not in gone}
    read_text = repository.read_text

    def read(path: str) -> str | None:
        return None if path in gone else rendering.writes.get(path) or read_text(path)

    repository = replace(repository, read_text=read)
    return replace(checkout, repository=repository, existing=existing | rendering.writes), ()
