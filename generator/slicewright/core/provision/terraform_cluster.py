"""The network and the cluster in Terraform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.provision.hcl import Call, Comment, Expression, block

if TYPE_CHECKING:
    from slicewright.core.provision.hcl import Item, Value
    from slicewright.core.provision.terraform_values import Environment

APIS = (
    "aiplatform.googleapis.com",
    "artifactregistry.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "compute.googleapis.com",
    "container.googleapis.com",
    "iam.googleapis.com",
    "iamcredentials.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "storage.googleapis.com",
)
"""What must be switched on in the project before anything else can be made."""

AFTER_APIS = [Expression("google_project_service.service")]
OAUTH_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_NODE_ROLES = [Expression(f"google_project_iam_member.{name}") for name in ("gke", "gke_nodes")]
"""What nodes may do must be settled before there are any, and until there are none."""
_PODS, _SERVICES = "pods", "services"


def network() -> tuple[Item, ...]:
    """Return network.tf: the APIs, a network, and a subnet with ranges for pods and services."""
    return (
        block(
            *("resource", "google_project_service", "service"),
            for_each=Call("toset", APIS),
            service=Expression("each.value"),
            disable_on_destroy=False,
        ),
        block(
            *("resource", "google_compute_network", "network"),
            name=Expression("var.network_name"),
            auto_create_subnetworks=False,
            depends_on=AFTER_APIS,
        ),
        block(
            *("resource", "google_compute_subnetwork", "subnet"),
            name=Expression("var.subnet_name"),
            region=Expression("var.region"),
            network=Expression("google_compute_network.network.id"),
            ip_cidr_range=Expression("var.subnet_ip_range"),
            private_ip_google_access=True,
            body=[_range(_PODS, "var.pods_ip_range"), _range(_SERVICES, "var.services_ip_range")],
        ),
    )


def cluster(environment: Environment) -> tuple[Item, ...]:
    """Return cluster.tf: a VPC-native cluster with Workload Identity and no node pool of its own."""
    autopilot = environment.autopilot
    body = [
        block(
            "ip_allocation_policy",
            cluster_secondary_range_name=_PODS,
            services_secondary_range_name=_SERVICES,
        ),
        block("release_channel", channel=Expression("var.gke_release_channel")),
        block("workload_identity_config", workload_pool=Expression('"${var.project_id}.svc.id.goog"')),
    ]
    if autopilot:
        nodes = block(
            "auto_provisioning_defaults",
            service_account=Expression("google_service_account.gke.email"),
            oauth_scopes=OAUTH_SCOPES,
        )
        body.append(block("cluster_autoscaling", body=[nodes]))
    else:
        fuse = block("gcs_fuse_csi_driver_config", enabled=True)
        body.append(block("addons_config", body=[fuse]))
    items: list[Item] = list(body)
    if not autopilot:
        account = Expression("google_service_account.gke.email")
        items += [
            Comment(
                "Of the default node pool, which is made and removed again; node-pools.tf has the real ones."
            ),
            block("node_config", service_account=account, oauth_scopes=OAUTH_SCOPES),
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
            body=items,
        ),
    )


def zones(environment: Environment, names: tuple[str, ...]) -> Value:
    """Return zones as they are written: the variable for the one that nodes are in by default."""
    return [Expression("var.zone") if name == environment.zone else name for name in names]


def _node_locations(environment: Environment) -> Value:
    """Return the zones of the nodes; a zonal cluster names those besides its own only."""
    others = tuple(zone for zone in environment.node_locations if zone != environment.location)
    return zones(environment, others) if others and not environment.autopilot else None


def _range(name: str, value: str) -> Item:
    return block("secondary_ip_range", range_name=name, ip_cidr_range=Expression(value))
