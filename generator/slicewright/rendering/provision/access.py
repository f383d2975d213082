"""Who reaches a cluster, and as whom its teams act: networks, private nodes, and Workload Identity."""

from collections.abc import Iterator

from slicewright.intent.tpucluster import Team
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.provision.hcl import Block, Expression, block

_DOMAIN = ".iam.gserviceaccount.com"


def access_flags(site: ResolvedCluster) -> list[str]:
    """Return the flags of `gcloud container clusters create`."""
    gke = site.cluster.spec.get("gke", {})
    flags = ["--enable-private-nodes"] if gke.get("privateNodes") else []
    if networks := gke.get("authorizedNetworks"):
        flags += ["--enable-master-authorized-networks", f"--master-authorized-networks={','.join(networks)}"]
    return flags


def access_blocks(site: ResolvedCluster) -> Iterator[Block]:
    """Yield the blocks of `google_container_cluster`."""
    gke = site.cluster.spec.get("gke", {})
    if "privateNodes" in gke:
        yield block("private_cluster_config", enable_private_nodes=gke["privateNodes"])
    if networks := gke.get("authorizedNetworks"):
        blocks = [block("cidr_blocks", cidr_block=network) for network in networks]
        yield block("master_authorized_networks_config", body=blocks)


def bound_teams(site: ResolvedCluster) -> list[Team]:
    """Return the teams whose service account of Kubernetes acts as one of Google."""
    return [team for team in site.cluster.teams if team.service_account_name and team.google_service_account]


def identities(site: ResolvedCluster, project: str, ours: tuple[str, str]) -> Iterator[Block]:
    """Yield the bindings of the teams' accounts in Terraform.

    `ours` are namespace and name of the account that service-accounts.tf creates and binds.
    """
    for team in bound_teams(site):
        named, address = (team.namespace, team.service_account_name), team.google_service_account
        if (named, address) == (ours, f"{ours[1]}@{project}{_DOMAIN}"):
            continue
        home = address.partition("@")[2]
        owner = home.removesuffix(_DOMAIN) if home.endswith(_DOMAIN) else "-"
        yield block(
            *("resource", "google_service_account_iam_member", team.name),
            service_account_id=f"projects/{owner}/serviceAccounts/{address}",
            role="roles/iam.workloadIdentityUser",
            member=f"serviceAccount:{project}.svc.id.goog[{'/'.join(named)}]",
            depends_on=[Expression("google_container_cluster.cluster")],
        )
