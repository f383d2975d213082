"""What Flux needs: Kustomizations, and rights in the namespaces that it syncs."""
