"""What people write: TPUWorkload and TPUCluster as frozen values, and the reading of them."""
