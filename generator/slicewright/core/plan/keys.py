"""Keys of labels, annotations and resources as others spell them: Kueue's, JobSet's, GKE's chips, and ours.

The labels of GKE nodes stand in `placement`, where they are chosen.
"""

from __future__ import annotations

OURS = "slicewright.dev/"
ACKNOWLEDGED = f"{OURS}ignore-"
"""Before the id of a rule or problem: an annotation with the reason why it is none here."""
WORKLOAD = f"{OURS}workload"
RUN = f"{OURS}run"
PROVISIONING = f"{OURS}provisioning"
"""The taint of a flavor that no node has: its value is a way of provisioning."""

KUEUE = "kueue.x-k8s.io/"
QUEUE = f"{KUEUE}queue-name"
PRIORITY_CLASS = f"{KUEUE}priority-class"
MAX_EXECUTION_TIME = f"{KUEUE}max-exec-time-seconds"

EXCLUSIVE_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"

TPU = "google.com/tpu"
"""The resource that a pod asks chips by."""

KEPT = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
"""Annotations that keep Argo CD and Flux from deleting an object whose end would take more along: a namespace
with all that runs in it, a claim with its data.

Argo CD ignores one that stays when it leaves the tree. Otherwise it would be OutOfSync for good.
"""
