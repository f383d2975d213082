"""Import: a TPUCluster file from what a living cluster holds."""
