"""An API server with nothing in it: no JobSet, no Kueue, no nodes."""

from slicewright.testbed.bed_cluster import Cluster


class Bare(Cluster):
    """A cluster as GKE has just made it, without its controllers."""

    programs = ("etcd", "kube-apiserver")

    def _install(self) -> None:
        self._wait_for_api_server()
