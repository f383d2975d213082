"""SliceLoss: the node pool of one slice disappears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.kubernetes.labels import NODE_POOL
from slicewright.core.rehearsal.fault import check_target, whole_slice
from slicewright.core.rehearsal.script import FaultKind
from slicewright.rehearsal.faults.host_failure import lose

if TYPE_CHECKING:
    from slicewright.rehearsal.faults.strike import Strike, Undo


def inject(strike: Strike) -> Undo:
    """Let all nodes of the node pool go that this rehearsal made."""
    pool = strike.slice()[0]["metadata"]["labels"][NODE_POOL]
    nodes = strike.stage.api.list("v1", "Node", labels=f"{NODE_POOL}={pool}")
    return lose(strike, [node for node in nodes if strike.stage.is_ours(node)])


KIND = FaultKind("SliceLoss", whole_slice, check_target, inject, takes_nodes=True)
