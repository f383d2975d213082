"""Faults: a module for each kind, with what it says of itself and what it does to the cluster.

A new kind is a module here, a line below, and its fields in schemas/slicewright/tpuworkload.json.
"""

from slicewright.rehearse.faults import (
    container_failure,
    higher_priority_arrival,
    host_failure,
    maintenance,
    slice_loss,
)

_MODULES = (container_failure, host_failure, slice_loss, maintenance, higher_priority_arrival)
FAULT_KINDS = {module.KIND.name: module.KIND for module in _MODULES}
