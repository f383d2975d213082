"""The scripts of a cluster: what is its own, as calls of the functions in `lib.sh`, which is beside them.

They keep to what bash 3.2 has, and need `gcloud` (and `kubectl` where Kubernetes objects are deleted).
Sources of the flags: the GKE pages on TPU slices, flex-start and TPU7x, and the reference of gcloud.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from shlex import quote

from slicewright.intent.tpuworkload import Provisioning
from slicewright.kubernetes.problem import counted
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, region_of
from slicewright.rendering.provision.access import access_flags, bound_teams
from slicewright.rendering.provision.maintenance import Exclusion, exclusions, window
from slicewright.rendering.provision.node_pool import NodePool, node_pools


def node_pool_flags(pool: NodePool) -> tuple[str, ...]:
    """Return the flags that make a node pool what it is; project, location and cluster come from the script.

    A single-host slice has no topology (the API refuses one), a multi-host slice has one and its hosts as the
    number of nodes, one that a workload policy places has the policy instead. `--num-nodes` counts nodes of
    one zone.
    """
    scaling, zones = pool.scaling, pool.zones
    seconds, is_private = pool.max_run_duration_seconds, pool.private_nodes
    values = {
        "--node-locations": ",".join(zones),
        "--machine-type": pool.machine_type,
        "--tpu-topology": pool.topology,
        "--placement-policy": pool.workload_policy,
        "--disk-type": pool.boot_disk,
        "--disk-size": f"{pool.disk_size_gb}GB" if pool.disk_size_gb else "",
        "--service-account": pool.service_account,
        "--scopes": ",".join(pool.scopes),
        "--workload-metadata": pool.workload_metadata,
        "--host-maintenance-interval": pool.host_maintenance_interval,
    }
    flags = [f"{name}={value}" for name, value in values.items() if value]
    if is_private is not None:
        flags.append("--enable-private-nodes" if is_private else "--no-enable-private-nodes")
    flags += _obtained(pool.provisioning)
    flags.append(f"--num-nodes={pool.nodes}")
    if scaling:
        flags += ["--enable-autoscaling", f"--min-nodes={scaling.least}", f"--max-nodes={scaling.most}"]
        # any zone that has capacity, rather than the same number of nodes in each
        flags += ["--location-policy=ANY"] if pool.shape and len(zones) != 1 else []
    values = {
        "--max-run-duration": "" if seconds is None else f"{seconds}s",
        "--node-labels": ",".join(f"{key}={value}" for key, value in pool.labels),
        "--node-taints": ",".join(f"{key}={value}:{effect}" for key, value, effect in pool.taints),
    }
    flags += [f"{name}={value}" for name, value in values.items() if value]
    return (*flags, *pool.gcloud_flags)


def policy_flags(topology: str) -> tuple[str, ...]:
    """Return the flags of `gcloud compute resource-policies create workload-policy` for a slice."""
    return ("--type=HIGH_THROUGHPUT", f"--accelerator-topology={topology}")


def _obtained(provisioning: Provisioning) -> list[str]:
    """Return how the nodes are obtained; a TPU takes a reservation only by name.

    Queued provisioning is flex-start that a ProvisioningRequest sets off, and needs both flags.
    """
    if provisioning.type == "Spot":
        return ["--spot"]
    if provisioning.type == "Reservation":
        return ["--reservation-affinity=specific", f"--reservation={reservation_path(provisioning)}"]
    if provisioning.is_flex_start:
        queued = ["--enable-queued-provisioning"] if provisioning.type == "FlexStartQueued" else []
        return ["--flex-start", *queued, "--reservation-affinity=none", "--no-enable-autorepair"]
    return []


def reservation_path(reservation: Provisioning) -> str:
    """Return a reservation as gcloud names it: project (unless its own), block and sub-block."""
    project = f"projects/{reservation.project}/reservations/" if reservation.project else ""
    block = f"/reservationBlocks/{reservation.block}" if reservation.block else ""
    sub_block = f"/reservationSubBlocks/{reservation.sub_block}" if reservation.sub_block else ""
    return f"{project}{reservation.name}{block}{sub_block}"


ADDONS = ("HorizontalPodAutoscaling", "HttpLoadBalancing", "GcePersistentDiskCsiDriver", "GcsFuseCsiDriver")
"""Those that gcloud adds by itself, and drops when others are named; and Cloud Storage FUSE for `gcsFuse`."""

APIS = ("compute.googleapis.com", "container.googleapis.com")
LIBRARY = "lib.sh"

_SOURCE = """\
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh\""""


def scripts(site: ResolvedCluster, library: str) -> dict[str, str]:
    """Return the scripts and their library by name; a script with nothing to do is left out.

    If Terraform makes the cluster and its node pools, a script that made them too would leave them outside of
    the state. Then there are only `verify.sh`, and `destroy.sh` for Kueue's objects.
    """
    pools = node_pools(site)
    first, _, rest = library.partition("\n")
    files = {
        LIBRARY: f"{first}\n{site.live(rest)}",
        "verify.sh": _verify(site, pools),
        "destroy.sh": _destroy(site, pools),
    }
    if "environment" not in site.cluster.spec:
        files["cluster.sh"] = _cluster(site)
        if pools:
            files["node-pools.sh"] = _node_pools(site, pools)
    return files


def _script(
    site: ResolvedCluster,
    name: str,
    purpose: str,
    blocks: Iterable[str],
    *,
    options: str = "[--dry-run]",
    needs_region: bool = False,
) -> str:
    """Return a script: header, purpose, strictness, variables, library, and its own blocks."""
    spec = site.cluster.spec
    project = spec.get("project", "")
    usage = f"usage: bash {name} {options}".rstrip()
    comment = (f"# {line}" for line in purpose.replace("USAGE", usage).split("\n"))
    head = [
        *comment,
        "set -euo pipefail",
        "",
        f"PROJECT={quote(project)}"
        if project
        else "PROJECT=${PROJECT:?is not set: the project of the cluster}",
        f"LOCATION={quote(spec['location'])}",
        f"CLUSTER={quote(site.cluster.name)}",
        *([f"REGION={region_of(spec['location'])}"] if needs_region else []),
        f"OPTIONS={quote(options)}",
        _SOURCE,
    ]
    body = "\n\n".join(["\n".join(head), *blocks])
    return f"#!/usr/bin/env bash\n{site.live(body)}\n"


def _call(*words: str) -> str:
    """Return a call with each flag on a line of its own; words that begin with `--` are flags."""
    calls = [quote(word) for word in words if not word.startswith("--")]
    return " \\\n  ".join([" ".join(calls), *(quote(word) for word in words if word.startswith("--"))])


def _cluster(site: ResolvedCluster) -> str:
    """Return `cluster.sh`: create for Standard, create-auto for Autopilot, which has all add-ons as it is."""
    spec = site.cluster.spec
    gke = spec.get("gke", {})
    flags = [f"--release-channel={gke.get('releaseChannel', 'regular')}"]
    if "version" in gke:
        flags.append(f"--cluster-version={gke['version']}")
    flags += access_flags(site)
    if site.cluster.mode == "Autopilot":
        make = _call("make_cluster", "create-auto", *flags)
    else:
        if "nodeLocations" in spec:
            flags.insert(0, f"--node-locations={','.join(spec['nodeLocations'])}")
        if system := gke.get("systemNodes"):
            flags += [f"--machine-type={system['machineType']}", f"--num-nodes={system['nodes']}"]
        own = ['--workload-pool="$PROJECT.svc.id.goog"', f"--addons={','.join(ADDONS)}"]
        make = " \\\n  ".join([_call("make_cluster", "create", *flags), *own])
    purpose = f"Creates cluster {site.cluster.name}, unless it exists.\n"
    if site.cluster.mode == "Standard":
        purpose += "It has GKE's default pool, for DNS, JobSet, Kueue and other system pods.\n"
    purpose += "USAGE"
    blocks = [f"enable_apis {' '.join(APIS)}\n{make}"]
    hours = window(site)
    calls = [_call("maintenance_window", *hours.words)] if hours else []
    calls += [_call("maintenance_exclusion", item.name, *_exclusion_flags(item)) for item in exclusions(site)]
    if calls:
        blocks.append("\n".join(["# when GKE may not upgrade nodes under a run", *calls]))
    bound = [
        _call(
            "workload_identity", f"{team.namespace}/{team.service_account_name}", team.google_service_account
        )
        for team in bound_teams(site)
    ]
    if bound:
        blocks.append("\n".join(["# Workload Identity of the teams", *bound]))
    return _script(site, "cluster.sh", purpose, blocks)


def _exclusion_flags(exclusion: Exclusion) -> tuple[str, ...]:
    """Return the flags of `gcloud container clusters update` for a maintenance exclusion."""
    flag = "--add-maintenance-exclusion"
    end = f"{flag}-end={exclusion.end_time}" if exclusion.end_time else f"{flag}-until-end-of-support"
    return f"{flag}-scope={exclusion.scope.lower()}", f"{flag}-start={exclusion.start_time}", end


def _node_pools(site: ResolvedCluster, pools: tuple[NodePool, ...]) -> str:
    """Return `node-pools.sh` for at least one node pool."""
    has_policies = any(pool.workload_policy for pool in pools)
    blocks = ["list_node_pools" + "\nlist_workload_policies" * has_policies]
    for _, group in groupby(pools, key=lambda pool: pool.pool):
        blocks += _calls(list(group))
    blocks.append("finish_node_pools")
    purpose = (
        f"Creates the node pools of cluster {site.cluster.name} that do not exist yet, side by side.\nUSAGE"
    )
    return _script(site, "node-pools.sh", purpose, blocks, needs_region=has_policies)


def _calls(pools: list[NodePool]) -> Iterator[str]:
    """Yield the calls for a pool of the file: first its workload policy, then a node pool for each slice."""
    first, *others = pools
    lines = [_title(pools)]
    if first.shape is not None and first.workload_policy:
        name = "workload_policy" if first.makes_policy else "needs_workload_policy"
        lines.append(_call(name, first.workload_policy, *policy_flags(first.shape.topology)))
    yield "\n".join([*lines, _call("node_pool", first.name, *node_pool_flags(first))])
    for pool in others:
        yield _call("node_pool", pool.name, *node_pool_flags(pool))


def _title(pools: list[NodePool]) -> str:
    shape, name = pools[0].shape, pools[0].pool
    if shape is None:
        return f"# {name}: {pools[0].machine_type}"
    slices, hosts = counted(len(pools), "slice"), counted(shape.hosts, "host")
    each = "" if len(pools) == 1 else " each"
    return f"# {name}: {slices} of {shape.generation} {shape.topology}, {shape.chips} chips on {hosts}{each}"


def _verify(site: ResolvedCluster, pools: tuple[NodePool, ...]) -> str:
    """Return `verify.sh`; it exits 1 with a table if something differs, 3 if it cannot read the cluster."""
    parts = "its mode is"
    hours, excluded = window(site), exclusions(site)
    compared = [f"cannot_see=3\ncompare_cluster {site.cluster.mode}"]
    compared += [_call("compare_window", *hours.words)] if hours else []
    blocks = ["\n".join(compared)]
    if excluded:
        rows = "".join(f"{item.name} {item.scope} {item.ends}\n" for item in excluded)
        blocks.append(f"compare_exclusions <<'EXCLUSIONS'\n{rows}EXCLUSIONS")
    if pools:
        parts = "its node pool is" if len(pools) == 1 else f"its {len(pools)} node pools are"
        rows = "".join(f"{' '.join(_columns(pool))}\n" for pool in pools)
        blocks.append(f"compare_node_pools <<'NODE_POOLS'\n{rows}NODE_POOLS")
    same = f"cluster {site.cluster.name} exists, and {parts} as {site.cluster.source.file.path} says"
    blocks.append(f'[ "$differs" = no ] || exit 1\necho {quote(same)}')
    purpose = (
        f"Compares cluster {site.cluster.name} with its file; changes nothing.\nUSAGE\n"
        "exit: 0 no difference, 1 something differs, 2 usage, 3 gcloud cannot read the cluster"
    )
    return _script(site, "verify.sh", purpose, blocks, options="")


def _columns(pool: NodePool) -> tuple[str, ...]:
    """Return the expected values of a node pool, in the order of the columns of `compare_node_pools`."""
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
        *filter(None, [pool.host_maintenance_interval]),
    )


def _destroy(site: ResolvedCluster, pools: tuple[NodePool, ...]) -> str:
    """Return `destroy.sh`; where Terraform made the cluster, it only deletes what Kueue holds on to."""
    name = site.cluster.name
    by_terraform = "environment" in site.cluster.spec
    queues = [quote(queue["name"]) for queue in site.cluster.spec.get("clusterQueues", [])]
    goal = (
        f"the queues of cluster {name}" if by_terraform else f"cluster {name} with its queues and node pools"
    )
    blocks = [f"confirm {quote(goal)}", " \\\n  ".join([f"delete_queues overlays/{name}/_platform", *queues])]
    policies: list[str] = []
    last = "next"
    if by_terraform:
        last = "then"
        terraform = f"terraform -chdir=provision/{name}"
        blocks.append(
            "# The provider reads deletion_protection from the state, so an apply must turn it off first.\n"
            f"echo '# next: {terraform} apply -var=deletion_protection=false'\n"
            f"echo '# then: {terraform} destroy, which deletes node pools, cluster and the rest'"
        )
    else:
        policies = list(dict.fromkeys(pool.workload_policy for pool in pools if pool.makes_policy))
        if pools:
            calls = "".join(f"  delete_node_pool {quote(pool.name)}\n" for pool in pools)
            blocks.append(f'if has "$clusters" "$CLUSTER"; then\n  list_node_pools\n{calls}fi')
        if policies:
            calls = "".join(f"\ndelete_workload_policy {quote(policy)}" for policy in policies)
            blocks.append(f"list_workload_policies{calls}")
        blocks.append("delete_cluster")
    blocks[-1] += f'\necho "# {last}: if you removed $CLUSTER from clusters/, delete provision/$CLUSTER"'
    purpose = f"Deletes {goal}.\nFirst stop what syncs the overlays (Argo CD, Flux).\nUSAGE"
    options = "[--dry-run] [--yes]"
    return _script(site, "destroy.sh", purpose, blocks, options=options, needs_region=bool(policies))
