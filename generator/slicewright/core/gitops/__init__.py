"""What Argo CD and Flux need to sync a cluster's overlays: overlays/<cluster>/_gitops."""
