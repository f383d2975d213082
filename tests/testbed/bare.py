"""An API server with nothing in it: no JobSet, no Kueue, no nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slicewright.testbed import cluster
from slicewright.testbed.bed import Bed, ControlPlane, Reached
from slicewright.testbed.installation import Installation

if TYPE_CHECKING:
    from slicewright.testbed.api import Api
    from slicewright.testbed.bed import Ground


class Bare(Bed):
    """A cluster as GKE has just made it, without its controllers."""

    def __init__(self, **options: Any) -> None:
        super().__init__(ControlPlane(("etcd", "kube-apiserver"), 5, _reach), **options)


def _reach(ground: Ground) -> Reached:
    def furnish(api: Api) -> None:
        ground.wait("the API server", "kube-apiserver", lambda: api.raw("GET", "/readyz")[0] == 200)

    return replace(cluster._reach(Installation(), ground), furnish=furnish)
