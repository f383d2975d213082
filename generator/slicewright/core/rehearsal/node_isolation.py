"""An object of a rehearsal -> the same one, so that its TPU pods stay on the nodes of that rehearsal.

On a cluster that is not ours alone there may be other nodes of the same shape. What ran there would be in no
number of the report, and a fault would hit what belongs to somebody else.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from slicewright.core.kubernetes.labels import ACCELERATOR
from slicewright.core.kubernetes.pods import pods_of
from slicewright.core.rehearsal.simulate import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.kubernetes.types import Object


_MOST_LABELS = 8
"""How many nodeLabels Kueue takes in a ResourceFlavor."""


def isolated(item: Object, mark: str) -> Object:
    """Return an object whose TPU pods ask for nodes with the label of a rehearsal.

    A flavor of TPU nodes has it too: topology-aware scheduling counts the nodes that a flavor names.
    """
    made = copy.deepcopy(item)
    if made["kind"] == "ResourceFlavor":
        labels = made.get("spec", {}).get("nodeLabels", {})
        if ACCELERATOR in labels and len(labels) < _MOST_LABELS:
            labels[MARK] = mark
    for asks in _selecting(made):
        asks.setdefault("nodeSelector", {})[MARK] = mark
    return made


def _selecting(item: Object) -> Iterator[Object]:
    """Yield where the TPU pods of a run have their node selector."""
    if item["kind"] == "PathwaysJob":
        yield from item["spec"]["workers"]
        return
    for pods in pods_of(item, item["kind"]):
        if pods.chips:
            yield pods.spec
