"""What workloads work with, in Terraform: service accounts, a bucket, an image registry and TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.provision.hcl import Block, Call, Comment, Expression, block
from slicewright.core.provision.terraform_cluster import AFTER_APIS

if TYPE_CHECKING:
    from slicewright.core.provision.hcl import Item

_TPU = "google_service_account.tpu"
_GKE = "google_service_account.gke"


def service_accounts() -> tuple[Item, ...]:
    """Return service-accounts.tf: that of workloads with its Kubernetes namesake, and that of nodes."""
    member = '"serviceAccount:${var.project_id}.svc.id.goog[${var.tpu_namespace}/${var.tpu_sa_name}]"'
    return (
        _account("tpu", "TPU workloads on ${var.cluster_name}"),
        _account("gke", "Nodes of ${var.cluster_name}"),
        _roles("tpu"),
        _roles("gke"),
        Comment("What the nodes of every GKE cluster need for logs and metrics."),
        _project_role("gke_nodes", "roles/container.defaultNodeServiceAccount", _GKE),
        Comment("The Kubernetes service account of the same name; the identity pool comes with the cluster."),
        block(
            *("resource", "google_service_account_iam_member", "workload_identity"),
            service_account_id=Expression(f"{_TPU}.name"),
            role="roles/iam.workloadIdentityUser",
            member=Expression(member),
            depends_on=[Expression("google_container_cluster.cluster")],
        ),
    )


def storage() -> tuple[Item, ...]:
    """Return storage.tf: the bucket, readable as a bucket for both service accounts."""
    accounts = {"gke": Expression(f"{_GKE}.member"), "tpu": Expression(f"{_TPU}.member")}
    return (
        block(
            *("resource", "google_storage_bucket", "repository"),
            name=Expression("var.artifact_repository_bucket_name"),
            location=Expression("var.region"),
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            depends_on=AFTER_APIS,
        ),
        block(
            *("resource", "google_storage_bucket_iam_member", "legacy_bucket_reader"),
            for_each=accounts,
            bucket=Expression("google_storage_bucket.repository.name"),
            role="roles/storage.legacyBucketReader",
            member=Expression("each.value"),
        ),
    )


def registry() -> tuple[Item, ...]:
    """Return registry.tf: the repository of images, from which nodes may pull."""
    repository = "google_artifact_registry_repository.images"
    return (
        block(
            *("resource", "google_artifact_registry_repository", "images"),
            repository_id=Expression("var.artifact_registry_name"),
            location=Expression("var.region"),
            format="DOCKER",
            depends_on=AFTER_APIS,
        ),
        block(
            *("resource", "google_artifact_registry_repository_iam_member", "nodes"),
            repository=Expression(f"{repository}.name"),
            location=Expression(f"{repository}.location"),
            role="roles/artifactregistry.reader",
            member=Expression(f"{_GKE}.member"),
        ),
    )


def tensorboard() -> tuple[Item, ...]:
    """Return tensorboard.tf: the instance, and the role with which workloads write to it."""
    return (
        block(
            *("resource", "google_vertex_ai_tensorboard", "tensorboard"),
            display_name=Expression("var.cluster_name"),
            region=Expression("var.tensorboard_region"),
            depends_on=AFTER_APIS,
        ),
        _project_role("tpu_tensorboard", "roles/aiplatform.user", _TPU),
    )


def _account(name: str, display_name: str) -> Block:
    return block(
        *("resource", "google_service_account", name),
        account_id=Expression(f"var.{name}_sa_name"),
        display_name=Expression(f'"{display_name}"'),
        depends_on=AFTER_APIS,
    )


def _roles(name: str) -> Block:
    return block(
        *("resource", "google_project_iam_member", name),
        for_each=Call("toset", Expression(f"var.{name}_sa_roles")),
        project=Expression("var.project_id"),
        role=Expression("each.value"),
        member=Expression(f"google_service_account.{name}.member"),
    )


def _project_role(name: str, role: str, account: str) -> Block:
    return block(
        *("resource", "google_project_iam_member", name),
        project=Expression("var.project_id"),
        role=role,
        member=Expression(f"{account}.member"),
    )
