"""The files of `provision/<cluster>/`: what makes the cluster that its file describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.provision import environment
from slicewright.core.provision.cluster import cluster_script
from slicewright.core.provision.destroy import destroy_script
from slicewright.core.provision.node_pool import node_pools
from slicewright.core.provision.pools import node_pools_script
from slicewright.core.provision.verify import verify_script

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster


def files(site: ResolvedCluster) -> dict[str, str]:
    """Return the files of one cluster by path; none where the platform is somebody else's.

    Where the file has an `environment`, Terraform makes cluster and node pools, and a script that made them
    too would leave them outside of Terraform's state: there are only `verify.sh`, and `destroy.sh` for
    Kueue's objects. A script that would have nothing to do is not written.
    """
    if not site.cluster.managed:
        return {}
    pools = node_pools(site)
    folder = f"provision/{site.cluster.name}"
    found = environment.files(site)
    found[f"{folder}/verify.sh"] = verify_script(site, pools)
    found[f"{folder}/destroy.sh"] = destroy_script(site, pools)
    if "environment" not in site.cluster.spec:
        found[f"{folder}/cluster.sh"] = cluster_script(site)
        if pools:
            found[f"{folder}/node-pools.sh"] = node_pools_script(site, pools)
    return dict(sorted(found.items()))
