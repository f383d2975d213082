"""Makes a TPUCluster from a live cluster, and a TPUWorkload from a run object or a command."""
