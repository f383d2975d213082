resource "google_service_account" "tpu" {
  account_id   = var.tpu_sa_name
  display_name = "TPU workloads on ${var.cluster_name}"
  depends_on   = [google_project_service.service]
}

resource "google_service_account" "gke" {
  account_id   = var.gke_sa_name
  display_name = "Nodes of ${var.cluster_name}"
  depends_on   = [google_project_service.service]
}

resource "google_project_iam_member" "tpu" {
  for_each = toset(var.tpu_sa_roles)
  project  = var.project_id
  role     = each.value
  member   = google_service_account.tpu.member
}

resource "google_project_iam_member" "gke" {
  for_each = toset(var.gke_sa_roles)
  project  = var.project_id
  role     = each.value
  member   = google_service_account.gke.member
}

# What the nodes of every GKE cluster need for logs and metrics.
resource "google_project_iam_member" "gke_nodes" {
  project = var.project_id
  role    = "roles/container.defaultNodeServiceAccount"
  member  = google_service_account.gke.member
}

# The Kubernetes service account of the same name; the identity pool comes with the cluster.
resource "google_service_account_iam_member" "workload_identity" {
  service_account_id = google_service_account.tpu.name
  role               = "roles/iam.workloadIdentityUser"
  member             = "serviceAccount:${var.project_id}.svc.id.goog[${var.tpu_namespace}/${var.tpu_sa_name}]"
  depends_on         = [google_container_cluster.cluster]
}
