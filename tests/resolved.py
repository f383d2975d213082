"""A cluster from the text of its file, for tests that need no repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.intent.source import SourceFile
from slicewright.core.problem import errors
from slicewright.core.render.repository import Settings, read_repository
from slicewright.workspace.package import package

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster


def resolve_text(text: str) -> ResolvedCluster:
    """Return the only cluster that a text declares, which has no error."""
    repository = read_repository([SourceFile("cluster.yaml", text)], Settings(), package(), lambda _: None)
    assert [] == [problem.text() for problem in errors(repository.problems)]
    (cluster,) = repository.sites.values()
    return cluster
