#!/usr/bin/env bash
# Functions of the scripts of a cluster. The scripts set PROJECT, LOCATION, CLUSTER, OPTIONS (their options) and, for
# workload policies, REGION. Works with bash 3.2.

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

# Prints a command.
show() {
  printf '%q' "$1"
  printf ' %q' "${@:2}"
  echo
}

# Prints a command that changes something, and runs it unless --dry-run is given.
run() {
  show "$@"
  [ "$dry_run" = yes ] || "$@"
}

# Runs a command that lists resources. If it fails, --dry-run continues as if nothing existed.
ask() {
  "$@" </dev/null && return
  if [ "$dry_run" = no ]; then
    echo "cannot read the project: the command above failed" >&2
    exit "$cannot_see"
  fi
  echo "# cannot read the project; the commands are those for an empty project" >&2
}

# Tells whether a list of names, one on each line, has a name.
has() { grep -qxF -e "$2" <<<"$1"; }

# Each sets a list to the names of what exists.
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

# Creates the cluster unless it exists: make_cluster create|create-auto FLAG...
make_cluster() {
  list_clusters
  if has "$clusters" "$CLUSTER"; then
    echo "# cluster $CLUSTER exists"
    return
  fi
  run gcloud container clusters "$1" "$CLUSTER" --location="$LOCATION" "${@:2}" --project="$PROJECT"
}

# Prints fields of the cluster, with | between them: cluster_fields FIELD,...
cluster_fields() {
  ask gcloud container clusters list --location="$LOCATION" --filter="name ~ ^$CLUSTER\$" \
    --project="$PROJECT" --format="value[separator='|']($1)"
}
WINDOW_FIELDS=maintenancePolicy.window.recurringWindow.window.startTime,\
maintenancePolicy.window.recurringWindow.window.endTime,maintenancePolicy.window.recurringWindow.recurrence

# Sets the maintenance window unless the cluster has it: maintenance_window START END RECURRENCE
maintenance_window() {
  local found
  found=$(cluster_fields "$WINDOW_FIELDS")
  if [ "$found" = "$1|$2|$3" ]; then
    echo "# the maintenance window is set"
    return
  fi
  run gcloud container clusters update "$CLUSTER" --location="$LOCATION" --maintenance-window-start="$1" \
    --maintenance-window-end="$2" --maintenance-window-recurrence="$3" --project="$PROJECT"
}

# Adds a maintenance exclusion unless the cluster has one of that name: maintenance_exclusion NAME FLAG...
maintenance_exclusion() {
  local found
  found=$(cluster_fields "maintenancePolicy.window.maintenanceExclusions.$1.startTime")
  if [ -n "$found" ]; then
    echo "# maintenance exclusion $1 exists"
    return
  fi
  run gcloud container clusters update "$CLUSTER" --location="$LOCATION" \
    --add-maintenance-exclusion-name="$1" "${@:2}" --project="$PROJECT"
}

# Lets a service account of Kubernetes act as one of Google: workload_identity NAMESPACE/NAME ADDRESS
workload_identity() {
  local members member="serviceAccount:$PROJECT.svc.id.goog[$1]"
  members=$(ask gcloud iam service-accounts get-iam-policy "$2" --flatten='bindings[].members' \
    --filter='bindings.role=roles/iam.workloadIdentityUser' --format='value(bindings.members)' --project="$PROJECT")
  if has "$members" "$member"; then
    echo "# $1 acts as $2"
    return
  fi
  run gcloud iam service-accounts add-iam-policy-binding "$2" --role=roles/iam.workloadIdentityUser \
    --member="$member" --condition=None --project="$PROJECT"
}

# node-pools.sh

AT_ONCE=10 # node pools, as xpk creates them
creating=''
failed=''

# Begins to create a node pool unless one of that name exists: node_pool NAME FLAG...
node_pool() {
  if has "$node_pools" "$1"; then
    echo "# node pool $1 exists"
    return
  fi
  local command beta='' # only the beta commands have the flag
  case " $*" in *' --host-maintenance-interval='*) beta=beta ;; esac
  command=(gcloud ${beta:+"$beta"} container node-pools create "$1" --location="$LOCATION" \
    --cluster="$CLUSTER" "${@:2}" --project="$PROJECT")
  show "${command[@]}"
  [ "$dry_run" = no ] || return 0
  if [ "$(grep -c . <<<"$creating")" -ge "$AT_ONCE" ]; then await_node_pools; fi
  local log
  trap await_node_pools EXIT
  log=$(mktemp)
  "${command[@]}" </dev/null >"$log" 2>&1 &
  creating="$creating$! $log $1"$'\n'
}

# Waits for the node pools that are being created, and remembers which failed.
await_node_pools() {
  local job log name
  while read -r job log name; do
    [ -n "$job" ] || continue
    if ! wait "$job"; then
      failed="$failed $name"
      cat "$log" >&2
    fi
    rm -f "$log"
  done <<<"$creating"
  creating=''
}

# Waits for all node pools, and fails if one was not created.
finish_node_pools() {
  await_node_pools
  [ -n "$failed" ] || return 0
  echo "not created:$failed; run the script again, which creates only what is missing" >&2
  exit 1
}

# Creates a workload policy unless one of that name exists: workload_policy NAME FLAG...
workload_policy() {
  if has "$policies" "$1"; then
    echo "# workload policy $1 exists"
    return
  fi
  run gcloud compute resource-policies create workload-policy "$1" --region="$REGION" "${@:2}" \
    --project="$PROJECT"
}

# Stops unless a workload policy exists that somebody else creates: needs_workload_policy NAME FLAG...
needs_workload_policy() {
  has "$policies" "$1" && return
  echo "# workload policy $1 is not in $REGION: create it with ${*:2}, or leave placementPolicyName out" >&2
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

# Compares a field: expect WHAT FIELD WANTED FOUND. For WANTED, - means no value and * any value.
expect() {
  case $3 in
    \*) ;;
    "${4:--}") ;;
    *) differ "$@" ;;
  esac
}

# Tells whether gcloud prints a field as true.
is() { case $1 in [Tt]rue) return 0 ;; *) return 1 ;; esac }

# Compares the cluster: compare_cluster MODE
compare_cluster() {
  local row status autopilot mode=Standard
  row=$(ask gcloud container clusters list --location="$LOCATION" --filter="name ~ ^$CLUSTER\$" \
    --project="$PROJECT" --format='csv[no-heading,separator="|"](status,autopilot.enabled)')
  if [ -z "$row" ]; then
    differ "$CLUSTER" cluster present absent
    exit 1
  fi
  IFS='|' read -r status autopilot <<<"$row"
  [ "$status" = RECONCILING ] || expect "$CLUSTER" status RUNNING "$status"
  if is "$autopilot"; then mode=Autopilot; fi
  expect "$CLUSTER" mode "$1" "$mode"
}

# Compares the maintenance window: compare_window START END RECURRENCE
compare_window() {
  local row start end recurrence
  row=$(cluster_fields "$WINDOW_FIELDS")
  IFS='|' read -r start end recurrence <<<"$row"
  expect "$CLUSTER" window-start "$1" "$start"
  expect "$CLUSTER" window-end "$2" "$end"
  expect "$CLUSTER" window-recurs "$3" "$recurrence"
}

# Compares the maintenance exclusions with the table on stdin.
compare_exclusions() {
  local name scope ends at detail row has_scope behavior end
  while read -r name scope ends; do
    at=maintenancePolicy.window.maintenanceExclusions.$name
    detail=$at.maintenanceExclusionOptions
    row=$(cluster_fields "$detail.scope,$detail.endTimeBehavior,$at.endTime")
    IFS='|' read -r has_scope behavior end <<<"$row"
    if [ -z "$end" ]; then
      differ "$name" exclusion present absent
      continue
    fi
    # the API leaves out the first scope and behavior
    expect "$name" scope "$scope" "${has_scope:-NO_UPGRADES}"
    expect "$name" until "$ends" "${behavior:-$end}"
  done
}

# Compares the node pools with the table on stdin. It counts nodes as instances with GKE's labels.
compare_node_pools() {
  local found running row name machine_type topology policy provisioning scaling nodes zones interval
  local status has_type has_topology has_policy flex_start queued spot reservation scales least most has_zones
  local has_interval obtained bounds count
  found=$(ask gcloud container node-pools list --location="$LOCATION" --cluster="$CLUSTER" \
    --project="$PROJECT" --format='csv[no-heading,separator="|"](name,status,config.machineType,
      placementPolicy.tpuTopology,placementPolicy.policyName.basename(),config.flexStart,queuedProvisioning.enabled,config.spot,
      config.reservationAffinity.consumeReservationType,autoscaling.enabled,autoscaling.minNodeCount,
      autoscaling.maxNodeCount,locations.list(separator=","),config.hostMaintenancePolicy.maintenanceInterval)')
  running=$(ask gcloud compute instances list --project="$PROJECT" \
    --filter="labels.goog-k8s-cluster-name = $CLUSTER AND labels.goog-k8s-cluster-location = $LOCATION
      AND status = RUNNING" --format='value(labels.goog-k8s-node-pool-name)')
  while read -r name machine_type topology policy provisioning scaling nodes zones interval; do
    row=$(grep -e "^$name|" <<<"$found" || true)
    if [ -z "$row" ]; then
      differ "$name" node-pool present absent
      continue
    fi
    IFS='|' read -r _ status has_type has_topology has_policy flex_start queued spot reservation \
      scales least most has_zones has_interval <<<"$row"
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
    expect "$name" host-maintenance "${interval:-*}" "$has_interval"
    count=$(grep -cxF -e "$name" <<<"$running" || true)
    if [ "$count" -lt "${nodes%-*}" ] || { [ "${nodes#*-}" != '*' ] && [ "$count" -gt "${nodes#*-}" ]; }; then
      differ "$name" nodes "$nodes" "$count"
    fi
  done
}

# destroy.sh

# Asks for the cluster's name, unless --yes or --dry-run is given, then looks whether the cluster exists: confirm WHAT
confirm() {
  local answer
  if [ "$yes" = no ] && [ "$dry_run" = no ]; then
    echo "This deletes $1, and stops every workload there." >&2
    printf 'Type the name of the cluster to continue: ' >&2
    read -r answer || answer=
    [ "$answer" = "$CLUSTER" ] || { echo "nothing was deleted" >&2 && exit 1; }
  fi
  list_clusters
  [ "$dry_run" = no ] || clusters=$CLUSTER
  if ! has "$clusters" "$CLUSTER"; then echo "# cluster $CLUSTER does not exist"; fi
}

# Deletes Kueue's objects in the platform files of a folder: delete_queues FOLDER CLUSTERQUEUE...
# Kueue keeps an object while another uses it. So workloads are evicted first; then LocalQueues, ClusterQueues,
# admission checks, ResourceFlavors and Topologies are deleted. kubectl uses new credentials for this cluster only.
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
    echo "# Kueue is not installed"
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

# Deletes a node pool if it exists.
delete_node_pool() {
  if [ "$dry_run" = yes ] || has "$node_pools" "$1"; then
    run gcloud container node-pools delete "$1" --location="$LOCATION" --cluster="$CLUSTER" \
      --project="$PROJECT" --quiet
  fi
}

# Deletes a workload policy that node-pools.sh created, if it exists.
delete_workload_policy() {
  if [ "$dry_run" = yes ] || has "$policies" "$1"; then
    run gcloud compute resource-policies delete "$1" --region="$REGION" --project="$PROJECT" --quiet
  fi
}

# Deletes the cluster if it exists.
delete_cluster() {
  if has "$clusters" "$CLUSTER"; then
    run gcloud container clusters delete "$CLUSTER" --location="$LOCATION" --project="$PROJECT" --quiet
  fi
}
