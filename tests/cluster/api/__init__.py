"""The client of the API server, and how a kubeconfig reaches one."""
