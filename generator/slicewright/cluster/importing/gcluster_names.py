"""What `--compute-type` and `--topology` of gcluster mean, by gcluster's own rule.

Source: GoogleCloudPlatform/cluster-toolkit at c765092f (v1.96.0), and dry runs of it; releases from v1.91.0
on have the same rule.
"""

import math
import re
from collections.abc import Mapping

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import Shape, is_topology
from slicewright.cluster.importing.node_pools import tpu_parts
from slicewright.kubernetes.types import Object

_LABELS: Mapping[str, str] = {
    "v4": "tpu-v4-podslice",
    "v5p": "tpu-v5p-slice",
    "v5litepod": "tpu-v5-lite-podslice",
    "v6e": "tpu-v6e-slice",
    "tpu7x": "tpu7x",
}
"""The accelerator labels of the families that gcluster knows."""
_MACHINES: Mapping[str, str] = {
    "v4-8": "ct4p-hightpu-4t",
    "v5p-1": "ct5p-hightpu-1t",
    "v5p-2": "ct5p-hightpu-2t",
    "v5p-4": "ct5p-hightpu-4t",
    "v5litepod-1": "ct5lp-hightpu-1t",
    "v5litepod-4": "ct5lp-hightpu-4t",
    "v5litepod-8": "ct5lp-hightpu-8t",
    "v6e-1": "ct6e-standard-1t",
    "v6e-4": "ct6e-standard-4t",
    "v6e-8": "ct6e-standard-8t",
    "tpu7x": "tpu7x-standard-4t",
}
"""The names that mean one machine type; with any other the node pools of the cluster decide."""
_FLAT = {1: "1x1", 4: "2x2", 8: "2x4", 16: "4x4", 32: "4x8", 64: "8x8", 128: "8x16", 256: "16x16"}
_SOLID: Mapping[int, str] = {
    4: "2x2x1",
    8: "2x2x2",
    16: "2x2x4",
    32: "2x4x4",
    64: "4x4x4",
    128: "4x4x8",
    256: "4x8x8",
    512: "8x8x8",
    1024: "8x8x16",
    2048: "8x16x16",
}
_TOPOLOGIES: Mapping[str, Mapping[int, str]] = {
    "v4": _SOLID,
    "v5p": _SOLID,
    "v5litepod": _FLAT,
    "v6e": _FLAT,
    "tpu7x": {},
}
"""The topology of a number of chips; tpu7x needs `--topology`."""
_COUNTED = re.compile(r"(?P<family>[a-z0-9]+)-(?P<count>[0-9]{1,6})")


class Slice(Struct, frozen=True):
    """A slice that gcluster takes."""

    shape: Shape
    unused: str = ""
    """What gcluster does not look at, if anything."""


def slice_of(compute_type: str, topology: str, catalogue: Catalogue) -> Slice | str:
    """Return the slice that gcluster takes, or why there is none.

    The number in a name counts chips, in every generation: `v5p-128` has 128, twice those of the Cloud TPU
    name. `v4-8` alone has 4. If there is a topology, gcluster does not look at the number.
    """
    name, topology = compute_type.lower(), topology.strip().lower()
    counted = _COUNTED.fullmatch(name)
    family = counted["family"] if counted else name
    labels = {row.machine_type: row.accelerator for row in catalogue.rows("listed")}
    machine = _MACHINES.get(name, name if name in labels else "")
    label = _LABELS.get(family) or labels.get(machine) or (name if name in _LABELS.values() else "")
    if label not in _LABELS.values():
        return f"'{compute_type}' is not a TPU of gcluster"
    chips = int(counted["count"]) if counted else 0
    if compute_type == "v4-8":
        chips = 4
    unused = ""
    if not topology:
        topology = _TOPOLOGIES.get(family, {}).get(chips, "")
        if not topology:
            return f"gcluster has no topology for '{compute_type}'"
    elif not is_topology(topology):
        return f"'{topology}' is not a topology"
    elif chips and chips != math.prod(map(int, topology.split("x"))):
        unused = f"is '{compute_type}': gcluster takes --topology {topology} instead of its number"
    rows = [
        row
        for row in catalogue.rows("all")
        if (row.accelerator, row.topology) == (label, topology) and machine in ("", row.machine_type)
    ]
    if not rows:
        on = f" on {machine}" if machine else ""
        return f"the catalogue has no TPU slice of accelerator '{label}' and topology '{topology}'{on}"
    if len(rows) > 1:
        machines = " or ".join(row.machine_type for row in rows)
        return f"topology {topology} is on {machines}: gcluster asks the cluster's node pools which"
    return Slice(rows[0], unused)


def field_of(shape: Shape, catalogue: Catalogue) -> str | Object:
    """Return the field `tpu` of a slice, by its topology: a number would mean another size to other tools."""
    name = f"{shape.generation}-{shape.topology}"
    return name if catalogue.names.get(name) is shape else tpu_parts(shape)
