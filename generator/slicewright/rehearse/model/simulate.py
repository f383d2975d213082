"""Annotations of simulated pods, and the label of a rehearsal's objects.

The annotations are those of the test bed's Stages (slicewright/testbed/stages.yaml).
"""

import copy

from slicewright.kubernetes.labels import ACCELERATOR
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.types import Object

END = "slicewright.dev/simulated-end"
PENDING = "slicewright.dev/simulated-pending"
OWNER_LABEL = "slicewright.dev/rehearsal"
"""Label of everything that a rehearsal creates; its value is the rehearsal's own."""
_MOST_LABELS = 8
"""How many nodeLabels Kueue takes in a ResourceFlavor."""


def owned(item: Object, owner: str) -> Object:
    """Return an object with the label of a rehearsal, whose TPU pods ask for nodes with that label.

    On a cluster that is not ours alone there may be other nodes of the same shape: what ran there would be
    missing in the report, and a fault would hit what belongs to somebody else. A flavor of TPU nodes has the
    label among its own: topology-aware scheduling counts the nodes that a flavor names.
    """
    copied = copy.deepcopy(item)
    copied["metadata"].setdefault("labels", {})[OWNER_LABEL] = owner
    if copied["kind"] == "ResourceFlavor":
        labels = copied.get("spec", {}).get("nodeLabels", {})
        if ACCELERATOR in labels and len(labels) < _MOST_LABELS:
            labels[OWNER_LABEL] = owner
    if copied["kind"] == "PathwaysJob":
        specs = copied["spec"]["workers"]
    else:
        specs = [pods.spec for pods in pods_of(copied, copied["kind"]) if pods.chips]
    for spec in specs:
        spec.setdefault("nodeSelector", {})[OWNER_LABEL] = owner
    return copied
