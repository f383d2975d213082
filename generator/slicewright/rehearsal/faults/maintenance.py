"""Maintenance: a node is drained as for host maintenance."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from slicewright.core.rehearsal.fault import check_target, one_host
from slicewright.core.rehearsal.script import FaultKind
from slicewright.rehearsal.faults.strike import patch_if_there

if TYPE_CHECKING:
    from slicewright.rehearsal.faults.strike import Strike, Undo


def inject(strike: Strike) -> Undo:
    """Close the host for new pods, and evict the one that is there, as GKE does before maintenance."""
    pod, node = strike.host()
    api = strike.stage.api
    api.patch(node, {"spec": {"unschedulable": True}})
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {key: pod["metadata"][key] for key in ("name", "namespace")},
    }
    api.evict(eviction)
    return partial(patch_if_there, api, node, {"spec": {"unschedulable": None}})


KIND = FaultKind("Maintenance", one_host, check_target, inject, takes_nodes=True)
