"""Import: from what a living cluster holds to a TPUCluster file."""
