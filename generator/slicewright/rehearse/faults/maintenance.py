"""Maintenance: a node is drained as for host maintenance."""

from functools import partial

from slicewright.rehearse.faults.injection import Injection, Undo, patch_if_there
from slicewright.rehearse.model.fault import check_target, one_host
from slicewright.rehearse.model.scenario_part import FaultKind


def inject(injection: Injection) -> Undo:
    """Close the host for new pods, and evict the one that is there, as GKE does before maintenance."""
    pod, node = injection.host()
    api = injection.setup.api
    api.patch(node, {"spec": {"unschedulable": True}})
    api.evict(pod)
    return partial(patch_if_there, api, node, {"spec": {"unschedulable": None}})


KIND = FaultKind("Maintenance", one_host, check_target, inject)
