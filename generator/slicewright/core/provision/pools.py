"""`node-pools.sh`: makes the node pools of a cluster that are not there yet."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from slicewright.core.provision import gcloud
from slicewright.core.provision.script import ASK, RUN, call, head, options, region, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.provision.node_pool import NodePool

_LIST = """\
node_pools=$(ask gcloud container node-pools list --location="$LOCATION" --cluster="$CLUSTER" \\
  --project="$PROJECT" --format='value(name)')

# Makes a node pool, NAME FLAG..., unless one of that name is there.
node_pool() {
  if has "$node_pools" "$1"; then
    echo "# node pool $1 is there"
    return
  fi
  run gcloud container node-pools create "$1" --location="$LOCATION" --cluster="$CLUSTER" "${@:2}" \\
    --project="$PROJECT"
}"""

_POLICIES = """\
policies=$(ask gcloud compute resource-policies list --filter="region ~ /$REGION\\$" --project="$PROJECT" \\
  --format='value(name)')"""

_MAKE_POLICY = """\
# Makes a workload policy, NAME FLAG..., unless one of that name is there.
workload_policy() {
  if has "$policies" "$1"; then
    echo "# workload policy $1 is there"
    return
  fi
  run gcloud compute resource-policies create workload-policy "$1" --region="$REGION" "${@:2}" \\
    --project="$PROJECT"
}"""

_NEED_POLICY = """\
# Stops unless a workload policy, NAME FLAG..., is there that somebody else makes.
needs_workload_policy() {
  has "$policies" "$1" && return
  echo "# workload policy $1 is not in $REGION: make it with ${*:2}, or leave placementPolicyName out" >&2
  [ "$dry_run" = yes ] || exit 1
}"""


def node_pools_script(site: ResolvedCluster, pools: tuple[NodePool, ...]) -> str:
    """Return the script for at least one node pool."""
    policies = [pool for pool in pools if pool.workload_policy]
    blocks = [
        head(
            site,
            purpose=f"Makes the node pools of cluster {site.cluster.name}; what is there stays as it is.\n"
            "usage: bash node-pools.sh [--dry-run]",
        )
        + (f"\nREGION={region(site)}" if policies else ""),
        options("--dry-run"),
        RUN,
        ASK,
        _LIST,
    ]
    if policies:
        blocks.append(_POLICIES)
        blocks += [_MAKE_POLICY] if any(pool.makes_policy for pool in policies) else []
        blocks += [_NEED_POLICY] if not all(pool.makes_policy for pool in policies) else []
    for _, found in groupby(pools, key=lambda pool: pool.pool):
        blocks += _pool(list(found))
    return written(blocks)


def _pool(pools: list[NodePool]) -> Iterator[str]:
    """Yield the calls for one pool of the file."""
    yield "\n".join(
        [_title(pools), *_policy(pools[0]), call("node_pool", pools[0].name, *gcloud.flags(pools[0]))]
    )
    for pool in pools[1:]:
        yield call("node_pool", pool.name, *gcloud.flags(pool))


def _title(pools: list[NodePool]) -> str:
    shape, name = pools[0].shape, pools[0].pool
    if shape is None:
        return f"# {name}: {pools[0].machine_type}"
    slices = "1 slice" if len(pools) == 1 else f"{len(pools)} slices"
    hosts = "1 host" if shape.hosts == 1 else f"{shape.hosts} hosts"
    of = "" if len(pools) == 1 else " each"
    return f"# {name}: {slices} of {shape.generation} {shape.topology}, {shape.chips} chips on {hosts}{of}"


def _policy(pool: NodePool) -> Iterable[str]:
    if pool.shape is None or not pool.workload_policy:
        return ()
    name = "workload_policy" if pool.makes_policy else "needs_workload_policy"
    return (call(name, pool.workload_policy, *gcloud.policy_flags(pool.shape.topology)),)
