"""Keys of labels, annotations and resources as others spell them: Kueue's, JobSet's, GKE's chips, and ours.

The labels of GKE nodes stand in `placement`, where they are chosen.
"""

from __future__ import annotations

OURS = "slicewright.dev/"
WORKLOAD = f"{OURS}workload"
RUN = f"{OURS}run"

KUEUE = "kueue.x-k8s.io/"
QUEUE = f"{KUEUE}queue-name"
PRIORITY_CLASS = f"{KUEUE}priority-class"
MAX_EXECUTION_TIME = f"{KUEUE}max-exec-time-seconds"

EXCLUSIVE_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"

TPU = "google.com/tpu"
"""The resource that a pod asks chips by."""
