"""Flavors that keep nobody off although the cluster has their shape with several kinds of provisioning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.kubernetes.labels import PROVISIONING
from slicewright.core.plan.ways import value
from slicewright.core.platform.flavor import kept_apart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Path, Problem


def validate_mixing(site: ResolvedCluster) -> Iterator[Problem]:
    """Warn of flavors whose taint is turned off: what Kueue may count there."""
    for name, one in kept_apart(site).items():
        if one.flavor.may_have_taint:
            continue
        message = f"flavor '{name}' has no taint: Kueue may count runs of another provisioning on it, "
        message += "which then wait for nodes or take those of other runs"
        toleration = f"{PROVISIONING}={value(one.pool.provisioning)}:NoSchedule"
        hint = f"leave flavorTaint out, and let the workloads that need it tolerate {toleration}; "
        hint += "a PathwaysJob cannot: write api: JobSet with the same pathways block"
        place: Path = ("spec", "pools", one.pool.index, "flavorTaint")
        yield site.cluster.source.problem("POOL050", place, message, hint, key=True, warning=True)
