"""Settings of Terraform: versions, state, variables, values and outputs."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, region_of
from slicewright.rendering.provision.hcl import Attribute, Block, Expression, Item, Value, block
from slicewright.rendering.provision.node_pool import cluster_zones

DEFAULTS: dict[str, Any] = {
    "subnetIpRange": "10.129.0.0/20",
    "podsIpRange": "192.168.64.0/20",
    "servicesIpRange": "192.168.80.0/20",
    "clusterDescription": "GKE cluster for running TPU training workloads",
    "cpuPoolDiskType": "pd-standard",
    "cpuPoolDiskSize": "200GB",
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


GOOGLE = ">= 6.50, < 8"
"""The google providers; the tests hold every resource against the tables of the first and of a late one."""

REQUIRED_VERSION = ">= 1.5.0"
"""Terraform or OpenTofu; OpenTofu begins with 1.6."""

_STRING, _STRINGS, _BOOL = Expression("string"), Expression("list(string)"), Expression("bool")
_BUCKET = "The bucket for data sets, logs and checkpoints"


def versions(environment: Environment) -> tuple[Item, ...]:
    """Return versions.tf: what runs the configuration, where its state is, which project it is about."""
    fields = environment.fields
    backend = block("backend", "gcs", bucket=fields["tfStateBucket"], prefix=fields["tfStatePrefix"])
    required = block("required_providers", google={"source": "hashicorp/google", "version": GOOGLE})
    return (
        block("terraform", required_version=REQUIRED_VERSION, body=[required, backend]),
        block("provider", "google", project=Expression("var.project_id"), region=Expression("var.region")),
    )


def variables(environment: Environment) -> tuple[Item, ...]:
    """Return variables.tf; those without a default get their value in terraform.tfvars."""
    return tuple(item for item, _ in _variables(environment))


def values(environment: Environment) -> tuple[Item, ...]:
    """Return terraform.tfvars: what has no default, and what differs from it."""
    return tuple(
        Attribute(item.labels[0], value)
        for item, value in _variables(environment)
        if Attribute("default", value) not in item.body
    )


def outputs(environment: Environment) -> tuple[Item, ...]:
    """Return outputs.tf: what people and other configurations ask for."""
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
