"""The files of `provision/<cluster>/`: what makes the cluster that its file describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.provision import environment
from slicewright.core.provision.scripts import scripts

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster


def files(site: ResolvedCluster, library: str) -> dict[str, str]:
    """Return the files of one cluster by path; none where the platform is somebody else's.

    `library` is the text of `lib.sh`.
    """
    if not site.cluster.managed:
        return {}
    folder = f"provision/{site.cluster.name}"
    made = {f"{folder}/{name}": text for name, text in scripts(site, library).items()}
    return dict(sorted((environment.files(site) | made).items()))
