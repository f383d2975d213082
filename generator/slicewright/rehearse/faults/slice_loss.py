"""SliceLoss: the node pool of one slice disappears."""

from slicewright.kubernetes.labels import NODE_POOL
from slicewright.rehearse.faults.host_failure import lose
from slicewright.rehearse.faults.injection import Injection, Undo
from slicewright.rehearse.model.fault import check_target, whole_slice
from slicewright.rehearse.model.scenario_part import FaultKind


def inject(injection: Injection) -> Undo:
    """Let all nodes of the node pool go that this rehearsal made."""
    pool = injection.slice()[0]["metadata"]["labels"][NODE_POOL]
    nodes = injection.setup.api.list("v1", "Node", labels=f"{NODE_POOL}={pool}")
    return lose(injection, [node for node in nodes if injection.setup.is_ours(node)])


KIND = FaultKind("SliceLoss", whole_slice, check_target, inject)
