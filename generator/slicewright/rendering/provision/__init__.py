"""Node pools, the cluster and its environment in Google Cloud, as scripts and Terraform."""
