"""The objects with which Argo CD or Flux syncs a cluster's overlays: overlays/<cluster>/_gitops."""
