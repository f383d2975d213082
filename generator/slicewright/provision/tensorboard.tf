resource "google_vertex_ai_tensorboard" "tensorboard" {
  display_name = var.cluster_name
  region       = var.tensorboard_region
  depends_on   = [google_project_service.service]
}

resource "google_project_iam_member" "tpu_tensorboard" {
  project = var.project_id
  role    = "roles/aiplatform.user"
  member  = google_service_account.tpu.member
}
