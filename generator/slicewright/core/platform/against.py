"""What stands against the platform of a TPUCluster, each with its place in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.platform.against_mixing import against_mixing
from slicewright.core.platform.against_pools import against_pools
from slicewright.core.platform.against_quota import against_quota
from slicewright.core.platform.against_references import against_references
from slicewright.core.platform.against_teams import against_teams

if TYPE_CHECKING:
    from slicewright.core.plan.site import Site
    from slicewright.core.problem import Problem


def problems(site: Site) -> tuple[Problem, ...]:
    """Return the problems of a platform that is ours to make; one that exists may be as it likes."""
    if not site.cluster.managed:
        return ()
    return (
        *against_references(site),
        *against_pools(site),
        *against_mixing(site),
        *against_quota(site),
        *against_teams(site),
    )
