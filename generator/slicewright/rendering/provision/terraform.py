"""Terraform of a cluster: its variables, versions and outputs, and the resources that create it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.labels import RESERVATION_AFFINITY
from slicewright.rendering.plan.resolved_cluster import CPU_DISK, ResolvedCluster, region_of
from slicewright.rendering.provision.access import access_blocks, identities
from slicewright.rendering.provision.further import with_arguments
from slicewright.rendering.provision.hcl import (
    Attribute,
    Block,
    Call,
    Comment,
    Expression,
    Item,
    Value,
    block,
)
from slicewright.rendering.provision.maintenance import maintenance_policy
from slicewright.rendering.provision.node_pool import NodePool, cluster_zones
from slicewright.rendering.provision.scripts import reservation_path

DEFAULTS: dict[str, Any] = {
    "subnetIpRange": "10.129.0.0/20",
    "podsIpRange": "192.168.64.0/20",
    "servicesIpRange": "192.168.80.0/20",
    "clusterDescription": "GKE cluster for running TPU training workloads",
    "cpuPoolDiskType": "pd-standard",
    "cpuPoolDiskSize": CPU_DISK,
    "tpuSaName": "cloud-tpu-sa",
    "tpuSaRoles": ["roles/storage.objectAdmin", "roles/logging.logWriter"],
    "gkeSaName": "gke-sa",
    "gkeSaRoles": ["roles/storage.objectAdmin", "roles/logging.logWriter"],
    "tpuNamespace": "tpu-training",
    "multisliceGroupName": "multi-slice-group",
    "artifactRegistryName": "gke-tpu-training",
    "tensorboardRegion": "us-central1",
    "tfStatePrefix": "gke-tpu-training-environment",
}
"""The defaults of schemas/slicewright/tpucluster.json that follow from no other field."""


class Environment(Struct, frozen=True):
    """The names of an environment, with defaults, unchecked."""

    cluster: str
    autopilot: bool
    project: str
    location: str
    """Where the cluster is: a region, or the zone of a zonal one."""
    zone: str
    """Where its nodes are unless a pool says otherwise; empty if no field says."""
    node_locations: tuple[str, ...]
    gke_version: str
    release_channel: str
    fields: dict[str, Any]
    """The fields of the block by their names in the file, each with its value or default."""

    @property
    def region(self) -> str:
        """Return the region of the network and of what is regional."""
        return region_of(self.location)

    @property
    def zonal(self) -> bool:
        """Tell whether the cluster has its control plane in one zone."""
        return self.region != self.location


def environment(site: ResolvedCluster) -> Environment:
    """Return the environment of a cluster that has the block."""
    spec = site.cluster.spec
    written = spec["environment"]
    project, location = spec.get("project", ""), spec.get("location", "")
    prefix = written.get("resourcePrefix", project)
    derived = {
        "resourcePrefix": prefix,
        "networkName": f"{prefix}-network",
        "subnetName": f"{prefix}-subnet",
        "artifactRepositoryBucketName": f"{prefix}-aiml-repository",
        "tfStateBucket": f"{project}-tf-state",
    }
    zones = cluster_zones(site)
    gke = spec.get("gke", {})
    return Environment(
        cluster=site.cluster.name,
        autopilot=site.cluster.mode == "Autopilot",
        project=project,
        location=location,
        zone=zones[0] if zones else "",
        node_locations=zones,
        gke_version=gke.get("version", ""),
        release_channel=gke.get("releaseChannel", "regular").upper(),
        fields={**DEFAULTS, **derived, **written},
    )


GOOGLE = ">= 7.31, < 8"
"""The google providers, from one with `end_time_behavior` on.

The tests hold every resource against the tables of the first and of a late one."""

REQUIRED_VERSION = ">= 1.5.0"
"""Terraform or OpenTofu; OpenTofu begins with 1.6."""

_STRING, _STRINGS, _BOOL = Expression("string"), Expression("list(string)"), Expression("bool")
_BUCKET = "The bucket for data sets, logs and checkpoints"


def terraform_versions(environment: Environment) -> tuple[Item, ...]:
    """Return versions.tf: the required versions, the backend of the state, and the project."""
    fields = environment.fields
    backend = block("backend", "gcs", bucket=fields["tfStateBucket"], prefix=fields["tfStatePrefix"])
    required = block("required_providers", google={"source": "hashicorp/google", "version": GOOGLE})
    return (
        block("terraform", required_version=REQUIRED_VERSION, body=[required, backend]),
        block("provider", "google", project=Expression("var.project_id"), region=Expression("var.region")),
    )


def terraform_variables(environment: Environment) -> tuple[Item, ...]:
    """Return variables.tf; those without a default get their value in terraform.tfvars."""
    return tuple(item for item, _ in _variables(environment))


def terraform_values(environment: Environment) -> tuple[Item, ...]:
    """Return terraform.tfvars: what has no default, and what differs from it."""
    return tuple(
        Attribute(item.labels[0], value)
        for item, value in _variables(environment)
        if Attribute("default", value) not in item.body
    )


def terraform_outputs(environment: Environment) -> tuple[Item, ...]:
    """Return outputs.tf: the values that people and other configurations read."""
    where = "--zone" if environment.zonal else "--region"
    location = environment.location if environment.zonal else "${var.region}"
    get = f"gcloud container clusters get-credentials ${{var.cluster_name}} {where} {location}"
    registry = "${var.region}-docker.pkg.dev/${var.project_id}/${var.artifact_registry_name}"
    rows = (
        ("cluster_name", "The name of the cluster", "google_container_cluster.cluster.name"),
        ("cluster_location", "The location of the cluster", "google_container_cluster.cluster.location"),
        ("get_credentials", "The command that configures kubectl", f'"{get} --project ${{var.project_id}}"'),
        ("network", "The network of the cluster", "google_compute_network.network.name"),
        ("subnet", "The subnet of the cluster", "google_compute_subnetwork.subnet.name"),
        ("tpu_sa_email", "The service account of workloads", "google_service_account.tpu.email"),
        ("gke_sa_email", "The service account of nodes", "google_service_account.gke.email"),
        ("artifact_repository_bucket", _BUCKET, "google_storage_bucket.repository.url"),
        ("artifact_registry", "The prefix of images in Artifact Registry", f'"{registry}"'),
        ("tensorboard", "The Vertex AI TensorBoard", "google_vertex_ai_tensorboard.tensorboard.id"),
    )
    return tuple(
        block("output", name, description=description, value=Expression(value))
        for name, description, value in rows
    )


def _variables(environment: Environment) -> Iterator[tuple[Block, Value]]:
    """Yield each variable with its value on this cluster, in the order of the guide that they come from."""
    fields = environment.fields
    version = environment.gke_version or None
    yield _needed("project_id", "The project", environment.project)
    yield _needed("region", "The region of the network, the cluster and the bucket", environment.region)
    yield _needed("tensorboard_region", "The region of Vertex AI TensorBoard", fields["tensorboardRegion"])
    yield _needed("artifact_repository_bucket_name", _BUCKET, fields["artifactRepositoryBucketName"])
    if not environment.autopilot:
        yield _needed("zone", "The zone of the nodes, TPU nodes first", environment.zone)
    yield _needed("network_name", "The network of the cluster", fields["networkName"])
    yield _needed("subnet_name", "The subnet of the cluster", fields["subnetName"])
    mtu = "The MTU of the network; null takes that of Google Cloud"
    yield _variable("network_mtu", mtu, Expression("number"), fields.get("networkMtu"), default=None)
    yield _default("subnet_ip_range", "The IP range of the subnet", "subnetIpRange", fields)
    yield _default("pods_ip_range", "The secondary IP range for pods", "podsIpRange", fields)
    yield _default("services_ip_range", "The secondary IP range for services", "servicesIpRange", fields)
    yield _needed("cluster_name", "The name of the cluster", environment.cluster)
    description = "The version of GKE; null takes that of the release channel"
    yield _variable("gke_version", description, _STRING, version, default=None)
    channel = environment.release_channel
    yield _variable("gke_release_channel", "The release channel of GKE", _STRING, channel, default="REGULAR")
    yield _default("cluster_description", "The description of the cluster", "clusterDescription", fields)
    if not environment.autopilot:
        yield _default("cpu_pool_disk_type", "The disk type of CPU nodes", "cpuPoolDiskType", fields)
        yield _default("cpu_pool_disk_size", "The disk size of CPU nodes", "cpuPoolDiskSize", fields)
    yield _default("tpu_sa_name", "The service account of workloads", "tpuSaName", fields)
    yield _default("tpu_sa_roles", "The roles of the service account of workloads", "tpuSaRoles", fields)
    yield _default("gke_sa_name", "The service account of nodes", "gkeSaName", fields)
    yield _default("gke_sa_roles", "The roles of the service account of nodes", "gkeSaRoles", fields)
    yield _default("tpu_namespace", "The Kubernetes namespace of workloads", "tpuNamespace", fields)
    if not environment.autopilot:
        label = "The value of the label multislice_group_name of TPU nodes"
        yield _default("multislice_group_name", label, "multisliceGroupName", fields)
    registry = "The Artifact Registry repository"
    yield _default("artifact_registry_name", registry, "artifactRegistryName", fields)
    protection = "Whether the cluster is kept from being destroyed"
    yield _variable("deletion_protection", protection, _BOOL, value=True, default=True)


def _needed(name: str, description: str, value: str) -> tuple[Block, Value]:
    """Return a variable without a default."""
    return block("variable", name, description=description, type=_STRING), value


def _default(name: str, description: str, field: str, fields: dict[str, Value]) -> tuple[Block, Value]:
    """Return a variable with the default of a field of the environment block."""
    kind = _STRINGS if isinstance(DEFAULTS[field], list) else _STRING
    return _variable(name, description, kind, fields[field], default=DEFAULTS[field])


def _variable(
    name: str, description: str, kind: Expression, value: Value, *, default: Value
) -> tuple[Block, Value]:
    body = (Attribute("default", default),)
    return block("variable", name, description=description, type=kind, body=body), value


OAUTH_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_ACCOUNT = Expression("google_service_account.gke.email")
_NODE_ROLES = [Expression(f"google_project_iam_member.{name}") for name in ("gke", "gke_nodes")]
"""The rights of nodes must exist before the nodes, and until the last node is gone."""


def cluster_resources(site: ResolvedCluster, environment: Environment) -> tuple[Item, ...]:
    """Return cluster.tf: a VPC-native cluster with Workload Identity and no node pool of its own."""
    autopilot, fields = environment.autopilot, environment.fields
    body: list[Item] = [
        block(
            "ip_allocation_policy",
            cluster_secondary_range_name="pods",
            services_secondary_range_name="services",
        ),
        block("release_channel", channel=Expression("var.gke_release_channel")),
        block("workload_identity_config", workload_pool=Expression('"${var.project_id}.svc.id.goog"')),
        maintenance_policy(site),
        *access_blocks(site),
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
        *identities(site, environment.project, (fields["tpuNamespace"], fields["tpuSaName"])),
    )


def zones(environment: Environment, names: tuple[str, ...]) -> Value:
    """Return zones as HCL: the variable stands for the default zone of nodes."""
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


def node_pool_resources(environment: Environment, pools: Sequence[NodePool]) -> tuple[Item, ...]:
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
    interval = pool.host_maintenance_interval
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
            *([block("host_maintenance_policy", maintenance_interval=interval)] if interval else ()),
        ],
    )


def _reservation(pool: NodePool) -> Iterator[Block]:
    """Yield the block `reservation_affinity`: a reservation, or none for flex-start."""
    kind = "reservation_affinity"
    if pool.provisioning.is_flex_start:
        yield block(kind, consume_reservation_type="NO_RESERVATION")
    if pool.provisioning.type == "Reservation":
        specific, paths = "SPECIFIC_RESERVATION", [reservation_path(pool.provisioning)]
        yield block(kind, consume_reservation_type=specific, key=RESERVATION_AFFINITY, values=paths)
