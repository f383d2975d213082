"""A cluster from the text of its file, for tests that need no repository."""

from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import errors
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.repository import Settings, read_repository


def resolve_text(text: str) -> ResolvedCluster:
    """Return the only cluster that a text declares, which has no error."""
    repository = read_repository([SourceFile("cluster.yaml", text)], Settings(), package(), lambda _: None)
    assert [] == [problem.text() for problem in errors(repository.problems)]
    (cluster,) = repository.sites.values()
    return cluster
