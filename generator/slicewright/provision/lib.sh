#!/usr/bin/env bash
# What the scripts of a cluster share. They set PROJECT, LOCATION, CLUSTER (REGION where there are workload
# policies) and OPTIONS, the options that they have. It keeps to what bash 3.2 has.

dry_run=no
yes=no
cannot_see=1
for option in "$@"; do
  case $OPTIONS in
    *"[$option]"*) ;;
    *)
      echo "usage: bash ${0##*/}${OPTIONS:+ $OPTIONS}" >&2
      exit 2
      ;;
  esac
  case $option in
    --dry-run) dry_run=yes ;;
    --yes) yes=yes ;;
  esac
done

# Prints a command that changes something, and runs it unless --dry-run is given.
run() {
  printf '%q' "$1"
  printf ' %q' "${@:2}"
  echo
  [ "$dry_run" = yes ] || "$@"
}

# Runs a command that says what is there. Where it fails, --dry-run goes on as if nothing were there.
ask() {
  "$@" </dev/null && return
  if [ "$dry_run" = no ]; then
    echo "cannot see what is there: the command above has failed" >&2
    exit "$cannot_see"
  fi
  echo "# cannot see what is there; printed as if nothing were" >&2
}

# Tells whether a list of names, one a line, has a name.
has() { grep -qxF -e "$2" <<<"$1"; }

# Each sets a list of names to what is there.
list_clusters() {
  clusters=$(ask gcloud container clusters list --location="$LOCATION" --filter="name ~ ^$CLUSTER\$" \
    --project="$PROJECT" --format='value(name)')
}
list_node_pools() {
  node_pools=$(ask gcloud container node-pools list --location="$LOCATION" --cluster="$CLUSTER" \
    --project="$PROJECT" --format='value(name)')
}
list_workload_policies() {
  policies=$(ask gcloud compute resource-policies list --filter="region ~ /$REGION\$" --project="$PROJECT" \
    --format='value(name)')
}

# cluster.sh

# Turns on APIs that are off.
enable_apis() {
  local apis api
  apis=$(ask gcloud services list --enabled --project="$PROJECT" --format='value(config.name)')
  for api in "$@"; do
    has "$apis" "$api" || run gcloud services enable "$api" --project="$PROJECT"
  done
}

# Makes the cluster, create|create-auto FLAG..., unless it is there.
make_cluster() {
  list_clusters
  if has "$clusters" "$CLUSTER"; then
    echo "# cluster $CLUSTER is there"
    return
  fi
  run gcloud container clusters "$1" "$CLUSTER" --location="$LOCATION" "${@:2}" --project="$PROJECT"
}

# node-pools.sh

# Makes a node pool, NAME FLAG..., unless one of that name is there.
node_pool() {
  if has "$node_pools" "$1"; then
    echo "# node pool $1 is there"
    return
  fi
  run gcloud container node-pools create "$1" --location="$LOCATION" --cluster="$CLUSTER" "${@:2}" \
    --project="$PROJECT"
}

# Makes a workload policy, NAME FLAG..., unless one of that name is there.
workload_policy() {
  if has "$policies" "$1"; then
    echo "# workload policy $1 is there"
    return
  fi
  run gcloud compute resource-policies create workload-policy "$1" --region="$REGION" "${@:2}" \
    --project="$PROJECT"
}

# Stops unless a workload policy, NAME FLAG..., is there that somebody else makes.
needs_workload_policy() {
  has "$policies" "$1" && return
  echo "# workload policy $1 is not in $REGION: make it with ${*:2}, or leave placementPolicyName out" >&2
  [ "$dry_run" = yes ] || exit 1
}

# verify.sh

differs=no

# Adds a line to the table of differences.
differ() {
  [ "$differs" = yes ] || printf '%-40s %-16s %-24s %s\n' WHAT FIELD WANTED FOUND
  differs=yes
  printf '%-40s %-16s %-24s %s\n' "$1" "$2" "$3" "${4:--}"
}

# Compares a field, WHAT FIELD WANTED FOUND; wanted - is nothing, wanted * is anything.
expect() {
  case $3 in
    \*) ;;
    "${4:--}") ;;
    *) differ "$@" ;;
  esac
}

# Tells whether gcloud prints a field as true.
is() { case $1 in [Tt]rue) return 0 ;; *) return 1 ;; esac }

# Compares the cluster, MODE.
compare_cluster() {
  local row status autopilot mode=Standard
  row=$(ask gcloud container clusters list --location="$LOCATION" --filter="name ~ ^$CLUSTER\$" \
    --project="$PROJECT" --format='csv[no-heading,separator="|"](status,autopilot.enabled)')
  if [ -z "$row" ]; then
    differ "$CLUSTER" cluster there absent
    exit 1
  fi
  IFS='|' read -r status autopilot <<<"$row"
  [ "$status" = RECONCILING ] || expect "$CLUSTER" status RUNNING "$status"
  if is "$autopilot"; then mode=Autopilot; fi
  expect "$CLUSTER" mode "$1" "$mode"
}

# Compares the node pools of the table on stdin; instances count as nodes by the labels that GKE gives them.
compare_node_pools() {
  local found running row name machine_type topology policy provisioning scaling nodes zones
  local status has_type has_topology has_policy flex_start queued spot reservation scales least most has_zones
  local obtained bounds count
  found=$(ask gcloud container node-pools list --location="$LOCATION" --cluster="$CLUSTER" \
    --project="$PROJECT" --format='csv[no-heading,separator="|"](name,status,config.machineType,
      placementPolicy.tpuTopology,placementPolicy.policyName.basename(),config.flexStart,queuedProvisioning.enabled,config.spot,
      config.reservationAffinity.consumeReservationType,autoscaling.enabled,autoscaling.minNodeCount,
      autoscaling.maxNodeCount,locations.list(separator=","))')
  running=$(ask gcloud compute instances list --project="$PROJECT" \
    --filter="labels.goog-k8s-cluster-name = $CLUSTER AND labels.goog-k8s-cluster-location = $LOCATION
      AND status = RUNNING" --format='value(labels.goog-k8s-node-pool-name)')
  while read -r name machine_type topology policy provisioning scaling nodes zones; do
    row=$(grep -e "^$name|" <<<"$found" || true)
    if [ -z "$row" ]; then
      differ "$name" node-pool there absent
      continue
    fi
    IFS='|' read -r _ status has_type has_topology has_policy flex_start queued spot reservation \
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
    expect "$name" zones "$zones" "$(tr ',' '\n' <<<"$has_zones" | sort | paste -s -d , -)"
    count=$(grep -cxF -e "$name" <<<"$running" || true)
    if [ "$count" -lt "${nodes%-*}" ] || { [ "${nodes#*-}" != '*' ] && [ "$count" -gt "${nodes#*-}" ]; }; then
      differ "$name" nodes "$nodes" "$count"
    fi
  done
}

# destroy.sh

# Asks for the cluster's name unless --yes or --dry-run is given, WHAT, then looks whether the cluster is there.
confirm() {
  local answer
  if [ "$yes" = no ] && [ "$dry_run" = no ]; then
    echo "This deletes $1, and stops every workload there." >&2
    printf 'Type the name of the cluster to go on: ' >&2
    read -r answer || answer=
    [ "$answer" = "$CLUSTER" ] || { echo "nothing was deleted" >&2 && exit 1; }
  fi
  list_clusters
  [ "$dry_run" = no ] || clusters=$CLUSTER
  if ! has "$clusters" "$CLUSTER"; then echo "# cluster $CLUSTER is not there"; fi
}

# Deletes Kueue's objects, FOLDER CLUSTERQUEUE...: those of the platform's files in a folder of the repository.
# They hold on to each other: workloads leave first, then LocalQueues, ClusterQueues, their checks, ResourceFlavors
# and Topologies go. The credentials are of this script alone: kubectl meets no other cluster.
delete_queues() {
  local platform kueue queues='' name
  has "$clusters" "$CLUSTER" || return 0
  KUBECONFIG=$(mktemp)
  export KUBECONFIG
  trap 'rm -f "$KUBECONFIG"' EXIT
  platform=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/$1
  run gcloud container clusters get-credentials "$CLUSTER" --location="$LOCATION" --project="$PROJECT"
  kueue=customresourcedefinition.apiextensions.k8s.io/clusterqueues.kueue.x-k8s.io
  if [ "$dry_run" = no ]; then
    kueue=$(kubectl get "$kueue" --ignore-not-found -o name)
    [ -z "$kueue" ] || queues=$(kubectl get clusterqueues.kueue.x-k8s.io -o name)
  fi
  if [ -z "$kueue" ]; then
    echo "# Kueue is not there"
    return
  fi
  for name in "${@:2}"; do
    if [ "$dry_run" = yes ] || has "$queues" "clusterqueue.kueue.x-k8s.io/$name"; then
      run kubectl patch clusterqueues.kueue.x-k8s.io "$name" --type=merge \
        -p '{"spec":{"stopPolicy":"HoldAndDrain"}}'
    fi
  done
  for name in local-queues queues checks flavors topologies; do
    [ ! -f "$platform/$name.yaml" ] ||
      run kubectl delete -f "$platform/$name.yaml" --ignore-not-found --wait --timeout=15m
  done
}

# Deletes a node pool, if it is there.
delete_node_pool() {
  if [ "$dry_run" = yes ] || has "$node_pools" "$1"; then
    run gcloud container node-pools delete "$1" --location="$LOCATION" --cluster="$CLUSTER" \
      --project="$PROJECT" --quiet
  fi
}

# Deletes a workload policy that node-pools.sh made, if it is there.
delete_workload_policy() {
  if [ "$dry_run" = yes ] || has "$policies" "$1"; then
    run gcloud compute resource-policies delete "$1" --region="$REGION" --project="$PROJECT" --quiet
  fi
}

# Deletes the cluster, if it is there.
delete_cluster() {
  if has "$clusters" "$CLUSTER"; then
    run gcloud container clusters delete "$CLUSTER" --location="$LOCATION" --project="$PROJECT" --quiet
  fi
}
