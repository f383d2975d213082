"""What is below Kubernetes: node pools, the cluster and its environment, as scripts and Terraform."""
