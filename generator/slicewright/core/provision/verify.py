"""`verify.sh`: compares the cluster and its node pools with the file."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from slicewright.core.provision.script import head, written

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.provision.node_pool import NodePool

_NO_OPTIONS = """\
if [ $# -gt 0 ]; then
  echo "usage: bash ${0##*/}" >&2
  exit 2
fi"""

_DIFFER = """\
# Runs a command that says what is there. Where it cannot, nothing can be compared, which is no difference.
ask() {
  "$@" && return
  echo "cannot see what is there: the command above has failed, and nothing is known of differences" >&2
  exit 3
}

differs=no
# Adds a line to the table of differences.
differ() {
  [ "$differs" = yes ] || printf '%-40s %-16s %-24s %s\\n' WHAT FIELD WANTED FOUND
  differs=yes
  printf '%-40s %-16s %-24s %s\\n' "$1" "$2" "$3" "${4:--}"
}
# Compares a field, WHAT FIELD WANTED FOUND; wanted - is nothing, wanted * is anything.
expect() {
  case $3 in
    \\*) ;;
    "${4:--}") ;;
    *) differ "$@" ;;
  esac
}"""

_CLUSTER = """\
row=$(ask gcloud container clusters list --location="$LOCATION" --filter="name ~ ^$CLUSTER\\$" \\
  --project="$PROJECT" --format='csv[no-heading,separator="|"](status,autopilot.enabled)')
if [ -z "$row" ]; then
  differ "$CLUSTER" cluster there absent
  exit 1
fi
IFS='|' read -r status autopilot <<<"$row"
[ "$status" = RECONCILING ] || expect "$CLUSTER" status RUNNING "$status"
case $autopilot in [Tt]rue) mode=Autopilot ;; *) mode=Standard ;; esac
expect "$CLUSTER" mode {mode} "$mode\""""

_NODE_POOLS = """\
# Instances count as nodes by the labels that GKE gives them.
found=$(ask gcloud container node-pools list --location="$LOCATION" --cluster="$CLUSTER" \\
  --project="$PROJECT" --format='csv[no-heading,separator="|"](name,status,config.machineType,
    placementPolicy.tpuTopology,placementPolicy.policyName.basename(),config.flexStart,queuedProvisioning.enabled,config.spot,
    config.reservationAffinity.consumeReservationType,autoscaling.enabled,autoscaling.minNodeCount,
    autoscaling.maxNodeCount,locations.list(separator=","))')
running=$(ask gcloud compute instances list --project="$PROJECT" \\
  --filter="labels.goog-k8s-cluster-name = $CLUSTER AND labels.goog-k8s-cluster-location = $LOCATION
    AND status = RUNNING" --format='value(labels.goog-k8s-node-pool-name)')

is() { case $1 in [Tt]rue) return 0 ;; *) return 1 ;; esac }

while read -r name machine_type topology policy provisioning scaling nodes zones; do
  row=$(grep -e "^$name|" <<<"$found" || true)
  if [ -z "$row" ]; then
    differ "$name" node-pool there absent
    continue
  fi
  IFS='|' read -r _ status has_type has_topology has_policy flex_start queued spot reservation \\
    scales least most has_zones <<<"$row"
  expect "$name" status RUNNING "$status"
  expect "$name" machine-type "$machine_type" "$has_type"
  expect "$name" topology "$topology" "$has_topology"
  expect "$name" workload-policy "$policy" "$has_policy"
  obtained=OnDemand
  if is "$flex_start"; then
    obtained=FlexStart
    if is "$queued"; then obtained=FlexStartQueued; fi
  elif is "$queued"; then
    obtained=Queued
  elif is "$spot"; then
    obtained=Spot
  elif [ "$reservation" = SPECIFIC_RESERVATION ]; then
    obtained=Reservation
  fi
  expect "$name" provisioning "$provisioning" "$obtained"
  bounds=-
  if is "$scales"; then bounds=${least:-0}-${most:-0}; fi
  expect "$name" autoscaling "$scaling" "$bounds"
  expect "$name" zones "$zones" "$(tr ',' '\\n' <<<"$has_zones" | sort | paste -s -d , -)"
  count=$(grep -cxF -e "$name" <<<"$running" || true)
  if [ "$count" -lt "${nodes%-*}" ] || { [ "${nodes#*-}" != '*' ] && [ "$count" -gt "${nodes#*-}" ]; }; then
    differ "$name" nodes "$nodes" "$count"
  fi
done <<'NODE_POOLS'
"""

_END = """\
[ "$differs" = no ] || exit 1
echo {said}"""


def verify_script(site: ResolvedCluster, pools: tuple[NodePool, ...]) -> str:
    """Return the script; it exits 1 with a table where something differs, and 3 where it cannot see."""
    said = f"cluster {site.cluster.name} is there, and {_all(pools)} as {site.cluster.source.file.path} says"
    blocks = [
        head(
            site,
            purpose=f"Compares cluster {site.cluster.name} with its file; changes nothing.\n"
            "usage: bash verify.sh\n"
            "exit: 0 all as the file says, 1 something differs, 2 usage, 3 gcloud cannot say what is there",
        ),
        _NO_OPTIONS,
        _DIFFER,
        _CLUSTER.format(mode=site.cluster.mode),
    ]
    if pools:
        blocks.append(_NODE_POOLS + _table(pools) + "NODE_POOLS")
    return written([*blocks, _END.format(said=quote(said))])


def _all(pools: tuple[NodePool, ...]) -> str:
    if not pools:
        return "its mode is"
    return "its node pool is" if len(pools) == 1 else f"its {len(pools)} node pools are"


def _table(pools: tuple[NodePool, ...]) -> str:
    return "".join(f"{' '.join(_row(pool))}\n" for pool in pools)


def _row(pool: NodePool) -> tuple[str, ...]:
    """Return what is wanted of a node pool, in the order of the columns."""
    scaling = pool.scaling
    way = "OnDemand" if pool.provisioning.type == "ComputeClass" else pool.provisioning.type
    nodes = str(pool.nodes * len(pool.zones))
    if scaling:
        most = str(scaling.most * len(pool.zones)) if pool.zones else "*"
        nodes = f"{scaling.least * len(pool.zones)}-{most}"
    return (
        pool.name,
        pool.machine_type,
        pool.topology or "-",
        pool.workload_policy or "-",
        way,
        f"{scaling.least}-{scaling.most}" if scaling else "-",
        nodes,
        ",".join(sorted(pool.zones)) or "*",
    )
