resource "google_storage_bucket" "repository" {
  name                        = var.artifact_repository_bucket_name
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  depends_on                  = [google_project_service.service]
}

resource "google_storage_bucket_iam_member" "legacy_bucket_reader" {
  for_each = {
    gke = google_service_account.gke.member
    tpu = google_service_account.tpu.member
  }
  bucket = google_storage_bucket.repository.name
  role   = "roles/storage.legacyBucketReader"
  member = each.value
}
