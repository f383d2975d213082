"""What a real Argo CD does with the overlays: the application-controller, the repo-server and redis."""
