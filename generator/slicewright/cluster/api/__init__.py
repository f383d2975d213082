"""The API server of a cluster: how a kubeconfig reaches it, and the client that asks it."""
