"""Validate the platform of a TPUCluster, each with its place in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.platform.validate_mixing import validate_mixing
from slicewright.core.platform.validate_pools import validate_pools
from slicewright.core.platform.validate_quota import validate_quota
from slicewright.core.platform.validate_references import validate_references
from slicewright.core.platform.validate_teams import validate_teams

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Problem


def problems(site: ResolvedCluster) -> tuple[Problem, ...]:
    """Return the problems of a platform that is ours to make; one that exists may be as it likes."""
    if not site.cluster.managed:
        return ()
    return (
        *validate_references(site),
        *validate_pools(site),
        *validate_mixing(site),
        *validate_quota(site),
        *validate_teams(site),
    )
