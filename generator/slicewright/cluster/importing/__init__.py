"""Import: a TPUCluster file from the objects of a live cluster."""
