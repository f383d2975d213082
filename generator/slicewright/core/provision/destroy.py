"""`destroy.sh`: takes the platform down in the order in which it comes down."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from slicewright.core.provision.script import ASK, RUN, head, options, region, written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.provision.node_pool import NodePool

OBJECTS = ("local-queues", "queues", "checks", "flavors", "topologies")
"""The files of the platform, in the order in which Kueue lets their objects go."""

_CONFIRM = """\
if [ "$yes" = no ] && [ "$dry_run" = no ]; then
  echo "This deletes @what@, and stops every workload there." >&2
  printf 'Type the name of the cluster to go on: ' >&2
  read -r answer || answer=
  [ "$answer" = "$CLUSTER" ] || { echo "nothing was deleted" >&2 && exit 1; }
fi"""

_CLUSTER = """\
clusters=$(ask gcloud container clusters list --location="$LOCATION" --filter="name ~ ^$CLUSTER\\$" \\
  --project="$PROJECT" --format='value(name)')
[ "$dry_run" = no ] || clusters=$CLUSTER
if ! has "$clusters" "$CLUSTER"; then echo "# cluster $CLUSTER is not there"; fi"""

_OBJECTS = """\
# Makes a ClusterQueue let go of its workloads, if it is there.
drain() {
  if [ "$dry_run" = yes ] || has "$queues" "clusterqueue.kueue.x-k8s.io/$1"; then
    run kubectl patch clusterqueues.kueue.x-k8s.io "$1" --type=merge \\
      -p '{"spec":{"stopPolicy":"HoldAndDrain"}}'
  fi
}
# Deletes the objects of a file of the platform, if it is there.
delete_objects() {
  [ ! -f "$platform/$1.yaml" ] ||
    run kubectl delete -f "$platform/$1.yaml" --ignore-not-found --wait --timeout=15m
}

# Kueue's objects hold on to each other: workloads leave first, then LocalQueues, ClusterQueues, their checks,
# ResourceFlavors and Topologies. The credentials are of this script alone: kubectl meets no other cluster.
if has "$clusters" "$CLUSTER"; then
  KUBECONFIG=$(mktemp)
  export KUBECONFIG
  trap 'rm -f "$KUBECONFIG"' EXIT
  platform=$(cd "$(dirname "$0")/../.." && pwd)/@platform@
  run gcloud container clusters get-credentials "$CLUSTER" --location="$LOCATION" --project="$PROJECT"
  crd=customresourcedefinition.apiextensions.k8s.io/clusterqueues.kueue.x-k8s.io
  kueue=$crd
  queues=
  if [ "$dry_run" = no ]; then
    kueue=$(kubectl get "$crd" --ignore-not-found -o name)
    [ -z "$kueue" ] || queues=$(kubectl get clusterqueues.kueue.x-k8s.io -o name)
  fi
  if [ -n "$kueue" ]; then
@objects@  else
    echo "# Kueue is not there"
  fi
fi"""

_NODE_POOLS = """\
# Deletes a node pool, if it is there.
delete_node_pool() {
  if [ "$dry_run" = yes ] || has "$node_pools" "$1"; then
    run gcloud container node-pools delete "$1" --location="$LOCATION" --cluster="$CLUSTER" \\
      --project="$PROJECT" --quiet
  fi
}
if has "$clusters" "$CLUSTER"; then
  node_pools=$(ask gcloud container node-pools list --location="$LOCATION" --cluster="$CLUSTER" \\
    --project="$PROJECT" --format='value(name)')
@calls@fi"""

_POLICIES = """\
policies=$(ask gcloud compute resource-policies list --filter="region ~ /$REGION\\$" --project="$PROJECT" \\
  --format='value(name)')

# Deletes a workload policy that node-pools.sh made, if it is there.
delete_workload_policy() {
  if [ "$dry_run" = yes ] || has "$policies" "$1"; then
    run gcloud compute resource-policies delete "$1" --region="$REGION" --project="$PROJECT" --quiet
  fi
}
@calls@"""

_END = """\
if has "$clusters" "$CLUSTER"; then
  run gcloud container clusters delete "$CLUSTER" --location="$LOCATION" --project="$PROJECT" --quiet
fi
echo "# next: where clusters/ declares $CLUSTER no more, delete provision/$CLUSTER\""""

_TERRAFORM = """\
echo "# next: terraform -chdir=provision/@cluster@ destroy, which made node pools, cluster and the rest"
echo "# then: where clusters/ declares $CLUSTER no more, delete provision/$CLUSTER\""""


def destroy_script(site: ResolvedCluster, pools: tuple[NodePool, ...]) -> str:
    """Return the script; where Terraform made the cluster, it deletes what Kueue holds on to and no more."""
    name = site.cluster.name
    by_terraform = "environment" in site.cluster.spec
    policies = list(dict.fromkeys(pool.workload_policy for pool in pools if pool.makes_policy))
    what = (
        f"the queues of cluster {name}" if by_terraform else f"cluster {name} with its queues and node pools"
    )
    queues = [queue["name"] for queue in site.cluster.spec.get("clusterQueues", [])]
    objects = _calls("    drain", queues) + _calls("    delete_objects", OBJECTS)
    blocks = [
        head(
            site,
            purpose=f"Deletes {what}.\n"
            "What syncs the overlays (Argo CD, Flux) is to be stopped before.\n"
            "usage: bash destroy.sh [--dry-run] [--yes]",
        )
        + (f"\nREGION={region(site)}" if policies and not by_terraform else ""),
        options("--dry-run", "--yes"),
        RUN,
        ASK,
        _CONFIRM.replace("@what@", what),
        _CLUSTER,
        _OBJECTS.replace("@platform@", f"overlays/{name}/_platform").replace("@objects@", objects),
    ]
    if by_terraform:
        return written([*blocks, _TERRAFORM.replace("@cluster@", name)])
    if pools:
        blocks.append(
            _NODE_POOLS.replace("@calls@", _calls("  delete_node_pool", [pool.name for pool in pools]))
        )
    if policies:
        blocks.append(_POLICIES.replace("@calls@", _calls("delete_workload_policy", policies)).rstrip("\n"))
    return written([*blocks, _END])


def _calls(function: str, names: Iterable[str]) -> str:
    """Return a line for each name that calls a function with it."""
    return "".join(f"{function} {quote(name)}\n" for name in names)
