"""Which objects rules see together: a cluster where one is declared, else a build or a folder.

A repository may hold tutorials, environments and variants of one thing. What a kustomization builds is
applied together, and what is in one folder mostly is. See docs/explanation/scopes.md.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from slicewright.objects import ObjectSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.catalogue.catalogue import Catalogue
    from slicewright.objects import Resource
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
) -> dict[Scope, ObjectSet]:
    """Return the objects of each scope, and beside those of a TPUCluster what is of no cluster."""
    by_scope: dict[Scope, list[Resource]] = defaultdict(list)
    of_no_cluster: list[Resource] = []
    for scope, resource in resources:
        by_scope[scope].append(resource)
        if not scope.cluster:
            of_no_cluster.append(resource)
    widest = ObjectSet(of_no_cluster, catalogue, is_cluster=one_cluster)
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
