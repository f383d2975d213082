"""An API server with nothing in it: no JobSet, no Kueue, no nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from slicewright.testbed import bed_cluster as cluster
from slicewright.testbed.bed import Bed, Connection, ControlPlane
from slicewright.testbed.manifests import Installation

if TYPE_CHECKING:
    from slicewright.cluster.api.client import Api
    from slicewright.testbed.bed import BootContext


class Bare(Bed):
    """A cluster as GKE has just made it, without its controllers."""

    def __init__(self, **options: Any) -> None:
        super().__init__(ControlPlane(("etcd", "kube-apiserver"), 5, _connect), **options)


def _connect(boot: BootContext) -> Connection:
    def install_controllers(api: Api) -> None:
        boot.wait("the API server", "kube-apiserver", lambda: api.raw("GET", "/readyz")[0] == 200)

    return replace(cluster._connect(Installation(), boot), install_controllers=install_controllers)
