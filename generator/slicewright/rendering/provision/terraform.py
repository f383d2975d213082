"""The cluster in Terraform; what is equal for all clusters is a file of its own beside `lib.sh`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from slicewright.kubernetes.labels import RESERVATION_AFFINITY
from slicewright.rendering.provision.further import with_arguments
from slicewright.rendering.provision.hcl import Block, Call, Comment, Expression, Item, Value, block
from slicewright.rendering.provision.node_pool import NodePool
from slicewright.rendering.provision.scripts import reservation_path
from slicewright.rendering.provision.terraform_settings import Environment

OAUTH_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_ACCOUNT = Expression("google_service_account.gke.email")
_NODE_ROLES = [Expression(f"google_project_iam_member.{name}") for name in ("gke", "gke_nodes")]
"""What nodes may do must be settled before there are any, and until there are none."""


def cluster(environment: Environment) -> tuple[Item, ...]:
    """Return cluster.tf: a VPC-native cluster with Workload Identity and no node pool of its own."""
    autopilot = environment.autopilot
    body: list[Item] = [
        block(
            "ip_allocation_policy",
            cluster_secondary_range_name="pods",
            services_secondary_range_name="services",
        ),
        block("release_channel", channel=Expression("var.gke_release_channel")),
        block("workload_identity_config", workload_pool=Expression('"${var.project_id}.svc.id.goog"')),
    ]
    if autopilot:
        nodes = block("auto_provisioning_defaults", service_account=_ACCOUNT, oauth_scopes=OAUTH_SCOPES)
        body.append(block("cluster_autoscaling", body=[nodes]))
    else:
        body += [
            block("addons_config", body=[block("gcs_fuse_csi_driver_config", enabled=True)]),
            Comment(
                "Of the default node pool, which is made and removed again; node-pools.tf has the real ones."
            ),
            block("node_config", service_account=_ACCOUNT, oauth_scopes=OAUTH_SCOPES),
            block("lifecycle", ignore_changes=[Expression("node_config")]),
        ]
    return (
        block(
            *("resource", "google_container_cluster", "cluster"),
            name=Expression("var.cluster_name"),
            description=Expression("var.cluster_description"),
            location=environment.location if environment.zonal else Expression("var.region"),
            node_locations=_node_locations(environment),
            min_master_version=Expression("var.gke_version"),
            network=Expression("google_compute_network.network.id"),
            subnetwork=Expression("google_compute_subnetwork.subnet.id"),
            networking_mode="VPC_NATIVE",
            enable_autopilot=True if autopilot else None,
            remove_default_node_pool=None if autopilot else True,
            initial_node_count=None if autopilot else 1,
            deletion_protection=Expression("var.deletion_protection"),
            depends_on=_NODE_ROLES,
            body=body,
        ),
    )


def zones(environment: Environment, names: tuple[str, ...]) -> Value:
    """Return zones as they are written: the variable for the one that nodes are in by default."""
    return [Expression("var.zone") if name == environment.zone else name for name in names]


def _node_locations(environment: Environment) -> Value:
    """Return the zones of the nodes; a zonal cluster names those besides its own only."""
    others = tuple(zone for zone in environment.node_locations if zone != environment.location)
    return zones(environment, others) if others and not environment.autopilot else None


TPU_MAX_PODS = 15
"""Pods a TPU node may run, as xpk sets it: one uses the chips, and a node takes addresses for all of them."""

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
_TIMEOUT = "60m"
"""How long a large slice may take to come; the provider's own limit is half of it."""


def node_pools(environment: Environment, pools: Sequence[NodePool]) -> tuple[Item, ...]:
    """Return node-pools.tf: workload policies, then the node pools."""
    policies = {pool.workload_policy: pool for pool in pools if pool.makes_policy}
    return (
        *(_policy(name, pool) for name, pool in policies.items()),
        *(_resource(environment, label, names, pool) for label, names, pool in grouped(pools)),
    )


def grouped(pools: Sequence[NodePool]) -> Iterator[tuple[str, list[str], NodePool]]:
    """Yield the label of each resource, the names of its node pools and what they have in common."""
    groups: dict[NodePool, list[str]] = {}
    for pool in pools:
        groups.setdefault(replace(pool, name=""), []).append(pool.name)
    numbers: Counter[str] = Counter()
    for pool, names in groups.items():
        numbers[pool.pool] += 1
        # no pool is called like that: names of pools hold no underscore
        number = f"_{numbers[pool.pool]}" if numbers[pool.pool] > 1 else ""
        yield f"{pool.pool}{number}", names, pool


def _policy(name: str, pool: NodePool) -> Block:
    """Return the workload policy of a slice; it holds the topology, so that the node pool does not."""
    topology = pool.shape.topology if pool.shape else None
    return block(
        *("resource", "google_compute_resource_policy", pool.pool),
        name=name,
        region=Expression("var.region"),
        body=[block("workload_policy", type="HIGH_THROUGHPUT", accelerator_topology=topology)],
        depends_on=[Expression("google_project_service.service")],
    )


def _resource(environment: Environment, label: str, names: list[str], pool: NodePool) -> Block:
    scaling = pool.scaling
    resource = block(
        *("resource", "google_container_node_pool", label),
        for_each=Call("toset", names),
        name=Expression("each.value"),
        cluster=Expression("google_container_cluster.cluster.id"),
        node_locations=zones(environment, pool.zones) if pool.zones else None,
        node_count=None if scaling else pool.nodes,
        initial_node_count=pool.nodes if scaling else None,
        max_pods_per_node=TPU_MAX_PODS if pool.shape else None,
        body=_blocks(pool),
    )
    return with_arguments(resource, pool.terraform_arguments)


def _blocks(pool: NodePool) -> Iterator[Block]:
    if pool.scaling:
        # any zone that has capacity, rather than the same number of nodes in each
        policy = "ANY" if pool.shape and len(pool.zones) != 1 else None
        least, most = pool.scaling.least, pool.scaling.most
        yield block("autoscaling", min_node_count=least, max_node_count=most, location_policy=policy)
    yield block("management", auto_repair=not pool.provisioning.is_flex_start, auto_upgrade=True)
    yield _node_config(pool)
    if pool.workload_policy:
        ours = Expression(f"google_compute_resource_policy.{pool.pool}.name")
        policy_name = ours if pool.makes_policy else pool.workload_policy
        yield block("placement_policy", type="COMPACT", policy_name=policy_name)
    elif pool.topology:
        yield block("placement_policy", type="COMPACT", tpu_topology=pool.topology)
    if pool.private_nodes is not None:
        yield block("network_config", enable_private_nodes=pool.private_nodes)
    if pool.provisioning.type == "FlexStartQueued":
        yield block("queued_provisioning", enabled=True)
    if pool.shape:
        yield block("timeouts", create=_TIMEOUT, update=_TIMEOUT, delete=_TIMEOUT)
    if pool.scaling:
        # The counts of the file are initial ones: a change of them must not recreate the node pool.
        yield block("lifecycle", ignore_changes=[Expression("initial_node_count")])


def _node_config(pool: NodePool) -> Block:
    provisioning, seconds = pool.provisioning, pool.max_run_duration_seconds
    labels: dict[str, Value] = dict(pool.labels)
    disk_type: Value = pool.boot_disk or None
    disk_size: Value = pool.disk_size_gb
    if pool.shape:
        labels = {"multislice_group_name": Expression("var.multislice_group_name"), **labels}
    else:
        disk_type = disk_type or Expression("var.cpu_pool_disk_type")
        disk_size = disk_size or Expression('tonumber(trimsuffix(var.cpu_pool_disk_size, "GB"))')
    return block(
        "node_config",
        machine_type=pool.machine_type,
        disk_type=disk_type,
        disk_size_gb=disk_size,
        spot=True if provisioning.type == "Spot" else None,
        flex_start=True if provisioning.is_flex_start else None,
        max_run_duration=None if seconds is None else f"{seconds}s",
        service_account=pool.service_account or _ACCOUNT,
        oauth_scopes=OAUTH_SCOPES,
        labels=labels or None,
        body=[
            *(
                block("taint", key=key, value=value, effect=_EFFECTS[effect])
                for key, value, effect in pool.taints
            ),
            *_reservation(pool),
            block("workload_metadata_config", mode=pool.workload_metadata or "GKE_METADATA"),
            block("shielded_instance_config", enable_secure_boot=True, enable_integrity_monitoring=True),
        ],
    )


def _reservation(pool: NodePool) -> Iterator[Block]:
    """Yield the reservation that the nodes come from, or that they come from none (flex-start)."""
    kind = "reservation_affinity"
    if pool.provisioning.is_flex_start:
        yield block(kind, consume_reservation_type="NO_RESERVATION")
    if pool.provisioning.type == "Reservation":
        specific, paths = "SPECIFIC_RESERVATION", [reservation_path(pool.provisioning)]
        yield block(kind, consume_reservation_type=specific, key=RESERVATION_AFFINITY, values=paths)
