"""A site from the text of a TPUCluster, for capacity that no repository declares: benchmarks and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.intent.source import SourceFile
from slicewright.core.problem import errors
from slicewright.core.render.repository import Settings, read_repository
from slicewright.testbed.errors import BedError
from slicewright.workspace.package import package

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster


def resolve_text(text: str) -> ResolvedCluster:
    """Return the only site of a text. Raises BedError with the first problem of the text."""
    repository = read_repository([SourceFile("cluster.yaml", text)], Settings(), package(), lambda _: None)
    for problem in errors(repository.problems):
        raise BedError(problem)
    (site,) = repository.sites.values()
    return site
