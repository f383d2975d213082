"""An object that a rehearsal makes before its play -> the place of the TPUCluster file that asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.origin import of_cluster

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Problem


def refused(site: ResolvedCluster, item: dict[str, Any], message: str, hint: str) -> Problem:
    """Return the problem of an object that cannot be made, at the nearest place that is known."""
    return site.cluster.source.problem("REH006", of_cluster(site, item), message, hint)
